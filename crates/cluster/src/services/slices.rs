//! The EndpointSlices of a Service: endpoints that serve the same ports, at most a hundred in each.

use std::net::IpAddr;

use pilothouse_value::{Value, json, object};

use super::{Endpoint, hostname, is_headless, target};
use crate::harness::plan::Plan;
use crate::resources::ENDPOINT_SLICES;

/// The most endpoints in a slice (`--max-endpoints-per-slice`).
const LIMIT: usize = 100;
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
/// The label that names the Service of a slice.
pub(super) const SERVICE: &str = "kubernetes.io/service-name";

/// Plans to create, update and remove slices, so that as few as possible change.
pub(super) fn write(service: &Value, endpoints: &[Endpoint<'_>], existing: &[&Value], plan: &mut Plan) {
    let mut groups: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    let family = if endpoints.iter().any(|e| is_v6(e.address)) { "IPv6" } else { "IPv4" };
    for endpoint in endpoints.iter().filter(|e| is_v6(e.address) == (family == "IPv6")) {
        let ports: Vec<Value> = endpoint.ports.iter().flatten().map(named).collect();
        let value = to_value(service, endpoint);
        match groups.iter_mut().find(|(p, list)| *p == ports && list.len() < LIMIT) {
            Some((_, list)) => list.push(value),
            None => groups.push((ports, vec![value])),
        }
    }
    // A Service without pods has one empty slice.
    if groups.is_empty() {
        groups.push((Vec::new(), Vec::new()));
    }
    let mut ours: Vec<&Value> = existing
        .iter()
        .copied()
        .filter(|slice| object::label(slice, SERVICE) == Some(object::name(service)))
        .filter(|slice| object::label(slice, MANAGED_BY) == Some(MANAGER))
        .filter(|slice| object::deletion_timestamp(slice).is_none())
        .collect();
    ours.sort_by_key(|slice| object::name(slice).to_owned());
    for (ports, list) in groups {
        let same_ports = ours.iter().position(|slice| slice.items_at(&["ports"]) == ports);
        let reuse = same_ports.or_else(|| (!ours.is_empty()).then_some(0));
        let wanted = slice(service, family, ports, list);
        match reuse.map(|at| ours.remove(at)) {
            Some(old) if old.str_at(&["addressType"]) == Some(family) => {
                let mut new = old.clone();
                for field in ["endpoints", "ports"] {
                    new.set(&[field], wanted.get(field).cloned().unwrap_or_default());
                }
                new.set(
                    &["metadata", "labels"],
                    wanted.at(&["metadata", "labels"]).cloned().unwrap_or_default(),
                );
                let lists_equal =
                    ["endpoints", "ports"].iter().all(|f| new.items_at(&[f]) == old.items_at(&[f]));
                if !lists_equal || object::labels(&new) != object::labels(old) {
                    plan.update(&ENDPOINT_SLICES, new);
                }
            }
            Some(old) => {
                plan.delete(&ENDPOINT_SLICES, old, None);
                plan.create(&ENDPOINT_SLICES, wanted, None);
            }
            None => plan.create(&ENDPOINT_SLICES, wanted, None),
        }
    }
    for slice in ours {
        plan.delete(&ENDPOINT_SLICES, slice, None);
    }
}

fn slice(service: &Value, family: &str, ports: Vec<Value>, endpoints: Vec<Value>) -> Value {
    let name = object::name(service);
    let mut labels = object::labels(service).cloned().unwrap_or_default();
    labels.insert(SERVICE, name);
    labels.insert(MANAGED_BY, MANAGER);
    if is_headless(service) {
        labels.insert("service.kubernetes.io/headless", "");
    }
    let mut slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family,
        "metadata": {"generateName": format!("{name}-"), "namespace": object::namespace(service).unwrap_or_default()}});
    slice.set(&["metadata", "labels"], labels);
    slice.set(&["metadata", "ownerReferences"], vec![object::controller_reference(service)]);
    slice.set(&["ports"], ports);
    slice.set(&["endpoints"], endpoints);
    slice
}

fn to_value(service: &Value, endpoint: &Endpoint<'_>) -> Value {
    let mut value = json!({
        "addresses": [endpoint.address],
        "conditions": {
            "ready": endpoint.ready, "serving": endpoint.serving, "terminating": endpoint.terminating,
        },
        "targetRef": target(endpoint.pod),
    });
    if let Some(node) = endpoint.pod.str_at(&["spec", "nodeName"]) {
        value.set(&["nodeName"], node);
    }
    if let Some(host) = hostname(service, endpoint.pod) {
        value.set(&["hostname"], host);
    }
    value
}

/// A port of a slice has a name, which may be empty.
fn named(port: &Value) -> Value {
    let mut port = port.clone();
    if port.get("name").is_none() {
        port.set(&["name"], "");
    }
    port
}

fn is_v6(address: &str) -> bool {
    address.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6())
}
