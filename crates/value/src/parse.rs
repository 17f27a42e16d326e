//! Text to documents: JSON as the wire carries it, YAML as Kubernetes reads it.

use crate::Value;

mod read;
mod syntax;
mod tolerant;

use read::{Numbers, Reader};
pub(crate) use syntax::DEEPEST;
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
    /// What [`Merged::replaced`] tells, if somebody wants to know.
    pub(crate) replaced: Vec<Value>,
}

/// The text is not a document.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Not JSON, or nested deeper than 10,000 levels; the message of Go's reader.
    #[error("parsing JSON: {0}")]
    Json(String),
    /// A number that no float can hold, as it is spelled.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    Number(String),
    /// Not YAML, or YAML that has no JSON form; the whole message of Go's reader.
    #[error("{0}")]
    Yaml(String),
}

/// Parses one JSON document; nesting is limited to Go's 10,000 levels. As in Go, bytes and escapes that are no characters are read
/// as the replacement character.
///
/// # Errors
/// [`ParseError::Json`] for anything that is not exactly one JSON document, [`ParseError::Number`] for a number that no float
/// can hold.
pub fn json(text: &[u8]) -> Result<Parsed, ParseError> {
    tolerantly(text, |text| Reader::new(text, Numbers::Read))
}

/// Parses one JSON document as [`json`] does, and keeps the spelling of numbers that would be written otherwise, and of those that no
/// float can hold: for what is read by its type, or compared by its text.
///
/// # Errors
/// [`ParseError::Json`] for anything that is not exactly one JSON document.
pub fn json_spelled(text: &[u8]) -> Result<Parsed, ParseError> {
    tolerantly(text, |text| Reader::new(text, Numbers::Spelled))
}

/// A document in which keys came twice, as Go reads it into a struct.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The document: an object whose key comes twice is filled from both, of everything else the last one stays.
    pub value: Value,
    /// Of every value that did not stay, a document that has nothing but it, at most 100: each is read, and refused if it does not
    /// fit.
    pub replaced: Vec<Value>,
}

/// Parses one JSON document as Go reads it into a struct. For a text that [`json_spelled`] has read, whose numbers are kept in the
/// same way.
///
/// # Errors
/// As [`json_spelled`].
pub fn json_merging(text: &[u8]) -> Result<Merged, ParseError> {
    let Parsed { value, replaced, .. } = tolerantly(text, |text| Reader::merging(text))?;
    Ok(Merged { value, replaced })
}

/// Shows the paths of all keys of a JSON document, such as `spec.ports[0].name`, in the order of the text: the order in which
/// strict decoding complains. Each time a key comes again it is shown again. What is no character is replaced, as in [`json`]. A
/// text that is no JSON has the keys up to where it breaks.
pub fn json_keys(text: &[u8], mut show: impl FnMut(&str)) {
    Reader::keys(&tolerant::mend(text), &mut show);
}

/// Reads a text, and if that fails what Go would read in its place.
fn tolerantly(text: &[u8], reader: impl Fn(&str) -> Reader<'_, '_>) -> Result<Parsed, ParseError> {
    if let Some(read) = std::str::from_utf8(text).ok().and_then(|text| reader(text).document()) {
        return read;
    }
    if let Some(why) = json_syntax_error(text) {
        return Err(ParseError::Json(why));
    }
    // Nothing else is wrong with the text.
    let read = reader(&tolerant::mend(text)).document();
    read.unwrap_or_else(|| Err(ParseError::Json("unexpected end of JSON input".to_owned())))
}

/// A document and the keys of its text that came more than once.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedYaml {
    /// The document; of a key that came twice it has the last value.
    pub value: Value,
    /// What strict decoding says of each such key, such as `line 4: key "a" already set in map`; lines count from one.
    pub repeated: Vec<String>,
    /// Whether numbers may be kept as they are spelled: [`Value::read_numbers`] reads them.
    pub spelled: bool,
}

/// Parses the first YAML document of a text as Kubernetes' own readers do: the grammar, the scalars and the messages are those of
/// Go's YAML library, version 2. A text without a document is null. The text may be in UTF-8 or, with a byte order mark, in
/// UTF-16.
///
/// # Errors
/// [`ParseError::Yaml`] for anything that is not YAML, that has no form in JSON, that nests deeper than JSON may, or that anchors
/// make too large.
pub fn yaml(text: impl AsRef<[u8]>) -> Result<ParsedYaml, ParseError> {
    let mut parsed = yaml_spelled(text)?;
    if std::mem::take(&mut parsed.spelled) {
        parsed.value.read_numbers().map_err(ParseError::Number)?;
    }
    Ok(parsed)
}

/// Parses YAML as [`yaml`] does, and keeps the spelling of whole numbers that fit in no `i64`: for what is read by its type.
///
/// # Errors
/// As [`yaml`].
pub fn yaml_spelled(text: impl AsRef<[u8]>) -> Result<ParsedYaml, ParseError> {
    let crate::yaml::Read { value, repeated, spelled } =
        crate::yaml::read(text.as_ref()).map_err(|error| ParseError::Yaml(error.to_string()))?;
    Ok(ParsedYaml { value, repeated, spelled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_nest_as_deeply_as_in_go() {
        let nested = |levels: usize| {
            let (open, shut): (Vec<_>, Vec<_>) =
                (0..levels).map(|level| if level % 3 == 0 { ("{\"a\":", "}") } else { ("[", "]") }).unzip();
            format!("{}1{}", open.concat(), shut.into_iter().rev().collect::<String>())
        };
        for levels in [127, 128, 9_999, 10_000] {
            let text = nested(levels);
            let read = json(text.as_bytes()).unwrap();
            assert!(read.value.to_json() == text, "{levels}");
            assert!(json_merging(text.as_bytes()).unwrap().value == read.value, "{levels}");
            let mut keys = 0;
            json_keys(text.as_bytes(), |_| keys += 1);
            assert_eq!(keys, levels.div_ceil(3));
        }
        let error = json(nested(10_001).as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "parsing JSON: invalid character '[' exceeded max depth");
    }

    #[test]
    fn keys_that_come_again_deep_inside_are_told_once_and_soon_no_more() {
        let long = "k".repeat(250);
        let inner = format!("{{{}\"z\":1}}", "\"x\":1,".repeat(50_000));
        let text = format!("{}{inner}{}", format!("{{\"{long}\":").repeat(5_000), "}".repeat(5_000));
        let read = json(text.as_bytes()).unwrap();
        // Its path is longer than what is remembered.
        assert!(read.duplicates.is_empty());
        let text = format!("{}{inner}{}", "{\"k\":".repeat(5_000), "}".repeat(5_000));
        assert_eq!(json(text.as_bytes()).unwrap().duplicates, [format!("{}x", "k.".repeat(5_000))]);
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
        let merged =
            json_merging(br#"{"x":[{"y":1e3,"y":2}],"a":{"b":1.0},"a":{"b":3,"c":1e400},"x":[]}"#).unwrap();
        assert_eq!(merged.value.to_json(), r#"{"a":{"b":3,"c":1e400},"x":[]}"#);
        let replaced: Vec<_> = merged.replaced.iter().map(Value::to_json).collect();
        assert_eq!(replaced, [r#"{"x":[{"y":1e3}]}"#, r#"{"a":{"b":1.0}}"#, r#"{"x":[{"y":2}]}"#]);
    }
}
