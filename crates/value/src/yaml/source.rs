//! Bytes to text: encodings, and the characters that YAML allows.

use std::borrow::Cow;

/// How many bytes upstream decodes at a time: what is wrong in a piece is found when its first character is wanted.
const PIECE: usize = 512;

/// The text of a body, as far as it can be read.
pub(super) struct Source<'a> {
    pub(super) text: Cow<'a, str>,
    /// Where the text ends that can be read before `why` is found, and `why`.
    pub(super) broken: Option<(usize, &'static str)>,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        match bytes {
            [0xff, 0xfe, rest @ ..] => Self::utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => Self::utf16(rest, u16::from_be_bytes),
            [0xef, 0xbb, 0xbf, rest @ ..] => Self::utf8(rest, PIECE - 3),
            _ => Self::utf8(bytes, PIECE),
        }
    }

    fn utf8(bytes: &'a [u8], first: usize) -> Self {
        let (text, mut fault) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let (good, bad) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(good).unwrap_or_default(), Some((good.len(), wrong_utf8(bad))))
            }
        };
        // Nearly every text is made of what needs no second look.
        if !text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b'\r' | 0x20..=0x7e))
            && let Some((at, _)) = text.char_indices().find(|(_, c)| !allowed(*c))
        {
            fault = Some((at, CONTROL));
        }
        let broken = fault.map(|(at, why)| (last_piece(text, at, first), why));
        let end = broken.map_or(text.len(), |(end, _)| end);
        Self { text: Cow::Borrowed(text.get(..end).unwrap_or(text)), broken }
    }

    fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Self {
        let mut text = String::with_capacity(bytes.len() / 2);
        let (mut rest, mut taken, mut good) = (bytes, 0, 0);
        let mut border = PIECE - 2;
        let broken = loop {
            if taken >= border {
                (good, border) = (text.len(), border + PIECE);
            }
            let next = match next_utf16(rest, read) {
                None => break None,
                Some(Ok(next)) if !allowed(next.0) => break Some((good, CONTROL)),
                Some(Err(why)) => break Some((good, why)),
                Some(Ok(next)) => next,
            };
            text.push(next.0);
            taken += next.1;
            rest = rest.get(next.1..).unwrap_or_default();
        };
        if broken.is_some() {
            text.truncate(good);
        }
        Self { text: Cow::Owned(text), broken }
    }
}

const CONTROL: &str = "control characters are not allowed";

fn allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{7e}' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// Where the piece begins that holds the byte `at`: pieces end between characters.
fn last_piece(text: &str, at: usize, first: usize) -> usize {
    let (mut start, mut end) = (0, first);
    while end <= at {
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        (start, end) = (end, end + PIECE);
    }
    start
}

/// What is wrong with the bytes at which UTF-8 ends.
fn wrong_utf8(bytes: &[u8]) -> &'static str {
    let first = bytes.first().copied().unwrap_or_default();
    let width = match first {
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf8 => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    let Some(sequence) = bytes.get(..width) else { return "incomplete UTF-8 octet sequence" };
    if sequence.iter().skip(1).any(|byte| byte & 0xc0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    let second = sequence.get(1).copied().unwrap_or_default();
    let too_long = match width {
        2 => first < 0xc2,
        3 => first == 0xe0 && second < 0xa0,
        _ => first == 0xf0 && second < 0x90,
    };
    if too_long { "invalid length of a UTF-8 sequence" } else { "invalid Unicode character" }
}

type Utf16 = Result<(char, usize), &'static str>;

fn next_utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Option<Utf16> {
    let unit = |at: usize| Some(read([*bytes.get(at)?, *bytes.get(at + 1)?]));
    if bytes.is_empty() {
        return None;
    }
    let Some(first) = unit(0) else { return Some(Err("incomplete UTF-16 character")) };
    if first & 0xfc00 == 0xdc00 {
        return Some(Err("unexpected low surrogate area"));
    }
    if first & 0xfc00 != 0xd800 {
        return Some(char::from_u32(first.into()).map(|c| (c, 2)).ok_or(CONTROL));
    }
    let Some(second) = unit(2) else { return Some(Err("incomplete UTF-16 surrogate pair")) };
    let decoded = char::decode_utf16([first, second]).next().and_then(Result::ok);
    Some(decoded.map(|c| (c, 4)).ok_or("expected low surrogate area"))
}
