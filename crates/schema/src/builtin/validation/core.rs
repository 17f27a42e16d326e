//! Services, secrets, config maps, events.

use std::collections::BTreeSet;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::{At, Errors, IMMUTABLE, labels, port, port_number};

/// Most bytes that the values of a secret or a config map may have in all.
const DATA_LIMIT: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

pub(super) fn service(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let kind = spec.text("type");
    let headless = spec.value.items_at(&["clusterIPs"]).first().and_then(Value::as_str) == Some("None")
        || spec.text("clusterIP") == "None";
    let ports = spec.items("ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.required(&spec.path.child("ports"), "");
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let path = spec.path.child("clusterIPs").index(0);
            errors.invalid(&path, "None", format!("may not be set to 'None' for {kind} services"));
        }
        "ExternalName" => {
            let name = spec.text("externalName").trim_end_matches('.');
            let path = spec.path.child("externalName");
            match name {
                "" => errors.required(&path, ""),
                _ => errors.complaints(&path, name, names::dns1123_subdomain(name)),
            }
            if !spec.items("clusterIPs").is_empty() {
                errors.forbidden(&spec.path.child("clusterIPs"), "may not be set for ExternalName services");
            }
        }
        _ => {}
    }
    service_ports(&ports, kind, errors);
    labels(&spec, "selector", errors);
    errors.one_of(&spec, "sessionAffinity", &["ClientIP", "None"], true);
    for ip in spec.items("externalIPs") {
        let text = ip.value.as_str().unwrap_or_default();
        if text.parse::<IpAddr>().is_err() {
            errors.invalid(&ip.path, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
    }
    errors.one_of(&spec, "type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], true);
    if spec.find("allocateLoadBalancerNodePorts").is_some() && kind != "LoadBalancer" {
        let path = spec.path.child("allocateLoadBalancerNodePorts");
        errors.forbidden(&path, "may only be used when `type` is 'LoadBalancer'");
    }
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        cluster_ips_unchanged(&spec, old, errors);
    }
}

fn service_ports(ports: &[At<'_>], kind: &str, errors: &mut Errors) {
    let (mut seen_names, mut seen, mut seen_node) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for one in ports {
        let (name, protocol) = (one.text("name"), one.text("protocol"));
        if name.is_empty() {
            if ports.len() > 1 {
                errors.required(&one.path.child("name"), "");
            }
        } else {
            errors.complaints(&one.path.child("name"), name, names::dns1123_label(name));
            if !seen_names.insert(name) {
                errors.0.push(Error::duplicate(&one.path.child("name"), name));
            }
        }
        let number = one.int("port").unwrap_or_default();
        port_number(&one.path.child("port"), number, errors);
        errors.one_of(one, "protocol", &["SCTP", "TCP", "UDP"], true);
        port(&one.path.child("targetPort"), one.child("targetPort").value, errors);
        let node = one.int("nodePort").unwrap_or_default();
        if node != 0 && kind == "ClusterIP" {
            errors.forbidden(&one.path.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
        if node != 0 && !seen_node.insert((protocol, node)) {
            errors.0.push(Error::duplicate(&one.path.child("nodePort"), node));
        }
        if !seen.insert((protocol, number)) {
            errors.0.push(Error::duplicate(&one.path, one.value.clone()));
        }
    }
}

fn cluster_ips_unchanged(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    let is_external = |value: &Value| value.str_at(&["type"]) == Some("ExternalName");
    if is_external(spec.value) || is_external(old) {
        return;
    }
    let (new_ips, old_ips) = (spec.value.items_at(&["clusterIPs"]), old.items_at(&["clusterIPs"]));
    let path = spec.path.child("clusterIPs");
    let shown = || Value::Array(new_ips.to_vec());
    if new_ips.is_empty() && !old_ips.is_empty() {
        errors.invalid(&path.index(0), Value::Array(Vec::new()), "primary clusterIP can not be unset");
    }
    for (at, _) in new_ips.iter().zip(old_ips).enumerate().filter(|(_, (new, old))| new != old) {
        errors.invalid(&path.index(at), shown(), "may not change once set");
    }
}

pub(super) fn secret(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        if at.text("type") != old.str_at(&["type"]).unwrap_or_default() {
            errors.invalid(&Path::new("type"), at.text("type"), IMMUTABLE);
        }
        frozen(at, old, &["data"], errors);
    }
    data_keys(at, "data", errors);
    let size: usize = at.map("data").map(|(_, value)| value.as_str().map_or(0, str::len) / 4 * 3).sum();
    let data = at.path.child("data");
    if size > DATA_LIMIT {
        errors.0.push(Error::too_long(&data, DATA_LIMIT));
    }
    let has = |key: &str| at.child("data").value.get(key).is_some();
    let mut need = |keys: &[&str]| {
        for key in keys.iter().filter(|key| !has(key)) {
            errors.required(&data.key(key), "");
        }
    };
    match at.text("type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let annotations = at.child("metadata").child("annotations");
            if annotations.text(key).is_empty() {
                errors.required(&Path::new("metadata").child("annotations").key(key), "");
            }
        }
        "kubernetes.io/dockercfg" => docker_config(at, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(at, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => need(&["username", "password"]),
        "kubernetes.io/ssh-auth" => need(&["ssh-privatekey"]),
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        _ => {}
    }
}

fn docker_config(at: &At<'_>, key: &str, errors: &mut Errors) {
    let path = at.path.child("data").key(key);
    match at.child("data").value.get(key).and_then(Value::as_str) {
        None => errors.required(&path, ""),
        Some(text) => {
            let parsed = STANDARD.decode(text).ok().map(|bytes| pilothouse_value::parse::json(&bytes));
            match parsed {
                Some(Ok(parsed)) if parsed.value.as_object().is_some() => {}
                Some(Err(why)) => errors.invalid(&path, REDACTED, why.to_string()),
                _ => errors.invalid(&path, REDACTED, "not a JSON object"),
            }
        }
    }
}

const REDACTED: &str = "<secret contents redacted>";

/// What an immutable secret or config map must keep.
fn frozen(at: &At<'_>, old: &Value, fields: &[&str], errors: &mut Errors) {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    if !at.flag("immutable") {
        errors.forbidden(&Path::new("immutable"), FROZEN);
    }
    for field in fields.iter().filter(|field| at.value.get(field) != old.get(field)) {
        errors.forbidden(&Path::new(field), FROZEN);
    }
}

fn data_keys(at: &At<'_>, field: &str, errors: &mut Errors) {
    for (key, _) in at.map(field) {
        errors.complaints(&at.path.child(field).key(key), key, names::config_map_key(key));
    }
}

pub(super) fn config_map(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old {
        frozen(at, old, &["data", "binaryData"], errors);
    }
    data_keys(at, "data", errors);
    data_keys(at, "binaryData", errors);
    let binary = at.child("binaryData");
    for (key, _) in at.map("data").filter(|(key, _)| binary.value.get(key).is_some()) {
        errors.invalid(&at.path.child("data").key(key), key, "duplicate of key present in binaryData");
    }
    let text: usize = at.map("data").map(|(_, value)| value.as_str().map_or(0, str::len)).sum();
    let bytes: usize =
        at.map("binaryData").map(|(_, value)| value.as_str().map_or(0, str::len) / 4 * 3).sum();
    if text + bytes > DATA_LIMIT {
        errors.0.push(Error::too_long(&Path::new(""), DATA_LIMIT));
    }
}

pub(super) fn event(at: &At<'_>, errors: &mut Errors) {
    let involved = at.child("involvedObject");
    let (namespace, of) = (at.child("metadata").text("namespace"), involved.text("namespace"));
    // Events on objects without a namespace stand in the namespace `default`.
    let fits =
        if of.is_empty() { matches!(namespace, "" | "default" | "kube-system") } else { of == namespace };
    if !fits {
        errors.invalid(&involved.path.child("namespace"), of, "does not match event.namespace");
    }
}
