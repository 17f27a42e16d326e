//! Conversions between types.

use std::sync::Arc;

use super::{Outcome, net, no_such_overload};
use pilothouse_value::go_print;

use crate::error::EvalError;
use crate::time::{self, Timestamp};
use crate::val::{Text, TypeVal, Val};

fn wrong(value: &Val<'_>, to: &str) -> EvalError {
    EvalError::new(format!("type conversion error from '{}' to '{to}'", value.type_name()))
}

pub(super) fn identity<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [value] = args else { return no_such_overload() };
    Ok(value.clone())
}

pub(super) fn type_of<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [value] = args else { return no_such_overload() };
    Ok(Val::Type(TypeVal(value.type_name().into())))
}

pub(super) fn to_bool<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Bool(value)] => Ok(Val::Bool(*value)),
        [value @ Val::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => Err(wrong(value, "bool")),
        },
        _ => no_such_overload(),
    }
}

pub(super) fn to_bytes<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Bytes(bytes)] => Ok(Val::Bytes(Arc::clone(bytes))),
        [Val::String(text)] => Ok(Val::Bytes(text.as_bytes().into())),
        _ => no_such_overload(),
    }
}

pub(super) fn to_double<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Double(value)] => Ok(Val::Double(*value)),
        [Val::Int(value)] => Ok(Val::Double(*value as f64)),
        [Val::Uint(value)] => Ok(Val::Double(*value as f64)),
        [value @ Val::String(text)] => {
            parse_double(text).map(Val::Double).ok_or_else(|| wrong(value, "double"))
        }
        _ => no_such_overload(),
    }
}

/// What Go's `strconv.ParseFloat` reads: decimals and hexadecimals, with underscores between digits.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_negative = text.starts_with('-');
    let is_hexadecimal = unsigned.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    let plain = if unsigned.contains('_') { without_underscores(unsigned)? } else { unsigned.to_owned() };
    let value = if is_hexadecimal {
        parse_hexadecimal(plain.get(2..)?)?
    } else {
        // What is not a number has no sign; Rust is more generous.
        let is_nan = plain.eq_ignore_ascii_case("nan");
        let is_wrong = plain.starts_with(['+', '-']) || (is_nan && unsigned.len() != text.len());
        let value: f64 = (!is_wrong).then(|| plain.parse().ok()).flatten()?;
        let is_written_infinite = plain.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("inf"));
        (value.is_finite() || value.is_nan() || is_written_infinite).then_some(value)?
    };
    Some(if is_negative { -value } else { value })
}

/// A number without its underscores, if each stands between two digits or after the base.
fn without_underscores(number: &str) -> Option<String> {
    let (base, digits) = match number.as_bytes() {
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', rest @ ..] => (number.get(..2)?, rest),
        all => ("", all),
    };
    let is_hexadecimal = base.eq_ignore_ascii_case("0x");
    let is_digit = |byte: u8| byte.is_ascii_digit() || (is_hexadecimal && byte.is_ascii_hexdigit());
    let mut before_is_digit = !base.is_empty();
    for (at, byte) in digits.iter().enumerate() {
        if *byte == b'_' && !(before_is_digit && digits.get(at + 1).is_some_and(|next| is_digit(*next))) {
            return None;
        }
        before_is_digit = is_digit(*byte);
    }
    Some(number.replace('_', ""))
}

/// `1.8p-2` after the `0x`.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, power) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() && fraction.is_empty() || !digits().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    if unsigned.is_empty() || !unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // Larger powers make no difference.
    let power: i64 = power.parse().unwrap_or(if power.starts_with('-') { -100_000 } else { 100_000 });
    let mut exponent = power.clamp(-100_000, 100_000) - 4 * i64::try_from(fraction.len()).ok()?;
    let mut value = 0_u64;
    let mut is_cut = false;
    for digit in digits() {
        if value >> 60 != 0 {
            // What does not fit counts for rounding.
            is_cut |= digit != b'0';
            exponent += 4;
        } else {
            value = value << 4 | u64::from(char::from(digit).to_digit(16)?);
        }
    }
    if value == 0 {
        return Some(0.0);
    }
    scaled(value, exponent, is_cut)
}

/// `value * 2^exponent` to the nearest double; `None` if that is too large.
fn scaled(value: u64, exponent: i64, is_cut: bool) -> Option<f64> {
    const BITS: i64 = 53;
    const LEAST: i64 = -1074;
    let length = 64 - i64::from(value.leading_zeros());
    // How many bits do not fit, fewer of which there are in numbers that are almost nothing.
    let drop = (length - BITS).max(LEAST - exponent);
    let (kept, exponent) = if drop <= 0 {
        (value, exponent)
    } else if drop > 64 {
        return Some(0.0);
    } else {
        let wide = u128::from(value) << 1 | u128::from(is_cut);
        let (whole, rest) = (wide >> (drop + 1), wide & ((1 << (drop + 1)) - 1));
        let half = 1 << drop;
        let is_up = rest > half || (rest == half && whole & 1 == 1);
        (u64::try_from(whole + u128::from(is_up)).ok()?, exponent + drop)
    };
    let mut result = kept as f64;
    let mut left = exponent;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        result *= 2_f64.powi(i32::try_from(step).ok()?);
        left -= step;
        if result == 0.0 || result.is_infinite() {
            break;
        }
    }
    result.is_finite().then_some(result)
}

pub(super) fn to_int<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let overflow = || EvalError::new("integer overflow");
    match args {
        [Val::Int(value)] => Ok(Val::Int(*value)),
        [Val::Uint(value)] => i64::try_from(*value).map(Val::Int).map_err(|_| overflow()),
        [Val::Double(value)] if *value > -(2f64.powi(63)) && *value < 2f64.powi(63) => {
            Ok(Val::Int(*value as i64))
        }
        [Val::Double(_)] => Err(overflow()),
        [value @ Val::String(text)] => text.parse().map(Val::Int).map_err(|_| wrong(value, "int")),
        [Val::Timestamp(at)] => Ok(Val::Int(at.unix_seconds())),
        [Val::Duration(span)] => Ok(Val::Int(*span)),
        _ => no_such_overload(),
    }
}

pub(super) fn to_uint<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let overflow = || EvalError::new("unsigned integer overflow");
    match args {
        [Val::Uint(value)] => Ok(Val::Uint(*value)),
        [Val::Int(value)] => u64::try_from(*value).map(Val::Uint).map_err(|_| overflow()),
        [Val::Double(value)] if *value >= 0.0 && *value < 2f64.powi(64) => Ok(Val::Uint(*value as u64)),
        [Val::Double(_)] => Err(overflow()),
        // Unlike Rust, Go takes no sign here.
        [value @ Val::String(text)] if text.starts_with('+') => Err(wrong(value, "uint")),
        [value @ Val::String(text)] => text.parse().map(Val::Uint).map_err(|_| wrong(value, "uint")),
        _ => no_such_overload(),
    }
}

pub(super) fn to_duration<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Duration(span)] => Ok(Val::Duration(*span)),
        [value @ Val::String(text)] => time::parse_duration(text)
            .map(Val::Duration)
            .map_err(|_| wrong(value, "google.protobuf.Duration")),
        _ => no_such_overload(),
    }
}

pub(super) fn to_timestamp<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let overflow = || EvalError::new("timestamp overflow");
    match args {
        [Val::Timestamp(at)] => Ok(Val::Timestamp(*at)),
        [Val::Int(seconds)] => Timestamp::from_unix(*seconds, 0).map(Val::Timestamp).ok_or_else(overflow),
        [value @ Val::String(text)] => match time::parse_rfc3339(text) {
            Ok(Some(at)) => Ok(Val::Timestamp(at)),
            Ok(None) => Err(overflow()),
            Err(_) => Err(wrong(value, "google.protobuf.Timestamp")),
        },
        _ => no_such_overload(),
    }
}

pub(super) fn to_string<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let text = match args {
        [Val::String(text)] => return Ok(Val::String(text.clone())),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [value @ Val::Opaque(_)] => match net::text(value) {
            Some(text) => text,
            None => return no_such_overload(),
        },
        [value] => match text(value) {
            Some(text) => text,
            None => return no_such_overload(),
        },
        _ => return no_such_overload(),
    };
    Ok(Val::String(Text::Shared(text.into())))
}

/// A value that can be converted to a string.
pub(crate) fn text(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::String(text) => text.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Int(value) => value.to_string(),
        Val::Uint(value) => value.to_string(),
        Val::Double(value) => go_print::float(*value),
        Val::Timestamp(at) => at.to_string(),
        Val::Duration(span) => format!("{}s", seconds(*span)),
        _ => return None,
    })
}

/// Seconds with as many digits as they need.
pub(super) fn seconds(nanos: i64) -> String {
    const NANOS: i64 = 1_000_000_000;
    // Go adds the parts as floating point numbers.
    let seconds = (nanos / NANOS) as f64 + (nanos % NANOS) as f64 / 1e9;
    format!("{seconds}")
}
