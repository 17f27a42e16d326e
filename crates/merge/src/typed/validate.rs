//! Whether an applied document fits its schema as far as merging needs it: types, declared fields, keys of lists.
//! Everything else is validated later, on the merged document.

use super::{Node, Shape, items};
use crate::fieldset::print;
use pilothouse_schema::Type;
use pilothouse_value::{Map, Value};
use std::collections::HashSet;

/// What is wrong with `value`, as texts with paths; nothing if it fits.
pub(crate) fn validate(schema: Node<'_>, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema, value, "", &mut found);
    found
}

fn walk(node: Node<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    if let Some(problem) = wrong_type(node, value) {
        found.push(locate(path, &problem));
        return;
    }
    match value {
        Value::Object(map) => fields(node, map, path, found),
        Value::Array(_) => list(node, value, path, found),
        _ => {}
    }
}

fn locate(path: &str, problem: &str) -> String {
    if path.is_empty() { problem.to_owned() } else { format!("{path}: {problem}") }
}

fn fields(node: Node<'_>, map: &Map, path: &str, found: &mut Vec<String>) {
    for (key, child) in map.iter() {
        let path = format!("{path}.{key}");
        match node.child(key) {
            Some(schema) => walk(schema, child, &path, found),
            None => {
                // Upstream stops at the first one in an object.
                found.push(locate(&path, "field not declared in schema"));
                return;
            }
        }
    }
}

fn list(node: Node<'_>, list: &Value, path: &str, found: &mut Vec<String>) {
    let has_elements = matches!(node.shape(list), Shape::Set | Shape::Keyed);
    let mut seen = HashSet::new();
    for (index, item) in items(Some(list)).iter().enumerate() {
        let element = if has_elements {
            match node.element(item) {
                Ok(element) => element,
                Err(problem) => {
                    found.push(locate(path, &format!("element {index}: {problem}")));
                    return;
                }
            }
        } else {
            format!("i:{index}")
        };
        walk(node.items(), item, &format!("{path}{}", print(&element)), found);
        if has_elements && !seen.insert(element.clone()) {
            found.push(locate(path, &format!("duplicate entries for key {}", print(&element))));
        }
    }
}

fn wrong_type(node: Node<'_>, value: &Value) -> Option<String> {
    if value.is_null() || node.schema.is_int_or_string() {
        return None;
    }
    let expected = match (node.schema.kind()?, value) {
        (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String, Value::String(_))
        | (Type::Boolean, Value::Bool(_))
        | (Type::Integer | Type::Number, Value::Int(_) | Value::Float(_)) => return None,
        (Type::Object, _) => "map",
        (Type::Array, _) => "list",
        (Type::String, _) => "string",
        (Type::Boolean, _) => "boolean",
        (Type::Integer | Type::Number, other) => {
            let found = match other {
                Value::Bool(_) => "bool",
                Value::String(_) => "string",
                Value::Array(_) => "[]interface {}",
                _ => "map[string]interface {}",
            };
            return Some(format!("expected numeric (int or float), got {found}"));
        }
    };
    Some(match value {
        Value::String(text) if expected == "string" || expected == "boolean" => {
            format!("expected {expected}, got {text}")
        }
        other if expected == "string" => {
            format!("expected string, got &value.valueUnstructured{{Value:{other}}}")
        }
        other => format!("expected {expected}, got &{{{other}}}"),
    })
}
