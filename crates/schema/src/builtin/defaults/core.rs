//! The core group, pods aside.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::{Map, Value, json};

use super::{Rule, fill, fill_pointer, is_empty, is_unset, object, objects, text};

pub(super) fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "core.v1.Service" => service,
        "core.v1.Secret" => secret,
        "core.v1.PersistentVolume" => persistent_volume,
        "core.v1.PersistentVolumeClaim" => |map| fill(object(map, "status"), "phase", "Pending"),
        "core.v1.PersistentVolumeClaimSpec" => |map| fill_pointer(map, "volumeMode", "Filesystem"),
        "core.v1.Namespace" => namespace,
        "core.v1.NamespaceStatus" => |map| fill(map, "phase", "Active"),
        "core.v1.NodeSpec" => pod_networks,
        "core.v1.NodeStatus" => node_status,
        "core.v1.EndpointPort" => |map| fill(map, "protocol", "TCP"),
        "core.v1.ReplicationController" => replication_controller,
        "core.v1.LimitRangeItem" => limit_range_item,
        _ => return None,
    })
}

/// A node has one network for pods, or one of each family; the first stands in a field of its own, too. (Upstream: when the
/// object is converted to the internal version.)
fn pod_networks(spec: &mut Map) {
    let first = text(spec, "podCIDR").to_owned();
    let list = spec.get("podCIDRs").and_then(Value::as_array);
    match list.and_then(|list| list.first()).and_then(Value::as_str).map(str::to_owned) {
        Some(of_list) if first.is_empty() => drop(spec.insert("podCIDR", of_list)),
        Some(of_list) if of_list == first => {}
        _ if first.is_empty() => {}
        _ => drop(spec.insert("podCIDRs", vec![first])),
    }
}

fn service(map: &mut Map) {
    let spec = object(map, "spec");
    fill(spec, "sessionAffinity", "None");
    if text(spec, "sessionAffinity") == "ClientIP" {
        let client_ip = object(object(spec, "sessionAffinityConfig"), "clientIP");
        fill(client_ip, "timeoutSeconds", 10800);
    } else if text(spec, "sessionAffinity") == "None" {
        spec.remove("sessionAffinityConfig");
    }
    fill(spec, "type", "ClusterIP");
    for port in objects(spec, "ports") {
        fill(port, "protocol", "TCP");
        let target = port.get("targetPort");
        let unset = target
            .is_none_or(|target| target.is_null() || *target == Value::Int(0) || target.as_str() == Some(""));
        if let (true, Some(number)) = (unset, port.get("port").cloned()) {
            port.insert("targetPort", number);
        }
    }
    let kind = text(spec, "type").to_owned();
    let outside = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
    if outside || (kind == "ClusterIP" && !is_empty(spec, "externalIPs")) {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if outside || kind == "ClusterIP" {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
        let status = object(map, "status");
        for ingress in objects(object(status, "loadBalancer"), "ingress") {
            if !is_unset(ingress, "ip") {
                fill_pointer(ingress, "ipMode", "VIP");
            }
        }
    }
}

/// `stringData` is for writing only: it ends up in `data`, over what is there.
fn secret(map: &mut Map) {
    if let Some(Value::Object(texts)) = map.remove("stringData") {
        let data = object(map, "data");
        for (key, text) in texts {
            data.insert(key, STANDARD.encode(text.as_str().unwrap_or_default()));
        }
    }
    fill(map, "type", "Opaque");
}

fn persistent_volume(map: &mut Map) {
    fill(object(map, "status"), "phase", "Pending");
    let spec = object(map, "spec");
    fill(spec, "persistentVolumeReclaimPolicy", "Retain");
    fill_pointer(spec, "volumeMode", "Filesystem");
}

fn namespace(map: &mut Map) {
    let metadata = object(map, "metadata");
    let name = text(metadata, "name").to_owned();
    if !name.is_empty() {
        object(metadata, "labels").insert("kubernetes.io/metadata.name", name);
    }
}

fn node_status(map: &mut Map) {
    if let (None, Some(capacity)) = (map.get("allocatable"), map.get("capacity").cloned()) {
        map.insert("allocatable", capacity);
    }
}

fn replication_controller(map: &mut Map) {
    let labels = map.get("spec").and_then(|spec| spec.at(&["template", "metadata", "labels"])).cloned();
    let Some(labels @ Value::Object(_)) = labels else { return };
    let spec = object(map, "spec");
    if is_empty(spec, "selector") {
        spec.insert("selector", labels.clone());
    }
    let metadata = object(map, "metadata");
    if is_empty(metadata, "labels") {
        metadata.insert("labels", labels);
    }
}

fn limit_range_item(map: &mut Map) {
    if text(map, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        let source = map.get(from).cloned().unwrap_or_else(|| json!({}));
        for (name, quantity) in source.as_object().into_iter().flat_map(Map::iter) {
            fill(object(map, to), name, quantity.clone());
        }
    }
}
