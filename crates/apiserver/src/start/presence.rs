//! What a server says of itself and of its network in objects: its identity, its Service with the address that others reach
//! it at, the network that Services get addresses from, and by whom callers are known.
//!
//! They are made, as far as they are missing, when the server starts or, where they tell its port, when it listens; [`super::keeping`]
//! makes them again when they are deleted.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use pilothouse_store::Change;
use pilothouse_value::{Status, Value, json, object};
use sha2::{Digest as _, Sha256};

use crate::answer::document;
use crate::registry::resource;
use crate::start::{bootstrap, keeping, seeds};
use crate::state::State;

/// The namespace of most of these objects.
pub(super) const SYSTEM: &str = "kube-system";
/// How long upstream's leases of identities are good, in seconds.
const LEASE_SECONDS: i64 = 3600;
/// The port that the Service `kubernetes` leads to while nobody knows a better one.
const USUAL_PORT: u16 = 6443;

/// What a server tells of itself in objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The address that others reach the server at. Default: none is told, as a server that only this machine reaches has
    /// none that a pod could use.
    pub address: Option<IpAddr>,
    /// Whether the address is told as the endpoints of the Service `kubernetes` (kube-apiserver's
    /// `--endpoint-reconciler-type`, other than `none`). Default: yes.
    pub endpoints: bool,
    /// The node port of the Service `kubernetes` (`--kubernetes-service-node-port`). Default: it has none.
    pub node_port: Option<u16>,
    /// Whether there is a lease of the server's identity (`APIServerIdentity`). Default: yes.
    pub identity: bool,
    /// Whether the lease tells the address to other servers (`UnknownVersionInteroperabilityProxy`). Default: yes.
    pub peers: bool,
    /// How often the lease is renewed; kube-apiserver does it every ten seconds. Default: never, as a server that is left alone
    /// has nothing to do then, and whoever holds its clock finds everything as it was.
    pub renewal: Option<Duration>,
}

impl Default for Presence {
    fn default() -> Presence {
        Presence {
            address: None,
            endpoints: true,
            node_port: None,
            identity: true,
            peers: true,
            renewal: None,
        }
    }
}

/// Makes what does not depend on where the server listens.
///
/// # Errors
/// What stands in the way of the Service, which is a fault of the server.
pub(crate) fn begin(state: &Arc<State>) -> Result<(), Status> {
    let now = state.now();
    network(state, &now);
    let tracking = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": SYSTEM},
        "data": {"since": now.get(..10).unwrap_or_default()},
    });
    make(state, ("", "configmaps"), tracking, json!({"f:data": {".": {}, "f:since": {}}}), &now);
    callers(state, &now);
    keeping::begin(state);
    if state.presence.address.is_some() {
        return Ok(());
    }
    lease(state, None, &now);
    service(state, USUAL_PORT)
}

/// Where the server is reached, if it tells.
fn reached(state: &State) -> Option<SocketAddr> {
    Some(SocketAddr::new(state.presence.address?, state.address.get()?.port()))
}

/// Makes the Service of the server and its endpoints, as far as they are missing.
///
/// # Errors
/// What stands in the way of the Service.
pub(super) fn service_again(state: &Arc<State>) -> Result<(), Status> {
    let reached = reached(state);
    service(state, reached.map_or(USUAL_PORT, |reached| reached.port()))?;
    if let Some(reached) = reached.filter(|_| state.presence.endpoints) {
        endpoints(state, reached, &state.now());
    }
    Ok(())
}

/// Makes the lease, if it is missing.
pub(super) fn lease_again(state: &State) {
    lease(state, reached(state), &state.now());
}

/// Says in the lease that the server is still there; makes it, if it is missing.
pub(super) fn renew(state: &State) {
    const MANAGERS: &[&str] = &["metadata", "managedFields"];
    let key = resource::key("coordination.k8s.io", "leases");
    let Some(stored) = state.store.get(&key, SYSTEM, identity()) else { return lease_again(state) };
    let mut lease = Value::clone(stored.value());
    let time = state.clock.now();
    lease.set(&["spec", "renewTime"], time.micro());
    for manager in lease.at_mut(MANAGERS).and_then(Value::as_array_mut).into_iter().flatten() {
        if manager.str_at(&["manager"]) == Some("kube-apiserver") {
            manager.set(&["time"], state.now());
        }
    }
    let mut build = |revision: u64| {
        lease.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&lease)
    };
    // Whoever changed it meanwhile keeps that; the next time comes soon.
    let _kept =
        state.store.commit(&key, SYSTEM, identity(), Some(stored.revision()), Change::Put(&mut build));
}

/// Makes what tells where the server listens, if it has an address to tell.
///
/// # Errors
/// What stands in the way of the Service, which is a fault of the server.
pub(crate) fn listening(state: &Arc<State>, bound: SocketAddr) -> Result<(), Status> {
    let Some(address) = state.presence.address else { return Ok(()) };
    let now = state.now();
    let reached = SocketAddr::new(address, bound.port());
    lease(state, Some(reached), &now);
    service(state, bound.port())?;
    if state.presence.endpoints {
        endpoints(state, reached, &now);
    }
    Ok(())
}

/// Whether the resource is served.
fn serves(state: &State, (group, plural): (&str, &str)) -> bool {
    state.registry.is_whole() || state.registry.get(group, "v1", plural).is_some()
}

/// Writes an object with what every object has, as the API server itself, unless it is there or nobody serves it.
fn make(state: &State, (group, plural): (&str, &str), mut value: Value, fields: Value, now: &str) {
    if !serves(state, (group, plural)) {
        return;
    }
    let manager = json!({
        "manager": "kube-apiserver", "operation": "Update", "apiVersion": resource::api_version(group, "v1"),
        "time": now, "fieldsType": "FieldsV1", "fieldsV1": fields,
    });
    match value.entry(&["metadata", "managedFields"]) {
        Value::Array(managers) => managers.push(manager),
        other => *other = Value::Array(vec![manager].into()),
    }
    seeds::write(state, (group, plural), value, now);
}

/// The network that Services get addresses from.
pub(super) fn network(state: &State, now: &str) {
    let range = state.allocations.lock().range();
    let cidr = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes", "managedFields": [{
            "manager": "kubernetes-service-cidr-controller", "operation": "Apply",
            "apiVersion": "networking.k8s.io/v1", "time": now, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {
                ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:status": {}, "f:type": {},
            }}}},
            "subresource": "status",
        }]},
        "spec": {"cidrs": [range]},
        "status": {"conditions": [{
            "type": "Ready", "status": "True", "lastTransitionTime": now, "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    });
    make(state, ("networking.k8s.io", "servicecidrs"), cidr, json!({"f:spec": {"f:cidrs": {}}}), now);
}

/// Notes in an object of its own that a Service has an address.
pub(crate) fn address_taken(state: &State, address: &str, service: &Value) {
    let value = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
        "metadata": {"name": address, "labels": {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }},
        "spec": {"parentRef": {
            "resource": "services", "namespace": object::namespace(service).unwrap_or_default(),
            "name": object::name(service),
        }},
    });
    let fields = json!({
        "f:metadata": {"f:labels": {
            ".": {}, "f:ipaddress.kubernetes.io/ip-family": {}, "f:ipaddress.kubernetes.io/managed-by": {},
        }},
        "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
    });
    make(state, ("networking.k8s.io", "ipaddresses"), value, fields, &state.now());
}

/// Whether somebody says that an address is taken.
pub(crate) fn is_address_taken(state: &State, address: &str) -> bool {
    state.store.get(&resource::key("networking.k8s.io", "ipaddresses"), "", address).is_some()
}

/// Nobody has an address any more.
pub(crate) fn address_free(state: &State, address: &str) {
    let key = resource::key("networking.k8s.io", "ipaddresses");
    let Some(stored) = state.store.get(&key, "", address) else { return };
    let mut last = Value::clone(stored.value());
    let mut build = |revision: u64| {
        last.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&last)
    };
    // Whoever changed it meanwhile keeps it; a durable copy that refuses shows at the next write that matters.
    let _kept = state.store.commit(&key, "", address, Some(stored.revision()), Change::Delete(&mut build));
}

/// The API server's own Service.
fn service(state: &Arc<State>, port: u16) -> Result<(), Status> {
    let address = state.allocations.lock().first().to_string();
    let node_port = state.presence.node_port;
    let mut service = json!({
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": if node_port.is_some() { "NodePort" } else { "ClusterIP" },
            "ipFamilyPolicy": "SingleStack",
            "clusterIP": address,
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": i64::from(port)}],
        },
    });
    let ports = service.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut);
    if let (Some(node_port), Some(port)) = (node_port, ports.and_then(|ports| ports.first_mut())) {
        port.set(&["nodePort"], i64::from(node_port));
    }
    bootstrap::ensure(state, "", "v1", "services", "default", service)
}

/// Where the Service leads: endpoints in both forms. What is there from a server before is written anew.
fn endpoints(state: &State, reached: SocketAddr, now: &str) {
    let (address, port) = (reached.ip().to_string(), i64::from(reached.port()));
    let endpoints = json!({
        "apiVersion": "v1", "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes", "namespace": "default",
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{"addresses": [{"ip": address.as_str()}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}]}],
    });
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:endpointslice.kubernetes.io/skip-mirror": {}}},
        "f:subsets": {},
    });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes", "namespace": "default", "generation": 1,
            "labels": {"kubernetes.io/service-name": "kubernetes"},
        },
        "addressType": if reached.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
    });
    let of_slice = json!({
        "f:addressType": {}, "f:endpoints": {}, "f:ports": {},
        "f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/service-name": {}}},
    });
    for (place, content, value, fields) in [
        (("", "endpoints"), "subsets", endpoints, fields),
        (("discovery.k8s.io", "endpointslices"), "ports", slice, of_slice),
    ] {
        let key = resource::key(place.0, place.1);
        if let Some(stored) = state.store.get(&key, "default", "kubernetes") {
            let same = |member| stored.value().get(member) == value.get(member);
            if same(content) && (content == "subsets" || same("endpoints")) {
                continue;
            }
            let bytes = stored.bytes().clone();
            let mut last = |_revision: u64| bytes.clone();
            let revision = Some(stored.revision());
            // A durable copy that refuses shows at the next write that matters.
            let _kept =
                state.store.commit(&key, "default", "kubernetes", revision, Change::Delete(&mut last));
        }
        make(state, place, value, fields, now);
    }
}

/// The name of this machine, as far as it can be known without asking anybody.
fn hostname() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let name = kernel.or_else(|| std::env::var("HOSTNAME").ok()).map(|name| name.trim().to_owned());
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
    });
    &NAME
}

/// What a server is called by its machine's name: upstream's hash of it, in base 32.
pub(super) fn identity() -> &'static str {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let hash = Sha256::digest(hostname().as_bytes());
        let (mut text, mut rest, mut bits) = ("apiserver-".to_owned(), 0_u32, 0_u32);
        let mut digit = |value: u32| {
            text.extend(DIGITS.get(value as usize & 31).map(|digit| char::from(*digit)));
        };
        for byte in hash.iter().take(16) {
            rest = rest << 8 | u32::from(*byte);
            bits += 8;
            while bits >= 5 {
                bits -= 5;
                digit(rest >> bits);
            }
            rest &= (1 << bits) - 1;
        }
        digit(rest << (5 - bits));
        text
    });
    &NAME
}

/// The lease that says that this server is there.
fn lease(state: &State, reached: Option<SocketAddr>, now: &str) {
    if !state.presence.identity {
        return;
    }
    let name = identity();
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": SYSTEM, "labels": {
            "apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": hostname(),
        }},
        "spec": {
            "holderIdentity": format!("{name}_{}", uuid::Uuid::new_v4()),
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format!("{}.000000Z", now.trim_end_matches('Z')),
        },
    });
    let mut fields = json!({
        "f:metadata": {"f:labels": {
            ".": {}, "f:apiserver.kubernetes.io/identity": {}, "f:kubernetes.io/hostname": {},
        }},
        "f:spec": {"f:holderIdentity": {}, "f:leaseDurationSeconds": {}, "f:renewTime": {}},
    });
    if let Some(reached) = reached.filter(|_| state.presence.peers) {
        const PEER: &str = "kubernetes.io/peer-advertise-address";
        lease.set(&["metadata", "annotations", PEER], reached.to_string());
        fields.set(
            &["f:metadata", "f:annotations"],
            json!({".": {}, "f:kubernetes.io/peer-advertise-address": {}}),
        );
    }
    make(state, ("coordination.k8s.io", "leases"), lease, fields, now);
}

/// By whom callers are known, for API servers behind this one.
fn callers(state: &State, now: &str) {
    let mut data = Value::object();
    let mut fields = json!({".": {}});
    let mut tell = |key: &str, text: String| {
        data.set(&[key], text);
        fields.set(&[&format!("f:{key}")], Value::object());
    };
    let clients = &state.identity.client_authorities;
    if !clients.is_empty() {
        tell("client-ca-file", clients.clone());
    }
    if let Some(proxies) = &state.identity.authenticator.request_header {
        let list = |names: &[String]| {
            names.iter().map(|name| Value::from(name.as_str())).collect::<Value>().to_json()
        };
        tell("requestheader-allowed-names", list(&proxies.allowed_names));
        tell("requestheader-client-ca-file", proxies.authorities().to_owned());
        tell("requestheader-extra-headers-prefix", list(&proxies.extra_prefixes));
        tell("requestheader-group-headers", list(&proxies.group_headers));
        if !proxies.uid_headers.is_empty() {
            tell("requestheader-uid-headers", list(&proxies.uid_headers));
        }
        tell("requestheader-username-headers", list(&proxies.username_headers));
    } else if clients.is_empty() {
        return;
    }
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": SYSTEM},
        "data": data,
    });
    make(state, ("", "configmaps"), map, json!({"f:data": fields}), now);
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_identity_has_the_form_of_upstreams() {
        let name = super::identity();
        let digits = name.strip_prefix("apiserver-").unwrap();
        assert_eq!(digits.len(), 26);
        assert!(digits.bytes().all(|byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte)));
    }
}
