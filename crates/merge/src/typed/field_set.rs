//! All fields of a document: what someone owns who applies it.

use super::{Found, List, MapType, Problems, Relationship, Shape, Type, member, shape_of};
use crate::fieldset::{FieldSet, PathElement};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};
use std::collections::BTreeMap;

/// The fields of a document.
///
/// # Errors
/// What does not fit the type. Documents that were validated have none.
pub fn field_set<'s, T: Type<'s>>(ty: T, value: &Value) -> Result<FieldSet, Problems> {
    let mut found = Found::default();
    let (_, set) = walk(Some(ty), value, &mut found);
    found.into_result(set)
}

/// Whether the value itself is a field, and which fields are below it.
fn walk<'s, T: Type<'s>>(ty: Option<T>, value: &Value, found: &mut Found) -> (bool, FieldSet) {
    match (shape_of(ty, value, found), value) {
        (Some(Shape::Scalar(_)), _) => (true, FieldSet::new()),
        (Some(Shape::Map(MapType { atomic: true, .. })), _) => (true, FieldSet::new()),
        (Some(Shape::List(List { relationship: Relationship::Atomic, .. })), _) => (true, FieldSet::new()),
        (Some(Shape::Map(map)), Value::Object(fields)) => (false, of_map(ty, &map, fields, found)),
        (Some(Shape::List(list)), Value::Array(items)) => (false, of_list(&list, items, found)),
        _ => (false, FieldSet::new()),
    }
}

fn of_map<'s, T: Type<'s>>(ty: Option<T>, map: &MapType<T>, fields: &Map, found: &mut Found) -> FieldSet {
    let mut set = FieldSet::new();
    for (key, value) in fields.iter() {
        let (is_field, below) = deeper(|| walk(member(ty, map, key), value, found));
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        let is_declared = ty.and_then(|ty| ty.field(key)).is_some();
        set.insert(PathElement::field(key), is_field || is_empty || !is_declared, below);
    }
    set
}

fn of_list<'s, T: Type<'s>>(list: &List<'s, T>, items: &[Value], found: &mut Found) -> FieldSet {
    let mut index: BTreeMap<PathElement, (&Value, bool)> = BTreeMap::new();
    for item in items {
        // What has nothing to tell it apart is something all the same: the list that it is in is not empty.
        let element = list.element(item).unwrap_or_else(|_| PathElement::key([]));
        index.entry(element).and_modify(|(_, again)| *again = true).or_insert((item, false));
    }
    let mut set = FieldSet::new();
    for (element, (item, again)) in index {
        // Items that cannot be told apart are owned together and not looked into.
        let below = if again { FieldSet::new() } else { deeper(|| walk(list.items, item, found)).1 };
        set.insert(element, true, below);
    }
    set
}
