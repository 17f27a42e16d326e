//! `pilothouse cluster`, and the embedded cluster that the demo plays on.

use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use pilothouse_apiserver::user::User;
use pilothouse_apiserver::{Gvr, Listening, Server, Store};
use pilothouse_cluster::node::NodeOptions;
use pilothouse_cluster::{Cluster, Options};
use pilothouse_store::Config;
use tempfile::TempDir;

use crate::args::ClusterArgs;
use crate::error::{Error, Result};

/// What an embedded cluster is started with.
pub(crate) struct Setup {
    /// Where it is kept across restarts; `None` for as long as the process.
    pub(crate) data: Option<PathBuf>,
    /// A loopback address; port 0 takes a free one.
    pub(crate) listen: SocketAddr,
    pub(crate) controllers: bool,
    pub(crate) node: bool,
}

/// An API server with controllers and a node, in this process, in a folder of its own.
pub(crate) struct Embedded {
    server: Server,
    cluster: Option<Cluster>,
    listening: Listening,
    /// Removed at the end, with everything that was written below it.
    folder: TempDir,
    first_answer: Duration,
}

/// Runs a cluster until it is interrupted.
pub(crate) async fn run(args: ClusterArgs) -> Result {
    if !args.listen.ip().is_loopback() {
        let hint = "use 127.0.0.1 or [::1]: whoever reaches the API can run programs as you";
        return Err(Error::wrong("--listen", format!("{} is not a loopback address", args.listen), hint));
    }
    let setup = Setup {
        data: args.data,
        listen: args.listen,
        controllers: !args.no_controllers,
        node: !args.no_node && !args.no_controllers,
    };
    let cluster = Embedded::start(setup).await?;
    let path = cluster.write_kubeconfig(args.kubeconfig.as_deref())?;
    let mut ui = crate::ui::Ui::new(crate::ui::Output::Text);
    let milliseconds = cluster.first_answer.as_secs_f64() * 1e3;
    ui.end(
        serde_json::json!({}),
        &format!(
            "Kubernetes API at {} (first answer after {milliseconds:.1} ms). Ctrl-C ends it.\n\nexport KUBECONFIG={}",
            cluster.listening.url(),
            path.display()
        ),
    );
    crate::interrupted().await;
    if args.kubeconfig.is_some() {
        // It names a server that is about to be gone.
        let _absent = std::fs::remove_file(&path);
    }
    cluster.stop().await
}

impl Embedded {
    /// Starts a cluster and waits for its first answer.
    pub(crate) async fn start(setup: Setup) -> Result<Self> {
        let hint = "is there space left in the folder for temporary files? TMPDIR names another";
        let folder = tempfile::Builder::new().prefix("pilothouse-").tempdir();
        let folder = folder.map_err(|e| Error::machine("making a temporary folder", e, hint))?;
        let since = Instant::now();
        let mut builder = Server::builder();
        if let Some(data) = &setup.data {
            let store = Store::open(&data.join("store"), Config::default());
            let hint = "is another `pilothouse cluster` using it? --data names another folder";
            builder = builder
                .store(store.map_err(|e| Error::machine("opening --data", e, hint))?)
                .keys(data.join("keys"));
        }
        let server =
            builder.start().map_err(|e| Error::machine("starting the API", e, "please report it"))?;
        let answer =
            server.client(User::admin()).get(&Gvr::new("", "v1", "namespaces"), None, "default").await;
        answer.map_err(|e| Error::machine("asking the API for its first answer", e, "please report it"))?;
        let first_answer = since.elapsed();
        let listening = server.listen(setup.listen).await;
        let listening = listening
            .map_err(|e| Error::machine("opening the API's socket", e, "--listen names another port"))?;
        let mut embedded = Self { server, cluster: None, listening, folder, first_answer };
        let node = if setup.node { Some(embedded.node_options()?) } else { None };
        let volumes = setup.data.as_deref().unwrap_or(embedded.folder.path()).join("volumes");
        let options =
            Options { controllers: setup.controllers, node, data_dir: Some(volumes), ..Options::default() };
        let hint = "--no-node and --no-controllers start less of it";
        let cluster = Cluster::start(&embedded.server, options).await;
        embedded.cluster =
            Some(cluster.map_err(|e| Error::machine("starting the controllers and the node", e, hint))?);
        Ok(embedded)
    }

    fn node_options(&self) -> Result<NodeOptions> {
        let tools = self.folder.path().join("bin");
        link_tools(&tools)
            .map_err(|e| Error::machine("making the folder of tools", e, "is there space left?"))?;
        let mut options = NodeOptions::new(self.folder.path().join("node"));
        options.path_prefix = vec![tools];
        options.api_server = Some(self.listening.address());
        Ok(options)
    }

    /// How long after its start the API gave its first answer.
    pub(crate) const fn first_answer(&self) -> Duration {
        self.first_answer
    }

    /// A folder that goes with the cluster.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the administrator's kubeconfig, readable by nobody else, and returns where.
    pub(crate) fn write_kubeconfig(&self, path: Option<&Path>) -> Result<PathBuf> {
        let path = path.map_or_else(|| self.folder.path().join("kubeconfig"), Path::to_path_buf);
        let fail = |e: std::io::Error| {
            Error::machine(format!("writing {}", path.display()), e, "--kubeconfig names another file")
        };
        // Written beside its place first: who waits for the file never reads half of it.
        let partial = path.with_extension("partial");
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&partial)
            .map_err(fail)?;
        std::io::Write::write_all(&mut file, self.kubeconfig()?.as_bytes()).map_err(fail)?;
        std::fs::rename(&partial, &path).map_err(fail)?;
        Ok(path)
    }

    fn kubeconfig(&self) -> Result<String> {
        self.listening
            .kubeconfig()
            .map_err(|e| Error::machine("making the administrator's certificate", e, "please report it"))
    }

    /// What a client of the administrator needs.
    pub(crate) async fn config(&self) -> Result<kube::Config> {
        let hint = "this is a defect of pilothouse: please report it";
        let kubeconfig = Kubeconfig::from_yaml(&self.kubeconfig()?)
            .map_err(|e| Error::wrong("reading our kubeconfig", e, hint))?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        config.map_err(|e| Error::wrong("using our kubeconfig", e, hint))
    }

    /// Ends everything in order: the node with its processes, the controllers, the API, the folder.
    pub(crate) async fn stop(self) -> Result {
        if let Some(cluster) = self.cluster {
            cluster.shutdown().await;
        }
        self.server.stop();
        self.server.stopped().await;
        let path = self.folder.path().display().to_string();
        self.folder.close().map_err(|e| Error::machine(format!("removing {path}"), e, "remove it by hand"))
    }
}

/// Puts the tools that containers call on their search path: this program itself, by the name that it answers to. It is
/// no symbolic link, because a container may not see where that leads.
fn link_tools(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let (program, tool) = (std::env::current_exe()?, folder.join("kando"));
    // Another file system takes a copy.
    std::fs::hard_link(&program, &tool).or_else(|_refused| std::fs::copy(&program, &tool).map(drop))
}
