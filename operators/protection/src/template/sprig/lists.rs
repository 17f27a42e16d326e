//! Lists and dictionaries.

use std::sync::Arc;

use crate::template::calls::{ANY, Function, arg, int, text};
use crate::template::sprig::text::shown;
use crate::template::{Map, Value, Zero};

/// The longest list that a function may make out of numbers.
const MAX_ITEMS: i64 = 100_000;

pub(super) const TABLE: &[Function] = &[
    Function { name: "list", min: 0, max: ANY, run: |a| Ok(Value::list(a.iter().cloned())) },
    Function { name: "tuple", min: 0, max: ANY, run: |a| Ok(Value::list(a.iter().cloned())) },
    Function {
        name: "first",
        min: 1,
        max: 1,
        run: |a| Ok(items(a, 0)?.first().cloned().unwrap_or(Value::Nil)),
    },
    Function {
        name: "last",
        min: 1,
        max: 1,
        run: |a| Ok(items(a, 0)?.last().cloned().unwrap_or(Value::Nil)),
    },
    Function { name: "rest", min: 1, max: 1, run: |a| Ok(Value::list(items(a, 0)?.iter().skip(1).cloned())) },
    Function {
        name: "initial",
        min: 1,
        max: 1,
        run: |a| {
            let list = items(a, 0)?;
            Ok(Value::list(list.iter().take(list.len().saturating_sub(1)).cloned()))
        },
    },
    Function {
        name: "append",
        min: 2,
        max: 2,
        run: |a| Ok(Value::list(items(a, 0)?.iter().cloned().chain([arg(a, 1).clone()]))),
    },
    Function {
        name: "push",
        min: 2,
        max: 2,
        run: |a| Ok(Value::list(items(a, 0)?.iter().cloned().chain([arg(a, 1).clone()]))),
    },
    Function {
        name: "prepend",
        min: 2,
        max: 2,
        run: |a| Ok(Value::list([arg(a, 1).clone()].into_iter().chain(items(a, 0)?.iter().cloned()))),
    },
    Function {
        name: "reverse",
        min: 1,
        max: 1,
        run: |a| Ok(Value::list(items(a, 0)?.iter().rev().cloned())),
    },
    Function {
        name: "uniq",
        min: 1,
        max: 1,
        run: |a| {
            let mut kept: Vec<Value> = Vec::new();
            for item in items(a, 0)?.iter() {
                if !kept.contains(item) {
                    kept.push(item.clone());
                }
            }
            Ok(Value::list(kept))
        },
    },
    Function {
        name: "compact",
        min: 1,
        max: 1,
        run: |a| Ok(Value::list(items(a, 0)?.iter().filter(|v| !v.is_empty()).cloned())),
    },
    Function {
        name: "without",
        min: 1,
        max: ANY,
        run: |a| Ok(Value::list(items(a, 0)?.iter().filter(|v| !a.iter().skip(1).any(|w| w == *v)).cloned())),
    },
    Function { name: "has", min: 2, max: 2, run: |a| Ok(items(a, 1)?.contains(arg(a, 0)).into()) },
    Function {
        name: "join",
        min: 2,
        max: 2,
        run: |a| {
            let parts: Vec<_> = match arg(a, 1) {
                Value::List(list) => list.iter().filter(|v| !matches!(v, Value::Nil)).map(shown).collect(),
                other => vec![shown(other)],
            };
            Ok(parts.join(text(a, 0)?).into())
        },
    },
    Function {
        name: "sortAlpha",
        min: 1,
        max: 1,
        run: |a| {
            let mut parts: Vec<_> = items(a, 0)?.iter().map(shown).collect();
            parts.sort();
            Ok(Value::list(parts.into_iter().map(Value::from)))
        },
    },
    Function {
        name: "until",
        min: 1,
        max: 1,
        run: |a| {
            let n = int(a, 0);
            steps(0, n, if n < 0 { -1 } else { 1 })
        },
    },
    Function { name: "untilStep", min: 3, max: 3, run: |a| steps(int(a, 0), int(a, 1), int(a, 2)) },
    Function {
        name: "dict",
        min: 0,
        max: ANY,
        run: |a| {
            Ok(Value::map(
                Zero::Nil,
                a.chunks(2)
                    .map(|pair| (shown(arg(pair, 0)), pair.get(1).cloned().unwrap_or_else(|| "".into()))),
            ))
        },
    },
    Function {
        name: "set",
        min: 3,
        max: 3,
        run: |a| {
            let mut map = entries(a, 0)?.clone();
            map.entries.insert(text(a, 1)?.to_owned(), arg(a, 2).clone());
            Ok(Value::Map(Arc::new(map)))
        },
    },
    Function {
        name: "unset",
        min: 2,
        max: 2,
        run: |a| {
            let mut map = entries(a, 0)?.clone();
            map.entries.remove(text(a, 1)?);
            Ok(Value::Map(Arc::new(map)))
        },
    },
    Function {
        name: "get",
        min: 2,
        max: 2,
        run: |a| Ok(entries(a, 0)?.entries.get(text(a, 1)?).cloned().unwrap_or_else(|| "".into())),
    },
    Function {
        name: "hasKey",
        min: 2,
        max: 2,
        run: |a| Ok(entries(a, 0)?.entries.contains_key(text(a, 1)?).into()),
    },
    Function {
        name: "keys",
        min: 1,
        max: ANY,
        run: |a| {
            let mut keys = Vec::new();
            for i in 0..a.len() {
                keys.extend(entries(a, i)?.entries.keys().map(Value::from));
            }
            Ok(Value::list(keys))
        },
    },
    Function {
        name: "values",
        min: 1,
        max: 1,
        run: |a| Ok(Value::list(entries(a, 0)?.entries.values().cloned())),
    },
    Function {
        name: "pluck",
        min: 1,
        max: ANY,
        run: |a| {
            let key = text(a, 0)?;
            let mut found = Vec::new();
            for i in 1..a.len() {
                found.extend(entries(a, i)?.entries.get(key).cloned());
            }
            Ok(Value::list(found))
        },
    },
    Function { name: "pick", min: 1, max: ANY, run: |a| chosen(a, true) },
    Function { name: "omit", min: 1, max: ANY, run: |a| chosen(a, false) },
    Function {
        name: "merge",
        min: 1,
        max: ANY,
        run: |a| {
            let mut map = entries(a, 0)?.clone();
            for i in 1..a.len() {
                for (key, value) in &entries(a, i)?.entries {
                    map.entries.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            Ok(Value::Map(Arc::new(map)))
        },
    },
];

fn items(a: &[Value], index: usize) -> Result<&[Value], String> {
    match arg(a, index) {
        Value::List(list) => Ok(list),
        Value::Nil => Ok(&[]),
        other => Err(format!("a list is needed; got {}", other.type_name())),
    }
}

fn entries(a: &[Value], index: usize) -> Result<&Map, String> {
    match arg(a, index) {
        Value::Map(map) => Ok(map),
        other => Err(format!("a map is needed; got {}", other.type_name())),
    }
}

fn chosen(a: &[Value], keep: bool) -> Result<Value, String> {
    let map = entries(a, 0)?;
    let named = |key: &String| a.iter().skip(1).any(|v| matches!(v, Value::String(s) if **s == **key));
    let kept = map.entries.iter().filter(|(k, _)| named(k) == keep);
    Ok(Value::map(map.zero, kept.map(|(k, v)| (k.clone(), v.clone()))))
}

fn steps(from: i64, to: i64, step: i64) -> Result<Value, String> {
    let count = if step == 0 { 0 } else { to.saturating_sub(from).checked_div(step).unwrap_or(0) };
    if count > MAX_ITEMS {
        return Err(format!("a list of more than {MAX_ITEMS} numbers"));
    }
    let mut list = Vec::new();
    let mut n = from;
    while step != 0 && if step > 0 { n < to } else { n > to } {
        list.push(Value::Int(n));
        n = n.saturating_add(step);
    }
    Ok(Value::list(list))
}
