//! Server-side apply.

use super::entries::{Entries, Entry, Operation};
use super::{BEFORE_FIRST_APPLY, Manager, NEVER_OWNED, empty, last_applied, record_update};
use crate::fieldset::FieldSet;
use crate::typed::{self, Node};
use pilothouse_schema::Schema;
use pilothouse_value::{Status, Value, object};

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
    schema: &Schema,
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
    if applied.at(&["metadata", "managedFields"]).is_some_and(|entries| !entries.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    }
    let schema = Node::root(schema);
    let problems = typed::validate(schema, applied);
    if !problems.is_empty() {
        return Err(unfit(applied, &problems));
    }

    let nothing = Value::object();
    let live = live.unwrap_or(&nothing);
    let mut entries = Entries::read(live.at(&["metadata", "managedFields"]))
        .map_err(|why| ApplyError::Unreadable(format!("failed to decode managed fields: {why}")))?;
    if entries.is_empty() {
        let before = Manager { name: BEFORE_FIRST_APPLY, ..*manager };
        record_update(&mut entries, &empty(live), live, schema, &before);
        // What this endpoint does not set was not set through it before either.
        entries.retain_owned(|entry| entry.fields.of_endpoint(manager.subresource));
    }

    let mut merged = typed::merge(schema, live.clone(), applied);
    restore_creation(live, &mut merged);
    let before = entries.take(Operation::Apply, manager);
    let mine = typed::field_set(schema, applied);
    if let Some(before) = &before {
        merged = prune(schema, merged, &before.fields, &mine, &entries);
    }

    let changes = typed::compare(schema, live, &merged);
    let touched = changes.modified.union(&changes.added);
    if !force {
        let mut conflicts = find_conflicts(&entries, &touched);
        if !conflicts.is_empty() {
            let allowed = last_applied::allowed(live, schema, manager);
            conflicts.iter_mut().for_each(|(_, fields)| *fields = fields.difference(&allowed));
        }
        let conflicts = list_conflicts(&conflicts);
        if !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
    }
    entries.retain_owned(|entry| entry.fields.difference(&touched).difference(&changes.removed));
    entries.put(Entry {
        manager: manager.name().to_owned(),
        operation: Operation::Apply,
        api_version: manager.api_version.to_owned(),
        subresource: manager.subresource.to_owned(),
        time: if *live == merged { before.and_then(|before| before.time) } else { Some(manager.time) },
        fields: mine.difference(&NEVER_OWNED),
    });
    entries.write(&mut merged);
    last_applied::sync(&mut merged, applied, manager);
    Ok(merged)
}

fn unfit(applied: &Value, problems: &[String]) -> ApplyError {
    let problems = match problems {
        [one] => one.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    };
    ApplyError::Unreadable(format!(
        "failed to create typed patch object ({}/{}; {}{}, Kind={}): {problems}",
        object::namespace(applied).unwrap_or_default(),
        object::name(applied),
        if object::api_version(applied).contains('/') { "" } else { "/" },
        object::api_version(applied),
        object::kind(applied),
    ))
}

/// Typed clients send `creationTimestamp: null`; it is not theirs to set.
fn restore_creation(live: &Value, merged: &mut Value) {
    const PATH: [&str; 2] = ["metadata", "creationTimestamp"];
    match live.at(&PATH) {
        Some(created) => merged.set(&PATH, created.clone()),
        None => {
            if merged.at(&PATH).is_some_and(Value::is_null) {
                merged.take(&PATH);
            }
        }
    }
}

/// Removes from `merged` what the manager applied before (`last`), does not apply now (`mine`), and nobody else owns.
fn prune(schema: Node<'_>, merged: Value, last: &FieldSet, mine: &FieldSet, others: &Entries) -> Value {
    if last.difference(mine).is_empty() {
        return merged;
    }
    let all = |value: &Value| typed::field_set(schema, value).with_named_parents(schema);
    let last = last.with_named_parents(schema);
    let managed = others.iter().fold(mine.clone(), |managed, entry| managed.union(&entry.fields));
    let managed = managed.with_named_parents(schema);
    let present = all(&merged);

    // Removing an item removes all below it: keep what someone else owns there, and then also what nobody owns, unless
    // the manager had applied it.
    let without_last = typed::remove(schema, merged.clone(), &last);
    let unowned = present.difference(&all(&without_last).union(&managed));
    let without_unowned = typed::remove(schema, merged.clone(), &unowned);
    let gone = present.difference(&all(&without_unowned)).intersection(&last);
    typed::remove(schema, merged, &gone)
}

/// What the others own of what was touched, by owner in the order of their names.
fn find_conflicts(entries: &Entries, touched: &FieldSet) -> Vec<(String, FieldSet)> {
    let mut owners: Vec<&Entry> = entries.iter().collect();
    owners.sort_by_key(|entry| (&entry.manager, entry.operation, &entry.api_version, &entry.subresource));
    owners
        .into_iter()
        .map(|entry| (entry.describe(), entry.fields.intersection(touched)))
        .filter(|(_, fields)| !fields.is_empty())
        .collect()
}

fn list_conflicts(conflicts: &[(String, FieldSet)]) -> Vec<Conflict> {
    conflicts
        .iter()
        .flat_map(|(manager, fields)| {
            fields.paths().into_iter().map(|field| Conflict { manager: manager.clone(), field })
        })
        .collect()
}
