//! What a controller is given to work with.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::shutdown::Tasks;
use futures::FutureExt;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::worker::panic_text;
use crate::cache::{AnyStore, Store};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::events::Recorder;
use crate::object::{Key, Kind, Object};
use crate::queue::Queue;

/// A controller's client, caches, events, queue and tasks. Cheap to clone, so that background tasks can keep one.
#[derive(Clone)]
pub struct Context(Arc<Shared>);

/// What contexts share.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) finalizer: Option<String>,
    pub(crate) client: Client,
    pub(crate) stores: HashMap<TypeId, Arc<dyn AnyStore>>,
    pub(crate) events: Recorder,
    pub(crate) queue: Arc<Queue<Key>>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: Tasks,
    pub(crate) clock: Clock,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.0.name)
    }
}

impl Context {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
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

    /// The time of day; in a test with a held clock it moves with that clock.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Where to send events about objects.
    pub fn events(&self) -> &Recorder {
        &self.0.events
    }

    /// Makes sure that the object cannot vanish before [`Context::remove_finalizer`]. Returns the object as it is then.
    /// Without a finalizer in the declaration it does nothing.
    ///
    /// # Errors
    /// As the request; a conflict when the object has changed since it was read.
    pub async fn add_finalizer<K: Object>(&self, object: Arc<K>) -> Result<Arc<K>> {
        let Some(finalizer) = &self.0.finalizer else { return Ok(object) };
        let mut all = object.meta().finalizers.clone().unwrap_or_default();
        if all.contains(finalizer) || object.meta().deletion_timestamp.is_some() {
            return Ok(object);
        }
        all.push(finalizer.clone());
        let answer = self.set_finalizers(&*object, all, "add the finalizer to").await?;
        self.observe(answer.clone());
        Ok(Arc::new(answer))
    }

    /// Lets the object vanish, as far as this controller is concerned.
    ///
    /// # Errors
    /// As the request; a conflict when the object has changed since it was read.
    pub async fn remove_finalizer<K: Object>(&self, object: &K) -> Result {
        if !self.has_finalizer(object) {
            return Ok(());
        }
        let mut rest = object.meta().finalizers.clone().unwrap_or_default();
        rest.retain(|known| Some(known) != self.0.finalizer.as_ref());
        match self.set_finalizers(object, rest, "remove the finalizer from").await {
            Err(Error::Request { source: kube::Error::Api(status), .. }) if status.code == 404 => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    /// True when this controller's finalizer is on the object.
    pub fn has_finalizer<K: Object>(&self, object: &K) -> bool {
        let mut all = object.meta().finalizers.iter().flatten();
        self.0.finalizer.as_ref().is_some_and(|ours| all.any(|known| known == ours))
    }

    async fn set_finalizers<K: Object>(
        &self,
        object: &K,
        all: Vec<String>,
        action: &'static str,
    ) -> Result<K> {
        let (kind, key) = (Kind::of::<K>(), Key::of(object));
        let patch =
            json!({"metadata": {"finalizers": all, "resourceVersion": object.meta().resource_version}});
        let parameters = PatchParams { field_manager: Some(self.0.name.clone()), ..PatchParams::default() };
        let request = Request::new(kind.path(key.namespace()))
            .patch(key.name(), &parameters, &Patch::Merge(&patch))
            .map_err(kube::Error::BuildRequest)?;
        self.0.client.request(request).await.map_err(|source| Error::Request {
            action,
            object: format!("{kind} {key}"),
            source,
        })
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
