//! Values as Go prints them inside messages: `%v`, `%T`, and other styles of the kind. JSON is [`go_json`](crate::go_json)'s, a
//! quoted text [`field::quote`](crate::field::quote)'s.

use crate::Value;
use crate::stack::deeper;

/// `%v`: `[a b]`, `map[a:1 b:2]`, `<nil>`, `1e+06`.
pub fn plain(value: &Value) -> String {
    to_text(value, &Plain)
}

/// `%T`.
pub fn type_name(value: &Value) -> &'static str {
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

/// `%v` of a floating number, which is `%g`: the fewest digits that tell it, with an exponent of at least two digits when it is
/// below -4 or above 5.
pub fn float(number: f64) -> String {
    of_digits(number, &format!("{number:e}"))
}

/// As [`float`], of the number rounded to single precision.
pub fn short_float(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "that is what is asked for")]
    let number = number as f32;
    of_digits(number.into(), &format!("{number:e}"))
}

/// `scientific` has the fewest digits that tell the number.
fn of_digits(number: f64, scientific: &str) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-Inf" } else { "+Inf" }.to_owned();
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
    // Shifting the point never changes the digits.
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    match digits.split_at_checked(whole) {
        Some((whole, "")) => format!("{sign}{whole}"),
        Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{digits}{}", "0".repeat(whole - digits.len())),
    }
}

struct Plain;

impl Style for Plain {
    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::Null => out.push_str("<nil>"),
            Value::String(text) => out.push_str(text),
            Value::Float(number) => out.push_str(&float(*number)),
            other => out.push_str(&other.to_json()),
        }
    }
}

/// How lists, objects and what is in them are printed. What is not said is as `%v` has it.
pub trait Style {
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
pub fn to_text<S: Style>(value: &Value, style: &S) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program in Go printed.
    #[test]
    fn floating_numbers_are_printed_as_go_prints_them() {
        let printed = [
            (1_000_000.0, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1.5, "1.5"),
            (1e-5, "1e-05"),
            (100_000.0, "100000"),
            (1e21, "1e+21"),
            (-0.0, "-0"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ];
        for (number, text) in printed {
            assert_eq!(float(number), text);
        }
    }
}
