//! JSON that Go reads and that is no JSON by the letter: text in bytes that are no characters, halves of characters in escapes,
//! numbers that are too large. This is for texts that the strict reader has refused.

use std::borrow::Cow;

use super::syntax::Scanner;

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The text with a replacement character for every byte, and every escaped half of a character, that is none.
pub(super) fn mend(text: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        mend_escapes(chunk.valid().as_bytes(), &mut made);
        for _ in chunk.invalid() {
            made.extend_from_slice(REPLACEMENT);
        }
    }
    made
}

fn mend_escapes(text: &[u8], made: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        made.extend_from_slice(before);
        let width = match (half(escape), half(escape.get(6..).unwrap_or_default())) {
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                made.extend_from_slice(REPLACEMENT);
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // Any other escape; of a longer one the rest follows as it is.
            (None, _) => 2,
        };
        let (whole, after) = escape.split_at(width.min(escape.len()));
        made.extend_from_slice(whole);
        rest = after;
    }
    made.extend_from_slice(rest);
}

enum Half {
    High,
    Low,
}

/// What half of a character an escape at the beginning of a text stands for, if it does for one.
fn half(text: &[u8]) -> Option<Half> {
    let digits = std::str::from_utf8(text.strip_prefix(b"\\u")?.get(..4)?).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..0xdc00 => Some(Half::High),
        0xdc00..0xe000 => Some(Half::Low),
        _ => None,
    }
}

/// The numbers of a JSON text that are not whole or not short, in order: those that may be spelled in more than one way.
pub(super) struct OddNumbers<'a> {
    /// How they are spelled.
    pub(super) literals: Vec<&'a str>,
}

impl<'a> OddNumbers<'a> {
    /// Finds them. The reader takes exactly these for floats.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let mut literals = Vec::new();
        Scanner::new(text).numbers(|literal| {
            if literal == "-0" || literal.parse::<i64>().is_err() {
                literals.push(literal);
            }
        });
        Self { literals }
    }

    /// The first that no float can hold.
    pub(super) fn too_large(&self) -> Option<&'a str> {
        self.literals.iter().copied().find(|literal| is_too_large(literal))
    }

    /// The text with other numbers in the places of those that no float can hold.
    pub(super) fn without_too_large(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.too_large().is_none() {
            return Cow::Borrowed(text);
        }
        let mut made = Vec::with_capacity(text.len());
        let mut from = 0;
        for literal in self.literals.iter().filter(|literal| is_too_large(literal)) {
            // They are pieces of the text.
            let at = literal.as_ptr().addr() - text.as_ptr().addr();
            made.extend_from_slice(text.get(from..at).unwrap_or_default());
            made.extend_from_slice(b"0.0");
            from = at + literal.len();
        }
        made.extend_from_slice(text.get(from..).unwrap_or_default());
        Cow::Owned(made)
    }
}

fn is_too_large(literal: &str) -> bool {
    literal.parse::<f64>().is_ok_and(f64::is_infinite)
}
