//! Taking fields out of a document, and taking out all but some.

use super::{Found, List, MapType, Relationship, Shape, Type, field_set, member, shape_of};
use crate::fieldset::{FieldSet, PathElement};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// The document without the given fields. A container that loses all it had becomes null, unless it is itself given.
pub fn remove<'s, T: Type<'s>>(ty: T, value: &Value, fields: &FieldSet) -> Value {
    walk(Some(ty), value, fields, false)
}

/// The document with nothing but the given fields.
pub fn extract<'s, T: Type<'s>>(ty: T, value: &Value, fields: &FieldSet) -> Value {
    walk(Some(ty), value, fields, true)
}

/// The document with nothing but the given fields, and what tells the items of lists apart in which they are.
pub fn extract_with_keys<'s, T: Type<'s>>(ty: T, value: &Value, fields: &FieldSet) -> Value {
    let mut wanted = fields.clone();
    if let Ok(present) = field_set(ty, value) {
        for path in fields.paths().into_iter().filter(|path| present.has(path)) {
            for (place, element) in path.iter().enumerate() {
                let PathElement::Key(keys) = element else { continue };
                for (name, _) in keys {
                    let mut key = path.get(..=place).unwrap_or_default().to_vec();
                    key.push(PathElement::field(name.clone()));
                    wanted.insert_path(&key);
                }
            }
        }
    }
    walk(Some(ty), value, &wanted, true)
}

fn walk<'s, T: Type<'s>>(ty: Option<T>, value: &Value, fields: &FieldSet, extract: bool) -> Value {
    let whole = || if extract { value.clone() } else { Value::Null };
    match (shape_of(ty, value, &mut Found::default()), value) {
        (Some(Shape::Scalar(_)), _) => value.clone(),
        (Some(Shape::Map(map)), Value::Object(object)) => {
            if object.is_empty() || map.atomic {
                whole()
            } else {
                deeper(|| from_map(ty, &map, object, fields, extract))
            }
        }
        (Some(Shape::List(list)), Value::Array(items)) => {
            if items.is_empty() || list.relationship == Relationship::Atomic {
                whole()
            } else {
                deeper(|| from_list(&list, items, fields, extract))
            }
        }
        _ => Value::Null,
    }
}

fn from_map<'s, T: Type<'s>>(
    ty: Option<T>,
    map: &MapType<T>,
    object: &Map,
    fields: &FieldSet,
    extract: bool,
) -> Value {
    let mut kept = Map::new();
    for (key, value) in object.iter() {
        let (element, ty) = (PathElement::field(key), member(ty, map, key));
        if fields.owns(&element) {
            if extract {
                kept.insert(key, walk(ty, value, fields, extract));
            }
            continue;
        }
        match fields.below(&element) {
            Some(below) => {
                kept.insert(key, walk(ty, value, below, extract));
            }
            None if extract => {}
            None => {
                kept.insert(key, value.clone());
            }
        }
    }
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}

fn from_list<'s, T: Type<'s>>(
    list: &List<'s, T>,
    items: &[Value],
    fields: &FieldSet,
    extract: bool,
) -> Value {
    let mut kept = Vec::new();
    for item in items {
        let element = list.element(item).ok();
        let is_given = element.as_ref().is_some_and(|element| fields.owns(element));
        let below = element.as_ref().and_then(|element| fields.below(element));
        if extract && !is_given && below.is_none() || !extract && is_given {
            continue;
        }
        kept.push(match below {
            Some(below) => walk(list.items, item, below, extract),
            None => item.clone(),
        });
    }
    if kept.is_empty() { Value::Null } else { Value::Array(kept.into()) }
}
