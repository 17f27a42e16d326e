//! The text of scalars: plain, quoted, and in blocks.

use super::Error;
use super::scanner::Scanner;

impl Scanner<'_> {
    /// A scalar without quotes; it ends where it could not go on.
    pub(super) fn scan_plain(&mut self) -> Result<String, Error> {
        let indent = self.indent + 1;
        let (mut text, mut gap) = (Vec::new(), Gap::default());
        loop {
            self.need(4)?;
            if self.is_document_line() || self.byte(0) == b'#' {
                break;
            }
            while !self.is_word_end(0) {
                let next = self.byte(0);
                let ends = next == b':' && self.is_word_end(1);
                let flow = self.flow_level > 0 && matches!(next, b',' | b'?' | b'[' | b']' | b'{' | b'}');
                if ends || flow {
                    break;
                }
                gap.fill(&mut text);
                self.copy(&mut text)?;
                self.need(2)?;
            }
            if !(self.is_blank(0) || self.is_break(0)) {
                break;
            }
            while self.is_blank(0) || self.is_break(0) {
                let tab = gap.broken && (self.mark.column as isize) < indent && self.byte(0) == b'\t';
                if tab {
                    return self.wrong("found a tab character that violates indentation");
                }
                self.widen(&mut gap)?;
            }
            if self.flow_level == 0 && (self.mark.column as isize) < indent {
                break;
            }
        }
        // What follows a line break may be a key.
        if gap.broken {
            self.key_allowed = true;
        }
        Ok(into_text(text))
    }

    /// Takes a blank or a line break into a gap.
    fn widen(&mut self, gap: &mut Gap) -> Result<(), Error> {
        if self.is_blank(0) {
            return if gap.broken { self.skip() } else { self.copy(&mut gap.blanks) };
        }
        if gap.broken {
            return self.copy_break(&mut gap.breaks);
        }
        gap.blanks.clear();
        gap.broken = true;
        self.copy_break(&mut gap.first)
    }

    /// A scalar in single or double quotes.
    pub(super) fn scan_quoted(&mut self) -> Result<String, Error> {
        let quote = self.byte(0);
        let single = quote == b'\'';
        self.skip()?;
        let (mut text, mut gap) = (Vec::new(), Gap::default());
        loop {
            self.need(4)?;
            if self.is_document_line() {
                return self.wrong("found unexpected document indicator");
            }
            if self.at_end() {
                return self.wrong("found unexpected end of stream");
            }
            while !self.is_word_end(0) {
                match (self.byte(0), self.byte(1)) {
                    (b'\'', b'\'') if single => {
                        text.push(b'\'');
                        self.skip()?;
                        self.skip()?;
                    }
                    (next, _) if next == quote => break,
                    (b'\\', _) if !single && self.is_break(1) => {
                        self.skip()?;
                        self.skip_break()?;
                        gap.broken = true;
                        break;
                    }
                    (b'\\', _) if !single => self.scan_escape(&mut text)?,
                    _ => self.copy(&mut text)?,
                }
                self.need(2)?;
            }
            if self.byte(0) == quote {
                break;
            }
            while self.is_blank(0) || self.is_break(0) {
                self.widen(&mut gap)?;
            }
            gap.fill(&mut text);
        }
        self.skip()?;
        Ok(into_text(text))
    }

    fn scan_escape(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
        let (meaning, digits): (&[u8], usize) = match self.byte(1) {
            b'0' => (b"\0", 0),
            b'a' => (b"\x07", 0),
            b'b' => (b"\x08", 0),
            b't' | b'\t' => (b"\t", 0),
            b'n' => (b"\n", 0),
            b'v' => (b"\x0b", 0),
            b'f' => (b"\x0c", 0),
            b'r' => (b"\r", 0),
            b'e' => (b"\x1b", 0),
            b' ' => (b" ", 0),
            b'"' => (b"\"", 0),
            b'\'' => (b"'", 0),
            b'\\' => (b"\\", 0),
            b'N' => ("\u{85}".as_bytes(), 0),
            b'_' => ("\u{a0}".as_bytes(), 0),
            b'L' => ("\u{2028}".as_bytes(), 0),
            b'P' => ("\u{2029}".as_bytes(), 0),
            b'x' => (b"", 2),
            b'u' => (b"", 4),
            b'U' => (b"", 8),
            _ => return self.wrong("found unknown escape character"),
        };
        text.extend_from_slice(meaning);
        self.skip()?;
        self.skip()?;
        if digits == 0 {
            return Ok(());
        }
        self.need(digits)?;
        let mut number: u32 = 0;
        for at in 0..digits {
            let Some(digit) = char::from(self.byte(at)).to_digit(16) else {
                return self.wrong("did not find expected hexdecimal number");
            };
            number = (number << 4) | digit;
        }
        let Some(meant) = char::from_u32(number) else {
            return self.wrong("found invalid Unicode character escape code");
        };
        text.extend_from_slice(meant.encode_utf8(&mut [0; 4]).as_bytes());
        for _ in 0..digits {
            self.skip()?;
        }
        Ok(())
    }

    /// A scalar that is a block of lines: `|` keeps them, `>` folds them.
    pub(super) fn scan_block_scalar(&mut self) -> Result<String, Error> {
        let literal = self.byte(0) == b'|';
        self.skip()?;
        let (mut chomp, mut increment) = (None, 0);
        // The two indicators come in any order.
        for _ in 0..2 {
            match self.byte(0) {
                sign @ (b'+' | b'-') if chomp.is_none() => {
                    chomp = Some(sign);
                    self.skip()?;
                }
                b'0' if increment == 0 => return self.wrong("found an indentation indicator equal to 0"),
                digit @ b'1'..=b'9' if increment == 0 => {
                    increment = isize::from(digit - b'0');
                    self.skip()?;
                }
                _ => {}
            }
        }
        self.skip_to_break()?;
        if !self.is_break_or_end(0) {
            return self.wrong("did not find expected comment or line break");
        }
        self.skip_break()?;
        let mut indent = if increment > 0 { self.indent.max(0) + increment } else { 0 };
        let (mut text, mut first, mut breaks) = (Vec::new(), Vec::new(), Vec::new());
        self.scan_block_breaks(&mut indent, &mut breaks)?;
        let mut led_by_blank = false;
        while self.mark.column as isize == indent && !self.at_end() {
            let blank = self.is_blank(0);
            if !literal && !led_by_blank && !blank && first.first() == Some(&b'\n') {
                // The lines are one paragraph, unless there are others between them.
                if breaks.is_empty() {
                    text.push(b' ');
                }
            } else {
                text.extend_from_slice(&first);
            }
            first.clear();
            text.append(&mut breaks);
            led_by_blank = blank;
            while !self.is_break_or_end(0) {
                self.copy(&mut text)?;
            }
            self.copy_break(&mut first)?;
            self.scan_block_breaks(&mut indent, &mut breaks)?;
        }
        if chomp != Some(b'-') {
            text.append(&mut first);
        }
        if chomp == Some(b'+') {
            text.append(&mut breaks);
        }
        Ok(into_text(text))
    }

    /// Steps over indentation and empty lines. An indentation that is not given is that of the first line with text.
    fn scan_block_breaks(&mut self, indent: &mut isize, breaks: &mut Vec<u8>) -> Result<(), Error> {
        let mut deepest = 0;
        loop {
            let inside =
                |scanner: &Self, indent: isize| indent == 0 || (scanner.mark.column as isize) < indent;
            while inside(self, *indent) && self.byte(0) == b' ' {
                self.skip()?;
            }
            deepest = deepest.max(self.mark.column as isize);
            if inside(self, *indent) && self.byte(0) == b'\t' {
                return self.wrong("found a tab character where an indentation space is expected");
            }
            if !self.is_break(0) {
                break;
            }
            self.copy_break(breaks)?;
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}

/// What is between two words of a scalar: blanks that stay, or line breaks that are folded.
#[derive(Default)]
struct Gap {
    blanks: Vec<u8>,
    broken: bool,
    first: Vec<u8>,
    breaks: Vec<u8>,
}

impl Gap {
    /// Puts what the gap means at the end of a text, and empties it.
    fn fill(&mut self, text: &mut Vec<u8>) {
        if !self.broken {
            text.append(&mut self.blanks);
            return;
        }
        match self.first.first() {
            Some(b'\n') if self.breaks.is_empty() => text.push(b' '),
            Some(b'\n') => {}
            _ => text.append(&mut self.first),
        }
        text.append(&mut self.breaks);
        self.first.clear();
        self.broken = false;
    }
}

/// Everything that is copied is a whole character.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}
