//! Regular expressions as Kubernetes means them: Go's RE2 syntax, matched unanchored.
//!
//! Go and Rust run the same kind of engine but read some things differently (`\d` is ASCII in Go, `\Q…\E` exists,
//! `x**` is an error, `[a--b]` is no set operation …). A pattern is therefore read with Go's rules and written
//! down again in Rust's. Source: the package `regexp/syntax` of Go, flags `Perl`.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// Memory that one compiled expression may take. Go bounds repetitions instead; this bound is far above what they
/// allow for expressions that people write.
const SIZE_LIMIT: usize = 32 << 20;
/// Greatest number in a repetition such as `{1000}`.
const MAX_REPEAT: u32 = 1000;
/// Deepest nesting of groups, as in Go.
const MAX_DEPTH: usize = 1000;

/// A regular expression in Go's syntax, compiled when it is first used.
#[derive(Clone)]
pub struct Pattern {
    source: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Checks an expression and keeps it. The error is the text of Go's `regexp.Compile`.
    pub fn new(source: &str) -> Result<Self, PatternError> {
        let translated = translate(source)?;
        regex_syntax::Parser::new().parse(&translated).map_err(|error| {
            PatternError::new("invalid character class range", &last_line(&error.to_string()))
        })?;
        Ok(Self { source: source.into(), compiled: OnceLock::new() })
    }

    /// The expression as it was given.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    fn compiled(&self) -> Option<&Regex> {
        let compile = || {
            let translated = translate(&self.source).ok()?;
            RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().ok()
        };
        self.compiled.get_or_init(compile).as_ref()
    }

    /// Whether the expression is found anywhere in `text`. An expression too large to compile is found nowhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled().is_some_and(|regex| regex.is_match(text))
    }

    /// Where the expression is found in `text`, in bytes, at most so many times.
    pub(crate) fn find_iter<'t>(
        &'t self,
        text: &'t str,
        count: usize,
    ) -> impl Iterator<Item = Range<usize>> + 't {
        self.compiled()
            .into_iter()
            .flat_map(|regex| regex.find_iter(text))
            .map(|found| found.range())
            .take(count)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.source).finish()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Why an expression is refused, in the words of Go.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {reason}: `{part}`")]
pub struct PatternError {
    reason: &'static str,
    part: String,
}

impl PatternError {
    fn new(reason: &'static str, part: &str) -> Self {
        Self { reason, part: part.to_owned() }
    }
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Writes an expression of Go's syntax in that of the crate `regex`.
fn translate(source: &str) -> Result<String, PatternError> {
    let mut translator =
        Translator { source, rest: source, out: String::with_capacity(source.len() + 16), repeats: vec![1] };
    translator.run()?;
    Ok(translator.out)
}

struct Translator<'a> {
    source: &'a str,
    rest: &'a str,
    out: String,
    /// For each open group the greatest number of times that anything in it is repeated, by all repetitions around it together;
    /// first that of the whole expression.
    repeats: Vec<u32>,
}

impl<'a> Translator<'a> {
    fn run(&mut self) -> Result<(), PatternError> {
        // What the last operator was, since Go does not let repetitions follow each other.
        let mut last_repeat: Option<&'a str> = None;
        let mut has_operand = false;
        // How often something in the last operand is repeated.
        let mut operand = 1;
        while let Some(c) = self.rest.chars().next() {
            let start = self.rest;
            let repeat = match c {
                '*' | '+' | '?' => {
                    self.advance(1);
                    Some((c.to_string(), 1))
                }
                '{' => match self.repetition()? {
                    Some(bounds) => Some(bounds),
                    None => {
                        self.advance(1);
                        self.literal('{');
                        has_operand = true;
                        self.repeated(operand);
                        operand = 1;
                        last_repeat = None;
                        continue;
                    }
                },
                _ => None,
            };
            if let Some((operator, times)) = repeat {
                if !has_operand {
                    let part = consumed(start, self.rest);
                    return Err(PatternError::new("missing argument to repetition operator", part));
                }
                self.out.push_str(&operator);
                if self.rest.starts_with('?') {
                    self.advance(1);
                    self.out.push('?');
                }
                if let Some(last) = last_repeat {
                    let part = consumed(last, self.rest);
                    return Err(PatternError::new("invalid nested repetition operator", part));
                }
                last_repeat = Some(start);
                operand *= times;
                if operand > MAX_REPEAT {
                    let part = consumed(start, self.rest);
                    return Err(PatternError::new("invalid repeat count", part));
                }
                continue;
            }
            last_repeat = None;
            // No repetition of it follows any more.
            self.repeated(operand);
            operand = 1;
            match c {
                '(' => {
                    has_operand = false;
                    if self.open_group()? {
                        self.repeats.push(1);
                        if self.repeats.len() > MAX_DEPTH + 1 {
                            return Err(PatternError::new("expression nests too deeply", self.source));
                        }
                    }
                }
                ')' => {
                    if self.repeats.len() < 2 {
                        return Err(PatternError::new("unexpected )", self.source));
                    }
                    operand = self.repeats.pop().unwrap_or(1);
                    self.advance(1);
                    self.out.push(')');
                    has_operand = true;
                }
                '|' => {
                    self.advance(1);
                    self.out.push('|');
                    has_operand = false;
                }
                '[' => {
                    self.class()?;
                    has_operand = true;
                }
                '\\' => {
                    self.escape()?;
                    has_operand = true;
                }
                '^' | '$' | '.' => {
                    self.advance(1);
                    self.out.push(c);
                    has_operand = true;
                }
                _ => {
                    self.advance(c.len_utf8());
                    self.literal(c);
                    has_operand = true;
                }
            }
        }
        if self.repeats.len() > 1 {
            return Err(PatternError::new("missing closing )", self.source));
        }
        Ok(())
    }

    /// Notes how often something in the group that is open is repeated.
    fn repeated(&mut self, times: u32) {
        if let Some(most) = self.repeats.last_mut() {
            *most = times.max(*most);
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn literal(&mut self, c: char) {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            self.out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
        } else {
            self.out.push(c);
        }
    }

    /// Reads `{n}`, `{n,}` or `{n,m}`, and how often that is; anything else after `{` makes the brace an ordinary character.
    fn repetition(&mut self) -> Result<Option<(String, u32)>, PatternError> {
        let Some(end) = self.rest.find('}') else { return Ok(None) };
        let Some(body) = self.rest.get(1..end) else { return Ok(None) };
        let (least, most) = match body.split_once(',') {
            None => (number(body), Some(number(body))),
            Some((least, "")) => (number(least), None),
            Some((least, most)) => (number(least), Some(number(most))),
        };
        let (Some(least), most) = (least, most) else { return Ok(None) };
        if most == Some(None) {
            return Ok(None);
        }
        let most = most.flatten();
        let whole = self.rest.get(..=end).unwrap_or_default();
        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
            return Err(PatternError::new("invalid repeat count", whole));
        }
        self.advance(end + 1);
        // What is repeated no times costs nothing, whatever it is.
        Ok(Some((whole.to_owned(), most.unwrap_or(least.max(1)))))
    }

    /// Reads `(`, `(?:`, `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`; false if no group stays open.
    fn open_group(&mut self) -> Result<bool, PatternError> {
        let start = self.rest;
        let Some(after) = start.strip_prefix("(?") else {
            self.advance(1);
            self.out.push('(');
            return Ok(true);
        };
        // Without anything after it, what begins a name does not.
        let named = after.strip_prefix("P<").or_else(|| after.strip_prefix('<'));
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            let Some(end) = named.find('>') else {
                return Err(PatternError::new("invalid named capture", start));
            };
            let name = named.get(..end).unwrap_or_default();
            let rest = named.get(end + 1..).unwrap_or_default();
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return Err(PatternError::new("invalid named capture", consumed(start, rest)));
            }
            // Groups are never asked for by their names, which Rust would not have twice, nor with a digit first.
            self.out.push('(');
            self.rest = rest;
            return Ok(true);
        }
        let (mut on, mut off): (String, Option<String>) = (String::new(), None);
        for (at, c) in after.char_indices() {
            match (c, &mut off) {
                // Of a flag that is there twice the last counts.
                ('i' | 'm' | 's' | 'U', Some(off)) => {
                    on.retain(|flag| flag != c);
                    off.retain(|flag| flag != c);
                    off.push(c);
                }
                ('i' | 'm' | 's' | 'U', None) => {
                    on.retain(|flag| flag != c);
                    on.push(c);
                }
                ('-', None) => off = Some(String::new()),
                (':' | ')', off) if off.as_ref().is_none_or(|off| !off.is_empty()) => {
                    self.rest = after.get(at + 1..).unwrap_or_default();
                    let off = off.as_ref().map(|off| format!("-{off}")).unwrap_or_default();
                    // `(?)` is nothing at all.
                    if c == ':' || !on.is_empty() || !off.is_empty() {
                        self.out.push_str(&format!("(?{on}{off}{c}"));
                    }
                    return Ok(c == ':');
                }
                _ => {
                    let rest = after.get(at + c.len_utf8()..).unwrap_or_default();
                    return Err(PatternError::new(
                        "invalid or unsupported Perl syntax",
                        consumed(start, rest),
                    ));
                }
            }
        }
        Err(PatternError::new("invalid or unsupported Perl syntax", start))
    }

    /// Reads an escape outside of a class.
    fn escape(&mut self) -> Result<(), PatternError> {
        let after = self.rest.get(1..).unwrap_or_default();
        let Some(c) = after.chars().next() else {
            return Err(PatternError::new("trailing backslash at end of expression", ""));
        };
        match c {
            'A' | 'z' => {
                self.advance(2);
                self.out.push_str(if c == 'A' { "\\A" } else { "\\z" });
            }
            'b' | 'B' => {
                self.advance(2);
                self.out.push_str(if c == 'b' { "(?-u:\\b)" } else { "(?-u:\\B)" });
            }
            'Q' => {
                let body = after.get(1..).unwrap_or_default();
                let (quoted, rest) = body.split_once("\\E").unwrap_or((body, ""));
                // A repetition after `\Q…\E` binds to the last character, as it does in Go.
                quoted.chars().for_each(|c| self.literal(c));
                self.rest = rest;
            }
            _ => {
                if let Some(class) = self.perl_class()? {
                    self.out.push_str(&class);
                } else {
                    let c = self.escaped_char()?;
                    self.literal(c);
                }
            }
        }
        Ok(())
    }

    /// Reads `\d`, `\s`, `\w`, `\pL`, `\p{Name}` and their negations, in a form that can stand in a class too.
    fn perl_class(&mut self) -> Result<Option<String>, PatternError> {
        let start = self.rest;
        let after = start.get(1..).unwrap_or_default();
        let class = match after.chars().next() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('s') => "[\\t\\n\\x0C\\r ]",
            Some('S') => "[^\\t\\n\\x0C\\r ]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some(p @ ('p' | 'P')) => {
                let name = after.get(1..).unwrap_or_default();
                let (name, rest) = match name.strip_prefix('{') {
                    Some(braced) => braced
                        .split_once('}')
                        .ok_or_else(|| PatternError::new("invalid character class range", start))?,
                    None => {
                        let length = name.chars().next().map_or(0, char::len_utf8);
                        name.split_at_checked(length).unwrap_or((name, ""))
                    }
                };
                let (negated, name) = match name.strip_prefix('^') {
                    Some(name) => (p == 'p', name),
                    None => (p == 'P', name),
                };
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    return Err(PatternError::new("invalid character class range", consumed(start, rest)));
                }
                let class = format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' });
                if regex_syntax::Parser::new().parse(&class).is_err() {
                    return Err(PatternError::new("invalid character class range", consumed(start, rest)));
                }
                self.rest = rest;
                return Ok(Some(class));
            }
            _ => return Ok(None),
        };
        self.advance(2);
        Ok(Some(class.to_owned()))
    }

    /// Reads an escape that stands for one character.
    fn escaped_char(&mut self) -> Result<char, PatternError> {
        let start = self.rest;
        let after = start.get(1..).unwrap_or_default();
        let Some(c) = after.chars().next() else {
            return Err(PatternError::new("trailing backslash at end of expression", ""));
        };
        let rest = after.get(c.len_utf8()..).unwrap_or_default();
        let invalid = |rest: &str| Err(PatternError::new("invalid escape sequence", consumed(start, rest)));
        let (value, rest) = match c {
            'a' => ('\x07', rest),
            'f' => ('\x0C', rest),
            'n' => ('\n', rest),
            'r' => ('\r', rest),
            't' => ('\t', rest),
            'v' => ('\x0B', rest),
            '0'..='7' => {
                let digits = rest.bytes().take(2).take_while(|b| (b'0'..=b'7').contains(b)).count();
                // A single digit other than zero would be a back reference, which RE2 does not have.
                if c != '0' && digits == 0 {
                    return invalid(rest);
                }
                let octal = after.get(..=digits).unwrap_or_default();
                let value = u32::from_str_radix(octal, 8).ok().and_then(char::from_u32);
                (value.unwrap_or('\0'), rest.get(digits..).unwrap_or_default())
            }
            'x' => {
                let (hex, rest) = match rest.strip_prefix('{') {
                    Some(braced) => match braced
                        .char_indices()
                        .find(|(at, c)| *c == '}' || !is_hex(braced, *at))
                    {
                        Some((at, '}')) => {
                            (braced.get(..at).unwrap_or_default(), braced.get(at + 1..).unwrap_or_default())
                        }
                        Some((at, c)) => return invalid(braced.get(at + c.len_utf8()..).unwrap_or_default()),
                        None => return invalid(""),
                    },
                    None => match rest.split_at_checked(2) {
                        Some(parts) => parts,
                        None => return invalid(""),
                    },
                };
                let all_hex = !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
                match u32::from_str_radix(hex, 16).ok().and_then(char::from_u32) {
                    Some(value) if all_hex => (value, rest),
                    _ => return invalid(rest),
                }
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => (c, rest),
            _ => return invalid(rest),
        };
        self.rest = rest;
        Ok(value)
    }

    /// Reads `[…]`. Every character is written as an escape, so that none of Rust's set operators can appear.
    fn class(&mut self) -> Result<(), PatternError> {
        let start = self.rest;
        let missing = || PatternError::new("missing closing ]", start);
        self.advance(1);
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.advance(1);
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let item = self.rest;
            match item.chars().next().ok_or_else(missing)? {
                ']' if !first => {
                    self.advance(1);
                    self.out.push(']');
                    return Ok(());
                }
                '[' if item.starts_with("[:") && item.contains(":]") => {
                    let end = item.find(":]").unwrap_or_default() + 2;
                    let name = item.get(..end).unwrap_or_default();
                    if !is_posix_class(name) {
                        return Err(PatternError::new("invalid character class range", name));
                    }
                    self.advance(end);
                    self.out.push_str(name);
                }
                _ => {
                    let class = if item.starts_with('\\') { self.perl_class()? } else { None };
                    if let Some(class) = class {
                        self.out.push_str(&class);
                    } else {
                        self.class_range(item, missing)?;
                    }
                }
            }
            first = false;
        }
    }

    fn class_range(&mut self, item: &str, missing: impl Fn() -> PatternError) -> Result<(), PatternError> {
        let low = self.class_char(&missing)?;
        self.literal(low);
        let is_range = self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]");
        if is_range {
            self.advance(1);
            let high = self.class_char(&missing)?;
            if high < low {
                return Err(PatternError::new("invalid character class range", consumed(item, self.rest)));
            }
            self.out.push('-');
            self.literal(high);
        }
        Ok(())
    }

    fn class_char(&mut self, missing: impl Fn() -> PatternError) -> Result<char, PatternError> {
        match self.rest.chars().next().ok_or_else(missing)? {
            '\\' => self.escaped_char(),
            c => {
                self.advance(c.len_utf8());
                Ok(c)
            }
        }
    }
}

/// The part of `start` that lies before `rest`.
fn consumed<'a>(start: &'a str, rest: &str) -> &'a str {
    start.get(..start.len().saturating_sub(rest.len())).unwrap_or(start)
}

/// A decimal number without leading zeros. What is too large becomes a number that is refused.
fn number(digits: &str) -> Option<u32> {
    if digits.is_empty()
        || !digits.bytes().all(|b| b.is_ascii_digit())
        || (digits.len() > 1 && digits.starts_with('0'))
    {
        return None;
    }
    Some(digits.parse().unwrap_or(u32::MAX))
}

fn is_posix_class(name: &str) -> bool {
    let name = name.trim_start_matches("[:").trim_end_matches(":]").trim_start_matches('^');
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "word", "xdigit",
    ];
    NAMES.contains(&name)
}

/// Whether a text is hexadecimal to this place, with it, and the number of a character so far.
fn is_hex(text: &str, at: usize) -> bool {
    let digits = text.get(..=at).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    let digits = digits.map(|digits| digits.trim_start_matches('0'));
    digits.is_some_and(|digits| {
        digits.is_empty()
            || u32::from_str_radix(digits, 16).is_ok_and(|number| number <= u32::from(char::MAX))
    })
}

#[cfg(test)]
mod tests;
