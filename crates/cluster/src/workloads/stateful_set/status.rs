//! The status of a StatefulSet.

use pilothouse_value::{json, object};

use super::View;
use crate::harness::plan::Plan;
use crate::resources::STATEFUL_SETS;
use crate::workloads::replica_set::count;
use crate::workloads::{pods, revisions};

impl View<'_> {
    /// Writes the status. When every pod has the new revision it becomes the current one.
    pub(super) fn status(&self, plan: &mut Plan) {
        let set = self.set;
        let number = |keep: &dyn Fn(&pilothouse_value::Value) -> bool| {
            count(self.pods.values().filter(|pod| keep(pod)).count())
        };
        let of_revision =
            |name: &str| number(&|pod| !pods::is_terminating(pod) && revisions::of_pod(pod) == name);
        let update = self.revisions.update.as_str();
        let ready = number(&|pod| pods::is_running_and_ready(pod));
        let available = number(&|pod| {
            pods::is_running_and_ready(pod) && pods::is_available(pod, self.min_ready(), self.now)
        });
        let (replicas, updated) = (count(self.pods.len()), of_revision(update));
        let rolling = set.str_at(&["spec", "updateStrategy", "type"]) != Some("OnDelete");
        let complete = rolling && updated == replicas && ready == replicas && replicas == self.replicas();
        let current = if complete { update } else { self.current.as_str() };
        let mut status = json!({
            "observedGeneration": object::generation(set),
            "replicas": replicas,
            "availableReplicas": available,
            "collisionCount": set.i64_at(&["status", "collisionCount"]).unwrap_or_default(),
            "currentRevision": current,
            "updateRevision": update,
        });
        let of_current = of_revision(current);
        for (field, number) in
            [("readyReplicas", ready), ("currentReplicas", of_current), ("updatedReplicas", updated)]
        {
            if number > 0 {
                status.set(&[field], number);
            }
        }
        if let Some(conditions) = set.at(&["status", "conditions"]) {
            status.set(&["conditions"], conditions.clone());
        }
        plan.status(&STATEFUL_SETS, set, status);
        if let Some(left) = pods::next_available(self.pods.values().copied(), self.min_ready(), self.now) {
            plan.look_again(left);
        }
    }
}
