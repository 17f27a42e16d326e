//! JSON as Go's `encoding/json` writes it: what HTML could misread is escaped, and numbers have Go's exponents. A server's
//! answers are written so.

use crate::stack::deeper;
use crate::{Value, octets};

/// Appends a document, the members of its objects in the order of their keys.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    write_as::<true, false>(value, out);
}

/// Appends a document as [`write()`] does, in the form in which it is read again from where it is stored: a zero has no sign.
pub fn write_stored(value: &Value, out: &mut Vec<u8>) {
    write_as::<true, true>(value, out);
}

/// Appends a document as [`write()`] does, and leaves alone what HTML could misread.
pub fn write_plain(value: &Value, out: &mut Vec<u8>) {
    write_as::<false, false>(value, out);
}

fn write_as<const HTML: bool, const STORED: bool>(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => integer(*number, out),
        Value::Float(0.0) if STORED => out.push(b'0'),
        Value::Float(number) => float(*number, out),
        Value::Spelled(literal) => out.extend_from_slice(literal.as_bytes()),
        Value::String(text) => string_as::<HTML>(text, out),
        Value::Array(items) => deeper(|| list(items, out, write_as::<HTML, STORED>)),
        Value::Object(map) => deeper(|| {
            out.push(b'{');
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                string_as::<HTML>(key, out);
                out.push(b':');
                write_as::<HTML, STORED>(value, out);
            }
            out.push(b'}');
        }),
    }
}

/// Appends a list, each item as `item` writes it.
pub fn list(items: &[Value], out: &mut Vec<u8>, mut item: impl FnMut(&Value, &mut Vec<u8>)) {
    out.push(b'[');
    for (at, value) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        item(value, out);
    }
    out.push(b']');
}

/// Appends a string in quotes.
pub fn string(text: &str, out: &mut Vec<u8>) {
    string_as::<true>(text, out);
}

/// Which bytes of a string may have to be escaped.
const fn special(html: bool) -> [bool; 256] {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let for_html = matches!(byte as u8, b'<' | b'>' | b'&' | 0xe2);
        bytes[byte] = byte < 32
            || matches!(byte as u8, b'"' | b'\\')
            || byte as u8 == octets::MARK_BYTES.0
            || (html && for_html);
        byte += 1;
    }
    bytes
}

static SPECIAL: [bool; 256] = special(false);
static SPECIAL_IN_HTML: [bool; 256] = special(true);

fn string_as<const HTML: bool>(text: &str, out: &mut Vec<u8>) {
    let special = if HTML { &SPECIAL_IN_HTML } else { &SPECIAL };
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if !special[usize::from(*byte)] {
            continue;
        }
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            8 => b'b',
            12 => b'f',
            0..=31 => 0,
            b'<' | b'>' | b'&' if HTML => 0,
            // What stands for bytes that are no text.
            _ if *byte == octets::MARK_BYTES.0
                && bytes.get(at + 1..at + 4) == Some(&octets::MARK_BYTES.1[..]) =>
            {
                out.extend_from_slice(bytes.get(start..at).unwrap_or_default());
                return octets_as::<HTML>(text.get(at..).unwrap_or_default(), out);
            }
            // U+2028 and U+2029, which end a line for JavaScript.
            0xe2 if HTML && matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])) => {
                out.extend_from_slice(bytes.get(start..at).unwrap_or_default());
                out.extend_from_slice(b"\\u202");
                out.push(if bytes.get(at + 2) == Some(&0xa8) { b'8' } else { b'9' });
                start = at + 3;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(bytes.get(start..at).unwrap_or_default());
        start = at + 1;
        if short == 0 {
            out.extend_from_slice(b"\\u00");
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(&[b'\\', short]);
        }
    }
    out.extend_from_slice(bytes.get(start..).unwrap_or_default());
    out.push(b'"');
}

/// Appends the rest of a string that has bytes which are no text.
fn octets_as<const HTML: bool>(rest: &str, out: &mut Vec<u8>) {
    for chunk in octets::bytes(rest).utf8_chunks() {
        for c in chunk.valid().chars() {
            let quoted = out.len();
            if u32::from(c) >= 0x10_0000 {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            string_as::<HTML>(c.encode_utf8(&mut [0; 4]), out);
            // Without the quotes around it.
            out.remove(quoted);
            out.pop();
        }
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
    out.push(b'"');
}

fn integer(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut at, mut rest) = (digits.len(), number.unsigned_abs());
    while let Some(slot) = at.checked_sub(1).and_then(|before| digits.get_mut(before)) {
        at -= 1;
        *slot = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(at..).unwrap_or_default());
}

/// Appends a number with or without a fraction.
pub fn float(number: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing to a vector cannot fail.
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        let _infallible = write!(out, "{digits}e{sign}{exponent}");
    } else {
        let _infallible = write!(out, "{number}");
    }
}

/// Whether so many bytes of indentation are too many for a text of so many others. What is written by people stays far below.
pub const fn is_indented_too_much(indentation: usize, text: usize) -> bool {
    const FREE: usize = 16 << 20;
    const FACTOR: usize = 16;
    indentation > FREE + FACTOR * text
}

/// Compact JSON with two spaces of indentation for each level, as Go's `json.Indent` makes it. What nests so deeply that nearly all
/// would be indentation, which takes room by the square, stays compact.
pub fn indent(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let line = |depth: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    for (at, &byte) in compact.iter().enumerate() {
        if is_indented_too_much(out.len().saturating_sub(at), at) {
            return compact.to_vec();
        }
        if quoted {
            quoted = byte != b'"' || escaped;
            escaped = byte == b'\\' && !escaped;
            out.push(byte);
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if !matches!(compact.get(at + 1), Some(b'}' | b']')) {
                    depth += 1;
                    line(depth, &mut out);
                }
            }
            b'}' | b']' => {
                if !matches!(at.checked_sub(1).and_then(|at| compact.get(at)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(depth, &mut out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(depth, &mut out);
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                quoted = byte == b'"';
                out.push(byte);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        write(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_and_numbers_are_written_as_go_writes_them() {
        let text = json!("<b>&\u{2028}\u{2029}\u{7}\u{8}\u{c}\u{7f}é\"\\/\n\t");
        let expected =
            r#""\u003cb\u003e\u0026\u2028\u2029\u0007\b\f"#.to_owned() + "\u{7f}é" + r#"\"\\/\n\t""#;
        assert_eq!(written(&text), expected);
        let numbers = json!([1e21, 1e20, 1e-6, 1.5e-7, -0.5, 100.0, 123456789012.5]);
        assert_eq!(
            written(&numbers),
            "[1e+21,100000000000000000000,0.000001,1.5e-7,-0.5,100,123456789012.5]"
        );
    }

    #[test]
    fn empty_lists_and_objects_stay_on_their_line() {
        let compact = written(&json!({"a": [], "b": {}, "c": [1, {"d": "}]\",:"}]}));
        let expected = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": \"}]\\\",:\"\n    }\n  ]\n}";
        assert_eq!(String::from_utf8(indent(compact.as_bytes())).unwrap(), expected);
    }
}
