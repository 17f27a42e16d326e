//! What is wrong with a text that is no JSON, in the words of Go's decoder, which every client of Kubernetes knows.

/// How deep Go's decoder lets values nest.
pub(crate) const DEEPEST: usize = 10_000;

/// The first syntax error of a text; `None` if it is one JSON value.
///
/// The text is that of `encoding/json`, such as `invalid character '}' looking for beginning of value`.
pub fn json_syntax_error(text: &[u8]) -> Option<String> {
    Scanner::new(text).document().err()
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// What a value may be followed by, for the innermost object or array that is open.
enum Open {
    Object,
    Array,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    fn document(&mut self) -> Result<(), String> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            // A value begins here.
            self.space();
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    self.enter(&mut open, Open::Object)?;
                    self.space();
                    if self.peek()? == b'}' {
                        self.close(&mut open);
                    } else {
                        self.key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.enter(&mut open, Open::Array)?;
                    self.space();
                    if self.peek()? == b']' {
                        self.close(&mut open);
                    } else {
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value has ended: close what ends with it.
            loop {
                self.space();
                match open.last() {
                    None => {
                        let Some(c) = self.text.get(self.at) else { return Ok(()) };
                        return Err(invalid(*c, "after top-level value"));
                    }
                    Some(Open::Object) => match self.peek()? {
                        b',' => {
                            self.at += 1;
                            self.space();
                            self.key()?;
                            break;
                        }
                        b'}' => self.close(&mut open),
                        c => return Err(invalid(c, "after object key:value pair")),
                    },
                    Some(Open::Array) => match self.peek()? {
                        b',' => {
                            self.at += 1;
                            break;
                        }
                        b']' => self.close(&mut open),
                        c => return Err(invalid(c, "after array element")),
                    },
                }
            }
        }
    }

    fn enter(&self, open: &mut Vec<Open>, what: Open) -> Result<(), String> {
        let bracket = if matches!(what, Open::Array) { '[' } else { '{' };
        open.push(what);
        if open.len() > DEEPEST {
            return Err(format!("invalid character '{bracket}' exceeded max depth"));
        }
        Ok(())
    }

    fn close(&mut self, open: &mut Vec<Open>) {
        self.at += 1;
        open.pop();
    }

    fn peek(&self) -> Result<u8, String> {
        self.text.get(self.at).copied().ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn next(&mut self) -> Result<u8, String> {
        let c = self.peek()?;
        self.at += 1;
        Ok(c)
    }

    /// The next byte of a word or number. Go looks at a text that ends within one as if a space came next.
    fn next_of_word(&mut self) -> u8 {
        self.next().unwrap_or(b' ')
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn key(&mut self) -> Result<(), String> {
        match self.next()? {
            b'"' => self.string()?,
            c => return Err(invalid(c, "looking for beginning of object key string")),
        }
        self.space();
        match self.next()? {
            b':' => Ok(()),
            c => Err(invalid(c, "after object key")),
        }
    }

    fn scalar(&mut self) -> Result<(), String> {
        match self.next()? {
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' => match self.next_of_word() {
                b'0' => self.fraction(),
                b'1'..=b'9' => self.digits(),
                c => Err(invalid(c, "in numeric literal")),
            },
            b'0' => self.fraction(),
            b'1'..=b'9' => self.digits(),
            c => Err(invalid(c, "looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes().skip(1) {
            let c = self.next_of_word();
            if c != expected {
                let expected = expected as char;
                return Err(invalid(c, &format!("in literal {word} (expecting '{expected}')")));
            }
        }
        Ok(())
    }

    fn skip_digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        self.skip_digits();
        self.fraction()
    }

    fn fraction(&mut self) -> Result<(), String> {
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            match self.next_of_word() {
                b'0'..=b'9' => self.skip_digits(),
                c => return Err(invalid(c, "after decimal point in numeric literal")),
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.text.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            match self.next_of_word() {
                b'0'..=b'9' => self.skip_digits(),
                c => return Err(invalid(c, "in exponent of numeric literal")),
            }
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => match self.next_of_word() {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let c = self.next_of_word();
                            if !c.is_ascii_hexdigit() {
                                return Err(invalid(c, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    c => return Err(invalid(c, "in string escape code")),
                },
                c if c < 0x20 => return Err(invalid(c, "in string literal")),
                _ => {}
            }
        }
    }
}

/// Go looks at bytes and prints each as the character of that number.
fn invalid(byte: u8, place: &str) -> String {
    let shown = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", byte as char),
    };
    format!("invalid character {shown} {place}")
}

#[cfg(test)]
mod tests {
    use super::json_syntax_error;

    #[test]
    fn errors_read_as_those_of_go() {
        for (text, error) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("nope", "invalid character 'o' in literal null (expecting 'u')"),
            ("{a}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("\u{9e}", "invalid character 'Â' looking for beginning of value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1e,", "invalid character ',' in exponent of numeric literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
        ] {
            assert_eq!(json_syntax_error(text.as_bytes()).as_deref(), Some(error), "{text:?}");
        }
        for text in ["{}", " [1, -0.5e+3, \"a\\u00e9\", null, true, false, {\"a\": {}}] "] {
            assert_eq!(json_syntax_error(text.as_bytes()), None, "{text:?}");
        }
    }
}
