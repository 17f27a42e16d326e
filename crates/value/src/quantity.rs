//! Resource quantities: `100m`, `1.5Gi`, `2e3`, compared by value and printed in canonical form.

use std::fmt;
use std::str::FromStr;

/// The text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseQuantityError {
    /// Not a number with a known suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// A number with something that looks like a suffix but is none.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// A number, but beyond ±2^63 of the largest unit.
    #[error("quantity is out of range")]
    Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

/// A fixed-point number with the style in which it is printed. Precision ends at a billionth; what is finer is
/// rounded up, as apimachinery does.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    style: Style,
}

const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// A whole number without a unit.
    pub fn from_i64(value: i64) -> Self {
        Self { nano: i128::from(value) * NANO, style: Style::DecimalSi }
    }

    /// The sum, printed in the style of `self` unless that is nothing. It stops at the largest number there is.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let style = if self.is_zero() { other.style } else { self.style };
        Self { nano: self.nano.saturating_add(other.nano), style }
    }

    /// The value rounded up to thousandths, the finest that is kept of a resource.
    #[must_use]
    pub fn round_up_milli(self) -> Self {
        Self { nano: div_up(self.nano, NANO / 1000) * (NANO / 1000), style: self.style }
    }

    /// The value in billionths.
    pub const fn nano(self) -> i128 {
        self.nano
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// The difference, printed in the style of `self` unless that is nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let style = if self.is_zero() { other.style } else { self.style };
        Self { nano: self.nano.saturating_sub(other.nano), style }
    }

    /// The next whole number that is not smaller, in the same style.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        Self { nano: div_up(self.nano, NANO).saturating_mul(NANO), style: self.style }
    }

    /// The value as a whole number, rounded up, clamped to an `i64`.
    pub fn value(self) -> i64 {
        clamp(div_up(self.nano, NANO))
    }

    /// The value in thousandths, rounded up, clamped to an `i64`.
    pub fn milli_value(self) -> i64 {
        clamp(div_up(self.nano, NANO / 1000))
    }
}

fn clamp(v: i128) -> i64 {
    i64::try_from(v).unwrap_or(if v < 0 { i64::MIN } else { i64::MAX })
}

/// Division rounding away from zero.
fn div_up(n: i128, d: i128) -> i128 {
    let (q, r) = (n / d, n % d);
    if r == 0 { q } else { q + n.signum() }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nano.cmp(&other.nano)
    }
}

/// Letters of suffixes, then an exponent: what may follow a number, whether it means anything or not.
fn looks_like_suffix(text: &str) -> bool {
    let exponent = text.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    digits.bytes().all(|b| b.is_ascii_digit())
}

/// The unit of a suffix as `(base, exponent)`, and the style it belongs to.
fn suffix(text: &str) -> Option<(i128, i32, Style)> {
    let decimal = |exponent| Some((10, exponent, Style::DecimalSi));
    let binary = |exponent| Some((2, exponent, Style::BinarySi));
    match text {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent = text.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            Some((10, exponent.parse().ok()?, Style::DecimalExponent))
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let negative = text.starts_with('-');
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, unit) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if text.is_empty() || fraction.contains('.') || !looks_like_suffix(unit) {
            return Err(ParseQuantityError::Format);
        }
        let (base, exponent, style) = suffix(unit).ok_or(ParseQuantityError::Suffix)?;
        // No digits at all are zero, as upstream has it.
        let digits: String = [whole, fraction].concat();
        let digits = digits.trim_start_matches('0');
        let scale = i32::try_from(fraction.len()).map_err(|_| ParseQuantityError::Range)?;
        if digits.len() > 30 || scale > 60 {
            return Err(ParseQuantityError::Range);
        }
        let mantissa: i128 =
            if digits.is_empty() { 0 } else { digits.parse().map_err(|_| ParseQuantityError::Format)? };
        let magnitude = scaled(mantissa, base, exponent, scale)?;
        Ok(Self { nano: if negative { -magnitude } else { magnitude }, style })
    }
}

/// `mantissa · 10^-scale · base^exponent` in billionths, rounded up.
fn scaled(mantissa: i128, base: i128, exponent: i32, scale: i32) -> Result<i128, ParseQuantityError> {
    let range = ParseQuantityError::Range;
    let (mut n, mut decimal) = (mantissa, 9 - scale);
    if n == 0 {
        return Ok(0);
    }
    if base == 2 {
        n = n.checked_mul(1 << exponent).ok_or(range.clone())?;
    } else {
        decimal += exponent;
    }
    if decimal >= 0 {
        let power = u32::try_from(decimal).ok().and_then(|d| 10i128.checked_pow(d)).ok_or(range.clone())?;
        n.checked_mul(power).ok_or(range)
    } else {
        // Anything finer than a billionth counts as a billionth.
        let power = u32::try_from(-decimal).ok().and_then(|d| 10i128.checked_pow(d));
        Ok(power.map_or(1, |power| div_up(n, power)))
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: the largest unit that leaves no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        // Below 1024 a binary quantity prints as a decimal one, and so does one with a fraction.
        if self.style == Style::BinarySi && self.nano.abs() >= 1024 * NANO && self.nano % NANO == 0 {
            let (mut n, mut unit) = (self.nano / NANO, 0);
            while n % 1024 == 0 && unit < 6 {
                n /= 1024;
                unit += 1;
            }
            return write!(
                f,
                "{n}{}",
                ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(unit).copied().unwrap_or_default()
            );
        }
        let (mut n, mut exponent) = (self.nano, -9);
        while n % 1000 == 0 && exponent < 18 {
            n /= 1000;
            exponent += 3;
        }
        match (self.style, exponent) {
            (_, 0) => write!(f, "{n}"),
            (Style::DecimalExponent, e) => write!(f, "{n}e{e}"),
            (_, e) => {
                let units = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
                let at = usize::try_from((e + 9) / 3).unwrap_or_default();
                write!(f, "{n}{}", units.get(at).copied().unwrap_or_default())
            }
        }
    }
}
