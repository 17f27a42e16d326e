//! What a controller sees: cached objects, with a record of what was read.

use std::any::TypeId;
use std::collections::{BTreeSet, HashMap, HashSet};

use parking_lot::Mutex;

use crate::object::Key;

/// An object, or all objects, of a kind.
pub(crate) type ReadItem = (TypeId, Option<Key>);

/// Which reconciles read which objects: a change of an object is a reason for exactly the keys that read it.
#[derive(Debug, Default)]
pub(crate) struct Reads(Mutex<Index>);

#[derive(Debug, Default)]
struct Index {
    readers: HashMap<ReadItem, BTreeSet<Key>>,
    items: HashMap<Key, HashSet<ReadItem>>,
}

impl Reads {
    /// Replaces what is known of the reads of `reader`.
    pub(crate) fn replace(&self, reader: &Key, items: HashSet<ReadItem>) {
        let mut index = self.0.lock();
        let index = &mut *index;
        for item in index.items.remove(reader).into_iter().flatten() {
            if let Some(readers) = index.readers.get_mut(&item) {
                readers.remove(reader);
                if readers.is_empty() {
                    index.readers.remove(&item);
                }
            }
        }
        if items.is_empty() {
            return;
        }
        for item in &items {
            index.readers.entry(item.clone()).or_default().insert(reader.clone());
        }
        index.items.insert(reader.clone(), items);
    }

    /// Adds to what is known of the reads of `reader`: what it saw while it failed counts too.
    pub(crate) fn readers(&self, kind: TypeId, key: &Key) -> Vec<Key> {
        let index = self.0.lock();
        let one = index.readers.get(&(kind, Some(key.clone())));
        let all = index.readers.get(&(kind, None));
        one.into_iter().chain(all).flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}
