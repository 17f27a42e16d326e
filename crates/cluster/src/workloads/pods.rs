//! What a pod's state means to the workload that owns it.

use std::cmp::Reverse;
use std::time::Duration;

use pilothouse_value::{Timestamp, Value, json, object};

use crate::time;

/// Whether a pod counts as available: ready for long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// It is.
    Available,
    /// It will be in this time if it stays ready.
    In(Duration),
    /// It is not ready.
    Not,
}

/// `status.phase`, `Pending` where there is none.
pub(crate) fn phase(pod: &Value) -> &str {
    pod.str_at(&["status", "phase"]).unwrap_or("Pending")
}

/// Whether the pod has run to its end.
pub(crate) fn is_finished(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether the pod is being deleted.
pub(crate) fn is_terminating(pod: &Value) -> bool {
    object::deletion_timestamp(pod).is_some()
}

/// Whether the pod counts towards the replicas of its owner.
pub(crate) fn is_active(pod: &Value) -> bool {
    !is_finished(pod) && !is_terminating(pod)
}

/// Whether the pod's `Ready` condition is true.
pub(crate) fn is_ready(pod: &Value) -> bool {
    object::condition_is_true(pod, "Ready")
}

/// Whether the pod runs and is ready.
pub(crate) fn is_running_and_ready(pod: &Value) -> bool {
    phase(pod) == "Running" && is_ready(pod)
}

/// Whether the pod has been ready for `min_ready_seconds` at `now`.
pub(crate) fn availability(pod: &Value, min_ready_seconds: i64, now: Timestamp) -> Availability {
    if !is_ready(pod) {
        return Availability::Not;
    }
    if min_ready_seconds <= 0 {
        return Availability::Available;
    }
    let since = object::condition(pod, "Ready").and_then(|c| c.str_at(&["lastTransitionTime"]));
    match since.and_then(|since| time::until(since, min_ready_seconds, now)) {
        Some(left) if !left.is_zero() => Availability::In(left),
        _ => Availability::Available,
    }
}

/// Whether the pod is available at `now`.
pub(crate) fn is_available(pod: &Value, min_ready_seconds: i64, now: Timestamp) -> bool {
    availability(pod, min_ready_seconds, now) == Availability::Available
}

/// The soonest time in which one of the pods becomes available.
pub(crate) fn next_available<'a>(
    pods: impl Iterator<Item = &'a Value>,
    min_ready_seconds: i64,
    now: Timestamp,
) -> Option<Duration> {
    pods.filter_map(|pod| match availability(pod, min_ready_seconds, now) {
        Availability::In(left) => Some(left),
        _ => None,
    })
    .min()
}

/// A pod from a template, controlled by `owner`; it has no name yet.
pub(crate) fn from_template(owner: &Value, template: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template.at(&["metadata", field]) {
            metadata.set(&[field], value.clone());
        }
    }
    metadata.set(&["ownerReferences"], vec![object::controller_reference(owner)]);
    if let Some(namespace) = object::namespace(owner) {
        metadata.set(&["namespace"], namespace);
    }
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
    pod.set(&["metadata"], metadata);
    pod.set(&["spec"], template.get("spec").cloned().unwrap_or_else(Value::object));
    pod
}

/// Sorts pods so that those whose loss costs least come first (`ActivePodsWithRanks` of
/// `pkg/controller/controller_utils.go`): not scheduled, pending, not ready, cheap to delete, young.
pub(crate) fn sort_for_deletion(pods: &mut [&Value]) {
    pods.sort_by_cached_key(|pod| {
        let phase = match phase(pod) {
            "Pending" => 0,
            "Running" => 2,
            _ => 1,
        };
        let cost = object::annotation(pod, "controller.kubernetes.io/pod-deletion-cost")
            .and_then(|cost| cost.parse::<i32>().ok())
            .unwrap_or_default();
        let ready_since = object::condition(pod, "Ready").and_then(|c| c.str_at(&["lastTransitionTime"]));
        let created = pod.str_at(&["metadata", "creationTimestamp"]).unwrap_or_default();
        (
            pod.str_at(&["spec", "nodeName"]).is_some_and(|node| !node.is_empty()),
            phase,
            is_ready(pod),
            cost,
            Reverse(ready_since.filter(|_| is_ready(pod)).unwrap_or_default().to_owned()),
            Reverse(restarts(pod)),
            Reverse(created.to_owned()),
        )
    });
}

fn restarts(pod: &Value) -> i64 {
    pod.items_at(&["status", "containerStatuses"])
        .iter()
        .filter_map(|status| status.i64_at(&["restartCount"]))
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, status: Value) -> Value {
        let mut pod = json!({"metadata": {"name": name}, "spec": {"nodeName": "n"}});
        pod.set(&["status"], status);
        pod
    }

    fn ready(name: &str, since: &str) -> Value {
        pod(
            name,
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]}),
        )
    }

    #[test]
    fn the_pod_whose_loss_costs_least_goes_first() {
        let mut unscheduled = pod("unscheduled", json!({}));
        unscheduled.set(&["spec"], json!({}));
        let mut cheap = ready("cheap", "2026-01-01T00:00:00Z");
        cheap.set(&["metadata", "annotations"], json!({"controller.kubernetes.io/pod-deletion-cost": "-5"}));
        let pods = [
            ready("old", "2026-01-01T00:00:00Z"),
            ready("new", "2026-01-02T00:00:00Z"),
            cheap,
            pod("running", json!({"phase": "Running"})),
            pod("pending", json!({"phase": "Pending"})),
            unscheduled,
        ];
        let mut order: Vec<&Value> = pods.iter().collect();
        sort_for_deletion(&mut order);
        let names: Vec<&str> = order.iter().map(|pod| object::name(pod)).collect();
        assert_eq!(names, ["unscheduled", "pending", "running", "cheap", "new", "old"]);
    }

    #[test]
    fn a_ready_pod_is_available_after_min_ready_seconds() {
        let pod = ready("a", "2026-01-01T00:00:00Z");
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let in_five = availability(&pod, 10, at("2026-01-01T00:00:05Z"));
        assert_eq!(in_five, Availability::In(Duration::from_secs(5)));
        assert!(is_available(&pod, 10, at("2026-01-01T00:00:10Z")));
        assert!(is_available(&pod, 0, at("2026-01-01T00:00:00Z")));
        let waiting = pod_with_nothing();
        assert_eq!(availability(&waiting, 0, at("2026-01-01T00:00:00Z")), Availability::Not);
    }

    fn pod_with_nothing() -> Value {
        pod("b", json!({}))
    }
}
