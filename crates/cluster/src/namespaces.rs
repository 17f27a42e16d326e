//! The end of a namespace: everything in it is deleted, custom resources too, its conditions say what is still there,
//! and when nothing is, it goes (`pkg/controller/namespace`).

mod content;

use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::Propagation;
use pilothouse_value::{Value, json, object};

use self::content::Remaining;
use crate::discovery::Discovery;
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Reconcile, Runner};
use crate::harness::queue::Queue;
use crate::resources::{EVENTS, NAMESPACES, PODS};

struct Namespaces {
    api: Api,
    discovery: Arc<Discovery>,
}

impl Reconcile for Namespaces {
    type Key = String;

    async fn reconcile(&self, name: &String) -> Result<Option<Duration>, Failure> {
        let Some(namespace) = self.api.get(&NAMESPACES, "", name).await? else { return Ok(None) };
        if object::deletion_timestamp(&namespace).is_none() {
            return Ok(None);
        }
        // A kind may have been defined, and an object of it made, only just before.
        self.discovery.refresh();
        // Pods first, so that they can still reach what they use while they end.
        let mut remaining = self.empty(name, true).await?;
        if remaining.is_empty() {
            remaining = self.empty(name, false).await?;
        }
        let status = content::status(&namespace, &remaining, self.api.now());
        let mut namespace = (*namespace).clone();
        if namespace.get("status") != Some(&status) {
            namespace.set(&["status"], status);
            namespace = (*self.api.update_status(&NAMESPACES, namespace).await?).clone();
        }
        if remaining.is_empty() {
            self.finalize(namespace).await?;
        }
        // What remains comes by again when it goes.
        Ok(None)
    }
}

impl Namespaces {
    /// Deletes what there is of pods, or of everything else; says what is still there afterwards.
    async fn empty(&self, namespace: &str, pods: bool) -> Result<Remaining, Failure> {
        let mut remaining = Remaining::default();
        for kind in self.discovery.namespaced() {
            let resource = kind.gvr();
            if (resource == *PODS) != pods {
                continue;
            }
            let there = match self.api.list(&resource, Some(namespace)).await {
                Ok(there) => there,
                Err(Failure::Api { status, .. }) if status.is_not_found() => continue,
                Err(failure) => return Err(failure),
            };
            if there.is_empty() {
                continue;
            }
            for object in &there {
                if object::deletion_timestamp(object).is_none() {
                    let (name, uid) = (object::name(object), object::uid(object));
                    let policy = Some(Propagation::Background);
                    self.api.delete(&resource, namespace, name, uid, policy).await?;
                }
            }
            for object in self.api.list(&resource, Some(namespace)).await? {
                remaining.add(&resource, &object);
            }
        }
        Ok(remaining)
    }

    async fn finalize(&self, namespace: Value) -> Result<(), Failure> {
        // Events are not followed, as they are many and nothing waits for them; none can be made here any more.
        self.api.delete_all(&EVENTS, object::name(&namespace)).await?;
        let keep: Vec<Value> = namespace
            .items_at(&["spec", "finalizers"])
            .iter()
            .filter(|finalizer| finalizer.as_str() != Some("kubernetes"))
            .cloned()
            .collect();
        let mut finalized = namespace;
        finalized.set(&["spec"], json!({"finalizers": keep}));
        self.api.finalize(finalized).await
    }
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner, discovery: &Arc<Discovery>) {
    let queue: Arc<Queue<String>> = Arc::new(Queue::new());
    let namespaces = api.of(&NAMESPACES);
    let keys = queue.clone();
    namespaces.on_change(move |change| {
        if let Some(namespace) = change.new.as_ref().filter(|n| object::deletion_timestamp(n).is_some()) {
            keys.add(object::name(namespace).to_owned());
        }
    });
    let (keys, all) = (queue.clone(), namespaces.clone());
    discovery.on_change(move |_, change| {
        // Something in a namespace that is on its way out has gone, or was made in the last moment.
        let Some(namespace) = change.latest().and_then(|object| object::namespace(object)) else { return };
        let going = all.get("", namespace).is_some_and(|n| object::deletion_timestamp(&n).is_some());
        if going && (change.new.is_none() || change.old.is_none()) {
            keys.add(namespace.to_owned());
        }
    });
    let controller = Namespaces { api: api.named("namespace-controller"), discovery: discovery.clone() };
    runner.run("namespace-controller", controller, queue, vec![namespaces]);
}
