//! A server with a node, and words for tests about pods.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::{Client, DeleteOptions, Server, User, WatchOptions};
use pilothouse_cluster::node::{Isolation, Node, NodeOptions};
use pilothouse_value::{Gvr, Value, json, object};

/// How long a test waits for a state. Only a test that fails waits so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn pods() -> Gvr {
    Gvr::new("", "v1", "pods")
}

/// A server and a node of its own, in a directory of its own.
pub(crate) struct Place {
    pub(crate) server: Server,
    pub(crate) client: Client,
    node: Option<Node>,
    dir: tempfile::TempDir,
    isolation: Option<Isolation>,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self::with(None).await
    }

    /// A place whose node uses no more than this of what the kernel allows.
    pub(crate) async fn with(isolation: Option<Isolation>) -> Self {
        let server = Server::builder().start().unwrap();
        server.require_service_accounts(false);
        let dir = tempfile::tempdir().unwrap();
        let client = server.client(User::admin());
        let mut place = Self { server, client, node: None, dir, isolation };
        place.start_node().await;
        place
    }

    /// A place around a server that has its node from elsewhere.
    pub(crate) fn around(server: &Server) -> Self {
        let client = server.client(User::admin());
        Self {
            server: server.clone(),
            client,
            node: None,
            dir: tempfile::tempdir().unwrap(),
            isolation: None,
        }
    }

    pub(crate) async fn start_node(&mut self) {
        let options = NodeOptions {
            name: "n".to_owned(),
            isolation: self.isolation,
            back_off: (Duration::from_millis(50), Duration::from_millis(200)),
            shutdown_grace: Duration::from_millis(500),
            ..NodeOptions::new(self.node_dir())
        };
        self.node = Some(Node::start(&self.server, options).await.unwrap());
    }

    pub(crate) async fn stop_node(&mut self) {
        self.node.take().unwrap().shutdown().await;
    }

    pub(crate) fn node_dir(&self) -> std::path::PathBuf {
        self.dir.path().join("node")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// A file of containers, for one to say that it is so far. Where they have no root of their own it is the machine's, and
    /// nobody else's.
    pub(crate) fn flag(&self, name: &str) -> String {
        let own = self.dir.path().file_name().unwrap().to_str().unwrap();
        format!("/tmp/{name}{own}")
    }

    /// A probe that succeeds when a flag is there.
    pub(crate) fn probe_of(&self, flag: &str) -> Value {
        // The usual three times of one second are short on a busy machine.
        let mut probe = json!({"periodSeconds": 1, "timeoutSeconds": 30, "failureThreshold": 100});
        probe.set(&["exec"], json!({"command": ["test", "-e", flag]}));
        probe
    }

    /// Whether containers can mount volumes here; where they cannot, such tests have nothing to say.
    pub(crate) fn mounts(&self) -> bool {
        self.node.as_ref().unwrap().isolation() != Isolation::None
    }

    /// Makes an object of the core group in the namespace `default`.
    pub(crate) async fn make(&self, resource: &str, object: Value) -> Value {
        self.client.create(&Gvr::new("", "v1", resource), Some("default"), object).await.unwrap()
    }

    /// Makes a pod on the node. `spec` has at least containers.
    pub(crate) async fn pod(&self, name: &str, mut spec: Value) -> Value {
        spec.set(&["nodeName"], "n");
        spec.entry(&["containers"]);
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec});
        self.make("pods", object).await
    }

    /// Makes a pod of one container `main` that runs a script and is not started again.
    pub(crate) async fn script(&self, name: &str, script: &str) -> Value {
        self.pod(name, json!({"restartPolicy": "Never", "containers": [container("main", script)]})).await
    }

    /// Waits until a pod is so, and returns it.
    pub(crate) async fn until(&self, name: &str, what: impl Fn(&Value) -> bool) -> Arc<Value> {
        self.follow(name, |pod| pod.is_some_and(&what)).await.unwrap()
    }

    pub(crate) async fn until_phase(&self, name: &str, phase: &str) -> Arc<Value> {
        self.until(name, |pod| pod.str_at(&["status", "phase"]) == Some(phase)).await
    }

    pub(crate) async fn until_ready(&self, name: &str) -> Arc<Value> {
        self.until(name, |pod| object::condition_is_true(pod, "Ready")).await
    }

    pub(crate) async fn until_gone(&self, name: &str) {
        self.follow(name, |pod| pod.is_none()).await;
    }

    async fn follow(&self, name: &str, what: impl Fn(Option<&Value>) -> bool) -> Option<Arc<Value>> {
        use pilothouse_apiserver::WatchEventKind as Kind;
        let options = WatchOptions {
            field_selector: Some(format!("metadata.name={name}")),
            send_initial_events: Some(true),
            resource_version_match: Some("NotOlderThan".to_owned()),
            allow_bookmarks: true,
            ..WatchOptions::default()
        };
        let mut watch = self.client.watch(&pods(), Some("default"), &options).await.unwrap();
        let mut last = None;
        let search = async {
            while let Some(event) = watch.next().await {
                match event.kind {
                    Kind::Added | Kind::Modified => last = Some(event.object),
                    Kind::Deleted => last = None,
                    Kind::Bookmark => {}
                    Kind::Error => panic!("{}", event.object.to_json()),
                }
                if what(last.as_deref()) {
                    return;
                }
            }
        };
        if tokio::time::timeout(PATIENCE, search).await.is_err() {
            panic!(
                "pod {name} did not come to that state; it is {}",
                last.map(|pod| pod.to_json_pretty()).unwrap_or_default()
            );
        }
        last
    }

    pub(crate) async fn delete(&self, name: &str, grace: Option<i64>) {
        let options = DeleteOptions { grace_period_seconds: grace, ..DeleteOptions::default() };
        self.client.delete(&pods(), Some("default"), name, &options).await.unwrap();
    }

    /// The log of a container, as `kubectl logs` gets it.
    pub(crate) async fn logs(&self, name: &str, query: &str) -> String {
        let (code, text) = self.ask(&format!("/api/v1/namespaces/default/pods/{name}/log?{query}")).await;
        assert_eq!(code, 200, "{text}");
        text
    }

    /// An HTTP request through the server, without a socket.
    pub(crate) async fn ask(&self, path: &str) -> (u16, String) {
        use http_body_util::BodyExt;
        use tower::Service;
        let request = http::Request::get(path).body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
        let response = self.server.service(User::admin()).call(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }

    /// Waits until a pod has an event with a reason, and returns its message.
    pub(crate) async fn until_event(&self, name: &str, reason: &str) -> String {
        let search = async {
            loop {
                if let Some(message) = self.events(name, reason).await.pop() {
                    return message;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, search).await.unwrap_or_else(|_| panic!("no {reason} of pod {name}"))
    }

    /// Messages of a pod's events with a reason.
    pub(crate) async fn events(&self, name: &str, reason: &str) -> Vec<String> {
        let list = self
            .client
            .list(&Gvr::new("", "v1", "events"), Some("default"), &Default::default())
            .await
            .unwrap();
        let about = list.items.iter().filter(|event| {
            event.str_at(&["involvedObject", "name"]) == Some(name)
                && event.str_at(&["reason"]) == Some(reason)
        });
        about.filter_map(|event| event.str_at(&["message"]).map(str::to_owned)).collect()
    }
}

pub(crate) fn container(name: &str, script: &str) -> Value {
    json!({"name": name, "image": "none", "command": ["sh", "-c", script]})
}

/// The state of a container in a pod's status.
pub(crate) fn state<'a>(pod: &'a Value, list: &str, name: &str) -> Option<&'a Value> {
    let statuses = pod.items_at(&["status", list]).iter();
    statuses.clone().find(|status| status.str_at(&["name"]) == Some(name))
}

pub(crate) fn exit_code(pod: &Value, name: &str) -> Option<i64> {
    state(pod, "containerStatuses", name)?.i64_at(&["state", "terminated", "exitCode"])
}

/// A command that sleeps very long. No other process of this machine has it: a test is told from others by its number, and
/// these tests from those that run beside by their process.
pub(crate) fn long_sleep(number: u32) -> String {
    long_sleep_in(std::process::id(), number)
}

/// As [`long_sleep`], where another process runs the test.
pub(crate) fn long_sleep_in(process: u32, number: u32) -> String {
    format!("sleep {number}{process:07}")
}

/// Waits until no process of this machine has this text in its command line.
pub(crate) async fn until_none_runs(text: &str) {
    let gone = async {
        while runs(text) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap_or_else(|_| panic!("{text:?} lives on"));
}

/// Whether a process of this machine has this text in its command line.
pub(crate) fn runs(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.any(|line| line.replace('\0', " ").contains(text))
}
