//! The list part of a document: a vector whose items may nest as deeply as they like.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::Value;
use crate::stack::{deeper, drop_within};

/// A list of a document. It is used like the vector that it holds.
#[derive(Default)]
pub struct List(Vec<Value>);

impl List {
    /// An empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The vector.
    pub fn into_vec(mut self) -> Vec<Value> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for List {
    #[inline]
    fn drop(&mut self) {
        drop_within(&mut self.0, |value| value);
    }
}

impl Clone for List {
    fn clone(&self) -> Self {
        deeper(|| Self(self.0.clone()))
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        deeper(|| self.0 == other.0)
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| self.0.fmt(f))
    }
}

impl Deref for List {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.0
    }
}

impl DerefMut for List {
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        &mut self.0
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        Self(items)
    }
}

impl FromIterator<Value> for List {
    fn from_iter<T: IntoIterator<Item = Value>>(items: T) -> Self {
        Self(items.into_iter().collect())
    }
}

impl IntoIterator for List {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a List {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a mut List {
    type Item = &'a mut Value;
    type IntoIter = std::slice::IterMut<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}
