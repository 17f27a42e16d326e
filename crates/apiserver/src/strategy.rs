//! What a kind does with a document before it is validated: which parts a request may write, and how generations count.
//!
//! These are the `PrepareForCreate` and `PrepareForUpdate` of the kinds' strategies upstream.

use pilothouse_schema::builtin;
use pilothouse_value::{Map, Value, json, object};

use crate::resource::Resource;

/// Takes away what a new object may not bring: its status, if that has a path of its own. A node brings its status along.
pub(crate) fn take_status(resource: &Resource, value: &mut Value) -> Option<Value> {
    let apart = resource.rules.status && !resource.is("", "nodes");
    if apart { value.take(&["status"]) } else { None }
}

/// Prepares a new object that has its name and uid: the first generation, the status it starts with, and what its kind
/// generates.
pub(crate) fn prepare_create(resource: &Resource, value: &mut Value, now: &str) {
    if !resource.is_built_in() {
        value.set(&["metadata", "generation"], 1);
        return;
    }
    builtin::prepare_create(&resource.gvk(), value);
    if resource.is("", "persistentvolumes") {
        value.set(&["status", "lastPhaseTransitionTime"], now);
    }
    if resource.is("batch", "jobs")
        && object::labels(value).is_none()
        && let Some(labels) = value.at(&["spec", "template", "metadata", "labels"]).cloned()
    {
        value.set(&["metadata", "labels"], labels);
    }
    if resource.is("apiregistration.k8s.io", "apiservices") {
        value.set(
            &["status"],
            json!({"conditions": [{
                "type": "Available", "status": "True", "reason": "Local",
                "message": "Local APIServices are always available", "lastTransitionTime": now,
            }]}),
        );
    }
}

/// Prepares an update of the main resource: the status stays, the generation counts changes of what is wanted.
pub(crate) fn prepare_update(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.is_built_in() {
        builtin::prepare_update(&resource.gvk(), old, new);
    } else {
        if resource.rules.status {
            set_or_take(new, &["status"], old.get("status").cloned());
        }
        if differs(resource, new, old) {
            new.set(&["metadata", "generation"], object::generation(old) + 1);
        }
    }
    if resource.is("", "namespaces") {
        match old.at(&["spec", "finalizers"]) {
            Some(finalizers) => new.set(&["spec", "finalizers"], finalizers.clone()),
            None => {
                new.take(&["spec", "finalizers"]);
            }
        }
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
    let kept: &[&str] = match resource.group.as_str() {
        "apps" if resource.plural == "deployments" => &["labels"],
        _ if resets_metadata(resource) => &[
            "labels",
            "annotations",
            "finalizers",
            "ownerReferences",
            "deletionTimestamp",
            "generation",
            "selfLink",
        ],
        _ => &[],
    };
    for key in kept {
        set_or_take(new, &["metadata", key], old.at(&["metadata", key]).cloned());
    }
}

/// Whether a write of the status leaves the metadata alone, all but its managers.
fn resets_metadata(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.plural.as_str()),
        ("", "pods")
            | ("admissionregistration.k8s.io", "validatingadmissionpolicies")
            | ("certificates.k8s.io", "podcertificaterequests")
            | ("flowcontrol.apiserver.k8s.io", _)
            | ("internal.apiserver.k8s.io", "storageversions")
            | ("networking.k8s.io", "servicecidrs")
            | ("resource.k8s.io", _)
            | ("storage.k8s.io", "csinodes" | "volumeattachments")
            | ("storagemigration.k8s.io", _)
    )
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

/// Whether anything but metadata and (if it has a path of its own) status differs.
fn differs(resource: &Resource, new: &Value, old: &Value) -> bool {
    let wanted = |value: &Value| -> Map {
        value
            .as_object()
            .into_iter()
            .flat_map(|map| map.iter())
            .filter(|(key, _)| {
                let apart = resource.rules.status && *key == "status";
                !apart && !matches!(*key, "metadata" | "apiVersion" | "kind")
            })
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    };
    wanted(new) != wanted(old)
}
