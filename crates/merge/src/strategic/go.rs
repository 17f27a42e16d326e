//! Values as Go prints them in the texts of strategic merge patches.

use crate::number;
use pilothouse_value::Value;

/// A value as Go's `%v` prints it, which is what the error texts of strategic merge patches show.
pub fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.to_string(),
        Value::Float(number) => number::general(*number),
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        scalar => scalar.to_json(),
    }
}

/// A value as `%s` prints it, which complains of everything that is no text.
pub(super) fn string(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Null => "%!s(<nil>)".into(),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Spelled(_) => {
            format!("%!s({}={})", super::list::type_name(value), go(value))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(string).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let fields: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", string(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}
