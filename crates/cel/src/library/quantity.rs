//! Kubernetes quantities. Source: `k8s.io/apiserver/pkg/cel/library/quantity.go`.

use std::any::Any;
use std::sync::Arc;

use super::{Outcome, hosts, no_such_overload};
use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{Opaque, Val};

const NANO: i128 = 1_000_000_000;

/// A quantity in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(i128);

impl Opaque for Quantity {
    fn host_type(&self) -> HostType {
        hosts::QUANTITY
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

fn made<'a>(nano: Option<i128>) -> Outcome<'a> {
    let nano = nano.ok_or_else(|| EvalError::new("quantity is out of range"))?;
    Ok(Val::Opaque(Arc::new(Quantity(nano))))
}

fn parse(text: &str) -> Result<i128, EvalError> {
    let quantity: pilothouse_value::Quantity =
        text.parse().map_err(|why: pilothouse_value::ParseQuantityError| EvalError::new(why.to_string()))?;
    Ok(quantity.nano())
}

pub(super) fn quantity<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    made(Some(parse(text)?))
}

pub(super) fn is_quantity<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text)] = args else { return no_such_overload() };
    Ok(Val::Bool(parse(text).is_ok()))
}

fn one(args: &[Val<'_>]) -> Result<i128, EvalError> {
    match args {
        [value] => {
            value.downcast::<Quantity>().map(|quantity| quantity.0).ok_or_else(EvalError::no_such_overload)
        }
        _ => no_such_overload(),
    }
}

pub(super) fn sign<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|nano| Val::Int(i64::try_from(nano.signum()).unwrap_or_default()))
}

pub(super) fn as_float<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|nano| {
        // Whole numbers are exact as far as a double can be.
        Val::Double(if nano % NANO == 0 { (nano / NANO) as f64 } else { nano as f64 / NANO as f64 })
    })
}

fn whole(nano: i128) -> Option<i64> {
    if nano % NANO == 0 { i64::try_from(nano / NANO).ok() } else { None }
}

pub(super) fn as_integer<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    whole(one(args)?).map(Val::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
}

pub(super) fn is_integer<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    one(args).map(|nano| Val::Bool(whole(nano).is_some()))
}

/// Two quantities, the second perhaps a whole number.
fn two(args: &[Val<'_>]) -> Result<(i128, i128), EvalError> {
    let [a, b] = args else { return no_such_overload() };
    let a = a.downcast::<Quantity>().ok_or_else(EvalError::no_such_overload)?.0;
    match b {
        Val::Int(number) => Ok((a, i128::from(*number) * NANO)),
        b => b.downcast::<Quantity>().map(|b| (a, b.0)).ok_or_else(EvalError::no_such_overload),
    }
}

pub(super) fn add<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = two(args)?;
    made(a.checked_add(b))
}

pub(super) fn sub<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = two(args)?;
    made(a.checked_sub(b))
}
