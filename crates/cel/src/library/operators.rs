//! Arithmetic, comparisons and membership.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Outcome, no_such_overload};
use crate::error::EvalError;
use crate::val::{MapBuilder, Text, Val, add_lists};

fn int_overflow() -> EvalError {
    EvalError::new("integer overflow")
}

fn uint_overflow() -> EvalError {
    EvalError::new("unsigned integer overflow")
}

fn timestamp_overflow() -> EvalError {
    EvalError::new("timestamp overflow")
}

pub(super) fn not<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Bool(value)] = args else { return no_such_overload() };
    Ok(Val::Bool(!value))
}

pub(super) fn not_strictly_false<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    Ok(Val::Bool(!matches!(args, [Val::Bool(false)])))
}

pub(super) fn negate<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(value)] => value.checked_neg().map(Val::Int).ok_or_else(int_overflow),
        [Val::Double(value)] => Ok(Val::Double(-value)),
        [Val::Duration(value)] => value.checked_neg().map(Val::Duration).ok_or_else(int_overflow),
        _ => no_such_overload(),
    }
}

pub(super) fn add<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [a, b] = args else { return no_such_overload() };
    plus(a, b)
}

/// The sum of two values.
pub(super) fn plus<'a>(a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => a.checked_add(*b).map(Val::Int).ok_or_else(int_overflow),
        (Val::Uint(a), Val::Uint(b)) => a.checked_add(*b).map(Val::Uint).ok_or_else(uint_overflow),
        (Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Val::String(a), Val::String(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(Val::String(Text::Shared(text.into())))
        }
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([&**a, &**b].concat().into())),
        (Val::List(a), Val::List(b)) => add_lists(a.clone(), b).map(Val::List),
        (Val::Duration(a), Val::Duration(b)) => a.checked_add(*b).map(Val::Duration).ok_or_else(int_overflow),
        (Val::Timestamp(at), Val::Duration(span)) | (Val::Duration(span), Val::Timestamp(at)) => {
            at.plus(*span).map(Val::Timestamp).ok_or_else(timestamp_overflow)
        }
        _ => no_such_overload(),
    }
}

pub(super) fn subtract<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(a), Val::Int(b)] => a.checked_sub(*b).map(Val::Int).ok_or_else(int_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_sub(*b).map(Val::Uint).ok_or_else(uint_overflow),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a - b)),
        [Val::Duration(a), Val::Duration(b)] => a.checked_sub(*b).map(Val::Duration).ok_or_else(int_overflow),
        [Val::Timestamp(a), Val::Timestamp(b)] => a.since(*b).map(Val::Duration).ok_or_else(int_overflow),
        [Val::Timestamp(at), Val::Duration(span)] => {
            let moved = span.checked_neg().and_then(|span| at.plus(span));
            moved.map(Val::Timestamp).ok_or_else(timestamp_overflow)
        }
        _ => no_such_overload(),
    }
}

pub(super) fn multiply<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(a), Val::Int(b)] => a.checked_mul(*b).map(Val::Int).ok_or_else(int_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_mul(*b).map(Val::Uint).ok_or_else(uint_overflow),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a * b)),
        _ => no_such_overload(),
    }
}

pub(super) fn divide<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => Err(EvalError::new("division by zero")),
        [Val::Int(a), Val::Int(b)] => a.checked_div(*b).map(Val::Int).ok_or_else(int_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_div(*b).map(Val::Uint).ok_or_else(uint_overflow),
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(a / b)),
        _ => no_such_overload(),
    }
}

pub(super) fn modulo<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Int(_), Val::Int(0)] | [Val::Uint(_), Val::Uint(0)] => Err(EvalError::new("modulus by zero")),
        [Val::Int(a), Val::Int(b)] => a.checked_rem(*b).map(Val::Int).ok_or_else(int_overflow),
        [Val::Uint(a), Val::Uint(b)] => a.checked_rem(*b).map(Val::Uint).ok_or_else(uint_overflow),
        _ => no_such_overload(),
    }
}

fn order(args: &[Val<'_>]) -> Result<Ordering, EvalError> {
    let [a, b] = args else { return no_such_overload() };
    a.compare(b)
}

pub(super) fn less<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    order(args).map(|order| Val::Bool(order.is_lt()))
}

pub(super) fn less_or_equal<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    order(args).map(|order| Val::Bool(order.is_le()))
}

pub(super) fn greater<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    order(args).map(|order| Val::Bool(order.is_gt()))
}

pub(super) fn greater_or_equal<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    order(args).map(|order| Val::Bool(order.is_ge()))
}

pub(super) fn is_in<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [value, Val::List(list)] => list.contains(value).map(Val::Bool),
        [key, Val::Map(map)] => match map.find(key) {
            Some(Err(why)) => Err(why),
            found => Ok(Val::Bool(found.is_some())),
        },
        _ => no_such_overload(),
    }
}

pub(super) fn size<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let size = match args {
        [Val::String(text)] => text.chars().count(),
        [Val::Bytes(bytes)] => bytes.len(),
        [Val::List(list)] => list.len(),
        [Val::Map(map)] => map.len(),
        _ => return no_such_overload(),
    };
    Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

/// Adds an entry, or all entries of a map, to a map; a key that is there already is an error.
pub(super) fn map_insert<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (map, added) = match args {
        [Val::Map(map), Val::Map(added)] => {
            let value = |key: Val<'a>| {
                let value = added.find(&key).unwrap_or(Ok(Val::Null))?;
                Ok((key, value))
            };
            (map, added.keys().into_iter().map(value).collect::<Result<Vec<_>, EvalError>>()?)
        }
        [Val::Map(map), key, value] => (map, vec![(key.clone(), value.clone())]),
        _ => return no_such_overload(),
    };
    let mut builder = MapBuilder::from_map(map.clone())?;
    for (key, value) in added {
        // Go prints the number of its null.
        let shown = if let Val::Null = key { Val::Int(0) } else { key.clone() };
        if !builder.insert(key, value)? {
            return Err(EvalError::new(format!("insert failed: key {shown} already exists")));
        }
    }
    Ok(Val::Map(builder.build()))
}

/// Items of a list, shared.
pub(super) fn strings<'a>(items: impl IntoIterator<Item = String>) -> Val<'a> {
    Val::list(items.into_iter().map(|item| Val::text(Arc::<str>::from(item))).collect())
}
