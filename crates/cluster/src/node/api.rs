//! What a node says to the API and asks of it, and nothing else: the one file that holds the client.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pilothouse_apiserver::{Client, Clock, DeleteOptions, Patch, WatchEventKind, WatchOptions};
use pilothouse_value::{Gvr, Status, Timestamp, Value, json, object};
use tokio::sync::mpsc;

use super::{names, spec};
use crate::resources;

/// How long to wait before a watch that failed is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// How many changes wait before the watch does.
const QUEUE: usize = 256;

/// Something that a pod needs is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Missing(pub(super) String);

/// A change of a mirrored object, by namespace and name.
pub(super) type Change = ((String, String), Option<Arc<Value>>);

/// The API as this node sees it.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    clock: Clock,
    node: Arc<str>,
    /// Events so far: two of one second need two names.
    events: Arc<AtomicU32>,
}

/// Whether an event tells of something wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Normal,
    Warning,
}

impl Api {
    pub(super) fn new(client: Client, clock: Clock, node: &str) -> Self {
        Self { client: client.with_manager("kubelet"), clock, node: node.into(), events: Arc::default() }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn node(&self) -> &str {
        &self.node
    }

    /// Follows a resource, from what is there on, until the receiver is dropped. An object that went while the watch
    /// was away is told as gone.
    pub(super) fn follow(&self, gvr: &'static Gvr, field_selector: Option<String>) -> mpsc::Receiver<Change> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let api = self.clone();
        tokio::spawn(async move {
            let mut known: BTreeMap<(String, String), bool> = BTreeMap::new();
            while !sender.is_closed() {
                let ended = tokio::select! {
                    ended = api.follow_once(gvr, field_selector.clone(), &mut known, &sender) => ended,
                    () = sender.closed() => return,
                };
                if let Err(error) = ended {
                    tracing::warn!(resource = gvr.resource, error = %error.message, "a watch of the node failed");
                }
                tokio::time::sleep(RETRY).await;
            }
        });
        receiver
    }

    /// One watch. `known` says of each object whether this watch has seen it.
    async fn follow_once(
        &self,
        gvr: &Gvr,
        field_selector: Option<String>,
        known: &mut BTreeMap<(String, String), bool>,
        sender: &mpsc::Sender<Change>,
    ) -> Result<(), Status> {
        let options = WatchOptions {
            field_selector,
            send_initial_events: Some(true),
            resource_version_match: Some("NotOlderThan".to_owned()),
            allow_bookmarks: true,
            ..WatchOptions::default()
        };
        let mut watch = self.client.watch(gvr, None, &options).await?;
        known.values_mut().for_each(|seen| *seen = false);
        while let Some(event) = watch.next().await {
            let key = names::key(&event.object);
            let change = match event.kind {
                WatchEventKind::Added | WatchEventKind::Modified => {
                    known.insert(key.clone(), true);
                    (key, Some(event.object))
                }
                WatchEventKind::Deleted => {
                    known.remove(&key);
                    (key, None)
                }
                WatchEventKind::Bookmark => {
                    let end = object::annotation(&event.object, "k8s.io/initial-events-end") == Some("true");
                    let gone = known.iter().filter(|(_, seen)| end && !**seen).map(|(key, _)| key.clone());
                    for key in gone.collect::<Vec<_>>() {
                        known.remove(&key);
                        if sender.send((key, None)).await.is_err() {
                            return Ok(());
                        }
                    }
                    continue;
                }
                WatchEventKind::Error => return Ok(()),
            };
            if sender.send(change).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Registers the node, or brings what is registered up to date.
    pub(super) async fn register(&self, node: Value) -> Result<(), Status> {
        let status = node.get("status").cloned().unwrap_or_default();
        match self.client.create(&resources::NODES, None, node).await {
            Ok(_) => {}
            Err(error) if error.is_already_exists() => {}
            Err(error) => return Err(error),
        }
        self.patch_node(json!({"status": status})).await
    }

    pub(super) async fn patch_node(&self, patch: Value) -> Result<(), Status> {
        let nodes = &resources::NODES;
        self.client.patch(nodes, None, &self.node, Patch::Merge(patch), Some("status")).await.map(drop)
    }

    /// Says that the node lives.
    pub(super) async fn renew_lease(&self, seconds: i64) -> Result<(), Status> {
        const NAMESPACE: &str = "kube-node-lease";
        let now = self.now().micro();
        let spec = json!({"holderIdentity": &*self.node, "leaseDurationSeconds": seconds, "renewTime": now});
        let patch = Patch::Merge(json!({"spec": spec.clone()}));
        match self.client.patch(&LEASES, Some(NAMESPACE), &self.node, patch, None).await {
            Err(error) if error.code == 404 => {}
            other => return other.map(drop),
        }
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": &*self.node, "namespace": NAMESPACE},
            "spec": spec,
        });
        self.client.create(&LEASES, Some(NAMESPACE), lease).await.map(drop)
    }

    pub(super) async fn patch_pod_status(&self, pod: &Value, status: Value) -> Result<Value, Status> {
        // The uid keeps the status of a pod away from one that was made again under its name.
        let patch = json!({"metadata": {"uid": object::uid(pod)}, "status": status});
        let (namespace, name) = (object::namespace(pod), object::name(pod));
        self.client.patch(&resources::PODS, namespace, name, Patch::Merge(patch), Some("status")).await
    }

    /// Lets a pod go whose processes have ended.
    pub(super) async fn release_pod(&self, pod: &Value) -> Result<(), Status> {
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some(object::uid(pod).to_owned()),
            ..DeleteOptions::default()
        };
        let (namespace, name) = (object::namespace(pod), object::name(pod));
        match self.client.delete(&resources::PODS, namespace, name, &options).await {
            Err(error) if error.code != 404 && error.code != 409 => Err(error),
            _ => Ok(()),
        }
    }

    /// The entries of a ConfigMap or Secret that a reference names (`configMap…`, `secret…`). `None` when it is not
    /// there and need not be.
    pub(super) async fn data_of(
        &self,
        namespace: &str,
        kind: &str,
        reference: &Value,
    ) -> Result<Option<Vec<(String, Vec<u8>)>>, Missing> {
        let name = reference.str_at(&["name"]).unwrap_or_default();
        let secret = kind.starts_with("secret");
        let (gvr, what) =
            if secret { (&*SECRETS, "secret") } else { (&*resources::CONFIG_MAPS, "configmap") };
        let document = match self.client.get(gvr, Some(namespace), name).await {
            Ok(document) => document,
            Err(error) if error.code == 404 => {
                let optional = reference.get("optional").and_then(Value::as_bool) == Some(true);
                return if optional { Ok(None) } else { Err(Missing(format!("{what} {name:?} not found"))) };
            }
            Err(error) => return Err(Missing(error.message)),
        };
        let mut data = Vec::new();
        let entries = |key: &str| document.get(key).and_then(Value::as_object);
        let decode = |text: &Value| {
            let text = text.as_str().unwrap_or_default();
            STANDARD
                .decode(text)
                .map_err(|error| Missing(format!("{what} {name:?} holds no base64: {error}")))
        };
        for (key, value) in entries("data").into_iter().flat_map(|map| map.iter()) {
            let bytes =
                if secret { decode(value)? } else { value.as_str().unwrap_or_default().as_bytes().to_vec() };
            data.push((key.to_owned(), bytes));
        }
        for (key, value) in entries("binaryData").into_iter().flat_map(|map| map.iter()) {
            data.push((key.to_owned(), decode(value)?));
        }
        Ok(Some(data))
    }

    pub(super) async fn claim(&self, namespace: &str, name: &str) -> Result<Value, Missing> {
        let found = self.client.get(&resources::CLAIMS, Some(namespace), name).await;
        found.map_err(|error| Missing(error.message))
    }

    pub(super) async fn persistent_volume(&self, name: &str) -> Result<Value, Missing> {
        self.client.get(&resources::VOLUMES, None, name).await.map_err(|error| Missing(error.message))
    }

    /// A token for the pod's service account, bound to the pod.
    pub(super) async fn token(&self, pod: &Value, source: &Value) -> Result<String, Missing> {
        let account = pod.str_at(&["spec", "serviceAccountName"]).unwrap_or("default");
        let audiences: Vec<Value> = source.get("audience").cloned().into_iter().collect();
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": audiences,
                "expirationSeconds": source.i64_at(&["expirationSeconds"]).unwrap_or(3600),
                "boundObjectRef": {
                    "apiVersion": "v1", "kind": "Pod", "name": object::name(pod), "uid": object::uid(pod),
                },
            },
        });
        let accounts = &resources::SERVICE_ACCOUNTS;
        let namespace = Some(spec::namespace(pod));
        let answer = self.client.create_subresource(accounts, namespace, account, "token", request).await;
        let answer = answer.map_err(|error| Missing(format!("failed to fetch token: {}", error.message)))?;
        let token = answer.str_at(&["status", "token"]).unwrap_or_default();
        if token.is_empty() {
            Err(Missing("failed to fetch token: the answer holds none".to_owned()))
        } else {
            Ok(token.to_owned())
        }
    }

    /// Records an event about a pod, or about one of its containers. What cannot be recorded is logged.
    pub(super) async fn event(
        &self,
        pod: &Value,
        container: Option<&str>,
        tone: Tone,
        reason: &str,
        message: &str,
    ) {
        let namespace = spec::namespace(pod);
        let now = self.now();
        let number = self.events.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{:x}{:08x}", object::name(pod), now.unix_seconds(), number);
        let mut involved = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": namespace,
            "name": object::name(pod),
            "uid": object::uid(pod),
            "resourceVersion": object::resource_version(pod),
        });
        if let Some(container) = container {
            involved.set(&["fieldPath"], format!("spec.containers{{{container}}}"));
        }
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "type": if tone == Tone::Normal { "Normal" } else { "Warning" },
            "source": {"component": "kubelet", "host": &*self.node},
            "firstTimestamp": now.to_string(),
            "lastTimestamp": now.to_string(),
            "count": 1,
            "reportingComponent": "kubelet",
            "reportingInstance": &*self.node,
        });
        if let Err(error) = self.client.create(&resources::EVENTS, Some(namespace), event).await {
            tracing::debug!(reason, error = %error.message, "an event was not recorded");
        }
    }
}

static LEASES: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("coordination.k8s.io", "v1", "leases"));
static SECRETS: LazyLock<Gvr> = LazyLock::new(|| Gvr::new("", "v1", "secrets"));
