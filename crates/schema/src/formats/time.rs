//! Formats of time: dates, instants, durations.

/// `2006-01-02`, and a day that exists.
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes
            .iter()
            .enumerate()
            .all(|(at, b)| if matches!(at, 4 | 7) { *b == b'-' } else { b.is_ascii_digit() });
    let number = |from: usize, to: usize| {
        text.get(from..to).and_then(|digits| digits.parse::<u32>().ok()).unwrap_or_default()
    };
    if !shaped {
        return false;
    }
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=last).contains(&day)
}

/// A date, `t`, and a time with a zone.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let two =
        |from: usize| text.get(from..from + 2).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let (Some(hour), Some(minute), Some(second)) = (two(0), two(3), two(6)) else { return false };
    if text.get(2..3) != Some(":")
        || text.get(5..6) != Some(":")
        || hour > "23"
        || minute > "59"
        || second > "59"
    {
        return false;
    }
    let mut rest = text.get(8..).unwrap_or_default();
    // Upstream's pattern has any character before the fraction.
    if !is_zone(rest) {
        let mut fraction = rest.chars();
        fraction.next();
        let after = fraction.as_str();
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return false;
        }
        rest = after.get(digits..).unwrap_or_default();
    }
    is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    if text == "z" {
        return true;
    }
    let Some(offset) = text.strip_prefix(['+', '-']) else { return false };
    offset.len() == 5
        && offset.bytes().enumerate().all(|(at, b)| if at == 2 { b == b':' } else { b.is_ascii_digit() })
}

/// What Go's `time.ParseDuration` reads, or numbers with units in the style of Scala (`3 days 2 hours`).
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_scala_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let number = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (digits, after) = rest.split_at_checked(number).unwrap_or((rest, ""));
        let unit_length = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(unit_length).unwrap_or((after, ""));
        let scale = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 6e10,
            "h" => 3.6e12,
            _ => return false,
        };
        if digits.matches('.').count() > 1 || !digits.bytes().any(|b| b.is_ascii_digit()) {
            return false;
        }
        total += digits.trim_end_matches('.').parse::<f64>().unwrap_or(0.0) * scale;
        rest = after;
    }
    // Go counts nanoseconds in 63 bits.
    total < 9_223_372_036_854_775_808.0
}

fn is_scala_duration(text: &str) -> bool {
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits_and_rest = rest.get(start..).unwrap_or_default();
        let count = digits_and_rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = digits_and_rest.split_at_checked(count).unwrap_or((digits_and_rest, ""));
        let after = after.trim_start_matches(['\t', '\n', '\x0C', '\r', ' ']);
        let length = after.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(length).unwrap_or((after, ""));
        if !unit.is_empty() {
            // A number that is too large is an error, whatever else is there.
            if digits.parse::<i64>().is_err() {
                return false;
            }
            found |= is_scala_unit(&unit.to_lowercase());
        }
        rest = after;
    }
    found
}

fn is_scala_unit(unit: &str) -> bool {
    const EXACT: [&str; 12] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk", "μs"];
    const STEMS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    EXACT.contains(&unit) || STEMS.iter().any(|stem| unit.starts_with(stem))
}
