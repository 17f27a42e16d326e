//! How Go prints what a message quotes: floats, and values in the syntax of Go.

use super::compose::{Document, Shape};
use super::resolve::{Resolved, resolve};

/// A float as `strconv.FormatFloat(x, 'g', -1, 64)` has it.
pub(super) fn float(number: f64) -> String {
    format_float(number, &format!("{number:e}"))
}

/// A float as `strconv.FormatFloat(x, 'g', -1, 32)` has it: rounded to single precision first.
pub(super) fn short_float(number: f64) -> String {
    let number = number as f32;
    format_float(number.into(), &format!("{number:e}"))
}

/// `scientific` has the fewest digits that say the number.
fn format_float(number: f64, scientific: &str) -> String {
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

/// A scalar as `%#v` prints it.
pub(super) fn scalar(resolved: &Resolved) -> String {
    match resolved {
        Resolved::Null => "interface {}(nil)".to_owned(),
        Resolved::Bool(value) => value.to_string(),
        Resolved::Int(number) => number.to_string(),
        Resolved::Uint(number) => format!("{number:#x}"),
        Resolved::Float(number) => float(*number),
        Resolved::Text(text) => crate::field::quote(text),
    }
}

/// How much of a value is printed; upstream has no limit.
const LONGEST: usize = 64 << 10;
const DEEPEST: usize = 100;

/// A node as `%#v` prints what is read of it.
pub(super) fn node(document: &Document, number: usize) -> String {
    let mut printer = Printer { document, left: LONGEST };
    printer.print(number, 0)
}

struct Printer<'a> {
    document: &'a Document,
    left: usize,
}

impl Printer<'_> {
    fn print(&mut self, number: usize, depth: usize) -> String {
        let Some(node) = self.document.nodes.get(number).filter(|_| depth < DEEPEST && self.left > 0) else {
            return "...".to_owned();
        };
        match &node.shape {
            Shape::Alias(target, _) => self.print(*target, depth + 1),
            Shape::Scalar(text) => {
                let printed = resolve(text).map(|resolved| scalar(&resolved)).unwrap_or_default();
                self.left = self.left.saturating_sub(printed.len());
                printed
            }
            Shape::Sequence(items) => {
                let items: Vec<String> = items.iter().map(|item| self.print(*item, depth + 1)).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Shape::Mapping(pairs) => {
                let mut entries: Vec<(String, String)> = Vec::new();
                for pair in pairs.chunks_exact(2) {
                    let &[key, value] = pair else { continue };
                    entries.push((self.print(key, depth + 1), self.print(value, depth + 1)));
                }
                // Of a key that came twice the last value is there, and keys are printed in order.
                entries.reverse();
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                entries.dedup_by(|(a, _), (b, _)| a == b);
                let entries: Vec<String> =
                    entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
            }
        }
    }
}
