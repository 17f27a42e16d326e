//! Points in time as metadata spells them: RFC 3339 in UTC with whole seconds, or with microseconds, read as Go reads it and
//! with Go's words for what is wrong.

use std::fmt;
use std::time::{Duration, SystemTime};

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";
const DAY: i64 = 24 * 60 * 60;
const BILLION: u32 = 1_000_000_000;
/// The first second of the year 0 and the last of the year 9999.
const RANGE: (i64, i64) = (-62_167_219_200, 253_402_300_799);

/// The text is no RFC 3339 time. Its `Display` is what Go's `time.Parse` says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseTimestampError(String);

/// A point in time, to a nanosecond. Its `Display` is `metav1.Time`: `2026-11-30T08:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// Since 1970, rounded towards the past.
    seconds: i64,
    nanos: u32,
}

impl Timestamp {
    /// The time that the machine's clock shows.
    pub fn of_machine() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }

    /// Reads RFC 3339 with whole seconds, as `metav1.Time` does; a fraction of a second is accepted.
    ///
    /// # Errors
    /// When the text is not a time with a date and an offset.
    pub fn parse(text: &str) -> Result<Self, ParseTimestampError> {
        Self::read(text, SECONDS)
    }

    /// Reads RFC 3339 with exactly six digits behind the seconds, as `metav1.MicroTime` does.
    ///
    /// # Errors
    /// As [`Timestamp::parse`].
    pub fn parse_micro(text: &str) -> Result<Self, ParseTimestampError> {
        Self::read(text, MICRO)
    }

    fn read(text: &str, layout: &str) -> Result<Self, ParseTimestampError> {
        read(text, layout == MICRO).map_err(|fault| {
            let time = quote(text);
            ParseTimestampError(match fault {
                Fault::Element(rest, element) => {
                    format!("parsing time {time} as {layout:?}: cannot parse {} as {element:?}", quote(rest))
                }
                Fault::Range(what) => format!("parsing time {time}: {what} out of range"),
                Fault::Extra(rest) => format!("parsing time {time}: extra text: {}", quote(rest)),
            })
        })
    }

    /// From seconds since 1970; what is not within the years 0 to 9999 becomes the nearest time that is.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self { seconds: seconds.clamp(RANGE.0, RANGE.1), nanos: 0 }
    }

    /// Seconds since 1970, rounded towards the past.
    pub fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds since the last whole second.
    pub fn subsecond_nanos(self) -> u32 {
        self.nanos
    }

    /// This time plus a duration, or the last time there is.
    pub fn plus(self, duration: Duration) -> Self {
        let nanos = self.nanos + duration.subsec_nanos();
        let seconds = i64::try_from(duration.as_secs()).ok().and_then(|more| self.seconds.checked_add(more));
        match seconds.and_then(|seconds| seconds.checked_add(i64::from(nanos / BILLION))) {
            Some(seconds) if seconds <= RANGE.1 => Self { seconds, nanos: nanos % BILLION },
            _ => Self::from_unix_seconds(RANGE.1),
        }
    }

    /// How long after `earlier` this is; zero if it is before.
    pub fn since(self, earlier: Self) -> Duration {
        let nanos = |time: Self| i128::from(time.seconds) * i128::from(BILLION) + i128::from(time.nanos);
        let between = u128::try_from(nanos(self) - nanos(earlier)).unwrap_or_default();
        let (seconds, nanos) = (between / u128::from(BILLION), between % u128::from(BILLION));
        // Two seconds of the calendar are never so far apart, and a remainder is less than a billion.
        Duration::new(u64::try_from(seconds).unwrap_or(u64::MAX), u32::try_from(nanos).unwrap_or_default())
    }

    /// `metav1.MicroTime`: `2026-11-30T08:00:00.000000Z`.
    pub fn micro(self) -> String {
        format!("{}.{:06}Z", self.civil(), self.nanos / 1000)
    }

    /// With nanoseconds, trailing zeros left out, as container logs carry it.
    pub fn nano(self) -> String {
        let fraction = format!("{:09}", self.nanos);
        match fraction.trim_end_matches('0') {
            "" => format!("{}Z", self.civil()),
            fraction => format!("{}.{fraction}Z", self.civil()),
        }
    }

    /// Date and time of day, without fraction and zone.
    fn civil(self) -> String {
        let (days, second) = (self.seconds.div_euclid(DAY), self.seconds.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let sign = if year < 0 { "-" } else { "" };
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{sign}{:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", year.abs())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Z", self.civil())
    }
}

impl From<Timestamp> for crate::Value {
    fn from(time: Timestamp) -> Self {
        Self::String(time.to_string())
    }
}

/// Days since 1970 of a date. Years are counted from March, so that the leap day is the last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// The date of a day since 1970: year, month, day.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

enum Fault<'t> {
    /// The rest of the text does not begin with this element of the layout.
    Element(&'t str, &'static str),
    Range(&'static str),
    Extra(&'t str),
}

/// A number of two digits at the beginning; one digit is enough unless `fixed`.
fn number<'t>(rest: &'t str, element: &'static str, fixed: bool) -> Result<(i64, &'t str), Fault<'t>> {
    let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if digits == 0 || (fixed && digits < 2) {
        return Err(Fault::Element(rest, element));
    }
    let (text, rest) = rest.split_at(digits);
    Ok((text.parse().unwrap_or_default(), rest))
}

fn literal<'t>(rest: &'t str, element: &'static str) -> Result<&'t str, Fault<'t>> {
    rest.strip_prefix(element).ok_or(Fault::Element(rest, element))
}

fn within(value: i64, least: i64, most: i64, what: &'static str) -> Result<(), Fault<'static>> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(Fault::Range(what)) }
}

fn read(text: &str, micro: bool) -> Result<Timestamp, Fault<'_>> {
    let year = text.get(..4).filter(|year| year.bytes().all(|b| b.is_ascii_digit()));
    let year: i64 = year.and_then(|year| year.parse().ok()).ok_or(Fault::Element(text, "2006"))?;
    let rest = literal(text.get(4..).unwrap_or_default(), "-")?;
    let (month, rest) = number(rest, "01", true)?;
    within(month, 1, 12, "month")?;
    let rest = literal(rest, "-")?;
    let (day, rest) = number(rest, "02", true)?;
    let rest = literal(rest, "T")?;
    let (hour, rest) = number(rest, "15", false)?;
    within(hour, 0, 23, "hour")?;
    let rest = literal(rest, ":")?;
    let (minute, rest) = number(rest, "04", true)?;
    within(minute, 0, 59, "minute")?;
    let rest = literal(rest, ":")?;
    let (second, rest) = number(rest, "05", true)?;
    within(second, 0, 59, "second")?;
    let (nanos, rest) = fraction(rest, micro)?;
    let (offset, rest) = zone(rest)?;
    if !rest.is_empty() {
        return Err(Fault::Extra(rest));
    }
    within(day, 1, days_in(year, month), "day")?;
    let seconds = days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    Ok(Timestamp { seconds, nanos })
}

/// The nanoseconds of a fraction; with `micro` it has to be there and has six digits.
fn fraction(rest: &str, micro: bool) -> Result<(u32, &str), Fault<'_>> {
    let behind = rest.strip_prefix(['.', ',']);
    let digits = behind.map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_digit).count());
    let taken = match micro {
        true if digits < 6 => return Err(Fault::Element(rest, ".000000")),
        true => 6,
        false if digits == 0 => return Ok((0, rest)),
        false => digits,
    };
    let (digits, rest) = behind.and_then(|behind| behind.split_at_checked(taken)).unwrap_or(("", rest));
    let nanos = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    Ok((nanos.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0')), rest))
}

/// The offset from UTC in seconds.
fn zone(rest: &str) -> Result<(i64, &str), Fault<'_>> {
    if let Some(rest) = rest.strip_prefix('Z') {
        return Ok((0, rest));
    }
    let wrong = Fault::Element(rest, "Z07:00");
    let (Some(zone), Some(after)) = (rest.get(..6), rest.get(6..)) else { return Err(wrong) };
    let digits = |at: usize| {
        let digits = zone.get(at..at + 2).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse::<i64>().ok())
    };
    let (Some(b':'), Some(hours), Some(minutes)) = (zone.as_bytes().get(3), digits(1), digits(4)) else {
        return Err(wrong);
    };
    within(hours, 0, 24, "time zone offset hour")?;
    within(minutes, 0, 60, "time zone offset minute")?;
    match zone.as_bytes().first() {
        Some(b'+') => Ok((hours * 3600 + minutes * 60, after)),
        Some(b'-') => Ok((-(hours * 3600 + minutes * 60), after)),
        _ => Err(wrong),
    }
}

/// How Go's package of times quotes: what is not of ASCII, or no character, is shown by its bytes.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_words_of_go() {
        let fault = |text: &str| Timestamp::parse(text).unwrap_err().to_string();
        assert_eq!(
            fault("x"),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""
        );
        assert_eq!(
            Timestamp::parse_micro("2020-01-01T00:00:00.1Z").unwrap_err().to_string(),
            "parsing time \"2020-01-01T00:00:00.1Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".1Z\" as \".000000\""
        );
        assert_eq!(
            fault("2020-13-01T00:00:00Z"),
            "parsing time \"2020-13-01T00:00:00Z\": month out of range"
        );
        assert_eq!(fault("2021-02-29T00:00:00Z"), "parsing time \"2021-02-29T00:00:00Z\": day out of range");
        assert_eq!(
            fault("2021-01-01T00:00:00Zé"),
            "parsing time \"2021-01-01T00:00:00Z\\xc3\\xa9\": extra text: \"\\xc3\\xa9\""
        );
    }

    #[test]
    fn years_have_four_digits_and_no_sign() {
        for text in [
            "-002003-01-01T00-012021.22020",
            "+002026-11-30T08:00:00Z",
            "10000-01-01T00:00:00Z",
            "-0001-01-01T00:00:00Z",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
        for text in
            ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2000-02-29T12:34:56Z"]
        {
            assert_eq!(Timestamp::parse(text).map(|time| time.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn offsets_and_fractions_are_those_of_go() {
        for (text, nano) in [
            ("2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00.5Z"),
            ("2020-01-01T00:00:00,25Z", "2020-01-01T00:00:00.25Z"),
            ("2020-01-01T1:00:00+01:30", "2019-12-31T23:30:00Z"),
            ("1969-12-31T23:59:59.999999999999Z", "1969-12-31T23:59:59.999999999Z"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().nano(), nano);
        }
    }
}
