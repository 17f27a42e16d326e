//! Documents as YAML in the style of upstream's writer (go-yaml 2, which follows libyaml's emitter): the order of keys, which
//! texts are quoted and how, where long lines are folded. What is written is only read by machines that would read any style;
//! but people compare it.

use std::sync::LazyLock;

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value, go_json, go_print};
use regex::Regex;

/// Lines longer than this are folded at the next space.
const WIDTH: usize = 80;
/// Keys longer than this, in bytes, are written after a question mark.
const LONGEST_KEY: usize = 128;
const STEP: usize = 2;

/// Appends a document.
pub(crate) fn write(value: &Value, out: &mut Vec<u8>) {
    let mut writer = Writer { text: String::with_capacity(1024), column: 0, indented: 0 };
    match value {
        Value::Object(map) if !map.is_empty() => writer.mapping(map, 0, true),
        Value::Array(items) if !items.is_empty() => writer.sequence(items, 0, true),
        other => writer.short(other, 0),
    }
    if writer.is_indented_too_much() {
        // JSON is YAML, too.
        go_json::write(value, out);
        out.push(b'\n');
        return;
    }
    if !writer.text.ends_with('\n') {
        writer.text.push('\n');
    }
    out.extend_from_slice(writer.text.as_bytes());
}

struct Writer {
    text: String,
    /// The characters since the line began.
    column: usize,
    /// How much of the text is indentation.
    indented: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += text.chars().count();
    }

    /// Begins a line with this much indentation.
    fn line(&mut self, indent: usize) {
        if self.column > 0 {
            self.text.push('\n');
        }
        if !self.is_indented_too_much() {
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.indented += indent;
        }
        self.column = indent;
    }

    /// What nests deeply takes room by the square.
    fn is_indented_too_much(&self) -> bool {
        go_json::is_indented_too_much(self.indented, self.text.len() - self.indented)
    }

    /// `inline` says that the first entry goes on the line that has been begun.
    fn mapping(&mut self, map: &Map, indent: usize, inline: bool) {
        for (at, key) in sorted(map).into_iter().enumerate() {
            let Some(value) = map.get(key) else { continue };
            if at > 0 || !inline {
                self.line(indent);
            }
            if key.len() <= LONGEST_KEY && !key.contains(is_break) {
                self.scalar(key, indent, true);
                self.put(":");
                self.after_key(value, indent);
            } else {
                self.put("? ");
                self.scalar(key, indent, false);
                self.line(indent);
                self.put(": ");
                self.inline(value, indent);
            }
        }
    }

    fn after_key(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => deeper(|| self.mapping(map, indent + STEP, false)),
            // Sequences are not indented in mappings.
            Value::Array(items) if !items.is_empty() => deeper(|| self.sequence(items, indent, false)),
            other => {
                self.put(" ");
                self.short(other, indent);
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize, inline: bool) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 || !inline {
                self.line(indent);
            }
            self.put("- ");
            self.inline(item, indent);
        }
    }

    /// A value on the line of its indicator.
    fn inline(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => deeper(|| self.mapping(map, indent + STEP, true)),
            Value::Array(items) if !items.is_empty() => deeper(|| self.sequence(items, indent + STEP, true)),
            other => self.short(other, indent),
        }
    }

    /// A scalar, or an empty collection.
    fn short(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
            Value::String(text) => self.scalar(text, indent, false),
            Value::Null => self.put("null"),
            Value::Bool(flag) => self.put(if *flag { "true" } else { "false" }),
            Value::Int(number) => self.put(&number.to_string()),
            Value::Float(number) => self.put(&go_print::float(*number)),
            Value::Spelled(literal) => match Value::number(literal) {
                Some(number) => self.short(&number, indent),
                None => self.scalar(literal, indent, false),
            },
        }
    }

    fn scalar(&mut self, text: &str, indent: usize, key: bool) {
        let seen = Seen::of(text);
        let indent = indent + STEP;
        if text.contains('\n') {
            return if seen.block && !key {
                self.literal(text, indent)
            } else {
                self.double(text, indent, key)
            };
        }
        if !is_text(text) {
            return self.double(text, indent, key);
        }
        if seen.plain {
            self.folded(text, indent, key, false);
        } else if seen.single && !(key && seen.breaks) {
            self.put("'");
            self.folded(text, indent, key, true);
            self.put("'");
        } else {
            self.double(text, indent, key);
        }
    }

    /// The content of a plain or a single-quoted text.
    fn folded(&mut self, text: &str, indent: usize, key: bool, quoted: bool) {
        let (mut spaces, mut breaks) = (false, false);
        let mut rest = text.chars();
        let mut first = true;
        while let Some(c) = rest.next() {
            if c == ' ' {
                let next = rest.as_str().chars().next();
                let inside = !quoted || (!first && next.is_some());
                if !key && !spaces && self.column > WIDTH && inside && next != Some(' ') {
                    self.line(indent);
                } else {
                    self.put(" ");
                }
                spaces = true;
            } else if is_break(c) {
                self.text.push(c);
                self.column = 0;
                breaks = true;
            } else {
                if breaks {
                    self.line(indent);
                }
                if quoted && c == '\'' {
                    self.put("'");
                }
                self.text.push(c);
                self.column += 1;
                (spaces, breaks) = (false, false);
            }
            first = false;
        }
    }

    fn double(&mut self, text: &str, indent: usize, key: bool) {
        self.put("\"");
        // Upstream looks for a byte order mark at the beginning whatever character it is at.
        let all = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut rest = text.chars();
        let mut first = true;
        while let Some(c) = rest.next() {
            let next = rest.as_str().chars().next();
            if all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.put(&escape(c));
                spaces = false;
            } else if c == ' ' {
                if !key && !spaces && self.column > WIDTH && !first && next.is_some() {
                    self.line(indent);
                    if next == Some(' ') {
                        self.put("\\");
                    }
                } else {
                    self.put(" ");
                }
                spaces = true;
            } else {
                self.text.push(c);
                self.column += 1;
                spaces = false;
            }
            first = false;
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put("2");
        }
        let mut from_end = text.chars().rev();
        match (from_end.next().is_some_and(is_break), from_end.next()) {
            (false, _) => self.put("-"),
            (true, before) if before.is_none_or(is_break) => self.put("+"),
            (true, _) => {}
        }
        self.text.push('\n');
        self.column = 0;
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.text.push(c);
                self.column = 0;
                breaks = true;
            } else {
                if std::mem::take(&mut breaks) {
                    self.line(indent);
                }
                self.text.push(c);
                self.column += 1;
            }
        }
    }
}

/// What a text holds that some styles cannot say.
struct Seen {
    plain: bool,
    single: bool,
    block: bool,
    breaks: bool,
}

impl Seen {
    fn of(text: &str) -> Seen {
        let blank = |c: char| matches!(c, ' ' | '\t') || is_break(c);
        let (mut indicators, mut special, mut breaks) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        let mut before: Option<char> = None;
        let mut rest = text.chars();
        if text.starts_with("---") || text.starts_with("...") {
            indicators = true;
        }
        while let Some(c) = rest.next() {
            let ends_word = rest.as_str().chars().next().is_none_or(blank);
            indicators |= match (c, before) {
                (
                    '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                    | '`',
                    None,
                ) => true,
                ('?' | '-', None) | (':', _) => ends_word,
                ('#', Some(before)) => blank(before) || before == '\0',
                _ => false,
            };
            special |= !is_printable(c);
            if c == ' ' {
                break_space |= before.is_some_and(is_break);
            } else if is_break(c) {
                breaks = true;
                space_break |= before == Some(' ');
            }
            before = Some(c);
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let (leading, trailing) = (text.chars().next(), before);
        let single = !break_space && !space_break && !special;
        Seen {
            plain: single && !edge(leading) && !edge(trailing) && !breaks && !indicators,
            single,
            block: trailing != Some(' ') && !space_break && !special,
            breaks,
        }
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(c);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

static FLOAT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$").ok());
static BASE_60: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$").ok());
static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^\d{4}-(\d{1,2})-(\d{1,2})(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)",
        r"| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?)?$"
    ))
    .ok()
});

fn matches(regex: &Option<Regex>, text: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a text without quotes would be read as a text again, by readers of today and of old.
fn is_text(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    match first {
        'y' | 'Y' | 'n' | 'N' | 't' | 'T' | 'f' | 'F' | 'o' | 'O' | '~' => !is_word(text),
        '.' => {
            let number = matches(&FLOAT, text) && text.parse::<f64>().is_ok_and(f64::is_finite);
            !number && !is_word(text)
        }
        '+' | '-' | '0'..='9' => {
            !is_word(text) && !is_number(text) && !is_time(text) && !matches(&BASE_60, text)
        }
        _ => true,
    }
}

fn is_word(text: &str) -> bool {
    const WORDS: [&str; 21] = [
        "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF",
        "~", "null", "Null", "NULL", "true",
    ];
    const MORE: [&str; 14] = [
        "True", "TRUE", "false", "False", "FALSE", ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf",
        "+.Inf", "+.INF",
    ];
    WORDS.contains(&text) || MORE.contains(&text) || matches!(text, "-.inf" | "-.Inf" | "-.INF")
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'o' | b'O', ..] => (&digits[2..], 8),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    // Without a sign of their own: the one before the prefix is the only one.
    let whole = digits.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && u64::from_str_radix(digits, radix).is_ok_and(|number| !negative || number <= 1 << 63);
    let signed_large =
        plain.starts_with('+') && u64::from_str_radix(digits, radix).is_ok_and(|n| n >= 1 << 63);
    (whole && !signed_large) || (matches(&FLOAT, &plain) && plain.parse::<f64>().is_ok_and(f64::is_finite))
}

fn is_time(text: &str) -> bool {
    let Some(found) = TIME.as_ref().and_then(|time| time.captures(text)) else { return false };
    let part = |at| found.get(at).and_then(|part| part.as_str().parse::<u32>().ok());
    let year = text.get(..4).and_then(|year| year.parse::<u32>().ok()).unwrap_or_default();
    let days = match part(1) {
        Some(2) if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        Some(1..=12) => 31,
        _ => return false,
    };
    let below = |at: usize, bound: u32| part(at).or_else(|| part(at + 3)).is_none_or(|part| part < bound);
    part(2).is_some_and(|day| (1..=days).contains(&day)) && below(3, 24) && below(4, 60) && below(5, 60)
}

/// The keys in upstream's order: letters after everything else, numbers by their value.
fn sorted(map: &Map) -> Vec<&str> {
    let keys: Vec<&str> = map.keys().collect();
    merge_sort(keys)
}

/// No order of the mathematicians is guaranteed here, which the sort of the standard library wants.
fn merge_sort(mut keys: Vec<&str>) -> Vec<&str> {
    if keys.len() < 2 {
        return keys;
    }
    let right = merge_sort(keys.split_off(keys.len() / 2));
    let left = merge_sort(keys);
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    let mut merged = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if is_less(b, a) { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

fn is_less(a: &str, b: &str) -> bool {
    let mut same = 0;
    let (mut left, mut right) = (a.chars(), b.chars());
    loop {
        let (from_a, from_b) = (left.as_str(), right.as_str());
        let (Some(x), Some(y)) = (left.next(), right.next()) else { return from_a.len() < from_b.len() };
        if x == y {
            same += x.len_utf8();
            continue;
        }
        match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => return x < y,
            (x, y) if x || y => return y,
            _ => {}
        }
        // Zeros in the middle of a number count.
        let before = a.get(..same).unwrap_or_default();
        let inside = (x == '0' || y == '0')
            && before.chars().rev().take_while(char::is_ascii_digit).any(|digit| digit != '0');
        let number = |text: &str| {
            let digits = text.bytes().take_while(u8::is_ascii_digit);
            digits.fold((i64::from(inside), 0_usize), |(number, count), digit| {
                (number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), count + 1)
            })
        };
        let ((an, ai), (bn, bi)) = (number(from_a), number(from_b));
        return if an != bn {
            an < bn
        } else if ai != bi {
            ai < bi
        } else {
            x < y
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::{json, parse};
    use proptest::prelude::*;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        write(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn collections_are_written_in_upstream_s_style() {
        let value = json!({"a": {"b": [], "c": {}}, "list": [1, [2, {"x": null, "z": [true]}], {}], "a10": 1, "a9": 1.5, "A": ""});
        let expected = "A: \"\"\na:\n  b: []\n  c: {}\na9: 1.5\na10: 1\nlist:\n- 1\n- - 2\n  - x: null\n    z:\n    - true\n- {}\n";
        assert_eq!(written(&value), expected);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(texts in proptest::collection::vec("[ -~\n\té]{0,100}", 1..4), key in "[a-z0-9 :#-]{0,140}") {
            let value = json!({"texts": texts, "map": {key.as_str(): texts}});
            let text = written(&value);
            prop_assert_eq!(parse::yaml(&text).unwrap().value, value, "{}", text);
        }
    }
}
