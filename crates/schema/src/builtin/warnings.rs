//! What a server warns of when it takes an object: fields that do nothing any more, definitions that hide one another
//! (upstream: `WarningsOnCreate` and `WarningsOnUpdate` of the strategies, pkg/api/*/warnings.go).

mod addresses;
mod amounts;
mod overlaps;
mod pods;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::{Gvk, Map, Quantity, Value, names, object};

pub use amounts::Amounts;

use super::ips;

/// More warnings than an answer can tell of, which has room for 4,096 characters of them.
const MOST: usize = 4096;

/// The warnings for an object that was found valid; `old` is what it takes the place of. They are in upstream's order.
pub fn warnings(gvk: &Gvk, object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    if old.is_none() {
        host_name(gvk, object, &mut out);
    }
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => pods::pod("", object, old, &mut out),
        ("", "PodTemplate") => template(&["template"], object, old, &mut out),
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => template(&["spec", "template"], object, old, &mut out),
        ("batch", "CronJob") => template(&["spec", "jobTemplate", "spec", "template"], object, old, &mut out),
        ("", "Service") => service(object, &mut out),
        ("", "Secret") => secret(object, &mut out),
        ("", "Node") => node(object, &mut out),
        ("", "ServiceAccount") => account(object, old, &mut out),
        ("", "PersistentVolumeClaim") => claim(object, &mut out),
        ("", "PersistentVolume") => volume(object, &mut out),
        ("", "Endpoints") => addresses::endpoints(object, &mut out),
        ("discovery.k8s.io", "EndpointSlice") => {
            if old.is_none() && object.str_at(&["addressType"]) == Some("FQDN") {
                out.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
            }
            addresses::slice(object, &mut out);
        }
        ("networking.k8s.io", "NetworkPolicy") => addresses::policy(object, &mut out),
        ("networking.k8s.io", "Ingress")
            if old.is_none() && object::annotation(object, "kubernetes.io/ingress.class").is_some() =>
        {
            let text = "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead";
            out.push(text.to_owned());
        }
        ("storage.k8s.io", "CSIDriver") => {
            let requests = |driver: &Value| driver.items_at(&["spec", "tokenRequests"]).to_vec();
            let asks = !requests(object).is_empty() && old.map(requests) != Some(requests(object));
            if asks && object.at(&["spec", "serviceAccountTokenInSecrets"]).is_none() {
                let text = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent \
                            possible logging of tokens in volume attributes";
                out.push(text.to_owned());
            }
        }
        _ => {}
    }
    if gvk.group == "apps" && gvk.kind == "StatefulSet" {
        for (index, claim) in object.items_at(&["spec", "volumeClaimTemplates"]).iter().enumerate() {
            claim_spec(&format!("spec.volumeClaimTemplates[{index}]"), claim.get("spec"), &mut out);
        }
    }
    if gvk.group == "apps"
        && gvk.kind == "StatefulSet"
        && object.i64_at(&["spec", "revisionHistoryLimit"]).is_some_and(|limit| limit < 0)
    {
        let text = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";
        out.push(text.to_owned());
    }
    out
}

/// The name of a new object that becomes the name of hosts should be one.
fn host_name(gvk: &Gvk, object: &Value, out: &mut Vec<String>) {
    let used = match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => "the Pod's hostname",
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet")
        | ("batch", "Job" | "CronJob") => "Pod names and hostnames",
        _ => return,
    };
    let complaints = names::dns1123_label(object::name(object));
    if !complaints.is_empty() {
        out.push(format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            complaints.join(" ")
        ));
    }
}

/// The warnings of a template, unless it is the one that was there.
fn template(path: &[&str], object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    let before = old.and_then(|old| old.at(path));
    if let Some(template) = object.at(path).filter(|template| before != Some(*template)) {
        pods::pod(&path.join("."), template, before, out);
    }
}

/// A number of bytes that is no whole number.
fn fractional(path: &str, value: Option<&Value>, out: &mut Vec<String>) {
    let Some(text) = value.and_then(Value::as_str) else { return };
    if Quantity::is_whole(text) {
        return;
    }
    if let Ok(shown) = Quantity::canonical(text) {
        out.push(format!("{path}: fractional byte value \"{shown}\" is invalid, must be an integer"));
    }
}

fn service(object: &Value, out: &mut Vec<String>) {
    let text = |field: &str| object.str_at(&["spec", field]).unwrap_or_default();
    let kind = text("type");
    // A name of another host has no address, so it is not without one either.
    let headless = text("clusterIP") == "None" && kind == "ClusterIP";
    let external = !object.items_at(&["spec", "externalIPs"]).is_empty();
    if object::annotation(object, "service.kubernetes.io/topology-aware-hints").is_some() {
        let text = "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead";
        out.push(text.to_owned());
    }
    if !matches!(text("clusterIP"), "" | "None") {
        addresses::ips("spec.clusterIPs", object.items_at(&["spec", "clusterIPs"]), out);
    }
    if headless {
        if !text("loadBalancerIP").is_empty() {
            out.push("spec.loadBalancerIP is ignored for headless services".to_owned());
        }
        if external {
            out.push("spec.externalIPs is ignored for headless services".to_owned());
        }
        if text("sessionAffinity") != "None" {
            out.push("spec.SessionAffinity is ignored for headless services".to_owned());
        }
    }
    addresses::ips("spec.externalIPs", object.items_at(&["spec", "externalIPs"]), out);
    if external && !headless && kind != "ExternalName" {
        out.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned(),
        );
    }
    ips::warn_ip("spec.loadBalancerIP", text("loadBalancerIP"), out);
    addresses::cidrs(
        "spec.loadBalancerSourceRanges",
        object.items_at(&["spec", "loadBalancerSourceRanges"]),
        out,
    );
    if kind == "ExternalName" && external {
        out.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !text("externalName").is_empty() {
        out.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if text("trafficDistribution") == "PreferClose" {
        out.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned(),
        );
    }
}

fn secret(object: &Value, out: &mut Vec<String>) {
    if object.str_at(&["type"]) != Some("kubernetes.io/tls") {
        return;
    }
    for (key, noun) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        let data = object.str_at(&["data", key]).unwrap_or_default();
        let text = STANDARD.decode(data).unwrap_or_default();
        if !String::from_utf8_lossy(&text).contains("-----BEGIN ") {
            out.push(format!("tls: failed to find any PEM data in {noun} input"));
            return;
        }
    }
}

fn node(object: &Value, out: &mut Vec<String>) {
    if !object.str_at(&["spec", "externalID"]).unwrap_or_default().is_empty() {
        out.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    addresses::cidrs("spec.podCIDRs", object.items_at(&["spec", "podCIDRs"]), out);
}

/// The warnings for a status that was found valid.
pub fn status_warnings(gvk: &Gvk, object: &Value) -> Vec<String> {
    let mut out = Vec::new();
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => addresses::pod_status(object, &mut out),
        ("", "Service") | ("networking.k8s.io", "Ingress") => addresses::load_balancer(object, &mut out),
        _ => {}
    }
    out
}

fn account(object: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    const KEY: &str = "kubernetes.io/enforce-mountable-secrets";
    let given = |object: &Value| object::annotation(object, KEY).is_some();
    if given(object) && !old.is_some_and(given) {
        out.push(format!(
            "metadata.annotations[{KEY}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        ));
    }
}

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

fn claim(object: &Value, out: &mut Vec<String>) {
    if object::annotation(object, CLASS).is_some() {
        out.push(format!(
            "metadata.annotations[{CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
    claim_spec("spec", object.get("spec"), out);
}

fn claim_spec(path: &str, spec: Option<&Value>, out: &mut Vec<String>) {
    for part in ["requests", "limits"] {
        let value = spec.and_then(|spec| spec.at(&["resources", part, "storage"]));
        fractional(&format!("{path}.resources.{part}[storage]"), value, out);
    }
}

fn volume(object: &Value, out: &mut Vec<String>) {
    if object::annotation(object, CLASS).is_some() {
        out.push(format!(
            "metadata.annotations[{CLASS}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
    if object.str_at(&["spec", "persistentVolumeReclaimPolicy"]) == Some("Recycle") {
        let text = "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
                    approach is to use dynamic provisioning.";
        out.push(text.to_owned());
    }
    let gone = |field: &str| pods::GONE.iter().find(|(known, _)| *known == field);
    for (field, why) in
        object.get("spec").and_then(Value::as_object).into_iter().flat_map(Map::keys).filter_map(gone)
    {
        out.push(format!("spec.{field}: {why}"));
    }
}
