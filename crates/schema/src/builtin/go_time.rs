//! Times in texts, and what Go's `time.Parse` says of a text that is none.

use pilothouse_value::Timestamp;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Reads a time of day in seconds (`micro` false: a fraction is accepted) or with exactly six digits behind them.
///
/// # Errors
/// Go's words.
pub(super) fn parse(text: &str, micro: bool) -> Result<Timestamp, String> {
    let layout = if micro { MICRO } else { SECONDS };
    let fail = |why: String| format!("parsing time {} as {layout:?}: {why}", quote(text));
    shape(text, micro).map_err(|why| match why {
        Fault::Element(rest, element) => fail(format!("cannot parse {} as {element:?}", quote(rest))),
        Fault::Range(what) => format!("parsing time {}: {what} out of range", quote(text)),
        Fault::Extra(rest) => format!("parsing time {}: extra text: {}", quote(text), quote(rest)),
    })?;
    Timestamp::parse(text).map_err(|_| format!("parsing time {}: day out of range", quote(text)))
}

fn quote(text: &str) -> String {
    pilothouse_value::field::quote(text)
}

enum Fault<'t> {
    /// The rest of the text does not begin with this element of the layout.
    Element(&'t str, &'static str),
    Range(&'static str),
    Extra(&'t str),
}

/// A number of two digits at the beginning; one digit is enough unless `fixed`.
fn number<'t>(rest: &'t str, element: &'static str, fixed: bool) -> Result<(u32, &'t str), Fault<'t>> {
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

fn within(value: u32, least: u32, most: u32, what: &'static str) -> Result<(), Fault<'static>> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(Fault::Range(what)) }
}

fn shape(text: &str, micro: bool) -> Result<(), Fault<'_>> {
    if text.len() < 4 || !text.bytes().take(4).all(|b| b.is_ascii_digit()) {
        return Err(Fault::Element(text, "2006"));
    }
    let rest = literal(text.get(4..).unwrap_or_default(), "-")?;
    let (month, rest) = number(rest, "01", true)?;
    within(month, 1, 12, "month")?;
    let rest = literal(rest, "-")?;
    let (_day, rest) = number(rest, "02", true)?;
    let rest = literal(rest, "T")?;
    let (hour, rest) = number(rest, "15", false)?;
    within(hour, 0, 23, "hour")?;
    let rest = literal(rest, ":")?;
    let (minute, rest) = number(rest, "04", true)?;
    within(minute, 0, 59, "minute")?;
    let rest = literal(rest, ":")?;
    let (second, mut rest) = number(rest, "05", true)?;
    within(second, 0, 59, "second")?;
    let fraction = rest.strip_prefix('.').map(|digits| digits.bytes().take_while(u8::is_ascii_digit).count());
    if micro {
        if fraction.is_none_or(|digits| digits < 6) {
            return Err(Fault::Element(rest, ".000000"));
        }
        rest = rest.get(7..).unwrap_or_default();
    } else if let Some(digits) = fraction.filter(|digits| *digits > 0) {
        rest = rest.get(1 + digits..).unwrap_or_default();
    }
    if let Some(rest) = rest.strip_prefix('Z') {
        return if rest.is_empty() { Ok(()) } else { Err(Fault::Extra(rest)) };
    }
    let zone = |at: usize, test: fn(u8) -> bool| rest.as_bytes().get(at).is_some_and(|b| test(*b));
    let digit: fn(u8) -> bool = |b| b.is_ascii_digit();
    let good = zone(0, |b| matches!(b, b'+' | b'-'))
        && [1, 2, 4, 5].into_iter().all(|at| zone(at, digit))
        && zone(3, |b| b == b':');
    if !good {
        return Err(Fault::Element(rest, "Z07:00"));
    }
    match rest.get(6..).unwrap_or_default() {
        "" => Ok(()),
        rest => Err(Fault::Extra(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_words_of_go() {
        let fault = |text: &str, micro| parse(text, micro).unwrap_err();
        assert_eq!(
            fault("x", false),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\""
        );
        assert_eq!(
            fault("2020-01-01T00:00:00.1Z", true),
            "parsing time \"2020-01-01T00:00:00.1Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".1Z\" as \".000000\""
        );
        assert_eq!(
            fault("2020-13-01T00:00:00Z", false),
            "parsing time \"2020-13-01T00:00:00Z\": month out of range"
        );
        assert!(parse("2020-01-01T00:00:00.123456+02:00", true).is_ok());
        assert!(parse("2020-01-01T00:00:00.5Z", false).is_ok());
    }
}
