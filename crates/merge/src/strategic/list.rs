//! Lists in a strategic merge patch: merging by key, deleting, and the order of the result.

use super::go::type_name;
use super::types::Field;
use super::{DIRECTIVE, merge_map, unknown_directive};
use crate::PatchError;
use pilothouse_value::{Map, Value, go_print};
use std::collections::{HashMap, HashSet};

/// Merges `patch` into `original`, or takes it instead, as the field says. With `deletes`, `patch` names the scalars to
/// remove. `seen` is what upstream sees afterwards where the original was: it merges in place.
pub(super) fn merge(
    original: Vec<Value>,
    patch: Vec<Value>,
    field: Field<'_>,
    deletes: bool,
    seen: Option<&mut Vec<Value>>,
) -> Result<Vec<Value>, PatchError> {
    if !field.merges() && !deletes {
        return Ok(patch);
    }
    let Some(maps) = of_maps(&original, &patch)? else { return Ok(original) };
    if !maps {
        if deletes {
            let gone: HashSet<Id> = patch.iter().map(id).collect();
            return Ok(original.into_iter().filter(|item| !gone.contains(&id(item))).collect());
        }
        let mut seen = HashSet::new();
        let all = original.iter().chain(&patch);
        let merged = all.filter(|item| seen.insert(id(item))).cloned().collect();
        return arrange(merged, &patch, &original, field.merge_key);
    }
    let Some(key) = field.merge_key else {
        let text = format!("cannot merge lists without merge key for {}", field.ty.kind());
        return Err(PatchError::Unsupported(text));
    };
    let count = original.len();
    let [original, patch, stale] = obey_directives(original, patch, key)?;
    let before = original.clone();
    let merged = merge_items(original, &patch, key, field)?;
    if let Some(seen) = seen.filter(|_| !stale.is_empty()) {
        // What is new stands in the places that became free, as long as there are any.
        let stale = stale.into_iter().skip(merged.len().saturating_sub(before.len()));
        *seen = merged.iter().take(count).cloned().chain(stale).take(count).collect();
    }
    arrange(merged, &patch, &before, Some(key))
}

/// Whether the items are objects; `None` if there are no items. All of them must be of one kind, and none may be a list.
pub(super) fn of_maps(original: &[Value], patch: &[Value]) -> Result<Option<bool>, PatchError> {
    let mut items = original.iter().chain(patch);
    let Some(first) = items.next() else { return Ok(None) };
    match first {
        Value::Array(_) => return Err(PatchError::Inapplicable("lists of lists are not supported".into())),
        // Upstream asks nothing for its kind.
        Value::Null => return Err(panics()),
        _ => {}
    }
    if items.any(|item| type_name(item) != type_name(first)) {
        let lists = [original, patch].map(|list| Value::Array(list.to_vec().into()));
        return Err(PatchError::Unsupported(format!(
            "list element types are not identical: {}",
            go_print::plain(&Value::from(lists.to_vec()))
        )));
    }
    Ok(Some(matches!(first, Value::Object(_))))
}

/// What upstream panics about. Its clients see the connection end.
fn panics() -> PatchError {
    let text = "This request caused apiserver to panic. Look in the logs for details.";
    PatchError::Unsupported(text.into())
}

/// Carries out the items that are directives. What is left of the patch is to be merged. The third list is what upstream
/// leaves behind the items that it keeps: each item that goes makes room at the end, where the last one stays.
pub(super) fn obey_directives(
    original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<[Vec<Value>; 3], PatchError> {
    let mut rest = Vec::with_capacity(patch.len());
    let mut gone = Vec::new();
    let mut replaces = false;
    for item in patch {
        let Value::Object(map) = &item else { continue };
        let Some(directive) = map.get(DIRECTIVE) else {
            rest.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let name = map.get(key).ok_or_else(|| no_merge_key(&item, key))?;
                gone.push(id(name));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                let text = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Unsupported(text.into()));
            }
            _ => return Err(unknown_directive(directive, map)),
        }
    }
    if replaces {
        return Ok([rest, Vec::new(), Vec::new()]);
    }
    let (kept, stale) = if gone.is_empty() { (original, Vec::new()) } else { delete(original, &gone, key) };
    Ok([kept, rest, stale])
}

/// Deletes the items with these names, one name after the other.
fn delete(original: Vec<Value>, gone: &[Id], key: &str) -> (Vec<Value>, Vec<Value>) {
    let mut places: HashMap<Id, Vec<usize>> = HashMap::new();
    for (place, item) in original.iter().enumerate() {
        if let Some(name) = item.get(key) {
            places.entry(id(name)).or_default().push(place);
        }
    }
    let mut items: Vec<(bool, Value)> = original.into_iter().map(|item| (true, item)).collect();
    let (mut last, mut stale) = (items.len(), Vec::new());
    for place in gone.iter().filter_map(|name| places.remove(name)).flatten() {
        while items.get(..last).and_then(<[_]>::last).is_some_and(|(alive, _)| !alive) {
            last -= 1;
        }
        stale.extend(items.get(..last).and_then(<[_]>::last).map(|(_, item)| item.clone()));
        if let Some((alive, _)) = items.get_mut(place) {
            *alive = false;
        }
    }
    // The first one that went left the last place.
    stale.reverse();
    (items.into_iter().filter(|(alive, _)| *alive).map(|(_, item)| item).collect(), stale)
}

fn merge_items(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
    field: Field<'_>,
) -> Result<Vec<Value>, PatchError> {
    // Of several items with one name the first is meant.
    let mut places = HashMap::new();
    for (place, item) in original.iter().enumerate() {
        if let Some(name) = item.get(key) {
            places.entry(id(name)).or_insert(place);
        }
    }
    for item in patch {
        let name = item.get(key).ok_or_else(|| no_merge_key(item, key))?;
        if matches!(name, Value::Array(_) | Value::Object(_)) {
            // Go does not compare these.
            return Err(panics());
        }
        let place = *places.entry(id(name)).or_insert(original.len());
        match (original.get_mut(place), item) {
            (Some(Value::Object(current)), Value::Object(change)) => {
                *current = merge_map(std::mem::take(current), change.clone(), field.ty)?;
                // The patch of an item may take away, or change, what it is found by.
                if current.get(key).map(id) != Some(id(name)) {
                    // A place is known by one name only.
                    places.remove(&id(name));
                    if let Some(name) = current.get(key) {
                        places.entry(id(name)).or_insert(place);
                    }
                }
            }
            // What is new is taken as it is.
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
    if let (Some(_), Some(odd)) = (key, patch.iter().find(|item| item.as_object().is_none())) {
        return Err(wrong_type("map[string]interface {}", Some(odd)));
    }
    let deletes = |item: &&Value| key.is_none() || item.str_at(&[DIRECTIVE]) != Some("delete");
    let mut items = patch.iter().filter(deletes).peekable();
    let mut places = order.iter().peekable();
    while let (Some(item), Some(place)) = (items.peek(), places.peek()) {
        if item.get(DIRECTIVE).is_some() {
            items.next();
            continue;
        }
        if id(identity(item, key)?) == id(identity(place, key)?) {
            items.next();
        }
        places.next();
    }
    // A directive at the end counts as an item, as upstream has it.
    if items.peek().is_some() {
        return Err(PatchError::Unsupported(format!(
            "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
            go_print::plain(&Value::Array(patch.to_vec().into())),
            go_print::plain(&Value::Array(order.to_vec().into()))
        )));
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
    let ranks = |list: &[Value]| -> Result<HashMap<Id, usize>, PatchError> {
        let mut ranks = HashMap::with_capacity(list.len());
        for (place, item) in list.iter().enumerate() {
            ranks.entry(id(identity(item, key)?)).or_insert(place);
        }
        Ok(ranks)
    };
    // Upstream looks at what was merged first.
    for item in &merged {
        identity(item, key)?;
    }
    if let (Some(_), Some(place)) = (key, order.iter().position(|item| item.as_object().is_none())) {
        return Err(PatchError::Unsupported(format!("value for key {place} is not a map")));
    }
    let (order, before) = (ranks(order)?, ranks(before)?);
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let id = id(identity(&item, key)?);
        let was = before.get(&id).copied();
        match order.get(&id) {
            Some(place) => named.push((*place, was, item)),
            None => others.push((was, item)),
        }
    }
    named.sort_by_key(|(place, ..)| *place);
    sort_others(&mut others);
    if key.is_some() {
        // Deletions that came as they are, inside of what is new, go last.
        let deletes = |item: &Value| item.str_at(&[DIRECTIVE]) == Some("delete");
        named.sort_by_key(|(.., item)| deletes(item));
        others.sort_by_key(|(_, item)| deletes(item));
    }
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

/// Sorts items by where they were. Upstream sorts with an order that says of an item which was nowhere that it comes first,
/// whatever it is compared with; in short lists, which it sorts by insertion, that can be told.
fn sort_others(others: &mut [(Option<usize>, Value)]) {
    const SHORT: usize = 20;
    if others.len() > SHORT || others.iter().all(|(was, _)| was.is_some()) {
        others.sort_by_key(|(was, _)| *was);
        return;
    }
    for end in 1..others.len() {
        for at in (1..=end).rev() {
            let is_less = match (others.get(at), others.get(at - 1)) {
                (Some((Some(was), _)), Some((Some(before), _))) => was < before,
                _ => true,
            };
            if !is_less {
                break;
            }
            others.swap(at, at - 1);
        }
    }
}

/// What is the same for values that are the same to Go: a whole number is not a floating one.
pub(super) type Id = (&'static str, String);

pub(super) fn id(value: &Value) -> Id {
    (type_name(value), value.to_json())
}

/// What identifies an item in its list: the value of its merge key, or itself.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else { return Ok(item) };
    let Value::Object(map) = item else {
        return Err(wrong_type("map[string]interface {}", Some(item)));
    };
    let missing = |map: &Map| no_merge_key(&Value::Object(map.clone()), key);
    map.get(key).ok_or_else(|| missing(map))
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    PatchError::Unsupported(format!(
        "map: {} does not contain declared merge key: {key}",
        go_print::plain(item)
    ))
}

pub(super) fn wrong_type(expected: &str, found: Option<&Value>) -> PatchError {
    let found = found.map_or("%!s(<nil>)", type_name);
    PatchError::Unsupported(format!("expected a {expected}, but received a {found}"))
}
