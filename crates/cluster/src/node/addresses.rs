//! Pods' addresses: loopback addresses, which need no rights and reach no further than the machine.
//!
//! All of `127.0.0.0/8` is the machine itself on Linux, so each pod has an address of its own on which it can listen,
//! and a program that listens on all addresses is reached at it. A node takes a network `127.A.B.0/24` and holds it
//! with a socket, so that several nodes on one machine (tests) do not share addresses. As all pods share the machine's
//! network, two of them cannot listen on all addresses with one port.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use parking_lot::Mutex;

/// The port whose socket on the network's first address says that the network is taken.
const CLAIM_PORT: u16 = 10250;

/// The addresses of one node's pods.
pub(super) struct Addresses {
    network: [u8; 2],
    taken: Mutex<BTreeSet<u8>>,
    _claim: UdpSocket,
}

impl Addresses {
    /// Claims a network that no other node on this machine has.
    ///
    /// # Errors
    /// When all networks are taken or the machine has no loopback.
    pub(super) fn claim() -> io::Result<Self> {
        // Anywhere will do; the process id keeps nodes of several processes from trying the same ones.
        let start = std::process::id().wrapping_mul(2_654_435_761) >> 8;
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        // From 127.64.0.0 up: below is what people use by hand.
        for offset in 0..4096u32 {
            let number = start.wrapping_add(offset.wrapping_mul(97)) % (191 * 256);
            let network = [64 + (number / 256) as u8, (number % 256) as u8];
            match UdpSocket::bind((Ipv4Addr::new(127, network[0], network[1], 1), CLAIM_PORT)) {
                Ok(claim) => return Ok(Self { network, taken: Mutex::default(), _claim: claim }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// An address that no pod has; `None` when all are given out.
    pub(super) fn take(&self) -> Option<Ipv4Addr> {
        let mut taken = self.taken.lock();
        let free = (2..=254).find(|last| !taken.contains(last))?;
        taken.insert(free);
        Some(Ipv4Addr::new(127, self.network[0], self.network[1], free))
    }

    /// The pod is gone.
    pub(super) fn give_back(&self, address: Ipv4Addr) {
        self.taken.lock().remove(&address.octets()[3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_pods_have_addresses_of_their_own() {
        let (one, other) = (Addresses::claim().unwrap(), Addresses::claim().unwrap());
        assert_ne!(one.network, other.network);
        let (first, second) = (one.take().unwrap(), one.take().unwrap());
        assert_ne!(first, second);
        assert!(std::net::TcpListener::bind((first, 0)).is_ok());
        one.give_back(first);
        assert_eq!(one.take(), Some(first));
    }
}
