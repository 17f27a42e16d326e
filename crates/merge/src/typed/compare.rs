//! What differs between two documents, field by field.

use super::{Node, Shape, is_empty};
use crate::fieldset::{FieldSet, field};
use pilothouse_schema::Schema;
use pilothouse_value::{Map, Value};

/// The fields in which two documents differ. No field is in two of the sets.
#[derive(Default)]
pub(crate) struct Comparison {
    /// Fields that only the first document has.
    pub(crate) removed: FieldSet,
    /// Fields that both have with different values.
    pub(crate) modified: FieldSet,
    /// Fields that only the second document has.
    pub(crate) added: FieldSet,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Removed,
    Modified,
    Added,
}

/// Compares two documents of one type.
pub(crate) fn compare(schema: Node<'_>, before: &Value, after: &Value) -> Comparison {
    below(schema, Some(before), Some(after)).1
}

/// What happened to a value itself, and what happened below it.
fn below(schema: Node<'_>, before: Option<&Value>, after: Option<&Value>) -> (Option<Change>, Comparison) {
    let mut inner = Comparison::default();
    let change = match (before, after) {
        (Some(before), Some(after)) if before == after => return (None, inner),
        (None, None) => return (None, inner),
        (Some(_), None) => Change::Removed,
        (None, Some(_)) => Change::Added,
        (Some(_), Some(_)) => Change::Modified,
    };
    let shape = |value: Option<&Value>| value.map(|value| schema.shape(value));
    let (was, is) = (shape(before), shape(after));
    if let (Some(was), Some(is)) = (was, is)
        && was != is
    {
        // Another type of value: what the old one was made of is gone, what the new one is made of came.
        inner.walk(schema, was, before, None);
        inner.walk(schema, is, None, after);
        let replaced = was == Shape::Whole || is == Shape::Whole;
        return (replaced.then_some(Change::Modified), inner);
    }
    let Some(shape) = was.or(is) else { return (None, inner) };
    if shape == Shape::Whole || (before.is_none_or(is_empty) && after.is_none_or(is_empty)) {
        return (Some(change), inner);
    }
    inner.walk(schema, shape, before, after);
    ((change != Change::Modified).then_some(change), inner)
}

impl Comparison {
    fn walk(&mut self, schema: Node<'_>, shape: Shape, before: Option<&Value>, after: Option<&Value>) {
        match shape {
            Shape::Whole => {}
            Shape::Fields => {
                let (before_map, after_map) =
                    (before.and_then(Value::as_object), after.and_then(Value::as_object));
                for (key, old) in before_map.into_iter().flat_map(Map::iter) {
                    self.field(schema, key, Some(old), after_map.and_then(|map| map.get(key)));
                }
                for (key, new) in after_map.into_iter().flat_map(Map::iter) {
                    if before_map.is_none_or(|map| !map.contains_key(key)) {
                        self.field(schema, key, None, Some(new));
                    }
                }
            }
            Shape::Set | Shape::Keyed => self.items(schema, before, after),
        }
    }

    fn field(&mut self, schema: Node<'_>, key: &str, before: Option<&Value>, after: Option<&Value>) {
        if before == after {
            return;
        }
        let node = schema.child(key).unwrap_or_else(|| Node::inner(Schema::any()));
        let (change, inner) = below(node, before, after);
        self.record(&field(key), change, inner);
    }

    fn items(&mut self, schema: Node<'_>, before: Option<&Value>, after: Option<&Value>) {
        let (mut olds, news) = (schema.index(before), schema.index(after));
        for (element, new) in &news {
            let old = olds.remove(element).unwrap_or_default();
            self.item(schema, element, &old, new);
        }
        for (element, old) in &olds {
            self.item(schema, element, old, &[]);
        }
    }

    fn item(&mut self, schema: Node<'_>, element: &str, old: &[&Value], new: &[&Value]) {
        let (change, inner) = match (old, new) {
            ([] | [_], [] | [_]) => below(schema.items(), old.first().copied(), new.first().copied()),
            // Items with the same key cannot be told apart: they are one value.
            ([_, _, ..], [_, _, ..]) => ((old != new).then_some(Change::Modified), Comparison::default()),
            ([_, _, ..], _) => {
                let (_, inner) = below(schema.items(), None, new.first().copied());
                (Some(Change::Removed), inner)
            }
            (_, [_, _, ..]) => {
                let (_, inner) = below(schema.items(), old.first().copied(), None);
                (Some(Change::Added), inner)
            }
        };
        self.record(element, change, inner);
    }

    fn record(&mut self, element: &str, change: Option<Change>, inner: Comparison) {
        self.removed.insert(element, change == Some(Change::Removed), inner.removed);
        self.modified.insert(element, change == Some(Change::Modified), inner.modified);
        self.added.insert(element, change == Some(Change::Added), inner.added);
    }
}
