//! Encodings, times, numbers, defaults and types.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::template::calls::{ANY, Function, arg, int, text, to_int};
use crate::template::time::{RFC3339_NANO, format, parse};
use crate::template::{Value, Zero};

pub(super) const TABLE: &[Function] = &[
    // Encodings.
    Function { name: "b64enc", min: 1, max: 1, run: |a| Ok(BASE64_STANDARD.encode(text(a, 0)?).into()) },
    Function {
        name: "b64dec",
        min: 1,
        max: 1,
        run: |a| match BASE64_STANDARD.decode(text(a, 0)?) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned().into()),
            // Sprig gives the text of the error as the value; a command would then run with it.
            Err(error) => Err(error.to_string()),
        },
    },
    Function {
        name: "sha256sum",
        min: 1,
        max: 1,
        run: |a| {
            use sha2::Digest as _;
            let sum = sha2::Sha256::digest(text(a, 0)?.as_bytes());
            Ok(sum.iter().map(|b| format!("{b:02x}")).collect::<String>().into())
        },
    },
    Function {
        name: "adler32sum",
        min: 1,
        max: 1,
        run: |a| {
            let (low, high) = text(a, 0)?.bytes().fold((1_u32, 0_u32), |(low, high), byte| {
                let low = (low + u32::from(byte)) % 65_521;
                (low, (high + low) % 65_521)
            });
            Ok(((high << 16) | low).to_string().into())
        },
    },
    Function { name: "toJson", min: 1, max: 1, run: |a| Ok(arg(a, 0).to_go_json().into()) },
    Function {
        name: "toPrettyJson",
        min: 1,
        max: 1,
        run: |a| {
            serde_json::to_string_pretty(&arg(a, 0).to_json()).map(Value::from).map_err(|e| e.to_string())
        },
    },
    Function {
        name: "fromJson",
        min: 1,
        max: 1,
        run: |a| {
            let json = serde_json::from_str(text(a, 0)?).map_err(|e| e.to_string())?;
            Ok(Value::from_json(&json))
        },
    },
    Function {
        name: "toYaml",
        min: 1,
        max: 1,
        run: |a| {
            let yaml = serde_saphyr::to_string(&arg(a, 0).to_json()).map_err(|e| e.to_string())?;
            Ok(yaml.trim_end_matches('\n').into())
        },
    },
    // Times.
    Function {
        name: "toDate",
        min: 2,
        max: 2,
        run: |a| Ok(Value::Time(Arc::new(parse(text(a, 0)?, text(a, 1)?)?))),
    },
    Function { name: "date", min: 2, max: 2, run: |a| Ok(format(&time(arg(a, 1))?, text(a, 0)?).into()) },
    Function { name: "date_in_zone", min: 3, max: 3, run: in_zone },
    Function { name: "dateInZone", min: 3, max: 3, run: in_zone },
    Function {
        name: "htmlDate",
        min: 1,
        max: 1,
        run: |a| Ok(format(&time(arg(a, 0))?, "2006-01-02").into()),
    },
    Function { name: "date_modify", min: 2, max: 2, run: modify },
    Function { name: "dateModify", min: 2, max: 2, run: modify },
    Function {
        name: "unixEpoch",
        min: 1,
        max: 1,
        run: |a| Ok(time(arg(a, 0))?.timestamp().as_second().to_string().into()),
    },
    // Numbers.
    Function { name: "add", min: 1, max: ANY, run: |a| fold(a, i64::checked_add) },
    Function { name: "mul", min: 1, max: ANY, run: |a| fold(a, i64::checked_mul) },
    Function { name: "sub", min: 2, max: 2, run: |a| fold(a, i64::checked_sub) },
    Function { name: "div", min: 2, max: 2, run: |a| fold(a, i64::checked_div) },
    Function { name: "mod", min: 2, max: 2, run: |a| fold(a, i64::checked_rem) },
    Function { name: "add1", min: 1, max: 1, run: |a| Ok(Value::Int(int(a, 0).saturating_add(1))) },
    Function { name: "max", min: 1, max: ANY, run: |a| fold(a, |x, y| Some(x.max(y))) },
    Function { name: "biggest", min: 1, max: ANY, run: |a| fold(a, |x, y| Some(x.max(y))) },
    Function { name: "min", min: 1, max: ANY, run: |a| fold(a, |x, y| Some(x.min(y))) },
    Function { name: "int", min: 1, max: 1, run: |a| Ok(Value::Int(int(a, 0))) },
    Function { name: "int64", min: 1, max: 1, run: |a| Ok(Value::Int(int(a, 0))) },
    Function { name: "atoi", min: 1, max: 1, run: |a| Ok(Value::Int(text(a, 0)?.parse().unwrap_or(0))) },
    Function { name: "float64", min: 1, max: 1, run: |a| Ok(Value::Float(float(arg(a, 0)))) },
    Function { name: "floor", min: 1, max: 1, run: |a| Ok(Value::Float(float(arg(a, 0)).floor())) },
    Function { name: "ceil", min: 1, max: 1, run: |a| Ok(Value::Float(float(arg(a, 0)).ceil())) },
    Function {
        name: "round",
        min: 2,
        max: 3,
        run: |a| {
            let scale = 10_f64.powi(i32::try_from(int(a, 1)).unwrap_or(0).clamp(-300, 300));
            Ok(Value::Float((float(arg(a, 0)) * scale).round() / scale))
        },
    },
    // Defaults and types.
    Function {
        name: "default",
        min: 1,
        max: 2,
        run: |a| {
            Ok(match a.get(1) {
                Some(value) if !value.is_empty() => value.clone(),
                _ => arg(a, 0).clone(),
            })
        },
    },
    Function { name: "empty", min: 1, max: 1, run: |a| Ok(arg(a, 0).is_empty().into()) },
    Function {
        name: "coalesce",
        min: 0,
        max: ANY,
        run: |a| Ok(a.iter().find(|v| !v.is_empty()).cloned().unwrap_or(Value::Nil)),
    },
    Function {
        name: "ternary",
        min: 3,
        max: 3,
        run: |a| Ok(if arg(a, 2).is_true() { arg(a, 0).clone() } else { arg(a, 1).clone() }),
    },
    Function { name: "fail", min: 1, max: 1, run: |a| Err(text(a, 0)?.to_owned()) },
    Function {
        name: "required",
        min: 2,
        max: 2,
        run: |a| match arg(a, 1) {
            Value::Nil => Err(text(a, 0)?.to_owned()),
            Value::String(s) if s.is_empty() => Err(text(a, 0)?.to_owned()),
            value => Ok(value.clone()),
        },
    },
    Function { name: "typeOf", min: 1, max: 1, run: |a| Ok(arg(a, 0).type_name().into()) },
    Function { name: "typeIs", min: 2, max: 2, run: |a| Ok((arg(a, 1).type_name() == text(a, 0)?).into()) },
    Function { name: "kindOf", min: 1, max: 1, run: |a| Ok(kind(arg(a, 0)).into()) },
    Function { name: "kindIs", min: 2, max: 2, run: |a| Ok((kind(arg(a, 1)) == text(a, 0)?).into()) },
    Function { name: "deepEqual", min: 2, max: 2, run: |a| Ok((arg(a, 0) == arg(a, 1)).into()) },
    Function { name: "urlParse", min: 1, max: 1, run: url },
];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "invalid",
        Value::NilPointer(_) => "ptr",
        Value::Unknown(_) => "unknown",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Bytes(_) | Value::List(_) => "slice",
        Value::Time(_) | Value::Struct(_) => "struct",
        Value::Map(_) => "map",
    }
}

fn fold(a: &[Value], with: fn(i64, i64) -> Option<i64>) -> Result<Value, String> {
    let mut numbers = a.iter().map(to_int);
    let first = numbers.next().unwrap_or(0);
    numbers
        .try_fold(first, with)
        .map(Value::Int)
        .ok_or_else(|| "division by zero, or a number out of range".to_owned())
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float(n) => *n,
        Value::String(text) => text.parse().unwrap_or(0.0),
        other => to_int(other) as f64,
    }
}

/// The time in a value. Sprig's `date` silently takes the present time for anything that it does not know; a text is
/// read as RFC 3339 here (so that `.Time | date "…"` means `.Time`), and anything else is an error.
fn time(value: &Value) -> Result<Zoned, String> {
    match value {
        Value::Time(time) => Ok((**time).clone()),
        Value::String(text) => parse(RFC3339_NANO, text),
        Value::Int(seconds) => {
            Timestamp::from_second(*seconds).map(|t| t.to_zoned(TimeZone::UTC)).map_err(|e| e.to_string())
        }
        other => Err(format!("a time is needed; got {}", other.type_name())),
    }
}

fn in_zone(a: &[Value]) -> Result<Value, String> {
    let zone = match text(a, 2)? {
        "" | "UTC" | "GMT" | "Local" => TimeZone::UTC,
        other => return Err(format!("time zone {other:?} is not available; use UTC")),
    };
    Ok(format(&time(arg(a, 1))?.with_time_zone(zone), text(a, 0)?).into())
}

fn modify(a: &[Value]) -> Result<Value, String> {
    let by = text(a, 0)?;
    let (sign, rest) = match by.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, by.strip_prefix('+').unwrap_or(by)),
    };
    let by = crate::duration::parse(rest)?;
    let by = SignedDuration::try_from(by).map_err(|e| e.to_string())?;
    let by = if sign < 0 { -by } else { by };
    let time = time(arg(a, 1))?.checked_add(by).map_err(|e| e.to_string())?;
    Ok(Value::Time(Arc::new(time)))
}

fn url(a: &[Value]) -> Result<Value, String> {
    let uri: http::Uri = text(a, 0)?.parse().map_err(|e: http::uri::InvalidUri| e.to_string())?;
    let part = |name: &str, value: &str| (name.to_owned(), Value::from(value));
    Ok(Value::map(
        Zero::String,
        [
            part("scheme", uri.scheme_str().unwrap_or_default()),
            part("host", uri.authority().map_or("", |a| a.as_str())),
            part("hostname", uri.host().unwrap_or_default()),
            part("path", uri.path()),
            part("query", uri.query().unwrap_or_default()),
        ],
    ))
}
