//! From the address of a webhook to sockets that can be dialled.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use pilothouse_value::{Value, field, object};

use super::connection::Trouble;
use super::url::Address;
use crate::registry::resource;
use crate::state::State;

/// Says where the Services that webhook configurations name are reached.
///
/// A test registers one with [`Server::set_service_resolver`](crate::Server::set_service_resolver) when its webhooks run
/// outside of the cluster, as they do under `cargo test`.
pub trait ServiceResolver: Send + Sync {
    /// Where a port of a Service is served. `None`: look it up in the cluster.
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Option<SocketAddr>;
}

impl<F> ServiceResolver for F
where
    F: Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync,
{
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Option<SocketAddr> {
        self(namespace, name, port)
    }
}

/// The sockets that an address stands for, in the order they are to be tried.
///
/// # Errors
/// If there is no such host or Service. Services are known only to whom has a server.
pub(super) async fn endpoints(state: Option<&State>, address: &Address) -> Result<Vec<SocketAddr>, Trouble> {
    if let (Some((namespace, name)), Some(state)) = (&address.service, state) {
        let told = state.service_resolver.read().clone();
        let told = told.and_then(|resolver| resolver.resolve(namespace, name, address.port));
        return match told {
            Some(socket) => Ok(vec![socket]),
            None => match external(state, namespace, name) {
                Some(host) => look_up(&host, address.port).await,
                None => service(state, namespace, name, address.port).map_err(Trouble::Text),
            },
        };
    }
    look_up(address.dialled.as_ref().unwrap_or(&address.server_name), address.port).await
}

/// The host that a Service stands for, if it stands for one outside of the cluster.
fn external(state: &State, namespace: &str, name: &str) -> Option<String> {
    let service = state.store.get(&resource::key("", "services"), namespace, name)?;
    let spec = service.value().get("spec")?;
    let is_external = spec.str_at(&["type"]) == Some("ExternalName");
    spec.str_at(&["externalName"]).filter(|_| is_external).map(str::to_owned)
}

/// The sockets of a host.
///
/// # Errors
/// If there is no such host.
pub(crate) async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, Trouble> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let found: Vec<SocketAddr> = match tokio::net::lookup_host((host, port)).await {
        Ok(found) => found.collect(),
        Err(_) => Vec::new(),
    };
    if found.is_empty() {
        return Err(Trouble::Text(format!("dial tcp: lookup {host}: no such host")));
    }
    Ok(found)
}

/// The endpoints behind a port of a Service, or else its cluster IP.
fn service(state: &State, namespace: &str, name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let Some(service) = state.store.get(&resource::key("", "services"), namespace, name) else {
        return Err(format!("service {} not found", field::quote(name)));
    };
    let service = service.value();
    let kind = service.str_at(&["spec", "type"]).unwrap_or("ClusterIP");
    if !matches!(kind, "ClusterIP" | "LoadBalancer" | "NodePort") {
        return Err(format!("unsupported service type {}", field::quote(kind)));
    }
    if kind == "ClusterIP" && service.str_at(&["spec", "clusterIP"]) == Some("None") {
        return Err("cannot route to service with ClusterIP \"None\"".to_owned());
    }
    let ports = service.items_at(&["spec", "ports"]);
    let Some(port) = ports.iter().find(|own| own.i64_at(&["port"]) == Some(i64::from(port))) else {
        return Err(format!("no service port {port} found for service {}", field::quote(name)));
    };
    let behind = ready(state, namespace, name, port.str_at(&["name"]).unwrap_or_default());
    if !behind.is_empty() {
        return Ok(behind);
    }
    let cluster_ip = service.str_at(&["spec", "clusterIP"]).and_then(|ip| ip.parse::<IpAddr>().ok());
    match (cluster_ip, port.i64_at(&["port"]).and_then(|port| u16::try_from(port).ok())) {
        (Some(ip), Some(port)) => Ok(vec![SocketAddr::new(ip, port)]),
        _ => Err(format!("no endpoints available for service {}", field::quote(name))),
    }
}

/// The slices of a Service's endpoints.
pub(crate) fn slices(state: &State, namespace: &str, name: &str) -> Vec<Arc<Value>> {
    let key = resource::key("discovery.k8s.io", "endpointslices");
    let snapshot = state.store.snapshot();
    let all = snapshot.list(&key, Some(namespace), None).map(|entry| entry.object.value().clone());
    all.filter(|slice| object::label(slice, "kubernetes.io/service-name") == Some(name)).collect()
}

/// The ready endpoints of a Service, as its slices have them.
pub(crate) fn ready(state: &State, namespace: &str, name: &str, port_name: &str) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    for slice in slices(state, namespace, name) {
        let port = slice
            .items_at(&["ports"])
            .iter()
            .find(|port| port.str_at(&["name"]).unwrap_or_default() == port_name)
            .and_then(|port| port.i64_at(&["port"]))
            .and_then(|port| u16::try_from(port).ok());
        let Some(port) = port else { continue };
        for endpoint in slice.items_at(&["endpoints"]) {
            let is_ready = endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool).unwrap_or(true);
            let addresses = endpoint.items_at(&["addresses"]).iter().filter_map(Value::as_str);
            let addresses = addresses.filter_map(|address| address.parse::<IpAddr>().ok());
            if is_ready {
                found.extend(addresses.map(|ip| SocketAddr::new(ip, port)));
            }
        }
    }
    found
}
