//! Amounts that were given with more digits than upstream counts in 64 bits. It judges them otherwise than the same amount as
//! it is written once it was read: `100000000000000000000` is not whole to it, and `100E` is.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Quantity, Value};

/// Digits that upstream still counts in 64 bits.
const DIGITS: usize = 18;

/// The amounts of a document whose digits matter, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(Vec<(String, String)>);

impl Amounts {
    /// Looks for them in a document that is about to be read.
    pub fn of(given: &Value) -> Amounts {
        let mut found = Amounts::default();
        found.look(given);
        found
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts the digits back into what was read.
    #[must_use]
    pub fn respell(&self, read: &Value) -> Value {
        let mut respelled = read.clone();
        self.put(&mut respelled);
        respelled
    }

    fn look(&mut self, value: &Value) {
        match value {
            Value::Array(items) => deeper(|| items.iter().for_each(|item| self.look(item))),
            Value::Object(map) => deeper(|| {
                for (key, member) in map.iter() {
                    if has_amounts(key) {
                        self.take(member);
                    } else {
                        self.look(member);
                    }
                }
            }),
            _ => {}
        }
    }

    fn take(&mut self, amounts: &Value) {
        for amount in amounts.as_object().into_iter().flat_map(|map| map.values()) {
            let given = amount.as_str().map(|text| text.trim().to_owned()).or_else(|| amount.literal());
            let Some(given) = given.filter(|given| given.len() > DIGITS) else { continue };
            let read = Quantity::canonical(&given).ok();
            if let Some(read) = read.filter(|read| Quantity::is_whole(read) != Quantity::is_whole(&given)) {
                self.0.push((read, given));
            }
        }
    }

    fn put(&self, value: &mut Value) {
        match value {
            Value::Array(items) => deeper(|| items.iter_mut().for_each(|item| self.put(item))),
            Value::Object(map) => deeper(|| {
                for (key, member) in map.iter_mut() {
                    if !has_amounts(key) {
                        self.put(member);
                        continue;
                    }
                    let Value::Object(amounts) = member else { continue };
                    for amount in amounts.values_mut() {
                        let is_this = |(read, _): &&(String, String)| amount.as_str() == Some(read);
                        if let Some((_, given)) = self.0.iter().find(is_this) {
                            *amount = given.as_str().into();
                        }
                    }
                }
            }),
            _ => {}
        }
    }
}

/// Whether the members of a member of this name are the amounts that warnings look at.
fn has_amounts(key: &str) -> bool {
    matches!(key, "limits" | "requests" | "overhead")
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn digits_beyond_64_bits_are_put_back_where_they_matter() {
        let limits =
            |amount: Value| json!({"spec": {"resources": {"limits": {"memory": amount}}, "x": "100E"}});
        let given = Amounts::of(&limits("100000000000000000000".into()));
        let respelled = given.respell(&limits("100E".into()));
        assert_eq!(respelled, limits("100000000000000000000".into()));
        assert!(Amounts::of(&limits("100E".into())).is_empty());
        assert!(Amounts::of(&limits("0.00000000000000000000".into())).is_empty());
    }
}
