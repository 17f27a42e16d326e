//! Values as the texts of strategic merge patches show them where a text was expected.

use pilothouse_value::Value;
use pilothouse_value::go_print::{self, Style};

/// `%s`, which complains of everything that is no text.
pub(super) fn string(value: &Value) -> String {
    go_print::to_text(value, &Text)
}

/// `%T`, by the verb `%s` of a name that is not there for null.
pub(super) fn type_name(value: &Value) -> &'static str {
    if value.is_null() { "%!s(<nil>)" } else { go_print::type_name(value) }
}

struct Text;

impl Style for Text {
    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::String(text) => out.push_str(text),
            Value::Null => out.push_str("%!s(<nil>)"),
            other => out.push_str(&format!("%!s({}={})", type_name(other), go_print::plain(other))),
        }
    }
}
