//! Maps: objects and maps of a document, or maps made by an expression.

use std::collections::HashMap;
use std::sync::Arc;

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

use super::{Text, Val, view};
use crate::decl::{DeclType, ObjectType};
use crate::error::EvalError;
use crate::escape::{escape, unescape};
use crate::library::{hosts, net};

/// A map or an object. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MapVal<'a>(pub(super) Repr<'a>);

#[derive(Clone, Debug)]
pub(super) enum Repr<'a> {
    Dynamic(&'a Map),
    /// `additionalProperties` of this type.
    Map(&'a Map, &'a DeclType),
    Object(&'a Map, &'a ObjectType),
    Owned(Arc<Owned<'a>>),
}

/// Entries in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Owned<'a> {
    pub(super) entries: Vec<(Val<'a>, Val<'a>)>,
    index: HashMap<MadeKey, usize>,
}

/// A key of a map that an expression made. As in a map of Go, numbers of different types are different keys, and of what Go
/// knows by its address each is another key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum MadeKey {
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// By its bits.
    Double(u64),
    Null,
    String(Arc<str>),
    Timestamp(i64, u32),
    Duration(i64),
    Type(Arc<str>),
    /// An address or a prefix.
    Net(String),
    /// By its address; the entry keeps it where it is.
    Address(usize),
    /// Like no other.
    Unique(usize),
}

impl MadeKey {
    /// The key that a value is. `count` tells those apart that are like no other.
    fn of(value: &Val<'_>, count: usize) -> Result<Self, EvalError> {
        Ok(match value {
            Val::Bool(value) => Self::Bool(*value),
            Val::Int(value) => Self::Int(*value),
            Val::Uint(value) => Self::Uint(*value),
            Val::Double(value) if value.is_nan() => Self::Unique(count),
            Val::Double(value) => Self::Double(if *value == 0.0 { 0 } else { value.to_bits() }),
            Val::Null => Self::Null,
            Val::String(Text::Borrowed(text)) => Self::String((*text).into()),
            Val::String(Text::Shared(text)) => Self::String(Arc::clone(text)),
            Val::Timestamp(at) => Self::Timestamp(at.unix_seconds(), at.subsec_nanos()),
            Val::Duration(span) => Self::Duration(*span),
            Val::Type(ty) => Self::Type(Arc::clone(&ty.0)),
            Val::Bytes(_) => return Err(EvalError::Unhashable("types.Bytes")),
            Val::List(list) => list.address().map_or(Self::Unique(count), Self::Address),
            Val::Map(map) => map.address().map_or(Self::Unique(count), Self::Address),
            Val::Optional(None) => Self::Address(0),
            Val::Optional(Some(inner)) => Self::Address(Arc::as_ptr(inner).addr()),
            Val::Opaque(opaque) => match (net::text(value), opaque.host_type()) {
                (Some(text), _) => Self::Net(text),
                (None, hosts::SEMVER) => return Err(EvalError::Unhashable("[]semver.PRVersion")),
                (None, _) => Self::Address(Arc::as_ptr(opaque).cast::<()>().addr()),
            },
            Val::Preserved(_) | Val::Wrong(_) => Self::Unique(count),
        })
    }
}

/// A scalar of a set of constants: numbers that are equal are the same, whatever their types.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Bool(bool),
    Int(i64),
    /// Beyond what an `Int` holds.
    Large(u64),
    /// A number that is not whole, by its bits.
    Double(u64),
    Null,
    String(Arc<str>),
}

impl Key {
    /// The key that this value is, if it can be one.
    pub(crate) fn of(value: &Val<'_>) -> Option<Self> {
        Some(match value {
            Val::Bool(value) => Self::Bool(*value),
            Val::Int(value) => Self::Int(*value),
            Val::Uint(value) => i64::try_from(*value).map_or(Self::Large(*value), Self::Int),
            Val::Double(value)
                if value.fract() == 0.0 && *value >= -(2f64.powi(63)) && *value < 2f64.powi(63) =>
            {
                Self::Int(*value as i64)
            }
            Val::Double(value) if value.fract() == 0.0 && *value > 0.0 && *value < 2f64.powi(64) => {
                Self::Large(*value as u64)
            }
            Val::Double(value) => Self::Double(value.to_bits()),
            Val::Null => Self::Null,
            Val::String(Text::Borrowed(text)) => Self::String((*text).into()),
            Val::String(Text::Shared(text)) => Self::String(Arc::clone(text)),
            _ => return None,
        })
    }
}

/// Collects the entries of a new map.
#[derive(Debug, Default)]
pub(crate) struct MapBuilder<'a>(Owned<'a>);

impl<'a> MapBuilder<'a> {
    /// Goes on with the entries of a map, without copying when nobody else has it.
    pub(crate) fn from_map(map: MapVal<'a>) -> Result<Self, EvalError> {
        if let Repr::Owned(owned) = map.0 {
            return Ok(Self(Arc::unwrap_or_clone(owned)));
        }
        let mut builder = Self::default();
        for key in map.keys() {
            let value = map.find(&key).unwrap_or(Ok(Val::Null))?;
            builder.insert(key, value)?;
        }
        Ok(builder)
    }

    /// Adds an entry; false if the key is there already.
    ///
    /// # Errors
    /// When a value of this type cannot be a key.
    pub(crate) fn insert(&mut self, key: Val<'a>, value: Val<'a>) -> Result<bool, EvalError> {
        if self.0.find(&key).is_some() {
            return Ok(false);
        }
        let known = MadeKey::of(&key, self.0.entries.len())?;
        self.0.index.insert(known, self.0.entries.len());
        self.0.entries.push((key, value));
        Ok(true)
    }

    /// Adds an entry, or replaces the one that has the key.
    ///
    /// # Errors
    /// When a value of this type cannot be a key.
    pub(crate) fn put(&mut self, key: Val<'a>, value: Val<'a>) -> Result<(), EvalError> {
        let known = MadeKey::of(&key, self.0.entries.len())?;
        match self.0.index.get(&known).and_then(|at| self.0.entries.get_mut(*at)) {
            Some(entry) => *entry = (key, value),
            None => {
                self.0.index.insert(known, self.0.entries.len());
                self.0.entries.push((key, value));
            }
        }
        Ok(())
    }

    /// Takes out the entry of a key.
    pub(crate) fn remove(&mut self, key: &Val<'a>) {
        let Some(at) = MadeKey::of(key, usize::MAX).ok().and_then(|key| self.0.index.remove(&key)) else {
            return;
        };
        if at < self.0.entries.len() {
            self.0.entries.remove(at);
        }
        self.0.index.values_mut().filter(|place| **place > at).for_each(|place| *place -= 1);
    }

    pub(crate) fn build(self) -> MapVal<'a> {
        MapVal(Repr::Owned(Arc::new(self.0)))
    }
}

impl<'a> Owned<'a> {
    /// The value of a key. A number that is not there is looked for as one of another type.
    fn find(&self, key: &Val<'_>) -> Option<&Val<'a>> {
        if self.entries.is_empty() {
            return None;
        }
        let at = |key: &MadeKey| self.index.get(key);
        let found = at(&MadeKey::of(key, usize::MAX).ok()?).or_else(|| match *key {
            Val::Double(value) if value.fract() == 0.0 => {
                let int = (-(2f64.powi(63))..2f64.powi(63)).contains(&value).then_some(value as i64);
                let uint = (0.0..2f64.powi(64)).contains(&value).then_some(value as u64);
                int.and_then(|int| at(&MadeKey::Int(int))).or_else(|| at(&MadeKey::Uint(uint?)))
            }
            Val::Int(value) => at(&MadeKey::Uint(u64::try_from(value).ok()?)),
            Val::Uint(value) => at(&MadeKey::Int(i64::try_from(value).ok()?)),
            _ => None,
        })?;
        self.entries.get(*found).map(|(_, value)| value)
    }
}

impl<'a> MapVal<'a> {
    /// Where it is held, if an expression made it.
    fn address(&self) -> Option<usize> {
        if let Repr::Owned(owned) = &self.0 { Some(Arc::as_ptr(owned).addr()) } else { None }
    }

    pub(super) const fn dynamic(map: &'a Map) -> Self {
        Self(Repr::Dynamic(map))
    }

    pub(super) const fn of_map(map: &'a Map, values: &'a DeclType) -> Self {
        Self(Repr::Map(map, values))
    }

    pub(super) fn of_object(map: &'a Map, object: &'a ObjectType) -> Self {
        Self(Repr::Object(map, object))
    }

    /// The number of entries; of an object, the number of properties, also those that expressions do not see.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Dynamic(map) | Repr::Map(map, _) | Repr::Object(map, _) => map.len(),
            Repr::Owned(owned) => owned.entries.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key that is a string; of an object the key is an escaped name.
    ///
    /// # Errors
    /// When the value is not of its declared type.
    pub fn get(&self, key: &str) -> Option<Result<Val<'a>, EvalError>> {
        match &self.0 {
            Repr::Dynamic(map) => map.get(key).map(|value| Ok(view::dynamic(value))),
            Repr::Map(map, values) => map.get(key).map(|value| view::view(value, values)),
            Repr::Object(map, object) => {
                let name = unescape(key)?;
                // A property that is null is as good as missing.
                let value = map.get(&name).filter(|value| !value.is_null())?;
                Some(view::view(value, object.property(&name)?.ty()))
            }
            Repr::Owned(owned) => {
                let at = owned.index.get(&MadeKey::String(key.into()))?;
                owned.entries.get(*at).map(|(_, value)| Ok(value.clone()))
            }
        }
    }

    /// The value of any key.
    pub(crate) fn find(&self, key: &Val<'_>) -> Option<Result<Val<'a>, EvalError>> {
        match (&self.0, key) {
            (Repr::Owned(owned), key) => owned.find(key).map(|value| Ok(value.clone())),
            (_, Val::String(key)) => self.get(key),
            // Looking up anything but a string in what has only strings is a mistake, not an absence.
            (Repr::Dynamic(_), _) => None,
            _ => Some(Err(EvalError::no_such_overload())),
        }
    }

    /// All keys.
    pub fn keys(&self) -> Vec<Val<'a>> {
        match &self.0 {
            Repr::Dynamic(map) | Repr::Map(map, _) => {
                map.keys().map(|key| Val::String(Text::Borrowed(key))).collect()
            }
            Repr::Object(map, object) => {
                let known = map.keys().filter(|key| object.property(key).is_some());
                known.map(|key| escape(key).map_or_else(|| Val::text(key), |key| Val::text(&*key))).collect()
            }
            Repr::Owned(owned) => owned.entries.iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    /// The document behind the map, if it comes from one.
    pub(super) fn document(&self) -> Option<&'a Map> {
        match &self.0 {
            Repr::Dynamic(map) | Repr::Map(map, _) | Repr::Object(map, _) => Some(map),
            Repr::Owned(_) => None,
        }
    }

    /// Whether it is of a document with a declared type.
    pub(crate) const fn is_declared(&self) -> bool {
        matches!(self.0, Repr::Map(..) | Repr::Object(..))
    }

    /// Whether a property has a declared type; everything has in a map.
    pub(super) fn declares(&self, property: &str) -> bool {
        if let Repr::Object(_, object) = &self.0 { object.property(property).is_some() } else { true }
    }
}

/// A document as it stands, for lists that compare what has no schema.
pub(super) fn same_document(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Go's semantic equality does not tell an absent list or map from an empty one.
        (Value::Null, Value::Array(items)) | (Value::Array(items), Value::Null) => items.is_empty(),
        (Value::Null, Value::Object(map)) | (Value::Object(map), Value::Null) => map.is_empty(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && deeper(|| a.iter().zip(b).all(|(a, b)| same_document(a, b)))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && deeper(|| a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_document(a, b))))
        }
        (a, b) => a == b,
    }
}
