//! What a controller sees: cached objects, with a record of what was read.

use std::any::TypeId;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use parking_lot::Mutex;

use crate::available::Available;
use crate::cache::Store;
use crate::controller::Context;
use crate::error::{Error, Result};
use crate::object::{Key, Kind, Object};
use crate::plan::ConditionStatus;

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

    /// The keys whose last reconcile read this object, or all objects of the kind.
    pub(crate) fn readers(&self, kind: TypeId, key: &Key) -> Vec<Key> {
        let index = self.0.lock();
        let one = index.readers.get(&(kind, Some(key.clone())));
        let all = index.readers.get(&(kind, None));
        one.into_iter().chain(all).flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// What a controller sees of the cluster while it analyzes an object: the caches of the kinds that it declared. What it
/// reads here is remembered: a change of a `reads` object brings exactly its readers back.
#[derive(Debug)]
pub struct Seen<'a> {
    context: &'a Context,
    key: &'a Key,
    uid: &'a str,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    items: HashSet<ReadItem>,
    undeclared: Option<String>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(context: &'a Context, key: &'a Key, uid: &'a str) -> Self {
        Self { context, key, uid, record: Mutex::default() }
    }

    /// The object of this name in the main object's namespace (or without one, for cluster-scoped kinds).
    ///
    /// Reading a kind that was not declared gives `None` and makes the engine refuse the plan with
    /// [`Error::Undeclared`]: what is not watched must not count as absent.
    pub fn get<K: Object>(&self, name: &str) -> Option<Arc<K>> {
        self.get_in(self.key.namespace().unwrap_or_default(), name)
    }

    /// The object of this name in another namespace.
    pub fn get_in<K: Object>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let namespace = if Kind::of::<K>().namespaced { namespace } else { "" };
        let key = Key::new(namespace, name);
        let object = self.store::<K>()?.get(&key);
        self.record.lock().items.insert((TypeId::of::<K>(), Some(key)));
        object
    }

    /// All objects of the kind in the main object's namespace, in the order of their names.
    pub fn list<K: Object>(&self) -> Vec<Arc<K>> {
        self.record.lock().items.insert((TypeId::of::<K>(), None));
        self.store::<K>().map(|store| store.list(self.key.namespace())).unwrap_or_default()
    }

    /// The objects of the kind that the main object controls, in the order of their names.
    pub fn owned<K: Object>(&self) -> Vec<Arc<K>> {
        self.store::<K>().map(|store| store.owned_by(self.uid)).unwrap_or_default()
    }

    /// Whether the object that is wanted exists and does its work.
    pub fn is_available<K: Available>(&self, wanted: &K) -> ConditionStatus {
        let name = wanted.meta().name.as_deref().unwrap_or_default();
        match self.get::<K>(name) {
            Some(object) => object.availability(),
            None => ConditionStatus::unmet("Creating", format!("{} {name} is being created", K::kind(&()))),
        }
    }

    /// The time of day; in a test with a held clock it moves with that clock. A plan that depends on it should say with
    /// `requeue_after` when it changes.
    pub fn now(&self) -> Timestamp {
        self.context.now()
    }

    fn store<K: Object>(&self) -> Option<&Store<K>> {
        match self.context.store::<K>() {
            Ok(store) => Some(store),
            Err(_) => {
                self.record.lock().undeclared.get_or_insert(Kind::of::<K>().kind);
                None
            }
        }
    }

    /// What was read, and an error if it was not declared.
    pub(crate) fn finish(self) -> (HashSet<ReadItem>, Result) {
        let Record { items, undeclared } = self.record.into_inner();
        let checked = match undeclared {
            Some(kind) => Err(Error::Undeclared { controller: self.context.name().to_owned(), kind }),
            None => Ok(()),
        };
        (items, checked)
    }
}
