//! Ingresses and network policies.

use std::net::IpAddr;

use pilothouse_value::names;

use super::{At, Errors, label_selector, port, port_number};

pub(super) fn ingress(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (rules, default) = (spec.items("rules"), spec.find("defaultBackend"));
    if rules.is_empty() && default.is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.invalid(&spec.path, pilothouse_value::Value::Null, detail);
    }
    if let Some(default) = default {
        backend(&default, errors);
    }
    for rule in rules {
        host(&rule, errors);
        let Some(http) = rule.find("http") else { continue };
        let paths = http.items("paths");
        if paths.is_empty() {
            errors.required(&http.path.child("paths"), "");
        }
        for one in paths {
            path(&one, errors);
            backend(&one.child("backend"), errors);
        }
    }
}

fn host(rule: &At<'_>, errors: &mut Errors) {
    let host = rule.text("host");
    let at = rule.path.child("host");
    if host.is_empty() {
        return;
    }
    if host.parse::<IpAddr>().is_ok() {
        errors.invalid(&at, host, "must be a DNS name, not an IP address");
    }
    // A wildcard stands for one label.
    let name = host.strip_prefix("*.").unwrap_or(host);
    errors.complaints(&at, host, names::dns1123_subdomain(name));
}

fn path(at: &At<'_>, errors: &mut Errors) {
    let text = at.text("path");
    let here = at.path.child("path");
    match at.text("pathType") {
        "" => errors.required(&at.path.child("pathType"), "pathType must be specified"),
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                errors.invalid(&here, text, "must be an absolute path");
            }
            for bad in ["//", "/./", "/../", "%2f", "%2F"].iter().filter(|bad| text.contains(*bad)) {
                errors.invalid(&here, text, format!("must not contain '{bad}'"));
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.starts_with('/') {
                errors.invalid(&here, text, "must be an absolute path");
            }
        }
        other => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.unsupported(&at.path.child("pathType"), other, &known);
        }
    }
}

fn backend(at: &At<'_>, errors: &mut Errors) {
    let (service, resource) = (at.find("service"), at.find("resource"));
    match (&service, resource) {
        (Some(_), Some(_)) => errors.invalid(&at.path, "", "cannot set both resource and service backends"),
        (None, None) => errors.invalid(&at.path, "", "resource or service backend is required"),
        _ => {}
    }
    let Some(service) = service else { return };
    let name = service.text("name");
    match name {
        "" => errors.required(&service.path.child("name"), ""),
        _ => errors.complaints(&service.path.child("name"), name, names::dns1035_label(name)),
    }
    let port = service.child("port");
    match (port.text("name"), port.int("number").unwrap_or_default()) {
        ("", 0) => errors.required(&at.path, "port name or number is required"),
        ("", number) => port_number(&port.path.child("number"), number, errors),
        (name, 0) => errors.complaints(&port.path.child("name"), name, super::port_name(name)),
        _ => errors.invalid(&at.path, "", "cannot set both port name & port number"),
    }
}

pub(super) fn policy(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    label_selector(&spec.child("podSelector"), errors);
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.items(list) {
            rule.items("ports").iter().for_each(|port| policy_port(port, errors));
            rule.items(peers).iter().for_each(|one| peer(one, errors));
        }
    }
    let types = spec.items("policyTypes");
    if types.len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.invalid(&spec.path.child("policyTypes"), spec.child("policyTypes").value.clone(), detail);
        return;
    }
    for one in types {
        let word = one.value.as_str().unwrap_or_default();
        if !["Ingress", "Egress"].contains(&word) {
            errors.unsupported(&one.path, word, &["Ingress", "Egress"]);
        }
    }
}

fn policy_port(at: &At<'_>, errors: &mut Errors) {
    errors.one_of(at, "protocol", &["TCP", "UDP", "SCTP"], false);
    if let Some(one) = at.find("port") {
        port(&one.path, one.value, errors);
    }
}

fn peer(at: &At<'_>, errors: &mut Errors) {
    let selectors: Vec<At<'_>> =
        ["podSelector", "namespaceSelector"].iter().filter_map(|field| at.find(field)).collect();
    selectors.iter().for_each(|selector| label_selector(selector, errors));
    match at.find("ipBlock") {
        None if selectors.is_empty() => errors.required(&at.path, "must specify a peer"),
        None => {}
        Some(_) if !selectors.is_empty() => {
            errors.forbidden(&at.path, "may not specify both ipBlock and another peer");
        }
        Some(block) => {
            let text = block.text("cidr");
            if text.is_empty() {
                errors.required(&block.path.child("cidr"), "");
            } else if !is_cidr(text) {
                let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
                errors.invalid(&block.path.child("cidr"), text, detail);
            }
        }
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}
