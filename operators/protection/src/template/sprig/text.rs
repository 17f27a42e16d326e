//! Strings.

use regex::Regex;

use crate::template::calls::{ANY, Function, arg, int, text};
use crate::template::printf::quote;
use crate::template::{Value, Zero};

/// The longest text that a function may make out of a short one.
const MAX_TEXT: usize = 1 << 20;

macro_rules! strings {
    ($($name:literal => |$s:ident| $body:expr;)*) => {
        &[$(Function { name: $name, min: 1, max: 1, run: |a| { let $s = text(a, 0)?; Ok(Value::from($body)) } }),*]
    };
}

const ONE: &[Function] = strings! {
    "trim" => |s| s.trim();
    "upper" => |s| s.to_uppercase();
    "lower" => |s| s.to_lowercase();
    "title" => |s| title(s);
    "untitle" => |s| words(s, |first| first.to_lowercase().collect());
    "nospace" => |s| s.split_whitespace().collect::<String>();
    "initials" => |s| s.split_whitespace().filter_map(|w| w.chars().next()).collect::<String>();
    "snakecase" => |s| cased(s, '_');
    "kebabcase" => |s| cased(s, '-');
    "camelcase" => |s| camel(s);
    "swapcase" => |s| s.chars().map(swap).collect::<String>();
    "basename" => |s| s.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    "base" => |s| s.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    "dir" => |s| s.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir });
    "ext" => |s| s.rsplit('/').next().and_then(|n| n.rfind('.').and_then(|i| n.get(i..))).unwrap_or_default();
    "isAbs" => |s| s.starts_with('/');
};

const MORE: &[Function] = &[
    Function {
        name: "trimAll",
        min: 2,
        max: 2,
        run: |a| Ok(text(a, 1)?.trim_matches(|c| contains(a, c)).into()),
    },
    Function {
        name: "trimall",
        min: 2,
        max: 2,
        run: |a| Ok(text(a, 1)?.trim_matches(|c| contains(a, c)).into()),
    },
    Function {
        name: "trimPrefix",
        min: 2,
        max: 2,
        run: |a| {
            let s = text(a, 1)?;
            Ok(s.strip_prefix(text(a, 0)?).unwrap_or(s).into())
        },
    },
    Function {
        name: "trimSuffix",
        min: 2,
        max: 2,
        run: |a| {
            let s = text(a, 1)?;
            Ok(s.strip_suffix(text(a, 0)?).unwrap_or(s).into())
        },
    },
    Function { name: "hasPrefix", min: 2, max: 2, run: |a| Ok(text(a, 1)?.starts_with(text(a, 0)?).into()) },
    Function { name: "hasSuffix", min: 2, max: 2, run: |a| Ok(text(a, 1)?.ends_with(text(a, 0)?).into()) },
    Function { name: "contains", min: 2, max: 2, run: |a| Ok(text(a, 1)?.contains(text(a, 0)?).into()) },
    Function {
        name: "replace",
        min: 3,
        max: 3,
        run: |a| bounded(text(a, 2)?.replace(text(a, 0)?, text(a, 1)?)),
    },
    Function { name: "repeat", min: 2, max: 2, run: repeat },
    Function { name: "substr", min: 3, max: 3, run: substr },
    Function { name: "trunc", min: 2, max: 2, run: trunc },
    Function { name: "abbrev", min: 2, max: 2, run: abbrev },
    Function { name: "quote", min: 0, max: ANY, run: |a| Ok(join_quoted(a, quote).into()) },
    Function { name: "squote", min: 0, max: ANY, run: |a| Ok(join_quoted(a, |s| format!("'{s}'")).into()) },
    Function {
        name: "cat",
        min: 0,
        max: ANY,
        run: |a| {
            let parts: Vec<_> = a.iter().filter(|v| !matches!(v, Value::Nil)).map(shown).collect();
            Ok(parts.join(" ").into())
        },
    },
    Function { name: "indent", min: 2, max: 2, run: |a| indent(int(a, 0), text(a, 1)?) },
    Function {
        name: "nindent",
        min: 2,
        max: 2,
        run: |a| match indent(int(a, 0), text(a, 1)?)? {
            Value::String(s) => Ok(format!("\n{s}").into()),
            other => Ok(other),
        },
    },
    Function { name: "plural", min: 3, max: 3, run: |a| Ok(text(a, usize::from(int(a, 2) != 1))?.into()) },
    Function { name: "split", min: 2, max: 2, run: |a| Ok(numbered(text(a, 1)?.split(text(a, 0)?))) },
    Function {
        name: "splitn",
        min: 3,
        max: 3,
        run: |a| {
            let n = usize::try_from(int(a, 1)).unwrap_or(usize::MAX);
            Ok(numbered(text(a, 2)?.splitn(n, text(a, 0)?)))
        },
    },
    Function {
        name: "splitList",
        min: 2,
        max: 2,
        run: |a| Ok(Value::list(text(a, 1)?.split(text(a, 0)?).map(Value::from))),
    },
    Function { name: "toString", min: 1, max: 1, run: |a| Ok(shown(arg(a, 0)).into()) },
    Function {
        name: "toStrings",
        min: 1,
        max: 1,
        run: |a| match arg(a, 0) {
            Value::List(items) => Ok(Value::list(items.iter().map(|v| shown(v).into()))),
            other => Ok(Value::list([shown(other).into()])),
        },
    },
    Function { name: "regexMatch", min: 2, max: 2, run: |a| Ok(regex(a)?.is_match(text(a, 1)?).into()) },
    Function {
        name: "regexFind",
        min: 2,
        max: 2,
        run: |a| Ok(regex(a)?.find(text(a, 1)?).map_or("", |m| m.as_str()).into()),
    },
    Function {
        name: "regexFindAll",
        min: 3,
        max: 3,
        run: |a| {
            let n = usize::try_from(int(a, 2)).unwrap_or(usize::MAX);
            Ok(Value::list(regex(a)?.find_iter(text(a, 1)?).take(n).map(|m| m.as_str().into())))
        },
    },
    Function {
        name: "regexReplaceAll",
        min: 3,
        max: 3,
        run: |a| bounded(regex(a)?.replace_all(text(a, 1)?, text(a, 2)?).into_owned()),
    },
    Function {
        name: "regexReplaceAllLiteral",
        min: 3,
        max: 3,
        run: |a| bounded(regex(a)?.replace_all(text(a, 1)?, regex::NoExpand(text(a, 2)?)).into_owned()),
    },
    Function {
        name: "regexSplit",
        min: 3,
        max: 3,
        run: |a| {
            let n = usize::try_from(int(a, 2)).unwrap_or(usize::MAX);
            Ok(Value::list(regex(a)?.splitn(text(a, 1)?, n).map(Value::from)))
        },
    },
];

pub(super) const TABLE: &[Function] = &{
    const EMPTY: Function = Function { name: "", min: 0, max: 0, run: |_| Ok(Value::Nil) };
    let mut all = [EMPTY; ONE.len() + MORE.len()];
    let mut i = 0;
    while i < ONE.len() {
        all[i] = Function { name: ONE[i].name, min: ONE[i].min, max: ONE[i].max, run: ONE[i].run };
        i += 1;
    }
    while i < ONE.len() + MORE.len() {
        let f = &MORE[i - ONE.len()];
        all[i] = Function { name: f.name, min: f.min, max: f.max, run: f.run };
        i += 1;
    }
    all
};

/// The text of any value, as sprig's `strval` makes it: bytes are taken for text.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.print(),
    }
}

fn bounded(text: String) -> Result<Value, String> {
    if text.len() > MAX_TEXT {
        Err(format!("the result is longer than {MAX_TEXT} bytes"))
    } else {
        Ok(text.into())
    }
}

fn contains(a: &[Value], c: char) -> bool {
    matches!(arg(a, 0), Value::String(set) if set.contains(c))
}

fn repeat(a: &[Value]) -> Result<Value, String> {
    let (n, s) = (usize::try_from(int(a, 0)).unwrap_or(0), text(a, 1)?);
    if n.saturating_mul(s.len()) > MAX_TEXT {
        return Err(format!("the result is longer than {MAX_TEXT} bytes"));
    }
    Ok(s.repeat(n).into())
}

fn substr(a: &[Value]) -> Result<Value, String> {
    let (from, to, s) = (int(a, 0), int(a, 1), text(a, 2)?);
    let from = usize::try_from(from).unwrap_or(0);
    let to = usize::try_from(to).unwrap_or(s.len()).min(s.len());
    Ok(s.get(from..to.max(from)).ok_or("substr is out of range")?.into())
}

fn trunc(a: &[Value]) -> Result<Value, String> {
    let (n, s) = (int(a, 0), text(a, 1)?);
    let length = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    if length >= s.len() {
        return Ok(s.into());
    }
    let part = if n >= 0 { s.get(..length) } else { s.get(s.len() - length..) };
    Ok(part.ok_or("trunc cuts a character")?.into())
}

fn abbrev(a: &[Value]) -> Result<Value, String> {
    let (n, s) = (usize::try_from(int(a, 0)).unwrap_or(0), text(a, 1)?);
    if n < 4 || s.chars().count() <= n {
        return Ok(s.into());
    }
    Ok(format!("{}...", s.chars().take(n - 3).collect::<String>()).into())
}

fn join_quoted(a: &[Value], quoted: impl Fn(&str) -> String) -> String {
    a.iter().filter(|v| !matches!(v, Value::Nil)).map(|v| quoted(&shown(v))).collect::<Vec<_>>().join(" ")
}

fn indent(n: i64, s: &str) -> Result<Value, String> {
    let n = usize::try_from(n).unwrap_or(0).min(1024);
    let pad = " ".repeat(n);
    bounded(format!("{pad}{}", s.replace('\n', &format!("\n{pad}"))))
}

fn numbered<'a>(parts: impl Iterator<Item = &'a str>) -> Value {
    Value::map(Zero::String, parts.enumerate().map(|(i, part)| (format!("_{i}"), part.into())))
}

fn regex(a: &[Value]) -> Result<Regex, String> {
    regex::RegexBuilder::new(text(a, 0)?).size_limit(1 << 20).build().map_err(|e| e.to_string())
}

fn words(s: &str, first: impl Fn(char) -> String) -> String {
    let mut out = String::with_capacity(s.len());
    let mut start = true;
    for c in s.chars() {
        if start {
            out.push_str(&first(c))
        } else {
            out.push(c)
        }
        start = c.is_whitespace();
    }
    out
}

fn title(s: &str) -> String {
    words(s, |first| first.to_uppercase().collect())
}

fn cased(s: &str, separator: char) -> String {
    let mut out = String::new();
    let mut lower_before = false;
    for c in s.chars() {
        if c.is_uppercase() && lower_before {
            out.push(separator);
        }
        if matches!(c, ' ' | '-' | '_') {
            out.push(separator);
        } else {
            out.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase() || c.is_numeric();
    }
    out
}

fn camel(s: &str) -> String {
    s.split(['_', '-', ' ']).map(title).collect()
}

fn swap(c: char) -> char {
    let swapped = if c.is_uppercase() { c.to_lowercase().next() } else { c.to_uppercase().next() };
    swapped.unwrap_or(c)
}
