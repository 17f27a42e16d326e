//! Conversions between types.

use std::sync::Arc;

use super::{Outcome, net, no_such_overload};
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

/// What Go reads as a floating point number, without its hexadecimal form.
fn parse_double(text: &str) -> Option<f64> {
    // Go takes underscores only in literals with a base, and neither takes white space.
    let value: f64 = text.parse().ok()?;
    let is_written_infinite = text.trim_start_matches(['+', '-']).to_ascii_lowercase().starts_with("inf");
    (value.is_finite() || value.is_nan() || is_written_infinite).then_some(value)
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
        Val::Double(value) => go_double(*value),
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

/// `%g` of Go: as few digits as needed, with an exponent if it is below -4 or above 5.
pub(crate) fn go_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}
