//! Field errors: which field of an object is wrong, how, and why, with the texts of apimachinery's
//! `util/validation/field`.

use std::fmt;
use std::sync::Arc;

use crate::{Value, go_print};

/// Where in an object a field is, as errors print it: `spec.containers[0].env[KEY].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(String);

impl Path {
    /// The object itself.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// A field of the object.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A field of what this path names.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// An element of the list that this path names.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of the map that this path names.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// Whether this names the object itself.
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // apimachinery prints a nil path so.
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The value refers to something that does not exist.
    NotFound,
    /// A required value is missing.
    Required,
    /// A value that must be unique is not.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is not one of an enumerated set.
    NotSupported,
    /// The field may not be set, or not be set so.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// There are too many elements.
    TooMany,
    /// The value has the wrong type.
    TypeInvalid,
    /// Validation itself failed.
    Internal,
}

impl ErrorKind {
    /// The `reason` of a cause in a `Status`.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    const fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::Internal)
    }
}

/// One field error. `Display` gives `path: Kind: value: detail` as upstream prints it.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Which field.
    pub path: Path,
    /// The value that was found; null where the kind shows none.
    pub value: Value,
    /// Why, or an empty string.
    pub detail: String,
    /// How the text shows the value, if its kind shows one.
    pub shown: Shown,
}

/// How the text of an error shows the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// As JSON.
    #[default]
    Value,
    /// Not at all: it is too large, or of no use in a text.
    Nothing,
    /// So: where upstream prints a form of the value that is no document.
    Text(Arc<str>),
}

impl Error {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, path: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { kind, path: path.clone(), value: value.into(), detail: detail.into(), shown: Shown::Value }
    }

    /// The same error without the value, which is too large or of no use in a text.
    #[must_use]
    pub fn without_value(mut self) -> Self {
        self.value = Value::Null;
        self.shown = Shown::Nothing;
        self
    }

    /// The same error with the value shown as `text`.
    #[must_use]
    pub fn showing(mut self, text: impl Into<Arc<str>>) -> Self {
        self.shown = Shown::Text(text.into());
        self
    }

    /// A required value is missing.
    pub fn required(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Required, path, Value::Null, detail)
    }

    /// The value is malformed.
    pub fn invalid(path: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, path, value, detail)
    }

    /// The value has the wrong type.
    pub fn type_invalid(path: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::TypeInvalid, path, value, detail)
    }

    /// The value is not one of `supported`.
    pub fn unsupported<'a>(
        path: &Path,
        value: impl Into<Value>,
        supported: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let quoted: Vec<String> = supported.into_iter().map(quote).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(ErrorKind::NotSupported, path, value, detail)
    }

    /// The field may not be set.
    pub fn forbidden(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, path, Value::Null, detail)
    }

    /// The value must be unique and is not.
    pub fn duplicate(path: &Path, value: impl Into<Value>) -> Self {
        Self::new(ErrorKind::Duplicate, path, value, "")
    }

    /// The value refers to something that does not exist.
    pub fn not_found(path: &Path, value: impl Into<Value>) -> Self {
        Self::new(ErrorKind::NotFound, path, value, "")
    }

    /// The value is longer than `max` bytes.
    pub fn too_long(path: &Path, max: usize) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        Self::new(ErrorKind::TooLong, path, Value::Null, format!("may not be more than {max} {unit}"))
    }

    /// There are `actual` elements, and `max` are allowed.
    pub fn too_many(path: &Path, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let actual = i64::try_from(actual).unwrap_or(i64::MAX);
        Self::new(ErrorKind::TooMany, path, actual, format!("must have at most {max} {unit}"))
    }

    /// Validation itself failed.
    pub fn internal(path: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, path, Value::Null, detail)
    }

    /// The text without the path: the `message` of a cause in a `Status`.
    pub fn body(&self) -> String {
        let mut text = self.kind.text().to_owned();
        if self.kind.shows_value() && self.shown != Shown::Nothing {
            text.push_str(": ");
            match (&self.shown, &self.value) {
                (Shown::Text(shown), _) => text.push_str(shown),
                // Those that have few values have a type of their own in Go, which is shown as JSON has it.
                (_, Value::String(s)) if self.kind == ErrorKind::NotSupported => {
                    let mut shown = Vec::new();
                    crate::go_json::string(s, &mut shown);
                    text.push_str(&String::from_utf8_lossy(&shown));
                }
                (_, Value::String(s)) => text.push_str(&quote(s)),
                (_, other @ (Value::Array(_) | Value::Object(_))) => {
                    text.push_str(&escape_html(other.to_json()));
                }
                (_, Value::Float(number)) => text.push_str(&go_print::float(*number)),
                (_, other) => text.push_str(&other.to_json()),
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

/// JSON as Go's encoder writes it: harmless inside of HTML.
pub fn escape_html(json: String) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// A string as Go's `%q` prints it, for the characters that occur in Kubernetes' errors.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for chunk in crate::octets::bytes(text).utf8_chunks() {
        quote_into(chunk.valid(), &mut out);
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

fn quote_into(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0b' => out.push_str("\\v"),
            '\x0c' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c if (c as u32) < 0x80 => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
}

/// Whether a character is one of those that Go's `unicode.IsPrint` lets through: letters, marks, numbers, punctuation, symbols
/// and the space.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // What Rust shows as it is, behind a letter: alone it would also escape marks that belong to the character before.
    let mut bytes = [b'a', 0, 0, 0, 0];
    let length = c.encode_utf8(&mut bytes[1..]).len();
    std::str::from_utf8(&bytes[..=length]).is_ok_and(|text| text.escape_debug().count() == 2)
}
