//! A node that runs pods as processes of this machine.
//!
//! It owns how a pod's document becomes processes, files and names, and how what they do becomes a status; it must not
//! know who made the pod, and it talks to the API through one file (`api`).
//!
//! What is different from a node with a container runtime:
//!
//! - **Images are ignored.** A container runs programs of this machine and must say which: without `command` it waits
//!   with `ErrImagePull`. The search path begins with [`NodeOptions::path_prefix`].
//! - **Files**: a container sees the machine's files under a layer of its own in memory: what it writes outside
//!   volumes goes with it. `/tmp` and `/dev` are its own. See [`Isolation`] for what happens where the kernel allows no
//!   namespaces.
//! - **Network**: all pods share the machine's. Each has a loopback address of its own, `127.A.B.C`, as its IP; two
//!   pods cannot listen on *all* addresses with one port. There is no service proxy: names of services lead to ready
//!   pods, so a service's port must be its target port.
//! - **Names** are in the hosts file of the container, so without namespaces there are none.
//! - **Users**: `runAsUser` and its kin are honoured when the node runs as root, and ignored when it does not.
//! - Processes end with the node, however it ends.

mod addresses;
mod api;
mod care;
mod container;
mod env;
mod expand;
mod kubelet;
mod logs;
mod names;
mod pod;
mod probe;
mod program;
mod register;
mod sandbox;
mod session;
mod spec;
mod status;
mod volumes;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pilothouse_apiserver::{Server, User};
use pilothouse_value::{Status, Value, object};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use addresses::Addresses;
use api::{Api, Change, Tone};
use container::Containers;
use names::Directory;
use pod::{Pod, PodContext, Told};
pub use sandbox::Isolation;

use crate::resources;

/// The address of the node itself.
const HOST_IP: &str = "127.0.0.1";

/// How a node is set up.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The node's name.
    pub name: String,
    /// Where pods have their volumes and logs; made if it is not there. Everything in it is removed when a pod or the
    /// node goes, except what is not the node's own.
    pub dir: PathBuf,
    /// Directories that come first in containers' search path, for instance where this program itself is.
    pub path_prefix: Vec<PathBuf>,
    /// Where pods reach the API (`KUBERNETES_SERVICE_HOST`). `None` when it has no socket.
    pub api_server: Option<SocketAddr>,
    /// What to use of what the kernel allows. `None` is all that it allows.
    pub isolation: Option<Isolation>,
    /// How long a container waits after its second end, and at most; each end doubles it. After its first end it is
    /// started again at once.
    pub back_off: (Duration, Duration),
    /// How long processes have after SIGTERM when the node shuts down.
    pub shutdown_grace: Duration,
}

impl NodeOptions {
    /// Options with Kubernetes' own times, for a node that keeps its files in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            name: "pilothouse".to_owned(),
            dir: dir.into(),
            path_prefix: Vec::new(),
            api_server: None,
            isolation: None,
            back_off: (Duration::from_secs(10), Duration::from_secs(300)),
            shutdown_grace: Duration::from_secs(2),
        }
    }
}

/// What is the same for all pods.
struct Settings {
    dir: PathBuf,
    staging: PathBuf,
    isolation: Isolation,
    path_prefix: Vec<PathBuf>,
    back_off: (Duration, Duration),
}

impl Settings {
    /// How long to wait after so many ends before the one that just came.
    fn back_off(&self, crashes: u32) -> Duration {
        let (first, most) = self.back_off;
        match crashes.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => {
                first.saturating_mul(1u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(most)
            }
        }
    }
}

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Its directory or addresses were not to be had.
    #[error("starting the node {name:?}: {what}: {source}")]
    Machine {
        /// The node.
        name: String,
        /// What was being done.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The API did not take it.
    #[error("registering the node {name:?}: {}", status.message)]
    Register {
        /// The node.
        name: String,
        /// What the API said.
        status: Box<Status>,
    },
}

/// A node that runs. Dropping it kills its pods' processes; [`Node::shutdown`] ends them in order.
pub struct Node {
    shared: Arc<Shared>,
    stop: CancellationToken,
    grace: Duration,
    tasks: JoinSet<()>,
}

/// What the node's tasks and its kubelet share.
struct Shared {
    api: Api,
    settings: Arc<Settings>,
    directory: Arc<Directory>,
    addresses: Addresses,
    /// By uid.
    pods: Mutex<HashMap<String, Entry>>,
    running: TaskTracker,
}

#[derive(Clone)]
struct Entry {
    key: (String, String),
    containers: Arc<Containers>,
    context: Arc<PodContext>,
    tell: watch::Sender<Told>,
}

impl Node {
    /// Starts a node: registers it, takes its pods from the API, and serves logs, exec, attach and port-forward through
    /// the server.
    ///
    /// # Errors
    /// When the directory cannot be made, no address is free, or the API refuses the node.
    pub async fn start(server: &Server, options: NodeOptions) -> Result<Self, NodeError> {
        let NodeOptions { name, dir, path_prefix, api_server, isolation, back_off, shutdown_grace } = options;
        let machine = |what: &str| {
            let (name, what) = (name.clone(), what.to_owned());
            move |source| NodeError::Machine { name, what, source }
        };
        let staging = dir.join("root");
        for part in [staging.clone(), dir.join("pods")] {
            std::fs::create_dir_all(&part).map_err(machine(&format!("making {}", part.display())))?;
        }
        let dir = std::fs::canonicalize(&dir).map_err(machine("finding its directory"))?;
        let staging = dir.join("root");
        // Pods of an earlier life, whose processes ended with it.
        for old in std::fs::read_dir(dir.join("pods")).into_iter().flatten().flatten() {
            pod::remove_tree(&old.path());
        }
        let addresses = Addresses::claim().map_err(machine("claiming addresses for pods"))?;
        let isolation = match isolation {
            Some(isolation) => isolation,
            None => Isolation::probe(&staging).await,
        };
        let user = User::new(format!("system:node:{name}"), ["system:nodes", pilothouse_apiserver::MASTERS]);
        let api = Api::new(server.client(user), server.clock(), &name);
        api.register(register::node(&name, isolation, api.now()))
            .await
            .map_err(|status| NodeError::Register { name: name.clone(), status: Box::new(status) })?;
        let shared = Arc::new(Shared {
            api: api.clone(),
            settings: Arc::new(Settings { dir, staging, isolation, path_prefix, back_off }),
            directory: Arc::new(Directory::new(api_server)),
            addresses,
            pods: Mutex::default(),
            running: TaskTracker::new(),
        });
        server.set_kubelet(Arc::new(kubelet::ProcessKubelet::new(Arc::clone(&shared))));

        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(register::heartbeat(api.clone()));
        tasks.spawn(follow_names(Arc::clone(&shared)));
        tasks.spawn(follow_pods(Arc::clone(&shared), stop.clone()));
        Ok(Self { shared, stop, grace: shutdown_grace, tasks })
    }

    /// What the kernel allows this node.
    pub fn isolation(&self) -> Isolation {
        self.shared.settings.isolation
    }

    /// Ends all pods' processes and removes the node's files. Takes a little longer than
    /// [`NodeOptions::shutdown_grace`] at most. The pods' objects stay as they are.
    pub async fn shutdown(mut self) {
        /// What it takes to wait for what SIGKILL has ended, and to remove files.
        const REST: Duration = Duration::from_secs(30);
        // First no new pods.
        self.stop.cancel();
        self.tasks.shutdown().await;
        register::not_ready(&self.shared.api).await;
        self.leave(self.grace);
        self.shared.running.close();
        if tokio::time::timeout(self.grace + REST, self.shared.running.wait()).await.is_err() {
            tracing::warn!("some pods did not end in time; they are killed");
        }
        let Settings { dir, staging, .. } = &*self.shared.settings;
        pod::remove_tree(&dir.join("pods"));
        // Only if it is empty, as it should be.
        let _ = std::fs::remove_dir(staging);
        let _ = std::fs::remove_dir(dir);
    }

    fn leave(&self, grace: Duration) {
        for entry in self.shared.pods.lock().values() {
            entry.tell.send_replace(Told::Leave(grace));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop.cancel();
        self.leave(Duration::ZERO);
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("name", &self.shared.api.node()).finish_non_exhaustive()
    }
}

async fn follow_names(shared: Arc<Shared>) {
    let mut services = shared.api.follow(&resources::SERVICES, None);
    let mut endpoints = shared.api.follow(&resources::ENDPOINTS, None);
    loop {
        tokio::select! {
            Some((key, service)) = services.recv() => shared.directory.service(key, service),
            Some((key, endpoints)) = endpoints.recv() => shared.directory.endpoints(key, endpoints),
            else => return,
        }
    }
}

async fn follow_pods(shared: Arc<Shared>, stop: CancellationToken) {
    let mine = format!("spec.nodeName={}", shared.api.node());
    let mut pods = shared.api.follow(&resources::PODS, Some(mine));
    loop {
        tokio::select! {
            change = pods.recv() => match change {
                Some(change) => shared.pod_changed(change).await,
                None => return,
            },
            () = stop.cancelled() => return,
        }
    }
}

impl Shared {
    async fn pod_changed(self: &Arc<Self>, (key, pod): Change) {
        let uid = pod.as_ref().map(|pod| object::uid(pod).to_owned());
        // One name, one pod: whoever had it before is gone, even if that was not told.
        for (other, entry) in self.pods.lock().iter().filter(|(_, entry)| entry.key == key) {
            if Some(other) != uid.as_ref() {
                entry.tell.send_replace(Told::Gone);
            }
        }
        let (Some(pod), Some(uid)) = (pod, uid) else { return };
        let known = self.pods.lock().get(&uid).map(|entry| entry.tell.clone());
        match known {
            Some(tell) => drop(tell.send_replace(Told::Pod(pod))),
            None => self.begin(key, uid, pod).await,
        }
    }

    async fn begin(self: &Arc<Self>, key: (String, String), uid: String, document: Arc<Value>) {
        let Some(ip) = self.addresses.take() else {
            let message = "the node has no address left for the pod";
            self.api.event(&document, None, Tone::Warning, "FailedCreatePodSandBox", message).await;
            return;
        };
        let made = Pod::new(
            self.api.clone(),
            Arc::clone(&self.directory),
            Arc::clone(&self.settings),
            Arc::clone(&document),
            ip,
        );
        let pod = match made {
            Ok(pod) => pod,
            Err(error) => {
                self.addresses.give_back(ip);
                let message = format!("making the pod's directory: {error}");
                self.api.event(&document, None, Tone::Warning, "FailedCreatePodSandBox", &message).await;
                return;
            }
        };
        let (tell, told) = watch::channel(Told::Pod(document));
        let entry = Entry { key, containers: Arc::new(pod.containers()), context: pod.context(), tell };
        self.pods.lock().insert(uid.clone(), entry);
        let shared = Arc::clone(self);
        self.running.spawn(async move {
            pod.run(told).await;
            shared.pods.lock().remove(&uid);
            shared.addresses.give_back(ip);
        });
    }

    /// The address of a pod.
    fn ip(&self, uid: &str) -> Option<Ipv4Addr> {
        self.pods.lock().get(uid).map(|entry| entry.context.ip)
    }
}
