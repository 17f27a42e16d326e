//! Ingresses and their classes, network policies, the addresses of services.

use pilothouse_value::field::Path;
use pilothouse_value::{Value, names};

use super::super::ips;
use super::addresses::legacy_cidr;
use super::{At, Errors, label_selector, port, port_number};

pub(super) fn ingress(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (rules, default) = (spec.items("rules"), spec.find("defaultBackend"));
    if rules.is_empty() && default.is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.invalid(&spec.path, Value::Null, detail);
    }
    if let Some(default) = default {
        backend(&default, errors);
    }
    let rules_at = errors.0.len();
    for tls in spec.items("tls") {
        for host in tls.items("hosts") {
            host_name(&host.path, host.value.as_str().unwrap_or_default(), errors);
        }
        let secret = tls.text("secretName");
        if !secret.is_empty() {
            errors.complaints(&tls.path.child("secretName"), secret, names::dns1123_subdomain(secret));
        }
    }
    let of_tls = errors.0.split_off(rules_at);
    for rule in rules {
        host(&rule, errors);
        let Some(http) = rule.find("http") else { continue };
        let paths = http.items("paths");
        if paths.is_empty() {
            errors.required(&http.path.child("paths"), "");
        }
        for one in paths {
            if one.find("pathType").is_none() {
                errors.required(&one.path.child("pathType"), "pathType must be specified");
                continue;
            }
            path(&one, errors);
            backend(&one.child("backend"), errors);
        }
    }
    errors.0.extend(of_tls);
    if let Some(class) = spec.find("ingressClassName") {
        let text = class.value.as_str().unwrap_or_default();
        errors.complaints(&class.path, text, names::dns1123_subdomain(text));
        let annotation = at.child("metadata").child("annotations").find(INGRESS_CLASS);
        if let Some(annotation) =
            annotation.filter(|annotation| old.is_none() && annotation.value != class.value)
        {
            let path = Path::new("annotations").child(INGRESS_CLASS);
            errors.invalid(
                &path,
                annotation.value.clone(),
                "must match `ingressClassName` when both are specified",
            );
        }
    }
}

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// A host name, or a wildcard for one label of it.
fn host_name(path: &Path, text: &str, errors: &mut Errors) {
    if !text.contains('*') {
        return errors.complaints(path, text, names::dns1123_subdomain(text));
    }
    if !text.strip_prefix("*.").is_some_and(|name| names::dns1123_subdomain(name).is_empty()) {
        let detail = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist \
                      of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
                      '*.example.com', regex used for validation is \
                      '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        errors.invalid(path, text, detail);
    }
}

fn host(rule: &At<'_>, errors: &mut Errors) {
    let host = rule.text("host");
    let at = rule.path.child("host");
    if host.is_empty() {
        return;
    }
    if ips::sloppy_ip(host).is_some() {
        errors.invalid(&at, host, "must be a DNS name, not an IP address");
    }
    host_name(&at, host, errors);
}

fn path(at: &At<'_>, errors: &mut Errors) {
    let text = at.text("path");
    let here = at.path.child("path");
    match at.text("pathType") {
        "Exact" | "Prefix" => {
            if !text.starts_with('/') {
                errors.invalid(&here, text, "must be an absolute path");
            }
            for bad in ["//", "/./", "/../", "%2f", "%2F"].iter().filter(|bad| text.contains(*bad)) {
                errors.invalid(&here, text, format!("must not contain '{bad}'"));
            }
            for bad in ["/..", "/."].iter().filter(|bad| text.ends_with(*bad)) {
                errors.invalid(&here, text, format!("cannot end with '{bad}'"));
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
    let service = match (at.find("service"), at.find("resource")) {
        (Some(_), Some(_)) => {
            return errors.invalid(&at.path, "", "cannot set both resource and service backends");
        }
        (None, None) => return errors.invalid(&at.path, "", "resource or service backend is required"),
        (None, Some(resource)) => return typed_reference(&resource, errors),
        (Some(service), None) => service,
    };
    let name = service.text("name");
    match name {
        "" => errors.required(&service.path.child("name"), ""),
        _ => errors.complaints(&service.path.child("name"), name, names::dns1123_label(name)),
    }
    let port = service.child("port");
    match (port.text("name"), port.int("number").unwrap_or_default()) {
        ("", 0) => errors.required(&at.path, "port name or number is required"),
        ("", number) => port_number(&port.path.child("number"), number, errors),
        (name, 0) => errors.complaints(&port.path.child("name"), name, super::port_name(name)),
        _ => errors.invalid(&at.path, "", "cannot set both port name & port number"),
    }
}

pub(super) fn policy(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    label_selector(&spec.child("podSelector"), errors);
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.items(list) {
            rule.items("ports").iter().for_each(|port| policy_port(port, errors));
            rule.items(peers).iter().for_each(|one| peer(one, old, errors));
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
    let Some(end) = at.int("endPort") else { return };
    let path = at.path.child("endPort");
    match at.find("port").map(|port| port.value) {
        None => errors.invalid(&path, end, "may not be specified when `port` is not specified"),
        Some(Value::Int(first)) => {
            if end < *first {
                errors.invalid(&path, end, "must be greater than or equal to `port`");
            }
            port_number(&path, end, errors);
        }
        Some(_) => errors.invalid(&path, end, "may not be specified when `port` is non-numeric"),
    }
}

fn peer(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let selectors: Vec<At<'_>> =
        ["podSelector", "namespaceSelector"].iter().filter_map(|field| at.find(field)).collect();
    selectors.iter().for_each(|selector| label_selector(selector, errors));
    let block = at.find("ipBlock");
    if let Some(block) = &block {
        ip_block(block, old, errors);
    }
    match (block, selectors.is_empty()) {
        (None, true) => errors.required(&at.path, "must specify a peer"),
        (Some(_), false) => errors.forbidden(&at.path, "may not specify both ipBlock and another peer"),
        _ => {}
    }
}

fn ip_block(block: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let text = block.text("cidr");
    if text.is_empty() {
        return errors.required(&block.path.child("cidr"), "");
    }
    let was_there = |network: &str| old.is_some_and(|old| has_network(old, network));
    legacy_cidr(&block.path.child("cidr"), text, was_there, errors);
    let Some(network) = ips::Network::sloppy(text) else { return };
    for except in block.items("except") {
        let text = except.value.as_str().unwrap_or_default();
        legacy_cidr(&except.path, text, was_there, errors);
        if ips::Network::sloppy(text).is_some_and(|inner| !network.has_part(inner)) {
            errors.invalid(&except.path, text, "must be a strict subset of `cidr`");
        }
    }
}

/// Whether a policy names a network anywhere: as long as it does, the network is not looked at again.
fn has_network(policy: &Value, network: &str) -> bool {
    [("ingress", "from"), ("egress", "to")].iter().any(|(rules, peers)| {
        let rules = policy.items_at(&["spec", rules]).iter();
        rules.flat_map(|rule| rule.items_at(&[peers])).filter_map(|peer| peer.get("ipBlock")).any(|block| {
            let except = block.items_at(&["except"]).iter();
            block.get("cidr").into_iter().chain(except).any(|text| text.as_str() == Some(network))
        })
    })
}

/// An object of any kind that a backend or a class stands for.
fn typed_reference(at: &At<'_>, errors: &mut Errors) {
    if let Some(group) = at.find("apiGroup").map(|group| group.value.as_str().unwrap_or_default()) {
        errors.complaints(&at.path.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
    for field in ["kind", "name"] {
        let text = at.text(field);
        match text {
            "" => errors.required(&at.path.child(field), ""),
            _ => errors.complaints(&at.path.child(field), text, names::path_segment(text)),
        }
    }
}

pub(super) fn ingress_class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let controller = spec.text("controller");
    let path = spec.path.child("controller");
    if controller.len() > 250 {
        errors.0.push(pilothouse_value::field::Error::too_long(&path, 250));
    }
    super::jobs::domain_prefixed_path(&path, controller, errors);
    if let Some(parameters) = spec.find("parameters") {
        let (first, before) = (errors.0.len(), parameters.path.child("apiGroup"));
        typed_reference(&parameters, errors);
        let behind = errors.0.iter().skip(first).take_while(|error| error.path == before).count();
        // What the type's declaration demands comes last.
        let mut declared = errors.0.split_off(first + behind);
        let namespace = parameters.path.child("namespace");
        let given = parameters.text("namespace");
        match parameters.text("scope") {
            "" if parameters.find("scope").is_none() => {
                errors.required(&parameters.path.child("scope"), "");
            }
            "Namespace" if parameters.find("namespace").is_none() => {
                errors.required(&namespace, "`parameters.scope` is set to 'Namespace'");
            }
            "Namespace" => errors.complaints(&namespace, given, names::dns1123_label(given)),
            "Cluster" if parameters.find("namespace").is_some() => {
                errors.forbidden(&namespace, "`parameters.scope` is set to 'Cluster'");
            }
            "Cluster" => {}
            other => errors.unsupported(&parameters.path.child("scope"), other, &["Cluster", "Namespace"]),
        }
        errors.0.append(&mut declared);
    }
    if old.is_some_and(|old| old.str_at(&["spec", "controller"]) != Some(controller)) {
        errors.invalid(&path, controller, super::IMMUTABLE);
    }
}

pub(super) fn ip_address(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let name = at.child("metadata").text("name");
    let path = at.path.child("metadata").child("name");
    if let Some(wrong) = ips::strict_ip(name).filter(|_| !name.is_empty()) {
        errors.invalid(&path, name, wrong);
    }
    let spec = at.child("spec");
    let Some(parent) = spec.find("parentRef") else {
        errors.required(&spec.path.child("parentRef"), "");
        if old.is_some() {
            errors.invalid(&spec.path.child("parentRef"), Value::Null, super::IMMUTABLE);
        }
        return;
    };
    let group = parent.text("group");
    if !group.is_empty() {
        errors.complaints(&parent.path.child("group"), group, names::dns1123_subdomain(group));
    }
    for (field, required) in [("resource", true), ("name", true), ("namespace", false)] {
        let text = parent.text(field);
        match text {
            "" if required => errors.required(&parent.path.child(field), ""),
            "" => {}
            _ => errors.complaints(&parent.path.child(field), text, names::path_segment(text)),
        }
    }
    if old.is_some_and(|old| old.at(&["spec", "parentRef"]) != Some(parent.value)) {
        errors.invalid(&parent.path, Value::Null, super::IMMUTABLE);
    }
}

pub(super) fn service_cidr(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let networks = spec.items("cidrs");
    match old {
        Some(old) => service_cidr_update(&spec, &networks, old, errors),
        None => service_cidr_spec(&spec, &networks, errors),
    }
}

fn service_cidr_spec(spec: &At<'_>, networks: &[At<'_>], errors: &mut Errors) {
    let list = spec.child("cidrs");
    if networks.is_empty() {
        return errors.required(&list.path, "at least one CIDR required");
    }
    if networks.len() > 2 {
        return errors.shown(
            &list.path,
            "networking.ServiceCIDRSpec",
            spec.value,
            "may only hold up to 2 values",
        );
    }
    let mut families = Vec::new();
    for network in networks {
        let text = network.value.as_str().unwrap_or_default();
        if let Some(wrong) = ips::strict_cidr(text) {
            errors.invalid(&network.path, text, wrong);
        }
        families.extend(ips::Network::sloppy(text).map(ips::Network::is_ipv4));
    }
    if matches!(families[..], [one, other] if one == other) {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(&list.path, list.value.clone(), detail);
    }
}

fn service_cidr_update(spec: &At<'_>, networks: &[At<'_>], old: &Value, errors: &mut Errors) {
    let before = old.items_at(&["spec", "cidrs"]);
    // A second family may be added, nothing else.
    let added = before.len() == 1 && networks.len() == 2;
    if networks.len() != before.len() && !added {
        let shown = networks.iter().map(|at| at.value.clone()).collect::<Vec<_>>();
        errors.invalid(&Path::new("spec").child("cidrs"), shown, super::IMMUTABLE);
        return;
    }
    for (network, old) in networks.iter().zip(before) {
        if network.value != old {
            errors.invalid(&network.path, network.value.clone(), super::IMMUTABLE);
        }
    }
    if added {
        service_cidr_spec(spec, networks, errors);
    }
}
