//! Deployment: one ReplicaSet for each template it has had, and pods moved from the old ones to the new one
//! (`pkg/controller/deployment`). What upstream does in one sync may take several here: each plan is one step, and the
//! change that it makes causes the next.

mod rollout;
mod scale;
mod sets;
mod status;

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Timestamp, Value, object};

pub(crate) use self::scale::int_or_percent;
use self::sets::Sets;
use super::{adopt, pods};
use crate::harness::plan::Plan;
use crate::resources::REPLICA_SETS;

/// The annotation that numbers the templates of a Deployment, on it and on its ReplicaSets.
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The label that keeps the pods of the ReplicaSets of a Deployment apart.
pub(crate) const TEMPLATE_HASH: &str = "pod-template-hash";

/// What to do for a Deployment, given the ReplicaSets and the pods of its namespace.
pub(crate) fn reconcile(deployment: &Value, sets: &[&Value], all_pods: &[&Value], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let selector = deployment.at(&["spec", "selector"]).unwrap_or(&Value::Null);
    let Ok(selector) = LabelSelector::from_object(selector) else {
        plan.warning(deployment, "InvalidSelector", "This deployment has an invalid label selector.");
        return plan;
    };
    let owned = adopt::claim(deployment, &selector, &REPLICA_SETS, sets.iter().copied(), &mut plan);
    let view = Sets::new(deployment, owned);
    let mut created = None;
    if object::deletion_timestamp(deployment).is_none() {
        let paused = deployment.at(&["spec", "paused"]).and_then(Value::as_bool) == Some(true);
        if paused || view.is_scaling() {
            view.keep_revision(&mut plan);
            scale::proportionally(&view, &mut plan);
        } else if let Some(collision) = view.collision(sets) {
            status::collided(deployment, collision, &mut plan);
            return plan;
        } else {
            created = match deployment.str_at(&["spec", "strategy", "type"]) {
                Some("Recreate") => rollout::recreate(&view, all_pods, &mut plan),
                _ => rollout::rolling(&view, &mut plan),
            };
            view.clean_up(&mut plan);
        }
    }
    status::write(&view, created.as_deref(), now, &mut plan);
    plan
}

/// Whether a pod of one of these sets still holds resources.
fn holds_pods(sets: &[&Value], all_pods: &[&Value]) -> bool {
    all_pods.iter().filter(|pod| !pods::is_finished(pod)).any(|pod| {
        let owner = object::controller_of(pod).and_then(|r| r.str_at(&["uid"]));
        owner.is_some_and(|owner| sets.iter().any(|set| object::uid(set) == owner))
    })
}

#[cfg(test)]
mod tests;
