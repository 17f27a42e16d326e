//! Values as Go prints them inside messages of structured merging.

use pilothouse_value::go_print::{self, Style};
use pilothouse_value::{Value, field};

/// `%v` of a wrapped value.
pub(super) fn plain(value: &Value) -> String {
    format!("&{{{}}}", go_print::plain(value))
}

/// `%#v` of a wrapped value.
pub(super) fn sharp(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", go_print::to_text(value, &Syntax))
}

struct Syntax;

impl Style for Syntax {
    const LIST: [&str; 3] = ["[]interface {}{", ", ", "}"];
    const OBJECT: [&str; 4] = ["map[string]interface {}{", ":", ", ", "}"];

    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::Null => out.push_str("interface {}(nil)"),
            Value::Float(number) => out.push_str(&go_print::float(*number)),
            Value::String(text) => out.push_str(&field::quote(text)),
            other => out.push_str(&other.to_json()),
        }
    }

    fn name(&self, name: &str, out: &mut String) {
        out.push_str(&field::quote(name));
    }
}
