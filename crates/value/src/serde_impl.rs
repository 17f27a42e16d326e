//! Documents through serde, and the seed that also notices duplicate keys, which strict decoding reports.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::map::Builder;
use crate::{Map, Value};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Int(i) => serializer.serialize_i64(*i),
            // Go prints a float without a fraction as a whole number.
            Self::Float(f) if f.fract() == 0.0 && f.abs() < 1e15 => serializer.serialize_i64(*f as i64),
            Self::Float(f) => serializer.serialize_f64(*f),
            Self::Spelled(literal) => match Self::number(literal) {
                Some(number) => number.serialize(serializer),
                None => serializer.serialize_f64(f64::INFINITY.copysign(literal.parse().unwrap_or_default())),
            },
            Self::String(s) => serializer.serialize_str(s),
            Self::Array(a) => serializer.collect_seq(a),
            Self::Object(m) => m.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut scan = Scan::default();
        Seed(&mut scan).deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(map) => Ok(map),
            other => Err(D::Error::custom(format_args!("expected an object, found {}", other.kind_name()))),
        }
    }
}

/// How many duplicate keys are remembered; a body made of nothing else must not grow the report without bound.
const MAX_DUPLICATES: usize = 100;
/// How long their paths may be together: each may begin with the same long key.
const MAX_DUPLICATE_BYTES: usize = 1 << 20;

/// Where the parser is, and which keys came twice.
#[derive(Default)]
pub(crate) struct Scan<'a> {
    pub(crate) path: String,
    pub(crate) duplicates: Vec<String>,
    /// Is shown the paths of all keys as they come.
    pub(crate) show: Option<&'a mut dyn FnMut(&str)>,
    /// Whether an object whose key comes again is filled from both.
    pub(crate) merges: bool,
    /// The literals of the numbers that are no short whole ones, in the order of the text, if they are to be kept.
    pub(crate) literals: Option<std::vec::IntoIter<&'a str>>,
    /// Whether there was a number that is no short whole one.
    pub(crate) has_odd_numbers: bool,
    /// Whether there was a zero with a sign.
    pub(crate) has_negative_zero: bool,
    /// How many more levels are read; what is nested deeper is replaced by [`CUT`]. Without a number nothing is.
    pub(crate) levels: Option<usize>,
}

/// What stands for values that are nested too deeply to be read. No text of a client is this by chance.
pub(crate) const CUT: &str = "\u{0}nested too deeply\u{0}";

impl Scan<'_> {
    /// Goes one level down; whether there is one.
    fn enter(&mut self) -> bool {
        match &mut self.levels {
            Some(0) => false,
            Some(levels) => {
                *levels -= 1;
                true
            }
            None => true,
        }
    }

    /// A number that may have several spellings.
    fn odd_number(&mut self, read: Value) -> Value {
        self.has_odd_numbers = true;
        match &mut self.literals {
            Some(literals) => literals.next().map_or(read, Value::spelled),
            None => read,
        }
    }

    fn leave(&mut self) {
        if let Some(levels) = &mut self.levels {
            *levels += 1;
        }
    }
}

pub(crate) struct Seed<'a, 's>(pub(crate) &'a mut Scan<'s>);

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E: Error>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E: Error>(self, u: u64) -> Result<Value, E> {
        Ok(match i64::try_from(u) {
            Ok(number) => Value::Int(number),
            Err(_) => self.0.odd_number(Value::Float(u as f64)),
        })
    }

    fn visit_f64<E: Error>(self, f: f64) -> Result<Value, E> {
        if !f.is_finite() {
            return Err(E::custom("NaN and infinity are not allowed"));
        }
        if f == 0.0 && f.is_sign_negative() {
            // The reader makes the same of `-0`, which is the whole number zero, and of `-0.0`, which is not.
            self.0.has_negative_zero = true;
        }
        Ok(self.0.odd_number(Value::Float(f)))
    }

    fn visit_str<E: Error>(self, s: &str) -> Result<Value, E> {
        Ok(Value::String(s.to_owned()))
    }

    fn visit_string<E: Error>(self, s: String) -> Result<Value, E> {
        Ok(Value::String(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        if !self.0.enter() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(CUT.into());
        }
        let mut items = Vec::new();
        let depth = self.0.path.len();
        loop {
            use std::fmt::Write as _;
            let _infallible = write!(self.0.path, "[{}]", items.len());
            let next = seq.next_element_seed(Seed(self.0))?;
            self.0.path.truncate(depth);
            match next {
                Some(item) => items.push(item),
                None => {
                    self.0.leave();
                    return Ok(Value::Array(items));
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        if !self.0.enter() {
            while access.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(CUT.into());
        }
        let mut map = Builder::default();
        let depth = self.0.path.len();
        while let Some(key) = access.next_key::<String>()? {
            if depth > 0 {
                self.0.path.push('.');
            }
            self.0.path.push_str(&key);
            if let Some(show) = &mut self.0.show {
                show(&self.0.path);
            }
            let mut value = access.next_value_seed(Seed(self.0))?;
            if self.0.merges
                && let Some(Value::Object(earlier)) = map.get_mut(&key)
                && let Value::Object(later) = &mut value
            {
                let mut merged = std::mem::take(earlier);
                merge(&mut merged, std::mem::take(later));
                value = Value::Object(merged);
            }
            if map.insert(key.into(), value).is_some() && self.0.duplicates.len() < MAX_DUPLICATES {
                let bytes: usize = self.0.duplicates.iter().map(String::len).sum();
                if !self.0.duplicates.contains(&self.0.path)
                    && bytes + self.0.path.len() <= MAX_DUPLICATE_BYTES
                {
                    self.0.duplicates.push(self.0.path.clone());
                }
            }
            self.0.path.truncate(depth);
        }
        self.0.leave();
        Ok(Value::Object(map.finish()))
    }
}

fn merge(into: &mut Map, from: Map) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(earlier)), Value::Object(later)) => merge(earlier, later),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
