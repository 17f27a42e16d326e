//! `kube-apiserver`: what its flags say becomes an API server, which runs until it is told to end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use pilothouse_apiserver::{Builder, Server, SetVerbosity};

use crate::flags::{self, Parsed};
use crate::{
    Error, access, admission, auditing, contradictions, doors, keeping, kubelets, presence, serving, signals,
    switches, tell,
};

/// Runs until SIGTERM or SIGINT, and then lets requests that are under way end.
///
/// # Errors
/// If a flag or a file that one names makes no sense, or the address cannot be had.
pub(crate) async fn run(flags: &Parsed, set_verbosity: SetVerbosity) -> Result<(), Error> {
    let ended = signals::termination()?;
    contradictions::check(flags)?;
    let bind = flags.parsed::<IpAddr>("bind-address")?.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let address = SocketAddr::new(bind, flags.parsed("secure-port")?.unwrap_or(6443));
    let builder = configure(Server::builder(), flags, bind)?.store(keeping::store(flags).await?);
    let builder = builder.flags(flags::flagz(flags)).set_verbosity(set_verbosity);
    let server = builder
        .start()
        .map_err(|e| Error::machine("starting the server", e, "is what etcd keeps from another version?"))?;
    if let Some(etcd) = keeping::written_by_others(flags).await? {
        server.set_objects_elsewhere(Arc::new(etcd));
    }
    let listening = server.listen(address).await.map_err(|e| {
        Error::machine("opening the socket", e, "--secure-port and --bind-address name another")
    })?;
    tracing::info!(address = %listening.address(), "serving");
    if address.port() == 0 {
        tell(&format!("Serving securely on {}", listening.address()));
    }
    ended.await;
    server.stop();
    listening.closed().await;
    Ok(())
}

fn configure(builder: Builder, flags: &Parsed, bind: IpAddr) -> Result<Builder, Error> {
    let (network, prefix) = switches::service_network(flags)?;
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::from(u32::from(network).saturating_add(1)))];
    addresses.extend(flags.parsed::<IpAddr>("advertise-address")?);
    addresses.extend([bind, IpAddr::V4(Ipv4Addr::LOCALHOST)].iter().filter(|ip| !ip.is_unspecified()));
    addresses.dedup();
    let builder = builder.service_network(network, prefix).serving(serving::pair(flags, &addresses)?);
    let builder = doors::configure(builder, flags)?;
    let builder = switches::configure(builder, flags)?;
    let builder = presence::configure(builder, flags)?;
    let builder = access::configure(builder, flags)?;
    let builder = auditing::configure(builder, flags)?;
    let builder = kubelets::configure(builder, flags)?;
    admission::configure(builder.require_service_accounts(true), flags)
}
