//! Warnings of addresses and networks that are taken although they are not written as they should be.

use pilothouse_value::{Value, object};

use super::super::ips::{warn_cidr, warn_ip};

fn texts(items: &[Value]) -> impl Iterator<Item = (usize, &str)> {
    items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_str()?)))
}

/// Warns of the addresses of a list.
pub(super) fn ips(path: &str, items: &[Value], out: &mut Vec<String>) {
    texts(items).for_each(|(index, text)| warn_ip(&format!("{path}[{index}]"), text, out));
}

/// Warns of the networks of a list.
pub(super) fn cidrs(path: &str, items: &[Value], out: &mut Vec<String>) {
    texts(items).for_each(|(index, text)| warn_cidr(&format!("{path}[{index}]"), text, out));
}

/// Warns of the addresses that are fields of the members of a list.
fn ips_of(path: &str, items: &[Value], out: &mut Vec<String>) {
    for (index, item) in items.iter().enumerate() {
        warn_ip(&format!("{path}[{index}].ip"), item.str_at(&["ip"]).unwrap_or_default(), out);
    }
}

/// Warns of what is in the specification of a pod.
pub(super) fn pod(place: &str, spec: &Value, out: &mut Vec<String>) {
    ips(&format!("{place}.dnsConfig.nameservers"), spec.items_at(&["dnsConfig", "nameservers"]), out);
    ips_of(&format!("{place}.hostAliases"), spec.items_at(&["hostAliases"]), out);
}

/// Warns of what is in the status of a pod.
pub(super) fn pod_status(object: &Value, out: &mut Vec<String>) {
    for list in ["podIPs", "hostIPs"] {
        ips_of(&format!("status.{list}"), object.items_at(&["status", list]), out);
    }
}

/// Warns of what is in the status of a service or an ingress; upstream's path ends with the member of the list.
pub(super) fn load_balancer(object: &Value, out: &mut Vec<String>) {
    let ingress = object.items_at(&["status", "loadBalancer", "ingress"]);
    for (index, ip) in ingress.iter().enumerate().filter_map(|(at, one)| Some((at, one.str_at(&["ip"])?))) {
        warn_ip(&format!("status.loadBalancer.ingress[{index}]"), ip, out);
    }
}

/// Warns of what is in endpoints, unless their controller writes them, which writes what it was given.
pub(super) fn endpoints(object: &Value, out: &mut Vec<String>) {
    if object::label(object, "endpoints.kubernetes.io/managed-by") == Some("endpoint-controller") {
        return;
    }
    for (index, subset) in object.items_at(&["subsets"]).iter().enumerate() {
        for list in ["addresses", "notReadyAddresses"] {
            ips_of(&format!("subsets[{index}].{list}"), subset.items_at(&[list]), out);
        }
    }
}

/// As [`endpoints`], of a slice.
pub(super) fn slice(object: &Value, out: &mut Vec<String>) {
    const CONTROLLERS: [&str; 2] =
        ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
    let controller = object::label(object, "endpointslice.kubernetes.io/managed-by");
    if controller.is_some_and(|name| CONTROLLERS.contains(&name)) {
        return;
    }
    for (index, endpoint) in object.items_at(&["endpoints"]).iter().enumerate() {
        ips(&format!("endpoints[{index}].addresses"), endpoint.items_at(&["addresses"]), out);
    }
}

/// Warns of the networks of a policy.
pub(super) fn policy(object: &Value, out: &mut Vec<String>) {
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in object.items_at(&["spec", rules]).iter().enumerate() {
            for (at, peer) in rule.items_at(&[peers]).iter().enumerate() {
                let Some(block) = peer.get("ipBlock") else { continue };
                let path = format!("spec.{rules}[{index}].{peers}[{at}].ipBlock");
                let network = block.str_at(&["cidr"]).unwrap_or_default();
                warn_cidr(&format!("{path}.cidr"), network, out);
                cidrs(&format!("{path}.except"), block.items_at(&["except"]), out);
            }
        }
    }
}
