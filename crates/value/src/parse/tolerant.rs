//! JSON that Go reads and that is no JSON by the letter: text in bytes that are no characters, halves of characters in escapes,
//! numbers that are too large. This is for texts that the strict reader has refused.

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The text with a replacement character for every byte, and every escaped half of a character, that is none.
pub(super) fn mend(text: &[u8]) -> String {
    let mut made = String::with_capacity(text.len() + 16);
    for chunk in text.utf8_chunks() {
        mend_escapes(chunk.valid(), &mut made);
        made.extend(chunk.invalid().iter().map(|_| REPLACEMENT));
    }
    made
}

fn mend_escapes(text: &str, made: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        made.push_str(before);
        let after = |at: usize| escape.get(at..).unwrap_or_default();
        let width = match (half(escape), half(after(6))) {
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                made.push(REPLACEMENT);
                rest = after(6);
                continue;
            }
            // Any other escape; of a longer one the rest follows as it is.
            (None, _) => escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at),
        };
        made.push_str(escape.get(..width).unwrap_or(escape));
        rest = after(width);
    }
    made.push_str(rest);
}

enum Half {
    High,
    Low,
}

/// What half of a character an escape at the beginning of a text stands for, if it does for one.
fn half(text: &str) -> Option<Half> {
    match u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()? {
        0xd800..0xdc00 => Some(Half::High),
        0xdc00..0xe000 => Some(Half::Low),
        _ => None,
    }
}
