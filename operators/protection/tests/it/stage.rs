//! A cluster for a test, the operator on it, and a hand that plays the node: it ends the pods of tasks and gives their logs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::client::Body;
use pilothouse::prelude::*;
use pilothouse::serde_json::{Value, json};
use pilothouse_protection::api::{ActionSet, Blueprint, State, crds};
use pilothouse_protection::{Options, controller};
use pilothouse_testkit::Cluster;

pub(crate) type Logs = Arc<Mutex<HashMap<String, String>>>;

#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) logs: Logs,
}

/// A client whose requests for logs are answered from `logs`, and all others by `client`.
pub(crate) fn with_logs(client: Client, logs: &Logs) -> Client {
    let (namespace, logs) = (client.default_namespace().to_owned(), logs.clone());
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let path = request.uri().path().to_owned();
        let log = path.strip_suffix("/log").map(|pod| {
            let name = pod.rsplit('/').next().unwrap_or_default();
            logs.lock().unwrap().get(name).cloned().unwrap_or_default()
        });
        let client = client.clone();
        async move {
            match log {
                Some(log) => Ok(http::Response::new(Body::from(log.into_bytes()))),
                None => client.send(request).await,
            }
        }
    });
    Client::new(service, namespace)
}

impl Stage {
    /// The kinds are served and the operator runs.
    pub(crate) async fn open(cluster: &Cluster) -> Result<(Self, Running)> {
        let stage = Self::closed(cluster).await?;
        let running = controller::start(with_logs(cluster.client(), &stage.logs), Options::default()).await?;
        Ok((stage, running))
    }

    /// The kinds are served.
    pub(crate) async fn closed(cluster: &Cluster) -> Result<Self> {
        for crd in crds()? {
            cluster.apply(crd).await?;
        }
        Ok(Self { cluster: cluster.clone(), logs: Logs::default() })
    }

    pub(crate) async fn blueprint(&self, name: &str, actions: Value) -> Result {
        let mut blueprint: Blueprint = pilothouse::serde_json::from_value(json!({
            "apiVersion": "cr.kanister.io/v1alpha1", "kind": "Blueprint", "metadata": {"name": name}, "actions": actions,
        }))?;
        blueprint.metadata.namespace = Some(self.cluster.namespace().to_owned());
        self.cluster.create(blueprint).await?;
        Ok(())
    }

    /// An ActionSet of one action on the namespace of the test.
    pub(crate) async fn action_set(&self, name: &str, action: Value) -> Result<ActionSet> {
        let mut spec = json!({"name": "backup", "blueprint": "bp",
            "object": {"kind": "Namespace", "name": self.cluster.namespace(), "namespace": self.cluster.namespace()}});
        if let (Value::Object(spec), Value::Object(more)) = (&mut spec, action) {
            spec.extend(more);
        }
        let set = pilothouse::serde_json::from_value(json!({
            "apiVersion": "cr.kanister.io/v1alpha1", "kind": "ActionSet",
            "metadata": {"name": name}, "spec": {"actions": [spec]},
        }))?;
        Ok(self.cluster.create::<ActionSet>(set).await?)
    }

    /// Waits for the end of an ActionSet: its final state, and nothing of the operator left on it.
    pub(crate) async fn ended(&self, name: &str) -> Result<ActionSet> {
        let ended = |set: &ActionSet| {
            set.state().is_some_and(State::is_final)
                && set.metadata.finalizers.as_ref().is_none_or(Vec::is_empty)
        };
        Ok(self.cluster.eventually(name, ended).await?)
    }

    /// The pods of tasks.
    pub(crate) async fn pods(&self) -> Result<Vec<Pod>> {
        let api: Api<Pod> = self.cluster.api();
        Ok(api.list(&ListParams::default().labels("createdBy=kanister")).await?.items)
    }

    /// Waits for the pod of the phase at this place of the first action.
    pub(crate) async fn pod(&self, set: &str, phase: &str) -> Result<Pod> {
        self.cluster
            .eventually::<ActionSet>(set, |set| {
                set.status.as_ref().is_some_and(|s| {
                    set.state().is_some_and(State::is_final)
                        || s.actions
                            .iter()
                            .flat_map(|a| a.phases.iter().chain([&a.defer_phase]))
                            .any(|p| p.name == phase && p.state == State::Running)
                })
            })
            .await?;
        let uid = self.cluster.get::<ActionSet>(set).await?.metadata.uid.unwrap_or_default();
        let step = self.step(set, phase).await?;
        let selector =
            format!("protection.pilothouse.dev/actionset-uid={uid},protection.pilothouse.dev/step={step}");
        let api: Api<Pod> = self.cluster.api();
        let list = api.list(&ListParams::default().labels(&selector)).await?;
        if let Some(pod) = list.items.into_iter().next() {
            return Ok(pod);
        }
        let version = list.metadata.resource_version.unwrap_or_default();
        // The server ends the watch after some minutes, which bounds the wait.
        let watch = api.watch(&WatchParams::default().labels(&selector).timeout(240), &version).await?;
        let mut watch = watch.boxed();
        while let Some(event) = watch.try_next().await? {
            if let WatchEvent::Added(pod) = event {
                return Ok(pod);
            }
        }
        panic!("no pod of the phase {phase} of {set} within four minutes")
    }

    async fn step(&self, set: &str, phase: &str) -> Result<String> {
        let set: ActionSet = self.cluster.get(set).await?;
        let status = set.status.unwrap_or_default();
        let place = status.actions.first().and_then(|a| a.phases.iter().position(|p| p.name == phase));
        Ok(place.map_or("0.defer".to_owned(), |place| format!("0.{place}")))
    }

    /// Ends a pod as a node would.
    pub(crate) async fn end_pod(&self, pod: &Pod, log: &str, code: i32) -> Result {
        let name = pod.name_any();
        self.logs.lock().unwrap().insert(name.clone(), log.to_owned());
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        self.pod_status(&name, json!({"phase": phase, "containerStatuses": [{
            "name": "container", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }}},
        }]})).await
    }

    pub(crate) async fn pod_status(&self, name: &str, status: Value) -> Result {
        let api: Api<Pod> = self.cluster.api();
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await?;
        Ok(())
    }
}

/// A phase that runs a pod.
pub(crate) fn task(name: &str, command: &str) -> Value {
    json!({"func": "KubeTask", "name": name, "args": {
        "namespace": "{{ .Namespace.Name }}", "image": "busybox", "command": ["sh", "-c", command]}})
}

/// An output, as `kando output` prints it.
pub(crate) fn output(key: &str, value: &str) -> String {
    pilothouse_protection::functions::output::line(key, value) + "\n"
}
