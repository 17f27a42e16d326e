//! What Go's `encoding/json` says of a text that is no JSON.

/// Checks a text.
///
/// # Errors
/// Go's words for the first fault.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut reader = Reader { rest: text.chars().peekable() };
    reader.value(0)?;
    reader.space();
    match reader.rest.next() {
        None => Ok(()),
        Some(c) => Err(invalid(c, "after top-level value")),
    }
}

/// As [`check`], and the text must be an object.
pub(super) fn check_object(text: &str) -> Result<(), String> {
    check(text)?;
    let found = match text.trim_start().chars().next() {
        Some('{') | Some('n') => return Ok(()),
        Some('[') => "array",
        Some('"') => "string",
        Some('t' | 'f') => "bool",
        _ => "number",
    };
    Err(format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"))
}

const END: &str = "unexpected end of JSON input";
/// As deep as Go goes.
const DEPTH: usize = 10_000;

fn invalid(c: char, context: &str) -> String {
    let quoted = match c {
        '\'' => r"'\''".to_owned(),
        '"' => "'\"'".to_owned(),
        '\n' => r"'\n'".to_owned(),
        '\t' => r"'\t'".to_owned(),
        c => format!("'{c}'"),
    };
    format!("invalid character {quoted} {context}")
}

struct Reader<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
}

impl Reader<'_> {
    fn space(&mut self) {
        while self.rest.next_if(|c| matches!(c, ' ' | '\t' | '\r' | '\n')).is_some() {}
    }

    fn next(&mut self) -> Result<char, String> {
        self.rest.next().ok_or_else(|| END.to_owned())
    }

    fn value(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        self.space();
        match self.next()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            '"' => self.string(),
            't' => self.word("rue", "true"),
            'f' => self.word("alse", "false"),
            'n' => self.word("ull", "null"),
            '-' => match self.next()? {
                '0' => self.fraction(),
                c if c.is_ascii_digit() => self.number(),
                c => Err(invalid(c, "in numeric literal")),
            },
            '0' => self.fraction(),
            c if c.is_ascii_digit() => self.number(),
            c => Err(invalid(c, "looking for beginning of value")),
        }
    }

    fn word(&mut self, rest: &str, word: &str) -> Result<(), String> {
        for expected in rest.chars() {
            let c = self.next()?;
            if c != expected {
                return Err(invalid(c, &format!("in literal {word} (expecting '{expected}')")));
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        while self.rest.next_if(char::is_ascii_digit).is_some() {}
        self.fraction()
    }

    fn fraction(&mut self) -> Result<(), String> {
        if self.rest.next_if_eq(&'.').is_some() {
            self.digits("after decimal point in numeric literal")?;
        }
        if self.rest.next_if(|c| matches!(c, 'e' | 'E')).is_some() {
            let _sign = self.rest.next_if(|c| matches!(c, '+' | '-'));
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digits(&mut self, context: &str) -> Result<(), String> {
        let c = self.next()?;
        if !c.is_ascii_digit() {
            return Err(invalid(c, context));
        }
        while self.rest.next_if(char::is_ascii_digit).is_some() {}
        Ok(())
    }

    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.next()? {
                '"' => return Ok(()),
                '\\' => match self.next()? {
                    'b' | 'f' | 'n' | 'r' | 't' | '\\' | '/' | '"' => {}
                    'u' => {
                        for _ in 0..4 {
                            let c = self.next()?;
                            if !c.is_ascii_hexdigit() {
                                return Err(invalid(c, r"in \u hexadecimal character escape"));
                            }
                        }
                    }
                    c => return Err(invalid(c, "in string escape code")),
                },
                c if c < ' ' => return Err(invalid(c, "in string literal")),
                _ => {}
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), String> {
        self.space();
        if self.rest.next_if_eq(&']').is_some() {
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.space();
            match self.next()? {
                ',' => {}
                ']' => return Ok(()),
                c => return Err(invalid(c, "after array element")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), String> {
        self.space();
        if self.rest.next_if_eq(&'}').is_some() {
            return Ok(());
        }
        loop {
            self.space();
            match self.next()? {
                '"' => self.string()?,
                c => return Err(invalid(c, "looking for beginning of object key string")),
            }
            self.space();
            match self.next()? {
                ':' => {}
                c => return Err(invalid(c, "after object key")),
            }
            self.value(depth + 1)?;
            self.space();
            match self.next()? {
                ',' => {}
                '}' => return Ok(()),
                c => return Err(invalid(c, "after object key:value pair")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_words_of_go() {
        for (text, fault) in [
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{", "unexpected end of JSON input"),
            ("{a}", "invalid character 'a' looking for beginning of object key string"),
            ("[1 2]", "invalid character '2' after array element"),
            ("nul!", "invalid character '!' in literal null (expecting 'l')"),
            ("1 2", "invalid character '2' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ] {
            assert_eq!(check_object(text), Err(fault.to_owned()), "{text}");
        }
        for good in ["{}", " {\"a\": [1.5e3, -0, true, null, \"\\u00e9\"]} ", "null"] {
            assert_eq!(check_object(good), Ok(()), "{good}");
        }
    }
}
