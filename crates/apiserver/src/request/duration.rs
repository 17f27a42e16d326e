//! Durations as Go writes them: `1h30m`, `5s`, `250ms`.

use std::time::Duration;

/// Reads a duration. One that is negative is none at all: nothing waits for less.
///
/// # Errors
/// What Go says of a text that is no duration.
pub fn parse(text: &str) -> Result<Duration, String> {
    let quoted = || pilothouse_value::field::quote(text);
    let invalid = || format!("time: invalid duration {}", quoted());
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(invalid());
    }
    let (mut rest, mut seconds) = (unsigned, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(end);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        seconds += number
            * match unit {
                "" => return Err(format!("time: missing unit in duration {}", quoted())),
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" | "μs" => 1e-6,
                "ns" => 1e-9,
                unit => {
                    let unit = pilothouse_value::field::quote(unit);
                    return Err(format!("time: unknown unit {unit} in duration {}", quoted()));
                }
            };
        rest = tail;
    }
    if text.starts_with('-') {
        return Ok(Duration::ZERO);
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        assert!(parse("5").is_err());
        assert!(parse("").is_err());
    }
}
