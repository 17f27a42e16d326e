//! The end of a definition: its objects are deleted first, with their finalizers heard. Conditions and texts are those of
//! apiextensions' finalizing controller.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_schema::builtin;
use pilothouse_store::Event;
use pilothouse_value::{Value, object};

use crate::authentication::user::{MASTERS, User};
use crate::crd::{self, CLEANUP, lifecycle, names};
use crate::registry::resource::Resource;
use crate::request::options::DeleteOptions;
use crate::state::{Context, State, Target};
use crate::verbs::{self, delete};

/// How long objects may take to go before the definition says that it waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait for a change after objects could not be deleted, as upstream's queue does: the first time, and at most.
/// It doubles each time.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1000));

/// How long a definition that somebody else holds is seen terminating, at least: upstream's controller hears of the
/// deletion late and takes some writes, and its own tests look for the condition after the deletion has been answered.
const MOMENT: Duration = Duration::from_millis(100);

/// A condition `Terminating`: status, reason and message.
struct Terminating(&'static str, &'static str, String);

/// Starts to clean up behind a definition that is being deleted; ends with the server.
pub(super) fn spawn(state: &Arc<State>, name: &str) {
    let (state, name) = (state.clone(), name.to_owned());
    tokio::spawn(async move {
        let shutdown = state.shutdown.clone();
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = clean(&state, &name) => {}
        }
    });
}

/// Deletes the objects of a definition, waits until they are gone, and lets the definition go.
async fn clean(state: &Arc<State>, name: &str) {
    let mut pause = RETRY.0;
    loop {
        let begun = Terminating(
            "True",
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress".into(),
        );
        let Some(definition) = set(state, name, &begun) else { return };
        let outcome = end_instances(state, name, &definition).await;
        if outcome.0 == "False" {
            if object::finalizers(&definition).any(|own| own != CLEANUP) {
                tokio::time::sleep(MOMENT).await;
            }
            release(state, name, &outcome).await;
            return;
        }
        if set(state, name, &outcome).is_none() {
            return;
        }
        let _either = tokio::time::timeout(pause, changed(state, name, state.store.revision())).await;
        pause = (pause * 2).min(RETRY.1);
    }
}

/// Resolves when another attempt may do better than the last: something happened to the objects or to the definition.
async fn changed(state: &State, name: &str, since: u64) {
    let objects = state.registry.table().any_of(name).map(|resource| resource.key.clone());
    let definitions = lifecycle::definitions_key();
    let matters = |event: &Event| {
        Some(&event.resource) == objects.as_ref() || (event.resource == definitions && *event.name == *name)
    };
    let Ok(mut watcher) = state.store.watch_all(since) else { return };
    // One that has fallen behind has missed a lot: that is a reason to look, too.
    while watcher.next().await.is_ok_and(|event| !matters(&event)) {}
}

/// Deletes the objects, as far as there can be any.
async fn end_instances(state: &Arc<State>, name: &str, definition: &Value) -> Terminating {
    let group = definition.str_at(&["spec", "group"]).unwrap_or_default();
    let plural = definition.str_at(&["spec", "names", "plural"]).unwrap_or_default();
    if builtin::resources().iter().any(|own| own.group == group && own.plural == plural) {
        let message = "instances overlap with built-in resources in storage";
        return Terminating("False", "OverlappingBuiltInResource", message.into());
    }
    if !object::condition_is_true(definition, "Established") {
        return Terminating("False", "NeverEstablished", "resource was never established".into());
    }
    if let Some(resource) = state.registry.table().any_of(name) {
        let revision = state.store.revision();
        if let Err(message) = delete_all(state, &resource).await {
            return Terminating("True", "InstanceDeletionFailed", message);
        }
        if tokio::time::timeout(PATIENCE, gone(state, &resource, revision)).await.is_err() {
            let message = "could not confirm zero CustomResources remaining: context deadline exceeded";
            return Terminating("True", "InstanceDeletionCheck", message.into());
        }
    }
    Terminating("False", "InstanceDeletionCompleted", "removed all instances".into())
}

/// Resolves when no object of a resource is left.
async fn gone(state: &State, resource: &Resource, revision: u64) {
    let there = || state.store.snapshot().count(&resource.key) > 0;
    let Ok(mut watcher) = state.store.watch(&resource.key, revision) else { return };
    while there() && watcher.next().await.is_ok() {}
}

/// Deletes the objects namespace by namespace, without asking admission. As upstream, the first that cannot be deleted ends
/// the work in its namespace.
async fn delete_all(state: &Arc<State>, resource: &Arc<Resource>) -> Result<(), String> {
    let context = Context::new(state.clone(), User::new("system:apiserver", [MASTERS]), None);
    let mut failures: Vec<String> = Vec::new();
    let mut refused_in: Option<String> = None;
    for entry in state.store.snapshot().list(&resource.key, None, None) {
        if refused_in.as_deref() == Some(&*entry.namespace) {
            continue;
        }
        let target = Target {
            resource: resource.clone(),
            namespace: entry.namespace.to_string(),
            name: entry.name.to_string(),
            subresource: None,
        };
        match delete::delete_unasked(&context, &target, &DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => {
                refused_in = Some(target.namespace);
                if !failures.contains(&status.message) {
                    failures.push(status.message);
                }
            }
            _ => {}
        }
    }
    match failures.as_slice() {
        [] => Ok(()),
        [one] => Err(format!("could not issue all deletes: {one}")),
        many => Err(format!("could not issue all deletes: [{}]", many.join(", "))),
    }
}

/// Writes a condition. Returns the definition as it is stored then; `None` if it is gone.
fn set(state: &State, name: &str, terminating: &Terminating) -> Option<Arc<Value>> {
    let _definitions = state.definitions.lock();
    let stored = lifecycle::change(state, name, |definition| {
        mark(definition, terminating, &state.now());
        true
    })?;
    Some(stored.value().clone())
}

fn mark(definition: &mut Value, Terminating(status, reason, message): &Terminating, now: &str) {
    names::set_condition(definition, names::condition("Terminating", status, reason, message, now));
}

/// Takes the finalizer off a definition; without another one it is gone then.
async fn release(state: &Arc<State>, name: &str, outcome: &Terminating) {
    let Some(definitions) = state.registry.get(crd::GROUP, "v1", crd::PLURAL) else { return };
    let target =
        Target { resource: definitions, namespace: String::new(), name: name.to_owned(), subresource: None };
    for _ in 0..verbs::ATTEMPTS {
        let Some(stored) = state.store.get(&target.resource.key, "", name) else { return };
        if object::finalizers(stored.value()).any(|own| own != CLEANUP) {
            let _definitions = state.definitions.lock();
            lifecycle::change(state, name, |definition| {
                mark(definition, outcome, &state.now());
                let finalizers: Vec<String> =
                    object::finalizers(definition).filter(|own| *own != CLEANUP).map(str::to_owned).collect();
                definition.set(&["metadata", "finalizers"], finalizers);
                true
            });
            return;
        }
        // Watchers see what was stored last, as upstream.
        let outcome = verbs::remove(state, &target, stored.revision(), stored.value()).await;
        match outcome {
            Ok(verbs::Outcome::Stale(_)) => {}
            Ok(verbs::Outcome::Stored(_)) => return,
            Err(status) => {
                tracing::warn!(%name, %status, "removing a deleted definition");
                return;
            }
        }
    }
}
