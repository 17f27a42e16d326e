//! Values as YAML, for the parts of a document that gnostic has no message for: extensions, enums, defaults. Written as Go's
//! YAML library writes them: blocks, four spaces, quotes where they are needed.

use std::fmt::Write as _;

use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use super::message::in_order;

/// The YAML text of a value, with a line break at its end. Of its objects these members come first.
pub(super) fn write(value: &Value, order: &[&str]) -> String {
    let mut out = String::new();
    node(value, order, 0, Place::Root, &mut out);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Member,
    Item,
}

/// Writes a value behind what introduces it; `indent` is that of the block it stands in.
fn node(value: &Value, order: &[&str], indent: usize, place: Place, out: &mut String) {
    // Inside a list only the dash is skipped, all else is aligned to four.
    let inner = match place {
        Place::Root => 0,
        Place::Item => indent + 2,
        Place::Member => 4 * ((indent + 4) / 4),
    };
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (at, (key, value)) in in_order(object, order).enumerate() {
                match (at, place) {
                    (0, Place::Item) => out.push(' '),
                    (0, Place::Root) => {}
                    _ => start_line(inner, out),
                }
                scalar(key, 0, true, out);
                out.push(':');
                deeper(|| node(value, order, inner, Place::Member, out));
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                match (at, place) {
                    (0, Place::Item) => out.push(' '),
                    (0, Place::Root) => {}
                    _ => start_line(inner, out),
                }
                out.push('-');
                deeper(|| node(item, order, inner, Place::Item, out));
            }
        }
        other => {
            if place != Place::Root {
                out.push(' ');
            }
            match other {
                Value::String(text) => {
                    let indent = if place == Place::Root { 4 } else { inner };
                    scalar(text, indent, false, out);
                }
                other => out.push_str(&other.to_json()),
            }
        }
    }
}

fn start_line(indent: usize, out: &mut String) {
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.extend(std::iter::repeat_n(' ', indent));
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// What a text allows, as the library's analysis finds it.
struct Analysis {
    plain: bool,
    single: bool,
    block: bool,
}

fn analyze(text: &str) -> Analysis {
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut special, mut tabs, mut breaks) = (false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let mut previous = None;
    let mut chars = text.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        let before_blank = chars.peek().is_none_or(|(_, next)| matches!(next, ' ' | '\t'));
        let after_blank = previous.is_none_or(|c| matches!(c, ' ' | '\t') || is_break(c));
        indicators |= match (at, c) {
            (
                0,
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`',
            ) => true,
            (0, '?' | ':' | '-') => before_blank,
            (0, _) => false,
            (_, ':') => before_blank,
            (_, '#') => after_blank,
            _ => false,
        };
        tabs |= c == '\t';
        special |= c != '\t' && !is_printable(c);
        break_space |= c == ' ' && previous.is_some_and(is_break);
        space_break |= is_break(c) && previous == Some(' ');
        breaks |= is_break(c);
        previous = Some(c);
    }
    let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
    let edges = edge(text.chars().next()) || edge(text.chars().last());
    let quoted = break_space || space_break || tabs || special;
    Analysis {
        plain: !(indicators || edges || quoted || breaks),
        single: !quoted,
        block: !(text.is_empty() || text.ends_with(' ') || space_break || special),
    }
}

fn scalar(text: &str, indent: usize, is_key: bool, out: &mut String) {
    let may = analyze(text);
    if text.contains('\n') {
        return if may.block && !is_key { literal(text, indent, out) } else { double_quoted(text, out) };
    }
    if is_not_text(text) {
        return double_quoted(text, out);
    }
    if may.plain {
        out.push_str(text);
    } else if may.single {
        let _infallible = write!(out, "'{}'", text.replace('\'', "''"));
    } else {
        double_quoted(text, out);
    }
}

/// Whether a text would be read as something else if it were not quoted.
fn is_not_text(text: &str) -> bool {
    const WORDS: [&str; 22] = [
        "", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", ".nan", ".NaN",
        ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "<<", "-.inf",
    ];
    if WORDS.contains(&text) || matches!(text, "-.Inf" | "-.INF") {
        return true;
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-')) {
        return false;
    }
    let bare = text.replace('_', "");
    let unsigned = bare.trim_start_matches(['+', '-']);
    let one_sign = bare.len() - unsigned.len() <= 1;
    let based = ["0x", "0X", "0o", "0O", "0b", "0B"].iter().zip([16, 16, 8, 8, 2, 2]);
    let is_based = based.into_iter().any(|(prefix, base)| {
        let digits = unsigned.strip_prefix(prefix);
        digits.is_some_and(|digits| u64::from_str_radix(digits, base).is_ok())
    });
    one_sign && (is_based || is_decimal(unsigned)) || is_date(text)
}

/// Digits with a point and an exponent: `1`, `.5`, `1.`, `1e9`.
fn is_decimal(text: &str) -> bool {
    let (number, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(n, e)| (n, Some(e)));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let is_number = digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty());
    let is_exponent = |text: &str| {
        let text = text.strip_prefix(['+', '-']).unwrap_or(text);
        !text.is_empty() && digits(text)
    };
    is_number && exponent.is_none_or(is_exponent)
}

/// A date, perhaps with a time behind it.
fn is_date(text: &str) -> bool {
    let date = text.split(['T', 't', ' ']).next().unwrap_or_default();
    let parts: Vec<&str> = date.split('-').collect();
    matches!(parts.as_slice(), [year, month, day]
        if year.len() == 4 && [*year, *month, *day].iter().all(|part| !part.is_empty() && part.len() <= 4 && part.chars().all(|c| c.is_ascii_digit())))
}

fn literal(text: &str, indent: usize, out: &mut String) {
    out.push('|');
    if text.starts_with(|c: char| c == ' ' || is_break(c)) {
        out.push('4');
    }
    let rest = text.strip_suffix(is_break);
    match rest {
        None => out.push('-'),
        Some(rest) if rest.is_empty() || rest.ends_with(is_break) => out.push('+'),
        Some(_) => {}
    }
    out.push('\n');
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.push_str(line);
    }
}

fn double_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            '\u{85}' => out.push_str("\\N"),
            '\u{a0}' => out.push_str("\\_"),
            '\u{2028}' => out.push_str("\\L"),
            '\u{2029}' => out.push_str("\\P"),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _infallible = match code {
                    ..=0xff => write!(out, "\\x{code:02X}"),
                    0x100..=0xffff => write!(out, "\\u{code:04X}"),
                    _ => write!(out, "\\U{code:08X}"),
                };
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn lists_and_objects_are_blocks() {
        let kinds = json!([{"group": "", "kind": "Pod", "version": "v1"}, {"group": "a", "kind": "B", "version": "1"}]);
        assert_eq!(
            write(&kinds, &[]),
            "- group: \"\"\n  kind: Pod\n  version: v1\n- group: a\n  kind: B\n  version: \"1\"\n"
        );
        let union = json!([{"discriminator": "type", "fields": {"a": "A"}}]);
        assert_eq!(write(&union, &[]), "- discriminator: type\n  fields:\n    a: A\n");
        let nested = json!({"a": [1, {"b": [], "c": {}}]});
        assert_eq!(write(&nested, &[]), "a:\n    - 1\n    - b: []\n      c: {}\n");
    }

    #[test]
    fn texts_are_quoted_where_they_would_be_read_as_something_else() {
        for (text, written) in [
            ("set", "set"),
            ("true", "\"true\""),
            ("1.5e3", "\"1.5e3\""),
            ("2001-01-01", "\"2001-01-01\""),
            ("0x1f", "\"0x1f\""),
            ("yes", "yes"),
            ("v1", "v1"),
            ("-", "'-'"),
            ("a: b", "'a: b'"),
            ("it's", "it's"),
            ("'a'", "'''a'''"),
            ("a\tb", "\"a\\tb\""),
            ("é", "é"),
        ] {
            assert_eq!(write(&json!(text), &[]), format!("{written}\n"), "{text}");
        }
        assert_eq!(write(&json!("a\nb"), &[]), "|-\n    a\n    b\n");
        assert_eq!(write(&json!({"k": "a\n\nb\n"}), &[]), "k: |\n    a\n\n    b\n");
    }
}
