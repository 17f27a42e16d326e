//! A node that runs nothing: pods on it run, are ready, end and go at once, as far as their documents tell. It serves
//! tests of controllers and operators that need pods to come and go but nothing to happen in them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pilothouse_value::{Timestamp, Value, json, object};

use crate::harness::api::{Api, Failure, scope};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::{NODES, PODS};
use crate::workloads::pods;

/// The annotation by which a pod says what becomes of it, in place of what [`InstantNode::default_phase`] says. It may
/// be changed at any time, and the pod follows.
pub const PHASE_ANNOTATION: &str = "instant.pilothouse.dev/phase";

/// What becomes of a pod on the instant node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstantPhase {
    /// It stays pending.
    Pending,
    /// It runs and is ready. A pod of a Job, though, succeeds at once: it would never end otherwise.
    #[default]
    Running,
    /// It runs and is not ready.
    Unready,
    /// It ends with exit code 0.
    Succeeded,
    /// It ends with exit code 1.
    Failed,
}

impl InstantPhase {
    /// As [`PHASE_ANNOTATION`] spells it.
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "Pending" => Self::Pending,
            "Running" => Self::Running,
            "Unready" => Self::Unready,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            _ => return None,
        })
    }
}

/// The instant node: its name, and what becomes of pods that say nothing.
#[derive(Clone, Debug)]
pub struct InstantNode {
    /// The name of the Node object. Default: `instant`.
    pub name: String,
    /// What becomes of pods without [`PHASE_ANNOTATION`]. Default: [`InstantPhase::Running`].
    pub default_phase: InstantPhase,
}

impl Default for InstantNode {
    fn default() -> Self {
        Self { name: "instant".to_owned(), default_phase: InstantPhase::default() }
    }
}

struct Kubelet {
    api: Api,
    node: InstantNode,
    /// The number of addresses given out.
    addresses: AtomicU32,
}

impl Reconcile for Kubelet {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(pod) = self.api.of(&PODS).get(&key.namespace, &key.name) else { return Ok(None) };
        if pod.str_at(&["spec", "nodeName"]) != Some(&self.node.name) {
            return Ok(None);
        }
        if pods::is_terminating(&pod) {
            let options = pilothouse_apiserver::DeleteOptions {
                grace_period_seconds: Some(0),
                uid: Some(object::uid(&pod).to_owned()),
                ..Default::default()
            };
            return match self.api.client.delete(&PODS, scope(&key.namespace), &key.name, &options).await {
                Err(status) if !status.is_not_found() && !status.is_conflict() => Err(Failure::Api {
                    doing: format!("removing pod {}/{}", key.namespace, key.name),
                    status: Box::new(status),
                }),
                _ => Ok(None),
            };
        }
        let address = match pod.str_at(&["status", "podIP"]) {
            Some(address) => address.to_owned(),
            None => {
                let number = self.addresses.fetch_add(1, Ordering::Relaxed) + 1;
                std::net::Ipv4Addr::from(0x0a_f4_00_00 | number & 0xffff).to_string()
            }
        };
        let mut plan = Plan::default();
        if let Some(status) =
            next_status(&pod, phase(&pod, self.node.default_phase), &address, self.api.now())
        {
            plan.status(&PODS, &pod, status);
        }
        self.api.act(plan).await
    }
}

/// What becomes of a pod.
fn phase(pod: &Value, default: InstantPhase) -> InstantPhase {
    let said = object::annotation(pod, PHASE_ANNOTATION).and_then(InstantPhase::parse);
    let of_job = object::controller_of(pod).is_some_and(|owner| owner.str_at(&["kind"]) == Some("Job"));
    match said {
        Some(said) => said,
        None if of_job && default == InstantPhase::Running => InstantPhase::Succeeded,
        None => default,
    }
}

/// The status that a pod has in a phase; `None` if it is to stay as it is.
fn next_status(pod: &Value, phase: InstantPhase, address: &str, now: Timestamp) -> Option<Value> {
    if phase == InstantPhase::Pending || pods::is_finished(pod) {
        return None;
    }
    let (name, ready) = match phase {
        InstantPhase::Succeeded => ("Succeeded", false),
        InstantPhase::Failed => ("Failed", false),
        InstantPhase::Running => ("Running", true),
        InstantPhase::Unready | InstantPhase::Pending => ("Running", false),
    };
    if pods::phase(pod) == name && pods::is_ready(pod) == ready {
        return None;
    }
    let mut status = pod.get("status").cloned().unwrap_or_else(Value::object);
    let mut conditions = crate::workloads::conditions::Conditions::of(pod);
    let of = |yes: bool| if yes { "True" } else { "False" };
    for (kind, yes) in
        [("Initialized", true), ("Ready", ready), ("ContainersReady", ready), ("PodScheduled", true)]
    {
        let reason = match (yes, name) {
            (true, _) => "",
            (_, "Succeeded") => "PodCompleted",
            (_, "Failed") => "PodFailed",
            _ => "ContainersNotReady",
        };
        conditions.set(kind, of(yes), reason, "", now);
    }
    conditions.write(&mut status);
    let started = pod.str_at(&["status", "startTime"]).map_or_else(|| now.to_string(), str::to_owned);
    for (field, value) in
        [("phase", name), ("podIP", address), ("hostIP", "10.244.0.1"), ("startTime", &*started)]
    {
        status.set(&[field], value);
    }
    status.set(&["podIPs"], json!([{"ip": address}]));
    for (list, of) in [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")] {
        let done = list == "initContainers" && name == "Running";
        let statuses: Vec<Value> = pod
            .items_at(&["spec", list])
            .iter()
            .map(|container| container_status(container, if done { "Succeeded" } else { name }, ready, now))
            .collect();
        if !statuses.is_empty() {
            status.set(&[of], statuses);
        }
    }
    Some(status)
}

fn container_status(container: &Value, phase: &str, ready: bool, now: Timestamp) -> Value {
    let (name, image) = (object_field(container, "name"), object_field(container, "image"));
    let now = now.to_string();
    let state = match phase {
        "Running" => json!({"running": {"startedAt": now}}),
        phase => {
            let (code, reason) = if phase == "Failed" { (1, "Error") } else { (0, "Completed") };
            json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}})
        }
    };
    json!({"name": name, "image": image, "imageID": "", "containerID": format!("instant://{name}"),
        "ready": ready,
        "started": phase == "Running", "restartCount": 0, "state": state})
}

fn object_field<'a>(container: &'a Value, field: &str) -> &'a str {
    container.str_at(&[field]).unwrap_or_default()
}

fn node_object(name: &str, now: Timestamp) -> Value {
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "",
            "lastHeartbeatTime": now.to_string(), "lastTransitionTime": now.to_string()})
    };
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {
            "conditions": [condition("Ready", "True", "KubeletReady")],
            "capacity": {"cpu": "64", "memory": "256Gi", "pods": "10000"},
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "10000"},
            "addresses": [{"type": "InternalIP", "address": "10.244.0.1"}, {"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": "v1.37.0", "operatingSystem": "linux"}}})
}

/// Registers the node and starts it.
pub(crate) async fn start(api: &Api, runner: &Runner, node: InstantNode) -> Result<(), Failure> {
    let api = api.named("kubelet");
    let wanted = node_object(&node.name, api.now());
    match api.get(&NODES, "", &node.name).await? {
        // A new node brings its status along.
        None => drop(api.create(&NODES, wanted).await?),
        Some(there) => {
            let mut updated = (*there).clone();
            updated.set(&["status"], wanted.get("status").cloned().unwrap_or_default());
            if updated.get("status") != there.get("status") {
                // Whatever else changed in the meantime.
                updated.take(&["metadata", "resourceVersion"]);
                api.update_status(&NODES, updated).await?;
            }
        }
    }
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let (keys, name) = (queue.clone(), node.name.clone());
    api.of(&PODS).on_change(move |change| {
        if let Some(pod) = change.new.as_ref().filter(|pod| pod.str_at(&["spec", "nodeName"]) == Some(&name))
        {
            keys.add(Key::of(pod));
        }
    });
    let reads = vec![api.of(&PODS)];
    runner.run("instant-node", Kubelet { api, node, addresses: AtomicU32::new(0) }, queue, reads);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_becomes_what_it_or_the_node_says() {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let pod = |annotation: Option<&str>, owner: Option<&str>| {
            let mut pod =
                json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
            if let Some(phase) = annotation {
                pod.set(&["metadata", "annotations", PHASE_ANNOTATION], phase);
            }
            if let Some(kind) = owner {
                pod.set(
                    &["metadata", "ownerReferences"],
                    json!([{"kind": kind, "uid": "u", "controller": true}]),
                );
            }
            pod
        };
        for (pod, expected) in [
            (pod(None, None), Some(("Running", true))),
            (pod(None, Some("ReplicaSet")), Some(("Running", true))),
            (pod(None, Some("Job")), Some(("Succeeded", false))),
            (pod(Some("Running"), Some("Job")), Some(("Running", true))),
            (pod(Some("Unready"), None), Some(("Running", false))),
            (pod(Some("Failed"), None), Some(("Failed", false))),
            (pod(Some("Pending"), None), None),
        ] {
            let status = next_status(&pod, phase(&pod, InstantPhase::Running), "10.244.0.2", now);
            let mut after = pod.clone();
            after.set(&["status"], status.clone().unwrap_or_default());
            let seen = status.is_some().then(|| (pods::phase(&after), pods::is_ready(&after)));
            assert_eq!(seen, expected, "{}", pod.to_json());
            if expected.is_some() {
                assert_eq!(next_status(&after, phase(&pod, InstantPhase::Running), "10.244.0.2", now), None);
            }
        }
    }
}
