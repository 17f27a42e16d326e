//! Text to documents: JSON as the wire carries it, YAML as Kubernetes reads it.

use serde::de::DeserializeSeed;

use crate::Value;
use crate::serde_impl::{CUT, Scan, Seed};

mod syntax;
mod tolerant;

/// How deep documents may nest.
pub(crate) const DEEPEST: usize = 128;

pub use syntax::json_syntax_error;

/// A document and what strict decoding has to say of its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The document; of a key that came twice it has the last value.
    pub value: Value,
    /// Paths of keys that came more than once, such as `spec.ports[0].name`, each once; at most 100.
    pub duplicates: Vec<String>,
    /// Whether numbers may be kept as they are spelled: [`Value::read_numbers`] reads them.
    pub spelled: bool,
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
    read(text, Numbers::Read, false)
}

/// Parses one JSON document as [`json`] does, and keeps the spelling of numbers that would be written otherwise, and of those that no
/// float can hold: for what is read by its type, or compared by its text.
///
/// # Errors
/// [`ParseError::Json`] for anything that is not exactly one JSON document.
pub fn json_spelled(text: &[u8]) -> Result<Parsed, ParseError> {
    read(text, Numbers::Spelled, false)
}

/// Parses one JSON document that nests deeper than [`json`] reads, up to the 10,000 levels of Go: what is too deep is left out, and
/// [`is_cut`] finds whether it still matters once a document is brought into the form of its kind. `None` if it is no JSON.
pub fn json_cut(text: &[u8]) -> Option<Parsed> {
    if json_syntax_error(text).is_some() {
        return None;
    }
    let mut scan = Scan { levels: Some(DEEPEST - 2), ..Scan::default() };
    let value = Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text)).ok()?;
    Some(Parsed { value, duplicates: scan.duplicates, spelled: false })
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
/// [`json_spelled`] has read, whose numbers are kept in the same way.
///
/// # Errors
/// As [`json_spelled`].
pub fn json_merging(text: &[u8]) -> Result<Value, ParseError> {
    read(text, Numbers::Spelled, true).map(|parsed| parsed.value)
}

/// Shows the paths of all keys of a JSON document, such as `spec.ports[0].name`, in the order of the text: the order in which
/// strict decoding complains. Each time a key comes again it is shown again. What is no character is replaced, as in [`json`].
pub fn json_keys(text: &[u8], mut show: impl FnMut(&str)) {
    let text = &*tolerant::mend(text);
    let mut scan = Scan { show: Some(&mut show), levels: Some(DEEPEST - 2), ..Scan::default() };
    // A text that is no JSON has the keys up to where it breaks.
    let _broken = Seed(&mut scan).deserialize(&mut serde_json::Deserializer::from_slice(text));
}

/// What is made of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// They are read as where nothing is known of them.
    Read,
    /// Those that could be spelled in another way are kept as they are spelled.
    Spelled,
}

/// Reads a text, and if that fails what Go would read in its place. Numbers of which the reader does not tell enough are read in a
/// second pass: they are rare.
fn read(text: &[u8], numbers: Numbers, merges: bool) -> Result<Parsed, ParseError> {
    let mut scan = Scan { merges, ..Scan::default() };
    match pass(text, &mut scan) {
        Ok(value) => {
            let tells_enough = match numbers {
                Numbers::Read => !scan.has_negative_zero,
                Numbers::Spelled => !scan.has_odd_numbers,
            };
            if tells_enough {
                return Ok(Parsed { value, duplicates: scan.duplicates, spelled: false });
            }
            read_again(text, numbers, merges)
        }
        Err(error) if json_syntax_error(text).is_some() => Err(ParseError::Json(error)),
        Err(error) => match read_again(&tolerant::mend(text), numbers, merges) {
            Err(ParseError::Json(_)) => Err(ParseError::Json(error)),
            other => other,
        },
    }
}

fn pass(text: &[u8], scan: &mut Scan<'_>) -> Result<Value, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    let value = Seed(scan).deserialize(&mut parser)?;
    parser.end().map(|()| value)
}

/// Reads a text of which it is known how its numbers are spelled.
fn read_again(text: &[u8], numbers: Numbers, merges: bool) -> Result<Parsed, ParseError> {
    let odd = tolerant::OddNumbers::of(text);
    if numbers == Numbers::Read
        && let Some(literal) = odd.too_large()
    {
        return Err(ParseError::Number(literal.to_owned()));
    }
    let small = odd.without_too_large(text);
    let mut scan = Scan { merges, literals: Some(odd.literals.into_iter()), ..Scan::default() };
    let mut value = pass(&small, &mut scan).map_err(ParseError::Json)?;
    if numbers == Numbers::Read {
        value.read_numbers().map_err(ParseError::Number)?;
    }
    Ok(Parsed { value, duplicates: scan.duplicates, spelled: numbers == Numbers::Spelled })
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
    fn zero_with_a_sign_is_the_whole_number_unless_it_is_a_fraction() {
        assert_eq!(json(b"-0").unwrap().value, Value::Int(0));
        for text in ["-0.0", "-0e5", "-1e-400"] {
            let Value::Float(read) = json(text.as_bytes()).unwrap().value else { panic!("{text}") };
            assert!(read == 0.0 && read.is_sign_negative(), "{text}");
            assert_eq!(Value::Float(read).to_json(), "-0");
        }
    }

    #[test]
    fn numbers_can_be_kept_as_they_are_spelled() {
        let text = br#"{"b":[1, 1.0, 1e400, -1e400, 1.5, -0, -0.0, 12345678901234567890, {"c":1e3}],"a":1E5,"b2":2}"#;
        let parsed = json_spelled(text).unwrap();
        assert!(parsed.spelled);
        assert_eq!(
            parsed.value.to_json(),
            r#"{"a":1E5,"b":[1,1.0,1e400,-1e400,1.5,-0,-0.0,12345678901234567890,{"c":1e3}],"b2":2}"#
        );
        assert_eq!(parsed.value.items_at(&["b"])[4], Value::Float(1.5));
        assert_eq!(parsed.value.clone().read_numbers(), Err("1e400".to_owned()));
        let mut small = json_spelled(b"[\"\xff\",1.0,-0,1e2]").unwrap().value;
        assert_eq!(small.read_numbers(), Ok(()));
        assert_eq!(small.to_json(), "[\"\u{fffd}\",1,0,100]");
        let plain = json_spelled(br#"{"a":1,"b":-9223372036854775808}"#).unwrap();
        assert!(!plain.spelled);
        assert_eq!(
            json_merging(br#"{"a":{"b":1.0},"a":{"c":1e400}}"#).unwrap().to_json(),
            r#"{"a":{"b":1.0,"c":1e400}}"#
        );
    }
}
