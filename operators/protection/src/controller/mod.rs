//! The controller of ActionSets: checks each whole, runs it once, and takes it up again after a crash.
//!
//! `reconcile` is short: it makes sure that exactly one task drives each ActionSet that is not at its end. The task
//! writes every step to the [`journal`] before it relies on it, so it can be stopped anywhere.

mod access;
mod drive;
pub mod journal;
pub mod observe;
mod prepare;
mod runner;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret};
use kube::{Client, ResourceExt as _};
use pilothouse::runtime::{Action, Context, Declaration, Key, Manager, Reconciler, Result, Running};
use tokio_util::sync::CancellationToken;

use crate::api::{ActionSet, Blueprint, Profile};
use crate::functions::Limits;

/// How the operator runs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The namespace whose ActionSets are run; `None` for all. Kanister runs those of its own namespace.
    pub namespace: Option<String>,
    /// Where the pods of tasks run that name no namespace; `None` for the namespace of their ActionSet.
    pub task_namespace: Option<String>,
    /// The bounds in time.
    pub limits: Limits,
    /// Where metrics and probes are served; `None` for nowhere.
    pub probes: Option<std::net::SocketAddr>,
}

/// The controller.
#[derive(Default)]
pub struct Protection {
    options: Options,
    workers: Arc<Mutex<Workers>>,
    locks: Arc<drive::ObjectLocks>,
}

/// The tasks that drive ActionSets, by the uid of each.
type Workers = HashMap<String, Worker>;

struct Worker {
    key: Key,
    cancel: CancellationToken,
}

impl Protection {
    /// A controller with these options.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    fn workers(&self) -> std::sync::MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reconciler for Protection {
    type Resource = ActionSet;

    fn declare(d: &mut Declaration<ActionSet>) {
        d.name("protection").finalizer().no_status();
        d.uses::<ActionSet>(&["patch"]);
        d.uses::<Blueprint>(&["get"]).uses::<Profile>(&["get"]);
        // What actions do in the namespaces of applications. A `KubeOps` needs more: what its Blueprint names.
        d.uses::<Pod>(&["get", "list", "watch", "create", "delete"]);
        d.uses_subresource::<Pod>("log", &["get"]).uses_subresource::<Pod>("exec", &["create", "get"]);
        d.uses::<Secret>(&["get", "create", "delete"]).uses::<ConfigMap>(&["get"]);
        d.uses::<Deployment>(&["get", "list", "watch", "patch"])
            .uses::<StatefulSet>(&["get", "list", "watch", "patch"]);
        d.uses::<PersistentVolumeClaim>(&["get"]).uses::<Namespace>(&["get"]);
        d.uses::<SelfSubjectAccessReview>(&["create"]);
    }

    async fn reconcile(&self, set: Arc<ActionSet>, cx: &Context) -> Result<Action> {
        let uid = set.uid().unwrap_or_default();
        let deleting = set.metadata.deletion_timestamp.is_some();
        let at_end = set.state().is_some_and(crate::api::State::is_final) && !cx.has_finalizer(&*set);
        let mut workers = self.workers();
        if let Some(worker) = workers.get(&uid) {
            if deleting {
                worker.cancel.cancel();
            }
            return Ok(Action::AwaitChange);
        }
        if at_end || (deleting && !cx.has_finalizer(&*set)) {
            return Ok(Action::AwaitChange);
        }
        let cancel = CancellationToken::new();
        if deleting {
            cancel.cancel();
        }
        let key = Key::of(&*set);
        workers.insert(uid.clone(), Worker { key: key.clone(), cancel: cancel.clone() });
        let driver = drive::Driver {
            cx: cx.clone(),
            options: self.options.clone(),
            locks: self.locks.clone(),
            key,
            uid: uid.clone(),
            cancel,
        };
        let entry = Entry { workers: self.workers.clone(), uid };
        cx.spawn(format!("actionset {}", driver.key), async move {
            // Dropped last, also when the task panics or is aborted: the next reconcile may start another one.
            let entry = entry;
            driver.run().await;
            drop(entry);
        });
        Ok(Action::AwaitChange)
    }

    async fn gone(&self, key: &Key, _: &Context) -> Result {
        for worker in self.workers().values().filter(|worker| worker.key == *key) {
            worker.cancel.cancel();
        }
        Ok(())
    }
}

/// A worker's place in the map, which it leaves when it ends.
struct Entry {
    workers: Arc<Mutex<Workers>>,
    uid: String,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.uid);
    }
}

/// The operator with its defaults, put together: for its rules, or to add to it.
pub fn manager(client: Client) -> Manager {
    manager_with(client, Options::default())
}

/// The operator, put together.
pub fn manager_with(client: Client, options: Options) -> Manager {
    let mut manager = Manager::new(client);
    if let Some(namespace) = &options.namespace {
        manager = manager.namespace(namespace.clone());
    }
    if let Some(address) = options.probes {
        manager = manager.probes(address);
    }
    manager.reconciler(Protection::new(options))
}

/// Starts the operator; it runs until [`Running::shutdown`]. The definitions ([`crate::api::crds`]) must be there.
///
/// # Errors
/// As [`Manager::start`].
pub async fn start(client: Client, options: Options) -> Result<Running> {
    manager_with(client, options).start().await
}

/// Runs the operator until SIGTERM or SIGINT.
///
/// # Errors
/// As [`Manager::start`].
pub async fn run(client: Client, options: Options) -> Result {
    manager_with(client, options).run().await
}
