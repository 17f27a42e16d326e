//! Keeps pods off nodes that are not well: the taints that follow from a node's conditions, as the node life cycle
//! controller of upstream has them (`pkg/controller/nodelifecycle`). A new node has the first of them until it is ready.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::{Value, json, object};

use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::NODES;

/// A condition, the status that is bad, and the taint that tells of it.
const TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", "node.kubernetes.io/not-ready"),
    ("Ready", "Unknown", "node.kubernetes.io/unreachable"),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
];
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

struct Taints {
    api: Api,
}

impl Reconcile for Taints {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(node) = self.api.of(&NODES).get("", &key.name) else { return Ok(None) };
        self.api.act(plan(&node)).await
    }
}

/// What has to change about a node's taints.
fn plan(node: &Value) -> Plan {
    let mut plan = Plan::default();
    // Nothing is known of a node that has not said anything yet.
    if object::condition(node, "Ready").is_none() {
        return plan;
    }
    let status =
        |kind: &str| object::condition(node, kind).and_then(|condition| condition.str_at(&["status"]));
    let mut wanted: Vec<&str> = TAINTS
        .into_iter()
        .filter(|(kind, bad, _)| status(kind) == Some(*bad))
        .map(|(_, _, taint)| taint)
        .collect();
    if node.at(&["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true) {
        wanted.push(UNSCHEDULABLE);
    }
    let is_ours = |taint: &Value| {
        let key = taint.str_at(&["key"]).unwrap_or_default();
        let known = TAINTS.iter().any(|(_, _, own)| *own == key) || key == UNSCHEDULABLE;
        known && taint.str_at(&["effect"]) == Some("NoSchedule")
    };
    let (ours, mut taints): (Vec<Value>, Vec<Value>) =
        node.items_at(&["spec", "taints"]).iter().cloned().partition(is_ours);
    let has = |key: &str| ours.iter().any(|taint| taint.str_at(&["key"]) == Some(key));
    if ours.len() == wanted.len() && wanted.iter().all(|key| has(key)) {
        return plan;
    }
    taints.extend(wanted.into_iter().map(|key| json!({"key": key, "effect": "NoSchedule"})));
    let taints = if taints.is_empty() { Value::Null } else { Value::Array(taints.into()) };
    // The version keeps a taint that somebody adds meanwhile.
    let patch =
        json!({"metadata": {"resourceVersion": object::resource_version(node)}, "spec": {"taints": taints}});
    plan.patch(&NODES, node, patch);
    plan
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let keys = queue.clone();
    api.of(&NODES).on_change(move |change| {
        let Some(node) = &change.new else { return };
        let decides = |node: &Value| {
            let conditions = node.items_at(&["status", "conditions"]).iter();
            let known: Vec<(Option<Value>, Option<Value>)> =
                conditions.map(|one| (one.get("type").cloned(), one.get("status").cloned())).collect();
            (node.get("spec").cloned(), known)
        };
        // A heartbeat decides nothing.
        if change.old.as_ref().is_none_or(|old| decides(old) != decides(node)) {
            keys.add(Key::of(node));
        }
    });
    let reads = vec![api.of(&NODES)];
    runner.run("node-lifecycle-controller", Taints { api: api.named("node-controller") }, queue, reads);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::plan::Intent;

    fn taints(node: Value) -> Option<Value> {
        match plan(&node).intents.pop() {
            Some(Intent::Patch { patch, .. }) => patch.at(&["spec", "taints"]).cloned(),
            None => None,
            Some(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn taints_follow_conditions_and_leave_those_of_others() {
        let node = |ready: &str, taints: Value| {
            json!({"metadata": {"name": "n", "resourceVersion": "1"}, "spec": {"taints": taints},
                "status": {"conditions": [{"type": "Ready", "status": ready}]}})
        };
        let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
        let other = json!({"key": "mine", "effect": "NoSchedule"});
        assert_eq!(taints(node("True", json!([not_ready.clone()]))), Some(Value::Null));
        assert_eq!(taints(node("False", json!([not_ready.clone()]))), None);
        assert_eq!(
            taints(node("True", json!([not_ready.clone(), other.clone()]))),
            Some(json!([other.clone()]))
        );
        assert_eq!(taints(node("False", json!([other.clone()]))), Some(json!([other, not_ready])));
        assert_eq!(taints(json!({"metadata": {"name": "n"}, "spec": {}})), None);
    }
}
