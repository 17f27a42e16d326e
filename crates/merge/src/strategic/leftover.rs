//! What upstream's merge leaves of a strategic merge patch: it works on the patch itself, takes directives and nulls out of
//! it, and shows what is left when the outcome is refused.

use super::list::{self, Id, id};
use super::types::{Field, Typed};
use super::{DELETE_FROM_LIST, DIRECTIVE, ELEMENT_ORDER, RETAIN_KEYS, discard_nulls, merge_map};
use crate::PatchError;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};
use std::collections::HashMap;

/// Leaves of `patch` what is left of it once it has been merged into `original`.
pub(super) fn of_map(original: &Map, patch: &mut Map, ty: Typed<'_>) -> Result<(), PatchError> {
    deeper(|| of_fields(original, patch, ty))
}

fn of_fields(original: &Map, patch: &mut Map, ty: Typed<'_>) -> Result<(), PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        if directive.as_str() == Some("replace") {
            patch.remove(DIRECTIVE);
        }
        return Ok(());
    }
    let retained = patch.remove(RETAIN_KEYS);
    let retained = retained.as_ref().and_then(Value::as_array);
    let stays = |key: &str| retained.is_none_or(|keys| keys.iter().any(|kept| kept.as_str() == Some(key)));
    let ordered = |key: &str| Some(key.strip_prefix(ELEMENT_ORDER)?.strip_prefix('/')?.to_owned());
    for name in patch.keys().filter_map(ordered).collect::<Vec<String>>() {
        patch.remove(&format!("{ELEMENT_ORDER}/{name}"));
        patch.remove(&name);
    }
    for (key, change) in patch.iter_mut() {
        let deletes = key.strip_prefix(DELETE_FROM_LIST).and_then(|rest| rest.strip_prefix('/'));
        let name = deletes.unwrap_or(key);
        match (original.get(name).filter(|_| stays(name)), &mut *change) {
            (_, Value::Null) => {}
            (Some(Value::Object(current)), Value::Object(change)) => {
                let field = ty.field(name)?;
                if !field.replaces() {
                    of_map(current, change, field.ty)?;
                }
            }
            (Some(Value::Array(current)), Value::Array(change)) => {
                let field = ty.list_field(name)?;
                if field.merges() && list::of_maps(current, change)? == Some(true) {
                    of_items(current, change, field)?;
                }
            }
            _ if deletes.is_some() => {}
            (_, change) => {
                discard_nulls(change);
                without_directives(change);
            }
        }
    }
    Ok(())
}

/// The items of a list that is merged by its key. What is new in the list is the very item of the patch, which another item
/// of the same name is merged into.
fn of_items(original: &[Value], patch: &mut [Value], field: Field<'_>) -> Result<(), PatchError> {
    let Some(key) = field.merge_key else { return Ok(()) };
    let [kept, ..] = list::obey_directives(original.to_vec(), patch.to_vec(), key)?;
    let mut known: HashMap<Id, (Option<usize>, Value)> = HashMap::new();
    for item in kept {
        if let Some(name) = item.get(key).map(id) {
            known.entry(name).or_insert((None, item));
        }
    }
    for at in 0..patch.len() {
        let Some(Value::Object(change)) = patch.get_mut(at) else { continue };
        let Some(name) = change.get(key).map(id).filter(|_| !change.contains_key(DIRECTIVE)) else {
            continue;
        };
        match known.get_mut(&name) {
            Some((of_patch, Value::Object(current))) => {
                let merged = merge_map(current.clone(), change.clone(), field.ty)?;
                of_map(current, change, field.ty)?;
                *current = merged;
                if let Some(earlier) = of_patch.and_then(|place| patch.get_mut(place)) {
                    *earlier = Value::Object(current.clone());
                }
            }
            _ => {
                known.insert(name, (Some(at), Value::Object(change.clone())));
            }
        }
    }
    Ok(())
}

/// Takes out what is a directive, of objects and of the lists in them. A value that is one itself is dropped by whoever holds
/// it, and a list of the patch itself keeps its items.
fn without_directives(value: &mut Value) {
    match value {
        Value::Object(map) if !map.contains_key(DIRECTIVE) => deeper(|| {
            map.retain(|_, member| {
                without_directives(member);
                if let Value::Array(items) = member {
                    items.retain(|item| !is_directive(item));
                }
                !is_directive(member)
            });
        }),
        Value::Array(items) => deeper(|| items.iter_mut().for_each(without_directives)),
        _ => {}
    }
}

fn is_directive(value: &Value) -> bool {
    value.get(DIRECTIVE).is_some()
}
