//! Documents through serde.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::map::Builder;
use crate::stack::deeper;
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
            Self::Array(a) => deeper(|| serializer.collect_seq(&**a)),
            Self::Object(m) => deeper(|| m.serialize(serializer)),
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
        deserializer.deserialize_any(Reader)
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

struct Reader;

impl<'de> Visitor<'de> for Reader {
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
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E: Error>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E: Error>(self, u: u64) -> Result<Value, E> {
        Ok(i64::try_from(u).map_or(Value::Float(u as f64), Value::Int))
    }

    fn visit_f64<E: Error>(self, f: f64) -> Result<Value, E> {
        // The reader makes a float of `-0`, which is the whole number zero.
        if f == 0.0 && f.is_sign_negative() {
            return Ok(Value::Int(0));
        }
        if f.is_finite() { Ok(Value::Float(f)) } else { Err(E::custom("NaN and infinity are not allowed")) }
    }

    fn visit_str<E: Error>(self, s: &str) -> Result<Value, E> {
        Ok(Value::String(s.to_owned()))
    }

    fn visit_string<E: Error>(self, s: String) -> Result<Value, E> {
        Ok(Value::String(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        deeper(|| {
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                items.push(item);
            }
            Ok(Value::Array(items.into()))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        deeper(|| {
            let mut map = Builder::default();
            while let Some((key, value)) = access.next_entry::<String, Value>()? {
                map.insert(key.into(), value);
            }
            Ok(Value::Object(map.finish()))
        })
    }
}
