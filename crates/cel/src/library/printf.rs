//! `string.format(list)`. Source: cel-go `ext/formatting.go` (of version 2 of the strings library).

use super::{Outcome, convert, no_such_overload};
use pilothouse_value::field::quote;

use crate::error::EvalError;
use crate::time::atoi;
use crate::val::{MapVal, Val};

/// Digits after the point when nothing else is said.
const PRECISION: usize = 6;
/// Digits after the point at most: Go would write zeros for ever.
const MAX_PRECISION: usize = 1_000;
/// Deepest nesting of lists and maps that is written.
const MAX_DEPTH: usize = 200;

/// A template while it is read.
pub(crate) struct Template<'t> {
    rest: &'t str,
    /// What comes after the last clause.
    tail: String,
}

/// A place of a template where an argument goes.
pub(crate) struct Clause {
    pub(crate) kind: char,
    precision: Option<usize>,
    /// The text before the clause.
    before: String,
}

impl<'t> Template<'t> {
    pub(crate) const fn new(template: &'t str) -> Self {
        Self { rest: template, tail: String::new() }
    }

    /// The next clause; `None` if there is none any more, then `tail` has what is left.
    pub(crate) fn next_clause(
        &mut self,
        used: usize,
        has_more: impl Fn(usize) -> bool,
    ) -> Result<Option<Clause>, String> {
        let mut before = String::new();
        loop {
            let Some(at) = self.rest.find('%') else {
                self.tail = before;
                self.tail.push_str(self.rest);
                self.rest = "";
                return Ok(None);
            };
            before.push_str(self.rest.get(..at).unwrap_or_default());
            let clause = self.rest.get(at + 1..).unwrap_or_default();
            if let Some(after) = clause.strip_prefix('%') {
                before.push('%');
                self.rest = after;
                continue;
            }
            if clause.is_empty() {
                return Err("unexpected end of string".to_owned());
            }
            if !has_more(used) {
                return Err(format!("index {used} out of range"));
            }
            let (precision, clause) = precision(clause)?;
            // A clause is one byte; of a longer character the first is shown.
            let kind = clause.bytes().next().map_or('\0', char::from);
            if !"sdfebxXo".contains(kind) {
                return Err(format!(
                    "could not parse formatting clause: unrecognized formatting clause \"{kind}\""
                ));
            }
            self.rest = clause.get(1..).unwrap_or_default();
            return Ok(Some(Clause { kind, precision, before }));
        }
    }
}

pub(super) fn format<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(template), Val::List(list)] = args else { return no_such_overload() };
    let mut out = String::with_capacity(template.len() * 2);
    let mut template = Template::new(template);
    let mut next = 0;
    while let Some(clause) = template.next_clause(next, |at| at < list.len()).map_err(EvalError::new)? {
        out.push_str(&clause.before);
        let arg = list.get(next).unwrap_or(Ok(Val::Null))?;
        if clause.kind == 's' && has_hidden(&arg, MAX_DEPTH) {
            return Err(EvalError::NilKey);
        }
        next += 1;
        write(&mut out, clause.kind, clause.precision, &arg)
            .map_err(|why| EvalError::new(format!("error during formatting: {why}")))?;
    }
    out.push_str(&template.tail);
    Ok(Val::text(out))
}

/// Whether there is an object with properties that expressions do not see: upstream has no names for them.
fn has_hidden(arg: &Val<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match arg {
        Val::List(list) => list.iter().flatten().any(|item| has_hidden(&item, depth)),
        Val::Map(map) => {
            let keys = map.keys();
            let values = keys.iter().filter_map(|key| map.find(key)).flatten();
            keys.len() < map.len() || values.into_iter().any(|value| has_hidden(&value, depth))
        }
        _ => false,
    }
}

/// `.3` before a letter.
fn precision(clause: &str) -> Result<(Option<usize>, &str), String> {
    let Some(after) = clause.strip_prefix('.') else { return Ok((None, clause)) };
    const PREFIX: &str = "could not parse formatting clause: error while parsing precision: ";
    let length = after.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = after.split_at_checked(length).unwrap_or((after, ""));
    if rest.is_empty() {
        return Err(format!("{PREFIX}could not find end of precision specifier"));
    }
    let precision =
        atoi(digits).map_err(|why| format!("{PREFIX}error while converting precision to integer: {why}"))?;
    match usize::try_from(precision) {
        Ok(precision) if precision <= MAX_PRECISION => Ok((Some(precision), rest)),
        _ => {
            let why = format!("precision {precision} exceeds maximum allowed precision {MAX_PRECISION}");
            Err(format!("{PREFIX}{why}"))
        }
    }
}

/// What is said of an argument of a wrong type.
pub(crate) fn type_error(kind: char, name: &str) -> String {
    match kind {
        'd' => format!("decimal clause can only be used on integers, was given {name}"),
        'f' => format!("fixed-point clause can only be used on doubles, was given {name}"),
        'e' => format!("scientific clause can only be used on doubles, was given {name}"),
        'b' => format!("only integers and bools can be formatted as binary, was given {name}"),
        'o' => format!("octal clause can only be used on integers, was given {name}"),
        _ => format!("only integers, byte buffers, and strings can be formatted as hex, was given {name}"),
    }
}

/// What is said of an argument that cannot be written as text.
pub(crate) fn string_error(name: &str) -> String {
    format!(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
         timestamps, was given {name}"
    )
}

fn write(out: &mut String, kind: char, precision: Option<usize>, arg: &Val<'_>) -> Result<(), String> {
    let precision = precision.unwrap_or(PRECISION);
    let text = match (kind, arg) {
        ('s', arg) => Some(string(arg, MAX_DEPTH)?),
        ('d', Val::Int(value)) => Some(value.to_string()),
        ('d', Val::Uint(value)) => Some(value.to_string()),
        ('f', arg) => double(arg).map(|value| fixed(value, precision)),
        // As upstream, what is called the precision is the width.
        ('e', arg) => double(arg).map(|value| format!("{:>precision$}", scientific(value))),
        ('b', Val::Int(value)) => Some(based(*value < 0, &format!("{:b}", value.unsigned_abs()))),
        ('b', Val::Uint(value)) => Some(format!("{value:b}")),
        ('b', Val::Bool(value)) => Some(u8::from(*value).to_string()),
        ('o', Val::Int(value)) => Some(based(*value < 0, &format!("{:o}", value.unsigned_abs()))),
        ('o', Val::Uint(value)) => Some(format!("{value:o}")),
        ('x', arg) => hex(arg),
        ('X', arg) => hex(arg).map(|text| text.to_uppercase()),
        _ => None,
    };
    out.push_str(&text.ok_or_else(|| type_error(kind, arg.type_name()))?);
    Ok(())
}

fn based(is_negative: bool, digits: &str) -> String {
    format!("{}{digits}", if is_negative { "-" } else { "" })
}

fn hex(arg: &Val<'_>) -> Option<String> {
    let bytes = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect();
    Some(match arg {
        Val::Int(value) => based(*value < 0, &format!("{:x}", value.unsigned_abs())),
        Val::Uint(value) => format!("{value:x}"),
        Val::String(text) => bytes(text.as_bytes()),
        Val::Bytes(value) => bytes(value),
        _ => return None,
    })
}

fn double(arg: &Val<'_>) -> Option<f64> {
    match arg {
        Val::Double(value) => Some(*value),
        Val::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// What is not finite, in the way of the English locale.
fn not_finite(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        return Some("NaN");
    }
    value.is_infinite().then_some(if value > 0.0 { "∞" } else { "-∞" })
}

/// With a comma between every three digits before the point.
fn fixed(value: f64, precision: usize) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    // Nothing has no sign.
    let value = if value == 0.0 { 0.0 } else { value };
    let plain = format!("{value:.precision$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(whole, f)| (whole, Some(f)));
    let mut out = sign.to_owned();
    for (at, c) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// With a power of ten written out, as the English locale has it.
fn scientific(value: f64) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let value = if value == 0.0 { 0.0 } else { value };
    let plain = format!("{value:.PRECISION$e}");
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised: String = format!("{digits:0>2}")
        .bytes()
        .map(|b| RAISED.get(usize::from(b.wrapping_sub(b'0'))).copied().unwrap_or_default())
        .collect();
    format!("{mantissa}×10{sign}{raised}")
}

fn string(arg: &Val<'_>, depth: usize) -> Result<String, String> {
    Ok(match arg {
        Val::List(_) | Val::Map(_) => return nested(arg, depth),
        Val::Null => "null".to_owned(),
        Val::Type(ty) => ty.name().to_owned(),
        Val::Bytes(bytes) => String::from_utf8(bytes.to_vec()).map_err(
            |_| "could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string",
        )?,
        value => match convert::text(value) {
            Some(text) => text,
            None => {
                return Err(string_error(value.type_name()));
            }
        },
    })
}

/// A value within a list or map: as it would be written in an expression.
fn nested(arg: &Val<'_>, depth: usize) -> Result<String, String> {
    let depth = depth.checked_sub(1).ok_or("value is nested too deeply")?;
    Ok(match arg {
        Val::List(list) => {
            let mut items = Vec::with_capacity(list.len());
            for item in list.iter() {
                items.push(nested(&item.map_err(|_| "no formatting function for error")?, depth)?);
            }
            format!("[{}]", items.join(", "))
        }
        Val::Map(map) => entries(map, depth)?,
        Val::String(text) => quote(text),
        Val::Bytes(_) => format!("b{}", quote(&string(arg, depth)?)),
        Val::Timestamp(at) => format!("timestamp(\"{at}\")"),
        Val::Duration(span) => format!("duration(\"{}s\")", convert::seconds(*span)),
        Val::Double(value) if value.is_finite() => format!("{value:.PRECISION$}"),
        Val::Double(value) => quote(&pilothouse_value::go_print::float(*value)),
        Val::Int(_) | Val::Uint(_) | Val::Bool(_) | Val::Null | Val::Type(_) => string(arg, depth)?,
        other => return Err(format!("no formatting function for {}", other.type_name())),
    })
}

fn entries(map: &MapVal<'_>, depth: usize) -> Result<String, String> {
    let mut pairs = Vec::with_capacity(map.len());
    for key in map.keys() {
        let shown = match &key {
            Val::String(_) | Val::Bool(_) | Val::Int(_) | Val::Uint(_) => nested(&key, depth)?,
            other => return Err(format!("no formatting function for map key of type {}", other.type_name())),
        };
        // A null of a document is among the keys and is not found.
        let found =
            map.find(&key).ok_or_else(|| format!("could not find key: {}", quote(&key.to_string())))?;
        let value = found.map_err(|why| why.to_string())?;
        pairs.push((shown, nested(&value, depth)?));
    }
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", pairs.join(", ")))
}
