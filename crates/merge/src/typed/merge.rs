//! Laying an applied document over the live one.

use super::{Node, Shape, is_empty};
use pilothouse_schema::Schema;
use pilothouse_value::Value;
use std::collections::{HashMap, HashSet};

/// The live document with everything that `applied` says. Lists whose items can be told apart keep the items that
/// `applied` does not mention.
pub(crate) fn merge(schema: Node<'_>, live: Value, applied: &Value) -> Value {
    let shape = schema.shape(applied);
    if shape == Shape::Whole || shape != schema.shape(&live) || (is_empty(&live) && is_empty(applied)) {
        return applied.clone();
    }
    match (live, applied) {
        (live, Value::Null) => live,
        (Value::Object(mut merged), Value::Object(applied)) => {
            for (key, change) in applied.iter() {
                match merged.get_mut(key) {
                    Some(current) => {
                        let node = schema.child(key).unwrap_or_else(|| Node::inner(Schema::any()));
                        *current = merge(node, std::mem::take(current), change);
                    }
                    None => {
                        merged.insert(key, change.clone());
                    }
                }
            }
            Value::Object(merged)
        }
        (Value::Array(live), Value::Array(applied)) => Value::Array(merge_items(schema, live, applied)),
        (_, applied) => applied.clone(),
    }
}

/// Merges lists of items that are told apart by their path elements. The applied items stand in the order in which they
/// were applied; items that are only in the live list stay as far ahead as the items that both have allow.
fn merge_items(schema: Node<'_>, live: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let element = |item: &Value| schema.element(item).unwrap_or_default();
    let wanted: Vec<String> = applied.iter().map(element).collect();
    let mut live: Vec<(String, Option<Value>)> =
        live.into_iter().map(|item| (element(&item), Some(item))).collect();
    let places = find_places(&live, &wanted);
    let mut shared = wanted.iter().filter(|element| places.contains_key(*element)).cloned().peekable();
    let mut done: HashSet<&str> = HashSet::new();

    let mut merged = Vec::with_capacity(live.len() + applied.len());
    let mut next = wanted.iter().zip(applied).peekable();
    let mut at = 0;
    while at < live.len() || next.peek().is_some() {
        if let Some((element, slot)) = live.get_mut(at) {
            let is_shared = places.contains_key(element);
            if !is_shared {
                merged.extend(slot.take());
                at += 1;
                continue;
            }
            let is_next = next.peek().is_some_and(|(wanted, _)| *wanted == element);
            if !is_next && next.peek().is_some() && shared.peek().is_some_and(|shared| shared != element) {
                // The applied list has it elsewhere.
                at += 1;
                continue;
            }
            if is_next || done.contains(element.as_str()) {
                at += 1;
            }
        }
        let Some((wanted, item)) = next.next() else { continue };
        let current = places.get(wanted).copied().flatten();
        let current = current.and_then(|place| live.get_mut(place)).and_then(|(_, slot)| slot.take());
        merged.push(match current {
            Some(current) => merge(schema.items(), current, item),
            None => item.clone(),
        });
        done.insert(wanted);
        shared.next_if_eq(wanted);
    }
    merged
}

/// Where each wanted item stands in the live list. It has no place if there are several with the same key: they are not
/// merged but replaced.
fn find_places(live: &[(String, Option<Value>)], wanted: &[String]) -> HashMap<String, Option<usize>> {
    let wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let mut places: HashMap<String, Option<usize>> = HashMap::new();
    for (place, (element, _)) in live.iter().enumerate() {
        if wanted.contains(element.as_str()) {
            places.entry(element.clone()).and_modify(|place| *place = None).or_insert(Some(place));
        }
    }
    places
}
