//! Regular expressions: the standard `matches`, and Kubernetes' `find` and `findAll`.

use super::operators::strings;
use super::{Outcome, no_such_overload};
use crate::error::EvalError;
use crate::pattern::Pattern;
use crate::val::{Text, Val};

/// Calls one of the functions with an expression that is compiled already.
pub(crate) fn with_pattern<'a>(name: &str, pattern: &Pattern, args: &[Val<'a>]) -> Outcome<'a> {
    let Some((Val::String(text), rest)) = args.split_first() else { return no_such_overload() };
    match (name, rest) {
        ("matches", _) => Ok(Val::Bool(pattern.is_match(text))),
        ("find", _) => Ok(match (pattern.find_iter(text, 1).next(), text) {
            (Some(range), Text::Borrowed(text)) => {
                Val::String(Text::Borrowed(text.get(range).unwrap_or_default()))
            }
            (Some(range), text) => Val::text(text.get(range).unwrap_or_default()),
            (None, _) => Val::text(""),
        }),
        (_, [_]) => Ok(all(pattern, text, usize::MAX)),
        (_, [_, Val::Int(count)]) => Ok(all(pattern, text, usize::try_from(*count).unwrap_or(usize::MAX))),
        _ => no_such_overload(),
    }
}

fn all<'a>(pattern: &Pattern, text: &str, count: usize) -> Val<'a> {
    strings(pattern.find_iter(text, count).map(|range| text.get(range).unwrap_or_default().to_owned()))
}

fn compiled<'a>(name: &str, args: &[Val<'a>], prefix: &str) -> Outcome<'a> {
    let Some(Val::String(pattern)) = args.get(1) else { return no_such_overload() };
    let pattern = Pattern::new(pattern).map_err(|why| EvalError::new(format!("{prefix}{why}")))?;
    with_pattern(name, &pattern, args)
}

pub(super) fn matches<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    compiled("matches", args, "")
}

pub(super) fn find<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    compiled("find", args, "Illegal regex: ")
}

pub(super) fn find_all<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    compiled("findAll", args, "Illegal regex: ")
}
