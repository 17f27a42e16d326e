//! What becomes of a volume: available, bound, released, removed.

use pilothouse_value::{Value, json, object};

use super::{PROVISIONED_BY, PROVISIONER, bind, protect};
use crate::harness::plan::Plan;
use crate::resources::VOLUMES;

/// What to do for a volume, given the claim that it names, if that exists. The path in the answer is that of a folder to
/// be removed first.
pub(super) fn reconcile(volume: &Value, claim: Option<&Value>) -> (Plan, Option<String>) {
    let mut plan = Plan::default();
    let reference = volume.at(&["spec", "claimRef"]);
    let claimed = claim.filter(|claim| bind::is_for(volume, claim));
    // A volume that was made for a claim that is yet to come has no uid in its reference.
    let was_bound = reference.and_then(|r| r.str_at(&["uid"])).is_some_and(|uid| !uid.is_empty());
    let phase = match (claimed, was_bound) {
        (Some(_), true) => "Bound",
        (None, true) => "Released",
        _ => "Available",
    };
    if volume.str_at(&["status", "phase"]) != Some(phase) {
        let mut status = volume.get("status").cloned().unwrap_or_else(Value::object);
        status.set(&["phase"], phase);
        plan.status(&VOLUMES, volume, status);
        return (plan, None);
    }
    protect::volume(volume, &mut plan);
    if phase == "Released"
        && object::deletion_timestamp(volume).is_none()
        && volume.str_at(&["spec", "persistentVolumeReclaimPolicy"]) == Some("Delete")
        && object::annotation(volume, PROVISIONED_BY) == Some(PROVISIONER)
    {
        plan.delete(&VOLUMES, volume, None);
        return (plan, volume.str_at(&["spec", "hostPath", "path"]).map(str::to_owned));
    }
    (plan, None)
}

/// The default class, which makes a folder for each claim.
pub(super) fn standard_class() -> Value {
    let mut class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": super::STANDARD}, "provisioner": PROVISIONER, "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate", "allowVolumeExpansion": true});
    class.set(&["metadata", "annotations", super::IS_DEFAULT], "true");
    class
}
