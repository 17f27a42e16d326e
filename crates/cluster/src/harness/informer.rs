//! What there is of each resource, kept up to date by one watch, shared by all controllers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use parking_lot::{Mutex, RwLock};
use pilothouse_apiserver::{Client, WatchEventKind, WatchOptions};
use pilothouse_value::{Gvr, Status, Value, object};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An object as all share it.
pub(crate) type Object = Arc<Value>;

/// The longest wait before a watch that failed is opened again.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// A watch that ends sooner than this has failed, whatever it says: a server that stops ends each at once.
const SHORTEST_WATCH: Duration = Duration::from_secs(1);

/// What happened to one object: `old` is missing when it is new, `new` when it is gone.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) old: Option<Object>,
    pub(crate) new: Option<Object>,
}

impl Change {
    /// The object as it is, or as it last was.
    pub(crate) fn latest(&self) -> Option<&Object> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// What it is and what it was.
    pub(crate) fn both(&self) -> impl Iterator<Item = &Object> {
        self.new.iter().chain(&self.old)
    }
}

type Handler = Box<dyn Fn(&Change) + Send + Sync>;

/// The objects of one resource.
pub(crate) struct Informer {
    resource: Gvr,
    cache: RwLock<Cache>,
    /// Held while a change is handed out, so that a new handler sees each object once.
    handlers: Mutex<Vec<Handler>>,
    progress: watch::Sender<Progress>,
    stop: CancellationToken,
}

#[derive(Default)]
struct Cache {
    by_namespace: BTreeMap<String, BTreeMap<String, Object>>,
}

/// How far an informer has come.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Everything that was there at first has been seen.
    synced: bool,
    /// The resource version of the latest event.
    revision: u64,
}

impl std::fmt::Debug for Informer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Informer").field("resource", &self.resource).finish_non_exhaustive()
    }
}

impl Informer {
    fn new(resource: Gvr, stop: CancellationToken) -> Self {
        Self {
            resource,
            cache: RwLock::default(),
            handlers: Mutex::default(),
            progress: watch::Sender::new(Progress::default()),
            stop,
        }
    }

    /// Calls `handler` for each object that is there, and for each change from now on. It must not block.
    pub(crate) fn on_change(&self, handler: impl Fn(&Change) + Send + Sync + 'static) {
        let mut handlers = self.handlers.lock();
        for object in self.list(None) {
            handler(&Change { old: None, new: Some(object) });
        }
        handlers.push(Box::new(handler));
    }

    /// One object; the namespace of cluster-scoped ones is empty.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Object> {
        self.cache.read().by_namespace.get(namespace)?.get(name).cloned()
    }

    /// All objects, or those of a namespace, in order.
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<Object> {
        let cache = self.cache.read();
        match namespace {
            Some(namespace) => cache
                .by_namespace
                .get(namespace)
                .into_iter()
                .flat_map(|objects| objects.values().cloned())
                .collect(),
            None => cache.by_namespace.values().flat_map(|objects| objects.values().cloned()).collect(),
        }
    }

    /// Waits until everything that was there at first has been seen.
    pub(crate) async fn synced(&self) {
        self.until(|progress| progress.synced).await;
    }

    /// Waits until a write of this revision has been seen.
    pub(crate) async fn seen(&self, revision: u64) {
        self.until(|progress| progress.revision >= revision).await;
    }

    /// Waits until an object is gone, or is known to be on its way.
    pub(crate) async fn gone(&self, namespace: &str, name: &str, uid: &str) {
        let gone = || {
            self.get(namespace, name)
                .is_none_or(|o| object::uid(&o) != uid || object::deletion_timestamp(&o).is_some())
        };
        self.until(|_| gone()).await;
    }

    /// Waits until an object is there.
    pub(crate) async fn there(&self, namespace: &str, name: &str) {
        self.until(|_| self.get(namespace, name).is_some()).await;
    }

    async fn until(&self, reached: impl FnMut(&Progress) -> bool) {
        // The sender lives as long as `self`, so this ends by the condition alone.
        let _ = self.progress.subscribe().wait_for(reached).await;
    }

    fn apply(&self, new: Object) {
        let (namespace, name) = key(&new);
        let handlers = self.handlers.lock();
        let old = self.cache.write().by_namespace.entry(namespace).or_default().insert(name, new.clone());
        self.progress(revision(&new));
        let change = Change { old, new: Some(new) };
        handlers.iter().for_each(|handler| handler(&change));
    }

    fn remove(&self, namespace: &str, name: &str, last: Option<&Object>) {
        let handlers = self.handlers.lock();
        let old = {
            let mut cache = self.cache.write();
            let Some(objects) = cache.by_namespace.get_mut(namespace) else { return };
            let old = objects.remove(name);
            if objects.is_empty() {
                cache.by_namespace.remove(namespace);
            }
            old
        };
        if let Some(last) = last {
            self.progress(revision(last));
        }
        if let Some(old) = old {
            let change = Change { old: Some(last.cloned().unwrap_or(old)), new: None };
            handlers.iter().for_each(|handler| handler(&change));
        }
    }

    fn progress(&self, revision: u64) {
        self.progress.send_modify(|progress| progress.revision = progress.revision.max(revision));
    }

    /// Follows the resource until it is told to stop.
    async fn run(self: Arc<Self>, client: Client) {
        let mut version = None;
        let mut failures = 0;
        loop {
            let begun = Instant::now();
            let Some(followed) = self.stop.run_until_cancelled(self.follow(&client, &mut version)).await
            else {
                return;
            };
            if let Err(status) = &followed {
                // What the watch went on from may be gone: begin anew with everything.
                version = None;
                tracing::debug!(resource = %self.resource, error = %status.message, "a watch failed");
            }
            if followed.is_ok() && begun.elapsed() >= SHORTEST_WATCH {
                failures = 0;
                continue;
            }
            failures += 1;
            let delay = Duration::from_millis(5 << failures.min(13)).min(LONGEST_BACKOFF);
            if self.stop.run_until_cancelled(tokio::time::sleep(delay)).await.is_none() {
                return;
            }
        }
    }

    async fn follow(&self, client: &Client, version: &mut Option<String>) -> Result<(), Status> {
        let initial = version.is_none();
        let options = WatchOptions {
            resource_version: version.clone(),
            resource_version_match: initial.then(|| "NotOlderThan".to_owned()),
            send_initial_events: initial.then_some(true),
            allow_bookmarks: true,
            ..WatchOptions::default()
        };
        let mut events = Box::pin(client.watch(&self.resource, None, &options).await?);
        let mut first = initial.then(HashSet::new);
        while let Some(event) = events.next().await {
            let event_version = object::resource_version(&event.object).to_owned();
            if self.handle(event.kind, event.object, &mut first)?.is_break() {
                first = None;
            }
            // Until all that was there has been seen, a watch that breaks must begin anew.
            if first.is_none() {
                *version = Some(event_version);
            }
        }
        Ok(())
    }

    /// Takes in one event; breaks when it is the one that ends the initial ones.
    fn handle(
        &self,
        kind: WatchEventKind,
        object: Object,
        first: &mut Option<HashSet<(String, String)>>,
    ) -> Result<ControlFlow<()>, Status> {
        match kind {
            WatchEventKind::Added | WatchEventKind::Modified => {
                if let Some(first) = first {
                    first.insert(key(&object));
                }
                self.apply(object);
            }
            WatchEventKind::Deleted => {
                let (namespace, name) = key(&object);
                self.remove(&namespace, &name, Some(&object));
            }
            WatchEventKind::Bookmark => {
                if let Some(first) = first
                    && object::annotation(&object, "k8s.io/initial-events-end") == Some("true")
                {
                    self.keep_only(first);
                    self.progress(revision(&object));
                    self.progress.send_modify(|progress| progress.synced = true);
                    return Ok(ControlFlow::Break(()));
                }
            }
            WatchEventKind::Error => {
                let code = object.i64_at(&["code"]).and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
                let text = |field: &str| object.str_at(&[field]).unwrap_or_default();
                return Err(Status::new(code, text("reason"), text("message")));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Removes what the server no longer has, after a watch that began anew.
    fn keep_only(&self, keep: &HashSet<(String, String)>) {
        let gone: Vec<_> = self.list(None).iter().map(key).filter(|key| !keep.contains(key)).collect();
        for (namespace, name) in gone {
            self.remove(&namespace, &name, None);
        }
    }
}

fn key(object: &Object) -> (String, String) {
    (object::namespace(object).unwrap_or_default().to_owned(), object::name(object).to_owned())
}

/// The revision that a resource version is; 0 if it is none.
pub(crate) fn revision(object: &Value) -> u64 {
    object::resource_version(object).parse().unwrap_or_default()
}

/// The informers of one cluster, each started when it is first asked for.
pub(crate) struct Informers {
    client: Client,
    tasks: TaskTracker,
    stop: CancellationToken,
    /// By group and resource: all versions of a resource are the same objects.
    running: Mutex<HashMap<(String, String), Arc<Informer>>>,
}

impl std::fmt::Debug for Informers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Informers").field("running", &self.running.lock().len()).finish_non_exhaustive()
    }
}

impl Informers {
    pub(crate) fn new(client: Client, tasks: TaskTracker, stop: CancellationToken) -> Self {
        Self { client, tasks, stop, running: Mutex::default() }
    }

    /// The informer of a resource.
    pub(crate) fn of(&self, resource: &Gvr) -> Arc<Informer> {
        let mut running = self.running.lock();
        let key = (resource.group.clone(), resource.resource.clone());
        running
            .entry(key)
            .or_insert_with(|| {
                let informer = Arc::new(Informer::new(resource.clone(), self.stop.child_token()));
                self.tasks.spawn(informer.clone().run(self.client.clone()));
                informer
            })
            .clone()
    }

    /// The informer of a resource, if it is running.
    pub(crate) fn running(&self, resource: &Gvr) -> Option<Arc<Informer>> {
        self.running.lock().get(&(resource.group.clone(), resource.resource.clone())).cloned()
    }

    /// Stops an informer whose resource is no longer served; what it had is gone.
    pub(crate) fn forget(&self, resource: &Gvr) {
        let key = (resource.group.clone(), resource.resource.clone());
        let Some(informer) = self.running.lock().remove(&key) else { return };
        informer.stop.cancel();
        informer.keep_only(&HashSet::new());
    }
}
