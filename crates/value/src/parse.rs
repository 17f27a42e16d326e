//! Text to documents: JSON as the wire carries it, YAML as Kubernetes reads it.

use serde::de::DeserializeSeed;

use crate::Value;
use crate::serde_impl::{Scan, Seed};

mod syntax;

pub use syntax::json_syntax_error;

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
    /// Not YAML, or YAML that has no JSON form (or expands beyond the parser's budget).
    #[error("yaml: {0}")]
    Yaml(String),
}

/// Parses one JSON document; nesting is limited to 128 levels.
///
/// # Errors
/// [`ParseError::Json`] for anything that is not exactly one JSON document.
pub fn json(text: &[u8]) -> Result<Parsed, ParseError> {
    let mut scan = Scan::default();
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Seed(&mut scan).deserialize(&mut parser).and_then(|v| parser.end().map(|()| v));
    Ok(Parsed { value: value.map_err(ParseError::Json)?, duplicates: scan.duplicates })
}

/// Parses one JSON document as Go reads it into a struct: an object whose key comes twice is filled from both. For a text that
/// [`json`] has read.
///
/// # Errors
/// As [`json`].
pub fn json_merging(text: &[u8]) -> Result<Value, ParseError> {
    let mut scan = Scan { merges: true, ..Scan::default() };
    Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text)).map_err(ParseError::Json)
}

/// The paths of all keys of a JSON document, such as `spec.ports[0].name`, in the order of the text: the order in which
/// strict decoding complains. Each time a key comes again it is there again.
pub fn json_keys(text: &[u8]) -> Vec<String> {
    let mut scan = Scan { keys: Some(Vec::new()), ..Scan::default() };
    // A text that is no JSON has the keys up to where it breaks.
    let _broken = Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text));
    scan.keys.unwrap_or_default()
}

/// Parses one YAML document with the booleans and numbers of YAML 1.1, as Kubernetes' own readers do.
///
/// # Errors
/// [`ParseError::Yaml`] for anything that is not exactly one YAML document with string keys.
pub fn yaml(text: &str) -> Result<Parsed, ParseError> {
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::PassThrough };
    let Scanned(parsed) = serde_saphyr::from_str_with_options(first_document(text), options)
        .map_err(|error| yaml_error(&error))?;
    Ok(parsed)
}

/// Kubernetes reads the first document of a text and leaves the others.
fn first_document(text: &str) -> &str {
    let (mut at, mut content) = (0, false);
    for line in text.split_inclusive('\n') {
        if content && (line.starts_with("---") || line.trim_end() == "...") {
            return text.get(..at).unwrap_or(text);
        }
        let nothing = line.trim().is_empty() || ["#", "---", "%"].iter().any(|mark| line.starts_with(mark));
        content |= !nothing;
        at += line.len();
    }
    text
}

/// A document with the duplicate keys of its text.
struct Scanned(Parsed);

impl<'de> serde::Deserialize<'de> for Scanned {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut scan = Scan::default();
        let value = Seed(&mut scan).deserialize(deserializer)?;
        Ok(Scanned(Parsed { value, duplicates: scan.duplicates }))
    }
}

/// The first line of the parser's message, which says where and why; the excerpt below it is for terminals.
fn yaml_error(error: &serde_saphyr::Error) -> ParseError {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let place = first.strip_prefix("line ").and_then(|rest| {
        let (line, rest) = rest.split_once(' ')?;
        let (_, why) = rest.split_once(": ")?;
        Some(format!("line {line}: {why}"))
    });
    ParseError::Yaml(place.unwrap_or_else(|| first.to_owned()))
}

/// Parses a stream of YAML documents separated by `---`; empty ones are left out.
///
/// # Errors
/// [`ParseError::Yaml`] for the first document that is not YAML with string keys.
pub fn yaml_stream(text: &str) -> Result<Vec<Value>, ParseError> {
    let documents = serde_saphyr::from_multiple::<Value>(text).map_err(|error| yaml_error(&error))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
