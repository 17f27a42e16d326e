//! One consistent state of everything, which later writes do not touch.

use std::ops::Bound;
use std::sync::Arc;

use imbl::{HashMap, OrdMap};

use crate::{Object, ResourceKey};

/// Namespace (empty for objects of the whole cluster) and name: the order of lists.
pub(crate) type Key = (Arc<str>, Arc<str>);
pub(crate) type Table = OrdMap<Key, Arc<Object>>;

/// A state of the store at a revision; cheap to clone, never changes.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub(crate) revision: u64,
    pub(crate) tables: HashMap<ResourceKey, Table>,
}

/// One object of a list, with its key.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The namespace; empty for objects of the whole cluster.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The object.
    pub object: Arc<Object>,
}

impl Snapshot {
    /// The revision of the last write in it.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// One object; `namespace` is empty for objects of the whole cluster.
    pub fn get(&self, resource: &ResourceKey, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.tables.get(resource)?.get(&(Arc::from(namespace), Arc::from(name))).cloned()
    }

    /// The number of objects of a resource.
    pub fn count(&self, resource: &ResourceKey) -> usize {
        self.tables.get(resource).map_or(0, Table::len)
    }

    /// Whether a resource has the very same objects in both states, because nothing of it was written in between.
    /// Costs the same for any number of objects; may be false for equal objects that were written again.
    pub fn shares(&self, other: &Self, resource: &ResourceKey) -> bool {
        match (self.tables.get(resource), other.tables.get(resource)) {
            (None, None) => true,
            (Some(mine), Some(theirs)) => mine.ptr_eq(theirs),
            _ => false,
        }
    }

    /// The resources that have objects.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceKey> {
        self.tables.iter().filter(|(_, table)| !table.is_empty()).map(|(key, _)| key)
    }

    /// The objects of a resource in the order of namespace and name: all, or those of one namespace; with `after`
    /// only what follows that `(namespace, name)`.
    pub fn list(
        &self,
        resource: &ResourceKey,
        namespace: Option<&str>,
        after: Option<(&str, &str)>,
    ) -> impl Iterator<Item = Entry> + use<> {
        let table = self.tables.get(resource).cloned().unwrap_or_default();
        let only: Option<Arc<str>> = namespace.map(Arc::from);
        let empty: Arc<str> = Arc::from("");
        let start = match (after, &only) {
            (Some((ns, name)), _) => Bound::Excluded((Arc::from(ns), Arc::from(name))),
            (None, Some(ns)) => Bound::Included((ns.clone(), empty)),
            (None, None) => Bound::Unbounded,
        };
        ListIter { table, next: start, only }
    }
}

/// Walks a table that it owns; each step is one search, so nothing borrows the snapshot.
struct ListIter {
    table: Table,
    next: Bound<Key>,
    only: Option<Arc<str>>,
}

impl Iterator for ListIter {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let (key, object) = self.table.range((self.next.clone(), Bound::Unbounded)).next()?;
        if self.only.as_ref().is_some_and(|only| **only != *key.0) {
            return None;
        }
        self.next = Bound::Excluded(key.clone());
        Some(Entry { namespace: key.0.clone(), name: key.1.clone(), object: object.clone() })
    }
}
