//! Text that a client sent in bytes which are no UTF-8. Go keeps such bytes in its strings, shows them as `\xff` where it quotes and
//! writes `\ufffd` for them in JSON. Here each stands as two characters from the end of what Unicode leaves to private use: a mark
//! that no text has (it is no character), and one for the byte.
//!
//! The mark itself is taken apart in the same way, so that every text has one form, from which its bytes come back.

use std::borrow::Cow;

/// What the character of a byte follows.
const MARK: char = '\u{10fffe}';
/// How the mark begins, and how it goes on: nothing but the last plane begins so.
pub(crate) const MARK_BYTES: (u8, [u8; 3]) = (0xf4, [0x8f, 0xbf, 0xbe]);
/// What a byte of 128 and more is added to.
const BASE: u32 = 0x10_ff00;

/// The text of bytes.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_plain(text) => Cow::Borrowed(text),
        _ => {
            let mut made = String::with_capacity(bytes.len() + 16);
            for chunk in bytes.utf8_chunks() {
                for c in chunk.valid().chars() {
                    match c {
                        MARK => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push(byte, &mut made)),
                        c => made.push(c),
                    }
                }
                chunk.invalid().iter().for_each(|byte| push(*byte, &mut made));
            }
            Cow::Owned(made)
        }
    }
}

/// The bytes of a text.
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    if is_plain(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut made = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match rest.clone().next().and_then(byte).filter(|_| c == MARK) {
            Some(byte) => {
                rest.next();
                made.push(byte);
            }
            None => made.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(made)
}

/// Whether every character stands for itself.
pub fn is_plain(text: &str) -> bool {
    !text.as_bytes().contains(&MARK_BYTES.0) || !text.contains(MARK)
}

/// The text as those see it who cannot keep the bytes: with a replacement character for each that is none.
pub fn shown(text: &str) -> Cow<'_, str> {
    match bytes(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => {
            let mut made = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                made.push_str(chunk.valid());
                made.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
            }
            Cow::Owned(made)
        }
    }
}

/// The byte that a character stands for.
fn byte(c: char) -> Option<u8> {
    u32::from(c).checked_sub(BASE).and_then(|byte| u8::try_from(byte).ok()).filter(|byte| *byte >= 0x80)
}

fn push(byte: u8, text: &mut String) {
    text.push(MARK);
    text.extend(char::from_u32(BASE + u32::from(byte)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::quote;
    use crate::{Value, go_json};

    #[test]
    fn bytes_come_back_and_are_shown_as_go_shows_them() {
        for (sent, quoted, json) in [
            (&b"a"[..], r#""a""#, r#""a""#),
            (b"\xff", r#""\xff""#, r#""\ufffd""#),
            (b"a\xe2\x82b", r#""a\xe2\x82b""#, r#""a\ufffd\ufffdb""#),
            ("é\u{10ffc0}\u{10fffe}".as_bytes(), r#""é\U0010ffc0\U0010fffe""#, "\"é\u{10ffc0}\u{10fffe}\""),
            ("\u{10fffe}\u{10ffff}".as_bytes(), r#""\U0010fffe\U0010ffff""#, "\"\u{10fffe}\u{10ffff}\""),
            (b"\xf4\x8f\xbf\x80\xf4\x8f", r#""\U0010ffc0\xf4\x8f""#, "\"\u{10ffc0}\\ufffd\\ufffd\""),
            (b"<\xc0", r#""<\xc0""#, r#""\u003c\ufffd""#),
            ("\u{fffd}".as_bytes(), "\"\u{fffd}\"", "\"\u{fffd}\""),
        ] {
            let read = text(sent);
            assert_eq!(*bytes(&read), *sent, "{sent:?}");
            assert_eq!(quote(&read), quoted, "{sent:?}");
            let mut written = Vec::new();
            go_json::write(&Value::from(&*read), &mut written);
            assert_eq!(String::from_utf8_lossy(&written), json, "{sent:?}");
        }
        assert_eq!(quote("\u{10ffc0}"), r#""\U0010ffc0""#);
        assert_eq!(shown(&text(b"a\xe2\x82b")), "a\u{fffd}\u{fffd}b");
    }
}
