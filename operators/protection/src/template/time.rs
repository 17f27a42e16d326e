//! Go's time layouts, with which `date` and `toDate` are told what a time looks like.

use jiff::Zoned;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};

/// The layout of `.Time`.
pub const RFC3339_NANO: &str = "2006-01-02T15:04:05.999999999Z07:00";

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Item<'a> {
    Text(&'a str),
    Year,
    ShortYear,
    LongMonth,
    ShortMonth,
    Month {
        zero: bool,
    },
    LongDay,
    ShortDay,
    Day {
        pad: Option<char>,
    },
    DayOfYear,
    Hour24,
    Hour12 {
        zero: bool,
    },
    Minute {
        zero: bool,
    },
    Second {
        zero: bool,
    },
    Meridiem {
        upper: bool,
    },
    /// Fraction of a second: the separator, the digits, and whether trailing zeros (and the whole, when zero) go.
    Fraction {
        separator: char,
        digits: usize,
        trim: bool,
    },
    Zone {
        z: bool,
        colon: bool,
        minutes: bool,
    },
    ZoneName,
}

/// Cuts a layout into its items, by the longest match at each place, as Go's `nextStdChunk` does.
fn items(layout: &str) -> Vec<Item<'_>> {
    const WORDS: &[(&str, Item<'static>)] = &[
        ("January", Item::LongMonth),
        ("Jan", Item::ShortMonth),
        ("Monday", Item::LongDay),
        ("Mon", Item::ShortDay),
        ("MST", Item::ZoneName),
        ("2006", Item::Year),
        ("002", Item::DayOfYear),
        ("01", Item::Month { zero: true }),
        ("02", Item::Day { pad: Some('0') }),
        ("03", Item::Hour12 { zero: true }),
        ("04", Item::Minute { zero: true }),
        ("05", Item::Second { zero: true }),
        ("06", Item::ShortYear),
        ("15", Item::Hour24),
        ("_2", Item::Day { pad: Some(' ') }),
        ("1", Item::Month { zero: false }),
        ("2", Item::Day { pad: None }),
        ("3", Item::Hour12 { zero: false }),
        ("4", Item::Minute { zero: false }),
        ("5", Item::Second { zero: false }),
        ("PM", Item::Meridiem { upper: true }),
        ("pm", Item::Meridiem { upper: false }),
        ("-07:00", Item::Zone { z: false, colon: true, minutes: true }),
        ("-0700", Item::Zone { z: false, colon: false, minutes: true }),
        ("-07", Item::Zone { z: false, colon: false, minutes: false }),
        ("Z07:00", Item::Zone { z: true, colon: true, minutes: true }),
        ("Z0700", Item::Zone { z: true, colon: false, minutes: true }),
        ("Z07", Item::Zone { z: true, colon: false, minutes: false }),
    ];
    let mut out = Vec::new();
    let (mut text, mut at) = (0, 0);
    while at < layout.len() {
        let rest = &layout[at..];
        let found = WORDS
            .iter()
            .find(|(word, _)| rest.starts_with(word))
            .map(|(word, item)| (*item, word.len()))
            .or_else(|| fraction(rest));
        if let Some((item, length)) = found {
            if text < at {
                out.push(Item::Text(&layout[text..at]));
            }
            out.push(item);
            at += length;
            text = at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    if text < layout.len() {
        out.push(Item::Text(&layout[text..]));
    }
    out
}

fn fraction(rest: &str) -> Option<(Item<'_>, usize)> {
    let separator = rest.chars().next().filter(|c| matches!(c, '.' | ','))?;
    let digit = rest[1..].chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let digits = rest[1..].chars().take_while(|c| *c == digit).count();
    let followed = rest[1 + digits..].chars().next().is_some_and(|c| c.is_ascii_digit());
    (digits <= 9 && !followed)
        .then_some((Item::Fraction { separator, digits, trim: digit == '9' }, digits + 1))
}

/// The time in the form that the layout shows.
pub fn format(time: &Zoned, layout: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for item in items(layout) {
        let (hour, offset) = (time.hour(), time.offset().seconds());
        let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
        let _ = match item {
            Item::Text(text) => write!(out, "{text}"),
            Item::Year => write!(out, "{:04}", time.year()),
            Item::ShortYear => write!(out, "{:02}", time.year().rem_euclid(100)),
            Item::LongMonth => write!(out, "{}", month(time)),
            Item::ShortMonth => write!(out, "{:.3}", month(time)),
            Item::Month { zero: true } => write!(out, "{:02}", time.month()),
            Item::Month { zero: false } => write!(out, "{}", time.month()),
            Item::LongDay => write!(out, "{}", weekday(time)),
            Item::ShortDay => write!(out, "{:.3}", weekday(time)),
            Item::Day { pad: Some('0') } => write!(out, "{:02}", time.day()),
            Item::Day { pad: Some(_) } => write!(out, "{:2}", time.day()),
            Item::Day { pad: None } => write!(out, "{}", time.day()),
            Item::DayOfYear => write!(out, "{:03}", time.day_of_year()),
            Item::Hour24 => write!(out, "{hour:02}"),
            Item::Hour12 { zero: true } => write!(out, "{hour12:02}"),
            Item::Hour12 { zero: false } => write!(out, "{hour12}"),
            Item::Minute { zero: true } => write!(out, "{:02}", time.minute()),
            Item::Minute { zero: false } => write!(out, "{}", time.minute()),
            Item::Second { zero: true } => write!(out, "{:02}", time.second()),
            Item::Second { zero: false } => write!(out, "{}", time.second()),
            Item::Meridiem { upper } => {
                let text = if hour < 12 { "am" } else { "pm" };
                write!(out, "{}", if upper { text.to_uppercase() } else { text.to_owned() })
            }
            Item::Fraction { separator, digits, trim } => {
                let all = format!("{:09}", time.subsec_nanosecond());
                let kept = all.get(..digits).unwrap_or(&all);
                let kept = if trim { kept.trim_end_matches('0') } else { kept };
                if kept.is_empty() { Ok(()) } else { write!(out, "{separator}{kept}") }
            }
            Item::Zone { z: true, .. } if offset == 0 => write!(out, "Z"),
            Item::Zone { colon, minutes, .. } => {
                let sign = if offset < 0 { '-' } else { '+' };
                let total = offset.abs() / 60;
                let _ = write!(out, "{sign}{:02}", total / 60);
                match (minutes, colon) {
                    (false, _) => Ok(()),
                    (true, true) => write!(out, ":{:02}", total % 60),
                    (true, false) => write!(out, "{:02}", total % 60),
                }
            }
            Item::ZoneName if offset == 0 => write!(out, "UTC"),
            Item::ZoneName => write!(out, "{}", format(time, "-0700")),
        };
    }
    out
}

fn month(time: &Zoned) -> &'static str {
    usize::try_from(time.month() - 1).ok().and_then(|i| MONTHS.get(i)).copied().unwrap_or_default()
}

fn weekday(time: &Zoned) -> &'static str {
    usize::try_from(time.weekday().to_monday_zero_offset())
        .ok()
        .and_then(|i| DAYS.get(i))
        .copied()
        .unwrap_or_default()
}

/// Reads a time in the form that the layout shows. Without a zone in the layout, it is UTC.
///
/// # Errors
/// Where the text does not fit the layout, in the words of Go's `time.Parse`.
pub fn parse(layout: &str, text: &str) -> Result<Zoned, String> {
    let failed = |rest: &str| format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?}");
    let (mut year, mut month, mut day, mut day_of_year) = (0_i16, 1_i8, 1_i8, None);
    let (mut hour, mut minute, mut second, mut nanos) = (0_i8, 0_i8, 0_i8, 0_i32);
    let (mut offset, mut afternoon, mut rest) = (0_i32, None, text);
    let list = items(layout);
    for (i, item) in list.iter().enumerate() {
        let before = rest;
        let error = || failed(before);
        match *item {
            Item::Text(expected) => rest = rest.strip_prefix(expected).ok_or_else(error)?,
            Item::Year => year = number(&mut rest, 4, 4).ok_or_else(error)?,
            Item::ShortYear => {
                let short: i16 = number(&mut rest, 2, 2).ok_or_else(error)?;
                year = if short >= 69 { 1900 + short } else { 2000 + short };
            }
            Item::LongMonth => month = name(&mut rest, &MONTHS, usize::MAX).ok_or_else(error)? + 1,
            Item::ShortMonth => month = name(&mut rest, &MONTHS, 3).ok_or_else(error)? + 1,
            Item::Month { zero } => {
                month = number(&mut rest, if zero { 2 } else { 1 }, 2).ok_or_else(error)?
            }
            Item::LongDay => {
                name(&mut rest, &DAYS, usize::MAX).ok_or_else(error)?;
            }
            Item::ShortDay => {
                name(&mut rest, &DAYS, 3).ok_or_else(error)?;
            }
            Item::Day { pad } => {
                if pad == Some(' ') {
                    rest = rest.strip_prefix(' ').unwrap_or(rest);
                }
                day = number(&mut rest, if pad == Some('0') { 2 } else { 1 }, 2).ok_or_else(error)?;
            }
            Item::DayOfYear => day_of_year = Some(number::<i16>(&mut rest, 3, 3).ok_or_else(error)?),
            Item::Hour24 => hour = number(&mut rest, 2, 2).ok_or_else(error)?,
            Item::Hour12 { zero } => {
                hour = number(&mut rest, if zero { 2 } else { 1 }, 2).ok_or_else(error)?
            }
            Item::Minute { zero } => {
                minute = number(&mut rest, if zero { 2 } else { 1 }, 2).ok_or_else(error)?
            }
            Item::Second { zero } => {
                second = number(&mut rest, if zero { 2 } else { 1 }, 2).ok_or_else(error)?;
                // Go accepts a fraction after the seconds even when the layout does not name one.
                if !matches!(list.get(i + 1), Some(Item::Fraction { .. })) && rest.starts_with(['.', ',']) {
                    nanos = fraction_of(&mut rest).unwrap_or(nanos);
                }
            }
            Item::Meridiem { .. } => {
                afternoon = Some(rest.get(..2).is_some_and(|m| m.eq_ignore_ascii_case("pm")));
                rest = rest.get(2..).ok_or_else(error)?;
            }
            Item::Fraction { trim, .. } => match fraction_of(&mut rest) {
                Some(n) => nanos = n,
                None if trim => {}
                None => return Err(error()),
            },
            Item::Zone { z: true, .. } if rest.starts_with('Z') => rest = &rest[1..],
            Item::Zone { colon, minutes, .. } => {
                offset = zone(&mut rest, colon, minutes).ok_or_else(error)?
            }
            Item::ZoneName => {
                let length = rest.chars().take_while(char::is_ascii_uppercase).count();
                rest = rest.get(length.max(1)..).ok_or_else(error)?;
            }
        }
    }
    if !rest.is_empty() {
        return Err(format!("parsing time {text:?}: extra text: {rest:?}"));
    }
    match afternoon {
        Some(true) if hour < 12 => hour += 12,
        Some(false) if hour == 12 => hour = 0,
        _ => {}
    }
    let out_of_range = |e: jiff::Error| format!("parsing time {text:?}: {e}");
    let date = match day_of_year {
        Some(n) => {
            Date::new(year, 1, 1).and_then(|d| d.with().day_of_year(n).build()).map_err(out_of_range)?
        }
        None => Date::new(year, month, day).map_err(out_of_range)?,
    };
    let civil = jiff::civil::Time::new(hour, minute, second, nanos).map_err(out_of_range)?;
    let zone = if offset == 0 {
        TimeZone::UTC
    } else {
        TimeZone::fixed(Offset::from_seconds(offset).map_err(out_of_range)?)
    };
    date.to_datetime(civil).to_zoned(zone).map_err(out_of_range)
}

fn number<T: std::str::FromStr>(rest: &mut &str, min: usize, max: usize) -> Option<T> {
    let digits = rest.chars().take(max).take_while(char::is_ascii_digit).count();
    if digits < min {
        return None;
    }
    let (number, after) = rest.split_at(digits);
    *rest = after;
    number.parse().ok()
}

fn fraction_of(rest: &mut &str) -> Option<i32> {
    let after = rest.strip_prefix(['.', ','])?;
    let digits = after.chars().take_while(char::is_ascii_digit).count();
    let kept = after.get(..digits.min(9)).filter(|kept| !kept.is_empty())?;
    let nanos = format!("{kept:0<9}").parse().ok()?;
    *rest = &after[digits..];
    Some(nanos)
}

fn name(rest: &mut &str, names: &[&str], length: usize) -> Option<i8> {
    let (index, found) = names.iter().enumerate().find_map(|(i, name)| {
        let name = name.get(..length.min(name.len()))?;
        rest.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name)).map(|_| (i, name.len()))
    })?;
    *rest = &rest[found..];
    i8::try_from(index).ok()
}

fn zone(rest: &mut &str, colon: bool, minutes: bool) -> Option<i32> {
    let sign = match rest.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    *rest = &rest[1..];
    let hours: i32 = number(rest, 2, 2)?;
    if colon {
        *rest = rest.strip_prefix(':')?;
    }
    let minutes: i32 = if minutes { number(rest, 2, 2)? } else { 0 };
    Some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_of_the_shipped_blueprints() {
        let time = parse(RFC3339_NANO, "2024-03-05T07:08:09.123456Z").unwrap();
        for (layout, text) in [
            ("2006-01-02T15-04-05", "2024-03-05T07-08-09"),
            ("2006-01-02t15-04-05", "2024-03-05t07-08-09"),
            ("2006-01-02T15:04:05Z07:00", "2024-03-05T07:08:09Z"),
            ("2006-01-02", "2024-03-05"),
            (RFC3339_NANO, "2024-03-05T07:08:09.123456Z"),
            ("Mon Jan _2 3:04:05.000 PM 2006", "Tue Mar  5 7:08:09.123 AM 2024"),
            ("Monday, 02-Jan-06 15:04:05 MST", "Tuesday, 05-Mar-24 07:08:09 UTC"),
            ("20060102150405", "20240305070809"),
        ] {
            assert_eq!(format(&time, layout), text, "{layout}");
        }
    }

    #[test]
    fn zones_are_kept() {
        let time = parse("2006-01-02T15:04:05Z07:00", "2024-03-05T07:08:09-05:30").unwrap();
        assert_eq!(format(&time, "2006-01-02 15:04:05 -0700"), "2024-03-05 07:08:09 -0530");
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (layout, text) in [
            ("2006-01-02", "2024-13-01"),
            ("2006-01-02", "yesterday"),
            ("2006", "2024x"),
            ("2006-01-02", "2024-02-30"),
        ] {
            assert!(parse(layout, text).unwrap_err().contains("parsing time"), "{text}");
        }
    }
}
