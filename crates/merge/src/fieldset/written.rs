//! Sets of fields that are asked and changed as they are written, without reading them: `fieldsV1` in the one form that
//! [`FieldSet::to_value`] gives.

use super::FieldSet;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// Whether some field is both in this `fieldsV1` and in the set.
pub(crate) fn reaches(fields: &Map, set: &FieldSet) -> bool {
    let mut text = String::new();
    set.nodes().any(|(element, owned, below)| {
        element.write(&mut text);
        let Some(Value::Object(inner)) = fields.get(&text) else { return false };
        (owned && is_owned(inner)) || deeper(|| reaches(inner, below))
    })
}

/// Whether all fields of the set are in this `fieldsV1`.
pub(crate) fn covers(fields: &Map, set: &FieldSet) -> bool {
    let mut text = String::new();
    set.nodes().all(|(element, owned, below)| {
        element.write(&mut text);
        let Some(Value::Object(inner)) = fields.get(&text) else { return false };
        (!owned || is_owned(inner)) && deeper(|| covers(inner, below))
    })
}

/// Takes the fields of the set out of this `fieldsV1`.
pub(crate) fn remove(fields: &mut Map, set: &FieldSet) {
    let mut text = String::new();
    for (element, owned, below) in set.nodes() {
        element.write(&mut text);
        let Some(Value::Object(inner)) = fields.get_mut(&text) else { continue };
        let stays = is_owned(inner) && !owned;
        if !stays {
            inner.remove(".");
        }
        deeper(|| remove(inner, below));
        match inner.len() {
            0 if !stays => drop(fields.remove(&text)),
            // Nothing is left below it, which needs no dot.
            1 if stays => drop(inner.remove(".")),
            _ => {}
        }
    }
}

/// Adds the fields of the set to this `fieldsV1`.
pub(crate) fn add(fields: &mut Map, set: &FieldSet) {
    let mut text = String::new();
    for (element, owned, below) in set.nodes() {
        element.write(&mut text);
        let Some(Value::Object(inner)) = fields.get_mut(&text) else {
            fields.insert(text.as_str(), Value::Object(below.to_map(owned)));
            continue;
        };
        let is_owned = owned || is_owned(inner);
        deeper(|| add(inner, below));
        if is_owned && !inner.is_empty() {
            inner.or_insert_with(".", Value::object);
        }
    }
}

fn is_owned(node: &Map) -> bool {
    node.is_empty() || node.contains_key(".")
}
