//! Taking fields out of a document.

use super::{Node, Shape};
use crate::fieldset::{FieldSet, field};
use pilothouse_schema::Schema;
use pilothouse_value::{Map, Value};

/// The document without the given fields. A container that loses all it had stays, empty, unless it is itself given.
pub(crate) fn remove(schema: Node<'_>, value: Value, fields: &FieldSet) -> Value {
    match (schema.shape(&value), value) {
        (Shape::Fields, Value::Object(map)) => {
            let mut kept = Map::new();
            for (key, child) in map {
                let element = field(&key);
                if fields.owns(&element) {
                    continue;
                }
                let child = match fields.below(&element) {
                    Some(inner) => {
                        let node = schema.child(&key).unwrap_or_else(|| Node::inner(Schema::any()));
                        remove(node, child, inner)
                    }
                    None => child,
                };
                kept.insert(key, child);
            }
            Value::Object(kept)
        }
        (Shape::Set | Shape::Keyed, Value::Array(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                let element = schema.element(&item).unwrap_or_default();
                if fields.owns(&element) {
                    continue;
                }
                kept.push(match fields.below(&element) {
                    Some(inner) => remove(schema.items(), item, inner),
                    None => item,
                });
            }
            Value::Array(kept)
        }
        (_, whole) => whole,
    }
}
