//! What an update through a subresource may change, and what the server sets itself then (upstream: the status,
//! approval, resize and ephemeral-containers strategies under pkg/registry).

use pilothouse_value::{Gvk, Map, Value, object};

use super::autoscalers;
use super::prepare::disabled;

/// Prepares an object that is about to replace `old` through a subresource: everything that the subresource does not
/// own is as it was. `now` is the time as the server writes it.
pub fn prepare_subresource(gvk: &Gvk, subresource: &str, old: &Value, object: &mut Value, now: &str) {
    if autoscalers::is_first(gvk) {
        let old = autoscalers::convert_autoscaler(old, "autoscaling/v2");
        *object = autoscalers::convert_autoscaler(object, "autoscaling/v2");
        prepare_subresource(&autoscalers::second(), subresource, &old, object, now);
        *object = autoscalers::convert_autoscaler(object, "autoscaling/v1");
        return;
    }
    match subresource {
        "status" => status(gvk, old, object, now),
        "approval" => {
            let mut conditions = object.at(&["status", "conditions"]).cloned();
            if let Some(conditions) = &mut conditions {
                condition_times(conditions, old, now);
            }
            keep(old, object, &["spec", "status"]);
            put(object, &["status", "conditions"], conditions);
        }
        "ephemeralcontainers" => {
            let containers = object.at(&["spec", "ephemeralContainers"]).cloned();
            only_pod_spec(old, object);
            put(object, &["spec", "ephemeralContainers"], containers);
            count_generation(old, object);
        }
        "resize" => {
            let spec = object.get("spec").cloned().unwrap_or_default();
            only_pod_spec(old, object);
            for list in ["containers", "initContainers"] {
                resize(object, &spec, list);
            }
            if let Some(resources) = spec.get("resources") {
                object.set(&["spec", "resources"], resources.clone());
            }
            super::prepare::fill_pod_resources(object);
            count_generation(old, object);
        }
        _ => {}
    }
}

/// Takes a part of an object from the old one.
fn keep(old: &Value, object: &mut Value, parts: &[&str]) {
    for part in parts {
        put(object, &[part], old.get(part).cloned());
    }
}

fn put(object: &mut Value, path: &[&str], part: Option<Value>) {
    match part {
        Some(part) => object.set(path, part),
        None => {
            object.take(path);
        }
    }
}

/// Everything but metadata and status is as it was; of metadata, that depends on the kind.
fn status(gvk: &Gvk, old: &Value, object: &mut Value, now: &str) {
    let mut fields: Map = old.as_object().cloned().unwrap_or_default();
    for key in ["metadata", "status"] {
        match object.get(key) {
            Some(value) => drop(fields.insert(key, value.clone())),
            None => drop(fields.remove(key)),
        }
    }
    *object = Value::Object(fields);
    for field in kept_metadata(gvk) {
        put(object, &["metadata", field], old.at(&["metadata", field]).cloned());
    }
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => {
            if object.str_at(&["status", "qosClass"]).is_none_or(str::is_empty) {
                put(object, &["status", "qosClass"], old.at(&["status", "qosClass"]).cloned());
            }
            for part in ["resourceClaimStatuses", "extendedResourceClaimStatus"] {
                let path = ["status", part];
                if object.at(&path).is_none() {
                    put(object, &path, old.at(&path).cloned());
                }
            }
        }
        ("", "PersistentVolume") => phase_time(old, object, now),
        ("", "Node") if old.at(&["status", "config"]).is_none() => {
            object.take(&["status", "config"]);
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            if let Some(conditions) = object.at_mut(&["status", "conditions"]) {
                condition_times(conditions, old, now);
            }
        }
        _ => {}
    }
    disabled::drop_of_status(gvk, old, object);
}

const LABELS: &[&str] = &["labels"];
const OWNERS: &[&str] = &["ownerReferences"];
const RESET: &[&str] = &["labels", "annotations", "finalizers", "ownerReferences"];

/// The metadata that a status update of the kind leaves as it was.
fn kept_metadata(gvk: &Gvk) -> &'static [&'static str] {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("apps", "Deployment") => LABELS,
        ("", "Pod") => OWNERS,
        ("networking.k8s.io", "ServiceCIDR")
        | ("certificates.k8s.io", "PodCertificateRequest")
        | ("storagemigration.k8s.io", _)
        | ("storage.k8s.io", "VolumeAttachment" | "CSINode")
        | (
            "admissionregistration.k8s.io"
            | "apiregistration.k8s.io"
            | "resource.k8s.io"
            | "flowcontrol.apiserver.k8s.io"
            | "scheduling.k8s.io",
            _,
        ) => RESET,
        _ => &[],
    }
}

/// When the phase of a volume changed last.
fn phase_time(old: &Value, object: &mut Value, now: &str) {
    const TIME: [&str; 2] = ["status", "lastPhaseTransitionTime"];
    let phase = |object: &Value| object.str_at(&["status", "phase"]).unwrap_or_default().to_owned();
    let (new, before) = (object.at(&TIME).cloned(), old.at(&TIME).cloned());
    if phase(object) == phase(old) {
        if new.is_none() {
            put(object, &TIME, before);
        }
    } else if new.is_none() || new == before {
        object.set(&TIME, now);
    }
}

/// Conditions that are new, or that changed, get their times.
fn condition_times(conditions: &mut Value, old: &Value, now: &str) {
    let before = old.items_at(&["status", "conditions"]);
    for condition in conditions.as_array_mut().into_iter().flatten() {
        let unset = |condition: &Value, field: &str| condition.get(field).is_none_or(Value::is_null);
        if unset(condition, "lastUpdateTime") {
            condition.set(&["lastUpdateTime"], now);
        }
        if unset(condition, "lastTransitionTime") {
            let of = |field: &str| condition.str_at(&[field]).unwrap_or_default().to_owned();
            let (kind, status) = (of("type"), of("status"));
            let same = before.iter().find(|one| {
                one.str_at(&["type"]) == Some(kind.as_str())
                    && one.str_at(&["status"]) == Some(status.as_str())
            });
            let time =
                same.and_then(|one| one.get("lastTransitionTime").cloned()).unwrap_or_else(|| now.into());
            condition.set(&["lastTransitionTime"], time);
        }
    }
}

/// A pod as it was, with the version and the managers that were sent.
fn only_pod_spec(old: &Value, object: &mut Value) {
    let managed = object.at(&["metadata", "managedFields"]).cloned();
    let version = object::resource_version(object).to_owned();
    *object = old.clone();
    put(object, &["metadata", "managedFields"], managed);
    object.set(&["metadata", "resourceVersion"], version);
}

fn count_generation(old: &Value, object: &mut Value) {
    if old.get("spec") != object.get("spec") {
        object.set(&["metadata", "generation"], object::generation(old) + 1);
    }
}

/// Takes resources and resize policies of the containers of the same names.
fn resize(object: &mut Value, spec: &Value, list: &str) {
    let new = spec.items_at(&[list]);
    let Some(containers) = object.at_mut(&["spec", list]).and_then(Value::as_array_mut) else { return };
    // Other containers than there are: the rules refuse them, and must see them.
    let names = |list: &[Value]| {
        list.iter().map(|c| c.str_at(&["name"]).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    if names(containers) != names(new) {
        *containers = new.to_vec();
        return;
    }
    for (container, wanted) in containers.iter_mut().zip(new) {
        for field in ["resources", "resizePolicy"] {
            match wanted.get(field) {
                Some(value) => container.set(&[field], value.clone()),
                None => {
                    container.take(&[field]);
                }
            }
        }
    }
}
