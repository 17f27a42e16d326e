//! `kube-apiserver`: what its flags say becomes an API server, which runs until it is told to end.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use pilothouse_apiserver::authenticator::read_token_file;
use pilothouse_apiserver::tokens::TokenOptions;
use pilothouse_apiserver::{Authorization, Builder, Server};

use crate::flags::{FlagError, Parsed};
use crate::{Error, admission, keeping, serving, signals, tell};

/// Runs until SIGTERM or SIGINT, and then lets requests that are under way end.
///
/// # Errors
/// If a flag or a file that one names makes no sense, or the address cannot be had.
pub(crate) async fn run(flags: &Parsed) -> Result<(), Error> {
    let ended = signals::termination()?;
    let bind = flags.parsed::<IpAddr>("bind-address")?.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let address = SocketAddr::new(bind, flags.parsed("secure-port")?.unwrap_or(6443));
    let builder = configure(Server::builder(), flags, bind)?.store(keeping::store(flags).await?);
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

fn configure(mut builder: Builder, flags: &Parsed, bind: IpAddr) -> Result<Builder, Error> {
    let (network, prefix) = service_network(flags)?;
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::from(u32::from(network).saturating_add(1)))];
    addresses.extend(flags.parsed::<IpAddr>("advertise-address")?);
    addresses.extend([bind, IpAddr::V4(Ipv4Addr::LOCALHOST)].iter().filter(|ip| !ip.is_unspecified()));
    addresses.dedup();
    let authorization = authorization(flags)?;
    let mut anonymous = flags.boolean("anonymous-auth", true)?;
    if anonymous && authorization == Authorization::AlwaysAllow {
        tracing::info!("anonymous requests are not served when everything is allowed, as upstream has it");
        anonymous = false;
    }
    builder = builder
        .service_network(network, prefix)
        .serving(serving::pair(flags, &addresses)?)
        .authorization(authorization)
        .anonymous(anonymous)
        .service_account_tokens(tokens(flags)?)
        .require_service_accounts(true)
        .enable_admission_plugins(flags.list("enable-admission-plugins"))
        .disable_admission_plugins(flags.list("disable-admission-plugins"));
    if let Some(path) = flags.last("admission-control-config-file").filter(|path| !path.is_empty()) {
        builder =
            builder.admission_configuration(serving::read("admission-control-config-file", path.as_ref())?);
    }
    builder = match flags.last("client-ca-file").filter(|path| !path.is_empty()) {
        Some(path) => builder.client_authorities(serving::read("client-ca-file", path.as_ref())?),
        None => builder.client_authorities(""),
    };
    if let Some(path) = flags.last("token-auth-file").filter(|path| !path.is_empty()) {
        let text = serving::read("token-auth-file", path.as_ref())?;
        let users = read_token_file(&text).map_err(|e| Error::File {
            flag: "token-auth-file",
            path: path.into(),
            why: e.to_string(),
        })?;
        builder = builder.tokens(users);
    }
    if let Some(kubeconfig) = admission::webhook_kubeconfig(flags)? {
        builder = builder.webhook_kubeconfig(kubeconfig);
    }
    Ok(builder)
}

/// The keys of service account tokens, and who issues them for whom.
fn tokens(flags: &Parsed) -> Result<TokenOptions, Error> {
    let text = |flag: &'static str, path: &str| serving::read(flag, path.as_ref());
    let signing = "service-account-signing-key-file";
    let verifying = "service-account-key-file";
    let owned = |flag| flags.list(flag).into_iter().map(str::to_owned).collect();
    Ok(TokenOptions {
        signing_key: match flags.last(signing).filter(|path| !path.is_empty()) {
            Some(path) => Some(text(signing, path)?),
            None => None,
        },
        verifying_keys: flags
            .all(verifying)
            .iter()
            .map(|path| text(verifying, path))
            .collect::<Result<_, _>>()?,
        issuers: flags.all("service-account-issuer").to_vec(),
        audiences: owned("api-audiences"),
    })
}

fn authorization(flags: &Parsed) -> Result<Authorization, FlagError> {
    let modes = flags.list("authorization-mode");
    for mode in &modes {
        let why = match *mode {
            "AlwaysAllow" | "RBAC" | "Node" => continue,
            "AlwaysDeny" | "ABAC" | "Webhook" => {
                format!("{mode} is not there; hint: AlwaysAllow and RBAC are")
            }
            _ => format!("authorization-mode {mode:?} is not a valid mode"),
        };
        return Err(FlagError::Invalid { flag: "authorization-mode", value: modes.join(","), why });
    }
    let everything = modes.is_empty() || modes.contains(&"AlwaysAllow");
    Ok(if everything { Authorization::AlwaysAllow } else { Authorization::Rbac })
}

/// The network that Services get addresses from. Of two, the first is taken that is IPv4.
fn service_network(flags: &Parsed) -> Result<(Ipv4Addr, u32), FlagError> {
    let given = flags.list("service-cluster-ip-range");
    if given.is_empty() {
        return Ok((Ipv4Addr::new(10, 0, 0, 0), 24));
    }
    let mut networks = given.iter().filter_map(|text| {
        let (address, prefix) = text.split_once('/')?;
        let (address, prefix) = (address.parse::<Ipv4Addr>().ok()?, prefix.parse::<u32>().ok()?);
        let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix)?).unwrap_or(0);
        Some((Ipv4Addr::from(u32::from(address) & mask), prefix))
    });
    networks.next().ok_or_else(|| FlagError::Invalid {
        flag: "service-cluster-ip-range",
        value: given.join(","),
        why: "no IPv4 network in CIDR notation, such as 10.0.0.0/24, is in it".to_owned(),
    })
}
