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
    /// An exponent of more than a million millions. Upstream has no such limit, and takes minutes for smaller ones.
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
/// rounded up, as apimachinery does. Binary quantities end at 2^63-1; decimal ones are compared and added as if they ended at
/// about 4·10^28, and [`Quantity::canonical`] spells larger ones exactly.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nano: i128,
    style: Style,
}

const NANO: i128 = 1_000_000_000;
/// What is larger counts as this, in billionths; two of them can be added.
const LARGEST: i128 = 40_000_000_000_000_000_000_000_000_000 * NANO;
const MOST_EXPONENT: i64 = 1_000_000_000_000;

impl Quantity {
    /// A whole number without a unit.
    pub fn from_i64(value: i64) -> Self {
        Self { nano: i128::from(value) * NANO, style: Style::DecimalSi }
    }

    /// How a server spells a quantity that it reads: the canonical form, or the text itself where that is taken for canonical.
    ///
    /// # Errors
    /// If the text is no quantity.
    pub fn canonical(text: &str) -> Result<String, ParseQuantityError> {
        let parts = Parts::of(text)?;
        if text == "0" || parts.is_kept() {
            return Ok(text.to_owned());
        }
        if parts.base == 2 {
            return text.parse::<Self>().map(|quantity| quantity.to_string());
        }
        let (mut digits, mut shift) = parts.decimal();
        if digits.is_empty() {
            return Ok("0".to_owned());
        }
        if shift < -9 {
            // Rounded up, such a number is small enough to be counted.
            let nano = parts.decimal_nano();
            if nano < LARGEST {
                let rounded = nano.to_string();
                digits = rounded.trim_end_matches('0').to_owned();
                shift = length(&rounded) - length(&digits) - 9;
            }
        }
        // Exponents are multiples of three.
        let exponent = shift - shift.rem_euclid(3);
        digits.extend(std::iter::repeat_n('0', usize::try_from(shift - exponent).unwrap_or_default()));
        let sign = if parts.negative { "-" } else { "" };
        Ok(format!("{sign}{digits}{}", unit(parts.style, exponent)))
    }

    /// Whether a server takes a quantity for whole: it counts thousandths in 64 bits and looks at what is left of them, whether
    /// they fit or not. What is no quantity is not whole.
    pub fn is_whole(text: &str) -> bool {
        Parts::of(text).is_ok_and(|parts| parts.wrapped(3) % 1000 == 0)
    }

    /// The whole number, rounded up, that upstream takes a quantity for where it does not look whether it fits in 64 bits. What is no
    /// quantity is nothing.
    pub fn wrapped_value(text: &str) -> i64 {
        Parts::of(text).map_or(0, |parts| {
            let value = parts.wrapped(0);
            if parts.negative { value.wrapping_neg() } else { value }
        })
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

/// What is left of a number in 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "this is what it is for")]
const fn low_bits(v: i128) -> i64 {
    v as i64
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

/// A text taken apart: what is a number in it, and what should be a unit.
struct Parts<'a> {
    negative: bool,
    /// The digits before the point, without leading zeros.
    whole: &'a str,
    /// The digits behind it.
    fraction: &'a str,
    base: u32,
    exponent: i64,
    style: Style,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, ParseQuantityError> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, unit) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if text.is_empty() || fraction.contains('.') || !looks_like_suffix(unit) {
            return Err(ParseQuantityError::Format);
        }
        let (base, exponent, style) = suffix(unit)?;
        // No digits at all are zero, as upstream has it.
        Ok(Self { negative, whole: whole.trim_start_matches('0'), fraction, base, exponent, style })
    }

    /// The digits without zeros at their ends, and the power of ten that they are to be multiplied with.
    fn decimal(&self) -> (String, i64) {
        let digits = [self.whole, self.fraction].concat();
        let shift = self.exponent - length(self.fraction);
        let significant = digits.trim_end_matches('0');
        let shift = shift + length(&digits) - length(significant);
        (significant.trim_start_matches('0').to_owned(), shift)
    }

    /// The magnitude in billionths.
    fn nano(&self) -> i128 {
        if self.base == 2 { self.binary_nano() } else { self.decimal_nano() }
    }

    fn decimal_nano(&self) -> i128 {
        let (digits, shift) = self.decimal();
        let shift = shift + 9;
        if digits.is_empty() {
            return 0;
        }
        // Anything finer than a billionth counts as a billionth.
        let (kept, more) = match usize::try_from(-shift) {
            Ok(cut) if cut > 0 => (digits.get(..digits.len().saturating_sub(cut)).unwrap_or_default(), 1),
            _ => (digits.as_str(), 0),
        };
        let scale = u32::try_from(shift.max(0)).ok().and_then(|shift| 10i128.checked_pow(shift));
        let kept: Option<i128> = if kept.is_empty() { Some(0) } else { kept.parse().ok() };
        let nano = kept.zip(scale).and_then(|(kept, scale)| kept.checked_mul(scale)?.checked_add(more));
        nano.map_or(LARGEST, |nano| nano.min(LARGEST))
    }

    fn binary_nano(&self) -> i128 {
        const CAP: i128 = i64::MAX as i128;
        let unit = 1i128 << self.exponent;
        let whole: i128 = match self.whole {
            "" => 0,
            digits if digits.len() > 19 => CAP,
            digits => digits.parse().unwrap_or(CAP),
        };
        // Eighteen digits of the fraction are more than a billionth of the largest unit.
        const PLACES: usize = 18;
        let digits: String = self.fraction.chars().chain(std::iter::repeat('0')).take(PLACES).collect();
        let finer = self.fraction.bytes().skip(PLACES).any(|digit| digit != b'0');
        let parts = digits.parse::<i128>().unwrap_or_default() * unit;
        let one = 10i128.pow(18);
        let (more, rest) = (parts / one, parts % one * NANO);
        let rest = rest / one + i128::from(rest % one != 0 || finer);
        let nano = (whole * unit + more).min(CAP) * NANO + rest;
        nano.min(CAP * NANO)
    }

    /// The magnitude in units of that many decimal places (0 or 3), rounded up, as upstream has it: in 64 bits that overflow.
    fn wrapped(&self, finest: i64) -> i64 {
        if self.base == 2 {
            return low_bits(div_up(self.binary_nano(), if finest == 0 { NANO } else { NANO / 1000 }));
        }
        let places = length(self.whole).max(1) + length(self.fraction);
        let scale = self.exponent - length(self.fraction) + finest;
        if places <= 18 && scale > 3 && !matches!(scale, 6 | 9) {
            // A number that is short enough is multiplied step by step, and is nothing once it overflows.
            let value: i64 = [self.whole, self.fraction].concat().parse().unwrap_or_default();
            let power = u32::try_from(scale).ok().and_then(|scale| 10i64.checked_pow(scale));
            return power.and_then(|power| value.checked_mul(power)).unwrap_or_default();
        }
        let (digits, shift) = self.decimal();
        let wrapped = |digits: &str| {
            digits.bytes().fold(0u64, |sum, b| sum.wrapping_mul(10).wrapping_add(u64::from(b - b'0')))
        };
        let value = match usize::try_from(-(shift + finest)) {
            // What is cut off ends with a digit that is not zero.
            Ok(cut) if cut > 0 && !digits.is_empty() => {
                let kept = digits.get(..digits.len().saturating_sub(cut)).unwrap_or_default();
                wrapped(kept).wrapping_add(1)
            }
            // From 64 on, the power has no bits left in 64.
            _ => {
                wrapped(&digits).wrapping_mul(10u64.wrapping_pow(u32::try_from(shift + finest).unwrap_or(64)))
            }
        };
        value.cast_signed()
    }

    /// Whether upstream keeps the text as it is: it takes it for canonical.
    fn is_kept(&self) -> bool {
        let digits = length(self.whole).max(1) + length(self.fraction);
        if self.base == 2 {
            let value: i64 = self.whole.parse().unwrap_or_default();
            let precision = 15 - length(self.whole).max(1) - self.exponent * 3 / 10 - 1;
            let fits = value.checked_mul(1i64 << self.exponent).is_some();
            return self.fraction.is_empty() && precision >= 0 && fits && value & 7 != 0;
        }
        let scale = self.exponent - length(self.fraction);
        let thousands = match self.fraction {
            "" => self.whole.ends_with("000"),
            fraction => [self.whole, fraction].concat().ends_with("000"),
        };
        digits <= 18 && scale >= -9 && scale % 3 == 0 && !thousands && !self.whole.is_empty()
    }
}

fn length(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(i64::MAX)
}

/// Letters of suffixes, then an exponent: what may follow a number, whether it means anything or not.
fn looks_like_suffix(text: &str) -> bool {
    let exponent = text.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    digits.bytes().all(|b| b.is_ascii_digit())
}

/// The unit of a suffix as `(base, exponent)`, and the style it belongs to.
fn suffix(text: &str) -> Result<(u32, i64, Style), ParseQuantityError> {
    let decimal = |exponent| Ok((10, exponent, Style::DecimalSi));
    let binary = |exponent| Ok((2, exponent, Style::BinarySi));
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
            let exponent = text.strip_prefix(['e', 'E']).ok_or(ParseQuantityError::Suffix)?;
            let exponent: i64 = exponent.parse().map_err(|_| ParseQuantityError::Suffix)?;
            if exponent.unsigned_abs() > MOST_EXPONENT.unsigned_abs() {
                return Err(ParseQuantityError::Range);
            }
            Ok((10, exponent, Style::DecimalExponent))
        }
    }
}

impl FromStr for Quantity {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = Parts::of(text)?;
        let nano = parts.nano();
        // A binary quantity below one is no number of bytes.
        let style = if parts.style == Style::BinarySi && nano < NANO && nano > 0 {
            Style::DecimalSi
        } else {
            parts.style
        };
        Ok(Self { nano: if parts.negative { -nano } else { nano }, style })
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
        while n % 1000 == 0 {
            n /= 1000;
            exponent += 3;
        }
        write!(f, "{n}{}", unit(self.style, exponent))
    }
}

/// The unit for a power of ten. Those of the decimal style end at a quintillion, and upstream writes none for what is beyond.
fn unit(style: Style, exponent: i64) -> String {
    match (style, exponent) {
        (_, 0) => String::new(),
        (Style::DecimalExponent, exponent) => format!("e{exponent}"),
        _ => {
            let units = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
            let at = usize::try_from((exponent + 9) / 3).unwrap_or_default();
            units.get(at).copied().unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_is_what_is_whole_in_thousandths_of_64_bits() {
        for text in ["0", "1", "5k", "5Ki", "1M", "8Pi", "9e3", "1E", "7Pi", "0.9999", "9007199254740992"] {
            assert!(Quantity::is_whole(text), "{text}");
        }
        for text in [
            "1.5",
            "1500m",
            "0.5Ki1",
            "1n",
            "1Ei",
            "7Ei",
            "123456789012345678",
            "12345678901234567890",
            "123456789012345678901234567890",
            "9223372036854775807E",
            "",
        ] {
            assert!(!Quantity::is_whole(text), "{text}");
        }
    }
}
