//! The core group (pods aside) and its neighbours: services, storage, nodes, events, access.

use std::collections::BTreeSet;

use pilothouse_value::{Map, Timestamp, Value, object};

use super::Cells;
use super::cells::{
    age, containers, count, flag, int, joined, labels, name, scalar, since, some_of, text, text_or,
};

pub(super) fn printer(key: &str) -> Option<Cells> {
    Some(match key {
        "core.Service" => service,
        "core.Endpoints" => endpoints,
        "core.Namespace" => {
            |object, now| vec![name(object), text(object, &["status", "phase"]).into(), age(object, now)]
        }
        "core.Secret" => |object, now| {
            vec![
                name(object),
                text(object, &["type"]).into(),
                count(object, &["data"]).into(),
                age(object, now),
            ]
        },
        "core.ConfigMap" => |object, now| {
            let keys = count(object, &["data"]) + count(object, &["binaryData"]);
            vec![name(object), keys.into(), age(object, now)]
        },
        "core.ServiceAccount" => |object, now| vec![name(object), age(object, now)],
        "core.PersistentVolume" => persistent_volume,
        "core.PersistentVolumeClaim" => persistent_volume_claim,
        "core.Node" => node,
        "core.Event" => event,
        "core.ResourceQuota" => resource_quota,
        "core.PodTemplate" => |object, _| {
            let [names, images] = containers(object, &["template", "spec", "containers"]);
            vec![name(object), names, images, labels(object, &["template", "metadata", "labels"]).into()]
        },
        "core.ComponentStatus" => component_status,
        _ => return None,
    })
}

fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let internal =
        object.items_at(&["spec", "clusterIPs"]).first().and_then(Value::as_str).unwrap_or("<none>");
    let port = |port: &Value| {
        let (number, protocol) = (int(port, &["port"]), text(port, &["protocol"]));
        match int(port, &["nodePort"]) {
            0 => format!("{number}/{protocol}"),
            node => format!("{number}:{node}/{protocol}"),
        }
    };
    let ports: Vec<String> = object.items_at(&["spec", "ports"]).iter().map(port).collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    vec![
        name(object),
        text(object, &["spec", "type"]).into(),
        internal.into(),
        external_ip(object).into(),
        ports.into(),
        age(object, now),
        labels(object, &["spec", "selector"]).into(),
    ]
}

fn external_ip(object: &Value) -> String {
    let external = joined(object, &["spec", "externalIPs"]);
    let none = |text: String, none: &str| if text.is_empty() { none.to_owned() } else { text };
    match text(object, &["spec", "type"]) {
        "ClusterIP" | "NodePort" => none(external, "<none>"),
        "LoadBalancer" => {
            let balancer = load_balancer(object);
            match (balancer.is_empty(), external.is_empty()) {
                (false, false) => format!("{balancer},{external}"),
                (false, true) => balancer,
                (true, _) => none(external, "<pending>"),
            }
        }
        "ExternalName" => text(object, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of a load balancer, sorted.
pub(super) fn load_balancer(object: &Value) -> String {
    let ingress = object.items_at(&["status", "loadBalancer", "ingress"]).iter();
    let addresses =
        ingress.map(|one| text_or(one, &["ip"], text(one, &["hostname"]))).filter(|text| !text.is_empty());
    let addresses: BTreeSet<&str> = addresses.collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn endpoints(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in object.items_at(&["subsets"]) {
        let addresses = subset.items_at(&["addresses"]).iter().map(|address| text(address, &["ip"]));
        let ports = subset.items_at(&["ports"]);
        if ports.is_empty() {
            all.extend(addresses.clone().map(str::to_owned));
        }
        for port in ports {
            let port = int(port, &["port"]);
            let joined =
                |ip: &str| if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
            all.extend(addresses.clone().map(joined));
        }
    }
    // Subsets without addresses print nothing, as upstream does; no subset at all is told.
    let none = if object.items_at(&["subsets"]).is_empty() { "<none>" } else { "" };
    vec![name(object), some_of(&all, 3, none).into(), age(object, now)]
}

/// Access modes by their short names.
fn access_modes(object: &Value, path: &[&str]) -> String {
    let modes: Vec<&str> = object.items_at(path).iter().filter_map(Value::as_str).collect();
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short: Vec<&str> =
        short.iter().filter(|(long, _)| modes.contains(long)).map(|(_, short)| *short).collect();
    short.join(",")
}

fn storage_class(object: &Value) -> &str {
    object::annotation(object, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| text(object, &["spec", "storageClassName"]))
}

/// The phase of a volume or a claim; a deleted one is terminating.
fn phase(object: &Value) -> &str {
    match object::deletion_timestamp(object) {
        Some(_) => "Terminating",
        None => text(object, &["status", "phase"]),
    }
}

fn persistent_volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = object.at(&["spec", "claimRef"]);
    let claim = claim.map(|claim| format!("{}/{}", text(claim, &["namespace"]), text(claim, &["name"])));
    vec![
        name(object),
        text_or(object, &["spec", "capacity", "storage"], "0").into(),
        access_modes(object, &["spec", "accessModes"]).into(),
        text(object, &["spec", "persistentVolumeReclaimPolicy"]).into(),
        phase(object).into(),
        claim.unwrap_or_default().into(),
        storage_class(object).into(),
        text_or(object, &["spec", "volumeAttributesClassName"], "<unset>").into(),
        text(object, &["status", "reason"]).into(),
        age(object, now),
        text_or(object, &["spec", "volumeMode"], "<unset>").into(),
    ]
}

fn persistent_volume_claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let volume = text(object, &["spec", "volumeName"]);
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (
            text_or(object, &["status", "capacity", "storage"], "0").to_owned(),
            access_modes(object, &["status", "accessModes"]),
        ),
    };
    vec![
        name(object),
        phase(object).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        storage_class(object).into(),
        text_or(object, &["spec", "volumeAttributesClassName"], "<unset>").into(),
        age(object, now),
        text_or(object, &["spec", "volumeMode"], "<unset>").into(),
    ]
}

fn node(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut status = match object::condition(object, "Ready").map(|ready| text(ready, &["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if flag(object, &["spec", "unschedulable"], false) {
        status.push_str(",SchedulingDisabled");
    }
    let role = |(key, value): (&str, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => (!role.is_empty()).then(|| role.to_owned()),
        None if key == "kubernetes.io/role" => {
            value.as_str().filter(|role| !role.is_empty()).map(str::to_owned)
        }
        None => None,
    };
    let roles: BTreeSet<String> =
        object::labels(object).into_iter().flat_map(Map::iter).filter_map(role).collect();
    let roles =
        if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") };
    let info = |field| text(object, &["status", "nodeInfo", field]);
    let known = |text: &str| if text.is_empty() { "<unknown>".to_owned() } else { text.to_owned() };
    let address = |kind: &str| {
        let address =
            object.items_at(&["status", "addresses"]).iter().find(|one| text(one, &["type"]) == kind);
        Value::from(address.map_or("<none>", |one| text(one, &["address"])))
    };
    let kernel = match info("architecture") {
        "" => known(info("kernelVersion")),
        architecture => format!("{} ({architecture})", known(info("kernelVersion"))),
    };
    vec![
        name(object),
        status.into(),
        roles.into(),
        age(object, now),
        info("kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        known(info("osImage")).into(),
        kernel.into(),
        known(info("containerRuntimeVersion")).into(),
    ]
}

/// Events of both groups: events.k8s.io calls the same fields by other names.
fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let either =
        |old: &[&'static str], new: &[&'static str]| object.str_at(old).or_else(|| object.str_at(new));
    let is_new = object::api_version(object).starts_with("events.k8s.io/");
    let regarding = if is_new { "regarding" } else { "involvedObject" };
    let first =
        either(&["firstTimestamp"], &["deprecatedFirstTimestamp"]).or_else(|| object.str_at(&["eventTime"]));
    let first = since(first, now);
    let last = either(&["lastTimestamp"], &["deprecatedLastTimestamp"]);
    let mut last = last.map_or_else(|| first.clone(), |last| since(Some(last), now));
    let mut number = int(object, &[if is_new { "deprecatedCount" } else { "count" }]);
    if let Some(series) = object.get("series").filter(|series| !series.is_null()) {
        last = since(series.str_at(&["lastObservedTime"]), now);
        number = int(series, &["count"]);
    } else if number == 0 {
        number = 1;
    }
    let kind = text(object, &[regarding, "kind"]).to_lowercase();
    let target = match text(object, &[regarding, "name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let source = if is_new { "deprecatedSource" } else { "source" };
    let reporter = if is_new { "reportingController" } else { "reportingComponent" };
    let component = text_or(object, &[source, "component"], text(object, &[reporter]));
    let instance = text_or(object, &[source, "host"], text(object, &["reportingInstance"]));
    let source = if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") };
    vec![
        last.into(),
        text(object, &["type"]).into(),
        text(object, &["reason"]).into(),
        target.into(),
        text(object, &[regarding, "fieldPath"]).into(),
        source.into(),
        text(object, &[if is_new { "note" } else { "message" }]).trim().into(),
        first.into(),
        number.into(),
        name(object),
    ]
}

fn resource_quota(object: &Value, now: Timestamp) -> Vec<Value> {
    let hard = object.at(&["status", "hard"]).and_then(Value::as_object);
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, quantity) in hard.into_iter().flat_map(Map::iter) {
        let used = scalar(object.at(&["status", "used", resource]), "0");
        let list = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        list.push(format!("{resource}: {used}/{}", crate::jsonpath::text(quantity)));
    }
    vec![name(object), requests.join(", ").into(), limits.join(", ").into(), age(object, now)]
}

fn component_status(object: &Value, _: Timestamp) -> Vec<Value> {
    let healthy =
        object.items_at(&["conditions"]).iter().find(|condition| text(condition, &["type"]) == "Healthy");
    let status = match healthy.map(|condition| text(condition, &["status"])) {
        None => "Unknown",
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
    };
    let part = |field| Value::from(healthy.map_or("", |condition| text(condition, &[field])));
    vec![name(object), status.into(), part("message"), part("error")]
}
