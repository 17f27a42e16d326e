//! Uniqueness in lists of type set and map. Source: apiextensions `pkg/apiserver/schema/listtype`.

use std::collections::HashMap;

use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

use crate::node::{Additional, ListType, Schema};

/// Finds elements that occur more than once, everywhere below `value`.
pub(super) fn validate(schema: &Schema, value: &Value, path: &Path, errors: &mut Vec<field::Error>) {
    match value {
        Value::Array(items) => {
            match schema.list_type() {
                ListType::Atomic => {}
                ListType::Set => {
                    let again = second_occurrences(items.iter());
                    errors.extend(again.into_iter().filter_map(|index| {
                        Some(field::Error::duplicate(&path.index(index), items.get(index)?.clone()))
                    }));
                }
                ListType::Map => validate_map(schema, items, path, errors),
            }
            if let Some(item_schema) = schema.items() {
                for (index, item) in items.iter().enumerate().filter(|(_, item)| is_compound(item)) {
                    deeper(|| validate(item_schema, item, &path.index(index), errors));
                }
            }
        }
        Value::Object(fields) => {
            let additional = schema.additional().and_then(Additional::schema);
            for (key, value) in fields.iter().filter(|(_, value)| is_compound(value)) {
                if let Some(child) = schema.property(key) {
                    deeper(|| validate(child, value, &path.child(key), errors));
                } else if let Some(child) = additional {
                    deeper(|| validate(child, value, &path.key(key), errors));
                }
            }
        }
        _ => {}
    }
}

fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

fn validate_map(schema: &Schema, items: &[Value], path: &Path, errors: &mut Vec<field::Error>) {
    for (index, item) in items.iter().enumerate() {
        if !matches!(item, Value::Object(_) | Value::Null) {
            let detail = "must be an object for an array of list-type map";
            errors.push(field::Error::invalid(&path.index(index), item.clone(), detail));
            return;
        }
    }
    let keys: Vec<Value> = items
        .iter()
        .map(|item| {
            let field = |name: &str| Some((Box::<str>::from(name), item.get(name)?.clone()));
            Value::Object(schema.list_map_keys().iter().filter_map(|name| field(name)).collect::<Map>())
        })
        .collect();
    // A single key counts as it stands, and one that is missing as nothing else does; several count as they are written.
    let missing = Value::Array(Vec::new().into());
    let again = match schema.list_map_keys() {
        [key] => second_occurrences(keys.iter().map(|own| own.get(key).unwrap_or(&missing))),
        _ => second_occurrences(keys.iter()),
    };
    errors.extend(
        again
            .into_iter()
            .filter_map(|index| Some(field::Error::duplicate(&path.index(index), keys.get(index)?.clone()))),
    );
}

/// The places where a value occurs for the second time; further occurrences are not told, as upstream.
fn second_occurrences<'a>(items: impl Iterator<Item = &'a Value>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut again = Vec::new();
    for (index, item) in items.enumerate() {
        // Go tells 1 from 1.0, and so does their text.
        let text = match item {
            Value::Float(number) => format!("{number:?}"),
            other => other.to_json(),
        };
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            again.push(index);
        }
    }
    again
}
