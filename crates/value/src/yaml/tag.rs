//! Directives, anchors and tags.

use super::Error;
use super::scanner::{Kind, Scanner};

impl Scanner<'_> {
    fn is_alpha(&self, ahead: usize) -> bool {
        let byte = self.byte(ahead);
        byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
    }

    fn copy_alpha(&mut self) -> Result<Vec<u8>, Error> {
        let mut name = Vec::new();
        while self.is_alpha(0) {
            self.copy(&mut name)?;
        }
        Ok(name)
    }

    fn skip_blanks(&mut self) -> Result<(), Error> {
        while self.is_blank(0) {
            self.skip()?;
        }
        Ok(())
    }

    /// `%YAML 1.1` or `%TAG !a! prefix`, with the rest of its line.
    pub(super) fn scan_directive(&mut self) -> Result<Kind, Error> {
        self.skip()?;
        let name = self.copy_alpha()?;
        if name.is_empty() {
            return self.wrong("could not find expected directive name");
        }
        if !self.is_word_end(0) {
            return self.wrong("found unexpected non-alphabetical character");
        }
        let kind = match name.as_slice() {
            b"YAML" => self.scan_version()?,
            b"TAG" => self.scan_tag_directive()?,
            _ => return self.wrong("found unknown directive name"),
        };
        self.skip_to_break()?;
        if !self.is_break_or_end(0) {
            return self.wrong("did not find expected comment or line break");
        }
        self.skip_break()?;
        Ok(kind)
    }

    fn scan_version(&mut self) -> Result<Kind, Error> {
        self.skip_blanks()?;
        let major = self.scan_version_number()?;
        if self.byte(0) != b'.' {
            return self.wrong("did not find expected digit or '.' character");
        }
        self.skip()?;
        let minor = self.scan_version_number()?;
        Ok(Kind::Version { major, minor })
    }

    fn scan_version_number(&mut self) -> Result<u8, Error> {
        let (mut number, mut length) = (0, 0);
        while self.byte(0).is_ascii_digit() {
            length += 1;
            if length > 2 {
                return self.wrong("found extremely long version number");
            }
            number = number * 10 + (self.byte(0) - b'0');
            self.skip()?;
        }
        if length == 0 {
            return self.wrong("did not find expected version number");
        }
        Ok(number)
    }

    fn scan_tag_directive(&mut self) -> Result<Kind, Error> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true)?;
        if !self.is_blank(0) {
            return self.wrong("did not find expected whitespace");
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri(&[])?;
        if !self.is_word_end(0) {
            return self.wrong(NO_SPACE);
        }
        Ok(Kind::TagDirective { handle, prefix })
    }

    /// `&name` or `*name`.
    pub(super) fn scan_anchor(&mut self) -> Result<Kind, Error> {
        let alias = self.byte(0) == b'*';
        self.skip()?;
        let name = self.copy_alpha()?;
        let ends = self.is_word_end(0)
            || matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            return self.wrong("did not find expected alphabetic or numeric character");
        }
        let name = String::from_utf8(name).unwrap_or_default();
        Ok(if alias { Kind::Alias(name) } else { Kind::Anchor(name) })
    }

    /// `!<tag>`, `!handle!suffix` or `!suffix`.
    pub(super) fn scan_tag(&mut self) -> Result<Kind, Error> {
        self.need(2)?;
        let (handle, suffix) = if self.byte(1) == b'<' {
            self.skip()?;
            self.skip()?;
            let suffix = self.scan_tag_uri(&[])?;
            if self.byte(0) != b'>' {
                return self.wrong("did not find the expected '>'");
            }
            self.skip()?;
            (Vec::new(), suffix)
        } else {
            let handle = self.scan_tag_handle(false)?;
            if handle.len() > 1 && handle.ends_with(b"!") {
                let suffix = self.scan_tag_uri(&[])?;
                (handle, suffix)
            } else {
                let suffix = self.scan_tag_uri(&handle)?;
                // A lone exclamation mark is a tag of its own.
                if suffix.is_empty() { (suffix, b"!".to_vec()) } else { (b"!".to_vec(), suffix) }
            }
        };
        if !self.is_word_end(0) {
            return self.wrong(NO_SPACE);
        }
        Ok(Kind::Tag { handle, suffix })
    }

    fn scan_tag_handle(&mut self, directive: bool) -> Result<Vec<u8>, Error> {
        if self.byte(0) != b'!' {
            return self.wrong(NO_MARK);
        }
        let mut handle = Vec::new();
        self.copy(&mut handle)?;
        while self.is_alpha(0) {
            self.copy(&mut handle)?;
        }
        if self.byte(0) == b'!' {
            self.copy(&mut handle)?;
        } else if directive && handle != b"!" {
            return self.wrong(NO_MARK);
        }
        Ok(handle)
    }

    /// The characters of a tag behind what has been read of it, whose exclamation mark does not belong to it.
    fn scan_tag_uri(&mut self, head: &[u8]) -> Result<Vec<u8>, Error> {
        let mut uri = head.get(1..).unwrap_or_default().to_vec();
        let mut any = !head.is_empty();
        while self.is_alpha(0) || b";/?:@&=+$,.!~*'()[]%".contains(&self.byte(0)) {
            if self.byte(0) == b'%' {
                self.scan_uri_escape(&mut uri)?;
            } else {
                self.copy(&mut uri)?;
            }
            any = true;
        }
        if any { Ok(uri) } else { self.wrong("did not find expected tag URI") }
    }

    /// The escaped bytes of one character.
    fn scan_uri_escape(&mut self, uri: &mut Vec<u8>) -> Result<(), Error> {
        let mut left: Option<usize> = None;
        while left != Some(0) {
            self.need(3)?;
            let digit = |at: usize| char::from(self.byte(at)).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (b'%', Some(high), Some(low)) = (self.byte(0), digit(1), digit(2)) else {
                return self.wrong("did not find URI escaped octet");
            };
            let octet = (high << 4) | low;
            left = Some(match (left, octet) {
                (Some(left), _) if octet & 0xc0 == 0x80 => left - 1,
                (Some(_), _) => return self.wrong("found an incorrect trailing UTF-8 octet"),
                (None, 0..0x80) => 0,
                (None, 0xc0..0xe0) => 1,
                (None, 0xe0..0xf0) => 2,
                (None, 0xf0..0xf8) => 3,
                (None, _) => return self.wrong("found an incorrect leading UTF-8 octet"),
            });
            uri.push(octet);
            for _ in 0..3 {
                self.skip()?;
            }
        }
        Ok(())
    }
}

const NO_MARK: &str = "did not find expected '!'";
const NO_SPACE: &str = "did not find expected whitespace or line break";
