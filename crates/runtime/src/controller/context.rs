//! What a controller is given to work with.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::shutdown::Tasks;
use futures::FutureExt;
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::worker::panic_text;
use crate::cache::{AnyStore, Store};
use crate::error::{Error, Result};
use crate::events::Recorder;
use crate::object::{Key, Kind, Object};
use crate::queue::Queue;

/// A controller's client, caches, events, queue and tasks. Cheap to clone, so that background tasks can keep one.
#[derive(Clone)]
pub struct Context(Arc<Shared>);

struct Shared {
    name: String,
    client: Client,
    stores: HashMap<TypeId, Arc<dyn AnyStore>>,
    events: Recorder,
    queue: Arc<Queue<Key>>,
    shutdown: CancellationToken,
    tasks: Tasks,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.0.name)
    }
}

impl Context {
    pub(crate) fn new(
        name: String,
        client: Client,
        stores: HashMap<TypeId, Arc<dyn AnyStore>>,
        events: Recorder,
        queue: Arc<Queue<Key>>,
        shutdown: CancellationToken,
        tasks: Tasks,
    ) -> Self {
        Self(Arc::new(Shared { name, client, stores, events, queue, shutdown, tasks }))
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The client, for what the caches do not hold and for side effects.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// The cache of a declared kind.
    ///
    /// # Errors
    /// [`Error::Undeclared`] when the controller's declaration names `K` neither as its own kind nor as one that it
    /// owns, reads or watches.
    pub fn store<K: Object>(&self) -> Result<&Store<K>> {
        self.any_store(TypeId::of::<K>())
            .and_then(|store| store.as_any().downcast_ref())
            .ok_or_else(|| Error::Undeclared { controller: self.0.name.clone(), kind: Kind::of::<K>().kind })
    }

    /// A cached object of a declared kind; for a cluster-scoped kind the namespace is empty.
    ///
    /// # Errors
    /// As [`Context::store`].
    pub fn get<K: Object>(&self, namespace: &str, name: &str) -> Result<Option<Arc<K>>> {
        Ok(self.store::<K>()?.get(&Key::new(namespace, name)))
    }

    /// The cached objects of a declared kind, in one namespace or all, in the order of their names.
    ///
    /// # Errors
    /// As [`Context::store`].
    pub fn list<K: Object>(&self, namespace: Option<&str>) -> Result<Vec<Arc<K>>> {
        Ok(self.store::<K>()?.list(namespace))
    }

    /// Takes the answer to a write into the cache, so that the next reconcile sees it at once.
    pub fn observe<K: Object>(&self, object: K) {
        if let Ok(store) = self.store::<K>() {
            store.observe(object);
        }
    }

    /// Where to send events about objects.
    pub fn events(&self) -> &Recorder {
        &self.0.events
    }

    /// Asks for a reconcile of this key, as if its object had changed.
    pub fn enqueue(&self, key: &Key) {
        self.0.queue.add(key);
    }

    /// Is cancelled when the operator shuts down. Background tasks should then come to a safe point and end.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.0.shutdown
    }

    /// Runs a task beside the reconciles. A panic in it is contained and logged under `name`. On shutdown it has the
    /// operator's grace period to end by itself, then it is aborted at its next await.
    pub fn spawn(
        &self,
        name: impl Into<String>,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let (name, controller, stop) = (name.into(), self.0.name.clone(), self.0.tasks.abort.clone());
        self.0.tasks.tracker.spawn(async move {
            let contained = AssertUnwindSafe(task).catch_unwind();
            if let Some(Err(panic)) = stop.run_until_cancelled(contained).await {
                tracing::error!(%controller, task = %name, panic = %panic_text(&*panic), "a background task panicked");
            }
        })
    }

    pub(crate) fn any_store(&self, kind: TypeId) -> Option<&Arc<dyn AnyStore>> {
        self.0.stores.get(&kind)
    }

    pub(crate) fn store_of(&self, kind: &Kind) -> Option<&Arc<dyn AnyStore>> {
        self.0.stores.values().find(|store| store.kind() == kind)
    }
}
