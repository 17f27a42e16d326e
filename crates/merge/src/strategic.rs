//! Strategic merge patch: a merge patch that knows, from the schema, which lists are merged item by item.
//!
//! Behaviour and texts are those of apimachinery's `strategicpatch` when it applies a patch to a live object: lists with
//! the patch strategy `merge` are merged by their merge key, all others are replaced; the directives `$patch`,
//! `$retainKeys`, `$setElementOrder/LIST` and `$deleteFromPrimitiveList/LIST` are obeyed and never stored. Where a patch
//! goes into something that is no struct in Go, such as a map of structs, upstream fails, and so does this.

mod go;
mod leftover;
mod list;
mod types;

use crate::PatchError;
use pilothouse_schema::Schema;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value, go_print, object};
use std::collections::HashSet;
use types::Typed;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies `patch` to a copy of `doc`, whose type `schema` describes.
///
/// # Errors
/// What the patch breaks.
pub fn apply(doc: &Value, patch: &Value, schema: &Schema) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            crate::json_patch::json_type(patch)
        )));
    };
    let original = doc.as_object().cloned().unwrap_or_default();
    merge_map(original, patch.clone(), Typed::root(schema, object::kind(doc))).map(Value::Object)
}

/// What is left of `patch` once it has been merged into `doc`: what a refusal of the outcome shows.
#[must_use]
pub fn leftover(doc: &Value, patch: &Value, schema: &Schema) -> Value {
    let mut left = patch.clone();
    if let (Value::Object(doc_fields), Value::Object(patch)) = (doc, &mut left) {
        // What cannot be merged has been refused before.
        let _ = leftover::of_map(doc_fields, patch, Typed::root(schema, object::kind(doc)));
    }
    left
}

fn merge_map(original: Map, patch: Map, ty: Typed<'_>) -> Result<Map, PatchError> {
    deeper(|| merge_fields(original, patch, ty))
}

fn merge_fields(mut original: Map, mut patch: Map, ty: Typed<'_>) -> Result<Map, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Map::default()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, ty)?;
    for (key, change) in patch {
        let (key, deletes) = match key.strip_prefix(DELETE_FROM_LIST) {
            Some(rest) => (list_name(rest, "invalid patch format of primitive list")?.to_owned(), true),
            None => (key.to_string(), false),
        };
        if change == Value::Null {
            original.remove(key.as_str());
            continue;
        }
        let merged = match (original.remove(key.as_str()), change) {
            (Some(Value::Object(current)), Value::Object(change)) => {
                let field = ty.field(&key)?;
                let merged = if field.replaces() { change } else { merge_map(current, change, field.ty)? };
                Some(Value::Object(merged))
            }
            (Some(Value::Array(current)), Value::Array(change)) => {
                let field = ty.list_field(&key)?;
                Some(Value::Array(
                    list::merge(current.into_vec(), change.into_vec(), field, deletes, None)?.into(),
                ))
            }
            (current, _) if deletes => current,
            (_, mut change) => {
                discard_nulls(&mut change);
                without_directives(change)
            }
        };
        if let Some(merged) = merged {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

fn unknown_directive(directive: &Value, patch: &Map) -> PatchError {
    PatchError::Unsupported(format!(
        "unknown patch type: {} in map: {}",
        go::string(directive),
        go_print::plain(&Value::Object(patch.clone()))
    ))
}

/// The name of the list in `$directive/NAME`, of which `rest` is what follows the directive.
fn list_name<'a>(rest: &'a str, otherwise: &str) -> Result<&'a str, PatchError> {
    rest.strip_prefix('/').ok_or_else(|| PatchError::Malformed(otherwise.into()))
}

fn retain_keys(original: &mut Map, patch: &mut Map) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".into());
    let retained = retained.as_array().ok_or_else(malformed)?;
    let retained: HashSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let is_retained = |key: &str| retained.contains(key);
    for (key, change) in patch.iter() {
        let is_directive = key.starts_with(DELETE_FROM_LIST) || key.starts_with(ELEMENT_ORDER);
        if *change != Value::Null && !is_directive && !is_retained(key) {
            return Err(malformed());
        }
    }
    original.retain(|key, _| is_retained(key));
    Ok(())
}

/// Merges the lists for which the patch says in which order their items shall stand, and takes them from the patch.
fn merge_ordered_lists(original: &mut Map, patch: &mut Map, ty: Typed<'_>) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(ELEMENT_ORDER)).map(|key| key.to_string()).collect();
    for directive in directives {
        let order = match patch.remove(directive.as_str()) {
            Some(Value::Array(order)) => order,
            other => return Err(list::wrong_type("[]interface {}", other.as_ref())),
        };
        let rest = directive.strip_prefix(ELEMENT_ORDER).unwrap_or_default();
        let name = list_name(rest, "invalid patch format of setElementOrder list")?;
        let current = list_or_none(original.remove(name))?;
        let change = list_or_none(patch.remove(name))?;
        let field = ty.list_field(name)?;
        list::check_order(change.as_deref().unwrap_or_default(), &order, field.merge_key)?;
        let mut before = current.clone().unwrap_or_default();
        list::of_maps(&before, change.as_deref().unwrap_or_default())?;
        let is_nothing = before.is_empty() && change.as_ref().is_none_or(Vec::is_empty);
        let merged = match (current, change) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(change)) => match without_directives(Value::Array(change.into())) {
                Some(Value::Array(added)) => added.into_vec(),
                _ => continue,
            },
            (Some(current), Some(change)) => list::merge(current, change, field, false, Some(&mut before))?,
        };
        if is_nothing {
            return Err(PatchError::Unsupported("no elements in any of the given slices".into()));
        }
        let merged = list::arrange(merged, &order, &before, field.merge_key)?;
        original.insert(name.to_owned(), Value::Array(merged.into()));
    }
    Ok(())
}

fn list_or_none(value: Option<Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items.into_vec())),
        other => Err(list::wrong_type("[]interface {}", other.as_ref())),
    }
}

/// What is stored of a value that the patch adds: the value without what was meant for the merge only.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.get(DIRECTIVE).is_some() => None,
        Value::Object(map) => deeper(|| {
            let fields = map.into_iter();
            let kept = fields.filter_map(|(key, value)| without_directives(value).map(|value| (key, value)));
            Some(Value::Object(kept.collect()))
        }),
        Value::Array(items) => {
            deeper(|| Some(Value::Array(items.into_iter().filter_map(without_directives).collect())))
        }
        scalar => Some(scalar),
    }
}

/// Takes nulls out of objects; in lists they stay.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => deeper(|| {
            map.retain(|_, value| {
                discard_nulls(value);
                *value != Value::Null
            });
        }),
        Value::Array(items) => deeper(|| items.iter_mut().for_each(discard_nulls)),
        _ => {}
    }
}
