//! Kubernetes quantities. Source: `k8s.io/apiserver/pkg/cel/library/quantity.go`.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

use pilothouse_value::ParseQuantityError;

use super::{Outcome, hosts, no_such_overload};
use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{Opaque, Val};

const NANO: i128 = 1_000_000_000;
/// Greatest quantity: what is larger counts as this.
const MAX: i128 = (i64::MAX as i128) * NANO;

/// A quantity in billionths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    nano: i128,
    /// The power of ten that upstream counts in: what it counts in parts is not whole to it, whatever its value.
    scale: i32,
}

impl Quantity {
    pub(super) fn compare(self, other: Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }

    fn whole(self) -> Option<i64> {
        // The greatest quantity stands for all that are too large.
        if self.scale < 0 || self.nano.abs() >= MAX { None } else { i64::try_from(self.nano / NANO).ok() }
    }

    /// What comes of two quantities that are counted together.
    fn with(self, other: Self, nano: Option<i128>) -> Result<Self, EvalError> {
        let nano = nano.ok_or_else(|| EvalError::new("quantity is out of range"))?;
        let scale = match (self.nano, other.nano) {
            (_, 0) => self.scale,
            (0, _) => other.scale,
            _ => self.scale.min(other.scale),
        };
        Ok(Self { nano, scale })
    }
}

impl Opaque for Quantity {
    fn host_type(&self) -> HostType {
        hosts::QUANTITY
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| other.nano == self.nano)
    }
}

fn made<'a>(quantity: Quantity) -> Val<'a> {
    Val::Opaque(Arc::new(quantity))
}

fn parse(text: &str) -> Result<Quantity, EvalError> {
    let nano = match text.parse::<pilothouse_value::Quantity>() {
        Ok(quantity) => quantity.nano().clamp(-MAX, MAX),
        Err(ParseQuantityError::Range) if text.starts_with('-') => -MAX,
        Err(ParseQuantityError::Range) => MAX,
        Err(why) => return Err(EvalError::new(why.to_string())),
    };
    Ok(Quantity { nano, scale: scale(text) })
}

fn scale(text: &str) -> i32 {
    let digits = text.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    let (number, suffix) = digits.split_at_checked(end).unwrap_or((digits, ""));
    let fraction = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let exponent = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        other => other.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse().ok()).unwrap_or(0),
    };
    exponent - i32::try_from(fraction).unwrap_or(i32::MAX)
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
    one(args).map(|quantity| Val::Int(i64::try_from(quantity.nano.signum()).unwrap_or_default()))
}

pub(super) fn as_float<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|Quantity { nano, .. }| {
        // Whole numbers are exact as far as a double can be.
        Val::Double(if nano % NANO == 0 { (nano / NANO) as f64 } else { nano as f64 / NANO as f64 })
    })
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
        Val::Int(number) => Ok((a, Quantity { nano: i128::from(*number) * NANO, scale: 0 })),
        b => b.downcast::<Quantity>().map(|b| (a, *b)).ok_or_else(EvalError::no_such_overload),
    }
}

pub(super) fn add<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = two(args)?;
    a.with(b, a.nano.checked_add(b.nano)).map(made)
}

pub(super) fn sub<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = two(args)?;
    a.with(b, a.nano.checked_sub(b.nano)).map(made)
}
