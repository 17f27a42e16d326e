//! Kubernetes quantities. What functions say depends on how upstream holds them: short ones as a number and a power of ten,
//! all others as a decimal. Source: `k8s.io/apiserver/pkg/cel/library/quantity.go`; apimachinery `pkg/api/resource`
//! (`ParseQuantity`, `int64Amount`, `infDecAmount`).

use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

use pilothouse_value::ParseQuantityError;

use super::{Outcome, hosts, no_such_overload};
use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{Opaque, Val};

/// Most digits that upstream counts in a number (`maxInt64Factors`).
const SHORT: usize = 18;
/// Digits of a decimal that are kept, where upstream keeps all.
const MOST: usize = 38;
/// The smallest part of a quantity, as a power of ten: what is smaller is rounded up to it.
const NANO: i32 = -9;
/// Greatest quantity with a binary suffix: what is larger counts as this.
const MAX_BINARY: i128 = i64::MAX as i128;

/// `value * 10^exponent`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    value: i128,
    exponent: i32,
    /// Whether upstream holds it as a number rather than as a decimal.
    is_short: bool,
}

impl Quantity {
    const fn short(value: i64, exponent: i32) -> Self {
        Self { value: value as i128, exponent, is_short: true }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        let by_sign = self.value.signum().cmp(&other.value.signum());
        if by_sign != Ordering::Equal || self.value == 0 {
            return by_sign;
        }
        let digits = |quantity: Self| {
            let digits = quantity.value.unsigned_abs().to_string();
            let length = i64::try_from(digits.len()).unwrap_or(i64::MAX);
            (length.saturating_add(i64::from(quantity.exponent)), digits)
        };
        let ((a_length, a), (b_length, b)) = (digits(self), digits(other));
        let by_size = a_length.cmp(&b_length);
        let by_size = by_size.then_with(|| a.trim_end_matches('0').cmp(b.trim_end_matches('0')));
        if self.value < 0 { by_size.reverse() } else { by_size }
    }

    /// The whole number that it is. What is held in parts, or as a decimal, is none, whatever its value.
    fn whole(self) -> Option<i64> {
        let power = u32::try_from(self.exponent).ok().filter(|_| self.is_short)?;
        let value = i64::try_from(self.value).ok()?;
        if value == 0 { Some(0) } else { value.checked_mul(10_i64.checked_pow(power)?) }
    }

    /// In tens to this lower power, or as near to it as there is room for.
    fn lowered(mut self, exponent: i32) -> Self {
        while self.exponent > exponent && self.value != 0 {
            let Some(value) = self.value.checked_mul(10) else { return self };
            (self.value, self.exponent) = (value, self.exponent - 1);
        }
        if self.value == 0 { Self { exponent: self.exponent.min(exponent), ..self } } else { self }
    }

    /// In tens to this higher power, without the digits that are lost by it.
    fn raised(self, exponent: i32) -> Self {
        let power = u32::try_from(exponent.saturating_sub(self.exponent)).unwrap_or_default();
        let value = 10_i128.checked_pow(power).map_or(0, |factor| self.value / factor);
        Self { value, exponent: self.exponent.max(exponent), ..self }
    }

    fn plus(self, other: Self) -> Self {
        let is_short = self.is_short && other.is_short;
        if is_short && other.value == 0 {
            return self;
        }
        if is_short && self.value == 0 {
            return other;
        }
        let (a, b) = (self.lowered(other.exponent), other.lowered(self.exponent));
        let (a, b) = (a.raised(b.exponent), b.raised(a.exponent));
        let value = a.value.saturating_add(b.value);
        let fits = [a.value, b.value, value].into_iter().all(|number| i64::try_from(number).is_ok());
        Self { value, exponent: a.exponent, is_short: is_short && fits }
    }

    const fn negated(self) -> Self {
        Self { value: self.value.saturating_neg(), ..self }
    }
}

impl Opaque for Quantity {
    fn host_type(&self) -> HostType {
        hosts::QUANTITY
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| self.compare(*other).is_eq())
    }
}

fn made<'a>(quantity: Quantity) -> Val<'a> {
    Val::Opaque(Arc::new(quantity))
}

fn parse(text: &str) -> Result<Quantity, EvalError> {
    match text.parse::<pilothouse_value::Quantity>() {
        // To this function none is too large.
        Ok(_) | Err(ParseQuantityError::Range) => Ok(read(text)),
        Err(why) => Err(EvalError::new(why.to_string())),
    }
}

/// Reads what is a quantity.
fn read(text: &str) -> Quantity {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_negative = text.starts_with('-');
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at_checked(end).unwrap_or((unsigned, ""));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let digits = format!("{whole}{fraction}");
    let fraction = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let sign = |value: i128| if is_negative { -value } else { value };
    let (binary, exponent) = suffix_of(suffix);
    let exponent = exponent.saturating_sub(fraction);
    let is_short = match binary {
        None => digits.len() <= SHORT && exponent >= NANO,
        // As upstream reckons the digits of the factor.
        Some(power) => {
            let of_factor = usize::try_from(power * 3 / 10).unwrap_or_default();
            fraction == 0 && whole.len() + of_factor < 15
        }
    };
    let factor = 1_i128 << binary.unwrap_or_default();
    if is_short
        && let Ok(value) = digits.parse::<i64>()
        && let Ok(value) = i64::try_from(sign(i128::from(value)).saturating_mul(factor))
    {
        return Quantity::short(value, exponent);
    }
    // Of very many digits the first ones count.
    let digits = digits.trim_start_matches('0');
    let kept = digits.get(..digits.len().min(MOST)).unwrap_or_default();
    let cut = i32::try_from(digits.len() - kept.len()).unwrap_or(i32::MAX);
    let value = kept.parse::<i128>().unwrap_or_default().saturating_mul(factor);
    let mut decimal = Quantity { value, exponent: exponent.saturating_add(cut), is_short: false };
    if decimal.exponent >= NANO {
        decimal = decimal.lowered(NANO);
    } else if value != 0 {
        decimal.value = rounded_up(value, NANO.saturating_sub(decimal.exponent));
        decimal.exponent = NANO;
    }
    let most = Quantity { value: MAX_BINARY, exponent: 0, is_short: false };
    if binary.is_some() && decimal.compare(most).is_gt() {
        decimal = most;
    }
    Quantity { value: sign(decimal.value), ..decimal }
}

/// Without this many digits, and one more in the last place if any of them is not zero.
fn rounded_up(value: i128, digits: i32) -> i128 {
    let factor = u32::try_from(digits).ok().and_then(|digits| 10_i128.checked_pow(digits));
    factor.map_or(1, |factor| value / factor + i128::from(value % factor != 0))
}

/// The power of two, or else that of ten.
fn suffix_of(suffix: &str) -> (Option<u32>, i32) {
    let power = match suffix {
        "Ki" => return (Some(10), 0),
        "Mi" => return (Some(20), 0),
        "Gi" => return (Some(30), 0),
        "Ti" => return (Some(40), 0),
        "Pi" => return (Some(50), 0),
        "Ei" => return (Some(60), 0),
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        other => other.strip_prefix(['e', 'E']).and_then(|power| power.parse().ok()).unwrap_or(0),
    };
    (None, power)
}

pub(super) fn quantity<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    parse(text).map(made)
}

pub(super) fn is_quantity<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    Ok(Val::Bool(parse(text).is_ok()))
}

fn one(args: &[Val<'_>]) -> Result<Quantity, EvalError> {
    match args {
        [value] => value.downcast::<Quantity>().copied().ok_or_else(EvalError::no_such_overload),
        _ => no_such_overload(),
    }
}

pub(super) fn sign<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|quantity| Val::Int(i64::try_from(quantity.value.signum()).unwrap_or_default()))
}

pub(super) fn as_float<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    // As upstream: the number times the power, both rounded, so that 1.2 is a little more.
    one(args).map(|Quantity { value, exponent, .. }| match exponent {
        0 => Val::Double(value as f64),
        exponent => Val::Double(value as f64 * power_of_ten(exponent)),
    })
}

/// `math.Pow10` of Go, which makes large powers of two that it has in tables.
fn power_of_ten(exponent: i32) -> f64 {
    let exact = |power: i32| format!("1e{power}").parse::<f64>().unwrap_or_default();
    match exponent {
        ..-323 => 0.0,
        309.. => f64::INFINITY,
        0.. => exact(exponent / 32 * 32) * exact(exponent % 32),
        _ => exact(exponent / 32 * 32) / exact(-(exponent % 32)),
    }
}

pub(super) fn as_integer<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args)?.whole().map(Val::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
}

pub(super) fn is_integer<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|quantity| Val::Bool(quantity.whole().is_some()))
}

/// Two quantities, the second perhaps a whole number.
fn two(args: &[Val<'_>]) -> Result<(Quantity, Quantity), EvalError> {
    let [a, b] = args else { return no_such_overload() };
    let a = a.downcast::<Quantity>().copied().ok_or_else(EvalError::no_such_overload)?;
    match b {
        Val::Int(number) => Ok((a, Quantity::short(*number, 0))),
        b => b.downcast::<Quantity>().map(|b| (a, *b)).ok_or_else(EvalError::no_such_overload),
    }
}

pub(super) fn add<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = two(args)?;
    Ok(made(a.plus(b)))
}

pub(super) fn sub<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = two(args)?;
    Ok(made(a.plus(b.negated())))
}
