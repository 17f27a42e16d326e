//! Points and spans of time as Go reads and writes them.

mod parse;

use std::cmp::Ordering;
use std::fmt;

use pilothouse_value::field::quote;

pub(crate) use parse::{
    parse_date, parse_duration, parse_loose_date_time, parse_loose_duration, parse_rfc3339,
};

/// A span of nanoseconds as Go prints it: `1h0m1.5s`, `20ms`.
pub(crate) fn go_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let whole = nanos.unsigned_abs();
    let fraction = |unit: u64, places: usize| {
        let digits = format!("{:0places$}", whole % unit);
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() { String::new() } else { format!(".{digits}") }
    };
    match whole {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{whole}ns"),
        1_000..1_000_000 => format!("{sign}{}{}µs", whole / 1_000, fraction(1_000, 3)),
        1_000_000..1_000_000_000 => format!("{sign}{}{}ms", whole / 1_000_000, fraction(1_000_000, 6)),
        _ => {
            let (seconds, part) = (whole / 1_000_000_000, fraction(1_000_000_000, 9));
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}{part}s"),
                (0, _) => format!("{sign}{minutes}m{seconds}{part}s"),
                _ => format!("{sign}{hours}h{minutes}m{seconds}{part}s"),
            }
        }
    }
}

/// The number that Go reads from a text (`strconv.Atoi`), or what it says instead: of a number that is too large at once, whatever
/// comes after it.
pub(crate) fn atoi(text: &str) -> Result<i64, String> {
    let wrong = |why: &str| Err(format!("strconv.Atoi: parsing {}: {why}", quote(text)));
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() {
        return wrong("invalid syntax");
    }
    let mut number = 0_u64;
    for b in digits.bytes() {
        if !b.is_ascii_digit() {
            return wrong("invalid syntax");
        }
        let next = number.checked_mul(10).and_then(|number| number.checked_add(u64::from(b - b'0')));
        let Some(next) = next else { return wrong("value out of range") };
        number = next;
    }
    let signed =
        if text.starts_with('-') { 0_i64.checked_sub_unsigned(number) } else { i64::try_from(number).ok() };
    signed.map_or_else(|| wrong("value out of range"), Ok)
}

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

    /// What a message of protobuf says, which may lie outside of those years; nanoseconds may be beyond the second.
    pub(crate) fn of_message(seconds: i64, nanos: i64) -> Self {
        let seconds = seconds.saturating_add(nanos.div_euclid(NANOS));
        Self { seconds, nanos: u32::try_from(nanos.rem_euclid(NANOS)).unwrap_or_default(), offset: 0 }
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
        let local = self.seconds.saturating_add(i64::from(offset));
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
        let (hours, minutes) = (atoi(hours)?, atoi(minutes)?);
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
        if zone.contains("..") || zone.starts_with(['/', '\\']) {
            return Err("time: invalid location name".to_owned());
        }
        if zone.contains('\0') {
            return Err("invalid argument".to_owned());
        }
        let unknown = || format!("unknown time zone {zone}");
        let zone = jiff::tz::TimeZone::get(zone).map_err(|_| unknown())?;
        // Before the first and after the last year that is known, the clocks are what they were then.
        let known = jiff::Timestamp::MIN.as_second()..=jiff::Timestamp::MAX.as_second();
        let seconds = self.seconds.clamp(*known.start(), *known.end());
        let instant = jiff::Timestamp::from_second(seconds).map_err(|_| unknown())?;
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
        // Go counts from the year 1, and what is beyond its numbers begins again at the other end.
        let key = |at: &Self| (at.seconds.wrapping_sub(MIN_SECONDS), at.nanos);
        key(self).cmp(&key(other))
    }
}

/// RFC 3339 in the offset in which it was written, without trailing zeros of the fraction.
impl Timestamp {
    /// As Go prints it where nobody says how: `2006-01-02 15:04:05 +0000 UTC`.
    pub(crate) fn go_string(self) -> String {
        if self.offset == 0 {
            return format!("{} +0000 UTC", self.date_and_clock(' '));
        }
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        // The zone has no name, so that its offset stands for that too.
        let zone = format!("{sign}{:02}{:02}", minutes / 60, minutes % 60);
        format!("{} {zone} {zone}", self.date_and_clock(' '))
    }

    fn date_and_clock(self, between: char) -> String {
        let at = self.fields(self.offset);
        let (year, month, day) = (at.year, at.month, at.day);
        let (hour, minute, second) = (at.hour, at.minute, at.second);
        let mut text = format!("{year:04}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}");
        if self.nanos > 0 {
            text.push('.');
            text.push_str(format!("{:09}", self.nanos).trim_end_matches('0'));
        }
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.date_and_clock('T'))?;
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
