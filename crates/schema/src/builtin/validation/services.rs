//! Services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::super::go;
use super::super::ips;
use super::addresses::{app_protocol, legacy_cidr, legacy_ip, not_special, nothing_known};
use super::{At, Errors, IMMUTABLE, labels, port, port_number};

const LOAD_BALANCERS_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
const ONCE: &str = "may not change once set";

pub(super) fn service(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        cluster_ips_unchanged(&spec, old, errors);
        families_unchanged(&spec, old, errors);
        let both = spec.text("type") == "LoadBalancer" && old.str_at(&["type"]) == Some("LoadBalancer");
        if both && spec.value.get("loadBalancerClass") != old.get("loadBalancerClass") {
            let class = spec.child("loadBalancerClass");
            errors.invalid(&class.path, class.value.clone(), ONCE);
        }
        class_format(&spec, errors);
        let check = |spec: &Value| {
            let local = spec.str_at(&["externalTrafficPolicy"]) == Some("Local");
            let needed = local && spec.str_at(&["type"]) == Some("LoadBalancer");
            needed.then(|| spec.i64_at(&["healthCheckNodePort"]).unwrap_or_default())
        };
        if let (Some(now), Some(before)) = (check(spec.value), check(old))
            && now != before
        {
            errors.forbidden(&spec.path.child("healthCheckNodePort"), IMMUTABLE);
        }
    }
    topology_mode(at, errors);
    let before = |list: &str| old.map_or(&[][..], |old| old.items_at(&["spec", list]));
    let kind = spec.text("type");
    let headless = is_headless(spec.value);
    let ports = spec.items("ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.required(&spec.path.child("ports"), "");
    }
    of_kind(&spec, kind, errors);
    service_ports(&ports, errors);
    labels(&spec, "selector", errors);
    affinity(&spec, errors);
    cluster_ips(&spec, kind, headless, before("clusterIPs"), errors);
    for ip in spec.items("externalIPs") {
        let text = ip.value.as_str().unwrap_or_default();
        if legacy_ip(&ip.path, text, |_| before("externalIPs").contains(ip.value), errors) {
            not_special(&ip.path, text, errors);
        }
    }
    errors.one_of(&spec, "type", &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], true);
    node_ports(&ports, kind, errors);
    same_ports(&ports, errors);
    source_ranges(at, old, kind, errors);
    if spec.find("allocateLoadBalancerNodePorts").is_some() && kind != "LoadBalancer" {
        errors.forbidden(&spec.path.child("allocateLoadBalancerNodePorts"), LOAD_BALANCERS_ONLY);
    }
    if kind == "LoadBalancer" && spec.find("allocateLoadBalancerNodePorts").is_none() {
        // Upstream's path has no "spec" here.
        errors.required(&Path::new("allocateLoadBalancerNodePorts"), "");
    }
    class_format(&spec, errors);
    traffic(&spec, kind, errors);
}

fn class_format(spec: &At<'_>, errors: &mut Errors) {
    let Some(class) = spec.find("loadBalancerClass") else { return };
    let text = class.value.as_str().unwrap_or_default();
    if spec.text("type") == "LoadBalancer" {
        errors.complaints(&class.path, text, names::qualified_name(text));
    } else {
        errors.forbidden(&class.path, LOAD_BALANCERS_ONLY);
    }
}

/// The annotation has an old name, which may not say something else.
fn topology_mode(at: &At<'_>, errors: &mut Errors) {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    const MODE: &str = "service.kubernetes.io/topology-mode";
    let annotation = |name: &str| at.value.str_at(&["metadata", "annotations", name]);
    if let (Some(hints), Some(mode)) = (annotation(HINTS), annotation(MODE))
        && hints != mode
    {
        let path = at.path.child("metadata").child("annotations").key(MODE);
        errors.invalid(&path, mode, format!("must match annotations[{HINTS}] when both are specified"));
    }
}

/// What is wrong with the addresses and families of a Service, by themselves.
pub fn validate_cluster_ips(service: &Value, old: Option<&Value>) -> Vec<Error> {
    let mut errors = Errors::default();
    let spec = At::root(service).child("spec");
    let before = old.map_or(&[][..], |old| old.items_at(&["spec", "clusterIPs"]));
    cluster_ips(&spec, spec.text("type"), is_headless(spec.value), before, &mut errors);
    errors.0.errors
}

fn is_headless(spec: &Value) -> bool {
    spec.items_at(&["clusterIPs"]).first().and_then(Value::as_str) == Some("None")
        && spec.items_at(&["clusterIPs"]).len() == 1
        || spec.str_at(&["clusterIP"]) == Some("None")
}

fn of_kind(spec: &At<'_>, kind: &str, errors: &mut Errors) {
    let addresses = spec.items("clusterIPs");
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec.value) => {
            let path = spec.path.child("clusterIPs").index(0);
            errors.invalid(&path, "None", format!("may not be set to 'None' for {kind} services"));
        }
        "ExternalName" => {
            if !addresses.is_empty() {
                errors.forbidden(&spec.path.child("clusterIPs"), "may not be set for ExternalName services");
            }
            if !spec.items("ipFamilies").is_empty() {
                errors.forbidden(&spec.path.child("ipFamilies"), "may not be set for ExternalName services");
            }
            if spec.find("ipFamilyPolicy").is_some() {
                errors.forbidden(
                    &spec.path.child("ipFamilyPolicy"),
                    "may not be set for ExternalName services",
                );
            }
            let name = spec.text("externalName").trim_end_matches('.');
            let path = spec.path.child("externalName");
            match name {
                "" => errors.required(&path, ""),
                _ => errors.complaints(&path, name, names::dns1123_subdomain(name)),
            }
        }
        _ => {}
    }
}

fn service_ports(ports: &[At<'_>], errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for one in ports {
        let name = one.text("name");
        if name.is_empty() {
            if ports.len() > 1 {
                errors.required(&one.path.child("name"), "");
            }
        } else {
            errors.complaints(&one.path.child("name"), name, names::dns1123_label(name));
            if !seen.insert(name) {
                errors.0.push(Error::duplicate(&one.path.child("name"), name));
            }
        }
        port_number(&one.path.child("port"), one.int("port").unwrap_or_default(), errors);
        errors.one_of(one, "protocol", &["SCTP", "TCP", "UDP"], true);
        port(&one.path.child("targetPort"), one.child("targetPort").value, errors);
        app_protocol(one, errors);
    }
}

fn node_ports(ports: &[At<'_>], kind: &str, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for one in ports {
        let node = one.int("nodePort").unwrap_or_default();
        if node == 0 {
            continue;
        }
        if kind == "ClusterIP" {
            errors.forbidden(&one.path.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        } else if !seen.insert((one.text("protocol"), node)) {
            errors.0.push(Error::duplicate(&one.path.child("nodePort"), node));
        }
    }
}

/// A port of a protocol is served once; upstream shows no more than those two.
fn same_ports(ports: &[At<'_>], errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for one in ports {
        let (protocol, number) = (one.text("protocol"), one.int("port").unwrap_or_default());
        if !seen.insert((protocol, number)) {
            let shown = pilothouse_value::json!({"protocol": protocol, "port": number, "targetPort": 0});
            let shown = go::show("core.ServicePort", &shown);
            errors.0.push(Error::duplicate(&one.path, Value::Null).showing(shown));
        }
    }
}

fn affinity(spec: &At<'_>, errors: &mut Errors) {
    errors.one_of(spec, "sessionAffinity", &["ClientIP", "None"], true);
    let config = spec.child("sessionAffinityConfig");
    match spec.text("sessionAffinity") {
        "ClientIP" => {
            let client = config.child("clientIP");
            let path = client.path.child("timeoutSeconds");
            match client.int("timeoutSeconds") {
                None => errors.required(&path, "when session affinity type is ClientIP"),
                Some(seconds) if !(1..=86_400).contains(&seconds) => {
                    errors.invalid(&path, seconds, "must be greater than 0 and less than 86400");
                }
                Some(_) => {}
            }
        }
        "None" if !config.value.is_null() => {
            let detail = "must not be set when session affinity is None";
            errors.forbidden(&config.path, detail);
        }
        _ => {}
    }
}

fn cluster_ips(spec: &At<'_>, kind: &str, headless: bool, before: &[Value], errors: &mut Errors) {
    if kind == "ExternalName" {
        return;
    }
    let (one, all) = (spec.text("clusterIP"), spec.child("clusterIPs"));
    let addresses = spec.items("clusterIPs");
    let first = addresses.first().and_then(|at| at.value.as_str()).unwrap_or_default();
    if !one.is_empty() && addresses.is_empty() {
        errors.required(&all.path, "");
    } else if !one.is_empty() && first != one {
        errors.invalid(&all.path, all.value.clone(), "first value must match `clusterIP`");
    } else if one.is_empty() && !addresses.is_empty() {
        errors.invalid(&all.path, all.value.clone(), "must be empty when `clusterIP` is not specified");
    }
    let families = spec.items("ipFamilies");
    let mut seen = BTreeSet::new();
    for family in &families {
        let text = family.value.as_str().unwrap_or_default();
        if !["IPv4", "IPv6"].contains(&text) {
            errors.unsupported(&family.path, text, &["IPv4", "IPv6"]);
        }
        if !seen.insert(text) {
            errors.0.push(Error::duplicate(&family.path, text));
        }
    }
    if spec.find("ipFamilyPolicy").is_some() {
        errors.one_of_all(spec, "ipFamilyPolicy", &["PreferDualStack", "RequireDualStack", "SingleStack"]);
    }
    let mut wrong = false;
    for (index, address) in addresses.iter().enumerate() {
        let text = address.value.as_str().unwrap_or_default();
        if index == 0 && text == "None" {
            if addresses.len() > 1 {
                wrong = true;
                errors.invalid(&all.path, all.value.clone(), "'None' must be the first and only value");
            }
        } else if !legacy_ip(&address.path, text, |_| before.contains(address.value), errors) {
            wrong = true;
        }
    }
    if addresses.len() > 2 {
        errors.invalid(&all.path, all.value.clone(), "may only hold up to 2 values");
    }
    if wrong {
        return;
    }
    let parsed: Vec<IpAddr> = addresses.iter().filter_map(|at| ips::sloppy_ip(at.value.as_str()?)).collect();
    let both = parsed.iter().any(IpAddr::is_ipv4) && parsed.iter().any(IpAddr::is_ipv6);
    if addresses.len() > 1 && !both {
        errors.invalid(&all.path, all.value.clone(), "may specify no more than one IP for each IP family");
    }
    if headless {
        return;
    }
    for (index, ((address, ip), family)) in addresses.iter().zip(&parsed).zip(&families).enumerate() {
        let text = address.value.as_str().unwrap_or_default();
        let expected = family.value.as_str().unwrap_or_default();
        if matches!((expected, ip.is_ipv4()), ("IPv4", false) | ("IPv6", true)) {
            let detail = format!("expected an {expected} value as indicated by `ipFamilies[{index}]`");
            errors.invalid(&address.path, text, detail);
        }
    }
}

fn source_ranges(at: &At<'_>, old: Option<&Value>, kind: &str, errors: &mut Errors) {
    const ANNOTATION: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let spec = at.child("spec");
    let ranges = spec.items("loadBalancerSourceRanges");
    if ranges.is_empty() {
        let annotation =
            |of: &'_ Value| of.str_at(&["metadata", "annotations", ANNOTATION]).map(str::to_owned);
        let Some(text) = annotation(at.value) else { return };
        let path = at.path.child("metadata").child("annotations").key(ANNOTATION);
        if kind != "LoadBalancer" {
            errors.forbidden(&path, LOAD_BALANCERS_ONLY);
        }
        if old.and_then(annotation).as_ref() != Some(&text) && !text.trim().is_empty() {
            for range in text.trim().split(',').map(str::trim) {
                legacy_cidr(&path, range, nothing_known, errors);
            }
        }
        return;
    }
    // Upstream's path begins with a capital letter here.
    let path = spec.path.child("LoadBalancerSourceRanges");
    if kind != "LoadBalancer" {
        errors.forbidden(&path, LOAD_BALANCERS_ONLY);
    }
    let before = old.map_or(&[][..], |old| old.items_at(&["spec", "loadBalancerSourceRanges"]));
    for (index, range) in ranges.iter().enumerate() {
        let text = range.value.as_str().unwrap_or_default().trim();
        let known = |text: &str| before.iter().filter_map(Value::as_str).any(|old| old.trim() == text);
        legacy_cidr(&path.index(index), text, known, errors);
    }
}

/// Whether anyone outside the cluster may call the service.
fn is_external(spec: &At<'_>, kind: &str) -> bool {
    matches!(kind, "LoadBalancer" | "NodePort")
        || kind == "ClusterIP" && !spec.items("externalIPs").is_empty()
}

fn traffic(spec: &At<'_>, kind: &str, errors: &mut Errors) {
    let policy = spec.text("externalTrafficPolicy");
    let path = spec.path.child("externalTrafficPolicy");
    let check = spec.int("healthCheckNodePort").unwrap_or_default();
    if is_external(spec, kind) {
        errors.one_of(spec, "externalTrafficPolicy", &["Cluster", "Local"], true);
    } else if !policy.is_empty() {
        errors.invalid(&path, policy, "may only be set for externally-accessible services");
    }
    let path = spec.path.child("healthCheckNodePort");
    if kind == "LoadBalancer" && policy == "Local" {
        match check {
            0 => errors.required(&path, ""),
            number => port_number(&path, number, errors),
        }
    } else if check != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.invalid(&path, check, detail);
    }
    if spec.find("internalTrafficPolicy").is_some() {
        errors.one_of_all(spec, "internalTrafficPolicy", &["Cluster", "Local"]);
    } else if kind != "ExternalName" && matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer") {
        errors.required(&spec.path.child("internalTrafficPolicy"), "");
    }
    if spec.find("trafficDistribution").is_some() {
        errors.one_of_all(spec, "trafficDistribution", &["PreferClose", "PreferSameZone", "PreferSameNode"]);
    }
}

fn cluster_ips_unchanged(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    let is_external = |value: &Value| value.str_at(&["type"]) == Some("ExternalName");
    if is_external(spec.value) || is_external(old) || is_headless(spec.value) && is_headless(old) {
        return;
    }
    let (new, before) = (spec.value.items_at(&["clusterIPs"]), old.items_at(&["clusterIPs"]));
    let path = spec.path.child("clusterIPs");
    let shown = || Value::Array(new.to_vec().into());
    if new.is_empty() && !before.is_empty() {
        errors.invalid(&path.index(0), Value::Array(Vec::new().into()), "primary clusterIP can not be unset");
    }
    let whole = new.len() == before.len();
    for (index, _) in
        new.iter().zip(before).enumerate().filter(|(index, (new, old))| new != old && (whole || *index == 0))
    {
        errors.invalid(&path.index(index), shown(), ONCE);
    }
    if before.len() > 1 && new.len() == 1 && spec.text("ipFamilyPolicy") != "SingleStack" {
        let policy = spec.child("ipFamilyPolicy");
        let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        errors.invalid(&policy.path, policy.value.clone(), detail);
    }
}

fn families_unchanged(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    let is_external = |value: &Value| value.str_at(&["type"]) == Some("ExternalName");
    if is_external(spec.value) || is_external(old) || is_headless(spec.value) || is_headless(old) {
        return;
    }
    let (new, before) = (spec.value.items_at(&["ipFamilies"]), old.items_at(&["ipFamilies"]));
    let first = spec.path.child("ipFamilies").index(0);
    let shown = |list: &str| spec.child(list).value.clone();
    if new.len() == before.len() {
        for _ in new.iter().zip(before).filter(|(new, old)| new != old) {
            errors.invalid(&first, shown("ipFamilies"), ONCE);
        }
        return;
    }
    if new.len() < before.len() && spec.items("clusterIPs").is_empty() {
        errors.invalid(&first, shown("ipFamilies"), "primary ipFamily can not be unset");
    }
    if let (Some(new), Some(old)) = (new.first(), before.first())
        && new != old
    {
        errors.invalid(&first, shown("clusterIPs"), ONCE);
    }
    if new.len() < before.len() && new.len() == 1 && spec.text("ipFamilyPolicy") != "SingleStack" {
        let policy = spec.child("ipFamilyPolicy");
        let detail = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        errors.invalid(&policy.path, policy.value.clone(), detail);
    }
}
