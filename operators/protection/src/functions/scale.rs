//! Sets the replicas of a workload: `ScaleWorkload`.

use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::args::Scale;
use super::{Step, StepError};
use crate::controller::journal::is_transient;
use crate::controller::observe::selector_of;
use crate::params::Subject;

/// How long one watch for changes is kept before everything is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

pub(super) async fn run(step: &Step<'_>, scale: &Scale) -> Result<Map<String, Value>, StepError> {
    let (kind, workload) = match step.subject {
        Subject::StatefulSet(w) => ("statefulset", Some(w)),
        Subject::Deployment(w) => ("deployment", Some(w)),
        Subject::DeploymentConfig(w) => ("deploymentconfig", Some(w)),
        _ => ("", None),
    };
    let or = |given: &str, own: Option<&str>, what: &str| {
        let value = if given.is_empty() { own.unwrap_or_default() } else { given };
        if value.is_empty() {
            return Err(StepError::Failed(format!(
                "the object of the action is no workload\nhint: give the argument {what}"
            )));
        }
        Ok(value.to_owned())
    };
    let name = or(&scale.name, workload.map(|w| w.name.as_str()), "name")?;
    let namespace = or(&scale.namespace, workload.map(|w| w.namespace.as_str()), "namespace")?;
    let resource = match or(&scale.kind, Some(kind), "kind")?.as_str() {
        "statefulset" => resource("StatefulSet", "statefulsets"),
        "deployment" => resource("Deployment", "deployments"),
        other => {
            return Err(StepError::Failed(format!(
                "workloads of kind {other} cannot be scaled by this operator yet; it scales StatefulSet and Deployment"
            )));
        }
    };
    let what = format!("{} {namespace}/{name}", resource.kind);
    let api: Api<DynamicObject> = Api::namespaced_with(step.client.clone(), &namespace, &resource);
    // What it was must be known before it is changed: a restarted operator would read the new number.
    let original = match step.noted("originalReplicaCount").await {
        Some(noted) => noted,
        None => {
            let before = read(&api, &name, &what).await?;
            let replicas = before.data.pointer("/spec/replicas").cloned().unwrap_or_else(|| 1.into());
            step.note("originalReplicaCount", replicas.clone()).await?;
            replicas
        }
    };
    let patch = json!({"spec": {"replicas": scale.replicas}});
    let mut pause = Duration::from_millis(100);
    loop {
        match api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await {
            Ok(_) => break,
            Err(error) if is_transient(&error) && pause < Duration::from_secs(20) => {}
            Err(error) => return Err(StepError::request(&format!("scale {what}"), &error)),
        }
        sleep(pause).await;
        pause *= 2;
    }
    if scale.wait_for_ready {
        wait(step, &api, &namespace, &name, &what, i64::from(scale.replicas)).await?;
    }
    Ok([("originalReplicaCount".to_owned(), original)].into_iter().collect())
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("apps", "v1", kind), plural)
}

async fn read(api: &Api<DynamicObject>, name: &str, what: &str) -> Result<DynamicObject, StepError> {
    let mut pause = Duration::from_millis(100);
    loop {
        match api.get(name).await {
            Ok(object) => return Ok(object),
            Err(error) if is_transient(&error) && pause < Duration::from_secs(20) => {}
            Err(error) => return Err(StepError::request(&format!("read {what}"), &error)),
        }
        sleep(pause).await;
        pause *= 2;
    }
}

/// Waits until exactly the wanted pods are there and ready; for none, until the last has ended and its volumes are free.
async fn wait(
    step: &Step<'_>,
    api: &Api<DynamicObject>,
    namespace: &str,
    name: &str,
    what: &str,
    replicas: i64,
) -> Result<(), StepError> {
    let pods: Api<Pod> = Api::namespaced(step.client.clone(), namespace);
    loop {
        let object = read(api, name, what).await?;
        let selector = selector_of(&object.data)
            .ok_or_else(|| StepError::Failed(format!("{what} has no selector for its pods")))?;
        let list = match pods.list(&ListParams::default().labels(&selector)).await {
            Ok(list) => list,
            Err(error) if is_transient(&error) => {
                sleep(Duration::from_secs(1)).await;
                continue;
            }
            Err(error) => return Err(StepError::request(&format!("list the pods of {what}"), &error)),
        };
        let there = list.items.iter().filter(|pod| !ended(pod)).count();
        let status = |field: &str| {
            object.data.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or(0)
        };
        let observed = status("observedGeneration") >= object.metadata.generation.unwrap_or(0);
        if observed && i64::try_from(there) == Ok(replicas) && status("readyReplicas") == replicas {
            return Ok(());
        }
        step.waits_for(
            "Scaling",
            &format!(
                "{what} has {there} pods, {} of them ready; {replicas} are wanted",
                status("readyReplicas")
            ),
        )
        .await?;
        let pods_change =
            next(&pods, WatchParams::default().labels(&selector), list.metadata.resource_version);
        let own = WatchParams::default().fields(&format!("metadata.name={name}"));
        let object_change = next(api, own, object.resource_version());
        let _ = timeout(LOOK_AGAIN, async {
            tokio::select! {
                () = pods_change => {}
                () = object_change => {}
            }
        })
        .await;
    }
}

fn ended(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|s| s.phase.as_deref()).is_some_and(|p| p == "Succeeded" || p == "Failed")
}

/// Waits for the next event after the version; when there can be no watch, for a second.
async fn next<K>(api: &Api<K>, parameters: WatchParams, version: Option<String>)
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    if let Ok(stream) = api.watch(&parameters.timeout(60), &version.unwrap_or_default()).await {
        let mut stream = std::pin::pin!(stream);
        if let Ok(Some(_)) = stream.try_next().await {
            return;
        }
    }
    sleep(Duration::from_secs(1)).await;
}
