//! Server-side apply.

use super::entries::{Entries, Identity, Operation};
use super::{
    BEFORE_FIRST_APPLY, Kind, MANAGED_FIELDS, Manager, NEVER_OWNED, empty, last_applied, record_update,
};
use crate::fieldset::{FieldSet, print_path};
use crate::typed;
use crate::updater::{Refusal, Typed, Updater};
use pilothouse_schema::builtin;
use pilothouse_value::{Status, Value, object};
use std::borrow::Cow;

/// A field that the applied document sets and that someone else owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The owner as messages print it: `"kubectl" using apps/v1`.
    pub manager: String,
    /// The field: `.spec.replicas`.
    pub field: String,
}

/// Why a document was not applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields with other values, and the apply was not forced (409).
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The request asks for something that apply does not do (400).
    #[error("{0}")]
    BadRequest(String),
    /// The document, or what is recorded in the live object, cannot be understood (500, as upstream).
    #[error("{0}")]
    Unreadable(String),
}

impl ApplyError {
    /// The reason as a word, for metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            ApplyError::Conflicts(_) => "Conflict",
            ApplyError::BadRequest(_) => "BadRequest",
            ApplyError::Unreadable(_) => "InternalError",
        }
    }

    /// The answer to the client.
    pub fn status(&self) -> Status {
        match self {
            ApplyError::Conflicts(conflicts) => conflicts.iter().fold(
                Status::new(409, "Conflict", self.to_string()),
                |status, Conflict { manager, field }| {
                    status.with_cause("FieldManagerConflict", format!("conflict with {manager}"), field)
                },
            ),
            ApplyError::BadRequest(text) => Status::bad_request(text),
            ApplyError::Unreadable(text) => Status::new(500, "", text),
        }
    }
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [Conflict { manager, field }] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {manager}: {field}");
    }
    let mut lines = Vec::new();
    for (index, Conflict { manager, field }) in conflicts.iter().enumerate() {
        if index == 0 || conflicts.get(index - 1).is_none_or(|before| before.manager != *manager) {
            lines.push(format!("conflicts with {manager}:"));
        }
        lines.push(format!("- {field}"));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// The object after `applied` has been applied to the `live` one, or created if there is none.
///
/// What the manager applied before and does not apply any more is removed, unless others own it too. With `force`,
/// fields that others own with other values are taken from them. Applying the same document again changes nothing, not
/// even the time. An object without entries gets one for what it had before, named `before-first-apply`.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    kind: &Kind<'_>,
    manager: &Manager<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    let version = object::api_version(applied);
    if version != manager.api_version {
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            manager.api_version
        )));
    }
    // What is no list of entries is no entries either: that is found when it is read by the schema.
    let entries = applied.at(&MANAGED_FIELDS).and_then(Value::as_array);
    if entries.is_some_and(|entries| entries.iter().all(builtin::is_managed_fields_entry)) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    }
    let node = kind.node();
    typed::validate(node, applied, false).map_err(|why| {
        ApplyError::Unreadable(format!("failed to create typed patch object ({}): {why}", name(applied)))
    })?;
    let nothing;
    let live = match live {
        Some(live) => live,
        None => {
            nothing = empty(applied);
            &nothing
        }
    };
    let entries = Entries::read(live.at(&MANAGED_FIELDS))
        .map_err(|why| ApplyError::Unreadable(format!("failed to decode managed fields: {why}")))?;
    let entries = if entries.is_empty() {
        let before = Manager { name: BEFORE_FIRST_APPLY, ..*manager };
        record_update(entries, &empty(applied), live, kind, &before).map_err(|why| {
            ApplyError::Unreadable(format!("failed to create manager for existing fields: {why}"))
        })?
    } else {
        entries
    };
    typed::validate(node, live, true).map_err(|why| {
        ApplyError::Unreadable(format!("failed to create typed live object ({}): {why}", name(live)))
    })?;

    let (merged, entries) = match merge(live, applied, kind, manager, entries.clone(), force) {
        Err(Refusal::Conflicts(conflicts)) => {
            let left = last_applied::conflicts(conflicts, live, node, manager);
            if !left.is_empty() {
                return Err(ApplyError::Conflicts(list(&left)));
            }
            merge(live, applied, kind, manager, entries, true)
        }
        done => done,
    }
    .map_err(|refusal| match refusal {
        Refusal::Conflicts(conflicts) => ApplyError::Conflicts(list(&conflicts)),
        Refusal::Failed(why) => ApplyError::Unreadable(why),
    })?;
    let mut merged = merged.unwrap_or_else(|| live.clone());
    entries.write(&mut merged);
    last_applied::sync(&mut merged, applied, manager);
    Ok(merged)
}

/// The merged object, if it is another than before, and the entries.
fn merge(
    live: &Value,
    applied: &Value,
    kind: &Kind<'_>,
    manager: &Manager<'_>,
    entries: Entries,
    force: bool,
) -> Result<(Option<Value>, Entries), Refusal<Identity>> {
    let types = kind.types(manager);
    let updater = Updater { converter: &types, filters: kind, returns_unchanged: false };
    let typed = |value| Typed { value: Cow::Borrowed(value), ty: kind.node() };
    let identity = Identity::of(Operation::Apply, manager);
    let Entries { managers, mut times } = entries;
    let (new, mut managers) =
        updater.apply(&typed(live), &typed(applied), manager.api_version, managers, &identity, force)?;
    if let Some(owned) = managers.get_mut(&identity) {
        owned.fields.remove(&NEVER_OWNED, false);
        if owned.fields.is_empty() {
            managers.remove(&identity);
        }
    }
    if new.is_some() {
        times.insert(identity, Some(manager.time));
    }
    Ok((new.map(|new| new.value.into_owned()), Entries { managers, times }))
}

/// An object in messages: `namespace/name; group/version, Kind=Kind`.
fn name(object: &Value) -> String {
    let (version, kind) = (object::api_version(object), object::kind(object));
    let slash = if version.contains('/') { "" } else { "/" };
    let namespace = object::namespace(object).unwrap_or_default();
    format!("{namespace}/{}; {slash}{version}, Kind={kind}", object::name(object))
}

fn list(conflicts: &[(Identity, FieldSet)]) -> Vec<Conflict> {
    let mut list = Vec::new();
    for (identity, fields) in conflicts {
        let manager = identity.describe();
        for path in fields.paths() {
            list.push(Conflict { manager: manager.clone(), field: print_path(&path) });
        }
    }
    list
}
