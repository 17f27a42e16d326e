//! JSON in the place of YAML: most of what comes as YAML is JSON of the plainest kind, for which there is a faster reader.

use crate::Value;

/// How long a string may be: as a key of YAML it would be none if it were longer.
const LONGEST_STRING: usize = 1000;

/// The document, if the text is JSON that YAML reads in exactly the same way.
pub(super) fn plain_json(bytes: &[u8]) -> Option<Value> {
    if !is_plain(bytes) {
        return None;
    }
    crate::parse::json(bytes).ok().filter(|parsed| parsed.duplicates.is_empty()).map(|parsed| parsed.value)
}

/// Whether nothing is in the text that the two languages take differently. It may still be wrong in both.
fn is_plain(bytes: &[u8]) -> bool {
    if bytes.first() != Some(&b'{') {
        return false;
    }
    let mut rest = bytes.iter();
    let mut last = b'{';
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => {
                let mut length = 0;
                loop {
                    length += 1;
                    match rest.next() {
                        Some(b'"') => break,
                        Some(b'\\')
                            if matches!(
                                rest.next(),
                                Some(b'"' | b'\\' | b'n' | b't' | b'r' | b'b' | b'f')
                            ) => {}
                        // The others are in ASCII and no control characters.
                        Some(0x20..=0x5b | 0x5d..=0x7e) if length < LONGEST_STRING => {}
                        _ => return false,
                    }
                }
            }
            // A colon that is not next to its key may be no colon.
            b':' if last != b'"' => return false,
            // Numbers are whole, and short enough to be the same everywhere.
            b'0'..=b'9' => {
                let digits = 1 + rest.clone().take_while(|byte| byte.is_ascii_digit()).count();
                if digits > 18 {
                    return false;
                }
                if digits > 1 {
                    rest.nth(digits - 2);
                }
                if rest.as_slice().first() == Some(&b'e') {
                    return false;
                }
            }
            b'{' | b'}' | b'[' | b']' | b',' | b':' | b'-' | b' ' | b'\n' | b'\r' | b'\t' | b'a'..=b'z' => {}
            _ => return false,
        }
        last = *byte;
    }
    true
}
