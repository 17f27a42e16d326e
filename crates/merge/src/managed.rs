//! Field management: `metadata.managedFields` after updates, and server-side apply.
//!
//! Every entry says which manager owns which fields, and whether it got them by updates or by applying. Behaviour and
//! texts are those of apimachinery's `managedfields`; the time of an entry is kept when what it says does not change.

mod apply;
mod entries;
mod kind;
mod last_applied;
mod scale;
mod standing;

pub use apply::{ApplyError, Conflict, apply};
pub use kind::{Kind, NoVersions, Reset, Versions};
pub use scale::{scale_to_parent, scale_to_subresource};

use crate::fieldset::FieldSet;
use crate::updater::{Typed, Updater};
use entries::{Entries, Identity, Operation};
use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, Timestamp, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The name of the entry that records what an object had before it was first applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

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
/// subresource. Objects without entries stay without: see [`apply()`]. Where what has changed cannot be told, the entries
/// stay as they were.
pub fn track(old: Option<&Value>, new: &mut Value, kind: &Kind<'_>, manager: &Manager<'_>) {
    let mut given = new.take(&MANAGED_FIELDS).unwrap_or_default();
    let known = || old.and_then(|old| old.at(&MANAGED_FIELDS));
    if let Some(old) = old
        && !is_reset(&given)
    {
        // Through a subresource nobody edits entries.
        let is_edit = manager.subresource.is_empty() && given.as_array().is_some();
        let list =
            if is_edit || Some(&given) == known() { given } else { known().cloned().unwrap_or_default() };
        match list {
            Value::Array(list) if !list.is_empty() => match standing::update(list, old, new, kind, manager) {
                Ok(list) => {
                    return if !list.is_empty() {
                        new.set(&MANAGED_FIELDS, Value::Array(list))
                    };
                }
                Err(list) => given = Value::Array(list),
            },
            other => given = other,
        }
    }
    let live = || Entries::read(known()).unwrap_or_default();
    let entries = if !manager.subresource.is_empty() {
        live()
    } else if is_reset(&given) {
        Entries::default()
    } else {
        match Entries::read(Some(&given)) {
            Ok(entries) if !entries.is_empty() => entries,
            _ => live(),
        }
    };
    if entries.is_empty() && old.is_some() {
        return;
    }
    let recorded = match old {
        Some(old) => record_update(entries, old, new, kind, manager),
        None => record_update(entries, &empty(new), new, kind, manager),
    };
    match recorded {
        Ok(entries) => entries.write(new),
        Err(_) => {
            if let Some(known) = known() {
                new.set(&MANAGED_FIELDS, known.clone());
            }
        }
    }
}

/// What is wrong with the entries of an object, if something is: admission may have changed them.
///
/// # Errors
/// The text of upstream's warning.
pub fn check(object: &Value) -> Result<(), String> {
    Entries::read(object.at(&MANAGED_FIELDS)).map(drop)
}

/// Puts back the times of the entries when they are all that a write would change, so that such a write is none.
pub fn keep_times(old: &Value, new: &mut Value) {
    let (Some(Value::Array(before)), Some(Value::Array(after))) =
        (old.at(&MANAGED_FIELDS), new.at(&MANAGED_FIELDS))
    else {
        return;
    };
    let same_but_time = |(a, b): (&Value, &Value)| all_but_time(a).eq(all_but_time(b));
    let differ_in_time = before.iter().zip(after).any(|(a, b)| a.get("time") != b.get("time"));
    let only_in_time =
        before.len() == after.len() && differ_in_time && before.iter().zip(after).all(same_but_time);
    if !only_in_time {
        return;
    }
    let Some(entries) = new.take(&MANAGED_FIELDS) else { return };
    new.set(&MANAGED_FIELDS, Value::Array(before.clone()));
    if new != old {
        new.set(&MANAGED_FIELDS, entries);
    }
}

fn all_but_time(entry: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = entry.as_object().into_iter().flat_map(pilothouse_value::Map::iter);
    fields.filter(|(name, _)| *name != "time")
}

/// What an object of this kind is before anything is set. For built-in kinds that is the Go type's zero value, which has
/// some fields already: whoever creates the object does not own those structs, only what is in them.
fn empty(object: &Value) -> Value {
    let mut empty = Value::object();
    let Some(gvk) = Gvk::of(object) else { return empty };
    if builtin::schema(&gvk).is_some() && builtin::decode(&gvk, &mut empty).is_err() {
        // An empty object decodes into every kind; if not, nothing is there before.
        empty = Value::object();
    }
    empty.set(&["apiVersion"], gvk.api_version());
    empty.set(&["kind"], gvk.kind);
    empty
}

/// Whether this is a document of a built-in kind: it was decoded into its type, which leaves nothing to find.
fn is_built_in(object: &Value) -> bool {
    Gvk::of(object).is_some_and(|gvk| builtin::schema(&gvk).is_some())
}

/// A client clears all entries with an empty list, or a list of one empty entry.
fn is_reset(given: &Value) -> bool {
    match given.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => one.as_object().is_some_and(pilothouse_value::Map::is_empty),
        _ => false,
    }
}

/// The entries after the manager has made `new` of `old`.
fn record_update(
    entries: Entries,
    old: &Value,
    new: &Value,
    kind: &Kind<'_>,
    manager: &Manager<'_>,
) -> Result<Entries, String> {
    let types = kind.types(manager);
    let updater = Updater { converter: &types, filters: kind, returns_unchanged: false };
    let old = Typed { value: Cow::Borrowed(old), ty: kind.node() };
    let new = Typed { value: Cow::Borrowed(new), ty: kind.node() };
    if !is_built_in(&new.value) {
        types.check(&new).map_err(|why| format!("failed to convert new object to smd typed: {why}"))?;
    }
    let Entries { managers, mut times } = entries;
    // What this write changes is first nobody's who was there before, not even the manager's own.
    let mine = Identity::current();
    let mut managers = updater.update(&old, &new, manager.api_version, managers, &mine)?;
    if let Some(mut owned) = managers.remove(&mine) {
        owned.fields.remove(&NEVER_OWNED, false);
        if !owned.fields.is_empty() {
            let identity = Identity::of(Operation::Update, manager);
            if let Some(before) = managers.remove(&identity) {
                owned.fields.extend(before.fields);
            }
            times.insert(identity.clone(), Some(manager.time));
            managers.insert(identity, owned);
        }
    }
    let mut entries = Entries { managers, times };
    entries.cap(kind.max_updaters);
    Ok(entries)
}
