//! What happens when a definition is written or deleted: its names are decided, and it is served. All of it happens before
//! the request that caused it is answered. Its end, which may have to wait, is [`cleanup`]'s.

use std::sync::Arc;

use parking_lot::MutexGuard;
use pilothouse_merge::managed::{self, Manager};
use pilothouse_schema::crd::{Approval, approval, is_protected_group};
use pilothouse_store::{Change, Object};
use pilothouse_value::{Value, object, parse};

use crate::answer::document;
use crate::crd::names::{self, Taken};
use crate::crd::{self, CLEANUP, cleanup};
use crate::objects::ownership;
use crate::registry::resource::{self, Resource};
use crate::start::bootstrap;
use crate::start::seeds::Seed;
use crate::state::{Context, State, Target};
use crate::verbs;

/// Held by whoever writes a definition; nothing for other resources.
pub(crate) fn lock<'a>(state: &'a State, resource: &Resource) -> Option<MutexGuard<'a, ()>> {
    resource.is(crd::GROUP, crd::PLURAL).then(|| state.definitions.lock())
}

/// Warns of what a definition may say and this server does not heed. `old` is what an update changes.
pub(crate) fn warn(context: &Context, resource: &Resource, definition: &Value, old: Option<&Value>) {
    if resource.is(crd::GROUP, crd::PLURAL) {
        let warnings = pilothouse_schema::crd::warnings(definition, old);
        warnings.into_iter().for_each(|warning| context.warn(warning));
    }
}

/// Marks a definition that is to be deleted: its objects go first.
pub(crate) fn prepare_delete(definition: &mut Value, now: &str) {
    if !object::has_finalizer(definition, CLEANUP) {
        let mut finalizers: Vec<String> = object::finalizers(definition).map(str::to_owned).collect();
        finalizers.push(CLEANUP.to_owned());
        definition.set(&["metadata", "finalizers"], finalizers);
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    names::set_condition(
        definition,
        names::condition("Terminating", "True", "InstanceDeletionPending", message, now),
    );
}

/// A definition was written, by a caller that holds the [`lock`]: decides on its names, serves it, and starts its end if
/// it is being deleted.
pub(crate) fn written(state: &Arc<State>, target: &Target, stored: &Arc<Object>) {
    if !target.resource.is(crd::GROUP, crd::PLURAL) {
        return;
    }
    let (definition, renamed) = settle(state, &target.name).unwrap_or_else(|| (stored.clone(), false));
    serve(state, &target.name, &definition);
    if renamed {
        settle_others(state, &target.name);
    }
    if object::deletion_timestamp(definition.value()).is_some()
        && object::has_finalizer(definition.value(), CLEANUP)
        && first_mark(definition.value())
    {
        cleanup::spawn(state, &target.name);
    }
}

/// Whether the cleanup has not begun.
fn first_mark(definition: &Value) -> bool {
    object::condition(definition, "Terminating").and_then(|condition| condition.str_at(&["reason"]))
        == Some("InstanceDeletionPending")
}

/// A definition is gone: it is no longer served, and others may have its names.
pub(crate) fn removed(state: &Arc<State>, target: &Target) {
    if !target.resource.is(crd::GROUP, crd::PLURAL) {
        return;
    }
    state.registry.replace(&target.name, Vec::new());
    let group = target.name.split_once('.').map(|(_, group)| group).unwrap_or_default();
    announce(state, group);
    settle_others(state, &target.name);
}

/// Looks again at the names of the other definitions of a group, as one of it has let some go: until nobody gets a name
/// that way any more.
fn settle_others(state: &Arc<State>, name: &str) {
    let group = name.split_once('.').map(|(_, group)| group).unwrap_or_default();
    let others: Vec<_> = state
        .store
        .snapshot()
        .list(&definitions_key(), None, None)
        .filter(|entry| {
            &*entry.name != name && entry.object.value().str_at(&["spec", "group"]) == Some(group)
        })
        .map(|entry| entry.name.to_string())
        .collect();
    // In each round somebody gets a name for good, so there are no more rounds than definitions.
    for _ in &others {
        let mut renamed = false;
        for other in &others {
            if let Some((definition, true)) = settle(state, other) {
                serve(state, other, &definition);
                renamed = true;
            }
        }
        if !renamed {
            return;
        }
    }
}

pub(super) fn definitions_key() -> pilothouse_store::ResourceKey {
    resource::key(crd::GROUP, crd::PLURAL)
}

/// Decides on a definition's names and stores the outcome. Returns what is stored then, and whether the names are others.
fn settle(state: &State, name: &str) -> Option<(Arc<Object>, bool)> {
    let mut renamed = false;
    let stored = change(state, name, |definition| {
        let group = definition.str_at(&["spec", "group"]).unwrap_or_default().to_owned();
        let mut taken = Taken::default();
        for entry in state.store.snapshot().list(&definitions_key(), None, None) {
            let other = entry.object.value();
            if other.str_at(&["spec", "group"]) == Some(group.as_str()) {
                taken.add(other);
            }
        }
        let now = state.now();
        renamed = names::accept(definition, &taken, &now);
        let established = names::establish(definition, &now);
        let approved = approve(definition, &group, &now);
        renamed || established || approved
    });
    stored.map(|stored| (stored, renamed))
}

/// Says whether a group that belongs to the Kubernetes community may be defined here. Returns whether anything changed.
fn approve(definition: &mut Value, group: &str, now: &str) -> bool {
    const CONDITION: &str = "KubernetesAPIApprovalPolicyConformant";
    if !is_protected_group(group) {
        return false;
    }
    let (approval, message) = approval(definition);
    let (status, reason) = match approval {
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
    };
    let before = object::condition(definition, CONDITION).cloned();
    names::set_condition(definition, names::condition(CONDITION, status, reason, &message, now));
    before.as_ref() != object::condition(definition, CONDITION)
}

/// Changes a stored definition, by a caller that holds the [`lock`], if `make` says that it did. Returns what is stored then; `None` if it is gone.
pub(super) fn change(
    state: &State,
    name: &str,
    mut make: impl FnMut(&mut Value) -> bool,
) -> Option<Arc<Object>> {
    let key = definitions_key();
    for _ in 0..verbs::ATTEMPTS {
        let stored = state.store.get(&key, "", name)?;
        // Parsed for this once: a definition is large, and this revision of it is about to be an old one.
        let before = parse::json(stored.bytes()).ok()?.value;
        let mut definition = before.clone();
        if !make(&mut definition) {
            return Some(stored);
        }
        if let Some(resource) = state.registry.get(crd::GROUP, "v1", crd::PLURAL) {
            let manager = Manager {
                name: "kube-apiserver",
                api_version: "apiextensions.k8s.io/v1",
                subresource: "status",
                time: state.clock.now(),
            };
            let kind = ownership::kind(&resource, Some("status"), &managed::NoVersions);
            managed::track(Some(&before), &mut definition, &kind, &manager);
        }
        let mut build = |revision: u64| {
            definition.set(&["metadata", "resourceVersion"], revision.to_string());
            document::encode(&definition)
        };
        if let Ok(written) =
            state.store.commit(&key, "", name, Some(stored.revision()), Change::Put(&mut build))
        {
            return Some(written);
        }
    }
    state.store.get(&key, "", name)
}

/// Serves what a definition defines.
fn serve(state: &State, name: &str, definition: &Arc<Object>) {
    let before = state.registry.table().defined_by(name);
    state.registry.replace(name, crd::resources(definition, before.as_deref(), definition.revision()));
    let group = definition.value().str_at(&["spec", "group"]).unwrap_or_default().to_owned();
    announce(state, &group);
}

/// Keeps the API services of a group as the group is served: one for each version.
fn announce(state: &State, group: &str) {
    let key = resource::key(bootstrap::API_REGISTRATION, "apiservices");
    let table = state.registry.table();
    let mut names = Vec::new();
    for resource in table.iter().filter(|resource| resource.group == group) {
        let name = format!("{}.{group}", resource.version);
        if !names.contains(&name) && state.store.get(&key, "", &name).is_none() {
            let service = bootstrap::api_service(group, &resource.version, resource.is_built_in());
            Seed::of(bootstrap::API_REGISTRATION, "apiservices", service).write(state, &state.now());
        }
        names.push(name);
    }
    for entry in state.store.snapshot().list(&key, None, None) {
        let service = entry.object.value();
        let automatic = object::label(service, "kube-aggregator.kubernetes.io/automanaged") == Some("true");
        if automatic
            && service.str_at(&["spec", "group"]) == Some(group)
            && !names.iter().any(|name| **name == *entry.name)
        {
            let mut last = Value::clone(service);
            let mut build = |revision: u64| {
                last.set(&["metadata", "resourceVersion"], revision.to_string());
                document::encode(&last)
            };
            // Whoever changed it in between has made it their own.
            let _kept = state.store.commit(
                &key,
                "",
                &entry.name,
                Some(entry.object.revision()),
                Change::Delete(&mut build),
            );
        }
    }
}

/// Serves every stored definition and goes on with the deletions that were under way; called once at the start.
pub(crate) fn serve_all(state: &Arc<State>) {
    let _definitions = state.definitions.lock();
    for entry in state.store.snapshot().list(&definitions_key(), None, None) {
        // The history of the objects is not known: none is taken to be of the present schema.
        state.registry.replace(&entry.name, crd::resources(&entry.object, None, state.store.revision() + 1));
        let value = entry.object.value();
        if object::deletion_timestamp(value).is_some() && object::has_finalizer(value, CLEANUP) {
            cleanup::spawn(state, &entry.name);
        }
    }
}
