//! Which volume a claim gets.

mod choose;

use pilothouse_value::{Value, json, object};

use self::choose::{best, class_name, default_class, mode, storage};
pub(super) use self::choose::{claim_ref, is_for};
use super::{Folders, PROVISIONED_BY, PROVISIONER, protect};
use crate::harness::plan::Plan;
use crate::resources::{CLAIMS, VOLUMES};

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const REQUEST: [&str; 4] = ["spec", "resources", "requests", "storage"];

/// What a claim is bound by.
pub(super) struct World<'a> {
    pub(super) volumes: &'a [&'a Value],
    pub(super) classes: &'a [&'a Value],
    /// The pods of the claim's namespace.
    pub(super) pods: &'a [&'a Value],
    pub(super) folders: &'a Folders,
}

/// What to do for a claim. The answer names a volume, too, if its folder must be made first.
pub(super) fn reconcile(claim: &Value, world: &World<'_>) -> (Plan, Option<String>) {
    let mut plan = Plan::default();
    if protect::claim(claim, world.pods, &mut plan) {
        return (plan, None);
    }
    if !plan.intents.is_empty() {
        // Protection comes first; the claim comes by again with its new version.
        return (plan, None);
    }
    if let Some(name) = claim.str_at(&["spec", "volumeName"]).filter(|name| !name.is_empty()) {
        named(claim, name, world, &mut plan);
        return (plan, None);
    }
    if class_name(claim).is_none()
        && let Some(class) = default_class(world.classes)
    {
        // A claim that said nothing gets the default class, also one that was made before there was any.
        plan.patch(&CLAIMS, claim, json!({"spec": {"storageClassName": object::name(class)}}));
        return (plan, None);
    }
    if let Some(volume) = best(claim, world.volumes) {
        bind(claim, volume, true, &mut plan);
        return (plan, None);
    }
    let make = provision(claim, world, &mut plan);
    if make.is_none() {
        phase(claim, "Pending", &mut plan);
    }
    (plan, make)
}

/// A claim that names its volume.
fn named(claim: &Value, name: &str, world: &World<'_>, plan: &mut Plan) {
    let volume = world.volumes.iter().find(|volume| object::name(volume) == name);
    let was_bound = object::annotation(claim, BIND_COMPLETED).is_some();
    match volume {
        Some(volume) if is_for(volume, claim) || claim_ref(volume).is_none() => {
            let by_us = object::annotation(claim, BOUND_BY_CONTROLLER).is_some();
            bind(claim, volume, by_us, plan);
        }
        None if !was_bound => {
            phase(claim, "Pending", plan);
        }
        found => {
            if phase(claim, "Lost", plan) {
                let (reason, message) = if found.is_none() {
                    ("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
                } else {
                    let message = "Two claims are bound to the same volume, this one is bound incorrectly";
                    ("ClaimMisbound", message)
                };
                plan.warning(claim, reason, message);
            }
        }
    }
}

fn reference(claim: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": object::name(claim),
        "namespace": object::namespace(claim).unwrap_or_default(), "uid": object::uid(claim)})
}

/// Ties both ends together: first the volume, so that no other claim takes it, then the claim.
fn bind(claim: &Value, volume: &Value, by_us: bool, plan: &mut Plan) {
    let told = claim_ref(volume).and_then(|r| r.str_at(&["uid"])) == Some(object::uid(claim));
    if !told {
        let mut patch = json!({"metadata": {"resourceVersion": object::resource_version(volume)}});
        patch.set(&["spec", "claimRef"], reference(claim));
        patch.set(&["metadata", "annotations", BOUND_BY_CONTROLLER], "yes");
        plan.patch(&VOLUMES, volume, patch);
    }
    let complete = object::annotation(claim, BIND_COMPLETED).is_some()
        && claim.str_at(&["spec", "volumeName"]) == Some(object::name(volume));
    if !complete {
        let mut patch = json!({});
        patch.set(&["spec", "volumeName"], object::name(volume));
        patch.set(&["metadata", "annotations", BIND_COMPLETED], "yes");
        if by_us {
            patch.set(&["metadata", "annotations", BOUND_BY_CONTROLLER], "yes");
        }
        plan.patch(&CLAIMS, claim, patch);
        // The status is written when the claim comes by again with its new version.
        return;
    }
    let mut status = claim.get("status").cloned().unwrap_or_else(Value::object);
    status.set(&["phase"], "Bound");
    for (field, from) in [("accessModes", "accessModes"), ("capacity", "capacity")] {
        status.set(&[field], volume.at(&["spec", from]).cloned().unwrap_or_default());
    }
    grow(claim, volume, &mut status, plan);
    plan.status(&CLAIMS, claim, status);
}

/// A folder has no size: a claim that asks for more than it had gets it at once.
fn grow(claim: &Value, volume: &Value, status: &mut Value, plan: &mut Plan) {
    let has = storage(volume, &["spec", "capacity", "storage"]);
    let ours = object::annotation(volume, PROVISIONED_BY) == Some(PROVISIONER);
    if ours && storage(claim, &REQUEST) > has {
        let size = claim.at(&REQUEST).cloned().unwrap_or_default();
        status.set(&["capacity", "storage"], size.clone());
        let mut patch = json!({});
        patch.set(&["spec", "capacity", "storage"], size);
        plan.patch(&VOLUMES, volume, patch);
    }
}

/// Plans a volume for the claim, if its class is ours to provision; returns the volume's name.
fn provision(claim: &Value, world: &World<'_>, plan: &mut Plan) -> Option<String> {
    let Some(class_name) = class_name(claim).filter(|name| !name.is_empty()) else {
        let message = "no persistent volumes available for this claim and no storage class is set";
        plan.event(claim, "FailedBinding", message);
        return None;
    };
    let Some(class) = world.classes.iter().find(|class| object::name(class) == class_name) else {
        let message = format!("storageclass.storage.k8s.io \"{class_name}\" not found");
        plan.warning(claim, "ProvisioningFailed", message);
        return None;
    };
    if class.str_at(&["provisioner"]) != Some(PROVISIONER) || claim.at(&["spec", "selector"]).is_some() {
        return None;
    }
    let waits = class.str_at(&["volumeBindingMode"]) == Some("WaitForFirstConsumer");
    if waits && !has_consumer(claim, world.pods) {
        let message = "waiting for first consumer to be created before binding";
        plan.event(claim, "WaitForFirstConsumer", message);
        return None;
    }
    let name = format!("pvc-{}", object::uid(claim));
    let path = world.folders.of(&name).to_string_lossy().into_owned();
    let mut volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": &name},
        "spec": {"hostPath": {"path": path, "type": "DirectoryOrCreate"}}});
    volume.set(&["metadata", "annotations", PROVISIONED_BY], PROVISIONER);
    volume.set(&["spec", "capacity", "storage"], claim.at(&REQUEST)?.clone());
    volume.set(&["spec", "accessModes"], claim.at(&["spec", "accessModes"]).cloned().unwrap_or_default());
    volume.set(&["spec", "claimRef"], reference(claim));
    let policy = class.str_at(&["reclaimPolicy"]).unwrap_or("Delete");
    volume.set(&["spec", "persistentVolumeReclaimPolicy"], policy);
    volume.set(&["spec", "storageClassName"], class_name);
    volume.set(&["spec", "volumeMode"], mode(claim));
    plan.create(&VOLUMES, volume, None);
    plan.event(claim, "ProvisioningSucceeded", format!("Successfully provisioned volume {name}"));
    Some(name)
}

fn has_consumer(claim: &Value, pods: &[&Value]) -> bool {
    pods.iter().any(|pod| {
        object::deletion_timestamp(pod).is_none()
            && crate::scheduler::claims_of(pod).any(|name| name == object::name(claim))
    })
}

/// Writes the phase; says whether it is new.
fn phase(claim: &Value, phase: &str, plan: &mut Plan) -> bool {
    if claim.str_at(&["status", "phase"]) == Some(phase) {
        return false;
    }
    let mut status = claim.get("status").cloned().unwrap_or_else(Value::object);
    status.set(&["phase"], phase);
    plan.status(&CLAIMS, claim, status);
    true
}

#[cfg(test)]
mod tests;
