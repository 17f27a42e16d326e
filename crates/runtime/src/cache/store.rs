//! The objects of one watch, and who is told when they change.

use std::any::Any;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::Value;
use tokio::sync::watch;

use crate::object::{Key, Kind, Object, controller_of};

/// A change of a cached object.
#[derive(Debug)]
pub struct Change<'a, K> {
    /// Which object.
    pub key: &'a Key,
    /// What was cached before; `None` for a new object.
    pub old: Option<&'a Arc<K>>,
    /// What is cached now; `None` when the object is gone.
    pub new: Option<&'a Arc<K>>,
}

type Subscriber<K> = Box<dyn Fn(Change<'_, K>) + Send + Sync>;

/// The cached objects of a kind, as one watch sees them. Cheap to clone; all clones are the same store.
pub struct Store<K>(Arc<Shared<K>>);

struct Shared<K> {
    kind: Kind,
    state: RwLock<State<K>>,
    subscribers: RwLock<Vec<Subscriber<K>>>,
    synced: watch::Sender<bool>,
    count: Gauge,
}

struct State<K> {
    objects: HashMap<Key, Arc<K>>,
    /// Keys by the uid of the controlling owner.
    owned: HashMap<Arc<str>, BTreeSet<Key>>,
    /// The newest resource version that the watch has delivered.
    seen: u64,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.0.kind)
    }
}

impl<K: Object> Store<K> {
    pub(crate) fn new(count: Gauge) -> Self {
        Self(Arc::new(Shared {
            kind: Kind::of::<K>(),
            state: RwLock::new(State { objects: HashMap::new(), owned: HashMap::new(), seen: 0 }),
            subscribers: RwLock::default(),
            synced: watch::Sender::new(false),
            count,
        }))
    }

    /// The object, if it is cached.
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.0.state.read().objects.get(key).cloned()
    }

    /// The objects of a namespace, or all of them, in the order of their keys.
    pub fn list(&self, namespace: Option<&str>) -> Vec<Arc<K>> {
        let state = self.0.state.read();
        let mut found: Vec<_> = state
            .objects
            .iter()
            .filter(|(key, _)| namespace.is_none() || key.namespace() == namespace)
            .collect();
        found.sort_unstable_by_key(|(key, _)| *key);
        found.into_iter().map(|(_, object)| object.clone()).collect()
    }

    /// The objects whose controlling owner has this uid, in the order of their keys.
    pub fn owned_by(&self, uid: &str) -> Vec<Arc<K>> {
        let state = self.0.state.read();
        state.owned.get(uid).into_iter().flatten().filter_map(|key| state.objects.get(key).cloned()).collect()
    }

    /// The keys of all objects.
    pub fn keys(&self) -> Vec<Key> {
        self.0.state.read().objects.keys().cloned().collect()
    }

    /// How many objects are cached.
    pub fn len(&self) -> usize {
        self.0.state.read().objects.len()
    }

    /// True when no object is cached.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True once the first complete list has arrived.
    pub fn is_synced(&self) -> bool {
        *self.0.synced.borrow()
    }

    /// Waits for the first complete list.
    pub async fn synced(&self) {
        // The sender lives as long as this store.
        let _ = self.0.synced.subscribe().wait_for(|synced| *synced).await;
    }

    pub(crate) fn sync_state(&self) -> watch::Receiver<bool> {
        self.0.synced.subscribe()
    }

    /// Calls `subscriber` for every object that is cached now, and then for every change. It runs on the watch's
    /// task: it must be short and must not wait.
    pub fn subscribe(&self, subscriber: impl Fn(Change<'_, K>) + Send + Sync + 'static) {
        let mut subscribers = self.0.subscribers.write();
        for (key, object) in &self.0.state.read().objects {
            subscriber(Change { key, old: None, new: Some(object) });
        }
        subscribers.push(Box::new(subscriber));
    }

    /// Takes in the answer to a write, so that the next reconcile sees it even if the watch is late. What the watch
    /// has already passed is ignored.
    pub fn observe(&self, object: K) {
        self.put(object, true);
    }

    /// An object that the watch has delivered.
    pub(crate) fn deliver(&self, object: K) {
        self.advance(version(&object));
        self.put(object, false);
    }

    /// A deletion that the watch has delivered.
    pub(crate) fn remove(&self, object: &K) {
        let deleted_at = version(object);
        self.advance(deleted_at);
        self.drop_key(&Key::of(object), deleted_at);
    }

    /// Everything that exists has been delivered: what was not is gone, unless it is a newer own write.
    pub(crate) fn finish_list(&self, listed: &HashSet<Key>, resource_version: &str) {
        let at = resource_version.parse().unwrap_or(0);
        self.advance(at);
        let gone: Vec<_> = self.keys().into_iter().filter(|key| !listed.contains(key)).collect();
        for key in gone {
            self.drop_key(&key, at);
        }
        self.0.synced.send_if_modified(|synced| !std::mem::replace(synced, true));
    }

    fn advance(&self, to: u64) {
        let mut state = self.0.state.write();
        state.seen = state.seen.max(to);
    }

    fn put(&self, object: K, own_write: bool) {
        let key = Key::of(&object);
        let object = Arc::new(object);
        // Held over the change and the calls: subscribers see changes in order.
        let subscribers = self.0.subscribers.read();
        let old = {
            let mut state = self.0.state.write();
            if own_write && version(&*object) <= state.seen {
                return;
            }
            if let Some(old) = state.objects.get(&key)
                && version(&**old) >= version(&*object)
                && version(&*object) > 0
            {
                return;
            }
            let old = state.objects.insert(key.clone(), object.clone());
            if let Some(old) = &old {
                state.unlink(&key, old);
            }
            if let Some(owner) = controller_of(object.meta()) {
                state.owned.entry(owner.uid.as_str().into()).or_default().insert(key.clone());
            }
            self.0.count.set(i64::try_from(state.objects.len()).unwrap_or(i64::MAX));
            old
        };
        for subscriber in &*subscribers {
            subscriber(Change { key: &key, old: old.as_ref(), new: Some(&object) });
        }
    }

    fn drop_key(&self, key: &Key, at: u64) {
        let subscribers = self.0.subscribers.read();
        let old = {
            let mut state = self.0.state.write();
            match state.objects.get(key) {
                // A newer object of the same name is not the one that was deleted.
                Some(old) if version(&**old) > at => return,
                None => return,
                Some(_) => {}
            }
            let old = state.objects.remove(key);
            if let Some(old) = &old {
                state.unlink(key, old);
            }
            self.0.count.set(i64::try_from(state.objects.len()).unwrap_or(i64::MAX));
            old
        };
        for subscriber in &*subscribers {
            subscriber(Change { key, old: old.as_ref(), new: None });
        }
    }
}

impl<K: Object> State<K> {
    fn unlink(&mut self, key: &Key, old: &K) {
        if let Some(owner) = controller_of(old.meta())
            && let Some(keys) = self.owned.get_mut(owner.uid.as_str())
        {
            keys.remove(key);
            if keys.is_empty() {
                self.owned.remove(owner.uid.as_str());
            }
        }
    }
}

/// Resource versions are numbers that grow within a resource (guaranteed since Kubernetes 1.35, KEP-5504).
fn version<K: Object>(object: &K) -> u64 {
    object.meta().resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// A store of a kind that is known only at run time: what acting on a plan needs.
pub(crate) trait AnyStore: Send + Sync {
    fn kind(&self) -> &Kind;
    /// The cached object as JSON.
    fn json(&self, key: &Key) -> Option<Result<Value, serde_json::Error>>;
    /// Takes in the answer to a write.
    fn observe_json(&self, object: Value);
    fn as_any(&self) -> &dyn Any;
}

impl<K: Object> AnyStore for Store<K> {
    fn kind(&self) -> &Kind {
        &self.0.kind
    }

    fn json(&self, key: &Key) -> Option<Result<Value, serde_json::Error>> {
        self.get(key).map(|object| serde_json::to_value(&*object))
    }

    fn observe_json(&self, object: Value) {
        // An answer that does not parse will come by the watch, which reports it.
        if let Ok(object) = serde_json::from_value(object) {
            self.observe(object);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use parking_lot::Mutex;

    use super::*;

    fn store() -> Store<ConfigMap> {
        Store::new(Gauge::default())
    }

    fn object(name: &str, version: u64) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.namespace = Some("demo".to_owned());
        object.metadata.name = Some(name.to_owned());
        object.metadata.resource_version = Some(version.to_string());
        object
    }

    fn cached(store: &Store<ConfigMap>, name: &str) -> Option<u64> {
        store.get(&Key::new("demo", name)).map(|object| version(&*object))
    }

    #[test]
    fn an_own_write_is_seen_before_the_watch_brings_it_and_once() {
        let store = store();
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        store.subscribe(move |change| tell.lock().push(change.new.map(|object| version(&**object))));
        store.deliver(object("a", 5));
        store.observe(object("a", 7));
        assert_eq!(cached(&store, "a"), Some(7));
        store.deliver(object("a", 6));
        store.deliver(object("a", 7));
        assert_eq!(cached(&store, "a"), Some(7), "the watch is behind and must not take it back");
        assert_eq!(*told.lock(), [Some(5), Some(7)]);
    }

    #[test]
    fn the_answer_to_a_write_does_not_bring_back_what_was_deleted_meanwhile() {
        let store = store();
        store.deliver(object("a", 10));
        store.remove(&object("a", 11));
        store.observe(object("a", 10));
        assert_eq!(cached(&store, "a"), None);
    }

    #[test]
    fn an_old_deletion_does_not_take_a_new_object() {
        let store = store();
        store.observe(object("a", 12));
        store.remove(&object("a", 11));
        assert_eq!(cached(&store, "a"), Some(12));
    }

    #[test]
    fn a_new_list_takes_away_what_is_gone_and_keeps_newer_own_writes() {
        let store = store();
        for name in ["gone", "kept"] {
            store.deliver(object(name, 5));
        }
        store.observe(object("new", 20));
        assert!(!store.is_synced());
        store.finish_list(&[Key::new("demo", "kept")].into(), "15");
        assert!(store.is_synced());
        assert_eq!(["gone", "kept", "new"].map(|name| cached(&store, name)), [None, Some(5), Some(20)]);
    }

    #[test]
    fn objects_are_found_by_their_owner() {
        let store = store();
        let owned_by = |owner: &str, version| {
            let owner =
                OwnerReference { uid: owner.to_owned(), controller: Some(true), ..Default::default() };
            let mut object = object("a", version);
            object.metadata.owner_references = Some(vec![owner]);
            object
        };
        store.deliver(owned_by("first", 1));
        assert_eq!(store.owned_by("first").len(), 1);
        store.deliver(owned_by("second", 2));
        assert_eq!((store.owned_by("first").len(), store.owned_by("second").len()), (0, 1));
        store.remove(&owned_by("second", 3));
        assert!(store.owned_by("second").is_empty());
        assert!(store.0.state.read().owned.is_empty(), "nothing is kept of owners without objects");
    }

    #[test]
    fn a_late_subscriber_is_told_of_what_is_there() {
        let store = store();
        store.deliver(object("a", 1));
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        store.subscribe(move |change| tell.lock().push(change.key.to_string()));
        store.deliver(object("b", 2));
        assert_eq!(*told.lock(), ["demo/a", "demo/b"]);
    }
}
