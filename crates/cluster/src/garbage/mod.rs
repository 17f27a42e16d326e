//! The garbage collector: an object whose owners are gone goes too (`pkg/controller/garbagecollector`). It knows every
//! kind that is served, custom ones too, through one watch for each.
//!
//! - Background (or no policy): the owner goes at once, its dependents follow.
//! - Foreground: the owner waits, with the finalizer `foregroundDeletion`, until the dependents that block it are gone.
//! - Orphan: the owner waits, with the finalizer `orphan`, until its dependents no longer name it.

mod graph;
mod judge;

use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::Propagation;
use pilothouse_value::{Value, json, object};

use self::graph::{Graph, Node};
use self::judge::{Verdict, judge};
use crate::discovery::Discovery;
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Reconcile, Runner};
use crate::harness::queue::Queue;
use crate::workloads::adopt::owners_patch;

/// The finalizer of an owner that waits for its dependents to go.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner that lets its dependents go free.
pub(crate) const ORPHAN: &str = "orphan";

struct Collector {
    api: Api,
    discovery: Arc<Discovery>,
    graph: Arc<Graph>,
    queue: Arc<Queue<String>>,
}

impl Reconcile for Collector {
    /// A uid.
    type Key = String;

    async fn reconcile(&self, uid: &String) -> Result<Option<Duration>, Failure> {
        let Some(node) = self.graph.get(uid) else { return Ok(None) };
        if object::deletion_timestamp(&node.object).is_none() {
            self.collect(&node).await?;
        } else if object::has_finalizer(&node.object, ORPHAN) {
            self.orphan(&node).await?;
        } else if object::has_finalizer(&node.object, FOREGROUND) {
            self.await_dependents(&node).await?;
        }
        Ok(None)
    }
}

impl Collector {
    /// Deletes an object whose owners are gone, or takes references to owners that are gone off it.
    async fn collect(&self, node: &Node) -> Result<(), Failure> {
        let references = object::owner_references(&node.object);
        if references.is_empty() {
            return Ok(());
        }
        let (mut solid, mut keep, mut waiting) = (false, Vec::new(), false);
        for reference in references {
            match judge(&self.api, &self.discovery, &self.graph, node, reference).await? {
                Verdict::Solid => {
                    solid = true;
                    keep.push(reference.clone());
                }
                Verdict::Unknown => return Ok(()),
                Verdict::Waiting => waiting = true,
                Verdict::Absent => {}
            }
        }
        if solid {
            if keep.len() < references.len() {
                self.patch(node, owners_patch(&node.object, keep)).await?;
            }
            return Ok(());
        }
        let dependents = self.graph.dependents(object::uid(&node.object));
        let policy = if waiting && !dependents.is_empty() {
            // Where owners wait for each other in a circle, none may block another.
            if dependents.iter().any(|d| is_waiting(&d.object)) {
                self.unblock(node).await?;
            }
            Propagation::Foreground
        } else if object::has_finalizer(&node.object, ORPHAN) {
            Propagation::Orphan
        } else if object::has_finalizer(&node.object, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        self.delete(node, policy).await
    }

    /// Deletes the dependents of an owner that waits for them; lets it go when none is left that blocks it.
    async fn await_dependents(&self, owner: &Node) -> Result<(), Failure> {
        let uid = object::uid(&owner.object);
        let blocking = |dependents: Vec<Arc<Node>>| {
            dependents.into_iter().filter(|d| blocks(&d.object, uid)).collect::<Vec<_>>()
        };
        let mut left = blocking(self.graph.dependents(uid));
        if left.is_empty() {
            // The last word is the server's: a watch may lag behind.
            left = blocking(self.dependents_on_server(owner).await?);
        }
        if left.is_empty() {
            self.remove_finalizer(owner, FOREGROUND).await?;
        }
        for dependent in self.graph.dependents(uid) {
            if object::deletion_timestamp(&dependent.object).is_none() {
                self.queue.add(object::uid(&dependent.object).to_owned());
            }
        }
        Ok(())
    }

    /// Takes the references to an owner off its dependents, then lets it go.
    async fn orphan(&self, owner: &Node) -> Result<(), Failure> {
        let uid = object::uid(&owner.object);
        for dependent in self.dependents_on_server(owner).await? {
            let keep = object::owner_references(&dependent.object).iter();
            let keep = keep.filter(|r| r.str_at(&["uid"]) != Some(uid)).cloned().collect();
            self.patch(&dependent, owners_patch(&dependent.object, keep)).await?;
        }
        self.remove_finalizer(owner, ORPHAN).await
    }

    /// What the server has at this moment that names this owner.
    async fn dependents_on_server(&self, owner: &Node) -> Result<Vec<Arc<Node>>, Failure> {
        let uid = object::uid(&owner.object);
        let namespace = object::namespace(&owner.object);
        let mut dependents = Vec::new();
        self.discovery.refresh();
        for kind in self.discovery.all() {
            if namespace.is_some() && !kind.namespaced {
                continue;
            }
            let objects = match self.api.list(&kind.gvr(), namespace).await {
                Ok(objects) => objects,
                // The kind went between the question what is served and this one.
                Err(Failure::Api { status, .. }) if status.is_not_found() => continue,
                Err(failure) => return Err(failure),
            };
            let named = |object: &Value| {
                object::owner_references(object).iter().any(|r| r.str_at(&["uid"]) == Some(uid))
            };
            let named = objects.into_iter().filter(|object| named(object));
            dependents.extend(named.map(|object| Arc::new(Node { kind: kind.clone(), object })));
        }
        Ok(dependents)
    }

    /// Sets `blockOwnerDeletion` to false in all references of an object.
    async fn unblock(&self, node: &Node) -> Result<(), Failure> {
        let mut references = object::owner_references(&node.object).to_vec();
        for reference in &mut references {
            reference.set(&["blockOwnerDeletion"], false);
        }
        self.patch(
            node,
            json!({"metadata": {"uid": object::uid(&node.object), "ownerReferences": references}}),
        )
        .await
    }

    async fn remove_finalizer(&self, node: &Node, finalizer: &str) -> Result<(), Failure> {
        let keep: Vec<&str> = object::finalizers(&node.object).filter(|f| *f != finalizer).collect();
        let patch = json!({"metadata": {"finalizers": keep, "uid": object::uid(&node.object),
            "resourceVersion": object::resource_version(&node.object)}});
        self.patch(node, patch).await
    }

    async fn patch(&self, node: &Node, patch: Value) -> Result<(), Failure> {
        let (namespace, name) = node.key();
        self.api.patch(&node.kind.gvr(), namespace, name, patch).await.map(drop)
    }

    async fn delete(&self, node: &Node, policy: Propagation) -> Result<(), Failure> {
        let (namespace, name) = node.key();
        let uid = object::uid(&node.object);
        tracing::debug!(kind = node.kind.kind, namespace, name, ?policy, "owners are gone: deleting");
        self.api.delete(&node.kind.gvr(), namespace, name, uid, Some(policy)).await
    }
}

/// Whether an object waits for its dependents.
fn is_waiting(object: &Value) -> bool {
    object::deletion_timestamp(object).is_some() && object::has_finalizer(object, FOREGROUND)
}

/// Whether an object keeps its owner from going.
fn blocks(dependent: &Value, owner: &str) -> bool {
    object::owner_references(dependent).iter().any(|reference| {
        reference.str_at(&["uid"]) == Some(owner)
            && reference.at(&["blockOwnerDeletion"]).and_then(Value::as_bool) == Some(true)
    })
}

/// Starts the collector.
pub(crate) fn start(api: &Api, runner: &Runner, discovery: &Arc<Discovery>) {
    let queue = Arc::new(Queue::new());
    let graph = Arc::new(Graph::default());
    let (keys, nodes) = (queue.clone(), graph.clone());
    discovery.on_change(move |kind, change| {
        nodes.see(kind, change).into_iter().for_each(|uid| keys.add(uid));
    });
    let api = api.named("garbage-collector-controller");
    let collector = Collector { api, discovery: discovery.clone(), graph, queue: queue.clone() };
    runner.run("garbage-collector-controller", collector, queue, Vec::new());
}
