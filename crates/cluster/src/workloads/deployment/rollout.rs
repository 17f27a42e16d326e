//! The two ways from the old template to the new one.

use pilothouse_value::Value;

use super::scale::{self, replicas, reported};
use super::sets::Sets;
use crate::harness::plan::Plan;

/// `Recreate`: all old pods go, then the new ones come. Returns the name of the set that the plan makes.
pub(super) fn recreate(view: &Sets<'_>, all_pods: &[&Value], plan: &mut Plan) -> Option<String> {
    let old = view.old_active();
    if !old.is_empty() {
        for set in old {
            scale::scale(view.deployment, set, 0, false, plan);
        }
        view.keep_revision(plan);
        return None;
    }
    if super::holds_pods(&view.old, all_pods) {
        return None;
    }
    let wanted = replicas(view.deployment);
    match view.new {
        None => Some(view.create(wanted, plan)),
        Some(new) => {
            view.keep_revision(plan);
            scale::scale(view.deployment, new, wanted, false, plan);
            None
        }
    }
}

/// `RollingUpdate`: new pods come and old ones go, within `maxSurge` and `maxUnavailable`. Returns the name of the set
/// that the plan makes.
pub(super) fn rolling(view: &Sets<'_>, plan: &mut Plan) -> Option<String> {
    let deployment = view.deployment;
    let wanted = replicas(deployment);
    let (surge, _) = scale::surge_and_unavailable(deployment);
    let total: i64 = view.all().map(replicas).sum();
    let room = (wanted + surge - total).max(0);
    let Some(new) = view.new else {
        return Some(view.create(room.min(wanted), plan));
    };
    view.keep_revision(plan);
    let has = replicas(new);
    let target = if has > wanted { wanted } else { has + room.min(wanted - has) };
    if !scale::scale(deployment, new, target, false, plan) {
        scale_down_old(view, new, total, plan);
    }
    None
}

/// Takes away old pods: first those that are not available anyway, then as many as may be missing.
fn scale_down_old(view: &Sets<'_>, new: &Value, total: i64, plan: &mut Plan) {
    let (_, unavailable) = scale::surge_and_unavailable(view.deployment);
    let min_available = replicas(view.deployment) - unavailable;
    let new_unavailable = replicas(new) - reported(new, "availableReplicas");
    let mut left = total - min_available - new_unavailable;
    if left <= 0 {
        return;
    }
    let old = view.old_active();
    let mut targets: Vec<i64> = old.iter().map(|set| replicas(set)).collect();
    for (set, target) in old.iter().zip(&mut targets) {
        let sick = (*target - reported(set, "availableReplicas")).clamp(0, left);
        *target -= sick;
        left -= sick;
    }
    let available: i64 = view.all().map(|set| reported(set, "availableReplicas")).sum();
    let mut spare = (available - min_available).max(0);
    for target in &mut targets {
        let go = (*target).min(spare);
        *target -= go;
        spare -= go;
    }
    for (set, target) in old.iter().zip(targets) {
        scale::scale(view.deployment, set, target, false, plan);
    }
}
