//! Functions of strings. Places are counted in code points. Source: cel-go `ext/strings.go`, version 2.

use super::operators::strings;
use super::{Outcome, lists, no_such_overload};
use crate::error::EvalError;
use crate::val::{Text, Val};

pub(super) fn contains<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text), Val::String(part)] = args else { return no_such_overload() };
    Ok(Val::Bool(text.contains(&**part)))
}

pub(super) fn starts_with<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text), Val::String(part)] = args else { return no_such_overload() };
    Ok(Val::Bool(text.starts_with(&**part)))
}

pub(super) fn ends_with<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(text), Val::String(part)] = args else { return no_such_overload() };
    Ok(Val::Bool(text.ends_with(&**part)))
}

fn out_of_range(at: i64) -> EvalError {
    EvalError::new(format!("index out of range: {at}"))
}

fn int<'a>(value: usize) -> Val<'a> {
    Val::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn text<'a>(text: String) -> Val<'a> {
    Val::String(Text::Shared(text.into()))
}

pub(super) fn char_at<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(string), Val::Int(at)] = args else { return no_such_overload() };
    let index = usize::try_from(*at).map_err(|_| out_of_range(*at))?;
    match string.chars().nth(index) {
        Some(c) => Ok(text(c.to_string())),
        None if index == string.chars().count() => Ok(text(String::new())),
        None => Err(out_of_range(*at)),
    }
}

/// The byte at which a code point starts; the length for the one after the last.
fn byte_of(string: &str, at: usize) -> Option<usize> {
    string.char_indices().map(|(byte, _)| byte).chain([string.len()]).nth(at)
}

fn code_points(string: &str, byte: usize) -> usize {
    string.get(..byte).unwrap_or(string).chars().count()
}

pub(super) fn index_of<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (string, part, offset) = match args {
        [Val::List(list), item] => return lists::index_of(list, item),
        [Val::String(string), Val::String(part)] => (string, part, 0),
        [Val::String(string), Val::String(part), Val::Int(offset)] => (string, part, *offset),
        _ => return no_such_overload(),
    };
    let offset = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if part.is_empty() {
        return Ok(int(offset.min(string.chars().count())));
    }
    let found = byte_of(string, offset)
        .and_then(|start| string.get(start..)?.find(&**part).map(|byte| code_points(string, start + byte)));
    Ok(found.map_or(Val::Int(-1), int))
}

pub(super) fn last_index_of<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (string, part, offset) = match args {
        [Val::List(list), item] => return lists::last_index_of(list, item),
        [Val::String(string), Val::String(part)] => (string, part, None),
        [Val::String(string), Val::String(part), Val::Int(offset)] => (string, part, Some(*offset)),
        _ => return no_such_overload(),
    };
    let length = string.chars().count();
    let Some(offset) = offset else {
        if part.is_empty() {
            return Ok(int(length));
        }
        if string.len() < part.len() {
            return Ok(Val::Int(-1));
        }
        return Ok(string.rfind(&**part).map_or(Val::Int(-1), |byte| int(code_points(string, byte))));
    };
    let offset = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if part.is_empty() {
        return Ok(int(offset.min(length)));
    }
    if offset >= length {
        return Ok(Val::Int(-1));
    }
    // The part may start at the offset and go on from there.
    let end = byte_of(string, offset).unwrap_or(string.len()).saturating_add(part.len()).min(string.len());
    let end = (end..=string.len()).find(|end| string.is_char_boundary(*end)).unwrap_or(string.len());
    let limit = byte_of(string, offset).unwrap_or(string.len());
    let within = string.get(..end).unwrap_or(string);
    let found = within.rfind(&**part).filter(|byte| *byte <= limit);
    Ok(found.map_or(Val::Int(-1), |byte| int(code_points(string, byte))))
}

pub(super) fn lower_ascii<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(string)] = args else { return no_such_overload() };
    Ok(text(string.to_ascii_lowercase()))
}

pub(super) fn upper_ascii<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(string)] = args else { return no_such_overload() };
    Ok(text(string.to_ascii_uppercase()))
}

pub(super) fn replace<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (string, old, new, count) = match args {
        [Val::String(string), Val::String(old), Val::String(new)] => (string, old, new, -1),
        [Val::String(string), Val::String(old), Val::String(new), Val::Int(count)] => {
            (string, old, new, *count)
        }
        _ => return no_such_overload(),
    };
    // A negative number means all.
    Ok(text(match usize::try_from(count) {
        Ok(count) => string.replacen(&**old, new, count),
        Err(_) => string.replace(&**old, new),
    }))
}

pub(super) fn split<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (string, separator, count) = match args {
        [Val::String(string), Val::String(separator)] => (string, separator, -1),
        [Val::String(string), Val::String(separator), Val::Int(count)] => (string, separator, *count),
        _ => return no_such_overload(),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Val::list(Vec::new()));
    }
    if !separator.is_empty() {
        return Ok(strings(string.splitn(limit, &**separator).map(str::to_owned)));
    }
    // Without a separator every code point is an item.
    let mut items: Vec<String> = string.chars().take(limit - 1).map(String::from).collect();
    let rest: String = string.chars().skip(limit - 1).collect();
    if !rest.is_empty() {
        items.push(rest);
    }
    Ok(strings(items))
}

pub(super) fn substring<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (string, start, end) = match args {
        [Val::String(string), Val::Int(start)] => (string, *start, None),
        [Val::String(string), Val::Int(start), Val::Int(end)] => (string, *start, Some(*end)),
        _ => return no_such_overload(),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let byte =
        |at: i64| usize::try_from(at).ok().and_then(|at| byte_of(string, at)).ok_or_else(|| out_of_range(at));
    let start = byte(start)?;
    let end = end.map_or(Ok(string.len()), byte)?;
    let part = string.get(start..end).unwrap_or_default();
    // Of a document, the part is borrowed too.
    Ok(match string {
        Text::Borrowed(whole) => Val::String(Text::Borrowed(whole.get(start..end).unwrap_or_default())),
        Text::Shared(_) => Val::text(part),
    })
}

pub(super) fn trim<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::String(Text::Borrowed(string))] => Ok(Val::String(Text::Borrowed(string.trim()))),
        [Val::String(string)] => Ok(Val::text(string.trim())),
        _ => no_such_overload(),
    }
}

pub(super) fn join<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (list, separator) = match args {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, &**separator),
        _ => return no_such_overload(),
    };
    let mut joined = String::new();
    for (at, item) in list.iter().enumerate() {
        if at > 0 {
            joined.push_str(separator);
        }
        let other = match item {
            Ok(Val::String(item)) => {
                joined.push_str(&item);
                continue;
            }
            // Go prints null as the number that stands for it.
            Ok(Val::Null) => "0".to_owned(),
            Ok(other) => other.to_string(),
            Err(why) => why.to_string(),
        };
        return Err(EvalError::new(format!("join: invalid input: {other}")));
    }
    Ok(text(joined))
}

/// A key as a part of a path of a JSON patch.
pub(super) fn escape_key<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(key)] = args else { return no_such_overload() };
    Ok(Val::text(key.replace('~', "~0").replace('/', "~1")))
}

pub(super) fn quote<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::String(string)] = args else { return no_such_overload() };
    let mut quoted = String::with_capacity(string.len() + 2);
    quoted.push('"');
    for c in string.chars() {
        match c {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0C' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0B' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Ok(text(quoted))
}
