//! Values as Go prints them in the texts of strategic merge patches.

use crate::number;
use crate::print::{self, Style};
use pilothouse_value::Value;

/// A value as Go's `%v` prints it, which is what the error texts of strategic merge patches show.
pub fn go(value: &Value) -> String {
    print::to_text(value, &Plain)
}

/// A value as `%s` prints it, which complains of everything that is no text.
pub(super) fn string(value: &Value) -> String {
    print::to_text(value, &Text)
}

struct Plain;

impl Style for Plain {
    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::Null => out.push_str("<nil>"),
            Value::String(text) => out.push_str(text),
            Value::Float(number) => out.push_str(&number::general(*number)),
            other => out.push_str(&other.to_json()),
        }
    }
}

struct Text;

impl Style for Text {
    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::String(text) => out.push_str(text),
            Value::Null => out.push_str("%!s(<nil>)"),
            other => out.push_str(&format!("%!s({}={})", super::list::type_name(other), go(other))),
        }
    }
}
