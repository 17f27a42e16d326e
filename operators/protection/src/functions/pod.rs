//! Runs a pod to its end: `KubeTask` and `PrepareData`.
//!
//! The pod's name is the same for the same step, and a pod runs once (`restartPolicy: Never`). So a restarted operator
//! finds the pod of the phase, waits for it if it still runs, and reads its output from its log: the result comes from
//! the pod's own state, never from a stream that may be cut.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{AsyncReadExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, LogParams, PostParams, Preconditions, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::args::PodTask;
use super::output::OutputParser;
use super::podspec::{PodParts, build};
use super::{Step, StepError};
use crate::controller::journal::{is_already_exists, is_not_found, is_transient, request_text};
use crate::params::Subject;

/// The label that names the ActionSet.
const ACTION_SET: &str = "protection.pilothouse.dev/actionset-uid";
/// The label that names the step.
const STEP: &str = "protection.pilothouse.dev/step";
/// Reasons of a waiting container that time does not heal.
const HOPELESS: [&str; 3] = ["InvalidImageName", "ErrImageNeverPull", "CreateContainerError"];
/// Reasons of a waiting container that time seldom heals.
const DOUBTFUL: [&str; 4] =
    ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "RegistryUnavailable"];
/// How long one watch is kept before the pod is looked at again.
const WATCH: u32 = 280;

/// Runs `PrepareData`: the claims of the workload are mounted, and a failing pod does not fail the phase unless it is
/// told to.
pub(super) async fn prepare_data(step: &Step<'_>, task: &PodTask) -> Result<Map<String, Value>, StepError> {
    let volumes = match (&task.volumes, step.subject) {
        (Some(volumes), _) => volumes.clone().into_iter().collect(),
        (None, Subject::StatefulSet(w) | Subject::Deployment(w) | Subject::DeploymentConfig(w)) => {
            let mut claims: Vec<_> = w.pods.iter().flat_map(|p| p.claims.keys()).cloned().collect();
            claims.sort();
            claims.dedup();
            claims.into_iter().map(|claim| (claim.clone(), format!("/mnt/prepare_data/{claim}"))).collect()
        }
        (None, _) => {
            return Err(StepError::Failed(
                "the object of the action is no workload whose claims could be mounted\nhint: name them in the argument volumes".to_owned(),
            ));
        }
    };
    match run(step, task, "prepare-data-job-", volumes).await {
        Err(StepError::Failed(message)) if !task.fail_on_error => {
            tracing::warn!(
                actionset = step.journal.name(),
                phase = step.name,
                "PrepareData failed: {message}"
            );
            Ok(Map::new())
        }
        other => other,
    }
}

/// Runs the pod, or goes on with it.
pub(super) async fn run(
    step: &Step<'_>,
    task: &PodTask,
    prefix: &str,
    volumes: Vec<(String, String)>,
) -> Result<Map<String, Value>, StepError> {
    let namespace = if task.namespace.is_empty() { step.default_namespace } else { &task.namespace };
    let name = step.unique(prefix);
    let api: Api<Pod> = Api::namespaced(step.client.clone(), namespace);
    // The pod is on the list of what must be gone at the end before it exists.
    let full_name = format!("{namespace}/{name}");
    if !step.journal.notes().await.pods.contains(&full_name) {
        step.journal
            .commit(|_, notes| {
                notes.pods.insert(full_name.clone());
            })
            .await?;
    }
    let pod = start(step, task, &api, namespace, &name, volumes).await?;
    let uid = pod.uid().unwrap_or_default();
    let ended = wait_for_end(step, &api, pod, &uid).await?;
    let phase = ended.status.as_ref().and_then(|s| s.phase.as_deref()).unwrap_or_default();
    let (output, tail) = read_log(&api, &name, phase == "Succeeded").await?;
    if phase == "Succeeded" {
        return Ok(output);
    }
    Err(StepError::Failed(failure(&ended, &tail)))
}

/// The pod of this step: the one that exists already, or a new one.
async fn start(
    step: &Step<'_>,
    task: &PodTask,
    api: &Api<Pod>,
    namespace: &str,
    name: &str,
    volumes: Vec<(String, String)>,
) -> Result<Pod, StepError> {
    let set = step.set;
    let same_namespace = set.namespace().as_deref() == Some(namespace);
    let owner = same_namespace.then(|| {
        json!({"apiVersion": crate::api::API_VERSION, "kind": "ActionSet", "name": set.name_any(), "uid": set.uid(),
            "controller": false, "blockOwnerDeletion": false})
    });
    let identity =
        [(ACTION_SET, step.journal.uid().to_owned()), (STEP, format!("{}.{}", step.action, step.phase))];
    let parts = PodParts {
        name,
        namespace,
        identity: &identity,
        pod_override: step.spec.pod_override.as_ref(),
        labels: &step.spec.pod_labels,
        annotations: &step.spec.pod_annotations,
        volumes,
        service_account: &task.service_account,
        deadline_seconds: i64::try_from(step.limits.phase.as_secs()).unwrap_or(i64::MAX),
        owner,
    };
    let ours = |pod: &Pod| pod.labels().get(ACTION_SET).map(String::as_str) == Some(step.journal.uid());
    let seen_before = step.noted("podUID").await;
    if step.resumed || seen_before.is_some() {
        match get(api, name).await? {
            Some(pod) if ours(&pod) => return noted(step, pod, seen_before).await,
            Some(_) => return Err(foreign(namespace, name)),
            None if seen_before.is_some() => {
                return Err(StepError::Failed(format!(
                    "the pod {namespace}/{name} of the task is gone and its result is not known\n\
                     hint: somebody or something deleted it; run the action again"
                )));
            }
            None => {}
        }
    }
    let pod = build(task, &parts).map_err(|e| {
        StepError::Failed(format!(
            "the overrides do not give a pod: {e}\nhint: compare podOverride with a PodSpec"
        ))
    })?;
    let mut tries = 0;
    let made = loop {
        match api.create(&PostParams::default(), &pod).await {
            Ok(pod) => break pod,
            Err(error) if is_already_exists(&error) => match get(api, name).await? {
                Some(pod) if ours(&pod) => break pod,
                Some(_) => return Err(foreign(namespace, name)),
                None => {}
            },
            Err(error) if is_transient(&error) && tries < 8 => {}
            Err(error) => {
                return Err(StepError::request(&format!("create the pod {namespace}/{name}"), &error));
            }
        }
        tries += 1;
        if tries > 10 {
            return Err(StepError::Failed(format!(
                "cannot create the pod {namespace}/{name}: it comes and goes"
            )));
        }
        sleep(Duration::from_millis(100 << tries.min(6))).await;
    };
    noted(step, made, seen_before).await
}

async fn noted(step: &Step<'_>, pod: Pod, before: Option<Value>) -> Result<Pod, StepError> {
    let uid = Value::from(pod.uid().unwrap_or_default());
    match before {
        Some(before) if before != uid => Err(StepError::Failed(
            "the pod of the task was replaced by another one, and its result is not known".to_owned(),
        )),
        Some(_) => Ok(pod),
        None => {
            step.note("podUID", uid).await?;
            Ok(pod)
        }
    }
}

fn foreign(namespace: &str, name: &str) -> StepError {
    StepError::Failed(format!("a pod {namespace}/{name} exists that does not belong to this ActionSet"))
}

async fn get(api: &Api<Pod>, name: &str) -> Result<Option<Pod>, StepError> {
    let mut pause = Duration::from_millis(100);
    loop {
        match api.get_opt(name).await {
            Ok(pod) => return Ok(pod),
            Err(error) if is_transient(&error) && pause < Duration::from_secs(20) => {}
            Err(error) => return Err(StepError::request(&format!("read the pod {name}"), &error)),
        }
        sleep(pause).await;
        pause *= 2;
    }
}

/// Waits until the pod has ended, telling meanwhile why it does not start.
async fn wait_for_end(step: &Step<'_>, api: &Api<Pod>, first: Pod, uid: &str) -> Result<Pod, StepError> {
    let name = first.name_any();
    let ready_by = Instant::now() + step.limits.pod_ready;
    let mut doubtful_since: Option<Instant> = None;
    let mut pod = first;
    loop {
        if pod.uid().as_deref() != Some(uid) {
            return Err(StepError::Failed(format!("the pod {name} of the task was replaced")));
        }
        let phase = pod.status.as_ref().and_then(|s| s.phase.clone()).unwrap_or_default();
        if phase == "Succeeded" || phase == "Failed" {
            return Ok(pod);
        }
        let pending = phase.is_empty() || phase == "Pending";
        let mut look_again = Duration::from_secs(u64::from(WATCH));
        if pending {
            let now = Instant::now();
            let obstacle = obstacle(&pod);
            if let Some((reason, text)) = &obstacle {
                step.waits_for(reason, text).await?;
                if HOPELESS.contains(&reason.as_str()) {
                    return Err(StepError::Failed(format!("the pod {name} cannot start: {reason}: {text}")));
                }
                if DOUBTFUL.contains(&reason.as_str()) {
                    let until = *doubtful_since.get_or_insert(now) + step.limits.image_pull;
                    if now >= until {
                        return Err(StepError::Failed(format!(
                            "the pod {name} did not start within {} s: {reason}: {text}",
                            step.limits.image_pull.as_secs()
                        )));
                    }
                    look_again = look_again.min(until - now);
                }
            }
            if now >= ready_by {
                let why =
                    obstacle.map_or_else(|| "no reason was given".to_owned(), |(r, t)| format!("{r}: {t}"));
                return Err(StepError::Failed(format!(
                    "the pod {name} did not start within {} s: {why}",
                    step.limits.pod_ready.as_secs()
                )));
            }
            look_again = look_again.min(ready_by - now);
        }
        pod = match timeout(look_again, changed(api, &pod)).await {
            Ok(Some(pod)) => pod,
            // Nothing is known of it for a while, or the watch ended: look.
            Ok(None) | Err(_) => get(api, &name).await?.ok_or_else(|| vanished(&name))?,
        };
        if pod.metadata.deletion_timestamp.is_some() && !pod_ended(&pod) {
            // It is being deleted by somebody; it ends by itself, or it is gone at the next look.
            if get(api, &name).await?.is_none() {
                return Err(vanished(&name));
            }
        }
    }
}

fn pod_ended(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|s| s.phase.as_deref()).is_some_and(|p| p == "Succeeded" || p == "Failed")
}

fn vanished(name: &str) -> StepError {
    StepError::Failed(format!(
        "the pod {name} of the task was deleted before it had ended\nhint: look for who deletes pods there (eviction, a node that went away)"
    ))
}

/// The next state of the pod; `None` when the watch ended without one.
async fn changed(api: &Api<Pod>, pod: &Pod) -> Option<Pod> {
    let name = pod.name_any();
    let parameters = WatchParams::default().fields(&format!("metadata.name={name}")).timeout(WATCH);
    let version = pod.resource_version().unwrap_or_default();
    let stream = match api.watch(&parameters, &version).await {
        Ok(stream) => stream,
        Err(_) => {
            sleep(Duration::from_millis(500)).await;
            return None;
        }
    };
    let mut stream = std::pin::pin!(stream);
    loop {
        match stream.try_next().await {
            Ok(Some(WatchEvent::Added(pod) | WatchEvent::Modified(pod))) => return Some(pod),
            Ok(Some(WatchEvent::Bookmark(_))) => {}
            Ok(Some(WatchEvent::Deleted(pod))) if pod_ended(&pod) => return Some(pod),
            Ok(Some(WatchEvent::Deleted(_) | WatchEvent::Error(_)) | None) => return None,
            Err(_) => {
                sleep(Duration::from_millis(500)).await;
                return None;
            }
        }
    }
}

/// Why a pending pod does not start: a reason and a text.
fn obstacle(pod: &Pod) -> Option<(String, String)> {
    let status = pod.status.as_ref()?;
    let containers =
        status.init_container_statuses.iter().flatten().chain(status.container_statuses.iter().flatten());
    for container in containers {
        let Some(waiting) = container.state.as_ref().and_then(|s| s.waiting.as_ref()) else { continue };
        let reason = waiting.reason.clone().unwrap_or_default();
        if !matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing") {
            return Some((reason, waiting.message.clone().unwrap_or_else(|| container.image.clone())));
        }
    }
    let unscheduled =
        status.conditions.iter().flatten().find(|c| c.type_ == "PodScheduled" && c.status == "False")?;
    let reason = unscheduled.reason.clone().unwrap_or_else(|| "Unschedulable".to_owned());
    Some((reason, unscheduled.message.clone().unwrap_or_default()))
}

/// The output in the log of the pod, and its last lines.
async fn read_log(
    api: &Api<Pod>,
    name: &str,
    needed: bool,
) -> Result<(Map<String, Value>, Vec<String>), StepError> {
    const TRIES: u32 = 6;
    let parameters = LogParams { container: Some("container".to_owned()), ..LogParams::default() };
    let mut last = String::new();
    for attempt in 0..TRIES {
        if attempt > 0 {
            sleep(Duration::from_millis(200 << attempt)).await;
        }
        let mut parser = OutputParser::default();
        let mut stream = match api.log_stream(name, &parameters).await {
            Ok(stream) => Box::pin(stream),
            Err(error) => {
                last = request_text(&error);
                if is_transient(&error) || is_not_found(&error) { continue } else { break }
            }
        };
        let mut buffer = vec![0; 32 << 10];
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) => {
                    return match parser.finish() {
                        Ok(done) => Ok(done),
                        Err(_) if !needed => Ok((Map::new(), Vec::new())),
                        Err(error) => Err(StepError::Failed(error.to_string())),
                    };
                }
                Ok(n) => {
                    if let Err(error) = parser.feed(buffer.get(..n).unwrap_or_default()) {
                        return Err(StepError::Failed(error.to_string()));
                    }
                }
                Err(error) => {
                    last = error.to_string();
                    break;
                }
            }
        }
    }
    if needed {
        return Err(StepError::Failed(format!(
            "the pod {name} succeeded, but its log, which holds the output, cannot be read: {last}"
        )));
    }
    Ok((Map::new(), Vec::new()))
}

/// Why the pod failed, for people.
fn failure(pod: &Pod, tail: &[String]) -> String {
    let name = pod.name_any();
    let status = pod.status.clone().unwrap_or_default();
    let ended = status
        .container_statuses
        .iter()
        .flatten()
        .find_map(|c| c.state.as_ref()?.terminated.as_ref().filter(|t| t.exit_code != 0));
    let mut text = match (ended, &status.reason) {
        (Some(ended), _) => {
            let reason = ended
                .reason
                .as_deref()
                .filter(|r| *r != "Error")
                .map(|r| format!(", {r}"))
                .unwrap_or_default();
            format!("the pod {name} failed: exit code {}{reason}", ended.exit_code)
        }
        (None, Some(reason)) => {
            format!("the pod {name} failed: {reason}: {}", status.message.as_deref().unwrap_or_default())
        }
        (None, None) => format!("the pod {name} failed"),
    };
    if !tail.is_empty() {
        text.push_str("; its last lines:\n");
        text.push_str(&tail.join("\n"));
    }
    text
}

/// Deletes the pods of steps, named `namespace/name`. Pods that are gone are gone, and a pod that does not carry the uid of
/// the ActionSet is left alone: the list comes from an annotation, which others may write. Only pods of steps that begin
/// with `steps` are removed: `0.` for those of the first action, an empty text for all.
///
/// # Errors
/// The first request that the server refuses.
pub async fn remove(
    client: &Client,
    action_set_uid: &str,
    steps: &str,
    pods: &BTreeSet<String>,
) -> Result<(), kube::Error> {
    for full_name in pods {
        let Some((namespace, name)) = full_name.split_once('/') else { continue };
        let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let Some(pod) = api.get_opt(name).await? else { continue };
        let label = |name: &str| pod.labels().get(name).map(String::as_str).unwrap_or_default();
        if label(ACTION_SET) != action_set_uid || !label(STEP).starts_with(steps) {
            continue;
        }
        let only_this = Preconditions { uid: pod.uid(), resource_version: None };
        let parameters =
            DeleteParams { preconditions: Some(only_this), ..DeleteParams::default().grace_period(0) };
        match api.delete(name, &parameters).await {
            Ok(_) => {}
            Err(error) if is_not_found(&error) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
