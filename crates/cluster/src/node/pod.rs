//! One pod: volumes, init containers, containers, its status, and its end.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use pilothouse_value::{Timestamp, Value, object};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::api::{Api, Tone};
use super::container::{Container, Containers, Stop};
use super::names::Directory;
use super::spec::{self, RestartPolicy};
use super::status::{self, Place, Snapshot, State};
use super::volumes::{Sources, Volumes};
use super::{HOST_IP, Settings};

/// How long to wait before volumes that are not there are looked for again.
const VOLUME_RETRY: Duration = Duration::from_millis(500);
/// How often a missing volume is told again.
const VOLUME_TELL: Duration = Duration::from_secs(30);
/// How often contents that come from the API are brought up to date.
const REFRESH: Duration = Duration::from_secs(60);
/// How often a status that could not be written is tried again at once.
const STATUS_ATTEMPTS: u32 = 5;

/// What a pod and its containers share.
pub(super) struct PodContext {
    pub(super) api: Api,
    pub(super) directory: Arc<Directory>,
    pub(super) settings: Arc<Settings>,
    pub(super) uid: String,
    /// The pod's directory on the host.
    pub(super) dir: PathBuf,
    pub(super) ip: Ipv4Addr,
    pub(super) ip_text: String,
    /// Something about a container has changed.
    pub(super) changed: Notify,
    document: Mutex<Arc<Value>>,
    sources: Mutex<Sources>,
}

impl PodContext {
    /// The newest document.
    pub(super) fn pod(&self) -> Arc<Value> {
        Arc::clone(&self.document.lock())
    }

    pub(super) fn sources(&self) -> Sources {
        self.sources.lock().clone()
    }

    pub(super) fn hosts_file(&self) -> PathBuf {
        self.dir.join("hosts")
    }

    pub(super) fn termination_file(&self, container: &str) -> PathBuf {
        self.dir.join("termination").join(container)
    }

    /// Name, namespace and uid, as the kubelet writes them in messages.
    pub(super) fn label(&self) -> String {
        let pod = self.pod();
        format!("{}_{}({})", object::name(&pod), spec::namespace(&pod), self.uid)
    }

    pub(super) async fn event(&self, container: &str, tone: Tone, reason: &str, message: &str) {
        let container = Some(container).filter(|name| !name.is_empty());
        self.api.event(&self.pod(), container, tone, reason, message).await;
    }

    async fn make_volumes(&self) -> Result<(), super::volumes::VolumeError> {
        let pod = self.pod();
        let volumes = Volumes {
            api: &self.api,
            pod: &pod,
            dir: &self.dir.join("volumes"),
            pod_ip: &self.ip_text,
            host_ip: HOST_IP,
            privileged: nix::unistd::Uid::effective().is_root(),
        };
        *self.sources.lock() = volumes.make().await?;
        Ok(())
    }
}

/// What a pod's task is told.
#[derive(Clone, Debug)]
pub(super) enum Told {
    /// The newest document.
    Pod(Arc<Value>),
    /// The object is gone: end at once.
    Gone,
    /// The node goes: end in order, within this time, and leave the object alone.
    Leave(Duration),
}

/// A pod that this node runs.
pub(super) struct Pod {
    context: Arc<PodContext>,
    init: Vec<Arc<Container>>,
    main: Vec<Arc<Container>>,
    started: Timestamp,
    /// The status that was written last.
    written: Option<Value>,
}

impl Pod {
    /// Makes the pod's directory; starts nothing yet.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub(super) fn new(
        api: Api,
        directory: Arc<Directory>,
        settings: Arc<Settings>,
        document: Arc<Value>,
        ip: Ipv4Addr,
    ) -> io::Result<Self> {
        let uid = object::uid(&document).to_owned();
        let dir = settings.dir.join("pods").join(&uid);
        for part in ["volumes", "termination", "logs"] {
            std::fs::create_dir_all(dir.join(part))?;
        }
        std::fs::write(dir.join("hostname"), format!("{}\n", spec::hostname(&document)))?;
        let now = api.now();
        let started = document.str_at(&["status", "startTime"]).and_then(|time| Timestamp::parse(time).ok());
        let containers = |documents: &[Value], statuses: &str, reason: &str| -> Vec<_> {
            let make = |container: &Value| {
                let made = Container::new(container.clone(), reason);
                let old = document.items_at(&["status", statuses]).iter();
                if let Some(old) = old.clone().find(|old| old.str_at(&["name"]) == Some(made.name())) {
                    made.resume(old, now);
                }
                made
            };
            documents.iter().map(make).collect()
        };
        let init = containers(spec::init_containers(&document), "initContainerStatuses", "PodInitializing");
        let reason = if init.is_empty() { "ContainerCreating" } else { "PodInitializing" };
        let main = containers(spec::containers(&document), "containerStatuses", reason);
        let context = PodContext {
            api,
            directory,
            settings,
            uid,
            dir,
            ip,
            ip_text: ip.to_string(),
            changed: Notify::new(),
            document: Mutex::new(document),
            sources: Mutex::default(),
        };
        let context = Arc::new(context);
        context.directory.follow(&context.hosts_file(), &context.pod(), &context.ip_text)?;
        Ok(Self { context, init, main, started: started.unwrap_or(now), written: None })
    }

    pub(super) fn context(&self) -> Arc<PodContext> {
        Arc::clone(&self.context)
    }

    /// All containers by name.
    pub(super) fn containers(&self) -> Containers {
        self.init.iter().chain(&self.main).map(|one| (one.name().to_owned(), Arc::clone(one))).collect()
    }

    /// Runs the pod until it is gone. Its directory is gone then, too.
    pub(super) async fn run(mut self, mut told: watch::Receiver<Told>) {
        let (stop, stopped) = watch::channel(None);
        let context = self.context();
        let finished = spec::is_finished(&context.pod());
        let life = live(Arc::clone(&context), self.init.clone(), self.main.clone(), stopped);
        tokio::pin!(life);
        // What has ended for good only waits to be deleted.
        let mut done = finished;
        let mut leaving = false;
        let mut refresh = tokio::time::interval_at(Instant::now() + REFRESH, REFRESH);
        refresh.set_missed_tick_behavior(MissedTickBehavior::Delay);
        told.mark_changed();
        loop {
            let stopping = stop.borrow().is_some();
            if done && stopping {
                break;
            }
            tokio::select! {
                () = &mut life, if !done => {
                    done = true;
                    if !stopping {
                        self.publish().await;
                    }
                }
                () = context.changed.notified(), if !finished => if !leaving { self.publish().await },
                changed = told.changed() => {
                    let news = if changed.is_ok() { told.borrow_and_update().clone() } else { Told::Gone };
                    match news {
                        Told::Pod(pod) => {
                            let grace = object::deletion_timestamp(&pod).map(|_| spec::grace_period(&pod));
                            *context.document.lock() = pod;
                            if grace.is_some() {
                                stop.send_replace(grace);
                            } else if !finished && self.written.is_none() {
                                self.publish().await;
                            }
                        }
                        Told::Gone => {
                            leaving = true;
                            stop.send_replace(Some(Duration::ZERO));
                        }
                        Told::Leave(grace) => {
                            leaving = true;
                            stop.send_replace(Some(grace));
                        }
                    }
                }
                _ = refresh.tick(), if !done => {
                    if let Err(error) = context.make_volumes().await {
                        tracing::warn!(pod = context.label(), %error, "volumes were not brought up to date");
                    }
                }
            }
        }
        if !leaving {
            if !finished {
                self.publish().await;
            }
            if let Err(error) = context.api.release_pod(&context.pod()).await {
                tracing::warn!(pod = context.label(), error = %error.message, "a pod that has ended was not let go");
            }
        }
        context.directory.forget(&context.hosts_file());
        remove_tree(&context.dir);
    }

    /// Writes the status if it has changed.
    async fn publish(&mut self) {
        for attempt in 0..STATUS_ATTEMPTS {
            let pod = self.context.pod();
            let snapshots =
                |list: &[Arc<Container>]| list.iter().map(|one| one.snapshot()).collect::<Vec<Snapshot>>();
            let place = Place {
                pod_ip: &self.context.ip_text,
                host_ip: HOST_IP,
                started: self.started,
                now: self.context.api.now(),
            };
            let status = status::compose(&pod, &snapshots(&self.init), &snapshots(&self.main), &place);
            if self.written.as_ref() == Some(&status) {
                return;
            }
            match self.context.api.patch_pod_status(&pod, status.clone()).await {
                Ok(pod) => {
                    // Conditions keep the times that were written now.
                    let fresher = |old: &Value| object::uid(old) == object::uid(&pod);
                    let mut document = self.context.document.lock();
                    if fresher(&document) {
                        *document = Arc::new(pod);
                    }
                    drop(document);
                    self.written = Some(status);
                    return;
                }
                // Gone, or another pod: the watch will say so.
                Err(error) if matches!(error.code, 404 | 409 | 422) => {
                    tracing::debug!(pod = self.context.label(), error = %error.message, "a status was refused");
                    return;
                }
                Err(error) => {
                    tracing::warn!(pod = self.context.label(), error = %error.message, "a status was not written");
                    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
                }
            }
        }
    }
}

/// From volumes to the end of the last container. Ends early when it is told to stop, with nothing left running.
async fn live(
    context: Arc<PodContext>,
    init: Vec<Arc<Container>>,
    main: Vec<Arc<Container>>,
    mut stop: Stop,
) {
    if volumes(&context, &mut stop).await.is_err() {
        return;
    }
    let policy = RestartPolicy::of(&context.pod());
    // Sidecars are stopped after the main containers.
    let (stop_sidecars, sidecars_stopped) = watch::channel(None);
    let mut sidecars = Vec::new();
    let mut ready = true;
    for container in init {
        if spec::is_sidecar(&container.document) {
            let mut changes = container.changes();
            let (context, its_stop) = (Arc::clone(&context), sidecars_stopped.clone());
            let sidecar = async move { container.run(&context, RestartPolicy::Always, its_stop).await };
            sidecars.push(tokio::spawn(sidecar));
            ready = tokio::select! {
                started = changes.wait_for(|snapshot| snapshot.started) => started.is_ok(),
                _ = stop.wait_for(Option::is_some) => false,
            };
        } else {
            // Init containers of a pod that always restarts are tried again when they fail, and not when they succeed.
            let policy = if policy == RestartPolicy::Never { policy } else { RestartPolicy::OnFailure };
            ready = container.run(&context, policy, stop.clone()).await == Some(0) && stop.borrow().is_none();
        }
        if !ready {
            break;
        }
    }
    if ready {
        for container in &main {
            let waits = matches!(container.snapshot().state, State::Waiting { .. });
            if waits {
                container.creating(&context);
            }
        }
        join_all(main.iter().map(|container| container.run(&context, policy, stop.clone()))).await;
    }
    let grace = stop.borrow().unwrap_or_else(|| spec::grace_period(&context.pod()));
    stop_sidecars.send_replace(Some(grace));
    join_all(sidecars).await;
}

/// Makes the volumes, as often as it takes. An error means that it was told to stop.
async fn volumes(context: &PodContext, stop: &mut Stop) -> Result<(), ()> {
    let mut told: BTreeMap<String, Instant> = BTreeMap::new();
    loop {
        if stop.borrow().is_some() {
            return Err(());
        }
        let Err(error) = context.make_volumes().await else { return Ok(()) };
        let text = error.to_string();
        // A claim that is being bound is no news.
        let fresh = told.get(&text).is_none_or(|last| last.elapsed() >= VOLUME_TELL);
        if fresh {
            context.event("", Tone::Warning, "FailedMount", &text).await;
            told.insert(text, Instant::now());
        }
        if tokio::time::timeout(VOLUME_RETRY, stop.wait_for(Option::is_some)).await.is_ok() {
            return Err(());
        }
    }
}

/// Removes a directory with all that is in it, also what a program has made unreadable.
pub(super) fn remove_tree(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fn open_up(dir: &Path) {
        let _ = std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700));
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open_up(&entry.path());
            }
        }
    }
    if std::fs::remove_dir_all(dir).is_ok() || !dir.exists() {
        return;
    }
    open_up(dir);
    if let Err(error) = std::fs::remove_dir_all(dir) {
        tracing::warn!(dir = %dir.display(), %error, "a pod's directory was not removed");
    }
}
