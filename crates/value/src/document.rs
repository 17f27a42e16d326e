//! The document: JSON's six shapes, with whole numbers kept apart from floating ones as Kubernetes does.

use crate::stack::deeper;
use crate::{List, Map};

/// A JSON document. Whole numbers that fit in an `i64` are [`Value::Int`]; every other number is [`Value::Float`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number; never NaN or infinite when it came from JSON.
    Float(f64),
    /// A number that is spelled otherwise than it would be written, as the text has it. Documents of unknown kinds have none:
    /// see [`crate::parse::json_spelled`].
    Spelled(Box<str>),
    /// A string.
    String(String),
    /// A list.
    Array(List),
    /// An object.
    Object(Map),
}

impl Value {
    /// An empty object.
    pub const fn object() -> Self {
        Self::Object(Map::new())
    }

    /// The value under `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The value under `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.as_object_mut()?.get_mut(key)
    }

    /// The value that a chain of keys leads to.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The value that a chain of keys leads to, to be changed in place.
    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Value> {
        path.iter().try_fold(self, |value, key| value.get_mut(key))
    }

    /// The string that a chain of keys leads to.
    pub fn str_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.as_str()
    }

    /// The whole number that a chain of keys leads to.
    pub fn i64_at(&self, path: &[&str]) -> Option<i64> {
        self.at(path)?.as_i64()
    }

    /// The list that a chain of keys leads to; an empty one where there is none.
    pub fn items_at(&self, path: &[&str]) -> &[Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Puts `value` where a chain of keys leads, making the objects on the way. What stands in the way and is no
    /// object is replaced by one.
    pub fn set(&mut self, path: &[&str], value: impl Into<Value>) {
        *self.entry(path) = value.into();
    }

    /// The place a chain of keys leads to, made (as null) together with the objects on the way where missing.
    pub fn entry(&mut self, path: &[&str]) -> &mut Value {
        let mut here = self;
        for key in path {
            here = here.make_object().or_insert_with(key, || Value::Null);
        }
        here
    }

    /// This value as an object; anything else becomes an empty one first.
    pub fn make_object(&mut self) -> &mut Map {
        if !matches!(self, Self::Object(_)) {
            *self = Self::object();
        }
        match self {
            Self::Object(map) => map,
            _ => unreachable!("made an object above"),
        }
    }

    /// Takes out the value that a chain of keys leads to.
    pub fn take(&mut self, path: &[&str]) -> Option<Value> {
        let (last, parents) = path.split_last()?;
        self.at_mut(parents)?.as_object_mut()?.remove(last)
    }

    /// Whether this is null.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(s) = self { Some(s) } else { None }
    }

    /// The whole number; a floating one counts when it has no fraction and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(*i),
            // 2^63 itself does not fit, and every float below it that is whole does.
            Self::Float(f) if f.fract() == 0.0 && *f >= -(2f64.powi(63)) && *f < 2f64.powi(63) => {
                Some(*f as i64)
            }
            _ => None,
        }
    }

    /// The number as a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(i) => Some(*i as f64),
            Self::Float(f) => Some(*f),
            Self::Spelled(literal) => literal.parse().ok(),
            _ => None,
        }
    }

    /// The boolean.
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(b) = self { Some(*b) } else { None }
    }

    /// The list.
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        if let Self::Array(a) = self { Some(a) } else { None }
    }

    /// The list, to be changed in place.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Self::Array(a) = self { Some(a) } else { None }
    }

    /// The object.
    pub const fn as_object(&self) -> Option<&Map> {
        if let Self::Object(m) = self { Some(m) } else { None }
    }

    /// The object, to be changed in place.
    pub const fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Self::Object(m) = self { Some(m) } else { None }
    }

    /// What this is, in the words of JSON schema: `null`, `boolean`, `integer`, `number`, `string`, `array`, `object`.
    pub const fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "integer",
            Self::Float(_) | Self::Spelled(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The canonical JSON text: compact, keys in byte order.
    pub fn to_json(&self) -> String {
        let mut out = Vec::with_capacity(256);
        self.write_json(&mut out);
        // Strings are UTF-8, and all the rest is ASCII.
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the canonical JSON text to `out`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        crate::go_json::write_plain(self, out);
    }

    /// The JSON text with two spaces of indentation, as `kubectl get -o json` and `?pretty=true` print it.
    pub fn to_json_pretty(&self) -> String {
        let mut compact = Vec::with_capacity(256);
        self.write_json(&mut compact);
        String::from_utf8(crate::go_json::indent(&compact)).unwrap_or_default()
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(b) => Self::Bool(b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(i) => Self::Int(i),
                None => Self::Float(n.as_f64().unwrap_or_default()),
            },
            serde_json::Value::String(s) => Self::String(s),
            serde_json::Value::Array(a) => deeper(|| Self::Array(a.into_iter().map(Self::from).collect())),
            serde_json::Value::Object(m) => {
                deeper(|| Self::Object(m.into_iter().map(|(k, v)| (k, Self::from(v))).collect()))
            }
        }
    }
}

macro_rules! from {
    ($($from:ty => |$it:ident| $make:expr),* $(,)?) => {$(
        impl From<$from> for Value {
            fn from($it: $from) -> Self {
                $make
            }
        }
    )*};
}

from! {
    &str => |s| Self::String(s.to_owned()),
    String => |s| Self::String(s),
    &String => |s| Self::String(s.clone()),
    Box<str> => |s| Self::String(s.into()),
    bool => |b| Self::Bool(b),
    i64 => |i| Self::Int(i),
    i32 => |i| Self::Int(i.into()),
    u32 => |i| Self::Int(i.into()),
    u16 => |i| Self::Int(i.into()),
    f64 => |f| Self::Float(f),
    List => |l| Self::Array(l),
    Map => |m| Self::Object(m),
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Self::Array(iter.into_iter().map(Into::into).collect())
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_json())
    }
}
