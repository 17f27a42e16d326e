//! Updates of entries as they stand: what a write does not touch is neither read nor written. Most writes touch one entry of
//! several, and many change nothing that the writer did not own before.

use super::entries::{Identity, Operation, entry};
use super::{Kind, Manager, NEVER_OWNED, is_built_in};
use crate::fieldset::written;
use crate::typed::{self, Comparison};
use crate::updater::{Filters as _, Owned, Typed};
use pilothouse_value::{List, Timestamp, Value, object};
use std::borrow::Cow;

/// The entries after the manager has made `new` of `old`. Gives the entries back if they have to be read for that: when one
/// is in another version, or not as we would write it.
pub(super) fn update(
    mut entries: List,
    old: &Value,
    new: &Value,
    kind: &Kind<'_>,
    manager: &Manager<'_>,
) -> Result<List, List> {
    let Some(changes) = changes(&entries, old, new, kind, manager) else { return Err(entries) };
    let Comparison { removed, modified: mut touched, added } = changes;
    touched.extend(added);
    let mut gained = touched.clone();
    gained.remove(&NEVER_OWNED, false);
    let is_mine = |entry: &Value| {
        let name = if manager.name.is_empty() { "unknown" } else { manager.name };
        entry.str_at(&["operation"]) == Some(Operation::Update.as_str())
            && entry.str_at(&["manager"]).unwrap_or_default() == name
            && entry.str_at(&["subresource"]).unwrap_or_default() == manager.subresource
    };
    let mine = (!gained.is_empty()).then(|| entries.iter().position(is_mine)).flatten();
    let mut places = 0..entries.len();
    entries.retain_mut(|entry| {
        let is_mine = mine == places.next();
        let Some(Value::Object(fields)) = entry.at_mut(&["fieldsV1"]) else { return true };
        let loses = written::reaches(fields, &removed);
        if !is_mine && !loses && !written::reaches(fields, &touched) {
            return true;
        }
        // What a manager owned already and changes again is its own as before.
        if !is_mine || loses || touched != gained || !written::covers(fields, &gained) {
            written::remove(fields, &touched);
            written::remove(fields, &removed);
            if is_mine {
                written::add(fields, &gained);
            }
            if fields.is_empty() {
                return false;
            }
        }
        if is_mine {
            entry.set(&["time"], manager.time);
        }
        true
    });
    if mine.is_none() && !gained.is_empty() {
        let owned = Owned { fields: gained, version: manager.api_version.to_owned(), applied: false };
        entries.push(entry(Identity::of(Operation::Update, manager), Some(manager.time), owned));
    }
    entries.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(entries)
}

/// What entries of one version are sorted by.
fn order(entry: &Value) -> (&str, i64, &str, &str) {
    let text = |field: &str| entry.str_at(&[field]).unwrap_or_default();
    let time = Timestamp::parse(text("time")).map_or(0, Timestamp::unix_seconds);
    (text("operation"), time, text("manager"), text("subresource"))
}

/// What a write changes, if that can be settled on these entries as they stand.
fn changes(
    entries: &[Value],
    old: &Value,
    new: &Value,
    kind: &Kind<'_>,
    manager: &Manager<'_>,
) -> Option<Comparison> {
    let is_of_this_version = |document| object::api_version(document) == manager.api_version;
    // There may be one entry more afterwards.
    let may_be_too_many = entries.len() >= kind.max_updaters;
    if may_be_too_many
        || !is_of_this_version(old)
        || !is_of_this_version(new)
        || !are_standing(entries, kind, manager)
    {
        return None;
    }
    if !is_built_in(new) {
        kind.types(manager).check(&Typed { value: Cow::Borrowed(new), ty: kind.node() }).ok()?;
    }
    let changes = typed::compare(kind.node(), old, new).ok()?;
    Some(changes.filtered(kind.of(manager.api_version)))
}

/// Whether reading and writing these entries would give them as they are.
fn are_standing(entries: &[Value], kind: &Kind<'_>, manager: &Manager<'_>) -> bool {
    entries.iter().enumerate().all(|(place, entry)| {
        let fields = entry.get("fieldsV1").and_then(Value::as_object).filter(|fields| !fields.is_empty());
        let is_as_written = |(name, value): (&str, &Value)| match (name, value) {
            ("apiVersion", Value::String(version)) => version == manager.api_version,
            ("fieldsType", Value::String(kind)) => kind == "FieldsV1",
            ("fieldsV1", _) => true,
            ("manager" | "subresource", Value::String(text)) => !text.is_empty(),
            ("operation", Value::String(operation)) => matches!(operation.as_str(), "Apply" | "Update"),
            ("time", Value::String(time)) => {
                Timestamp::parse(time).is_ok_and(|parsed| parsed.to_string() == *time)
            }
            _ => false,
        };
        let has = |name: &str| entry.get(name).is_some();
        entry.as_object().is_some_and(|entry| entry.iter().all(is_as_written))
            && ["apiVersion", "fieldsType", "operation"].into_iter().all(has)
            && fields.is_some_and(|fields| typed::stands(kind.node(), fields))
            && entries.iter().take(place).all(|earlier| !is_of_the_same(earlier, entry))
    })
}

/// Whether two entries are of one manager in one place.
fn is_of_the_same(a: &Value, b: &Value) -> bool {
    ["manager", "operation", "subresource"].iter().all(|field| a.str_at(&[field]) == b.str_at(&[field]))
}
