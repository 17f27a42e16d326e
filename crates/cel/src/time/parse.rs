//! Reading points and spans of time, with Go's words for what cannot be read. Source: Go `time/format.go` (`parse`,
//! `ParseDuration`); kube-openapi `pkg/validation/strfmt`.

use super::{DAY, NANOS, Timestamp, days_from_civil};

/// A layout of `time.Parse`, of those that Kubernetes uses: a date, perhaps with a clock, perhaps with a zone.
#[derive(Clone, Copy)]
struct Layout {
    /// As Go writes it; part of messages.
    text: &'static str,
    has_clock: bool,
    has_zone: bool,
}

const RFC3339: Layout = Layout { text: "2006-01-02T15:04:05Z07:00", has_clock: true, has_zone: true };
const LOCAL: Layout = Layout { text: "2006-01-02T15:04:05", has_clock: true, has_zone: false };
const DATE: Layout = Layout { text: "2006-01-02", has_clock: false, has_zone: false };

/// A text as Go's package `time` quotes it: bytes that are no visible ASCII by their numbers.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='\x7f' => out.push(c),
            _ => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

/// Takes apart what `time.Parse` takes apart, element by element of the layout.
struct Scanner<'t> {
    layout: Layout,
    whole: &'t str,
    rest: &'t str,
}

/// What an element of the layout said, if it could not be read as one.
enum Bad {
    /// It is none at all.
    Unread,
    /// It is one, but too large: of what.
    Range(&'static str),
}

impl<'t> Scanner<'t> {
    const fn new(layout: Layout, text: &'t str) -> Self {
        Self { layout, whole: text, rest: text }
    }

    /// That the text from here on is not this element of the layout.
    fn wrong(&self, from: &str, element: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(self.whole),
            quote(self.layout.text),
            quote(from),
            quote(element)
        )
    }

    fn said(&self, what: &str) -> String {
        format!("parsing time {}: {what}", quote(self.whole))
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.wrong(self.rest, literal))?;
        Ok(())
    }

    /// One element, which says itself what is wrong with it.
    fn element<T>(
        &mut self,
        element: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Bad>,
    ) -> Result<T, String> {
        let from = self.rest;
        read(self).map_err(|bad| match bad {
            Bad::Unread => self.wrong(from, element),
            Bad::Range(what) => self.said(&format!("{what} out of range")),
        })
    }

    /// One or two digits; two if `is_fixed`.
    fn number(&mut self, is_fixed: bool) -> Result<i64, Bad> {
        let count = self.rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        if count == 0 || (is_fixed && count < 2) {
            return Err(Bad::Unread);
        }
        let (digits, rest) = self.rest.split_at_checked(count).ok_or(Bad::Unread)?;
        self.rest = rest;
        digits.parse().map_err(|_| Bad::Unread)
    }

    fn year(&mut self) -> Result<i64, Bad> {
        let (digits, rest) = self.rest.split_at_checked(4).ok_or(Bad::Unread)?;
        if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Bad::Unread);
        }
        self.rest = rest;
        digits.parse().map_err(|_| Bad::Unread)
    }

    fn month(&mut self) -> Result<i64, Bad> {
        let month = self.number(true)?;
        if (1..=12).contains(&month) { Ok(month) } else { Err(Bad::Range("month")) }
    }

    /// A part of the clock.
    fn part(&mut self, is_fixed: bool, limit: i64, what: &'static str) -> Result<i64, Bad> {
        let value = self.number(is_fixed)?;
        if value < limit { Ok(value) } else { Err(Bad::Range(what)) }
    }

    /// Digits after a point or a comma, in nanoseconds; they may be there although the layout has none.
    fn fraction(&mut self) -> u32 {
        let Some(fraction) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return 0;
        }
        let (digits, rest) = fraction.split_at_checked(count).unwrap_or((fraction, ""));
        self.rest = rest;
        format!("{:0<9}", digits.get(..count.min(9)).unwrap_or_default()).parse().unwrap_or_default()
    }

    /// `Z` or `+07:00`, in seconds.
    fn zone(&mut self) -> Result<i32, Bad> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let (zone, rest) = self.rest.split_at_checked(6).ok_or(Bad::Unread)?;
        let [sign, h1, h2, b':', m1, m2] = *zone.as_bytes() else { return Err(Bad::Unread) };
        let number = |tens: u8, ones: u8| {
            let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
            is_number.then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0')).ok_or(Bad::Unread)
        };
        let hours = number(h1, h2)?;
        let minutes = number(m1, m2);
        // Upstream looks whether they are too large before it looks whether they could be read.
        if hours > 24 {
            return Err(Bad::Range("time zone offset hour"));
        }
        let minutes = minutes?;
        if minutes > 60 {
            return Err(Bad::Range("time zone offset minute"));
        }
        self.rest = rest;
        let seconds = hours * 3600 + minutes * 60;
        match sign {
            b'+' => Ok(seconds),
            b'-' => Ok(-seconds),
            _ => Err(Bad::Unread),
        }
    }

    /// Reads the whole text.
    fn read(mut self) -> Result<Timestamp, String> {
        let year = self.element("2006", Self::year)?;
        self.literal("-")?;
        let month = self.element("01", Self::month)?;
        self.literal("-")?;
        let day = self.element("02", |scanner| scanner.number(true))?;
        let (mut seconds, mut nanos, mut offset) = (0, 0, 0);
        if self.layout.has_clock {
            self.literal("T")?;
            let hour = self.element("15", |scanner| scanner.part(false, 24, "hour"))?;
            self.literal(":")?;
            let minute = self.element("04", |scanner| scanner.part(true, 60, "minute"))?;
            self.literal(":")?;
            let second = self.element("05", |scanner| scanner.part(true, 60, "second"))?;
            nanos = self.fraction();
            seconds = hour * 3600 + minute * 60 + second;
        }
        if self.layout.has_zone {
            offset = self.element("Z07:00", Self::zone)?;
        }
        if !self.rest.is_empty() {
            return Err(self.said(&format!("extra text: {}", quote(self.rest))));
        }
        // The day is compared with the month when all the rest is read.
        if !(1..=days_of(year, month)).contains(&day) {
            return Err(self.said("day out of range"));
        }
        seconds += days_from_civil(year, month, day) * DAY - i64::from(offset);
        Ok(Timestamp { seconds, nanos, offset })
    }
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// What `time.Parse(time.RFC3339, text)` reads. The year may lie outside of what CEL allows: that is another error.
pub(crate) fn parse_rfc3339(text: &str) -> Result<Option<Timestamp>, String> {
    let read = Scanner::new(RFC3339, text).read()?;
    let known = Timestamp::from_unix(read.seconds, read.nanos);
    Ok(known.map(|_| read))
}

/// A value of `format: date`.
pub(crate) fn parse_date(text: &str) -> Result<Timestamp, String> {
    Scanner::new(DATE, text).read()
}

/// A value of `format: date-time`: a missing zone is UTC, an empty text is 1970. What is wrong is told of the layout that
/// upstream tries last, that without a zone. The year 0 is not refused here.
pub(crate) fn parse_loose_date_time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp { seconds: 0, nanos: 0, offset: 0 });
    }
    Scanner::new(RFC3339, text).read().or_else(|_| Scanner::new(LOCAL, text).read())
}

/// What `time.ParseDuration` reads, in nanoseconds: `1h30m`, `-1.5s`.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let whole_length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, after) = rest.split_at_checked(whole_length).unwrap_or((rest, ""));
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => {
                let length = after.bytes().take_while(u8::is_ascii_digit).count();
                after.split_at_checked(length).unwrap_or((after, ""))
            }
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_length = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(unit_length).unwrap_or((after, ""));
        let scale: i64 = match unit {
            "" => return Err(format!("time: missing unit in duration {}", quote(text))),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => NANOS,
            "m" => 60 * NANOS,
            "h" => 3600 * NANOS,
            unit => return Err(format!("time: unknown unit {} in duration {}", quote(unit), quote(text))),
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let part = i128::from(fraction_of(fraction, scale));
        total = whole
            .checked_mul(i128::from(scale))
            .and_then(|whole| total.checked_add(whole))
            .and_then(|sum| sum.checked_add(part))
            .ok_or_else(invalid)?;
        rest = after;
    }
    i64::try_from(total * sign).map_err(|_| invalid())
}

/// So many nanoseconds are the digits after the point. As Go does it: in floating point, cut off.
fn fraction_of(digits: &str, unit: i64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes() {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0')));
        let Some(next) = next.filter(|next| *next <= 1 << 63) else { break };
        (value, scale) = (next, scale * 10.0);
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// A value of `format: duration`: what Go reads, or numbers with units in words (`3 days 2 hours`).
pub(crate) fn parse_loose_duration(text: &str) -> Result<i64, String> {
    if let Ok(nanos) = parse_duration(text) {
        return Ok(nanos);
    }
    let mut found = false;
    let mut total = 0i64;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = rest.get(start..).unwrap_or_default();
        let count = from.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = from.split_at_checked(count).unwrap_or((from, ""));
        let after = after.trim_start_matches(['\t', '\n', '\x0C', '\r', ' ']);
        let length = after.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(length).unwrap_or((after, ""));
        if !unit.is_empty() {
            let factor: i64 = digits
                .parse()
                .map_err(|_| format!("strconv.Atoi: parsing {}: value out of range", quote(digits)))?;
            if let Some(scale) = loose_unit(&unit.to_lowercase()) {
                found = true;
                total = total.wrapping_add(factor.wrapping_mul(scale));
            }
        }
        rest = after;
    }
    if found { Ok(total) } else { Err(format!("unable to parse {text} as duration")) }
}

fn loose_unit(unit: &str) -> Option<i64> {
    const UNITS: [(i64, &[&str], &str); 8] = [
        (1, &["ns"], "nano"),
        (1_000, &["us", "µs"], "micro"),
        (1_000_000, &["ms"], "milli"),
        (NANOS, &["s"], "sec"),
        (60 * NANOS, &["m"], "min"),
        (3600 * NANOS, &["h", "hr"], "hour"),
        (DAY * NANOS, &["d"], "day"),
        (7 * DAY * NANOS, &["w", "wk"], "week"),
    ];
    let is_unit = |(_, exact, stem): &&(i64, &[&str], &str)| exact.contains(&unit) || unit.starts_with(stem);
    UNITS.iter().find(is_unit).map(|(scale, ..)| *scale)
}
