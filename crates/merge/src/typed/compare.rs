//! What differs between two documents, field by field.

use super::{Found, List, MapType, Problems, Scalar, Shape, Type, items, member, resolve, shape, validate};
use crate::fieldset::{FieldSet, Filter, PathElement, same};
use pilothouse_value::{Map, Value};
use std::collections::BTreeMap;

/// The fields in which two documents differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that only the first document has.
    pub removed: FieldSet,
    /// Fields that both have with different values.
    pub modified: FieldSet,
    /// Fields that only the second document has.
    pub added: FieldSet,
}

impl Comparison {
    /// Whether there is no difference.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// The differences that a filter leaves.
    #[must_use]
    pub fn filtered(self, filter: Option<&Filter>) -> Self {
        match filter {
            None => self,
            Some(filter) => Self {
                removed: filter.apply(self.removed),
                modified: filter.apply(self.modified),
                added: filter.apply(self.added),
            },
        }
    }
}

/// How many levels down it pays to look first whether two values are the same. Further down whatever is below would be looked at
/// once more for each level.
const SHALLOW: usize = 64;

/// Whether there is something to compare in two values. Far down it is taken to be so.
fn may_differ(old: Option<&Value>, new: Option<&Value>, found: &Found) -> bool {
    let nested = |value: Option<&Value>| matches!(value, Some(Value::Object(_) | Value::Array(_)));
    (found.level > SHALLOW && !found.level.is_multiple_of(SHALLOW) && nested(old) && nested(new))
        || old != new
}

/// What happened to a value itself, as opposed to what is in it.
#[derive(Clone, Copy, Default)]
struct Change {
    removed: bool,
    modified: bool,
    added: bool,
}

/// Compares two documents of one type.
///
/// # Errors
/// What makes items of lists impossible to tell apart.
pub fn compare<'s, T: Type<'s>>(ty: T, before: &Value, after: &Value) -> Result<Comparison, Problems> {
    let mut found = Found::default();
    let mut comparison = Comparison::default();
    if before == after {
        return Ok(comparison);
    }
    walk(Some(ty), Some(before), Some(after), &mut comparison, &mut found);
    found.into_result(comparison)
}

/// Compares two values that may differ: what changed below them goes to `out`.
fn walk<'s, T: Type<'s>>(
    ty: Option<T>,
    before: Option<&Value>,
    after: Option<&Value>,
    out: &mut Comparison,
    found: &mut Found,
) -> Change {
    let Some(atom) = resolve(ty, found) else { return Change::default() };
    let (was, is) = (atom.deduce(before), atom.deduce(after));
    let mut change = Change::default();
    let is_leaf = if after.is_none() {
        handle(ty, shape(ty, was, found), before, after, out, found)
    } else if before.is_none() || was.is_like(&is) {
        handle(ty, shape(ty, is, found), before, after, out, found)
    } else {
        // Another kind of value: what the old one was made of is gone, what the new one is made of came.
        change.modified |=
            handle(ty, shape(ty, was, found), before, after, out, found) == Handled::Leaf(true);
        handle(ty, shape(ty, is, found), before, after, out, found)
    };
    match (before, after) {
        (None, _) => change.added = true,
        (_, None) => change.removed = true,
        _ => change.modified |= is_leaf == Handled::Leaf(true),
    }
    change
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Handled {
    /// The values are whole; whether they differ.
    Leaf(bool),
    /// What they are made of was compared.
    Inner,
    /// They cannot be compared.
    Failed,
}

fn handle<'s, T: Type<'s>>(
    ty: Option<T>,
    shape: Option<Shape<'s, T>>,
    before: Option<&Value>,
    after: Option<&Value>,
    out: &mut Comparison,
    found: &mut Found,
) -> Handled {
    let leaf =
        || Handled::Leaf(matches!((before, after), (Some(before), Some(after)) if !same(before, after)));
    match shape {
        None => Handled::Failed,
        Some(Shape::Scalar(scalar)) => {
            if check_scalars(scalar, before, after, found) {
                leaf()
            } else {
                Handled::Failed
            }
        }
        Some(Shape::Map(map)) => {
            let (before_map, after_map) =
                (before.and_then(Value::as_object), after.and_then(Value::as_object));
            if map.atomic || (before_map.is_none_or(Map::is_empty) && after_map.is_none_or(Map::is_empty)) {
                return leaf();
            }
            fields(ty, &map, before_map, after_map, out, found);
            Handled::Inner
        }
        Some(Shape::List(list)) => {
            let atomic = list.relationship == super::Relationship::Atomic;
            if atomic || (items(before).is_empty() && items(after).is_empty()) {
                return leaf();
            }
            list_items(&list, items(before), items(after), out, found);
            Handled::Inner
        }
    }
}

/// At least one of two values must be a scalar of the right kind.
pub(super) fn check_scalars(
    scalar: Scalar,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Found,
) -> bool {
    let wrong = |value: Option<&Value>, side| value.and_then(|value| validate::scalar(scalar, value, side));
    match (wrong(before, "lhs: "), wrong(after, "rhs: ")) {
        (Some(left), Some(right)) => {
            found.add(left);
            found.add(right);
            false
        }
        _ => true,
    }
}

fn fields<'s, T: Type<'s>>(
    ty: Option<T>,
    map: &MapType<T>,
    before: Option<&Map>,
    after: Option<&Map>,
    out: &mut Comparison,
    found: &mut Found,
) {
    let mut compare = |key: &str, old: Option<&Value>, new: Option<&Value>| {
        if may_differ(old, new, found) {
            one(|| PathElement::field(key), member(ty, map, key), old, new, out, found);
        }
    };
    // Both are in the order of their keys.
    let mut olds = before.into_iter().flat_map(Map::iter).peekable();
    for (key, new) in after.into_iter().flat_map(Map::iter) {
        while let Some((gone, old)) = olds.next_if(|(old, _)| *old < key) {
            compare(gone, Some(old), None);
        }
        let old = olds.next_if(|(old, _)| *old == key).map(|(_, old)| old);
        compare(key, old, Some(new));
    }
    for (gone, old) in olds {
        compare(gone, Some(old), None);
    }
}

/// Compares what is under one element.
fn one<'s, T: Type<'s>>(
    element: impl Fn() -> PathElement,
    ty: Option<T>,
    before: Option<&Value>,
    after: Option<&Value>,
    out: &mut Comparison,
    found: &mut Found,
) {
    let mut inner = Comparison::default();
    let change = found.under(|| element().to_string(), |found| walk(ty, before, after, &mut inner, found));
    record(element, change, inner, out);
}

fn record(element: impl Fn() -> PathElement, change: Change, inner: Comparison, out: &mut Comparison) {
    for (set, owned, inner) in [
        (&mut out.removed, change.removed, inner.removed),
        (&mut out.modified, change.modified, inner.modified),
        (&mut out.added, change.added, inner.added),
    ] {
        if owned || !inner.is_empty() {
            set.insert(element(), owned, inner);
        }
    }
}

fn list_items<'s, T: Type<'s>>(
    list: &List<'s, T>,
    before: &[Value],
    after: &[Value],
    out: &mut Comparison,
    found: &mut Found,
) {
    let mut sides: BTreeMap<PathElement, [Vec<&Value>; 2]> = BTreeMap::new();
    for (side, values) in [before, after].into_iter().enumerate() {
        for (index, value) in values.iter().enumerate() {
            match list.element(value) {
                Ok(element) => sides.entry(element).or_default()[side].push(value),
                Err(why) => found.add(format!("element {index}: {why}")),
            }
        }
    }
    for (element, [olds, news]) in &sides {
        let mut go = |old: Option<&Value>, new: Option<&Value>, out: &mut Comparison| {
            if may_differ(old, new, found) {
                one(|| element.clone(), list.items, old, new, out, found);
            }
        };
        let mark = |change: Change, out: &mut Comparison| {
            record(|| element.clone(), change, Comparison::default(), out);
        };
        match (olds.as_slice(), news.as_slice()) {
            ([] | [_], [] | [_]) => go(olds.first().copied(), news.first().copied(), out),
            // Items that cannot be told apart are one value.
            ([_, _, ..], [_, _, ..]) => {
                let is_same =
                    olds.len() == news.len() && olds.iter().zip(news).all(|(old, new)| same(old, new));
                if !is_same {
                    mark(Change { modified: true, ..Default::default() }, out);
                }
            }
            ([_, _, ..], _) => {
                if let Some(new) = news.first() {
                    go(None, Some(new), out);
                }
                mark(Change { removed: true, ..Default::default() }, out);
            }
            (_, [_, _, ..]) => {
                if let Some(old) = olds.first() {
                    go(Some(old), None, out);
                }
                mark(Change { added: true, ..Default::default() }, out);
            }
        }
    }
}
