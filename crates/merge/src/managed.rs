//! Who manages which field: server-side apply, and the bookkeeping of all other writes, in `metadata.managedFields`.
//!
//! Behaviour is that of apimachinery's `managedfields` on structured-merge-diff. Two things are simpler here. All entries
//! are read with the one schema that the caller gives, whatever their `apiVersion`: versions of a resource that differ in
//! their fields are the caller's to convert. And an entry is not rewritten when a schema change makes a list or map
//! atomic or granular.
//!
//! What an endpoint does not let its clients set (`status` on the main resource, all else on `/status`) is for the caller
//! to take out of the applied document, or to put back into the written one, before it comes here.

mod apply;
mod entries;
mod last_applied;

pub use apply::{ApplyError, Conflict, apply};

use crate::fieldset::FieldSet;
use crate::typed::{self, Node};
use entries::{Entries, Entry, Operation};
use pilothouse_schema::{Schema, builtin};
use pilothouse_value::{Gvk, Timestamp, Value};
use std::sync::LazyLock;

/// The name of the entry that records what an object had before it was first applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Who writes, where and when.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The field manager; empty stands for `unknown`.
    pub name: &'a str,
    /// The version the object is written in, such as `apps/v1`.
    pub api_version: &'a str,
    /// The subresource that is written, such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// When.
    pub time: Timestamp,
}

impl Manager<'_> {
    fn name(&self) -> &str {
        if self.name.is_empty() { "unknown" } else { self.name }
    }
}

/// Fields that nobody owns.
static NEVER_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Records in `new` who owns what after a write that is not an apply: a create if there is no `old` object, else an
/// update or a patch. Fields whose value changed move to the manager.
///
/// A client can edit the entries themselves through `new`, and clear them with an empty list, but not through a
/// subresource. Objects without entries stay without: see [`apply()`].
pub fn track(old: Option<&Value>, new: &mut Value, schema: &Schema, manager: &Manager<'_>) {
    let given = new.take(&["metadata", "managedFields"]).unwrap_or_default();
    let live = || old.map(|old| Entries::read(old.at(&["metadata", "managedFields"])).unwrap_or_default());
    let mut entries = if !manager.subresource.is_empty() {
        live().unwrap_or_default()
    } else if is_reset(&given) {
        Entries::default()
    } else {
        match Entries::read(Some(&given)) {
            Ok(entries) if !entries.is_empty() => entries,
            _ => live().unwrap_or_default(),
        }
    };
    if entries.is_empty() && old.is_some() {
        return;
    }
    match old {
        Some(old) => record_update(&mut entries, old, new, Node::root(schema), manager),
        None => record_update(&mut entries, &empty(new), new, Node::root(schema), manager),
    }
    entries.write(new);
}

/// Whether the entries of an object can be read.
///
/// # Errors
/// What is wrong with them.
pub fn check(object: &Value) -> Result<(), String> {
    Entries::read(object.at(&["metadata", "managedFields"])).map(|_| ())
}

/// What an object of this kind is before anything is set. For built-in kinds that is the Go type's zero value, which has
/// some fields already: whoever creates the object does not own those structs, only what is in them.
fn empty(object: &Value) -> Value {
    let mut empty = Value::object();
    if let Some(gvk) = Gvk::of(object)
        && builtin::schema(&gvk).is_some()
        && builtin::decode(&gvk, &mut empty).is_err()
    {
        // An empty object decodes into every kind; if not, nothing is there before.
        empty = Value::object();
    }
    empty
}

/// A client clears all entries with an empty list, or a list of one empty entry.
fn is_reset(given: &Value) -> bool {
    match given.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => one.as_object().is_some_and(pilothouse_value::Map::is_empty),
        _ => false,
    }
}

fn record_update(entries: &mut Entries, old: &Value, new: &Value, schema: Node<'_>, manager: &Manager<'_>) {
    let changes = typed::compare(schema, old, new);
    let touched = changes.modified.union(&changes.added);
    entries.retain_owned(|entry| entry.fields.difference(&touched).difference(&changes.removed));
    let taken = touched.difference(&NEVER_OWNED);
    if !taken.is_empty() {
        let entry = entries.of(Operation::Update, manager);
        entry.fields = entry.fields.union(&taken);
        entry.time = Some(manager.time);
        entries.cap();
    }
}

impl Entry {
    fn is_of(&self, operation: Operation, manager: &Manager<'_>) -> bool {
        self.operation == operation
            && self.manager == manager.name()
            && self.subresource == manager.subresource
            // An applier is one and the same in all versions.
            && (operation == Operation::Apply || self.api_version == manager.api_version)
    }
}
