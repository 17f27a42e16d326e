//! Equality, ordering and union. Source: cel-go `common/types` and `k8s.io/apiserver/pkg/cel/common`.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use pilothouse_value::stack::deeper;
use pilothouse_value::{Value, go_print};

use super::map::same_document;
use super::{Key, ListVal, MapVal, Val, view};
use crate::decl::ListKind;
use crate::error::EvalError;
use crate::escape::escape;

const UNORDERED: &str = "NaN values cannot be ordered";

impl<'a> Val<'a> {
    /// `==` of CEL: numbers of different types compare by value, values of different types are different.
    ///
    /// # Errors
    /// When a part of a document is not of its declared type.
    pub fn equals(&self, other: &Val<'a>) -> Result<bool, EvalError> {
        Ok(match (self, other) {
            (Val::Wrong(why), _) => return Err((**why).clone()),
            (Val::Preserved(a), b) => b.to_document().is_some_and(|b| same_document(a, &b)),
            (Val::Null, b) => matches!(b, Val::Null),
            (_, Val::Null) => false,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
                compare_numbers(self, other) == Some(Ordering::Equal)
            }
            (Val::String(a), Val::String(b)) => **a == **b,
            (Val::Bytes(a), Val::Bytes(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Type(a), Val::Type(b)) => a == b,
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (None, None) => true,
                // Unlike `==`, the values inside are asked themselves: null equals only null either way.
                (Some(a), Some(b)) => a.equals(b)?,
                _ => false,
            },
            (Val::Opaque(a), Val::Opaque(b)) => a.equals(&**b),
            (Val::List(a), Val::List(b)) => return deeper(|| equal_lists(a, b)),
            (Val::Map(a), Val::Map(b)) => return deeper(|| equal_maps(a, b)),
            // What comes from a document does not compare itself with another kind of value.
            (Val::List(list), _) if list.document().is_some_and(|(_, decl, _)| decl.is_some()) => {
                return Err(EvalError::no_such_overload());
            }
            (Val::Map(map), _) if map.is_declared() => return Err(EvalError::no_such_overload()),
            _ => false,
        })
    }

    /// The order of two values of the same kind; numbers of all types are of one kind.
    ///
    /// # Errors
    /// When there is no order between them.
    pub fn compare(&self, other: &Val<'_>) -> Result<Ordering, EvalError> {
        match (self, other) {
            // Before it is looked at what it is compared with.
            (Val::Double(number), _) if number.is_nan() => Err(EvalError::new(UNORDERED)),
            (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
                compare_numbers(self, other).ok_or_else(|| EvalError::new(UNORDERED))
            }
            (Val::Bool(a), Val::Bool(b)) => Ok(a.cmp(b)),
            (Val::String(a), Val::String(b)) => Ok((**a).cmp(&**b)),
            (Val::Bytes(a), Val::Bytes(b)) => Ok(a.cmp(b)),
            (Val::Timestamp(a), Val::Timestamp(b)) => Ok(a.cmp(b)),
            (Val::Duration(a), Val::Duration(b)) => Ok(a.cmp(b)),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// The document that this value is, for comparing with data that has no schema.
    fn to_document(&self) -> Option<Value> {
        Some(match self {
            Val::Null => Value::Null,
            Val::Bool(value) => Value::Bool(*value),
            Val::Int(value) => Value::Int(*value),
            Val::Double(value) => Value::Float(*value),
            Val::String(text) => Value::from(&**text),
            Val::Preserved(document) => (*document).clone(),
            Val::List(list) => Value::Array(list.document()?.0.to_vec().into()),
            Val::Map(map) => Value::Object(map.document()?.clone()),
            _ => return None,
        })
    }
}

/// The order of two numbers by value; `None` if one is not a number.
fn compare_numbers(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        // As upstream, a whole number is compared with a double as a double: large ones lose digits.
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        _ => None,
    }
}

fn equal_lists<'a>(a: &ListVal<'a>, b: &ListVal<'a>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    match a.kind() {
        Some(ListKind::Set) => return equal_sets(a, b),
        Some(ListKind::Map(keys)) => return equal_map_lists(a, b, keys),
        _ => {}
    }
    let is_declared = a.document().is_some_and(|(_, decl, _)| decl.is_some());
    for (a, b) in a.iter().zip(b.iter()) {
        match compare_parts(a, b, if is_declared { Val::equals_itself } else { Val::equals }) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            // Lists of CEL itself only look for what is different; an error is no difference.
            Err(why) if is_declared || why.is_final() => return Err(why),
            Err(_) => {}
        }
    }
    Ok(true)
}

impl<'a> Val<'a> {
    /// Equality as values of a document ask for it: without a special case for null on the other side.
    fn equals_itself(&self, other: &Val<'a>) -> Result<bool, EvalError> {
        match (self, other) {
            (Val::List(_), Val::Null) => Err(EvalError::no_such_overload()),
            (Val::Map(map), Val::Null) if map.is_declared() => Err(EvalError::no_such_overload()),
            _ => self.equals(other),
        }
    }
}

/// Compares parts of two values, which may be none of their declared types. As upstream, a scalar takes an error on the other
/// side for something else, and what has parts itself hands it on.
fn compare_parts<'a>(
    part: Result<Val<'a>, EvalError>,
    other: Result<Val<'a>, EvalError>,
    equals: impl FnOnce(&Val<'a>, &Val<'a>) -> Result<bool, EvalError>,
) -> Result<bool, EvalError> {
    match (part?, other) {
        (part, Ok(other)) => equals(&part, &other),
        (Val::List(_) | Val::Map(_), Err(why)) => Err(why),
        (_, Err(_)) => Ok(false),
    }
}

/// What makes an element of a set unique: its type and its value.
fn set_key(element: &Val<'_>) -> Result<(u8, Key), EvalError> {
    let tag = |tag: u8, key: Key| Ok((tag, key));
    match element {
        Val::List(_) | Val::Map(_) => {
            Err(EvalError::new("listSet operations are only supported on lists of scalar values"))
        }
        Val::Int(value) => tag(1, Key::Int(*value)),
        Val::Uint(value) => tag(2, Key::Large(*value)),
        Val::Double(value) => tag(3, Key::Large(if *value == 0.0 { 0 } else { value.to_bits() })),
        Val::Duration(value) => tag(4, Key::Int(*value)),
        Val::Bool(value) => tag(5, Key::Bool(*value)),
        Val::String(text) => tag(6, Key::String((&**text).into())),
        Val::Null => tag(7, Key::Int(0)),
        other => tag(8, Key::String(format!("{other:?}").into())),
    }
}

/// What is no value of its type is an element like no other.
fn equal_sets(a: &ListVal<'_>, b: &ListVal<'_>) -> Result<bool, EvalError> {
    let set = a.iter().flatten().map(|item| set_key(&item)).collect::<Result<HashSet<_>, _>>()?;
    let has_wrong = a.iter().any(|item| item.is_err());
    let mut seen = HashSet::with_capacity(set.len());
    for item in b.iter() {
        let Ok(item) = item else { return Ok(false) };
        let key = set_key(&item)?;
        if !set.contains(&key) {
            return Ok(false);
        }
        seen.insert(key);
    }
    Ok(!has_wrong && seen.len() == set.len())
}

/// Key properties of a list whose values upstream takes for a key of Go as they are. More of them are written down.
const MOST_PLAIN_KEYS: usize = 3;

/// The values of the key properties of an element, written down; nothing of what is no object.
fn document_key(element: &Value, keys: &[Box<str>]) -> Result<Option<Vec<u8>>, EvalError> {
    let Some(object) = element.as_object() else { return Ok(None) };
    let mut written = Vec::with_capacity(32);
    for key in keys {
        let name = escape(key);
        match object.get(name.as_deref().unwrap_or(key)) {
            Some(value @ (Value::Object(_) | Value::Array(_))) if keys.len() <= MOST_PLAIN_KEYS => {
                return Err(EvalError::Unhashable(go_print::type_name(value)));
            }
            Some(value) => value.write_json(&mut written),
            None => written.extend_from_slice(b"null"),
        }
        written.push(0);
    }
    Ok(Some(written))
}

fn equal_map_lists<'a>(a: &ListVal<'a>, b: &ListVal<'a>, keys: &[Box<str>]) -> Result<bool, EvalError> {
    let (Some((items, Some(decl), _)), Some((others, other_decl, _))) = (a.document(), b.document()) else {
        let (items, _, _) = a.document().unwrap_or_default();
        items.iter().try_for_each(|item| document_key(item, keys).map(drop))?;
        return equal_made_map_lists(a, b, keys);
    };
    let mut known = HashMap::with_capacity(items.len());
    for item in items {
        known.insert(document_key(item, keys)?, item);
    }
    let mut seen = HashSet::with_capacity(known.len());
    for other in others {
        let Some(key) = document_key(other, keys)? else { return Ok(false) };
        let Some(item) = known.get(&Some(key.clone())) else { return Ok(false) };
        let other = match other_decl {
            Some(decl) => view::view(other, decl),
            None => Ok(view::dynamic(other)),
        };
        if !compare_parts(view::view(item, decl), other, Val::equals_itself)? {
            return Ok(false);
        }
        seen.insert(key);
    }
    Ok(seen.len() == known.len())
}

/// Lists that `+` made of lists with keys.
fn equal_made_map_lists<'a>(a: &ListVal<'a>, b: &ListVal<'a>, keys: &[Box<str>]) -> Result<bool, EvalError> {
    let mut known = HashMap::with_capacity(a.len());
    for item in a.iter() {
        let item = item?;
        known.insert(value_key(&item, keys)?, item);
    }
    let mut seen = HashSet::with_capacity(known.len());
    for other in b.iter() {
        let other = other?;
        let key = value_key(&other, keys)?;
        let Some(item) = known.get(&key) else { return Ok(false) };
        if !item.equals(&other)? {
            return Ok(false);
        }
        seen.insert(key);
    }
    Ok(seen.len() == known.len())
}

/// The values of the key properties of an element, each of which may be none of its type.
fn value_keys(
    element: &Val<'_>,
    keys: &[Box<str>],
) -> Result<impl Iterator<Item = Result<(u8, Key), EvalError>>, EvalError> {
    let Val::Map(map) = element else { return Err(EvalError::no_such_overload()) };
    Ok(keys.iter().map(move |key| {
        let name = escape(key);
        map.get(name.as_deref().unwrap_or(key)).unwrap_or(Ok(Val::Null)).and_then(|value| set_key(&value))
    }))
}

/// The values of the key properties of an element.
fn value_key(element: &Val<'_>, keys: &[Box<str>]) -> Result<Vec<(u8, Key)>, EvalError> {
    value_keys(element, keys)?.collect()
}

/// As [`value_key`], for merging: there what is no value of its type is like what is none for the same reason.
fn merge_key(element: &Val<'_>, keys: &[Box<str>]) -> Result<Vec<(u8, Key)>, EvalError> {
    let wrong = |why: EvalError| (9, Key::String(why.to_string().into()));
    Ok(value_keys(element, keys)?.map(|key| key.unwrap_or_else(wrong)).collect())
}

fn equal_maps<'a>(a: &MapVal<'a>, b: &MapVal<'a>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    if !a.is_declared() {
        for key in a.keys() {
            let Some(other) = b.find(&key) else { return Ok(false) };
            let value = a.find(&key).unwrap_or(Ok(Val::Null));
            match compare_parts(value, other, Val::equals) {
                Ok(false) => return Ok(false),
                Err(why) if why.is_final() => return Err(why),
                Ok(true) | Err(_) => {}
            }
        }
        return Ok(true);
    }
    let Some(document) = a.document() else { return Ok(true) };
    for (name, value) in document.iter() {
        if a.declares(name) {
            match (a.get(name), b.get(name)) {
                (None, None) => {}
                (Some(value), Some(other)) => {
                    if !compare_parts(value, other, Val::equals_itself)? {
                        return Ok(false);
                    }
                }
                _ => return Ok(false),
            }
        } else {
            // A property of which nothing is known is compared as it stands.
            let Some(other) = b.document() else { return Err(EvalError::no_such_overload()) };
            if other.get(name).is_some_and(|other| !same_document(value, other)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// `a + b`: what the kind of the first list makes of it.
pub(crate) fn add_lists<'a>(a: ListVal<'a>, b: &ListVal<'a>) -> Result<ListVal<'a>, EvalError> {
    match a.kind() {
        Some(kind @ ListKind::Set) => {
            let mut items: Vec<Val<'a>> = a.items().collect();
            // What is no value of its type is an element like no other.
            let values = items.iter().filter(|item| !matches!(item, Val::Wrong(_)));
            let mut known = values.map(set_key).collect::<Result<HashSet<_>, _>>()?;
            for item in b.items() {
                if matches!(item, Val::Wrong(_)) || known.insert(set_key(&item)?) {
                    items.push(item);
                }
            }
            Ok(ListVal::owned(items).with_kind(kind))
        }
        Some(kind @ ListKind::Map(keys)) => {
            let mut items = a.to_vec()?;
            let mut places = HashMap::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                places.insert(merge_key(item, keys)?, at);
            }
            for item in b.iter() {
                let item = item?;
                match places.get(&merge_key(&item, keys)?).and_then(|at| items.get_mut(*at)) {
                    Some(place) => *place = item,
                    None => items.push(item),
                }
            }
            Ok(ListVal::owned(items).with_kind(kind))
        }
        _ => Ok(a.extend(b)),
    }
}
