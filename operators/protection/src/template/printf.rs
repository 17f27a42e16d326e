//! Go's `fmt`: `print`, `println` and the verbs of `printf` that make sense in a template.

use super::Value;
use super::value::go_float;

/// The widest field that a format may ask for.
const MAX_WIDTH: usize = 4096;

/// `fmt.Sprint`: a space between two operands when neither is a string.
pub(super) fn print(values: &[Value]) -> String {
    let mut out = String::new();
    let mut string_before = true;
    for (i, value) in values.iter().enumerate() {
        let string = matches!(value, Value::String(_));
        if i > 0 && !string && !string_before {
            out.push(' ');
        }
        out.push_str(&value.print());
        string_before = string;
    }
    out
}

/// `fmt.Sprintln`: a space between all operands.
pub(super) fn println(values: &[Value]) -> String {
    let mut out = values.iter().map(Value::print).collect::<Vec<_>>().join(" ");
    out.push('\n');
    out
}

#[derive(Default)]
struct Spec {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

/// `fmt.Sprintf`.
///
/// # Errors
/// When the format is not a string or asks for a field that is too wide.
pub(super) fn printf(values: &[Value]) -> Result<String, String> {
    let Some((Value::String(format), operands)) = values.split_first() else {
        return Err("wrong type for value; expected string".to_owned());
    };
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = Spec::default();
        while let Some(flag) = chars.peek() {
            match flag {
                '-' => spec.minus = true,
                '+' => spec.plus = true,
                '#' => spec.sharp = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                _ => break,
            }
            chars.next();
        }
        spec.width = size(&mut chars, operands, &mut next)?;
        if chars.next_if_eq(&'.').is_some() {
            spec.precision = Some(size(&mut chars, operands, &mut next)?.unwrap_or(0));
        }
        let Some(verb) = chars.next() else {
            out.push_str("%!(NOVERB)");
            break;
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        match operands.get(next) {
            Some(value) => out.push_str(&pad(&one(verb, &spec, value), &spec, value)),
            None => out.push_str(&format!("%!{verb}(MISSING)")),
        }
        next += 1;
    }
    if next < operands.len() {
        let extra: Vec<_> =
            operands.iter().skip(next).map(|v| format!("{}={}", v.type_name(), v.print())).collect();
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    Ok(out)
}

fn size(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    operands: &[Value],
    next: &mut usize,
) -> Result<Option<usize>, String> {
    let mut size = None;
    if chars.next_if_eq(&'*').is_some() {
        if let Some(Value::Int(n)) = operands.get(*next) {
            size = usize::try_from(*n).ok();
        }
        *next += 1;
    } else {
        while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
            size = Some(size.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit as usize));
            chars.next();
        }
    }
    match size {
        Some(n) if n > MAX_WIDTH => Err(format!("a field of {n} characters is wider than {MAX_WIDTH}")),
        size => Ok(size),
    }
}

fn one(verb: char, spec: &Spec, value: &Value) -> String {
    let signed = |n: i64, digits: String| match (n < 0, spec.plus, spec.space) {
        (true, ..) => format!("-{digits}"),
        (false, true, _) => format!("+{digits}"),
        (false, false, true) => format!(" {digits}"),
        (false, false, false) => digits,
    };
    let cut = |text: &str| match spec.precision {
        Some(n) => text.chars().take(n).collect(),
        None => text.to_owned(),
    };
    match (verb, value) {
        ('v', Value::Nil) => "<nil>".to_owned(),
        ('v' | 's', Value::String(text)) => cut(text),
        ('s', Value::Bytes(bytes)) => cut(&String::from_utf8_lossy(bytes)),
        ('s', Value::List(items)) => {
            let parts: Vec<_> = items.iter().map(|item| one('s', spec, item)).collect();
            format!("[{}]", parts.join(" "))
        }
        ('v', value) => value.print(),
        ('T', value) => value.type_name().to_owned(),
        ('t', Value::Bool(b)) => b.to_string(),
        ('d', Value::Int(n)) => signed(*n, n.unsigned_abs().to_string()),
        ('b', Value::Int(n)) => signed(*n, format!("{:b}", n.unsigned_abs())),
        ('o', Value::Int(n)) => signed(*n, format!("{:o}", n.unsigned_abs())),
        ('x', Value::Int(n)) => {
            signed(*n, format!("{}{:x}", if spec.sharp { "0x" } else { "" }, n.unsigned_abs()))
        }
        ('X', Value::Int(n)) => {
            signed(*n, format!("{}{:X}", if spec.sharp { "0X" } else { "" }, n.unsigned_abs()))
        }
        ('c', Value::Int(n)) => {
            u32::try_from(*n).ok().and_then(char::from_u32).unwrap_or('\u{FFFD}').to_string()
        }
        ('x', Value::String(text)) => hex(text.as_bytes()),
        ('x', Value::Bytes(bytes)) => hex(bytes),
        ('q', Value::String(text)) => quote(text),
        ('q', Value::Bytes(bytes)) => quote(&String::from_utf8_lossy(bytes)),
        ('f' | 'F', Value::Float(n)) => {
            format!("{}{:.*}", if spec.plus && *n >= 0.0 { "+" } else { "" }, spec.precision.unwrap_or(6), n)
        }
        ('e', Value::Float(n)) => {
            let text = format!("{:.*e}", spec.precision.unwrap_or(6), n);
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        ('g', Value::Float(n)) => go_float(*n),
        (verb, Value::Nil) => format!("%!{verb}(<nil>)"),
        (verb, value) => format!("%!{verb}({}={})", value.type_name(), value.print()),
    }
}

fn pad(text: &str, spec: &Spec, value: &Value) -> String {
    let missing = spec.width.unwrap_or(0).saturating_sub(text.chars().count());
    if missing == 0 {
        return text.to_owned();
    }
    if spec.minus {
        return format!("{text}{}", " ".repeat(missing));
    }
    if spec.zero && matches!(value, Value::Int(_) | Value::Float(_)) {
        let (sign, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) => text.split_at(text.len() - digits.len()),
            None => ("", text),
        };
        return format!("{sign}{}{digits}", "0".repeat(missing));
    }
    format!("{}{text}", " ".repeat(missing))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// `strconv.Quote`.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
