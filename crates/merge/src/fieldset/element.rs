//! One step of a path through a document, in the order and the spellings of structured-merge-diff's `fieldpath`.

use pilothouse_value::go_json;
use pilothouse_value::go_print::{self, Style};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value, field, parse};
use std::cmp::Ordering;
use std::fmt;

/// What selects a part of its parent. Fields come before items with keys, these before values, these before positions.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of an object.
    Field(Box<str>),
    /// The item of a list that has these values in these fields; the fields are sorted by name.
    Key(Box<[(Box<str>, Value)]>),
    /// The item of a set that has this value.
    Value(Value),
    /// The item at this position.
    Index(i64),
}

/// Text that is no path element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElementError {
    /// The kind of element is not known; whoever reads sets of fields skips it, as it may be of a later version.
    #[error("unknown path element type")]
    Unknown,
    /// Anything else.
    #[error("{0}")]
    Malformed(String),
}

impl PathElement {
    /// A field.
    pub fn field(name: impl Into<Box<str>>) -> Self {
        Self::Field(name.into())
    }

    /// An item with these values of its keys, in any order.
    pub fn key(keys: impl IntoIterator<Item = (Box<str>, Value)>) -> Self {
        let mut keys: Box<[(Box<str>, Value)]> = keys.into_iter().collect();
        keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        Self::Key(keys)
    }

    /// Reads the spelling that stands in `FieldsV1`: `f:NAME`, `k:{…}`, `v:…` or `i:N`.
    ///
    /// # Errors
    /// See [`ElementError`].
    pub fn parse(text: &str) -> Result<Self, ElementError> {
        let malformed = |why: String| ElementError::Malformed(why);
        let bytes = text.as_bytes();
        let (Some(kind), Some(colon)) = (bytes.first(), bytes.get(1)) else {
            return Err(malformed("key must be 2 characters long:".into()));
        };
        let rest = match text.get(2..) {
            Some(rest) if *colon == b':' => rest,
            _ => return Err(malformed(format!("missing colon: {text}"))),
        };
        let json = || {
            let parsed = parse::json(rest.as_bytes()).map_err(|why| malformed(why.to_string()))?;
            Ok(as_read(parsed.value))
        };
        match kind {
            b'f' => Ok(Self::field(rest)),
            b'v' => json().map(Self::Value),
            b'k' => match json()? {
                Value::Object(keys) => Ok(Self::key(keys)),
                Value::Null => Ok(Self::key([])),
                other => Err(malformed(format!("expect {{ or n, but found {}", other.kind_name()))),
            },
            b'i' => match rest.parse() {
                Ok(index) => Ok(Self::Index(index)),
                Err(_) => {
                    Err(malformed(format!("strconv.Atoi: parsing {}: invalid syntax", field::quote(rest))))
                }
            },
            _ => Err(ElementError::Unknown),
        }
    }

    /// The spelling that stands in `FieldsV1`.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Writes the spelling that stands in `FieldsV1`, in the place of what was there.
    pub(crate) fn write(&self, text: &mut String) {
        text.clear();
        match self {
            Self::Field(name) => {
                text.reserve_exact(name.len() + 2);
                text.push_str("f:");
                text.push_str(name);
            }
            Self::Key(keys) => {
                text.push_str("k:{");
                for (place, (name, value)) in keys.iter().enumerate() {
                    if place > 0 {
                        text.push(',');
                    }
                    text.push_str(&Value::from(&**name).to_json());
                    text.push(':');
                    write_json(value, text);
                }
                text.push('}');
            }
            Self::Value(value) => {
                text.push_str("v:");
                write_json(value, text);
            }
            Self::Index(index) => {
                text.push_str("i:");
                text.push_str(&index.to_string());
            }
        }
    }

    /// Whether a text is the spelling in which an element would be written again. `false` when in doubt: only plain texts,
    /// and whole numbers that a floating number can hold, are looked at.
    pub(crate) fn is_as_written(text: &str) -> bool {
        match text.split_at_checked(2) {
            Some(("f:", _)) => true,
            Some(("v:", value)) => after_plain(value) == Some(""),
            Some(("k:", keys)) => keys.strip_prefix('{').is_some_and(|keys| are_plain_keys(keys, "")),
            _ => false,
        }
    }
}

/// What follows a plain value.
fn after_plain(text: &str) -> Option<&str> {
    if let Some(string) = text.strip_prefix('"') {
        let end =
            string.find(|c: char| matches!(c, '"' | '\\' | '<' | '>' | '&') || !(' '..='~').contains(&c))?;
        return string.get(end..)?.strip_prefix('"');
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    ((1..16).contains(&number.len()) && (number == "0" || !number.starts_with('0'))).then_some(rest)
}

/// Whether keys with plain values come in their order, each after `last`, until the brace that closes them.
fn are_plain_keys(text: &str, last: &str) -> bool {
    let Some(after) = after_plain(text).filter(|_| text.starts_with('"')) else { return false };
    let name = text.get(..text.len() - after.len()).unwrap_or_default();
    match after.strip_prefix(':').and_then(after_plain) {
        Some("}") => last < name,
        Some(rest) => last < name && rest.strip_prefix(',').is_some_and(|rest| are_plain_keys(rest, name)),
        None => false,
    }
}

/// The reader of elements knows floating numbers only, so what it reads prints as such.
fn as_read(value: Value) -> Value {
    match value {
        Value::Int(number) => Value::Float(number as f64),
        Value::Array(items) => deeper(|| Value::Array(items.into_iter().map(as_read).collect())),
        Value::Object(fields) => {
            deeper(|| Value::Object(fields.into_iter().map(|(name, value)| (name, as_read(value))).collect()))
        }
        other => other,
    }
}

/// JSON as the elements' writer has it: characters that HTML gives a meaning are escaped in values.
fn write_json(value: &Value, text: &mut String) {
    text.push_str(&go_print::to_text(value, &Json));
}

struct Json;

impl Style for Json {
    const LIST: [&str; 3] = ["[", ",", "]"];
    const OBJECT: [&str; 4] = ["{", ":", ",", "}"];

    fn scalar(&self, value: &Value, text: &mut String) {
        match value {
            Value::Float(number) => {
                let mut bytes = Vec::new();
                go_json::float(*number, &mut bytes);
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            Value::String(string) => self.name(string, text),
            other => text.push_str(&other.to_json()),
        }
    }

    fn name(&self, name: &str, text: &mut String) {
        for c in Value::from(name).to_json().chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    text.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => text.push(c),
            }
        }
    }
}

/// The element as it stands in a printed path: `.name`, `[key="a"]`, `[="a"]`, `[0]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (place, (name, value)) in keys.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", go_print::to_text(value, &Printed))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", go_print::to_text(value, &Printed)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

struct Printed;

impl Style for Printed {
    const LIST: [&str; 3] = ["[", ",", "]"];
    const OBJECT: [&str; 4] = ["", "=", "", ""];

    fn scalar(&self, value: &Value, out: &mut String) {
        match value {
            Value::Float(number) => out.push_str(&go_print::float(*number)),
            Value::String(text) => out.push_str(&field::quote(text)),
            other => out.push_str(&other.to_json()),
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                for ((name, value), (other_name, other)) in a.iter().zip(b.iter()) {
                    let order = name.cmp(other_name).then_with(|| compare(value, other));
                    if order.is_ne() {
                        return order;
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// The order of values: numbers (whole and floating alike) before strings, booleans, lists, objects and null.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => deeper(|| {
            let mut orders = a.iter().zip(b).map(|(a, b)| compare(a, b));
            orders.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }),
        (Value::Object(a), Value::Object(b)) => deeper(|| compare_objects(a, b)),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// The first difference in the order of the names decides. An object that lacks a name is the greater one, unless it
/// has no more names at all.
fn compare_objects(a: &Map, b: &Map) -> Ordering {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some((name, value)), Some((other_name, other))) => match name.cmp(other_name) {
                Ordering::Less => return Ordering::Less,
                Ordering::Greater => return Ordering::Greater,
                Ordering::Equal => {
                    let order = compare(value, other);
                    if order.is_ne() {
                        return order;
                    }
                }
            },
        }
        left.next();
        right.next();
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Spelled(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Whether two values are the same to structured merge: numbers by their amount, everything else by its shape.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a == b || compare(a, b).is_eq()
}
