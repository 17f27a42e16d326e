//! The node's side of a terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::child;

/// How much is read at once, in bytes.
const CHUNK: usize = 8 * 1024;

/// A terminal that a program runs on. Clones are the same terminal.
#[derive(Clone)]
pub(in crate::node) struct Terminal(Arc<AsyncFd<OwnedFd>>);

impl Terminal {
    /// A terminal, and the side that the program gets.
    pub(super) fn open() -> io::Result<(Self, OwnedFd)> {
        let pair = nix::pty::openpty(None, None)?;
        for side in [&pair.master, &pair.slave] {
            fcntl(side, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
        }
        fcntl(&pair.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok((Self(Arc::new(child::register(pair.master)?)), pair.slave))
    }

    /// What the program wrote. `None` when nobody has the terminal open any more.
    pub(in crate::node) async fn read(&self) -> Option<Bytes> {
        let mut buffer = vec![0; CHUNK];
        let read = self.0.async_io(Interest::READABLE, |fd| Ok(nix::unistd::read(fd, &mut buffer)?)).await;
        match read {
            // The kernel says EIO when the last program has gone.
            Ok(0) | Err(_) => None,
            Ok(length) => {
                buffer.truncate(length);
                Some(buffer.into())
            }
        }
    }

    /// Types something.
    pub(in crate::node) async fn write(&self, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let written = self.0.async_io(Interest::WRITABLE, |fd| Ok(nix::unistd::write(fd, data)?)).await?;
            data = data.get(written..).ok_or(Errno::EIO)?;
        }
        Ok(())
    }

    /// Changes its size; programs on it get SIGWINCH.
    pub(in crate::node) fn resize(&self, width: u16, height: u16) {
        child::set_size(self.0.get_ref().as_fd(), width, height);
    }
}
