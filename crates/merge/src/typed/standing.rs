//! Whether a written set of fields is as it would be written again: told without reading it.

use super::{Relationship, Shape, Type};
use crate::fieldset::PathElement;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// Whether reading this `fieldsV1`, bringing it into the form that the type has now, and writing it would give the same.
/// `false` when in doubt.
pub(crate) fn stands<'s, T: Type<'s>>(ty: T, fields: &Map) -> bool {
    walk(Some(ty), fields)
}

/// What is known of the types below a place.
enum Members<T> {
    /// Nothing that matters.
    Any,
    /// Everything is of this type.
    All(T),
    /// Declared fields are what this type says, all others what the second one says.
    Of(T, Option<T>),
}

fn members<'s, T: Type<'s>>(ty: Option<T>) -> Option<Members<T>> {
    let Some(ty) = ty else { return Some(Members::Any) };
    match ty.atom().ok()?.shape()? {
        Shape::Scalar(_) => Some(Members::Any),
        // What is one value is owned as a whole, and not in parts.
        Shape::List(list) if list.relationship == Relationship::Atomic => None,
        Shape::List(list) => list.items.map(Members::All),
        Shape::Map(map) if map.deduced => Some(Members::Any),
        Shape::Map(map) if map.atomic => None,
        Shape::Map(map) => Some(Members::Of(ty, map.element)),
    }
}

fn walk<'s, T: Type<'s>>(ty: Option<T>, fields: &Map) -> bool {
    let Some(members) = members(ty) else { return false };
    fields.iter().all(|(key, below)| {
        let Value::Object(below) = below else { return false };
        if key == "." {
            return below.is_empty() && fields.len() > 1;
        }
        if !PathElement::is_as_written(key) {
            return false;
        }
        let member = match &members {
            Members::Any => None,
            Members::All(items) => Some(*items),
            Members::Of(ty, others) => key.strip_prefix("f:").and_then(|name| ty.field(name)).or(*others),
        };
        below.is_empty() || deeper(|| walk(member, below))
    })
}
