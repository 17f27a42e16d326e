//! Functions of lists and sets. Source: cel-go `ext/lists.go`, `ext/sets.go`;
//! `k8s.io/apiserver/pkg/cel/library/lists.go`.

use std::cmp::Ordering;

use super::operators::plus;
use super::{Outcome, no_such_overload};
use crate::error::EvalError;
use crate::val::{ListVal, Val};

/// Items that `lists.range` makes at most.
const MAX_RANGE: i64 = 1_000_000;

fn place<'a>(at: usize) -> Val<'a> {
    Val::Int(i64::try_from(at).unwrap_or(i64::MAX))
}

pub(super) fn slice<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list), Val::Int(start), Val::Int(end)] = args else { return no_such_overload() };
    let wrong = |why: String| Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return wrong("negative indexes not supported".to_owned());
    };
    if from > to {
        return wrong("start index must be less than or equal to end index".to_owned());
    }
    if to > list.len() {
        return wrong(format!("list is length {}", list.len()));
    }
    Ok(Val::list(list.items().skip(from).take(to - from).collect()))
}

pub(super) fn flatten<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (list, depth) = match args {
        [Val::List(list)] => (list, 1),
        [Val::List(list), Val::Int(depth)] => (list, *depth),
        _ => return no_such_overload(),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    // Lists within lists wait here, so that nothing recurses.
    let mut items = Vec::new();
    let mut open = vec![(list.clone(), 0, depth)];
    while let Some((list, at, depth)) = open.pop() {
        let Some(item) = list.get(at) else { continue };
        open.push((list, at + 1, depth));
        match item? {
            Val::List(inner) if depth > 0 => open.push((inner, 0, depth - 1)),
            item => items.push(item),
        }
    }
    Ok(Val::list(items))
}

pub(super) fn sort<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    sorted(list, list)
}

pub(super) fn sort_by<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list), Val::List(keys)] = args else { return no_such_overload() };
    sorted(list, keys)
}

fn sorted<'a>(list: &ListVal<'a>, keys: &ListVal<'a>) -> Outcome<'a> {
    if list.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let keys: Vec<Val<'a>> = keys.items().collect();
    let Some(first) = keys.first() else { return Ok(Val::List(list.clone())) };
    if first.compare(first).is_err_and(|why| why == EvalError::NoSuchOverload) {
        return Err(EvalError::new("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(EvalError::new("list elements must have the same type"));
    }
    let mut pairs: Vec<(Val<'a>, Val<'a>)> = keys.into_iter().zip(list.items()).collect();
    pairs.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

pub(super) fn range<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Int(count)] = args else { return no_such_overload() };
    if *count < 0 {
        return Err(EvalError::new(format!("lists.range: size must be non-negative, got {count}")));
    }
    if *count > MAX_RANGE {
        let why = format!("lists.range: size {count} exceeds maximum allowed ({MAX_RANGE})");
        return Err(EvalError::new(why));
    }
    Ok(Val::list((0..*count).map(Val::Int).collect()))
}

pub(super) fn reverse<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    Ok(Val::list(list.items().rev().collect()))
}

pub(super) fn distinct<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut unique: Vec<Val<'a>> = Vec::new();
    'items: for item in list.items() {
        for known in &unique {
            if is_equal(item.equals(known))? {
                continue 'items;
            }
        }
        unique.push(item);
    }
    Ok(Val::list(unique))
}

pub(super) fn first<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    Ok(list.items().next().map_or(Val::none(), Val::some))
}

pub(super) fn last<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    Ok(list.items().next_back().map_or(Val::none(), Val::some))
}

/// An item, if values of its kind have an order.
fn ordered<'a>(item: Result<Val<'a>, EvalError>) -> Outcome<'a> {
    let item = item?;
    match item {
        Val::Bool(_)
        | Val::Int(_)
        | Val::Uint(_)
        | Val::Double(_)
        | Val::String(_)
        | Val::Bytes(_)
        | Val::Timestamp(_)
        | Val::Duration(_) => Ok(item),
        _ => Err(EvalError::unnamed_overload()),
    }
}

pub(super) fn is_sorted<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut previous: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = ordered(item)?;
        if let Some(previous) = &previous
            && previous.compare(&item).is_ok_and(Ordering::is_gt)
        {
            return Ok(Val::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Val::Bool(true))
}

fn sum_from<'a>(args: &[Val<'a>], zero: Val<'a>) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    if list.is_empty() {
        return Ok(zero);
    }
    let mut total: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = item?;
        total = Some(match &total {
            None => item,
            // What cannot be added is not told by the name of the function.
            Some(total) => plus(total, &item).map_err(|why| match why {
                EvalError::NoSuchOverload => EvalError::unnamed_overload(),
                why => why,
            })?,
        });
    }
    Ok(total.unwrap_or(zero))
}

pub(super) fn sum<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    sum_from(args, Val::Int(0))
}

pub(super) fn sum_uint<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    sum_from(args, Val::Uint(0))
}

pub(super) fn sum_double<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    sum_from(args, Val::Double(0.0))
}

pub(super) fn sum_duration<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    sum_from(args, Val::Duration(0))
}

fn extreme<'a>(args: &[Val<'a>], name: &str, better: Ordering) -> Outcome<'a> {
    let [Val::List(list)] = args else { return no_such_overload() };
    let mut best: Option<Val<'a>> = None;
    for item in list.iter() {
        let item = ordered(item)?;
        let is_better = match &best {
            None => true,
            // What cannot be compared with the best so far is not better.
            Some(best) => item.compare(best).is_ok_and(|order| order == better),
        };
        if is_better {
            best = Some(item);
        }
    }
    best.ok_or_else(|| EvalError::new(format!("{name} called on empty list")))
}

pub(super) fn max<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    extreme(args, "max", Ordering::Greater)
}

pub(super) fn min<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    extreme(args, "min", Ordering::Less)
}

/// What cannot be compared is different, unless the evaluation ends with it.
fn is_equal(compared: Result<bool, EvalError>) -> Result<bool, EvalError> {
    match compared {
        Err(why) if why.is_final() => Err(why),
        compared => Ok(compared.unwrap_or(false)),
    }
}

/// The first of these places at which a list has an item.
fn find(
    list: &ListVal<'_>,
    item: &Val<'_>,
    places: impl Iterator<Item = usize>,
) -> Result<Option<usize>, EvalError> {
    for at in places {
        if let Some(Ok(known)) = list.get(at)
            && is_equal(known.equals(item))?
        {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

pub(super) fn index_of<'a>(list: &ListVal<'a>, item: &Val<'a>) -> Outcome<'a> {
    Ok(find(list, item, 0..list.len())?.map_or(Val::Int(-1), place))
}

pub(super) fn last_index_of<'a>(list: &ListVal<'a>, item: &Val<'a>) -> Outcome<'a> {
    Ok(find(list, item, (0..list.len()).rev())?.map_or(Val::Int(-1), place))
}

pub(super) fn includes<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::List(list), item] => Ok(Val::Bool(find(list, item, 0..list.len())?.is_some())),
        [target, item] => is_equal(target.equals(item)).map(Val::Bool),
        _ => no_such_overload(),
    }
}

fn pair<'v, 'a>(args: &'v [Val<'a>]) -> Result<(&'v ListVal<'a>, &'v ListVal<'a>), EvalError> {
    match args {
        [Val::List(a), Val::List(b)] => Ok((a, b)),
        _ => no_such_overload(),
    }
}

fn contains_all<'a>(list: &ListVal<'a>, items: &ListVal<'a>) -> Result<bool, EvalError> {
    for item in items.iter() {
        if !list.contains(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn set_contains<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (list, items) = pair(args)?;
    contains_all(list, items).map(Val::Bool)
}

pub(super) fn set_equivalent<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = pair(args)?;
    Ok(Val::Bool(contains_all(a, b)? && contains_all(b, a)?))
}

pub(super) fn set_intersects<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (a, b) = pair(args)?;
    for item in a.iter() {
        if is_equal(b.contains(&item?))? {
            return Ok(Val::Bool(true));
        }
    }
    Ok(Val::Bool(false))
}
