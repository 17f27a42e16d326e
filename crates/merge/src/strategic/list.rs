//! Lists in a strategic merge patch: merging by key, deleting, and the order of the result.

use super::{DIRECTIVE, Strategy, go, merge_map};
use crate::PatchError;
use pilothouse_value::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Merges `patch` into `original`, or takes it instead, as the strategy says. With `deletes`, `patch` names the scalars
/// to remove.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    strategy: Strategy<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if !strategy.merge && !deletes {
        return Ok(patch);
    }
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !of_maps(&original, &patch)? {
        return Ok(if deletes {
            let gone: HashSet<String> = patch.iter().map(Value::to_json).collect();
            original.into_iter().filter(|item| !gone.contains(&item.to_json())).collect()
        } else {
            let mut seen = HashSet::new();
            let all = original.iter().chain(&patch);
            let merged = all.filter(|item| seen.insert(item.to_json())).cloned().collect();
            arrange(merged, &patch, &original, None)?
        });
    }
    let Some(key) = strategy.merge_key else {
        return Err(PatchError::Unsupported("cannot merge lists without merge key".into()));
    };
    let (original, patch) = obey_directives(original, patch, key)?;
    let before = original.clone();
    let merged = merge_items(original, &patch, key, strategy)?;
    arrange(merged, &patch, &before, Some(key))
}

/// Whether the items are objects. All of them must be of one kind, and none may be a list.
fn of_maps(original: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut maps = 0;
    for item in original.iter().chain(patch) {
        match item {
            Value::Array(_) => {
                return Err(PatchError::Inapplicable("lists of lists are not supported".into()));
            }
            Value::Object(_) => maps += 1,
            _ => {}
        }
    }
    if maps != 0 && maps != original.len() + patch.len() {
        let lists = [original, patch].map(|list| Value::Array(list.to_vec()));
        return Err(PatchError::Unsupported(format!(
            "list element types are not identical: {}",
            go(&Value::Array(lists.into()))
        )));
    }
    Ok(maps != 0)
}

/// Carries out the items that are directives. What is left of the patch is to be merged.
fn obey_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut gone = HashSet::new();
    let mut replaces = false;
    for item in patch {
        let Some(directive) = item.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let name = item.get(key).ok_or_else(|| no_merge_key(&item, key))?;
                gone.insert(name.to_json());
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Unsupported(text.into()));
            }
            _ => {
                let text = format!("unknown patch type: {} in map: {}", go(directive), go(&item));
                return Err(PatchError::Unsupported(text));
            }
        }
    }
    if replaces {
        return Ok((rest, Vec::new()));
    }
    if !gone.is_empty() {
        original.retain(|item| item.get(key).is_none_or(|name| !gone.contains(&name.to_json())));
    }
    Ok((original, rest))
}

fn merge_items(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
    strategy: Strategy<'_>,
) -> Result<Vec<Value>, PatchError> {
    let item_schema = strategy.schema.and_then(|schema| schema.items());
    // Of several items with one name the first is meant.
    let mut places = HashMap::new();
    for (place, item) in original.iter().enumerate() {
        if let Some(name) = item.get(key) {
            places.entry(name.to_json()).or_insert(place);
        }
    }
    for item in patch {
        let name = item.get(key).ok_or_else(|| no_merge_key(item, key))?;
        let place = *places.entry(name.to_json()).or_insert(original.len());
        match (original.get_mut(place), item) {
            (Some(Value::Object(current)), Value::Object(change)) => {
                *current = merge_map(std::mem::take(current), change.clone(), item_schema)?;
            }
            (_, Value::Object(added)) => {
                // Merging into nothing also takes out what was meant for the merge only.
                original.push(Value::Object(merge_map(Map::default(), added.clone(), item_schema)?));
            }
            _ => original.push(item.clone()),
        }
    }
    Ok(original)
}

/// Refuses a patch whose items do not stand in the order that `order` gives, or that has items which `order` lacks.
pub(super) fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let mut places = order.iter();
    for item in patch {
        if key.is_some() && item.get(DIRECTIVE).is_some() {
            continue;
        }
        let id = identity(item, key)?;
        let mut found = false;
        for place in places.by_ref() {
            if identity(place, key)? == id {
                found = true;
                break;
            }
        }
        if !found {
            return Err(PatchError::Unsupported(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                go(&Value::Array(patch.to_vec())),
                go(&Value::Array(order.to_vec()))
            )));
        }
    }
    Ok(())
}

/// Puts the items that `order` names into that order, keeps the others in the order they had in `before`, and
/// interleaves the two as they stood before, where that can be known.
pub(super) fn arrange(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let ranks = |list: &[Value]| -> Result<HashMap<String, usize>, PatchError> {
        let mut ranks = HashMap::with_capacity(list.len());
        for (place, item) in list.iter().enumerate() {
            ranks.entry(identity(item, key)?.to_json()).or_insert(place);
        }
        Ok(ranks)
    };
    let (order, before) = (ranks(order)?, ranks(before)?);
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let id = identity(&item, key)?.to_json();
        let was = before.get(&id).copied();
        match order.get(&id) {
            Some(place) => named.push((*place, was, item)),
            None => others.push((was, item)),
        }
    }
    named.sort_by_key(|(place, ..)| *place);
    others.sort_by_key(|(was, _)| *was);
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, place, item) in named {
        while let Some((_, other)) = others
            .next_if(|(other, _)| matches!((other, place), (Some(other), Some(place)) if *other < place))
        {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others.map(|(_, other)| other));
    Ok(result)
}

/// What identifies an item in its list: the value of its merge key, or itself.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else { return Ok(item) };
    if !matches!(item, Value::Object(_)) {
        return Err(wrong_type("map[string]interface {}", Some(item)));
    }
    item.get(key).ok_or_else(|| no_merge_key(item, key))
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    PatchError::Unsupported(format!("map: {} does not contain declared merge key: {key}", go(item)))
}

pub(super) fn wrong_type(expected: &str, found: Option<&Value>) -> PatchError {
    let found = match found {
        None | Some(Value::Null) => "%!s(<nil>)",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Int(_)) => "int64",
        Some(Value::Float(_)) => "float64",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "[]interface {}",
        Some(Value::Object(_)) => "map[string]interface {}",
    };
    PatchError::Unsupported(format!("expected a {expected}, but received a {found}"))
}
