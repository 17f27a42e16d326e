//! What a template sees: Go's values, as far as `text/template` can tell them apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Zoned;

/// A value of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An untyped nil: prints `<no value>` in Go, and is refused in strict rendering.
    Nil,
    /// A nil pointer to the named Go type, for example `.StatefulSet` of an action on a Deployment.
    NilPointer(&'static str),
    /// A value that is not known yet (the output of a phase that has not run), with a label to show in its place.
    Unknown(Arc<str>),
    /// A boolean.
    Bool(bool),
    /// An integer of any Go width.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    String(Arc<str>),
    /// Bytes, as in the `Data` of a Secret.
    Bytes(Arc<[u8]>),
    /// A `time.Time`.
    Time(Arc<Zoned>),
    /// A slice.
    List(Arc<Vec<Value>>),
    /// A map with string keys.
    Map(Arc<Map>),
    /// A Go struct: its fields are named in Go's way, and asking for one that it does not have is an error.
    Struct(Arc<Struct>),
}

/// A Go map with string keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// What `index` gives for a key that is absent.
    pub zero: Zero,
    /// The entries, in the order in which Go's templates range over them.
    pub entries: BTreeMap<String, Value>,
}

/// The zero value of a map's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Zero {
    /// `map[string]interface{}`: nil.
    #[default]
    Nil,
    /// `map[string]string`: the empty string.
    String,
    /// `map[string][]byte`: no bytes.
    Bytes,
    /// A map of structs that are not known yet: everything is there.
    Unknown,
}

/// A Go struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    /// Go's name of the type, for errors.
    pub type_name: &'static str,
    /// The fields in Go's order.
    pub fields: Vec<Field>,
}

/// A field of a Go struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name in templates.
    pub name: &'static str,
    /// The name in JSON; empty for a field that JSON leaves out.
    pub json: &'static str,
    /// Whether JSON leaves it out when it is empty.
    pub omit_empty: bool,
    /// What it holds.
    pub value: Value,
}

impl Field {
    /// A field that has the same name in JSON.
    pub fn new(name: &'static str, value: impl Into<Value>) -> Self {
        Self { name, json: name, omit_empty: false, value: value.into() }
    }

    /// A field with a JSON tag.
    pub fn tagged(name: &'static str, json: &'static str, value: impl Into<Value>) -> Self {
        Self { name, json, omit_empty: false, value: value.into() }
    }

    /// Whether JSON shows the field.
    fn in_json(&self) -> bool {
        let omitted = self.omit_empty && self.value.is_empty();
        !self.json.is_empty() && !omitted
    }

    /// A field with a JSON tag and `omitempty`.
    pub fn omitted(name: &'static str, json: &'static str, value: impl Into<Value>) -> Self {
        Self { name, json, omit_empty: true, value: value.into() }
    }
}

impl Value {
    /// A Go struct.
    pub fn structure(type_name: &'static str, fields: Vec<Field>) -> Self {
        Self::Struct(Arc::new(Struct { type_name, fields }))
    }

    /// A map whose elements have the given zero value.
    pub fn map(zero: Zero, entries: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self::Map(Arc::new(Map { zero, entries: entries.into_iter().collect() }))
    }

    /// A `map[string]string`.
    pub fn strings<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        Self::map(Zero::String, entries.into_iter().map(|(k, v)| (k.clone(), v.as_str().into())))
    }

    /// A slice.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// Go's name for the kind of the value, for errors.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Nil => "nil",
            Self::NilPointer(name) => name,
            Self::Unknown(_) => "unknown",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::String(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::Time(_) => "time.Time",
            Self::List(_) => "[]interface {}",
            Self::Map(map) => match map.zero {
                Zero::String => "map[string]string",
                Zero::Bytes => "map[string][]uint8",
                Zero::Nil | Zero::Unknown => "map[string]interface {}",
            },
            Self::Struct(s) => s.type_name,
        }
    }

    /// Whether `if` takes the value for true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil | Self::NilPointer(_) | Self::Unknown(_) => false,
            Self::Bool(b) => *b,
            Self::Int(n) => *n != 0,
            Self::Float(n) => *n != 0.0,
            Self::String(s) => !s.is_empty(),
            Self::Bytes(b) => !b.is_empty(),
            Self::List(l) => !l.is_empty(),
            Self::Map(m) => !m.entries.is_empty(),
            Self::Time(_) | Self::Struct(_) => true,
        }
    }

    /// Whether sprig's `default` and `empty` take the value for empty.
    pub fn is_empty(&self) -> bool {
        !matches!(self, Self::Struct(_) | Self::Unknown(_)) && !self.is_true()
    }

    /// The text that `fmt.Print` gives.
    pub fn print(&self) -> String {
        let mut out = String::new();
        self.print_to(&mut out);
        out
    }

    fn print_to(&self, out: &mut String) {
        match self {
            Self::Nil => out.push_str("<nil>"),
            Self::NilPointer(_) => out.push_str("<nil>"),
            Self::Unknown(label) => out.push_str(label),
            Self::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Self::Int(n) => {
                let _ = write!(out, "{n}");
            }
            Self::Float(n) => out.push_str(&go_float(*n)),
            Self::String(s) => out.push_str(s),
            Self::Bytes(bytes) => {
                print_seq(out, '[', ']', bytes.iter().map(|b| Value::Int(i64::from(*b))));
            }
            Self::Time(t) => out.push_str(&super::time::format(t, "2006-01-02 15:04:05.999999999 -0700 MST")),
            Self::List(items) => print_seq(out, '[', ']', items.iter().cloned()),
            Self::Map(map) => {
                out.push_str("map[");
                for (i, (key, value)) in map.entries.iter().enumerate() {
                    if i > 0 {
                        out.push(' ');
                    }
                    out.push_str(key);
                    out.push(':');
                    value.print_to(out);
                }
                out.push(']');
            }
            Self::Struct(s) => print_seq(out, '{', '}', s.fields.iter().map(|f| f.value.clone())),
        }
    }

    /// A document as a value; numbers become integers when they are whole, as Kubernetes decodes them.
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(b) => Self::Bool(*b),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(n) => Self::Int(n),
                None => Self::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(s) => s.as_str().into(),
            serde_json::Value::Array(items) => Self::list(items.iter().map(Self::from_json)),
            serde_json::Value::Object(map) => {
                Self::map(Zero::Nil, map.iter().map(|(k, v)| (k.clone(), Self::from_json(v))))
            }
        }
    }

    /// The value as a document, with the names that Go's JSON tags give. Bytes are base64, times RFC 3339.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Nil | Self::NilPointer(_) => Json::Null,
            Self::Unknown(label) => Json::String(label.to_string()),
            Self::Bool(b) => Json::Bool(*b),
            Self::Int(n) => (*n).into(),
            Self::Float(n) => serde_json::Number::from_f64(*n).map_or(Json::Null, Json::Number),
            Self::String(s) => Json::String(s.to_string()),
            Self::Bytes(b) => Json::String(base64::Engine::encode(&base64::prelude::BASE64_STANDARD, b)),
            Self::Time(t) => Json::String(super::time::format(t, super::time::RFC3339_NANO)),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(map) => {
                Json::Object(map.entries.iter().map(|(k, v)| (k.clone(), v.to_json())).collect())
            }
            Self::Struct(s) => Json::Object(
                s.fields
                    .iter()
                    .filter(|f| f.in_json())
                    .map(|f| (f.json.to_owned(), f.value.to_json()))
                    .collect(),
            ),
        }
    }

    /// The JSON text that Go's `encoding/json` writes: struct fields in their order, map keys sorted, and `<`, `>`, `&`
    /// and the two line separators escaped.
    pub fn to_go_json(&self) -> String {
        let mut out = String::new();
        self.go_json_to(&mut out);
        out
    }

    fn go_json_to(&self, out: &mut String) {
        match self {
            Self::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.go_json_to(out);
                }
                out.push(']');
            }
            Self::Map(map) => {
                let entries = map.entries.iter().map(|(k, v)| (k.as_str(), v));
                go_json_object(out, entries);
            }
            Self::Struct(s) => {
                let kept = s.fields.iter().filter(|f| f.in_json());
                go_json_object(out, kept.map(|f| (f.json, &f.value)));
            }
            Self::Float(n) => out.push_str(&go_json_float(*n)),
            other => match other.to_json() {
                serde_json::Value::String(s) => go_json_string(out, &s),
                scalar => out.push_str(&scalar.to_string()),
            },
        }
    }
}

fn go_json_object<'a>(out: &mut String, entries: impl Iterator<Item = (&'a str, &'a Value)>) {
    out.push('{');
    for (i, (key, value)) in entries.enumerate() {
        if i > 0 {
            out.push(',');
        }
        go_json_string(out, key);
        out.push(':');
        value.go_json_to(out);
    }
    out.push('}');
}

fn go_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn print_seq(out: &mut String, open: char, close: char, items: impl Iterator<Item = Value>) {
    out.push(open);
    for (i, item) in items.enumerate() {
        if i > 0 {
            out.push(' ');
        }
        item.print_to(out);
    }
    out.push(close);
}

/// `%v` of a float: the shortest digits, with an exponent below -4 and above 5.
pub(crate) fn go_float(n: f64) -> String {
    if n.is_nan() {
        return "NaN".to_owned();
    }
    if n.is_infinite() {
        return if n > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if n == 0.0 {
        return if n.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{n:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        format!("{n}")
    } else {
        format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }
}

fn go_json_float(n: f64) -> String {
    if !n.is_finite() {
        return "null".to_owned();
    }
    if n == 0.0 || (1e-6..1e21).contains(&n.abs()) {
        format!("{n}")
    } else {
        go_float(n).replace("e-0", "e-")
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}
impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::String(text.as_str().into())
    }
}
impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}
impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}
impl From<f64> for Value {
    fn from(n: f64) -> Self {
        Self::Float(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_go_does() {
        let value = Value::from_json(&serde_json::json!({"b": [1, 2.5, true, null], "a": {"x": "y"}}));
        assert_eq!(value.print(), "map[a:map[x:y] b:[1 2.5 true <nil>]]");
        assert_eq!(Value::Bytes(b"ab".as_slice().into()).print(), "[97 98]");
        for (n, text) in [(1e5, "100000"), (1e6, "1e+06"), (1e21, "1e+21"), (0.00001, "1e-05"), (0.5, "0.5")]
        {
            assert_eq!(Value::Float(n).print(), text);
        }
    }

    #[test]
    fn json_is_escaped_as_go_escapes_it() {
        let value = Value::structure(
            "T",
            vec![
                Field::tagged("B", "b", "<a&b>\u{1}"),
                Field::omitted("Empty", "empty", ""),
                Field::new("A", Value::NilPointer("X")),
            ],
        );
        assert_eq!(value.to_go_json(), "{\"b\":\"\\u003ca\\u0026b\\u003e\\u0001\",\"A\":null}");
    }
}
