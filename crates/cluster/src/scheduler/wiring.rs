//! The wiring of the scheduler. A pod that must wait is looked at again when a node or one of its claims changes.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pilothouse_value::{Value, json, object};

use super::{Decision, decide, waiting_status};
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::informer::Object;
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::{CLAIMS, NODES, PODS};

/// The pods that wait for a node or a claim.
type Waiting = Arc<Mutex<std::collections::BTreeSet<Key>>>;

struct Scheduler {
    api: Api,
    waiting: Waiting,
}

impl Reconcile for Scheduler {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(pod) = self.api.of(&PODS).get(&key.namespace, &key.name) else {
            self.waiting.lock().remove(key);
            return Ok(None);
        };
        // What changes while this looks must find the pod among those that wait.
        self.waiting.lock().insert(key.clone());
        let decision = {
            let (nodes, claims) =
                (self.api.of(&NODES).list(None), self.api.of(&CLAIMS).list(Some(&key.namespace)));
            decide(&pod, &refs(&nodes), &refs(&claims))
        };
        let mut plan = Plan::default();
        match decision {
            Decision::Ignore => {
                self.waiting.lock().remove(key);
            }
            Decision::Bind(node) => {
                self.waiting.lock().remove(key);
                self.bind(&pod, &node).await?;
                let message = format!("Successfully assigned {}/{} to {node}", key.namespace, key.name);
                plan.event_of(&pod, "Normal", "Binding", "Scheduled", message);
            }
            Decision::Wait(reason, message) => {
                if let Some(status) = waiting_status(&pod, reason, &message, self.api.now()) {
                    plan.status(&PODS, &pod, status);
                    plan.event_of(&pod, "Warning", "Scheduling", "FailedScheduling", message);
                }
            }
        }
        self.api.act(plan).await
    }
}

impl Scheduler {
    async fn bind(&self, pod: &Value, node: &str) -> Result<(), Failure> {
        let (namespace, name) = (object::namespace(pod).unwrap_or_default(), object::name(pod));
        let binding = json!({"apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": object::uid(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
        self.api.create_subresource(&PODS, namespace, name, "binding", binding).await
    }
}

fn refs(objects: &[Object]) -> Vec<&Value> {
    objects.iter().map(|object| &**object).collect()
}

/// Starts the scheduler.
pub(crate) fn start(api: &Api, runner: &Runner) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let waiting = Waiting::default();
    let reads: Vec<_> = [&*PODS, &*NODES, &*CLAIMS].map(|r| api.of(r)).into();
    let keys = queue.clone();
    api.of(&PODS).on_change(move |change| {
        let unbound = |pod: &Object| pod.str_at(&["spec", "nodeName"]).is_none_or(str::is_empty);
        // A pod that has gone may be among those that wait.
        if let Some(pod) = change.latest().filter(|pod| change.new.is_none() || unbound(pod)) {
            keys.add(Key::of(pod));
        }
    });
    let (keys, waits) = (queue.clone(), waiting.clone());
    api.of(&NODES).on_change(move |change| {
        let decides = |node: &Object| {
            let ready = object::condition_is_true(node, "Ready");
            (node.get("spec").cloned(), object::labels(node).cloned(), ready)
        };
        if change.old.as_ref().map(decides) != change.new.as_ref().map(decides) {
            waits.lock().iter().for_each(|key| keys.add(key.clone()));
        }
    });
    let (keys, waits) = (queue.clone(), waiting.clone());
    api.of(&CLAIMS).on_change(move |change| {
        let namespace = change.latest().and_then(|claim| object::namespace(claim));
        let waits = waits.lock();
        let here = waits.iter().filter(|key| Some(key.namespace.as_str()) == namespace);
        here.for_each(|key| keys.add(key.clone()));
    });
    let scheduler = Scheduler { api: api.named("default-scheduler"), waiting };
    runner.run("default-scheduler", scheduler, queue, reads);
}
