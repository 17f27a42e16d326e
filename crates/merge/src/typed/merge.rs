//! Laying an applied document over the live one.

use super::compare::check_scalars;
use super::{Found, List, MapType, Problems, Relationship, Shape, Type, items, member, resolve, shape};
use crate::fieldset::PathElement;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The live document with everything that `applied` says. Lists whose items can be told apart keep the items that
/// `applied` does not mention.
///
/// # Errors
/// What does not fit the type. Documents that were validated have none.
pub fn merge<'s, T: Type<'s>>(ty: T, live: &Value, applied: &Value) -> Result<Value, Problems> {
    let mut found = Found::default();
    let merged = walk(Some(ty), Some(live), Some(applied), &mut found);
    found.into_result(merged.unwrap_or_default())
}

fn walk<'s, T: Type<'s>>(
    ty: Option<T>,
    live: Option<&Value>,
    applied: Option<&Value>,
    found: &mut Found,
) -> Option<Value> {
    let (Some(left), Some(right)) = (live, applied) else {
        // What only one side has is as it is.
        return applied.or(live).cloned();
    };
    let atom = resolve(ty, found)?;
    let (was, is) = (atom.deduce(live), atom.deduce(applied));
    if !was.is_like(&is) {
        // The result is that of the applied kind of value, but what is wrong with the other is wrong all the same.
        let shape = shape(ty, was, found);
        handle(ty, shape, left, right, found);
    }
    let shape = shape(ty, is, found);
    handle(ty, shape, left, right, found)
}

fn handle<'s, T: Type<'s>>(
    ty: Option<T>,
    shape: Option<Shape<'s, T>>,
    live: &Value,
    applied: &Value,
    found: &mut Found,
) -> Option<Value> {
    match shape? {
        Shape::Scalar(scalar) => {
            check_scalars(scalar, Some(live), Some(applied), found).then(|| applied.clone())
        }
        Shape::Map(map) => {
            let (left, right) = (live.as_object(), applied.as_object());
            if map.atomic || (left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty)) {
                return Some(applied.clone());
            }
            Some(Value::Object(fields(ty, &map, left, right, found))).filter(|merged| !is_empty(merged))
        }
        Shape::List(list) => {
            let (left, right) = (items(Some(live)), items(Some(applied)));
            if list.relationship == Relationship::Atomic || (left.is_empty() && right.is_empty()) {
                return Some(applied.clone());
            }
            Some(Value::Array(list_items(&list, left, right, found).into()))
                .filter(|merged| !is_empty(merged))
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn fields<'s, T: Type<'s>>(
    ty: Option<T>,
    map: &MapType<T>,
    live: Option<&Map>,
    applied: Option<&Map>,
    found: &mut Found,
) -> Map {
    let mut merged = Map::new();
    let mut add = |key: &str, left: Option<&Value>, right: Option<&Value>| {
        let value = found.under(|| format!(".{key}"), |found| walk(member(ty, map, key), left, right, found));
        if let Some(value) = value {
            merged.insert(key, value);
        }
    };
    for (key, left) in live.into_iter().flat_map(Map::iter) {
        add(key, Some(left), applied.and_then(|map| map.get(key)));
    }
    for (key, right) in applied.into_iter().flat_map(Map::iter) {
        if live.is_none_or(|map| !map.contains_key(key)) {
            add(key, None, Some(right));
        }
    }
    merged
}

/// The items of a list by what tells them apart. Of items that cannot be told apart there is `None`.
struct Index<'v> {
    elements: Vec<PathElement>,
    values: BTreeMap<PathElement, Option<&'v Value>>,
}

impl<'v> Index<'v> {
    fn of<'s, T: Type<'s>>(list: &List<'s, T>, items: &'v [Value], is_live: bool, found: &mut Found) -> Self {
        let mut index = Index { elements: Vec::with_capacity(items.len()), values: BTreeMap::new() };
        for (place, item) in items.iter().enumerate() {
            let element = match list.element(item) {
                Ok(element) => element,
                Err(why) => {
                    found.add(format!("element {place}: {why}"));
                    continue;
                }
            };
            if let Some(known) = index.values.get_mut(&element) {
                if !is_live {
                    found.add(format!("duplicate entries for key {element}"));
                    continue;
                }
                *known = None;
            } else {
                index.values.insert(element.clone(), Some(item));
            }
            index.elements.push(element);
        }
        index
    }

    fn has(&self, element: &PathElement) -> bool {
        self.values.contains_key(element)
    }

    /// The item that is to be merged: nothing, so to say, of those that cannot be told apart.
    fn get(&self, element: &PathElement) -> Option<&'v Value> {
        self.values.get(element).map(|item| item.unwrap_or(&Value::Null))
    }
}

/// Merges lists of items that are told apart. The applied items stand in the order in which they were applied; items
/// that are only in the live list stay as far ahead as the items that both have allow.
fn list_items<'s, T: Type<'s>>(
    list: &List<'s, T>,
    live: &[Value],
    applied: &[Value],
    found: &mut Found,
) -> Vec<Value> {
    let before = found.problems.len();
    let right = Index::of(list, applied, false, found);
    let left = Index::of(list, live, true, found);
    let mut merged = Vec::with_capacity(live.len().max(applied.len()));
    if found.problems.len() > before {
        return merged;
    }
    let mut shared = right.elements.iter().filter(|element| left.has(element)).peekable();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    // What is wrong inside an item does not count here.
    let item = |live, applied| deeper(|| walk(list.items, live, applied, &mut Found::default()));
    let (mut l, mut r) = (0, 0);
    loop {
        let (ours, theirs) = (left.elements.get(l), right.elements.get(r));
        match (ours, theirs) {
            (None, None) => return merged,
            (Some(ours), Some(theirs)) if ours == theirs => {
                done.insert(theirs);
                merged.extend(item(left.get(ours), right.get(ours)));
                (l, r) = (l + 1, r + 1);
                shared.next();
                continue;
            }
            // The applied list has it elsewhere, and not next.
            (Some(ours), Some(_)) if right.has(ours) && shared.peek().is_some_and(|next| *next != ours) => {
                l += 1;
                continue;
            }
            _ => {}
        }
        if let Some(ours) = ours {
            if !right.has(ours) {
                merged.extend(item(live.get(l), None));
                l += 1;
                continue;
            }
            if done.contains(ours) {
                l += 1;
            }
        }
        if let Some(theirs) = theirs {
            done.insert(theirs);
            merged.extend(item(left.get(theirs), right.get(theirs)));
            r += 1;
            shared.next_if(|next| *next == theirs);
        }
    }
}
