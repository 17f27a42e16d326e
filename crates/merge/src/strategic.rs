//! Strategic merge patch: a merge patch that knows, from the schema, which lists are merged item by item.
//!
//! Behaviour and texts are those of apimachinery's `strategicpatch` when it applies a patch to a live object: lists with
//! the patch strategy `merge` are merged by their merge key, all others are replaced; the directives `$patch`,
//! `$retainKeys`, `$setElementOrder/LIST` and `$deleteFromPrimitiveList/LIST` are obeyed and never stored.

mod list;

use crate::PatchError;
use pilothouse_schema::Schema;
use pilothouse_value::{Map, Value};
use std::collections::HashSet;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// Applies `patch` to a copy of `doc`, whose type `schema` describes. Fields that the schema does not know are merged
/// as a merge patch would.
pub fn apply(doc: &Value, patch: &Value, schema: &Schema) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            crate::json_patch::json_type(patch)
        )));
    };
    let original = doc.as_object().cloned().unwrap_or_default();
    merge_map(original, patch.clone(), Some(schema)).map(Value::Object)
}

/// How the schema wants a field to be patched.
#[derive(Clone, Copy, Default)]
struct Strategy<'s> {
    schema: Option<&'s Schema>,
    merge: bool,
    replace: bool,
    merge_key: Option<&'s str>,
}

impl<'s> Strategy<'s> {
    fn of(parent: Option<&'s Schema>, field: &str) -> Strategy<'s> {
        let Some(schema) = parent.and_then(|parent| parent.child(field)) else {
            return Strategy::default();
        };
        let mut strategy = Strategy { schema: Some(schema), ..Strategy::default() };
        for name in schema.patch_strategies() {
            match *name {
                "merge" => strategy.merge = true,
                "replace" => strategy.replace = true,
                _ => {}
            }
        }
        strategy.merge_key = schema.patch_merge_key();
        strategy
    }
}

fn merge_map(mut original: Map, mut patch: Map, schema: Option<&Schema>) -> Result<Map, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::default()),
            _ => {
                let text =
                    format!("unknown patch type: {} in map: {}", go(&directive), go(&Value::Object(patch)));
                Err(PatchError::Unsupported(text))
            }
        };
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, schema)?;
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
                let strategy = Strategy::of(schema, &key);
                Some(Value::Object(if strategy.replace {
                    change
                } else {
                    merge_map(current, change, strategy.schema)?
                }))
            }
            (Some(Value::Array(current)), Value::Array(change)) => {
                let strategy = Strategy::of(schema, &key);
                Some(Value::Array(list::merge(current, change, strategy, deletes)?))
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
fn merge_ordered_lists(
    original: &mut Map,
    patch: &mut Map,
    schema: Option<&Schema>,
) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(ELEMENT_ORDER)).map(|key| key.to_string()).collect();
    for directive in directives {
        let order = patch.remove(directive.as_str());
        let Some(Value::Array(order)) = order else {
            return Err(list::wrong_type("[]interface {}", order.as_ref()));
        };
        let rest = directive.strip_prefix(ELEMENT_ORDER).unwrap_or_default();
        let name = list_name(rest, "invalid patch format of setElementOrder list")?;
        let strategy = Strategy::of(schema, name);
        let current = list_or_none(original.remove(name))?;
        let change = list_or_none(patch.remove(name))?;
        list::check_order(change.as_deref().unwrap_or_default(), &order, strategy.merge_key)?;
        let before = current.clone().unwrap_or_default();
        let merged = match (current, change) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(change)) => match without_directives(Value::Array(change)) {
                Some(Value::Array(added)) => added,
                _ => continue,
            },
            (Some(current), Some(change)) => list::merge(current, change, strategy, false)?,
        };
        let merged = list::arrange(merged, &order, &before, strategy.merge_key)?;
        original.insert(name.to_owned(), Value::Array(merged));
    }
    Ok(())
}

fn list_or_none(value: Option<Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        other => Err(list::wrong_type("[]interface {}", other.as_ref())),
    }
}

/// What is stored of a value that the patch adds: the value without what was meant for the merge only.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.get(DIRECTIVE).is_some() => None,
        Value::Object(map) => Some(Value::Object(
            map.into_iter()
                .filter_map(|(key, value)| without_directives(value).map(|value| (key, value)))
                .collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|_, value| {
            discard_nulls(value);
            *value != Value::Null
        }),
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// A value as Go's `%v` prints it, which is what the error texts of strategic merge patches show.
pub fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        scalar => scalar.to_json(),
    }
}
