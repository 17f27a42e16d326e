//! Text to documents: JSON as the wire carries it, YAML as Kubernetes reads it.

use serde::de::DeserializeSeed;

use crate::Value;
use crate::serde_impl::{CUT, Scan, Seed};

mod syntax;
mod tolerant;

/// How deep documents may nest.
pub(crate) const DEEPEST: usize = 128;

pub use syntax::{json_number, json_syntax_error};

/// A document and what strict decoding has to say of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The document; of a key that came twice it has the last value.
    pub value: Value,
    /// Paths of keys that came more than once, such as `spec.ports[0].name`, each once; at most 100.
    pub duplicates: Vec<String>,
}

/// The text is not a document.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Not JSON, or nested deeper than 128 levels.
    #[error("parsing JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// A number that no float can hold, as it is spelled.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    Number(String),
    /// Not YAML, or YAML that has no JSON form; the whole message of Go's reader.
    #[error("{0}")]
    Yaml(String),
}

/// Parses one JSON document; nesting is limited to 128 levels. As in Go, bytes and escapes that are no characters are read as the
/// replacement character.
///
/// # Errors
/// [`ParseError::Json`] for anything that is not exactly one JSON document, [`ParseError::Number`] for a number that no float
/// can hold.
pub fn json(text: &[u8]) -> Result<Parsed, ParseError> {
    tolerantly(text, |text| {
        let mut scan = Scan::default();
        let mut parser = serde_json::Deserializer::from_slice(text);
        let value = Seed(&mut scan).deserialize(&mut parser).and_then(|v| parser.end().map(|()| v))?;
        Ok(Parsed { value, duplicates: scan.duplicates })
    })
}

/// Parses one JSON document that nests deeper than [`json`] reads, up to the 10,000 levels of Go: what is too deep is left out, and
/// [`is_cut`] finds whether it still matters once a document is brought into the form of its kind. `None` if it is no JSON.
pub fn json_cut(text: &[u8]) -> Option<Parsed> {
    if json_syntax_error(text).is_some() {
        return None;
    }
    let mut scan = Scan { levels: Some(DEEPEST - 2), ..Scan::default() };
    let value = Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text)).ok()?;
    Some(Parsed { value, duplicates: scan.duplicates })
}

/// Whether something of a document that [`json_cut`] has read was left out.
pub fn is_cut(value: &Value) -> bool {
    match value {
        Value::String(text) => text == CUT,
        Value::Array(items) => items.iter().any(is_cut),
        Value::Object(map) => map.values().any(is_cut),
        _ => false,
    }
}

/// Parses one JSON document as Go reads it into a struct: an object whose key comes twice is filled from both. For a text that
/// [`json`] has read.
///
/// # Errors
/// As [`json`].
pub fn json_merging(text: &[u8]) -> Result<Value, ParseError> {
    tolerantly(text, |text| {
        let mut scan = Scan { merges: true, ..Scan::default() };
        Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text))
    })
}

/// Shows the paths of all keys of a JSON document, such as `spec.ports[0].name`, in the order of the text: the order in which
/// strict decoding complains. Each time a key comes again it is shown again. What is no character is replaced, as in [`json`].
pub fn json_keys(text: &[u8], mut show: impl FnMut(&str)) {
    let text = &*tolerant::mend(text);
    let mut scan = Scan { show: Some(&mut show), levels: Some(DEEPEST - 2), ..Scan::default() };
    // A text that is no JSON has the keys up to where it breaks.
    let _broken = Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text));
}

/// Reads a text, and if that fails what Go would read in its place.
fn tolerantly<T>(text: &[u8], read: impl Fn(&[u8]) -> Result<T, serde_json::Error>) -> Result<T, ParseError> {
    let error = match read(text) {
        Ok(read) => return Ok(read),
        Err(error) if json_syntax_error(text).is_some() => return Err(ParseError::Json(error)),
        Err(error) => error,
    };
    if let Some(literal) = tolerant::too_large(text) {
        return Err(ParseError::Number(literal));
    }
    read(&tolerant::mend(text)).map_err(|_| ParseError::Json(error))
}

/// A document and the keys of its text that came more than once.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedYaml {
    /// The document; of a key that came twice it has the last value.
    pub value: Value,
    /// What strict decoding says of each such key, such as `line 4: key "a" already set in map`; lines count from one.
    pub repeated: Vec<String>,
}

/// Parses the first YAML document of a text as Kubernetes' own readers do: the grammar, the scalars and the messages are those of
/// Go's YAML library, version 2. A text without a document is null. The text may be in UTF-8 or, with a byte order mark, in
/// UTF-16.
///
/// # Errors
/// [`ParseError::Yaml`] for anything that is not YAML, that has no form in JSON, that nests deeper than JSON may, or that anchors
/// make too large.
pub fn yaml(text: impl AsRef<[u8]>) -> Result<ParsedYaml, ParseError> {
    let (value, repeated) =
        crate::yaml::read(text.as_ref()).map_err(|error| ParseError::Yaml(error.to_string()))?;
    Ok(ParsedYaml { value, repeated })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deeply_can_be_left_out() {
        let nested = |levels: usize| format!("{{\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(json(nested(120).as_bytes()).is_ok());
        for levels in [127, 128, 9999] {
            assert!(json(nested(levels).as_bytes()).is_err(), "{levels}");
            let read = json_cut(nested(levels).as_bytes()).unwrap().value;
            assert!(is_cut(&read), "{levels}");
        }
        assert!(json_cut(nested(10_000).as_bytes()).is_none());
        assert!(!is_cut(&json_cut(nested(20).as_bytes()).unwrap().value));
    }

    #[test]
    fn what_is_no_character_is_replaced_as_in_go() {
        for (text, read) in [
            (&b"\"\\ud800\""[..], "\u{fffd}"),
            (br#""\udc00\ud800""#, "\u{fffd}\u{fffd}"),
            (br#""\ud800\u0041""#, "\u{fffd}A"),
            (br#""\ud83d\ude00\\ud800""#, "\u{1f600}\\ud800"),
            (b"\"\xed\xa0\x80\"", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"\"a\xff\"", "a\u{fffd}"),
        ] {
            assert_eq!(json(text).unwrap().value, Value::from(read), "{text:?}");
        }
        assert!(
            matches!(json(b"[1, 1e400, -2e400]"), Err(ParseError::Number(literal)) if literal == "1e400")
        );
        assert!(matches!(json(b"\xff"), Err(ParseError::Json(_))));
    }

    #[test]
    fn a_number_is_found_as_it_is_spelled() {
        let text = br#"{"a": 1.50, "b": [{"c": 1.5}, {"c": 15e-1}], "d": {"c": 1.5}}"#;
        assert_eq!(json_number(text, &["b", "c"], |literal| literal != "1.5").as_deref(), Some("15e-1"));
        assert_eq!(json_number(text, &["a"], |_| true).as_deref(), Some("1.50"));
        assert_eq!(json_number(text, &["c"], |_| true), None);
    }

    #[test]
    fn zero_with_a_sign_is_zero_and_stays_what_it_is() {
        for text in ["-0", "-0.0", "0"] {
            let read = json(text.as_bytes()).unwrap().value;
            let again = json(read.to_json().as_bytes()).unwrap().value;
            assert_eq!(read, again, "{text}");
        }
        assert_eq!(json(b"-0").unwrap().value, Value::Int(0));
    }
}
