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

/// Merges lists of items that are told apart by their path elements: the applied items stand in the order in which they
/// were applied, and an item that is only in the live list keeps its place before the item that followed it.
fn merge_items(schema: Node<'_>, live: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let element = |item: &Value| schema.element(item).unwrap_or_default();
    let wanted: Vec<String> = applied.iter().map(element).collect();
    let is_wanted: HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let mut live: Vec<(String, Option<Value>)> =
        live.into_iter().map(|item| (element(&item), Some(item))).collect();

    // Where each wanted item stands in the live list. Live items with the same key are not merged but replaced.
    let mut places: HashMap<String, Option<usize>> = HashMap::new();
    for (place, (element, _)) in live.iter().enumerate() {
        if is_wanted.contains(element.as_str()) {
            places.entry(element.clone()).and_modify(|place| *place = None).or_insert(Some(place));
        }
    }
    let mut shared = wanted.iter().filter(|element| places.contains_key(*element)).peekable();

    let mut merged = Vec::with_capacity(live.len() + applied.len());
    let mut at = 0;
    for (wanted, item) in wanted.iter().zip(applied) {
        // Take the live items up to the shared item that comes next. Shared ones that stand elsewhere are skipped: their
        // turn is where the applied list has them.
        if shared.peek().is_some() {
            while at < live.len() {
                let Some((element, slot)) = live.get_mut(at) else { break };
                if is_wanted.contains(element.as_str()) {
                    if Some(&&*element) == shared.peek().map(|next| &**next).as_ref() {
                        break;
                    }
                } else {
                    merged.extend(slot.take());
                }
                at += 1;
            }
        }
        if shared.peek() == Some(&wanted) {
            shared.next();
        }
        let current = places.get(wanted).copied().flatten();
        let current = current.and_then(|place| live.get_mut(place)).and_then(|(_, slot)| slot.take());
        merged.push(match current {
            Some(current) => merge(schema.items(), current, item),
            None => item.clone(),
        });
        if live.get(at).is_some_and(|(element, _)| element == wanted) {
            at += 1;
        }
    }
    merged.extend(
        live.into_iter()
            .filter(|(element, _)| !is_wanted.contains(element.as_str()))
            .filter_map(|(_, item)| item),
    );
    merged
}
