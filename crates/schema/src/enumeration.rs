//! The values that a schema allows, where it lists them. They are looked up, so that a long list of them costs the items of a long
//! document no more than a short one.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::OnceLock;

use pilothouse_value::Value;

/// So few are compared one by one.
const FEW: usize = 16;

/// Values in the order in which the schema lists them. It is used like the list that it holds.
#[derive(Debug, Clone, Default)]
pub struct Enumeration {
    values: Vec<Value>,
    table: OnceLock<Table>,
}

/// The values by what they are.
#[derive(Debug, Clone, Default)]
struct Table {
    texts: HashSet<String>,
    whole: HashSet<i64>,
    /// By their bits; zero has one sign.
    floats: HashSet<u64>,
    /// Where each of those that can only be compared is.
    others: Vec<usize>,
}

impl Enumeration {
    /// Whether a value is one of these. Go converts numbers to the type of the enumerated one first; nothing is null.
    pub(crate) fn contains(&self, value: &Value) -> bool {
        if value.is_null() {
            return false;
        }
        if self.values.len() <= FEW {
            return self.values.iter().any(|one| is_enumerated(value, one));
        }
        let table = self.table.get_or_init(|| Table::of(&self.values));
        match value {
            Value::String(text) => table.texts.contains(text),
            Value::Int(number) => {
                table.whole.contains(number) || table.floats.contains(&bits(as_float(*number)))
            }
            Value::Float(number) => {
                table.floats.contains(&bits(*number)) || table.whole.contains(&as_whole(*number))
            }
            _ => table.others.iter().filter_map(|at| self.values.get(*at)).any(|one| one == value),
        }
    }
}

impl Table {
    fn of(values: &[Value]) -> Table {
        let mut table = Table::default();
        for (at, value) in values.iter().enumerate() {
            match value {
                Value::String(text) => {
                    table.texts.insert(text.clone());
                }
                Value::Int(number) => {
                    table.whole.insert(*number);
                }
                Value::Float(number) => {
                    table.floats.insert(bits(*number));
                }
                _ => table.others.push(at),
            }
        }
        table
    }
}

fn bits(number: f64) -> u64 {
    // Both zeros are the same.
    (number + 0.0).to_bits()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "Go converts so, and the result is compared as Go compares it"
)]
fn as_whole(number: f64) -> i64 {
    number as i64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Go converts so, and the result is compared as Go compares it"
)]
fn as_float(number: i64) -> f64 {
    number as f64
}

/// Whether a value is this one of an enumeration.
fn is_enumerated(value: &Value, one: &Value) -> bool {
    match (value, one) {
        (Value::Float(value), Value::Int(one)) => as_whole(*value) == *one,
        (Value::Int(value), Value::Float(one)) => as_float(*value) == *one,
        (value, one) => value == one,
    }
}

impl PartialEq for Enumeration {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Deref for Enumeration {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.values
    }
}

impl From<Vec<Value>> for Enumeration {
    fn from(values: Vec<Value>) -> Self {
        Self { values, table: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn a_long_enumeration_holds_what_a_short_one_does() {
        let values = [json!("a"), json!(1), json!(2.5), json!(0), json!(true), json!({"a": 1}), Value::Null];
        let short = Enumeration::from(values.to_vec());
        let more = (0..FEW).map(|at| json!(format!("more {at}")));
        let long = Enumeration::from(values.iter().cloned().chain(more).collect::<Vec<_>>());
        let asked = [
            json!("b"),
            json!(3),
            json!(1.5),
            json!(1.0),
            json!(-0.0),
            json!(false),
            json!({"a": 2}),
            json!([]),
        ];
        for value in values.iter().chain(&asked) {
            assert_eq!(long.contains(value), short.contains(value), "{value:?}");
        }
        assert!(long.contains(&json!(1.5)), "a fraction is cut off, as Go does");
    }
}
