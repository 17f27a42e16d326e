//! Starting and stopping all that makes an API server a cluster.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::{Server, User};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::claims::{self, Folders};
use crate::discovery::Discovery;
use crate::harness::api::Api;
use crate::harness::controller::Runner;
use crate::harness::informer::Informers;
use crate::instant::{self, InstantNode};
use crate::node::{Node, NodeError, NodeOptions};
use crate::{accounts, garbage, namespaces, quotas, roles, scheduler, services, taints, tokens, workloads};

/// The longest that a shutdown waits for tasks to end.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(30);

/// What a cluster has beside its API.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the controllers run: garbage collector, namespaces, service accounts and their tokens, quotas, aggregated
    /// roles, workloads, scheduler, taints of nodes, claims, Services. Without them objects are just stored, as under envtest. Default: yes.
    pub controllers: bool,
    /// A node that runs nothing and reports that all is well, for tests. Default: none; pods stay pending.
    pub instant_node: Option<InstantNode>,
    /// A node that runs pods as processes of this machine. Default: none.
    pub node: Option<NodeOptions>,
    /// Where the folders of volumes are made. Default: a temporary folder that goes with the cluster.
    pub data_dir: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { controllers: true, instant_node: None, node: None, data_dir: None }
    }
}

/// Why a cluster did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The folder for volumes could not be made.
    #[error("making a folder for volumes: {0}; hint: give a data folder that can be written to")]
    Folder(#[source] std::io::Error),
    /// An object that every cluster has could not be made.
    #[error("starting the cluster: {0}")]
    Object(String),
    /// The node did not start.
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// All that makes an API server a cluster. It stops when it is dropped, and [`Cluster::shutdown`] waits for that.
pub struct Cluster {
    node: Option<Node>,
    tasks: TaskTracker,
    stop: CancellationToken,
    _drop: DropGuard,
    _folders: Option<Folders>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("tasks", &self.tasks.len())
            .field("node", &self.node.is_some())
            .finish()
    }
}

impl Cluster {
    /// Starts what the options say, on this server. When this returns, every namespace that the server has already has
    /// its service account; all else that is there is looked at in its turn.
    ///
    /// # Errors
    /// When the folder for volumes cannot be made, the API refuses an object that every cluster has, or the node does not
    /// start.
    pub async fn start(server: &Server, options: Options) -> Result<Self, StartError> {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let runner = Runner { tasks: tasks.clone(), stop: stop.clone() };
        let user = User::new("system:kube-controller-manager", [pilothouse_apiserver::MASTERS]);
        let client = server.client(user);
        let informers = Arc::new(Informers::new(client.clone(), tasks.clone(), stop.clone()));
        let api = Api::new(client, informers, server.clock());
        let refused = |failure: crate::harness::api::Failure| StartError::Object(failure.to_string());
        let mut folders = None;
        if options.controllers {
            let own = Folders::new(options.data_dir.as_deref()).map_err(StartError::Folder)?;
            claims::wiring::start(&api, &runner, own.clone()).await.map_err(refused)?;
            folders = Some(own);
            let discovery = Discovery::start(&api, &runner);
            namespaces::start(&api, &runner, &discovery);
            garbage::start(&api, &runner, &discovery);
            accounts::start(&api, &runner, server.authority_pem().to_owned());
            workloads::wiring::start(&api, &runner);
            services::wiring::start(&api, &runner);
            scheduler::wiring::start(&api, &runner);
            taints::start(&api, &runner);
            roles::start(&api, &runner);
            quotas::start(&api, &runner, &discovery);
            tokens::start(&api, &runner, server);
            accounts::ready(&api).await.map_err(refused)?;
            // From here on an account that is missing is a mistake, and not nobody's task.
            server.require_service_accounts(true);
            server.controllers_run();
        }
        if let Some(node) = options.instant_node {
            instant::start(&api, &runner, node).await.map_err(refused)?;
        }
        let node = match options.node {
            Some(node) => Some(Node::start(server, node).await?),
            None => None,
        };
        Ok(Self { node, tasks, _drop: stop.clone().drop_guard(), stop, _folders: folders })
    }

    /// The node, if one runs pods as processes.
    pub fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// Stops everything and waits until it has stopped: the node and its processes first, within its own bounds, then the
    /// controllers, half a minute at most. Temporary folders are removed.
    pub async fn shutdown(self) {
        if let Some(node) = self.node {
            node.shutdown().await;
        }
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(SHUTDOWN_WITHIN, self.tasks.wait()).await.is_err() {
            tracing::warn!("some tasks of the cluster did not end in time; going on");
        }
    }
}
