//! Values as Go prints them inside messages.

use crate::number;
use pilothouse_value::{Value, field};

/// `%v` of a wrapped value.
pub(super) fn plain(value: &Value) -> String {
    format!("&{{{}}}", inner(value))
}

fn inner(value: &Value) -> String {
    match value {
        Value::Float(number) => number::general(*number),
        Value::Array(items) => format!("[{}]", items.iter().map(inner).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<_> = map.iter().map(|(name, value)| format!("{name}:{}", inner(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => crate::strategic::go(other),
    }
}

/// `%#v` of a wrapped value.
pub(super) fn sharp(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", syntax(value))
}

fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Float(number) => number::general(*number),
        Value::String(text) => field::quote(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let fields: Vec<_> =
                map.iter().map(|(name, value)| format!("{}:{}", field::quote(name), syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_json(),
    }
}

/// `%T`.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) | Value::Spelled(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
