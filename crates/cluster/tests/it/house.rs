//! A server with a cluster for one test, and ways to wait for what should come.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use pilothouse_apiserver::{
    Client, DeleteOptions, Gvr, ListOptions, Patch, Propagation, Server, Status, User, Value, WatchEventKind,
    WatchOptions,
};
use pilothouse_cluster::{Cluster, InstantNode, Options};
use pilothouse_value::{json, object};

macro_rules! resources {
    ($($name:ident = $group:literal, $version:literal, $resource:literal;)*) => {$(
        pub(crate) static $name: LazyLock<Gvr> = LazyLock::new(|| Gvr::new($group, $version, $resource));
    )*};
}

resources! {
    CLAIMS = "", "v1", "persistentvolumeclaims";
    CLUSTER_ROLES = "rbac.authorization.k8s.io", "v1", "clusterroles";
    CONFIG_MAPS = "", "v1", "configmaps";
    CONTROLLER_REVISIONS = "apps", "v1", "controllerrevisions";
    CRDS = "apiextensions.k8s.io", "v1", "customresourcedefinitions";
    DAEMON_SETS = "apps", "v1", "daemonsets";
    DEPLOYMENTS = "apps", "v1", "deployments";
    ENDPOINTS = "", "v1", "endpoints";
    ENDPOINT_SLICES = "discovery.k8s.io", "v1", "endpointslices";
    EVENTS = "", "v1", "events";
    JOBS = "batch", "v1", "jobs";
    NAMESPACES = "", "v1", "namespaces";
    NODES = "", "v1", "nodes";
    PODS = "", "v1", "pods";
    QUOTAS = "", "v1", "resourcequotas";
    REPLICA_SETS = "apps", "v1", "replicasets";
    SECRETS = "", "v1", "secrets";
    SERVICES = "", "v1", "services";
    SERVICE_ACCOUNTS = "", "v1", "serviceaccounts";
    STATEFUL_SETS = "apps", "v1", "statefulsets";
    STORAGE_CLASSES = "storage.k8s.io", "v1", "storageclasses";
    VOLUMES = "", "v1", "persistentvolumes";
    WEBS = "demo.dev", "v1", "webs";
}

/// The longest wait; on a clock that is held while anything moves it takes no time.
const WITHIN: Duration = Duration::from_secs(120);

pub(crate) struct House {
    pub(crate) client: Client,
    pub(crate) cluster: Cluster,
    pub(crate) server: Server,
}

impl House {
    /// A cluster without a node.
    pub(crate) async fn without_node() -> Self {
        Self::with(Options::default()).await
    }

    /// A cluster whose pods run at once.
    pub(crate) async fn start() -> Self {
        Self::with(Options { instant_node: Some(InstantNode::default()), ..Options::default() }).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        Self::on(Server::builder().start().unwrap(), options).await
    }

    pub(crate) async fn on(server: Server, options: Options) -> Self {
        let client = server.client(User::admin());
        let cluster = Cluster::start(&server, options).await.unwrap();
        Self { client, cluster, server }
    }

    /// Creates an object in `default`, or in the namespace that it names.
    pub(crate) async fn create(&self, gvr: &Gvr, object: Value) -> Value {
        let namespace = object::namespace(&object).unwrap_or("default").to_owned();
        let text = object.to_json();
        match self.client.create(gvr, Some(&namespace), object).await {
            Ok(made) => made,
            Err(status) => panic!("{text}: {status:?}"),
        }
    }

    pub(crate) async fn get(&self, gvr: &Gvr, name: &str) -> Option<Value> {
        match self.client.get(gvr, Some("default"), name).await {
            Ok(object) => Some(object),
            Err(status) if status.is_not_found() => None,
            Err(status) => panic!("{status:?}"),
        }
    }

    pub(crate) async fn list(&self, gvr: &Gvr) -> Vec<Arc<Value>> {
        self.client.list(gvr, None, &ListOptions::default()).await.unwrap().items
    }

    pub(crate) async fn names(&self, gvr: &Gvr) -> Vec<String> {
        self.list(gvr).await.iter().map(|o| object::name(o).to_owned()).collect()
    }

    pub(crate) async fn patch(&self, gvr: &Gvr, name: &str, patch: Value) -> Value {
        self.client.patch(gvr, Some("default"), name, Patch::Merge(patch), None).await.unwrap()
    }

    pub(crate) async fn delete(&self, gvr: &Gvr, name: &str, propagation: Option<Propagation>) {
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        self.client.delete(gvr, Some("default"), name, &options).await.unwrap();
    }

    /// Waits until the objects of a resource, in all namespaces, are as they should be.
    pub(crate) async fn until<T>(&self, gvr: &Gvr, mut wanted: impl FnMut(&[Arc<Value>]) -> Option<T>) -> T {
        let mut seen: BTreeMap<(String, String), Arc<Value>> = BTreeMap::new();
        let waited = tokio::time::timeout(WITHIN, async {
            let options = WatchOptions {
                send_initial_events: Some(true),
                resource_version_match: Some("NotOlderThan".to_owned()),
                allow_bookmarks: true,
                timeout: Some(WITHIN * 2),
                ..WatchOptions::default()
            };
            let mut watch = self.client.watch(gvr, None, &options).await.unwrap();
            let mut ready = false;
            loop {
                let event = watch.next().await.unwrap();
                let key = (
                    object::namespace(&event.object).unwrap_or_default().to_owned(),
                    object::name(&event.object).to_owned(),
                );
                match event.kind {
                    WatchEventKind::Added | WatchEventKind::Modified => drop(seen.insert(key, event.object)),
                    WatchEventKind::Deleted => drop(seen.remove(&key)),
                    WatchEventKind::Bookmark => ready = true,
                    // The history was too short for this test's own watch: look at everything again.
                    WatchEventKind::Error if event.object.i64_at(&["code"]) == Some(410) => {
                        (ready, seen) = (false, BTreeMap::new());
                        watch = self.client.watch(gvr, None, &options).await.unwrap();
                        continue;
                    }
                    WatchEventKind::Error => panic!("{}", event.object.to_json()),
                }
                let all: Vec<_> = seen.values().cloned().collect();
                if ready && let Some(found) = wanted(&all) {
                    return found;
                }
            }
        })
        .await;
        match waited {
            Ok(found) => found,
            Err(_) => {
                let all: Vec<String> = seen.values().map(|object| object.to_json_pretty()).collect();
                panic!("{gvr} never came to be as wanted; at last:\n{}", all.join("\n"))
            }
        }
    }

    /// Waits until one object is as it should be.
    pub(crate) async fn until_one(
        &self,
        gvr: &Gvr,
        name: &str,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Value {
        self.until(gvr, |all| {
            all.iter().find(|object| object::name(object) == name && wanted(object)).map(|o| Value::clone(o))
        })
        .await
    }

    pub(crate) async fn until_gone(&self, gvr: &Gvr, name: &str) {
        self.until(gvr, |all| all.iter().all(|object| object::name(object) != name).then_some(())).await;
    }

    pub(crate) async fn until_count(&self, gvr: &Gvr, count: usize) {
        self.until(gvr, |all| (all.len() == count).then_some(())).await;
    }

    /// Waits until a condition of an object has this status.
    pub(crate) async fn until_condition(&self, gvr: &Gvr, name: &str, kind: &str, status: &str) -> Value {
        self.until_one(gvr, name, |object| {
            object::condition(object, kind).and_then(|c| c.str_at(&["status"])) == Some(status)
        })
        .await
    }

    /// Waits until an event with this reason was recorded; returns its message.
    pub(crate) async fn until_event(&self, reason: &str) -> String {
        self.until(&EVENTS, |all| {
            let event = all.iter().find(|event| event.str_at(&["reason"]) == Some(reason))?;
            event.str_at(&["message"]).map(str::to_owned)
        })
        .await
    }

    /// Lets everything come to rest: on a held clock time moves only when nothing else does. What is scheduled for
    /// later than this does not happen.
    pub(crate) async fn at_rest(&self) {
        tokio::time::advance(Duration::ZERO).await;
        let (_hold, never) = tokio::sync::oneshot::channel::<()>();
        let _ = tokio::time::timeout(Duration::from_secs(1), never).await;
    }

    /// Lets this much time pass.
    pub(crate) async fn pass(&self, time: Duration) {
        let (_hold, never) = tokio::sync::oneshot::channel::<()>();
        let _ = tokio::time::timeout(time, never).await;
    }

    /// The revision of the store: that nothing was written shows in it.
    pub(crate) fn revision(&self) -> u64 {
        self.server.store().revision()
    }

    pub(crate) async fn refused<T: Debug>(&self, result: impl Future<Output = Result<T, Status>>) -> Status {
        result.await.unwrap_err()
    }
}

/// A pod template with one container.
pub(crate) fn template(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "c", "image": "registry.example/c:v1"}]}})
}

/// A workload of this kind that selects `app: NAME`.
pub(crate) fn workload(kind: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}});
    object.set(&["spec", "selector"], json!({"matchLabels": {"app": name}}));
    object.set(&["spec", "template"], template(name));
    for (key, value) in spec.as_object().unwrap().iter() {
        object.set(&["spec", key], value.clone());
    }
    object
}

/// A ConfigMap owned by others, each given with whether it is blocked.
pub(crate) fn owned(name: &str, owners: &[(&Value, bool)]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|(owner, block)| {
            json!({"apiVersion": object::api_version(owner), "kind": object::kind(owner),
                "name": object::name(owner), "uid": object::uid(owner), "blockOwnerDeletion": block})
        })
        .collect();
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    object.set(&["metadata", "ownerReferences"], references);
    object
}

/// A ConfigMap that nobody owns.
pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// A definition of the custom kind Web.
pub(crate) fn web_definition() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "webs.demo.dev"},
        "spec": {"group": "demo.dev", "scope": "Namespaced",
            "names": {"plural": "webs", "singular": "web", "kind": "Web", "listKind": "WebList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

/// A custom object.
pub(crate) fn web(name: &str) -> Value {
    json!({"apiVersion": "demo.dev/v1", "kind": "Web", "metadata": {"name": name, "namespace": "default"}})
}
