//! Values as Go prints them inside messages.

use crate::number;
use crate::print::{self, Style};
use pilothouse_value::{Value, field};

/// `%v` of a wrapped value.
pub(super) fn plain(value: &Value) -> String {
    format!("&{{{}}}", print::to_text(value, &Plain))
}

/// `%#v` of a wrapped value.
pub(super) fn sharp(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", print::to_text(value, &Syntax))
}

struct Plain;

impl Style for Plain {
    fn scalar(&self, value: &Value, out: &mut String) {
        out.push_str(&crate::strategic::go(value));
    }
}

struct Syntax;

impl Style for Syntax {
    const LIST: [&str; 3] = ["[]interface {}{", ", ", "}"];
    const OBJECT: [&str; 4] = ["map[string]interface {}{", ":", ", ", "}"];

    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::Null => out.push_str("interface {}(nil)"),
            Value::Float(number) => out.push_str(&number::general(*number)),
            Value::String(text) => out.push_str(&field::quote(text)),
            other => out.push_str(&other.to_json()),
        }
    }

    fn name(&self, name: &str, out: &mut String) {
        out.push_str(&field::quote(name));
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
