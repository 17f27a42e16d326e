//! From the Service that an APIService names to where it is reached.

use std::net::{IpAddr, SocketAddr};

use pilothouse_value::{Value, field};

use super::Remote;
use crate::registry::resource;
use crate::state::State;
use crate::webhook::resolve;

/// Where a Service is reached.
pub(super) struct Place {
    /// Host and port, as URLs have them.
    pub(super) host: String,
    dialled: Dialled,
}

enum Dialled {
    Sockets(Vec<SocketAddr>),
    Name(String, u16),
}

impl Place {
    /// The sockets, in the order in which they are to be tried.
    ///
    /// # Errors
    /// In the words of Go, if there is no such host.
    pub(super) async fn sockets(self) -> Result<Vec<SocketAddr>, String> {
        match self.dialled {
            Dialled::Sockets(sockets) => Ok(sockets),
            Dialled::Name(host, port) => {
                resolve::look_up(&host, port).await.map_err(|trouble| trouble.text())
            }
        }
    }
}

fn join(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Where the Service of a remote is reached.
///
/// # Errors
/// If it is not there or has no such port; if there is no address for it.
pub(super) fn place(state: &State, remote: &Remote) -> Result<Place, String> {
    let (namespace, name, port) = (&remote.namespace, &remote.service, remote.port);
    let told = state.service_resolver.read().clone();
    if let Some(socket) = told.and_then(|resolver| resolver.resolve(namespace, name, port)) {
        return Ok(Place { host: socket.to_string(), dialled: Dialled::Sockets(vec![socket]) });
    }
    if let (true, Some(own)) =
        ((namespace.as_str(), name.as_str(), port) == ("default", "kubernetes", 443), state.address.get())
    {
        return Ok(Place { host: own.to_string(), dialled: Dialled::Sockets(vec![*own]) });
    }
    let service = state
        .store
        .get(&resource::key("", "services"), namespace, name)
        .ok_or_else(|| format!("service {} not found", field::quote(name)))?;
    let service = service.value();
    let kind = service.str_at(&["spec", "type"]).unwrap_or("ClusterIP");
    let endpoints = state.aggregator.options.endpoints;
    let address = service.str_at(&["spec", "clusterIP"]).unwrap_or_default();
    match kind {
        "ClusterIP" if address == "None" && !endpoints => {
            return Err("cannot route to service with ClusterIP \"None\"".to_owned());
        }
        "ClusterIP" | "LoadBalancer" | "NodePort" => {}
        "ExternalName" if !endpoints => {
            let host = service.str_at(&["spec", "externalName"]).unwrap_or_default().to_owned();
            return Ok(Place { host: join(&host, port), dialled: Dialled::Name(host, port) });
        }
        other => return Err(format!("unsupported service type {}", field::quote(other))),
    }
    let ports = service.items_at(&["spec", "ports"]);
    let Some(own) = ports.iter().find(|own| own.i64_at(&["port"]) == Some(i64::from(port))) else {
        return Err(format!("no service port {port} found for service {}", field::quote(name)));
    };
    let behind = resolve::ready(state, namespace, name, own.str_at(&["name"]).unwrap_or_default());
    if endpoints {
        let Some(first) = behind.first() else {
            return Err(format!("no endpoints available for service {}", field::quote(name)));
        };
        return Ok(Place { host: first.to_string(), dialled: Dialled::Sockets(behind) });
    }
    let host = join(address, port);
    if !behind.is_empty() {
        return Ok(Place { host, dialled: Dialled::Sockets(behind) });
    }
    let ip =
        address.parse::<IpAddr>().map_err(|_| format!("service {} has no address", field::quote(name)))?;
    Ok(Place { host, dialled: Dialled::Sockets(vec![SocketAddr::new(ip, port)]) })
}

/// Why the Service of a remote cannot be reached, as a reason and a text, if that is known without asking it.
pub(super) fn obstacle(state: &State, remote: &Remote) -> Option<(&'static str, String)> {
    let of = format!("service/{} in {}", remote.service, field::quote(&remote.namespace));
    let key = resource::key("", "services");
    let Some(service) = state.store.get(&key, &remote.namespace, &remote.service) else {
        return Some(("ServiceNotFound", format!("{of} is not present")));
    };
    let service = service.value();
    if service.str_at(&["spec", "type"]).unwrap_or("ClusterIP") != "ClusterIP" {
        return None;
    }
    let port = i64::from(remote.port);
    let mut ports = service.items_at(&["spec", "ports"]).iter();
    let Some(port) = ports.find(|own| own.i64_at(&["port"]) == Some(port)) else {
        return Some(("ServicePortError", format!("{of} is not listening on port {port}")));
    };
    let port_name = port.str_at(&["name"]).unwrap_or_default();
    let slices = resolve::slices(state, &remote.namespace, &remote.service);
    if slices.is_empty() {
        return Some(("EndpointsNotFound", format!("cannot find endpointslices for {of}")));
    }
    let is_ready =
        |endpoint: &Value| endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool).unwrap_or(true);
    let is_port =
        |port: &Value| port.str_at(&["name"]) == Some(port_name) && port.i64_at(&["port"]).is_some();
    let has_any = slices.iter().any(|slice| {
        slice.items_at(&["endpoints"]).iter().any(is_ready) && slice.items_at(&["ports"]).iter().any(is_port)
    });
    (!has_any).then(|| {
        let quoted = field::quote(port_name);
        ("MissingEndpoints", format!("endpointslices for {of} have no addresses with port name {quoted}"))
    })
}
