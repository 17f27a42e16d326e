//! What the server tells of itself in objects: its address, its identity, and whether requests are told apart by flow schemas.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use pilothouse_apiserver::certs::CertifiedKey;
use pilothouse_apiserver::{Aggregation, Builder, Presence};

use crate::Error;
use crate::flags::{FlagError, Parsed};
use crate::{serving, switches};

const RECONCILERS: [&str; 3] = ["master-count", "lease", "none"];

/// How often upstream renews the lease of an identity.
const RENEWAL: Duration = Duration::from_secs(10);

/// Tells a builder what these flags say.
///
/// # Errors
/// If a value makes no sense, or contradicts another.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    let conflict = |text: String| Err(FlagError::Conflict(text).into());
    let reconciler =
        flags.last("endpoint-reconciler-type").filter(|kind| !kind.is_empty()).unwrap_or("lease");
    if !RECONCILERS.contains(&reconciler) {
        return conflict(format!("--endpoint-reconciler-type must be one of: [{}]", RECONCILERS.join(" ")));
    }
    let endpoints = reconciler != "none";
    let given = flags.parsed::<IpAddr>("advertise-address")?.filter(|address| !address.is_unspecified());
    if let Some(address) = given.filter(|address| endpoints && address.is_loopback()) {
        return conflict(format!(
            "cannot use public IP {address} with endpoint reconciler: <nil>: Invalid value: \"{address}\": may not be in \
             the loopback range (127.0.0.0/8, ::1/128)"
        ));
    }
    let bind = flags.parsed::<IpAddr>("bind-address")?.filter(|ip| !ip.is_unspecified() && !ip.is_loopback());
    let gates = switches::gates(flags)?;
    let on = |gate: &str| gates.get(gate).copied().unwrap_or_default();
    if on("UnknownVersionInteroperabilityProxy") && !on("APIServerIdentity") {
        return conflict(
            "UnknownVersionInteroperabilityProxy is enabled, but depends on features that are disabled: \
             [APIServerIdentity]"
                .to_owned(),
        );
    }
    let fair = flags.boolean("enable-priority-and-fairness", true)?;
    if fair && switches::is_off(flags, "flowcontrol.apiserver.k8s.io/v1") {
        return conflict(
            "--runtime-config=flowcontrol.apiserver.k8s.io/v1=false conflicts with --enable-priority-and-fairness=true"
                .to_owned(),
        );
    }
    let presence = Presence {
        address: given.or(bind).or_else(outward),
        endpoints,
        node_port: flags.parsed::<u16>("kubernetes-service-node-port")?.filter(|port| *port != 0),
        identity: on("APIServerIdentity"),
        peers: on("UnknownVersionInteroperabilityProxy"),
        renewal: Some(RENEWAL),
    };
    Ok(builder.presence(presence).priority_and_fairness(fair).aggregation(aggregation(flags)?))
}

/// How the servers are reached that APIServices name.
fn aggregation(flags: &Parsed) -> Result<Aggregation, Error> {
    const PAIR: [&str; 2] = ["proxy-client-cert-file", "proxy-client-key-file"];
    let [certificate, key] = PAIR.map(|flag| flags.last(flag).filter(|path| !path.is_empty()));
    let client = match (certificate, key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(CertifiedKey {
            certificate: serving::read(PAIR[0], certificate.as_ref())?,
            key: serving::read(PAIR[1], key.as_ref())?,
        }),
        _ => {
            let text = "--proxy-client-cert-file and --proxy-client-key-file must be specified together";
            return Err(FlagError::Conflict(text.to_owned()).into());
        }
    };
    Ok(Aggregation {
        client,
        endpoints: flags.boolean("enable-aggregator-routing", false)?,
        reject_redirects: flags.boolean("aggregator-reject-forwarding-redirect", true)?,
        ..Aggregation::default()
    })
}

/// The address that this machine has for others, if it is connected. Nothing is sent to find out.
fn outward() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket
        .local_addr()
        .ok()
        .map(|address| address.ip())
        .filter(|ip| !ip.is_unspecified() && !ip.is_loopback())
}
