//! How Go prints what is nested: `[a b]` and `map[a:1 b:2]`, or another style of the kind.

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

/// How lists, objects and what is in them are printed. What is not said is as `%v` has it.
pub(crate) trait Style {
    /// What stands around a list, and between its items.
    const LIST: [&str; 3] = ["[", " ", "]"];
    /// What stands around an object, between a name and its value, and between these.
    const OBJECT: [&str; 4] = ["map[", ":", " ", "]"];

    /// Appends what is neither a list nor an object.
    fn scalar(&self, value: &Value, out: &mut String);

    /// Appends the name of a member.
    fn name(&self, name: &str, out: &mut String) {
        out.push_str(name);
    }
}

/// The text of a value.
pub(crate) fn to_text<S: Style>(value: &Value, style: &S) -> String {
    let mut text = String::new();
    write(value, style, &mut text);
    text
}

fn write<S: Style>(value: &Value, style: &S, out: &mut String) {
    match value {
        Value::Array(items) => deeper(|| {
            let [open, between, close] = S::LIST;
            out.push_str(open);
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push_str(between);
                }
                write(item, style, out);
            }
            out.push_str(close);
        }),
        Value::Object(map) => deeper(|| {
            let [open, colon, between, close] = S::OBJECT;
            out.push_str(open);
            for (place, (name, value)) in map.iter().enumerate() {
                if place > 0 {
                    out.push_str(between);
                }
                style.name(name, out);
                out.push_str(colon);
                write(value, style, out);
            }
            out.push_str(close);
        }),
        scalar => style.scalar(scalar, out),
    }
}
