//! Which part of the old document a part of the new one comes from, and whether it changed.
//! Source: `CorrelatedObject` of apiserver's `pkg/cel/common`.

use std::collections::HashMap;

use pilothouse_value::Value;

use crate::node::{ListType, MapType, Schema};

/// A part of the old document, with the schema that says how its parts belong together.
#[derive(Clone, Copy)]
pub(super) struct Old<'a> {
    pub(super) value: &'a Value,
    pub(super) schema: &'a Schema,
}

impl<'a> Old<'a> {
    /// The old value of a field.
    pub(super) fn field(self, key: &str) -> Option<Self> {
        if self.schema.map_type() == MapType::Atomic {
            return None;
        }
        Some(Self { schema: self.schema.child(key)?, value: self.value.get(key)? })
    }

    /// The old elements of a list whose elements can be told apart.
    pub(super) fn elements(self) -> Option<Elements<'a>> {
        if self.schema.list_type() != ListType::Map {
            return None;
        }
        let schema = self.schema.items()?;
        let items = self.value.as_array()?;
        let by_key = items.iter().filter_map(|item| Some((key_of(self.schema, item)?, item))).collect();
        Some(Elements { list: self.schema, schema, by_key })
    }
}

/// The elements of an old list, by key.
pub(super) struct Elements<'a> {
    list: &'a Schema,
    schema: &'a Schema,
    by_key: HashMap<String, &'a Value>,
}

impl<'a> Elements<'a> {
    /// The old element that `item` comes from.
    pub(super) fn find(&self, item: &Value) -> Option<Old<'a>> {
        let value = self.by_key.get(&key_of(self.list, item)?)?;
        Some(Old { value, schema: self.schema })
    }
}

/// The key of an element of a list of type map; none if it is no object or has none of the key fields.
pub(super) fn key_of(list: &Schema, item: &Value) -> Option<String> {
    let fields = item.as_object()?;
    let mut key = String::new();
    let mut found = false;
    for name in list.list_map_keys() {
        let value = fields.get(name).or_else(|| list.items()?.property(name)?.default());
        if let Some(value) = value {
            found = true;
            key.push_str(&value.to_json());
        }
        key.push('\u{0}');
    }
    found.then_some(key)
}

/// Whether two values are equal, without regard to the order of lists of type map.
pub(super) fn same(schema: &Schema, new: &Value, old: &Value) -> bool {
    if new == old {
        return true;
    }
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(key, value)| {
                    old.get(key).is_some_and(|old| match schema.child(key) {
                        Some(child) => same(child, value, old),
                        None => value == old,
                    })
                })
        }
        (Value::Array(new_items), Value::Array(old_items)) => {
            if new_items.len() != old_items.len() {
                return false;
            }
            match (schema.items(), Old { value: old, schema }.elements()) {
                (Some(item), Some(elements)) => new_items
                    .iter()
                    .all(|one| elements.find(one).is_some_and(|old| same(item, one, old.value))),
                (Some(item), None) => new_items.iter().zip(old_items).all(|(new, old)| same(item, new, old)),
                (None, _) => new_items == old_items,
            }
        }
        _ => false,
    }
}
