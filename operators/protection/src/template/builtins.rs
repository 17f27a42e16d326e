//! The functions that are part of Go's `text/template` itself (`and` and `or` stand in `exec.rs`: they stop early).

use std::cmp::Ordering;

use super::calls::{ANY, Function, arg};
use super::{Value, Zero, printf};

pub(super) const TABLE: &[Function] = &[
    Function { name: "not", min: 1, max: 1, run: |a| Ok((!arg(a, 0).is_true()).into()) },
    Function { name: "len", min: 1, max: 1, run: len },
    Function { name: "index", min: 1, max: ANY, run: index },
    Function { name: "slice", min: 1, max: 4, run: slice },
    Function { name: "print", min: 0, max: ANY, run: |a| Ok(printf::print(a).into()) },
    Function { name: "println", min: 0, max: ANY, run: |a| Ok(printf::println(a).into()) },
    Function { name: "printf", min: 1, max: ANY, run: |a| printf::printf(a).map(Value::from) },
    Function { name: "html", min: 1, max: ANY, run: |a| Ok(html(&printf::print(a)).into()) },
    Function { name: "js", min: 1, max: ANY, run: |a| Ok(js(&printf::print(a)).into()) },
    Function { name: "urlquery", min: 1, max: ANY, run: |a| Ok(url_query(&printf::print(a)).into()) },
    Function { name: "eq", min: 2, max: ANY, run: equal_to_any },
    Function { name: "ne", min: 2, max: 2, run: |a| Ok((!equal(arg(a, 0), arg(a, 1))?).into()) },
    Function { name: "lt", min: 2, max: 2, run: |a| Ok((order(a)? == Ordering::Less).into()) },
    Function { name: "le", min: 2, max: 2, run: |a| Ok((order(a)? != Ordering::Greater).into()) },
    Function { name: "gt", min: 2, max: 2, run: |a| Ok((order(a)? == Ordering::Greater).into()) },
    Function { name: "ge", min: 2, max: 2, run: |a| Ok((order(a)? != Ordering::Less).into()) },
];

fn len(a: &[Value]) -> Result<Value, String> {
    let n = match arg(a, 0) {
        Value::String(s) => s.len(),
        Value::Bytes(b) => b.len(),
        Value::List(l) => l.len(),
        Value::Map(m) => m.entries.len(),
        Value::Nil => return Err("len of nil pointer".to_owned()),
        other => return Err(format!("len of type {}", other.type_name())),
    };
    Ok(Value::Int(i64::try_from(n).unwrap_or(i64::MAX)))
}

/// An index into something of the given length.
fn at(value: &Value, length: usize, inclusive: bool) -> Result<usize, String> {
    let Value::Int(n) = value else {
        return Err(format!("cannot index slice/array with type {}", value.type_name()));
    };
    usize::try_from(*n)
        .ok()
        .filter(|n| *n < length || (inclusive && *n == length))
        .ok_or_else(|| format!("index out of range: {n}"))
}

fn index(a: &[Value]) -> Result<Value, String> {
    let mut value = arg(a, 0).clone();
    for key in a.iter().skip(1) {
        value = match &value {
            Value::Nil | Value::NilPointer(_) => return Err("index of untyped nil".to_owned()),
            Value::List(list) => {
                let i = at(key, list.len(), false)?;
                list.get(i).cloned().unwrap_or(Value::Nil)
            }
            Value::String(text) => {
                let i = at(key, text.len(), false)?;
                text.as_bytes().get(i).map_or(Value::Nil, |b| Value::Int(i64::from(*b)))
            }
            Value::Bytes(bytes) => {
                let i = at(key, bytes.len(), false)?;
                bytes.get(i).map_or(Value::Nil, |b| Value::Int(i64::from(*b)))
            }
            Value::Map(map) => {
                let Value::String(key) = key else {
                    return Err(format!("value has type {}; should be string", key.type_name()));
                };
                match (map.entries.get(&**key), map.zero) {
                    (Some(value), _) => value.clone(),
                    (None, Zero::String) => "".into(),
                    (None, Zero::Bytes) => Value::Bytes([].into()),
                    (None, Zero::Unknown) => Value::Unknown(format!("<{key}>").into()),
                    (None, Zero::Nil) => Value::Nil,
                }
            }
            other => return Err(format!("can't index item of type {}", other.type_name())),
        };
    }
    Ok(value)
}

fn slice(a: &[Value]) -> Result<Value, String> {
    let bounds = |length: usize| -> Result<(usize, usize), String> {
        let from = a.get(1).map_or(Ok(0), |v| at(v, length, true))?;
        let to = a.get(2).map_or(Ok(length), |v| at(v, length, true))?;
        if from > to { Err(format!("invalid slice index: {from} > {to}")) } else { Ok((from, to)) }
    };
    match arg(a, 0) {
        Value::String(text) => {
            let (from, to) = bounds(text.len())?;
            Ok(text.get(from..to).ok_or("slice cuts a character")?.into())
        }
        Value::List(list) => {
            let (from, to) = bounds(list.len())?;
            Ok(Value::list(list.get(from..to).unwrap_or_default().iter().cloned()))
        }
        Value::Bytes(bytes) => {
            let (from, to) = bounds(bytes.len())?;
            Ok(Value::Bytes(bytes.get(from..to).unwrap_or_default().into()))
        }
        other => Err(format!("can't slice item of type {}", other.type_name())),
    }
}

fn equal_to_any(a: &[Value]) -> Result<Value, String> {
    for other in a.iter().skip(1) {
        if equal(arg(a, 0), other)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

/// Go's `eq`: of values of one basic kind; everything may be compared with nil.
pub(super) fn equal(a: &Value, b: &Value) -> Result<bool, String> {
    match (a, b) {
        (Value::Nil | Value::NilPointer(_), other) | (other, Value::Nil | Value::NilPointer(_)) => {
            Ok(matches!(other, Value::Nil | Value::NilPointer(_)))
        }
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Int(a), Value::Int(b)) => Ok(a == b),
        (Value::Float(a), Value::Float(b)) => Ok(a == b),
        (Value::String(a), Value::String(b)) => Ok(a == b),
        (Value::Time(a), Value::Time(b)) => Ok(a == b),
        (Value::List(_) | Value::Map(_) | Value::Bytes(_), _)
        | (_, Value::List(_) | Value::Map(_) | Value::Bytes(_)) => {
            Err(format!("non-comparable type {} or {}", a.type_name(), b.type_name()))
        }
        _ => Err("incompatible types for comparison".to_owned()),
    }
}

fn order(a: &[Value]) -> Result<Ordering, String> {
    match (arg(a, 0), arg(a, 1)) {
        (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).ok_or_else(|| "NaN has no order".to_owned()),
        (a, b) if std::mem::discriminant(a) == std::mem::discriminant(b) => {
            Err("invalid type for comparison".to_owned())
        }
        _ => Err("incompatible types for comparison".to_owned()),
    }
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0' => out.push('\u{FFFD}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            c => out.push(c),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            '"' => out.push_str("\\\""),
            '<' | '>' | '&' | '=' => out.push_str(&format!("\\u{:04X}", c as u32)),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// The text as a component of a URL's query, with `+` for a space.
pub(super) fn url_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) => out.push(char::from(b)),
            b => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}
