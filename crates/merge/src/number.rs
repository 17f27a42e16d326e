//! Floating numbers as Go prints them.

/// As Go's JSON writers do: plain digits from 1e-6 up to 1e21, an exponent beyond.
pub(crate) fn json(number: f64) -> String {
    let size = number.abs();
    if number != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        return if size >= 1.0 { text.replace('e', "e+") } else { text };
    }
    if number.fract() == 0.0 { format!("{number:.0}") } else { number.to_string() }
}

/// As `%v` does: the shortest digits that read back as the same number, with an exponent of at least two digits when it
/// is below -4 or above 5.
pub(crate) fn general(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return if number.fract() == 0.0 { format!("{number:.0}") } else { number.to_string() };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
