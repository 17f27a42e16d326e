//! What a scalar is: the words and numbers of YAML 1.1 as Go's library takes them, and what a tag asks for.

use crate::base64::{self, Alphabet};

use super::Error;
use super::compose::Scalar;

const PREFIX: &str = "tag:yaml.org,2002:";

/// A scalar that is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number that only fits without a sign.
    Uint(u64),
    Float(f64),
    Text(String),
}

impl Resolved {
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
        }
    }
}

/// Reads a scalar.
pub(super) fn resolve(scalar: &Scalar) -> Result<Resolved, Error> {
    let text = scalar.text.as_str();
    if scalar.tag.is_empty() {
        return Ok(if scalar.implicit { guess(text) } else { Resolved::Text(text.to_owned()) });
    }
    let wanted = match scalar.tag.strip_prefix(PREFIX) {
        Some("binary") => return binary(text),
        Some(wanted @ ("bool" | "int" | "float" | "null" | "timestamp")) => wanted,
        // A tag that nobody knows says nothing.
        _ => return Ok(Resolved::Text(text.to_owned())),
    };
    if wanted == "timestamp" && is_timestamp(text) {
        return Ok(Resolved::Text(text.to_owned()));
    }
    let found = guess(text);
    match found {
        Resolved::Int(number) if wanted == "float" => Ok(Resolved::Float(number as f64)),
        _ if found.tag() == wanted => Ok(found),
        _ => Err(Error::plain(format!("cannot decode !!{} `{text}` as a !!{wanted}", found.tag()))),
    }
}

fn binary(text: &str) -> Result<Resolved, Error> {
    let bytes = base64::decode(Alphabet::Standard, text.as_bytes())
        .map_err(|_| Error::plain("!!binary value contains invalid base64 data"))?;
    let mut made = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        made.push_str(chunk.valid());
        made.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Resolved::Text(made))
}

/// What a scalar without quotes is.
fn guess(text: &str) -> Resolved {
    let word = match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Resolved::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Resolved::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Resolved::Bool(false))
        }
        ".nan" | ".NaN" | ".NAN" => Some(Resolved::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(Resolved::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => Some(Resolved::Float(f64::NEG_INFINITY)),
        _ => None,
    };
    let number = || match text.bytes().next()? {
        b'.' => go_float(text),
        b'0'..=b'9' | b'+' | b'-' => number(text),
        _ => None,
    };
    word.or_else(number).unwrap_or_else(|| Resolved::Text(text.to_owned()))
}

/// A number that begins with a digit or a sign; underscores count for nothing.
fn number(text: &str) -> Option<Resolved> {
    let without;
    let plain = if text.contains('_') {
        without = text.replace('_', "");
        without.as_str()
    } else {
        text
    };
    integer(plain).or_else(|| float(plain)).or_else(|| signed_binary(plain))
}

/// A whole number with the prefixes of Go.
fn integer(text: &str) -> Option<Resolved> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (0, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, digits.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, digits.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    if !digits.starts_with(|c: char| c.is_digit(base)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    match i64::try_from(magnitude) {
        Ok(number) if sign < 0 => Some(Resolved::Int(-number)),
        Ok(number) => Some(Resolved::Int(number)),
        Err(_) if sign < 0 && magnitude == i64::MIN.unsigned_abs() => Some(Resolved::Int(i64::MIN)),
        Err(_) if sign == 0 => Some(Resolved::Uint(magnitude)),
        Err(_) => None,
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?` that is not too large.
fn float(text: &str) -> Option<Resolved> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (unsigned.get(..at)?, Some(unsigned.get(at + 1..)?)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if exponent.is_empty() || !digits(exponent) {
            return None;
        }
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Resolved::Float)
}

/// A number that begins with a point, for which underscores are where Go allows them: between digits.
fn go_float(text: &str) -> Option<Resolved> {
    if !text.contains('_') {
        return float(text);
    }
    let bytes = text.as_bytes();
    let between = |at: usize| {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        digit(at.checked_sub(1)) && digit(Some(at + 1))
    };
    let allowed = bytes.iter().enumerate().all(|(at, byte)| *byte != b'_' || between(at));
    if allowed { float(&text.replace('_', "")) } else { None }
}

/// `0b` and a number in base two that has a sign of its own.
fn signed_binary(text: &str) -> Option<Resolved> {
    let number = match text.strip_prefix("0b") {
        Some(digits) => i64::from_str_radix(digits, 2),
        None => i64::from_str_radix(&format!("-{}", text.strip_prefix("-0b")?), 2),
    };
    number.ok().map(Resolved::Int)
}

/// A date, or a date and a time, as YAML 1.1 spells them.
fn is_timestamp(text: &str) -> bool {
    read_timestamp(text).is_some()
}

fn read_timestamp(text: &str) -> Option<()> {
    let mut rest = text;
    let year = digits(&mut rest, 4, 4)?;
    literal(&mut rest, &["-"])?;
    let month = digits(&mut rest, 1, 2).filter(|month| (1..=12).contains(month))?;
    literal(&mut rest, &["-"])?;
    let day = digits(&mut rest, 1, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    if rest.is_empty() {
        return Some(());
    }
    let separator = literal(&mut rest, &["T", "t", " "])?;
    digits(&mut rest, 1, 2).filter(|hour| *hour < 24)?;
    literal(&mut rest, &[":"])?;
    digits(&mut rest, 1, 2).filter(|minute| *minute < 60)?;
    literal(&mut rest, &[":"])?;
    digits(&mut rest, 1, 2).filter(|second| *second < 60)?;
    if rest.starts_with(['.', ',']) && rest.get(1..)?.starts_with(|c: char| c.is_ascii_digit()) {
        rest = rest.get(1..)?.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    if separator == " " {
        return rest.is_empty().then_some(());
    }
    if rest != "Z" {
        literal(&mut rest, &["+", "-"])?;
        digits(&mut rest, 2, 2).filter(|hour| *hour <= 24)?;
        literal(&mut rest, &[":"])?;
        digits(&mut rest, 2, 2).filter(|minute| *minute <= 60)?;
        return rest.is_empty().then_some(());
    }
    Some(())
}

fn literal<'a>(rest: &mut &str, words: &[&'a str]) -> Option<&'a str> {
    let word = words.iter().find(|word| rest.starts_with(**word))?;
    *rest = rest.get(word.len()..)?;
    Some(word)
}

fn digits(rest: &mut &str, least: usize, most: usize) -> Option<u32> {
    let length = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at_checked(length)?;
    *rest = after;
    if length < least { None } else { number.parse().ok() }
}
