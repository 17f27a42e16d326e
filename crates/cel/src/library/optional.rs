//! Values that may be missing. Source: cel-go `cel/library.go`.

use super::{Outcome, no_such_overload};
use crate::error::EvalError;
use crate::val::Val;

pub(super) fn of<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [value] = args else { return no_such_overload() };
    Ok(Val::some(value.clone()))
}

pub(super) fn of_non_zero<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [value] = args else { return no_such_overload() };
    let is_zero = match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) | Val::Duration(0) => true,
        Val::Double(value) => *value == 0.0,
        // Go's zero time is the first second of the year 1.
        Val::Timestamp(at) => at.is_zero(),
        Val::String(text) => text.is_empty(),
        Val::Bytes(bytes) => bytes.is_empty(),
        // What comes from a document is never zero to upstream: it does not tell.
        Val::List(list) => list.is_empty() && !list.is_declared(),
        Val::Map(map) => map.is_empty() && !map.is_declared(),
        _ => false,
    };
    Ok(if is_zero { Val::none() } else { Val::some(value.clone()) })
}

pub(super) fn none<'a>(_args: &[Val<'a>]) -> Outcome<'a> {
    Ok(Val::none())
}

/// What an optional value holds, which may be none of its type.
pub(crate) fn held<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Wrong(why) => Err((**why).clone()),
        value => Ok(value.clone()),
    }
}

pub(super) fn value<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Optional(Some(value))] => held(value),
        [Val::Optional(None)] => Err(EvalError::new("optional.none() dereference")),
        _ => no_such_overload(),
    }
}

pub(super) fn has_value<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Optional(value)] = args else { return no_such_overload() };
    Ok(Val::Bool(value.is_some()))
}

pub(super) fn or<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Optional(Some(_)), _] => args.first().cloned().ok_or_else(EvalError::no_such_overload),
        [Val::Optional(None), other] => Ok(other.clone()),
        _ => no_such_overload(),
    }
}

pub(super) fn or_value<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Optional(Some(value)), _] => held(value),
        [Val::Optional(None), other] => Ok(other.clone()),
        _ => no_such_overload(),
    }
}

pub(super) fn unwrap<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        match item? {
            Val::Optional(value) => items.extend(value.map(|value| (*value).clone())),
            other => return Err(EvalError::new(format!("value {other} is not optional"))),
        }
    }
    Ok(Val::list(items))
}
