//! Claims that pods use, and volumes that claims use, do not go before these do (`pkg/controller/volume/pvcprotection`,
//! `pvprotection`).

use pilothouse_value::{Value, json, object};

use crate::harness::plan::Plan;
use crate::resources::{CLAIMS, VOLUMES};
use crate::workloads::pods;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

/// Protects a claim, or lets it go when no pod uses it. Says whether the claim is on its way out.
pub(super) fn claim(claim: &Value, pods: &[&Value], plan: &mut Plan) -> bool {
    let going = object::deletion_timestamp(claim).is_some();
    let used = pods.iter().any(|pod| {
        !pods::is_finished(pod)
            && crate::scheduler::claims_of(pod).any(|name| name == object::name(claim))
            // A pod that was never scheduled has never used anything.
            && pod.str_at(&["spec", "nodeName"]).is_some_and(|node| !node.is_empty())
    });
    if going && !used && object::has_finalizer(claim, CLAIM) {
        plan.patch(&CLAIMS, claim, finalizers(claim, CLAIM, false));
    } else if !going && !object::has_finalizer(claim, CLAIM) {
        plan.patch(&CLAIMS, claim, finalizers(claim, CLAIM, true));
    }
    going
}

/// Protects a volume, or lets it go when no claim is bound to it.
pub(super) fn volume(volume: &Value, plan: &mut Plan) {
    let going = object::deletion_timestamp(volume).is_some();
    let bound = volume.str_at(&["status", "phase"]) == Some("Bound");
    if going && !bound && object::has_finalizer(volume, VOLUME) {
        plan.patch(&VOLUMES, volume, finalizers(volume, VOLUME, false));
    } else if !going && !object::has_finalizer(volume, VOLUME) {
        plan.patch(&VOLUMES, volume, finalizers(volume, VOLUME, true));
    }
}

fn finalizers(of: &Value, finalizer: &str, wanted: bool) -> Value {
    let mut list: Vec<Value> = object::finalizers(of).filter(|f| *f != finalizer).map(Value::from).collect();
    if wanted {
        list.push(finalizer.into());
    }
    let mut patch = json!({"metadata": {"resourceVersion": object::resource_version(of)}});
    patch.set(&["metadata", "finalizers"], list);
    patch
}
