//! Where a path that leads out goes: which address of which pod, endpoint or node, or why nowhere.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use pilothouse_value::{Status, Value, field, object};

use super::dial::look_up;
use super::failed;
use super::kubelets::{Kubelets, Trust};
use crate::kubelet::{Kubelet, Target};
use crate::registry::resource;
use crate::state::State;

/// The feature of nodes whose kubelets speak WebSocket themselves.
const SPEAKS_WEBSOCKET: &str = "ExtendWebSocketsToKubelet";

/// Somebody outside.
pub(crate) struct Upstream {
    /// As it stands in a URL: `10.0.0.1:80`.
    pub(super) host: String,
    /// The host without a port.
    pub(super) name: String,
    /// May be more than a port can be; then there is nobody.
    pub(super) port: u32,
    /// Whose certificate it must show; none where no TLS is spoken.
    pub(super) secure: Option<Trust>,
    pub(super) way: Way,
    /// Whether it is a kubelet that speaks WebSocket itself.
    pub(super) speaks_websocket: bool,
}

/// How it is reached.
pub(super) enum Way {
    /// At one of these addresses; none if the name must be looked up.
    Network { addresses: Vec<IpAddr> },
    /// Through the node in this process.
    Process { kubelet: Arc<dyn Kubelet>, target: Target },
}

impl Upstream {
    /// `https` or `http`.
    pub(super) fn scheme(&self) -> &'static str {
        if self.secure.is_some() { "https" } else { "http" }
    }

    fn new(name: &str, port: Option<u32>, secure: Option<Trust>, way: Way) -> Upstream {
        let in_brackets = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        Upstream {
            host: port.map_or_else(|| in_brackets.clone(), |port| format!("{in_brackets}:{port}")),
            name: name.to_owned(),
            port: port.unwrap_or(if secure.is_some() { 443 } else { 80 }),
            secure,
            way,
            speaks_websocket: false,
        }
    }
}

/// `name`, `name:port` or `scheme:name:port`.
struct Id<'a> {
    secure: bool,
    name: &'a str,
    port: &'a str,
}

impl<'a> Id<'a> {
    fn parse(kind: &str, id: &'a str) -> Result<Id<'a>, Status> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match *parts.as_slice() {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme, name, port] => (scheme, name, port),
            _ => ("", "", ""),
        };
        if name.is_empty() || !matches!(scheme, "" | "http" | "https") {
            return Err(Status::bad_request(format!("invalid {kind} request {}", field::quote(id))));
        }
        Ok(Id { secure: scheme == "https", name, port })
    }

    fn trust(&self) -> Option<Trust> {
        self.secure.then_some(Trust::Anyone)
    }
}

/// The number of a port that a client wrote; `None` if it wrote none.
fn number(port: &str) -> Result<Option<u32>, Status> {
    if port.is_empty() {
        return Ok(None);
    }
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse().ok().filter(|_| digits);
    number.map(Some).ok_or_else(|| Status::bad_request(format!("invalid port {}", field::quote(port))))
}

/// Whether something outside of this machine, and of the wire it is on, has this address.
fn is_global(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            !(ip.is_unspecified()
                || ip.is_loopback()
                || ip.is_multicast()
                || ip.is_link_local()
                || ip.is_broadcast())
        }
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => is_global(IpAddr::V4(ip)),
            None => !(ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(ip)),
        },
    }
}

fn is_link_local(ip: Ipv6Addr) -> bool {
    ip.segments()[0] & 0xffc0 == 0xfe80
}

fn forbidden_address() -> Status {
    Status::bad_request("address not allowed")
}

/// The kubelet in this process, if it runs the pods of this node.
pub(crate) fn runs_here(state: &State, node: &str) -> Option<Arc<dyn Kubelet>> {
    state.kubelet.read().clone().filter(|kubelet| !node.is_empty() && kubelet.runs(node))
}

/// Where a pod is, if its address may be asked.
fn pod_way(state: &State, pod: &Value) -> Result<(String, Way), Status> {
    let ip = pod.items_at(&["status", "podIPs"]).first().and_then(|own| own.str_at(&["ip"]));
    let ip = ip.or_else(|| pod.str_at(&["status", "podIP"])).unwrap_or_default();
    let address = ip.parse::<IpAddr>().map_err(|_| forbidden_address())?;
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    // Pods of the node in this process may have addresses of this machine alone: they are reached through the node.
    if let Some(kubelet) = runs_here(state, node) {
        let target = Target {
            namespace: object::namespace(pod).unwrap_or_default().to_owned(),
            pod: object::name(pod).to_owned(),
            uid: object::uid(pod).to_owned(),
            container: String::new(),
        };
        return Ok((ip.to_owned(), Way::Process { kubelet, target }));
    }
    if !is_global(address) {
        return Err(forbidden_address());
    }
    Ok((ip.to_owned(), Way::Network { addresses: vec![address] }))
}

/// Where the proxy of a pod leads.
///
/// # Errors
/// 400 for a name that is none and for addresses that are not asked, 404 if there is no pod.
pub(crate) fn of_pod(state: &State, namespace: &str, id: &str) -> Result<Upstream, Status> {
    let id = Id::parse("pod", id)?;
    let pod = state
        .store
        .get(&resource::key("", "pods"), namespace, id.name)
        .ok_or_else(|| Status::not_found("", "pods", id.name))?;
    let pod = pod.value();
    let port = match number(id.port)? {
        Some(port) => Some(port),
        None => {
            let mut ports = pod.items_at(&["spec", "containers"]).iter().map(|one| one.items_at(&["ports"]));
            let first =
                ports.find_map(|ports| ports.first()).and_then(|port| port.i64_at(&["containerPort"]));
            first.and_then(|port| u32::try_from(port).ok())
        }
    };
    let (ip, way) = pod_way(state, pod)?;
    Ok(Upstream::new(&ip, port, id.trust(), way))
}

/// Where the proxy of a Service leads: one of its endpoints that is ready, and a pod.
///
/// # Errors
/// 400 for a name that is none, 404 if there is no Service whose port was given by number, 503 without an endpoint.
pub(crate) fn of_service(state: &State, namespace: &str, id: &str) -> Result<Upstream, Status> {
    let id = Id::parse("service", id)?;
    let name = field::quote(id.name);
    let missing = || Status::unavailable(format!("no endpoints available for service {name}"));
    let port_name = match id.port.parse::<i64>() {
        Err(_) => id.port.to_owned(),
        Ok(number) => {
            let service = state
                .store
                .get(&resource::key("", "services"), namespace, id.name)
                .ok_or_else(|| Status::not_found("", "services", id.name))?;
            let ports = service.value().items_at(&["spec", "ports"]);
            let port = ports.iter().find(|port| port.i64_at(&["port"]) == Some(number)).ok_or_else(|| {
                Status::unavailable(format!("no service port {number} found for service {name}"))
            })?;
            port.str_at(&["name"]).unwrap_or_default().to_owned()
        }
    };
    let snapshot = state.store.snapshot();
    let key = resource::key("discovery.k8s.io", "endpointslices");
    for entry in snapshot.list(&key, Some(namespace), None) {
        let slice = entry.object.value();
        if object::label(slice, "kubernetes.io/service-name") != Some(id.name) {
            continue;
        }
        let ports = slice.items_at(&["ports"]).iter();
        for port in ports.filter(|port| port.str_at(&["name"]).unwrap_or_default() == port_name) {
            let Some(port) = port.i64_at(&["port"]).and_then(|port| u32::try_from(port).ok()) else {
                continue;
            };
            let ways =
                slice.items_at(&["endpoints"]).iter().filter_map(|one| pod_behind(state, namespace, one));
            let ways: Vec<(String, Way)> = ways.collect();
            // Any of them, another each time.
            let chosen = uuid::Uuid::new_v4().as_u128() % (ways.len().max(1) as u128);
            if let Some((ip, way)) = ways.into_iter().nth(usize::try_from(chosen).unwrap_or_default()) {
                return Ok(Upstream::new(&ip, Some(port), id.trust(), way));
            }
        }
    }
    Err(missing())
}

/// The pod that an endpoint is, if it is ready, of this namespace, and has the address.
fn pod_behind(state: &State, namespace: &str, endpoint: &Value) -> Option<(String, Way)> {
    if endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool) == Some(false) {
        return None;
    }
    let reference = endpoint.get("targetRef")?;
    if reference.str_at(&["namespace"]).unwrap_or_default() != namespace {
        return None;
    }
    let pod = state.store.get(&resource::key("", "pods"), namespace, reference.str_at(&["name"])?)?;
    let pod = pod.value();
    let address = endpoint.items_at(&["addresses"]).first()?.as_str()?;
    let has = pod.items_at(&["status", "podIPs"]).iter().any(|own| own.str_at(&["ip"]) == Some(address));
    if !has {
        return None;
    }
    let ip = address.parse().ok()?;
    match pod_way(state, pod) {
        Ok((_, way @ Way::Process { .. })) => Some((address.to_owned(), way)),
        _ => is_global(ip).then(|| (address.to_owned(), Way::Network { addresses: vec![ip] })),
    }
}

/// Where the kubelet of a node is, by name. `asked` is the resource that the request is about, which errors name.
///
/// # Errors
/// 404 if there is no such node, 500 if it has no address.
pub(crate) fn node_of(state: &State, name: &str, asked: &str, checked: bool) -> Result<Upstream, Status> {
    let node = state
        .store
        .get(&resource::key("", "nodes"), "", name)
        .ok_or_else(|| Status::not_found("", asked, name))?;
    let status = node.value().get("status").cloned().unwrap_or_default();
    let addresses = status.items_at(&["addresses"]);
    let of = |address: &Value, part: &'static str| address.str_at(&[part]).unwrap_or_default().to_owned();
    let mut types = state.outward.address_types().iter();
    let address = types.find_map(|kind| addresses.iter().find(|own| own.str_at(&["type"]) == Some(kind)));
    let Some(address) = address else {
        let known: Vec<String> =
            addresses.iter().map(|own| format!("{{{} {}}}", of(own, "type"), of(own, "address"))).collect();
        return Err(failed(format!("no preferred addresses found; known addresses: [{}]", known.join(" "))));
    };
    let port = status.i64_at(&["daemonEndpoints", "kubeletEndpoint", "Port"]);
    let port = port.and_then(|port| u32::try_from(port).ok()).filter(|port| *port > 0);
    let trust = if checked { Trust::Kubelet } else { Trust::AnyKubelet };
    let name = of(address, "address");
    let way = Way::Network { addresses: Vec::new() };
    let port = port.unwrap_or(u32::from(Kubelets::port()));
    let mut upstream = Upstream::new(&name, Some(port), Some(trust), way);
    let features = status.items_at(&["declaredFeatures"]);
    upstream.speaks_websocket = features.iter().any(|own| own.as_str() == Some(SPEAKS_WEBSOCKET));
    Ok(upstream)
}

/// Where the proxy of a node leads: to its kubelet, or to another port of its address.
///
/// # Errors
/// As [`node_of`]; 400 for a name that is none and for addresses that are not asked; 501 for the kubelet of a node in this
/// process, which speaks no HTTP.
pub(crate) async fn of_node(state: &State, id: &str) -> Result<Upstream, Status> {
    let id = Id::parse("node", id)?;
    let kubelet = node_of(state, id.name, "nodes", true)?;
    let port = number(id.port)?.filter(|port| *port != kubelet.port);
    if port.is_none() && runs_here(state, id.name).is_some() {
        return Err(Status::not_implemented(
            "the kubelet of this node is part of the server and serves no HTTP; hint: ask for logs, exec, attach and \
             port-forward of its pods",
        ));
    }
    let addresses = look_up(&kubelet.name).await.map_err(Status::bad_request)?;
    if !addresses.iter().all(|ip| is_global(*ip)) {
        return Err(forbidden_address());
    }
    // Whoever answers for the name later, those that were looked at are asked.
    let way = Way::Network { addresses };
    Ok(match port {
        None => Upstream { way, ..kubelet },
        Some(port) => Upstream::new(&kubelet.name, Some(port), id.trust(), way),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_one_wire_are_not_asked() {
        let table = [
            ("127.0.0.1", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("febf::1", false),
            ("224.0.0.1", false),
            ("ff02::1", false),
            ("0.0.0.0", false),
            ("::", false),
            ("255.255.255.255", false),
            ("10.0.0.1", true),
            ("192.168.1.1", true),
            ("8.8.8.8", true),
            ("fc00::1", true),
            ("::ffff:10.0.0.1", true),
        ];
        for (text, allowed) in table {
            assert_eq!(is_global(text.parse().unwrap()), allowed, "{text}");
        }
    }

    #[test]
    fn a_name_has_a_scheme_and_a_port_or_none() {
        let parts =
            |text| Id::parse("pod", text).ok().map(|id| (id.secure, id.name.to_owned(), id.port.to_owned()));
        assert_eq!(parts("p"), Some((false, "p".into(), String::new())));
        assert_eq!(parts("p:80"), Some((false, "p".into(), "80".into())));
        assert_eq!(parts("https:p:"), Some((true, "p".into(), String::new())));
        assert_eq!(parts("ftp:p:80"), None);
        assert_eq!(parts("a:b:c:d"), None);
        let error = Id::parse("pod", ":80").err().unwrap();
        assert_eq!((error.code, error.message.as_str()), (400, "invalid pod request \":80\""));
        assert_eq!(number("http").unwrap_err().code, 400);
    }
}
