//! IP addresses, networks and the ports of endpoints: what endpoints, slices, nodes and services have in common.

use std::collections::BTreeSet;

use std::net::IpAddr;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::ips;
use super::{At, Errors, port_number};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// An address that is neither this host's, nor everyone's, nor a group's.
pub(super) fn not_special(path: &Path, text: &str, errors: &mut Errors) {
    let Some(ip) = ips::sloppy_ip(text) else {
        return errors.invalid(path, text, "must be a valid IP address");
    };
    let (local, group) = match ip {
        IpAddr::V4(ip) => {
            (ip.is_link_local(), ip.octets()[0] == 224 && ip.octets()[1] == 0 && ip.octets()[2] == 0)
        }
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] & 0xff0f == 0xff02),
    };
    let mut complain = |wrong: bool, detail: &str| {
        if wrong {
            errors.invalid(path, text, detail);
        }
    };
    complain(ip.is_unspecified(), &format!("may not be unspecified ({text})"));
    complain(ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    complain(local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    complain(group, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
}

/// An address in a field that is older than strict validation; one of `known`, those of the object before, may stay as it is.
/// Returns whether it is good.
pub(super) fn legacy_ip(
    path: &Path,
    text: &str,
    known: impl FnOnce(&str) -> bool,
    errors: &mut Errors,
) -> bool {
    let wrong = ips::legacy_ip(text).filter(|_| !known(text));
    wrong.inspect(|wrong| errors.invalid(path, text, *wrong)).is_none()
}

/// As [`legacy_ip`], of a network.
pub(super) fn legacy_cidr(path: &Path, text: &str, known: impl FnOnce(&str) -> bool, errors: &mut Errors) {
    if let Some(wrong) = ips::legacy_cidr(text).filter(|_| !known(text)) {
        errors.invalid(path, text, wrong);
    }
}

/// For an address that is always looked at.
pub(super) const fn nothing_known(_: &str) -> bool {
    false
}

/// Endpoints: lists of addresses with the ports that all of each list have.
pub(super) fn endpoints(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    // What older releases took may stay.
    if old.is_some_and(|old| old.items_at(&["subsets"]) == at.value.items_at(&["subsets"])) {
        return;
    }
    for subset in at.items("subsets") {
        let (ready, not_ready) = (subset.items("addresses"), subset.items("notReadyAddresses"));
        if ready.is_empty() && not_ready.is_empty() {
            errors.required(&subset.path, "must specify `addresses` or `notReadyAddresses`");
        }
        for address in ready.iter().chain(&not_ready) {
            endpoint_address(address, errors);
        }
        let ports = subset.items("ports");
        for port in &ports {
            endpoint_port(port, ports.len() > 1, errors);
        }
    }
}

fn endpoint_address(at: &At<'_>, errors: &mut Errors) {
    let (ip, path) = (at.text("ip"), at.path.child("ip"));
    legacy_ip(&path, ip, nothing_known, errors);
    let host = at.text("hostname");
    if !host.is_empty() {
        errors.complaints(&at.path.child("hostname"), host, names::dns1123_label(host));
    }
    if let Some(node) = at.find("nodeName") {
        let text = node.value.as_str().unwrap_or_default();
        errors.complaints(&node.path, text, names::dns1123_subdomain(text));
    }
    not_special(&path, ip, errors);
}

fn endpoint_port(at: &At<'_>, needs_name: bool, errors: &mut Errors) {
    let name = at.text("name");
    if name.is_empty() {
        if needs_name {
            errors.required(&at.path.child("name"), "");
        }
    } else {
        errors.complaints(&at.path.child("name"), name, names::dns1123_label(name));
    }
    port_number(&at.path.child("port"), at.int("port").unwrap_or_default(), errors);
    errors.one_of(at, "protocol", &PROTOCOLS, true);
    app_protocol(at, errors);
}

/// The protocol that is spoken on a port.
pub(super) fn app_protocol(at: &At<'_>, errors: &mut Errors) {
    if let Some(protocol) = at.find("appProtocol") {
        let text = protocol.value.as_str().unwrap_or_default();
        errors.complaints(&protocol.path, text, names::qualified_name(text));
    }
}

pub(super) fn slice(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let changed = old.is_some_and(|old| old.str_at(&["addressType"]) != Some(at.text("addressType")));
    // What is there already is looked at as it was understood.
    let kind = old.and_then(|old| old.str_at(&["addressType"])).unwrap_or_else(|| at.text("addressType"));
    errors.one_of(at, "addressType", &["FQDN", "IPv4", "IPv6"], true);
    let endpoints = at.items("endpoints");
    if endpoints.len() > 1000 {
        errors.0.push(Error::too_many(&at.path.child("endpoints"), endpoints.len(), 1000));
    }
    // What older releases took may stay.
    if old.is_none_or(|old| old.items_at(&["endpoints"]) != at.value.items_at(&["endpoints"])) {
        endpoints.iter().for_each(|endpoint| slice_endpoint(endpoint, kind, errors));
    }
    let mut seen = BTreeSet::new();
    let ports = at.items("ports");
    if ports.len() > 20_000 {
        errors.0.push(Error::too_many(&at.path.child("ports"), ports.len(), 20_000));
    }
    for port in &ports {
        let name = port.text("name");
        if !name.is_empty() {
            errors.complaints(&port.path.child("name"), name, names::dns1123_label(name));
        }
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&port.path.child("name"), name));
        }
        match port.find("protocol") {
            None => errors.required(&port.path.child("protocol"), ""),
            Some(_) => errors.one_of_all(port, "protocol", &PROTOCOLS),
        }
        app_protocol(port, errors);
    }
    if changed {
        // Upstream shows null in place of the value.
        errors.invalid(&at.path.child("addressType"), Value::Null, super::IMMUTABLE);
    }
}

fn slice_endpoint(at: &At<'_>, kind: &str, errors: &mut Errors) {
    let addresses = at.items("addresses");
    let list = at.path.child("addresses");
    if addresses.is_empty() {
        errors.required(&list, "");
    } else if addresses.len() > 100 {
        errors.0.push(Error::too_many(&list, addresses.len(), 100));
    }
    for address in &addresses {
        let text = address.value.as_str().unwrap_or_default();
        let good = match kind {
            "FQDN" => {
                errors.complaints(&address.path, text, names::dns1123_subdomain(text));
                false
            }
            "IPv4" => legacy_ip(&address.path, text, nothing_known, errors),
            "IPv6" => {
                let wrong = ips::strict_ip(text);
                wrong.inspect(|wrong| errors.invalid(&address.path, text, wrong.as_str())).is_none()
            }
            _ => false,
        };
        if good {
            let is_four = ips::sloppy_ip(text).is_some_and(|ip| ip.is_ipv4());
            if is_four != (kind == "IPv4") {
                errors.invalid(&list, text, format!("must be an {kind} address"));
            }
            not_special(&address.path, text, errors);
        }
    }
    if let Some(node) = at.find("nodeName") {
        let text = node.value.as_str().unwrap_or_default();
        errors.complaints(&node.path, text, names::dns1123_subdomain(text));
    }
    let topology: Vec<(&str, &Value)> = at.map("deprecatedTopology").collect();
    if topology.len() > 16 {
        errors.0.push(Error::too_many(&at.path.child("deprecatedTopology"), topology.len(), 16));
    }
    super::labels(at, "deprecatedTopology", errors);
    if let Some(host) = at.find("hostname") {
        let text = host.value.as_str().unwrap_or_default();
        errors.complaints(&host.path, text, names::dns1123_label(text));
    }
    let hints = at.child("hints");
    for (list, node) in [("forZones", false), ("forNodes", true)] {
        let mut seen = BTreeSet::new();
        for hint in hints.items(list) {
            let (name, path) = (hint.text("name"), hint.path.child("name"));
            if !seen.insert(name) {
                errors.0.push(Error::duplicate(&path, name));
            }
            let complaints = if node { names::dns1123_subdomain(name) } else { names::label_value(name) };
            errors.complaints(&path, name, complaints);
        }
    }
}
