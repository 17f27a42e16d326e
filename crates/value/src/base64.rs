//! Base64 as Go's `encoding/base64` reads it: line breaks count for nothing, bits that are left over neither, and what is wrong
//! has a place.

/// The spellings of base64 that Kubernetes uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// With `+` and `/`, filled up with `=`.
    Standard,
    /// With `-` and `_`, filled up with `=`.
    Url,
    /// With `-` and `_`, not filled up.
    RawUrl,
}

/// The text is no base64. Its `Display` is Go's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct DecodeError(
    /// How many bytes are in front of what is wrong.
    pub usize,
);

/// Decodes a text.
///
/// # Errors
/// [`DecodeError`] with Go's place.
pub fn decode(alphabet: Alphabet, text: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut made = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let mut at = 0;
    let mut group = Group::default();
    while let Some(byte) = text.get(at).copied() {
        at += 1;
        match byte {
            b'\n' | b'\r' => {}
            b'=' if alphabet != Alphabet::RawUrl => {
                group.pad(text, at, &mut made)?;
                return Ok(made);
            }
            _ => {
                let bits = value(alphabet, byte).ok_or(DecodeError(at - 1))?;
                group.push(bits, &mut made);
            }
        }
    }
    let whole = group.length == 0 || (group.length > 1 && alphabet == Alphabet::RawUrl);
    if !whole {
        return Err(DecodeError(at - group.length));
    }
    group.flush(&mut made);
    Ok(made)
}

/// The characters of up to three bytes.
#[derive(Default)]
struct Group {
    bits: u32,
    length: usize,
}

impl Group {
    fn push(&mut self, bits: u8, into: &mut Vec<u8>) {
        self.bits = (self.bits << 6) | u32::from(bits);
        self.length += 1;
        if self.length == 4 {
            self.flush(into);
        }
    }

    /// Writes the bytes of which all bits are there.
    fn flush(&mut self, into: &mut Vec<u8>) {
        let [_, a, b, c] = (self.bits << (6 * (4 - self.length))).to_be_bytes();
        into.extend([a, b, c].iter().take((self.length * 6) / 8));
        *self = Self::default();
    }

    /// The end of a text that is filled up; `at` is behind its first sign of that.
    fn pad(&mut self, text: &[u8], at: usize, into: &mut Vec<u8>) -> Result<(), DecodeError> {
        let behind_breaks = |mut at: usize| {
            while matches!(text.get(at), Some(b'\n' | b'\r')) {
                at += 1;
            }
            at
        };
        let mut at = at;
        match self.length {
            0 | 1 => return Err(DecodeError(at - 1)),
            2 => {
                at = behind_breaks(at);
                match text.get(at) {
                    None => return Err(DecodeError(text.len())),
                    Some(b'=') => at += 1,
                    Some(_) => return Err(DecodeError(at - 1)),
                }
            }
            _ => {}
        }
        at = behind_breaks(at);
        if at < text.len() {
            return Err(DecodeError(at));
        }
        self.flush(into);
        Ok(())
    }
}

fn value(alphabet: Alphabet, byte: u8) -> Option<u8> {
    let (plus, slash) = match alphabet {
        Alphabet::Standard => (b'+', b'/'),
        Alphabet::Url | Alphabet::RawUrl => (b'-', b'_'),
    };
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        _ if byte == plus => Some(62),
        _ if byte == slash => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_has_the_place_that_go_names() {
        for (text, outcome) in [
            ("", Ok("")),
            ("aGk=", Ok("hi")),
            ("aGl=", Ok("hi")),
            ("a\nGk=\n", Ok("hi")),
            ("aGVsbG8=", Ok("hello")),
            ("aGk", Err(0)),
            ("aGVsbG8", Err(4)),
            ("aGk==", Err(4)),
            ("aGk=x", Err(4)),
            ("aG=", Err(3)),
            ("aG=x", Err(2)),
            ("aA==", Ok("h")),
            ("=aGk", Err(0)),
            (" aGk=", Err(0)),
            ("a-_=", Err(1)),
        ] {
            let found = decode(Alphabet::Standard, text.as_bytes());
            assert_eq!(found, outcome.map(|text| text.as_bytes().to_vec()).map_err(DecodeError), "{text}");
        }
        assert_eq!(decode(Alphabet::RawUrl, b"e30"), Ok(b"{}".to_vec()));
        assert_eq!(decode(Alphabet::RawUrl, b"x"), Err(DecodeError(0)));
        assert_eq!(decode(Alphabet::RawUrl, b"%"), Err(DecodeError(0)));
    }
}
