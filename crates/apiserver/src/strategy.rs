//! What a kind does with a document before it is validated: which parts a request may write, and how generations count.
//!
//! These are the `PrepareForCreate` and `PrepareForUpdate` of the kinds' strategies upstream.

use pilothouse_value::{Map, Value, json, object};

use crate::resource::Resource;

/// Prepares a new object: no status from outside, the first generation.
pub(crate) fn prepare_create(resource: &Resource, value: &mut Value, now: &str) {
    if resource.rules.status {
        value.take(&["status"]);
    }
    if resource.rules.generation {
        value.set(&["metadata", "generation"], 1);
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        _ if !resource.is_built_in() => {}
        ("", "pods") => {
            value.set(&["status"], json!({"phase": "Pending", "qosClass": qos(value)}));
        }
        ("", "namespaces") => {
            value.set(&["spec", "finalizers"], vec!["kubernetes"]);
            value.set(&["status"], json!({"phase": "Active"}));
            let name = object::name(value).to_owned();
            if !name.is_empty() {
                value.set(&["metadata", "labels", "kubernetes.io/metadata.name"], name);
            }
        }
        ("", "persistentvolumeclaims") => value.set(&["status"], json!({"phase": "Pending"})),
        ("", "persistentvolumes") => value.set(&["status"], json!({"phase": "Pending"})),
        ("", "services") => value.set(&["status"], json!({"loadBalancer": {}})),
        ("networking.k8s.io", "ingresses") => value.set(&["status"], json!({"loadBalancer": {}})),
        ("", "nodes") => {}
        ("apps", "deployments" | "daemonsets" | "replicasets" | "statefulsets") | ("batch", "jobs" | "cronjobs") => {
            value.set(&["status"], empty_status(resource));
            if resource.plural == "jobs" {
                prepare_job(value);
            }
        }
        ("apiregistration.k8s.io", _) => {
            value.set(&["status"], json!({"conditions": [{
                "type": "Available", "status": "True", "reason": "Local",
                "message": "Local APIServices are always available", "lastTransitionTime": now,
            }]}));
        }
        _ => {}
    }
}

/// The status that a workload has before a controller has seen it: the fields that are always written.
fn empty_status(resource: &Resource) -> Value {
    match resource.plural.as_str() {
        "daemonsets" => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        }),
        "replicasets" => json!({"replicas": 0}),
        "statefulsets" => json!({"replicas": 0, "availableReplicas": 0}),
        _ => Value::object(),
    }
}

/// A job's selector and labels are made from its uid unless it says `manualSelector`. The uid is not there yet: admission
/// completes what this leaves open.
fn prepare_job(value: &mut Value) {
    if value.at(&["spec", "suspend"]).is_none() {
        value.set(&["spec", "suspend"], false);
    }
}

/// Prepares an update of the main resource: the status stays, the generation counts changes of what is wanted.
pub(crate) fn prepare_update(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.rules.status {
        keep(new, old, "status");
    }
    if resource.is("", "namespaces") {
        match old.at(&["spec", "finalizers"]) {
            Some(finalizers) => new.set(&["spec", "finalizers"], finalizers.clone()),
            None => {
                new.take(&["spec", "finalizers"]);
            }
        }
    }
    if resource.rules.generation && differs(resource, new, old) {
        new.set(&["metadata", "generation"], object::generation(old) + 1);
    }
}

/// Prepares an update through the status subresource: only the status changes.
pub(crate) fn prepare_status_update(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.custom.is_some() {
        let status = new.take(&["status"]);
        let managed = new.take(&["metadata", "managedFields"]);
        *new = old.clone();
        set_or_take(new, &["status"], status);
        set_or_take(new, &["metadata", "managedFields"], managed);
        return;
    }
    // Built-in kinds let metadata (labels, annotations, finalizers) through, and nothing else beside the status.
    let mut fields: Map = old.as_object().cloned().unwrap_or_default();
    for key in ["metadata", "status"] {
        match new.get(key) {
            Some(value) => {
                fields.insert(key, value.clone());
            }
            None => {
                fields.remove(key);
            }
        }
    }
    *new = Value::Object(fields);
}

/// Prepares an update of the subresource `finalize` of a namespace: only the finalizers of its spec change.
pub(crate) fn prepare_finalize(new: &mut Value, old: &Value) {
    let finalizers = new.at(&["spec", "finalizers"]).cloned();
    let metadata = new.get("metadata").cloned();
    *new = old.clone();
    set_or_take(new, &["metadata"], metadata);
    set_or_take(new, &["spec", "finalizers"], finalizers);
}

fn set_or_take(value: &mut Value, path: &[&str], part: Option<Value>) {
    match part {
        Some(part) => value.set(path, part),
        None => {
            value.take(path);
        }
    }
}

fn keep(new: &mut Value, old: &Value, key: &str) {
    set_or_take(new, &[key], old.get(key).cloned());
}

/// Whether anything but metadata and (if it has a path of its own) status differs.
fn differs(resource: &Resource, new: &Value, old: &Value) -> bool {
    let wanted = |value: &Value| -> Map {
        value
            .as_object()
            .into_iter()
            .flat_map(|map| map.iter())
            .filter(|(key, _)| {
                !matches!(*key, "metadata" | "apiVersion" | "kind") && !(resource.rules.status && *key == "status")
            })
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    };
    wanted(new) != wanted(old)
}

/// The quality of service that a pod's requests and limits give it.
fn qos(pod: &Value) -> &'static str {
    let mut requested = false;
    let mut guaranteed = true;
    let containers = pod
        .items_at(&["spec", "containers"])
        .iter()
        .chain(pod.items_at(&["spec", "initContainers"]))
        .map(|container| container.get("resources").cloned().unwrap_or_default());
    for resources in containers {
        let amount = |kind: &str, name: &str| resources.at(&[kind, name]).cloned();
        for name in ["cpu", "memory"] {
            let (request, limit) = (amount("requests", name), amount("limits", name));
            requested |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (requested, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_of_service_follows_requests_and_limits() {
        let pod = |resources: Value| json!({"spec": {"containers": [{"name": "a", "resources": resources}]}});
        assert_eq!(qos(&pod(json!({}))), "BestEffort");
        assert_eq!(qos(&pod(json!({"requests": {"cpu": "1"}}))), "Burstable");
        assert_eq!(qos(&pod(json!({"limits": {"cpu": "1", "memory": "1Gi"}}))), "Guaranteed");
    }
}
