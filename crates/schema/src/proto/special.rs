//! The messages whose JSON form is not an object of the same fields.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::{Timestamp, Value};

use super::wire::{Payload, Reader};
use crate::builtin::types::Form;

/// A float as JSON has it.
pub(super) fn double(bits: u64) -> Result<Value, Cow<'static, str>> {
    let number = f64::from_bits(bits);
    if !number.is_finite() {
        return Err("a number is infinite or not a number, which JSON cannot say".into());
    }
    // Go writes whole floats without a fraction, so they read as whole numbers.
    Ok(if number.fract() == 0.0 && number.abs() < 1e15 {
        Value::Int(number as i64)
    } else {
        Value::Float(number)
    })
}

/// The JSON text inside a message.
pub(super) fn json(text: &[u8]) -> Result<Value, Cow<'static, str>> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    pilothouse_value::parse::json_spelled(text)
        .map(|parsed| parsed.value)
        .map_err(|_| "a field that holds JSON does not".into())
}

/// Reads one of the special messages.
pub(super) fn decode(form: &Form, bytes: &[u8]) -> Result<Value, Cow<'static, str>> {
    match form {
        Form::Bytes => Ok(STANDARD.encode(bytes).into()),
        Form::Quantity => match first_bytes(bytes)? {
            Some(text) => Ok(super::decode::string(text).into()),
            None => Ok("0".into()),
        },
        Form::Time | Form::MicroTime => time(form, bytes),
        Form::Duration => Ok(go_duration(numbers(bytes)?[0]).into()),
        Form::IntOrString => int_or_string(bytes),
        Form::Json | Form::Fields => json(first_bytes(bytes)?.unwrap_or_default()),
        _ => Err("proto: wrong wireType".into()),
    }
}

fn first_bytes(message: &[u8]) -> Result<Option<&[u8]>, Cow<'static, str>> {
    let mut found = None;
    for field in Reader::new(message) {
        if let (1, Payload::Bytes(bytes)) = field.map_err(|why| why.of(""))? {
            found = Some(bytes);
        }
    }
    Ok(found)
}

/// The numbers under the tags 1 and 2.
fn numbers(message: &[u8]) -> Result<[i64; 2], Cow<'static, str>> {
    let mut numbers = [0; 2];
    for field in Reader::new(message) {
        match field.map_err(|why| why.of(""))? {
            (1, Payload::Varint(n)) => numbers[0] = n as i64,
            (2, Payload::Varint(n)) => numbers[1] = n as i64,
            _ => {}
        }
    }
    Ok(numbers)
}

fn time(form: &Form, bytes: &[u8]) -> Result<Value, Cow<'static, str>> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let [seconds, nanos] = numbers(bytes)?;
    let time = Timestamp::from_unix_seconds(seconds);
    if *form == Form::Time {
        return Ok(time.to_string().into());
    }
    let nanos = u32::try_from(nanos).map_err(|_| "a time has a negative fraction")?;
    Ok(time.plus(std::time::Duration::from_nanos(nanos.into())).micro().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, Cow<'static, str>> {
    let (mut is_string, mut number, mut text) = (false, 0, String::new());
    for field in Reader::new(bytes) {
        match field.map_err(|why| why.of(""))? {
            (1, Payload::Varint(n)) => is_string = n == 1,
            (2, Payload::Varint(n)) => number = n as i32,
            (3, Payload::Bytes(bytes)) => text = super::decode::string(bytes),
            _ => {}
        }
    }
    Ok(if is_string { text.into() } else { number.into() })
}

/// A duration as Go prints it: `1h0m0.25s`, `1.5ms`, `0s`.
pub(super) fn go_duration(nanos: i64) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let fraction = |whole: u64, rest: u64, digits: usize| {
        let text = format!("{whole}.{rest:0digits$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", fraction(nanos / 1_000, nanos % 1_000, 3)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", fraction(nanos / 1_000_000, nanos % 1_000_000, 6)),
        _ => {
            let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let seconds = fraction(seconds % 60, rest, 9);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, _) => format!("{sign}{minutes}m{seconds}s"),
                _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        let cases = [
            (0, "0s"),
            (1_500_000, "1.5ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (3_600_250_000_000, "1h0m0.25s"),
            (-90_000_000_000, "-1m30s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(go_duration(nanos), text);
        }
    }
}
