//! Bounds, factors and ranges of numbers, with Go's conversions and Go's way to print them.

use pilothouse_value::{Value, go_print};

use crate::formats::Format;
use crate::node::{Schema, Type};

/// What is wrong with a number.
pub(super) enum Problem {
    /// A bound or factor is not kept: the text after the name of the field.
    Limit(String),
    /// The schema's own factor is not positive.
    Factor(f64),
    /// The number, or a bound of the schema, does not fit in its type: the whole text.
    Range(String),
}

/// All that is wrong with `value`, which is named `name`.
pub(super) fn problems(schema: &Schema, format: Option<Format>, value: &Value, name: &str) -> Vec<Problem> {
    let constraints = schema.constraints();
    let limits = Limits { kind: schema.kind.filter(|_| !schema.int_or_string), format, name };
    let mut found = Vec::new();
    found.extend(limits.range(value, "Checked"));
    if let Some(factor) = constraints.multiple_of {
        let range = limits.range(&shortest(factor), "MultipleOf");
        let is_multiple = match value {
            Value::Int(number) if range.is_none() => {
                let factor = truncate(factor);
                if factor <= 0 { None } else { Some(number % factor == 0) }
            }
            _ if factor <= 0.0 => None,
            _ => {
                let number = as_float(value);
                Some(is_whole(if factor < 1.0 { 1.0 / factor * number } else { number / factor }))
            }
        };
        found.extend(range);
        match is_multiple {
            // A fraction is cut to a whole number before, as above.
            None if matches!(value, Value::Int(_)) => found.push(Problem::Factor(factor.trunc())),
            None => found.push(Problem::Factor(factor)),
            Some(false) => {
                found.push(Problem::Limit(format!("should be a multiple of {}", go_print::float(factor))))
            }
            Some(true) => {}
        }
    }
    // Upstream merges these in this order.
    if let Some(minimum) = constraints.minimum {
        let words = if constraints.exclusive_minimum { "greater than" } else { "greater than or equal to" };
        limits.bound(&mut found, value, minimum, "Minimum boundary", words, |ordering| {
            ordering.is_lt() || (constraints.exclusive_minimum && ordering.is_eq())
        });
    }
    if let Some(maximum) = constraints.maximum {
        let words = if constraints.exclusive_maximum { "less than" } else { "less than or equal to" };
        limits.bound(&mut found, value, maximum, "Maximum boundary", words, |ordering| {
            ordering.is_gt() || (constraints.exclusive_maximum && ordering.is_eq())
        });
    }
    found
}

struct Limits<'a> {
    kind: Option<Type>,
    format: Option<Format>,
    name: &'a str,
}

impl Limits<'_> {
    fn range(&self, value: &Value, what: &str) -> Option<Problem> {
        let fits = match (self.kind, self.format) {
            (Some(Type::Integer), Some(Format::Int32)) => {
                whole(value).is_some_and(|number| i32::try_from(number).is_ok())
            }
            (Some(Type::Integer), _) => whole(value).is_some(),
            (Some(Type::Number), Some(Format::Float)) => as_float(value).abs() <= f64::from(f32::MAX),
            _ => true,
        };
        if fits {
            return None;
        }
        let kind = self.kind.map(Type::as_str).unwrap_or_default();
        let format = match (self.kind, self.format) {
            (Some(Type::Integer), Some(Format::Int32)) => " with format int32",
            (Some(Type::Integer), Some(Format::Int64)) => " with format int64",
            (Some(Type::Number), Some(Format::Float)) => " with format float",
            _ => " (default format)",
        };
        Some(Problem::Range(format!("{what} value must be of type {kind}{format} in {}", self.name)))
    }

    fn bound(
        &self,
        found: &mut Vec<Problem>,
        value: &Value,
        bound: f64,
        what: &str,
        words: &str,
        is_broken: impl Fn(std::cmp::Ordering) -> bool,
    ) {
        let range = self.range(&shortest(bound), what);
        let (ordering, printed) = match value {
            // Go compares whole numbers with the bound cut to a whole number.
            Value::Int(number) if range.is_none() => {
                let bound = truncate(bound);
                (number.cmp(&bound), bound.to_string())
            }
            _ => (
                as_float(value).partial_cmp(&bound).unwrap_or(std::cmp::Ordering::Equal),
                go_print::float(bound),
            ),
        };
        found.extend(range);
        if is_broken(ordering) {
            found.push(Problem::Limit(format!("should be {words} {printed}")));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go converts so")]
fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => 0.0,
    }
}

/// A float as a whole number, as Go converts it on amd64: what does not fit becomes the smallest.
#[expect(clippy::cast_possible_truncation, reason = "that is the conversion")]
fn truncate(number: f64) -> i64 {
    if number.abs() < 9_223_372_036_854_775_808.0 { number as i64 } else { i64::MIN }
}

/// A number as Go reads the decimal text of it: whole if it fits.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0 => {
            Some(truncate(*number))
        }
        _ => None,
    }
}

/// A float, as a whole number where it is one.
pub(super) fn shortest(number: f64) -> Value {
    match whole(&Value::Float(number)) {
        Some(whole) => Value::Int(whole),
        None => Value::Float(number),
    }
}

/// Whether a float is a whole number that JSON can hold exactly, within the tolerance that upstream has.
#[expect(clippy::float_cmp, reason = "the tolerance follows")]
pub(super) fn is_whole(number: f64) -> bool {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    const EPSILON: f64 = 1e-9;
    if !number.is_finite() || number.abs() > LIMIT {
        return false;
    }
    let nearest = number.round();
    number == nearest || (number - nearest).abs() < EPSILON * nearest.abs()
}
