//! Which part of the old document a part of the new one comes from, and whether it changed.
//! Source: `CorrelatedObject` of apiserver's `pkg/cel/common`.

use std::cell::OnceCell;
use std::collections::HashMap;

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use crate::node::{ListType, Schema};

/// A part of the old document, with the schema that says how its parts belong together.
#[derive(Clone, Copy)]
pub(crate) struct Old<'a> {
    pub(crate) value: &'a Value,
    pub(crate) schema: &'a Schema,
}

impl<'a> Old<'a> {
    /// The old value of a field that the schema knows.
    pub(crate) fn field(self, key: &str) -> Option<Self> {
        Some(Self { schema: self.schema.child(key)?, value: self.value.get(key)? })
    }

    /// The old elements of a list whose elements can be told apart.
    pub(crate) fn elements(self) -> Option<Elements<'a>> {
        if self.schema.list_type() != ListType::Map || self.schema.list_map_keys().is_empty() {
            return None;
        }
        let schema = self.schema.items()?;
        let items = self.value.as_array()?;
        let mut by_key = HashMap::new();
        for item in items {
            // Of elements with one key, the first counts.
            if let Some(key) = key_of(self.schema, item) {
                by_key.entry(key).or_insert(item);
            }
        }
        Some(Elements { list: self.schema, schema, by_key })
    }
}

/// A part of the new document with what it was. Whether it changed is found out once.
pub(crate) struct Pair<'a> {
    new: &'a Value,
    old: Old<'a>,
    is_unchanged: OnceCell<bool>,
}

impl<'a> Pair<'a> {
    pub(crate) fn new(new: &'a Value, old: Old<'a>) -> Self {
        Self { new, old, is_unchanged: OnceCell::new() }
    }

    /// Whether it is what it was.
    pub(crate) fn is_unchanged(&self) -> bool {
        *self.is_unchanged.get_or_init(|| same(self.old.schema, self.new, self.old.value))
    }

    /// What a field was.
    pub(crate) fn old_field(&self, key: &str) -> Option<Old<'a>> {
        self.old.field(key)
    }
}

/// The elements of an old list, by key.
pub(crate) struct Elements<'a> {
    list: &'a Schema,
    schema: &'a Schema,
    by_key: HashMap<String, &'a Value>,
}

impl<'a> Elements<'a> {
    /// The old element that `item` comes from.
    pub(crate) fn find(&self, item: &Value) -> Option<Old<'a>> {
        let value = self.by_key.get(&key_of(self.list, item)?)?;
        Some(Old { value, schema: self.schema })
    }
}

/// The key of an element of a list of type map; none if a key field is absent or no scalar.
fn key_of(list: &Schema, item: &Value) -> Option<String> {
    let fields = item.as_object()?;
    let mut key = String::new();
    for name in list.list_map_keys() {
        let value = fields.get(name)?;
        if matches!(value, Value::Null | Value::Array(_) | Value::Object(_)) {
            return None;
        }
        key.push_str(&value.to_json());
        key.push('\u{0}');
    }
    Some(key)
}

/// Whether a value is what it was, without regard to the order of lists of type map. As upstream, an object with fields
/// that its schema does not know is never the same.
pub(crate) fn same(schema: &Schema, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(key, value)| match (schema.child(key), old.get(key)) {
                    (Some(child), Some(old)) => deeper(|| same(child, value, old)),
                    _ => false,
                })
        }
        (Value::Array(new_items), Value::Array(old_items)) => {
            if new_items.len() != old_items.len() {
                return false;
            }
            match (schema.items(), (Old { value: old, schema }).elements()) {
                (Some(item), Some(elements)) => new_items
                    .iter()
                    .all(|one| elements.find(one).is_some_and(|old| deeper(|| same(item, one, old.value)))),
                _ => new_items == old_items,
            }
        }
        (new, old) => new == old,
    }
}
