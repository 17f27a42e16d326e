//! The wiring of the workload controllers: which changes make which workload be looked at, and what it is shown.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Gvr, Timestamp, Value, object};

use super::{daemon_set, deployment, job, replica_set, stateful_set};
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::informer::{Change, Informer, Object};
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::{
    CLAIMS, CONTROLLER_REVISIONS, DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICA_SETS, STATEFUL_SETS,
};

/// What a workload's reconcile function is shown.
struct Seen<'a> {
    api: &'a Api,
    namespace: &'a str,
    now: Timestamp,
}

impl Seen<'_> {
    fn of(&self, resource: &Gvr) -> Vec<Object> {
        let namespace = (*resource != *NODES).then_some(self.namespace);
        self.api.of(resource).list(namespace)
    }
}

/// One of the workload controllers.
struct Workload {
    api: Api,
    resource: &'static Gvr,
    informer: Arc<Informer>,
    plan: fn(&Value, &Seen<'_>) -> Plan,
}

impl Reconcile for Workload {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(workload) = self.informer.get(&key.namespace, &key.name) else { return Ok(None) };
        let plan = {
            let seen = Seen { api: &self.api, namespace: &key.namespace, now: self.api.now() };
            (self.plan)(&workload, &seen)
        };
        tracing::trace!(resource = self.resource.resource, ?key, writes = plan.intents.len(), "planned");
        self.api.act(plan).await
    }
}

/// Starts all workload controllers.
pub(crate) fn start(api: &Api, runner: &Runner) {
    start_one(api, runner, ("replicaset-controller", "ReplicaSet", &REPLICA_SETS), &[&PODS], |set, seen| {
        replica_set::reconcile(set, &refs(&seen.of(&PODS)), seen.now)
    });
    let deployments = start_one(
        api,
        runner,
        ("deployment-controller", "Deployment", &DEPLOYMENTS),
        &[&REPLICA_SETS],
        |deployment, seen| {
            deployment::reconcile(
                deployment,
                &refs(&seen.of(&REPLICA_SETS)),
                &refs(&seen.of(&PODS)),
                seen.now,
            )
        },
    );
    // `Recreate` waits for old pods to end; they belong to the Deployment's sets.
    let sets = api.of(&REPLICA_SETS);
    api.of(&PODS).on_change(move |change| {
        let ended = change.new.as_ref().is_none_or(|pod| super::pods::is_finished(pod));
        let owner = change.latest().filter(|_| ended).and_then(|pod| owner(pod, "ReplicaSet"));
        if let Some(deployment) = owner
            .and_then(|set| sets.get(&set.namespace, &set.name))
            .and_then(|set| self::owner(&set, "Deployment"))
        {
            deployments.add(deployment);
        }
    });
    let stateful = start_one(
        api,
        runner,
        ("statefulset-controller", "StatefulSet", &STATEFUL_SETS),
        &[&PODS, &CONTROLLER_REVISIONS],
        |set, seen| {
            let (pods, claims) = (seen.of(&PODS), seen.of(&CLAIMS));
            let revisions = seen.of(&CONTROLLER_REVISIONS);
            stateful_set::reconcile(set, &refs(&pods), &refs(&claims), &refs(&revisions), seen.now)
        },
    );
    let sets = api.of(&STATEFUL_SETS);
    api.of(&CLAIMS).on_change(move |change| {
        // A set may be waiting for an old claim to go before it makes a pod.
        if let Change { old: Some(claim), new: None } = change {
            let namespace = object::namespace(claim);
            sets.list(namespace).iter().for_each(|set| stateful.add(Key::of(set)));
        }
    });
    let daemons = start_one(
        api,
        runner,
        ("daemonset-controller", "DaemonSet", &DAEMON_SETS),
        &[&PODS, &CONTROLLER_REVISIONS],
        |set, seen| {
            let (pods, revisions, nodes) = (seen.of(&PODS), seen.of(&CONTROLLER_REVISIONS), seen.of(&NODES));
            daemon_set::reconcile(set, &refs(&pods), &refs(&revisions), &refs(&nodes), seen.now)
        },
    );
    let sets = api.of(&DAEMON_SETS);
    api.of(&NODES).on_change(move |change| {
        let decides = |node: &Object| (node.get("spec").cloned(), object::labels(node).cloned());
        if change.old.as_ref().map(decides) != change.new.as_ref().map(decides) {
            sets.list(None).iter().for_each(|set| daemons.add(Key::of(set)));
        }
    });
    start_one(api, runner, ("job-controller", "Job", &JOBS), &[&PODS], |job, seen| {
        job::reconcile(job, &refs(&seen.of(&PODS)), seen.now)
    });
}

/// Documents as reconcile functions take them.
fn refs(objects: &[Object]) -> Vec<&Value> {
    objects.iter().map(|object| &**object).collect()
}

fn start_one(
    api: &Api,
    runner: &Runner,
    (name, kind, resource): (&'static str, &'static str, &'static Gvr),
    dependents: &[&'static Gvr],
    plan: fn(&Value, &Seen<'_>) -> Plan,
) -> Arc<Queue<Key>> {
    let queue = Arc::new(Queue::new());
    let informer = api.of(resource);
    let keys = queue.clone();
    informer.on_change(move |change| {
        if let Some(new) = &change.new {
            keys.add(Key::of(new));
        }
    });
    let mut reads = vec![informer.clone()];
    for dependent in dependents {
        let (keys, owners) = (queue.clone(), informer.clone());
        let dependent = api.of(dependent);
        dependent.on_change(move |change| {
            for object in change.both() {
                match object::controller_of(object) {
                    Some(_) => owner(object, kind).into_iter().for_each(|key| keys.add(key)),
                    None => orphan(object, &owners).into_iter().for_each(|key| keys.add(key)),
                }
            }
        });
        reads.push(dependent);
    }
    // What is only looked at must have been seen as well.
    reads.extend([&*PODS, &*CLAIMS, &*NODES].map(|resource| api.of(resource)));
    let workload = Workload { api: api.named(name), resource, informer, plan };
    runner.run(name, workload, queue.clone(), reads);
    queue
}

/// The key of an object's controller, if it is of this kind.
fn owner(object: &Value, kind: &str) -> Option<Key> {
    let reference = object::controller_of(object).filter(|r| r.str_at(&["kind"]) == Some(kind))?;
    Some(Key::new(object::namespace(object)?, reference.str_at(&["name"])?))
}

/// The keys of those who might adopt an object that nobody controls.
fn orphan(object: &Value, owners: &Informer) -> Vec<Key> {
    let Some(namespace) = object::namespace(object) else { return Vec::new() };
    let selects = |owner: &&Object| {
        let selector = owner.at(&["spec", "selector"]).and_then(|s| LabelSelector::from_object(s).ok());
        selector.is_some_and(|selector| selector.matches(object::labels(object)))
    };
    owners.list(Some(namespace)).iter().filter(selects).map(|owner| Key::of(owner)).collect()
}
