//! What a kind does with a document before it is validated: which parts a request may write, and how generations count.
//!
//! These are the `PrepareForCreate` and `PrepareForUpdate` of the kinds' strategies upstream.

use pilothouse_schema::builtin;
use pilothouse_value::{Map, Value, json, object};

use crate::authentication::user::User;
use crate::registry::resource::Resource;

/// Takes away what a new object may not bring: its status, if that has a path of its own. A node brings its status along.
pub(crate) fn take_status(resource: &Resource, value: &mut Value) -> Option<Value> {
    let apart = resource.rules.status && !resource.is("", "nodes");
    if apart { value.take(&["status"]) } else { None }
}

/// Prepares a new object that has its name and uid: the first generation, the status it starts with, and what its kind
/// generates.
pub(crate) fn prepare_create(resource: &Resource, value: &mut Value, user: &User, now: &str) {
    if !resource.is_built_in() {
        value.set(&["metadata", "generation"], 1);
        return;
    }
    builtin::prepare_create(&resource.gvk(), value, now);
    if resource.is("certificates.k8s.io", "certificatesigningrequests") {
        name_requestor(value, user);
    }
    if resource.is("", "persistentvolumes") {
        value.set(&["status", "lastPhaseTransitionTime"], now);
    }
    let is_local = value.at(&["spec", "service"]).is_none();
    if resource.is("apiregistration.k8s.io", "apiservices") && is_local {
        value.set(
            &["status"],
            json!({"conditions": [{
                "type": "Available", "status": "True", "reason": "Local",
                "message": "Local APIServices are always available", "lastTransitionTime": now,
            }]}),
        );
    }
}

/// Who asks for a certificate is who creates the request, whatever it says itself.
fn name_requestor(value: &mut Value, user: &User) {
    let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
    set_or_take(value, &["spec", "username"], text(&user.name));
    set_or_take(value, &["spec", "uid"], text(&user.uid));
    let groups = (!user.groups.is_empty()).then(|| Value::from(user.groups.clone()));
    set_or_take(value, &["spec", "groups"], groups);
    let extra = user.extra.iter().map(|(key, values)| (key.as_str(), Value::from(values.clone())));
    let extra: Map = extra.collect();
    set_or_take(value, &["spec", "extra"], (!extra.is_empty()).then_some(Value::Object(extra)));
}

/// Prepares an update of the main resource: the status stays, the generation counts changes of what is wanted.
pub(crate) fn prepare_update(resource: &Resource, new: &mut Value, old: &Value) {
    if resource.is_built_in() {
        builtin::prepare_update(&resource.gvk(), old, new);
    } else {
        if resource.rules.status {
            set_or_take(new, &["status"], old.get("status").cloned());
        }
        if differs(resource, new, old) {
            new.set(&["metadata", "generation"], object::generation(old) + 1);
        }
    }
    if resource.is("", "namespaces") {
        match old.at(&["spec", "finalizers"]) {
            Some(finalizers) => new.set(&["spec", "finalizers"], finalizers.clone()),
            None => {
                new.take(&["spec", "finalizers"]);
            }
        }
    }
}

/// Prepares an update through a subresource: only what it is for changes.
pub(crate) fn prepare_subresource(
    resource: &Resource,
    subresource: &str,
    new: &mut Value,
    old: &Value,
    now: &str,
) {
    if resource.custom.is_none() {
        builtin::prepare_subresource(&resource.gvk(), subresource, old, new, now);
        return;
    }
    let status = new.take(&["status"]);
    let managed = new.take(&["metadata", "managedFields"]);
    *new = old.clone();
    set_or_take(new, &["status"], status);
    set_or_take(new, &["metadata", "managedFields"], managed);
}

/// Prepares an update of the subresource `finalize` of a namespace: only the finalizers of its spec change.
pub(crate) fn prepare_finalize(new: &mut Value, old: &Value) {
    let finalizers = new.at(&["spec", "finalizers"]).cloned();
    let metadata = new.get("metadata").cloned();
    *new = old.clone();
    set_or_take(new, &["metadata"], metadata);
    set_or_take(new, &["spec", "finalizers"], finalizers);
}

fn set_or_take(value: &mut Value, path: &[&str], part: Option<Value>) {
    match part {
        Some(part) => value.set(path, part),
        None => {
            value.take(path);
        }
    }
}

/// Whether anything but metadata and (if it has a path of its own) status differs.
fn differs(resource: &Resource, new: &Value, old: &Value) -> bool {
    let wanted = |value: &Value| -> Map {
        value
            .as_object()
            .into_iter()
            .flat_map(|map| map.iter())
            .filter(|(key, _)| {
                let apart = resource.rules.status && *key == "status";
                !apart && !matches!(*key, "metadata" | "apiVersion" | "kind")
            })
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    };
    wanted(new) != wanted(old)
}
