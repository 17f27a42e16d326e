//! The object part of a document: a vector sorted by key, which for the handful of fields of a Kubernetes object is
//! smaller and faster than a tree or a hash table, and prints in one canonical order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use crate::Value;
use crate::stack::{deeper, drop_within};

/// An object of a document: string keys in byte order, each once.
#[derive(Default)]
pub struct Map {
    entries: Vec<(Box<str>, Value)>,
}

impl Drop for Map {
    #[inline]
    fn drop(&mut self) {
        drop_within(&mut self.entries, |(_, value)| value);
    }
}

impl Clone for Map {
    fn clone(&self) -> Self {
        deeper(|| Self { entries: self.entries.clone() })
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        deeper(|| self.entries == other.entries)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| f.debug_map().entries(self.iter()).finish())
    }
}

impl Map {
    /// An empty object.
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        // Parsers deliver canonical documents in order, so the end is where most insertions go.
        match self.entries.last() {
            Some((last, _)) if &**last < key => Err(self.entries.len()),
            _ => self.entries.binary_search_by(|(k, _)| (**k).cmp(key)),
        }
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(key).ok().and_then(|at| self.entries.get(at)).map(|(_, v)| v)
    }

    /// The value under `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let at = self.find(key).ok()?;
        self.entries.get_mut(at).map(|(_, v)| v)
    }

    /// Whether `key` is present, with any value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Puts `value` under `key` and returns what was there.
    pub fn insert(&mut self, key: impl Into<Box<str>>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.find(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// The value under `key`; when there is none, `make` fills it first.
    pub fn or_insert_with(&mut self, key: &str, make: impl FnOnce() -> Value) -> &mut Value {
        let at = match self.find(key) {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (key.into(), make()));
                at
            }
        };
        &mut self.entries[at].1
    }

    /// Takes `key` out and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.find(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// Keeps only the entries for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.entries.retain_mut(|(k, v)| keep(k, v));
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(k, v)| (&**k, v))
    }

    /// Keys and values, the values to be changed in place.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut Value)> + ExactSizeIterator {
        self.entries.iter_mut().map(|(k, v)| (&**k, v))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.entries.iter().map(|(k, _)| &**k)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.iter().map(|(_, v)| v)
    }

    /// The values in the order of their keys, to be changed in place.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Value> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, v)| v)
    }
}

impl<K: Into<Box<str>>, V: Into<Value>> FromIterator<(K, V)> for Map {
    /// Collects entries in any order; of a key that comes twice the last one stays.
    fn from_iter<T: IntoIterator<Item = (K, V)>>(iter: T) -> Self {
        let iter = iter.into_iter();
        let mut map = Builder::Small(Self { entries: Vec::with_capacity(iter.size_hint().0) });
        for (key, value) in iter {
            map.insert(key.into(), value.into());
        }
        map.finish()
    }
}

impl<K: Into<Box<str>>, V: Into<Value>> Extend<(K, V)> for Map {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, iter: T) {
        for (key, value) in iter {
            self.insert(key, value);
        }
    }
}

impl IntoIterator for Map {
    type Item = (Box<str>, Value);
    type IntoIter = std::vec::IntoIter<(Box<str>, Value)>;

    fn into_iter(mut self) -> Self::IntoIter {
        std::mem::take(&mut self.entries).into_iter()
    }
}

/// From how many entries on keys out of order go into a tree: putting them into a vector would take time by the square.
const LARGE: usize = 128;

/// An object that is being read: entries come in any order, and in any number.
#[derive(Debug)]
pub(crate) enum Builder {
    Small(Map),
    Large(BTreeMap<Box<str>, Value>),
}

impl Default for Builder {
    fn default() -> Self {
        Self::Small(Map::new())
    }
}

impl Builder {
    /// Puts `value` under `key` and returns what was there.
    pub(crate) fn insert(&mut self, key: Box<str>, value: Value) -> Option<Value> {
        self.put(key, value).map(|(_, earlier)| earlier)
    }

    /// Puts `value` under `key`; if something was there it is returned together with the key.
    pub(crate) fn put(&mut self, key: Box<str>, value: Value) -> Option<(Box<str>, Value)> {
        match self {
            Self::Small(map)
                if map.len() < LARGE || map.entries.last().is_none_or(|(last, _)| *last < key) =>
            {
                match map.find(&key) {
                    Ok(at) => {
                        map.entries.get_mut(at).map(|(_, there)| (key, std::mem::replace(there, value)))
                    }
                    Err(at) => {
                        map.entries.insert(at, (key, value));
                        None
                    }
                }
            }
            Self::Small(map) => {
                let tree: BTreeMap<_, _> = std::mem::take(map).into_iter().collect();
                *self = Self::Large(tree);
                self.put(key, value)
            }
            Self::Large(tree) => match tree.entry(key) {
                Entry::Occupied(mut there) => {
                    let earlier = there.insert(value);
                    Some((there.key().clone(), earlier))
                }
                Entry::Vacant(place) => {
                    place.insert(value);
                    None
                }
            },
        }
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        match self {
            Self::Small(map) => map.get_mut(key),
            Self::Large(tree) => tree.get_mut(key),
        }
    }

    pub(crate) fn keys(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Small(map) => Box::new(map.keys()),
            Self::Large(tree) => Box::new(tree.keys().map(|key| &**key)),
        }
    }

    pub(crate) fn finish(self) -> Map {
        match self {
            Self::Small(map) => map,
            Self::Large(tree) => Map { entries: tree.into_iter().collect() },
        }
    }
}
