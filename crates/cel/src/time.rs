//! Points and spans of time as Go reads and writes them.

use std::cmp::Ordering;
use std::fmt;

/// First second of the year 1, in seconds since 1970.
const MIN_SECONDS: i64 = -62_135_596_800;
/// Last second of the year 9999.
const MAX_SECONDS: i64 = 253_402_300_799;
const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// A point in time with the offset in which it was written. Only the point counts when two are compared.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
}

/// A point in time by the calendar and the clock of some place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    /// From 0.
    pub(crate) day_of_year: i64,
    /// From 0, which is Sunday.
    pub(crate) day_of_week: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    pub(crate) nanos: i64,
}

impl Timestamp {
    /// A point in UTC; `None` outside of the years 1 to 9999.
    pub fn from_unix(seconds: i64, nanos: u32) -> Option<Self> {
        let is_valid = (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) && i64::from(nanos) < NANOS;
        is_valid.then_some(Self { seconds, nanos, offset: 0 })
    }

    /// Whether this is the first point that there is.
    pub(crate) const fn is_zero(self) -> bool {
        self.seconds == MIN_SECONDS && self.nanos == 0
    }

    /// Seconds since 1970.
    pub const fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds within the second.
    pub const fn subsec_nanos(self) -> u32 {
        self.nanos
    }

    /// The point so many nanoseconds later.
    pub(crate) fn plus(self, nanos: i64) -> Option<Self> {
        let total = i64::from(self.nanos) + nanos.rem_euclid(NANOS);
        let seconds = self.seconds.checked_add(nanos.div_euclid(NANOS))?.checked_add(total / NANOS)?;
        let nanos = u32::try_from(total % NANOS).ok()?;
        Self::from_unix(seconds, nanos).map(|moved| Self { offset: self.offset, ..moved })
    }

    /// Nanoseconds from `earlier` to this point.
    pub(crate) fn since(self, earlier: Self) -> Option<i64> {
        let nanos = (i128::from(self.seconds) - i128::from(earlier.seconds)) * i128::from(NANOS)
            + i128::from(self.nanos)
            - i128::from(earlier.nanos);
        i64::try_from(nanos).ok()
    }

    /// What calendar and clock show at an offset in seconds.
    pub(crate) fn fields(self, offset: i32) -> Fields {
        let local = self.seconds + i64::from(offset);
        let (days, clock) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        Fields {
            year,
            month,
            day,
            day_of_year: days - days_from_civil(year, 1, 1),
            day_of_week: (days + 4).rem_euclid(7),
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
            nanos: i64::from(self.nanos),
        }
    }

    /// The offset at this point of a named time zone, or of one that is written `+02:00`.
    pub(crate) fn offset_in(self, zone: &str) -> Result<i32, String> {
        let Some((hours, minutes)) = zone.split_once(':') else { return self.offset_in_named(zone) };
        let number = |text: &str| {
            text.parse::<i64>().map_err(|_| format!("strconv.Atoi: parsing {text:?}: invalid syntax"))
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        if !(0..=59).contains(&minutes) {
            return Err(format!("timezone offset minutes out of range [0, 59]: {zone}"));
        }
        let minutes = if zone.starts_with('-') { -minutes } else { minutes };
        let seconds =
            hours.checked_mul(60).and_then(|h| h.checked_add(minutes)).and_then(|m| m.checked_mul(60));
        Ok(seconds.and_then(|seconds| i32::try_from(seconds).ok()).unwrap_or_default())
    }

    fn offset_in_named(self, zone: &str) -> Result<i32, String> {
        if matches!(zone, "" | "UTC" | "Local") {
            return Ok(0);
        }
        let unknown = || format!("unknown time zone {zone}");
        let zone = jiff::tz::TimeZone::get(zone).map_err(|_| unknown())?;
        let instant = jiff::Timestamp::from_second(self.seconds).map_err(|_| unknown())?;
        Ok(zone.to_offset(instant).seconds())
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// RFC 3339 in the offset in which it was written, without trailing zeros of the fraction.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.fields(self.offset);
        let (year, month, day) = (at.year, at.month, at.day);
        write!(f, "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", at.hour, at.minute, at.second)?;
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years start in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Takes apart what `time.Parse` takes apart.
struct Scanner<'t> {
    whole: &'t str,
    rest: &'t str,
}

impl<'t> Scanner<'t> {
    const fn new(text: &'t str) -> Self {
        Self { whole: text, rest: text }
    }

    fn wrong(&self) -> String {
        format!("parsing time {:?}: cannot parse {:?}", self.whole, self.rest)
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {:?}: {what} out of range", self.whole)
    }

    fn digits(&mut self, least: usize, most: usize) -> Result<i64, String> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let digits = self.rest.get(..count).filter(|_| count >= least).ok_or_else(|| self.wrong())?;
        self.rest = self.rest.get(count..).unwrap_or_default();
        digits.parse().map_err(|_| self.wrong())
    }

    fn literal(&mut self, literal: char) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.wrong())?;
        Ok(())
    }

    /// `2006-01-02`, in days since 1970.
    fn date(&mut self) -> Result<i64, String> {
        let year = self.digits(4, 4)?;
        self.literal('-')?;
        let month = self.digits(2, 2)?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal('-')?;
        let day = self.digits(2, 2)?;
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let last = match month {
            2 => 28 + i64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if !(1..=last).contains(&day) {
            return Err(self.out_of_range("day"));
        }
        Ok(days_from_civil(year, month, day))
    }

    /// `15:04:05` with or without a fraction, in seconds and nanoseconds.
    fn clock(&mut self) -> Result<(i64, u32), String> {
        let hour = self.digits(1, 2)?;
        self.literal(':')?;
        let minute = self.digits(2, 2)?;
        self.literal(':')?;
        let second = self.digits(2, 2)?;
        for (value, limit, what) in [(hour, 24, "hour"), (minute, 60, "minute"), (second, 60, "second")] {
            if value >= limit {
                return Err(self.out_of_range(what));
            }
        }
        let mut nanos = 0;
        if let Some(fraction) = self.rest.strip_prefix(['.', ',']) {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if count == 0 {
                return Err(self.wrong());
            }
            let digits = fraction.get(..count.min(9)).unwrap_or_default();
            nanos = format!("{digits:0<9}").parse().unwrap_or_default();
            self.rest = fraction.get(count..).unwrap_or_default();
        }
        Ok((hour * 3600 + minute * 60 + second, nanos))
    }

    /// `Z` or `+07:00`, in seconds.
    fn zone(&mut self) -> Result<i32, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let (sign, rest) = match self.rest.split_at_checked(1) {
            Some(("+", rest)) => (1, rest),
            Some(("-", rest)) => (-1, rest),
            _ => return Err(self.wrong()),
        };
        self.rest = rest;
        let hours = self.digits(2, 2)?;
        self.literal(':')?;
        let minutes = self.digits(2, 2)?;
        if hours > 24 || minutes > 60 {
            return Err(self.out_of_range("time zone offset"));
        }
        Ok(sign * i32::try_from(hours * 3600 + minutes * 60).unwrap_or_default())
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.wrong()) }
    }
}

/// What `time.Parse(time.RFC3339, text)` reads. The year may lie outside of what CEL allows: that is another error.
pub(crate) fn parse_rfc3339(text: &str) -> Result<Option<Timestamp>, String> {
    parse(text, true)
}

fn parse(text: &str, with_zone: bool) -> Result<Option<Timestamp>, String> {
    let mut scanner = Scanner::new(text);
    let days = scanner.date()?;
    scanner.literal('T')?;
    let (clock, nanos) = scanner.clock()?;
    let offset = if with_zone { scanner.zone()? } else { 0 };
    scanner.end()?;
    let seconds = days * DAY + clock - i64::from(offset);
    Ok(Timestamp::from_unix(seconds, nanos).map(|timestamp| Timestamp { offset, ..timestamp }))
}

/// A value of `format: date`.
pub(crate) fn parse_date(text: &str) -> Result<Timestamp, String> {
    let mut scanner = Scanner::new(text);
    let days = scanner.date()?;
    scanner.end()?;
    Timestamp::from_unix(days * DAY, 0).ok_or_else(|| scanner.out_of_range("year"))
}

/// A value of `format: date-time`: a missing zone is UTC, an empty text is 1970.
pub(crate) fn parse_loose_date_time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp { seconds: 0, nanos: 0, offset: 0 });
    }
    let parsed = parse(text, true).or_else(|_| parse(text, false))?;
    parsed.ok_or_else(|| Scanner::new(text).out_of_range("year"))
}

/// What `time.ParseDuration` reads, in nanoseconds: `1h30m`, `-1.5s`.
pub(crate) fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
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
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => NANOS,
            "m" => 60 * NANOS,
            "h" => 3600 * NANOS,
            unit => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        // More than 18 digits of a fraction do not change the nanoseconds.
        let digits = fraction.get(..fraction.len().min(18)).unwrap_or_default();
        let numerator: i128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| invalid())? };
        let power = u32::try_from(digits.len()).unwrap_or_default();
        let part = numerator * i128::from(scale) / 10i128.pow(power);
        total = whole
            .checked_mul(i128::from(scale))
            .and_then(|whole| total.checked_add(whole))
            .and_then(|sum| sum.checked_add(part))
            .ok_or_else(invalid)?;
        rest = after;
    }
    i64::try_from(total * sign).map_err(|_| invalid())
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
            let factor: i64 = digits.parse().map_err(|_| format!("unable to parse {text} as duration"))?;
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
