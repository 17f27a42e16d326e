//! Go's durations (`1h30m`, `1.5s`), as Blueprints write them.

use std::time::Duration;

/// Reads a duration as Go's `time.ParseDuration` does; a negative one is refused.
///
/// # Errors
/// Go's text, when the input is not a duration or is too large.
pub fn parse(text: &str) -> Result<Duration, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let length = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(length);
        seconds += number
            * match unit {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "" => return Err(format!("time: missing unit in duration {text:?}")),
                unit => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
            };
        rest = after;
    }
    if seconds > 9.2e9 {
        return Err(invalid());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, millis) in [
            ("45m", 2_700_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1500),
            ("300ms", 300),
            ("0", 0),
            ("+2s", 2000),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for text in ["", "5", "5x", "-1s", "s", "1e9h", "999999999999h", "1..2s"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
