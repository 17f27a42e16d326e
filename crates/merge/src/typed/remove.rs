//! Taking fields out of a document.

use super::{Node, Shape};
use crate::fieldset::{FieldSet, field};
use pilothouse_schema::Schema;
use pilothouse_value::Value;

/// The document without the given fields. A container that loses all it had is taken out with them.
pub(crate) fn remove(schema: Node<'_>, value: Value, fields: &FieldSet) -> Value {
    remove_below(schema, value, fields).unwrap_or_else(Value::object)
}

fn remove_below(schema: Node<'_>, value: Value, fields: &FieldSet) -> Option<Value> {
    match (schema.shape(&value), value) {
        (Shape::Fields, Value::Object(map)) => {
            let mut kept = pilothouse_value::Map::new();
            for (key, child) in map {
                let element = field(&key);
                if fields.owns(&element) {
                    continue;
                }
                let child = match fields.below(&element) {
                    Some(inner) => {
                        let node = schema.child(&key).unwrap_or_else(|| Node::inner(Schema::any()));
                        remove_below(node, child, inner)
                    }
                    None => Some(child),
                };
                if let Some(child) = child {
                    kept.insert(key, child);
                }
            }
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        (Shape::Set | Shape::Keyed, Value::Array(items)) => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                let element = schema.element(&item).unwrap_or_default();
                if fields.owns(&element) {
                    continue;
                }
                match fields.below(&element) {
                    Some(inner) => kept.extend(remove_below(schema.items(), item, inner)),
                    None => kept.push(item),
                }
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (_, whole) => Some(whole),
    }
}
