//! Whether a document fits its type as far as merging needs it: kinds of values, declared fields, keys of lists.
//! Everything else is validated later, on the merged document.

use super::{Found, List, MapType, Problems, Relationship, Scalar, Shape, Type, go, member, shape_of};
use crate::fieldset::PathElement;
use pilothouse_value::{Map, Value};
use std::collections::BTreeSet;

/// Checks a document.
///
/// # Errors
/// What is wrong with it. With `allow_duplicates`, items that cannot be told apart are not.
pub fn validate<'s, T: Type<'s>>(ty: T, value: &Value, allow_duplicates: bool) -> Result<(), Problems> {
    let mut found = Found::default();
    walk(Some(ty), value, allow_duplicates, &mut found);
    found.into_result(())
}

fn walk<'s, T: Type<'s>>(ty: Option<T>, value: &Value, allow_duplicates: bool, found: &mut Found) {
    match (shape_of(ty, value, found), value) {
        (None, _) | (Some(Shape::Map(_) | Shape::List(_)), Value::Null) => {}
        (Some(Shape::Scalar(wanted)), _) => {
            if let Some(problem) = scalar(wanted, value, "") {
                found.add(problem);
            }
        }
        (Some(Shape::Map(map)), Value::Object(object)) => fields(ty, &map, object, allow_duplicates, found),
        (Some(Shape::List(list)), Value::Array(items)) => list_items(&list, items, allow_duplicates, found),
        (Some(Shape::Map(_)), _) => found.add(format!("expected map, got {}", go::plain(value))),
        (Some(Shape::List(_)), _) => found.add(format!("expected list, got {}", go::plain(value))),
    }
}

/// What is wrong with a scalar; null is as good as any.
pub(super) fn scalar(wanted: Scalar, value: &Value, side: &str) -> Option<String> {
    let problem = match (wanted, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Int(_) | Value::Float(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Bool(_)) => {
            return None;
        }
        (Scalar::Numeric, _) => {
            format!("expected numeric (int or float), got {}", pilothouse_value::go_print::type_name(value))
        }
        (Scalar::String, _) => format!("expected string, got {}", go::sharp(value)),
        (Scalar::Boolean, _) => format!("expected boolean, got {}", go::plain(value)),
        (Scalar::Untyped, _) => format!("expected any scalar, got {}", go::plain(value)),
    };
    Some(format!("{side}{problem}"))
}

fn fields<'s, T: Type<'s>>(
    ty: Option<T>,
    map: &MapType<T>,
    object: &Map,
    allow_duplicates: bool,
    found: &mut Found,
) {
    for (key, value) in object.iter() {
        let member = member(ty, map, key);
        if member.is_none() {
            found.under(|| format!(".{key}"), |found| found.add("field not declared in schema"));
            // Upstream stops at the first one of an object.
            return;
        }
        found.under(|| format!(".{key}"), |found| walk(member, value, allow_duplicates, found));
    }
}

fn list_items<'s, T: Type<'s>>(
    list: &List<'s, T>,
    items: &[Value],
    allow_duplicates: bool,
    found: &mut Found,
) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        if list.relationship != Relationship::Associative {
            found.under(|| format!("[{index}]"), |found| walk(list.items, item, allow_duplicates, found));
            continue;
        }
        let element: PathElement = match list.element(item) {
            Ok(element) => element,
            Err(problem) => {
                found.add(format!("element {index}: {problem}"));
                return;
            }
        };
        if !allow_duplicates && seen.contains(&element) {
            found.add(format!("duplicate entries for key {element}"));
        }
        found.under(|| element.to_string(), |found| walk(list.items, item, allow_duplicates, found));
        seen.insert(element);
    }
}
