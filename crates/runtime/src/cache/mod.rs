//! The shared cache: one watch for each kind, selector and namespace, however many controllers look at it.

mod health;
mod store;
mod watch;

use std::any::TypeId;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::health::HealthCell;
pub use self::health::{Health, WatchStatus};
pub(crate) use self::store::AnyStore;
pub use self::store::{Change, Store};
use self::watch::Watch;
use crate::metrics::Metrics;
use crate::object::{Kind, Object};

/// Which objects of a kind to cache. The default is all objects in all namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only objects that this label selector matches, for example `app=web,tier!=test`.
    pub labels: Option<String>,
    /// Only objects that this field selector matches, for example `metadata.name=web`.
    pub fields: Option<String>,
}

impl Selection {
    fn describe(&self, kind: &Kind) -> String {
        let mut text = kind.to_string();
        for (name, part) in
            [("namespace", &self.namespace), ("labels", &self.labels), ("fields", &self.fields)]
        {
            if let Some(part) = part {
                text.push_str(&format!(" {name}={part}"));
            }
        }
        text
    }
}

/// The names under which this operator applies objects. Of the managed fields, which the cache strips, only the
/// entries of these names are kept: they tell what was applied the last time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managers(Arc<RwLock<BTreeSet<String>>>);

impl Managers {
    fn strip(&self, meta: &mut ObjectMeta) {
        let Some(entries) = &mut meta.managed_fields else { return };
        let ours = self.0.read();
        entries.retain(|entry| {
            entry.operation.as_deref() == Some("Apply")
                && entry.subresource.as_deref().unwrap_or_default().is_empty()
                && entry.manager.as_ref().is_some_and(|manager| ours.contains(manager))
        });
        if entries.is_empty() {
            meta.managed_fields = None;
        }
    }
}

/// The shared cache of an operator. Cheap to clone; all clones are the same cache.
#[derive(Clone)]
pub struct Cache(Arc<Shared>);

struct Shared {
    client: Client,
    watches: Mutex<HashMap<(TypeId, Selection), Entry>>,
    managers: Managers,
    metrics: Metrics,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

struct Entry {
    kind: Kind,
    store: Arc<dyn AnyStore>,
    health: Arc<HealthCell>,
    synced: tokio::sync::watch::Receiver<bool>,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.statuses().iter().map(ToString::to_string)).finish()
    }
}

impl Cache {
    /// An empty cache, whose watches use `client` and end with `shutdown`.
    pub fn new(client: Client, metrics: Metrics, shutdown: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            client,
            watches: Mutex::default(),
            managers: Managers::default(),
            metrics,
            shutdown,
            tasks: TaskTracker::new(),
        }))
    }

    /// The store of the selected objects. The first call starts the watch (which needs a tokio runtime); later calls
    /// with the same kind and selection share it.
    pub fn watch<K: Object>(&self, selection: &Selection) -> Store<K> {
        let mut selection = selection.clone();
        let kind = Kind::of::<K>();
        if !kind.namespaced {
            selection.namespace = None;
        }
        let mut watches = self.0.watches.lock();
        let id = (TypeId::of::<K>(), selection.clone());
        if let Some(store) =
            watches.get(&id).and_then(|entry| entry.store.as_any().downcast_ref::<Store<K>>())
        {
            return store.clone();
        }
        let gauge = self.0.metrics.cached_objects(&kind.to_string(), selection.namespace.as_deref());
        let store = Store::<K>::new(gauge);
        let health = Arc::new(HealthCell::default());
        let watch = Watch {
            client: self.0.client.clone(),
            selection,
            store: store.clone(),
            managers: self.0.managers.clone(),
            health: health.clone(),
        };
        self.0.tasks.spawn(watch.run(self.0.shutdown.clone()));
        let synced = store.sync_state();
        watches.insert(id, Entry { kind, store: Arc::new(store.clone()), health, synced });
        store
    }

    /// How each watch is doing, in the order of the resources' names.
    pub fn statuses(&self) -> Vec<WatchStatus> {
        let watches = self.0.watches.lock();
        let mut statuses: Vec<_> = watches
            .iter()
            .map(|((_, selection), entry)| {
                let (health, undecodable) = entry.health.get();
                WatchStatus {
                    resource: entry.kind.to_string(),
                    namespace: selection.namespace.clone(),
                    synced: *entry.synced.borrow(),
                    health,
                    undecodable,
                }
            })
            .collect();
        statuses.sort_by(|a, b| (&a.resource, &a.namespace).cmp(&(&b.resource, &b.namespace)));
        statuses
    }

    /// Waits until every watch that has been started has its first complete list.
    pub async fn synced(&self) {
        let waits: Vec<_> = self.0.watches.lock().values().map(|entry| entry.synced.clone()).collect();
        for mut wait in waits {
            // The store lives as long as the cache.
            let _ = wait.wait_for(|synced| *synced).await;
        }
    }

    /// Keeps the managed fields of this manager, which tell what it applied.
    pub(crate) fn keep_manager(&self, name: &str) {
        self.0.managers.0.write().insert(name.to_owned());
    }

    /// Waits until the watches have ended; the token given to [`Cache::new`] ends them.
    pub(crate) async fn closed(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}
