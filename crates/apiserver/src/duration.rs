//! Durations as Go writes them: `1h30m`, `5s`, `250ms`.

use std::time::Duration;

/// What Go says of a text that is no duration.
pub(crate) fn complaint(text: &str) -> String {
    let quoted = pilothouse_value::field::quote(text);
    let number = text.trim_start_matches(['+', '-']);
    if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.') && number != "." {
        return format!("time: missing unit in duration {quoted}");
    }
    format!("time: invalid duration {quoted}")
}

/// Reads a duration; `None` if it is none, or negative.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let unit = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        seconds += number
            * match unit {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = tail;
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_durations_are_read() {
        assert_eq!(parse("1m30s"), Some(Duration::from_secs(90)));
        assert_eq!(parse("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse("0"), Some(Duration::ZERO));
        assert_eq!(parse("5"), None);
        assert_eq!(parse(""), None);
    }
}
