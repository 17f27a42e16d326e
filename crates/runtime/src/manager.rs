//! The manager: runs the controllers of an operator over one cache, one client and one shutdown.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::cache::{AnyStore, Cache, Change, Selection, WatchStatus};
use crate::client::observed;
use crate::clock::Clock;
use crate::connect::connect;
use crate::controller::{Context, Controller, Planned, Reconciler, Settings, Shared, Worker};
use crate::declaration::{Declaration, merge_rules};
use crate::error::{Error, Result};
use crate::events::Recorder;
use crate::metrics::Metrics;
use crate::object::Object;
use crate::probes::Probes;
use crate::queue::{Load, Queue};
use crate::shutdown::{self, Tasks};

/// How long running work may go on after the shutdown was asked for.
const GRACE: Duration = Duration::from_secs(30);
/// How long a start waits for the caches (as controller-runtime's `CacheSyncTimeout`).
const SYNC: Duration = Duration::from_secs(120);

/// An operator that is being put together: controllers, and how to run them.
pub struct Manager {
    client: Client,
    namespace: Option<String>,
    probes: Option<SocketAddr>,
    grace: Duration,
    sync: Duration,
    controllers: Vec<Box<dyn Start>>,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Manager {
    /// A manager whose controllers talk through `client`.
    pub fn new(client: Client) -> Self {
        Self { client, namespace: None, probes: None, grace: GRACE, sync: SYNC, controllers: Vec::new() }
    }

    /// A manager for the cluster that KUBECONFIG names or that this process runs in.
    ///
    /// # Errors
    /// [`Error::Config`] when neither can be found.
    pub async fn from_env() -> Result<Self> {
        let config = kube::Config::infer().await.map_err(|error| Error::Config(error.into()))?;
        connect(config).map(Self::new).map_err(|error| Error::Config(error.into()))
    }

    /// Adds a controller whose logic is a function from what is seen to a plan.
    #[must_use]
    pub fn controller<C: Controller>(self, controller: C) -> Self {
        let declaration = Declaration::of::<C>();
        let planned = Planned::new(controller, &declaration);
        self.add(planned, declaration)
    }

    /// Adds a controller that acts by itself.
    #[must_use]
    pub fn reconciler<R: Reconciler>(self, reconciler: R) -> Self {
        let mut declaration = Declaration::new();
        R::declare(&mut declaration);
        self.add(reconciler, declaration)
    }

    fn add<R: Reconciler>(mut self, reconciler: R, declaration: Declaration<R::Resource>) -> Self {
        self.controllers.push(Box::new(Declared { reconciler: Arc::new(reconciler), declaration }));
        self
    }

    /// Looks at one namespace only. The default is all.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Serves `/metrics`, `/healthz` and `/readyz` on this address; port 0 chooses a free one. The default is not to.
    #[must_use]
    pub fn probes(mut self, address: SocketAddr) -> Self {
        self.probes = Some(address);
        self
    }

    /// How long running reconciles and background tasks may go on after the shutdown was asked for; the default is
    /// 30 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long the start waits for the caches; the default is 2 minutes.
    #[must_use]
    pub fn sync_timeout(mut self, limit: Duration) -> Self {
        self.sync = limit;
        self
    }

    /// The RBAC rules that the controllers need together.
    pub fn rules(&self) -> Vec<PolicyRule> {
        let rules: Vec<_> = self.controllers.iter().flat_map(|controller| controller.rules()).collect();
        merge_rules(&rules)
    }

    /// Runs until SIGTERM or SIGINT, then shuts down in good order.
    ///
    /// # Errors
    /// As [`Manager::start`].
    pub async fn run(self) -> Result {
        let running = tokio::select! {
            running = self.start() => running?,
            _ = shutdown::signal() => return Ok(()),
        };
        if let Err(error) = shutdown::signal().await {
            tracing::error!(%error, "cannot listen to signals; shutting down");
        }
        running.shutdown().await;
        Ok(())
    }

    /// Fills the caches and starts the controllers. Returns when all of them work.
    ///
    /// # Errors
    /// [`Error::Listen`] when the address of the probes is taken; [`Error::NotReady`] when the caches cannot be
    /// filled, with the reason of each watch; the error of a controller's own start.
    pub async fn start(self) -> Result<Running> {
        let metrics = Metrics::new();
        let shutdown = CancellationToken::new();
        // Watches end after the controllers: what still runs sees what it writes.
        let watches = CancellationToken::new();
        let tasks = Tasks::default();
        let client = observed(self.client, metrics.clone());
        let cache = Cache::new(client.clone(), metrics.clone(), watches.clone());
        let mut running = Running {
            cache: cache.clone(),
            metrics: metrics.clone(),
            shutdown: shutdown.clone(),
            watches,
            tasks: tasks.clone(),
            grace: self.grace,
            probes: None,
            served: CancellationToken::new(),
            loads: Vec::new(),
            resyncs: Vec::new(),
        };
        if let Some(address) = self.probes {
            let probes =
                Probes { metrics: metrics.clone(), cache: cache.clone(), shutdown: shutdown.clone() };
            running.probes = Some(probes.listen(address, running.served.clone()).await?);
        }
        let clock = Clock::default();
        let events = Recorder::start(client.clone(), metrics.clone(), &tasks, clock);
        let base = Base { clock, client, cache, metrics, events, shutdown, tasks, namespace: self.namespace };
        let ready: Vec<_> =
            self.controllers.into_iter().map(|controller| controller.connect(&base)).collect();
        // Only controllers that run keep the recorder: its task ends with them.
        drop(base);
        match running.go(ready, self.sync).await {
            Ok(()) => Ok(running),
            Err(error) => {
                running.shutdown().await;
                Err(error)
            }
        }
    }
}

/// What all controllers of a manager share.
struct Base {
    clock: Clock,
    client: Client,
    cache: Cache,
    metrics: Metrics,
    events: Recorder,
    shutdown: CancellationToken,
    tasks: Tasks,
    namespace: Option<String>,
}

/// A controller whose watches run.
struct Connected {
    load: watch::Receiver<Load>,
    resync: Box<dyn Fn() + Send + Sync>,
    /// Starts it, once the caches are filled.
    go: std::pin::Pin<Box<dyn Future<Output = Result> + Send>>,
}

trait Start: Send {
    fn rules(&self) -> Vec<PolicyRule>;
    fn connect(self: Box<Self>, base: &Base) -> Connected;
}

struct Declared<R: Reconciler> {
    reconciler: Arc<R>,
    declaration: Declaration<R::Resource>,
}

impl<R: Reconciler> Start for Declared<R> {
    fn rules(&self) -> Vec<PolicyRule> {
        self.declaration.rules()
    }

    fn connect(self: Box<Self>, base: &Base) -> Connected {
        let Self { reconciler, declaration } = *self;
        let name = declaration.name.clone();
        base.cache.keep_manager(&name);
        let queue = Queue::new(Backoff::KEYS, base.metrics.queue(&name));
        // Weak: the metrics may outlive the operator.
        let measured = Arc::downgrade(&queue);
        base.metrics.before_reading(move || {
            if let Some(queue) = measured.upgrade() {
                queue.measure();
            }
        });
        let selection = Selection { namespace: base.namespace.clone(), ..declaration.selection.clone() };
        let store = base.cache.watch::<R::Resource>(&selection);
        let reads = declaration.reads.clone();
        let mut stores: HashMap<TypeId, Arc<dyn AnyStore>> = HashMap::new();
        stores.insert(TypeId::of::<R::Resource>(), Arc::new(store.clone()));
        for (kind, connect) in &declaration.connections {
            stores.insert(*kind, connect(&base.cache, base.namespace.as_deref(), &queue, &reads));
        }
        let every_change = declaration.every_change;
        store.subscribe({
            let queue = queue.clone();
            move |change| {
                if every_change || is_reason(&change) {
                    queue.add(change.key);
                }
            }
        });
        let context = Context::new(Shared {
            name: name.clone(),
            finalizer: declaration.finalizer_name(),
            client: base.client.clone(),
            stores,
            events: base.events.named(&name),
            queue: queue.clone(),
            shutdown: base.shutdown.clone(),
            tasks: base.tasks.clone(),
            clock: base.clock,
        });
        let worker = Worker {
            metrics: base.metrics.controller(&name, declaration.concurrency),
            settings: Settings { name, concurrency: declaration.concurrency, timeout: declaration.timeout },
            reconciler: reconciler.clone(),
            context: context.clone(),
            store: store.clone(),
            queue: queue.clone(),
            shutdown: base.shutdown.clone(),
            abort: base.tasks.abort.clone(),
        };
        let tracker = base.tasks.tracker.clone();
        Connected {
            load: queue.load(),
            resync: Box::new(move || store.keys().iter().for_each(|key| queue.add(key))),
            go: Box::pin(async move {
                reconciler.start(&context).await?;
                tracker.spawn(worker.run());
                Ok(())
            }),
        }
    }
}

/// Whether a change of a controller's own kind is a reason to reconcile: all but those of nothing else than status.
fn is_reason<K: Object>(change: &Change<'_, K>) -> bool {
    let (Some(old), Some(new)) = (change.old, change.new) else { return true };
    let (old, new) = (old.meta(), new.meta());
    // Kinds without generations tell no difference between spec and status.
    new.generation.is_none()
        || old.generation != new.generation
        || old.uid != new.uid
        || old.labels != new.labels
        || old.annotations != new.annotations
        || old.deletion_timestamp != new.deletion_timestamp
        || old.finalizers != new.finalizers
        || old.owner_references != new.owner_references
}

/// An operator that runs. Dropping it stops nothing: call [`Running::shutdown`].
pub struct Running {
    cache: Cache,
    metrics: Metrics,
    shutdown: CancellationToken,
    watches: CancellationToken,
    tasks: Tasks,
    grace: Duration,
    probes: Option<SocketAddr>,
    /// Cancelled last: probes are answered until the very end.
    served: CancellationToken,
    loads: Vec<watch::Receiver<Load>>,
    resyncs: Vec<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl Running {
    /// Where metrics and probes are served, if they are.
    pub fn probes(&self) -> Option<SocketAddr> {
        self.probes
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How each watch is doing.
    pub fn watches(&self) -> Vec<WatchStatus> {
        self.cache.statuses()
    }

    /// How many writing requests the operator has sent so far.
    pub fn writes(&self) -> u64 {
        self.metrics.writes()
    }

    /// True when no controller works, nothing waits and nothing is to be tried again after a failure.
    pub fn is_idle(&self) -> bool {
        self.loads.iter().all(|load| load.borrow().is_idle())
    }

    /// Waits until the controllers are idle (see [`Running::is_idle`]). The caller bounds the wait.
    pub async fn idle(&self) {
        loop {
            for load in &self.loads {
                // The queue lives as long as its controller; a closed one has nothing to do.
                let _ = load.clone().wait_for(Load::is_idle).await;
            }
            if self.is_idle() {
                return;
            }
        }
    }

    /// Asks every controller to reconcile all its objects again.
    pub fn resync(&self) {
        for resync in &self.resyncs {
            resync();
        }
    }

    /// Stops in good order: takes no new work, gives running reconciles and background tasks the grace period, sends
    /// the events that wait, ends the watches. Nothing runs any more when it returns.
    pub async fn shutdown(self) {
        let Self { cache, shutdown, watches, tasks, grace, served, .. } = self;
        shutdown.cancel();
        tasks.tracker.close();
        if tokio::time::timeout(grace, tasks.tracker.wait()).await.is_err() {
            tracing::warn!(grace_seconds = grace.as_secs(), "some work did not end within the grace period");
        }
        tasks.abort.cancel();
        tasks.tracker.wait().await;
        watches.cancel();
        cache.closed().await;
        served.cancel();
    }

    /// Waits for the caches and starts the controllers.
    async fn go(&mut self, controllers: Vec<Connected>, sync: Duration) -> Result {
        if tokio::time::timeout(sync, self.cache.synced()).await.is_err() {
            let statuses = self.cache.statuses();
            let failing: Vec<_> =
                statuses.iter().filter(|status| !status.is_ready()).map(ToString::to_string).collect();
            return Err(Error::NotReady { limit: sync, failing: failing.join("\n") });
        }
        for controller in controllers {
            self.loads.push(controller.load);
            self.resyncs.push(controller.resync);
            controller.go.await?;
        }
        Ok(())
    }
}
