//! Pods: the one kind whose cells take thought.

use pilothouse_value::{Timestamp, Value, json, object};

use super::Cells;
use super::cells::{age, flag, int, name, since, text, text_or};

pub(super) fn printer(key: &str) -> Option<Cells> {
    (key == "core.Pod").then_some(pod as Cells)
}

/// The conditions of a row: a pod that has ended says so.
pub(super) fn row_conditions(object: &Value) -> Option<Value> {
    if object::kind(object) != "Pod" || object::api_version(object) != "v1" {
        return None;
    }
    let (reason, message) = match text(object, &["status", "phase"]) {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

/// What has been read from the states of the containers so far.
struct Summary<'v> {
    reason: String,
    restarts: i64,
    last_restart: Option<&'v str>,
    ready: usize,
}

impl<'v> Summary<'v> {
    fn count_restart(&mut self, status: &'v Value) {
        self.restarts += int(status, &["restartCount"]);
        // RFC 3339 in seconds and UTC sorts as text.
        self.last_restart = self.last_restart.max(status.str_at(&["lastState", "terminated", "finishedAt"]));
    }
}

fn pod(pod: &Value, now: Timestamp) -> Vec<Value> {
    let phase = text(pod, &["status", "phase"]);
    let conditions = pod.items_at(&["status", "conditions"]);
    let gated = conditions
        .iter()
        .any(|c| text(c, &["type"]) == "PodScheduled" && text(c, &["reason"]) == "SchedulingGated");
    let reason = if gated { "SchedulingGated" } else { text_or(pod, &["status", "reason"], phase) };
    let mut summary = Summary { reason: reason.to_owned(), restarts: 0, last_restart: None, ready: 0 };

    let init = pod.items_at(&["spec", "initContainers"]);
    let is_sidecar = |name: &str| {
        init.iter().any(|c| text(c, &["name"]) == name && text(c, &["restartPolicy"]) == "Always")
    };
    let sidecars = init.iter().filter(|container| text(container, &["restartPolicy"]) == "Always").count();
    let total = pod.items_at(&["spec", "containers"]).len() + sidecars;

    let initializing = init_containers(pod, init.len(), is_sidecar, &mut summary);
    if !initializing || object::condition_is_true(pod, "Initialized") {
        summary.restarts = 0;
        summary.last_restart = None;
        let statuses = pod.items_at(&["status", "initContainerStatuses"]).iter();
        for status in statuses.filter(|status| is_sidecar(text(status, &["name"]))) {
            summary.count_restart(status);
        }
        app_containers(pod, &mut summary);
    }

    if object::deletion_timestamp(pod).is_some() {
        if text(pod, &["status", "reason"]) == "NodeLost" {
            summary.reason = "Unknown".to_owned();
        } else if !matches!(phase, "Succeeded" | "Failed") {
            summary.reason = "Terminating".to_owned();
        }
    }
    let restarts = match summary.last_restart {
        Some(last) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, since(Some(last), now))
        }
        _ => summary.restarts.to_string(),
    };
    let ip = pod.items_at(&["status", "podIPs"]).first().map_or("", |ip| text(ip, &["ip"]));
    vec![
        name(pod),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        restarts.into(),
        age(pod, now),
        if ip.is_empty() { "<none>" } else { ip }.into(),
        text_or(pod, &["spec", "nodeName"], "<none>").into(),
        text_or(pod, &["status", "nominatedNodeName"], "<none>").into(),
        readiness_gates(pod).into(),
    ]
}

/// Reads the init containers up to the first that is not done; whether there is one.
fn init_containers<'v>(
    pod: &'v Value,
    total: usize,
    is_sidecar: impl Fn(&str) -> bool,
    summary: &mut Summary<'v>,
) -> bool {
    for (at, status) in pod.items_at(&["status", "initContainerStatuses"]).iter().enumerate() {
        summary.count_restart(status);
        let terminated = status.at(&["state", "terminated"]);
        let waiting = text(status, &["state", "waiting", "reason"]);
        if terminated.is_some_and(|state| int(state, &["exitCode"]) == 0) {
            continue;
        }
        if is_sidecar(text(status, &["name"])) && flag(status, &["started"], false) {
            summary.ready += usize::from(flag(status, &["ready"], false));
            continue;
        }
        summary.reason = match terminated {
            Some(state) => format!("Init:{}", ended(state)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            None => format!("Init:{at}/{total}"),
        };
        return true;
    }
    false
}

fn app_containers<'v>(pod: &'v Value, summary: &mut Summary<'v>) {
    let (mut running, mut failure) = (false, None);
    for status in pod.items_at(&["status", "containerStatuses"]).iter().rev() {
        summary.count_restart(status);
        let waiting = text(status, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            summary.reason = waiting.to_owned();
        } else if let Some(state) = status.at(&["state", "terminated"]) {
            summary.reason = ended(state);
            if int(state, &["exitCode"]) != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if flag(status, &["ready"], false) && status.at(&["state", "running"]).is_some() {
            running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        // A pod is not complete while one of its containers still runs.
        if running && object::condition_is_true(pod, "Ready") {
            summary.reason = "Running".to_owned();
        } else if let Some(failure) = failure {
            summary.reason = failure;
        } else if running {
            summary.reason = "NotReady".to_owned();
        }
    }
}

/// Why a container ended.
fn ended(state: &Value) -> String {
    match (text(state, &["reason"]), int(state, &["signal"])) {
        ("", 0) => format!("ExitCode:{}", int(state, &["exitCode"])),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.items_at(&["spec", "readinessGates"]);
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open =
        gates.iter().filter(|gate| object::condition_is_true(pod, text(gate, &["conditionType"]))).count();
    format!("{open}/{}", gates.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_pod_is_that_of_its_containers() {
        let now = Timestamp::parse("2026-11-30T08:10:00Z").unwrap();
        let pod_with = |status: Value, deleted: bool| {
            let mut pod = json!({
                "metadata": {"name": "p", "creationTimestamp": "2026-11-30T08:00:00Z"},
                "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}, "status": status,
            });
            if deleted {
                pod.set(&["metadata", "deletionTimestamp"], "2026-11-30T08:09:00Z");
            }
            pod
        };
        let running = json!({"name": "c", "ready": true, "state": {"running": {}}, "restartCount": 2,
            "lastState": {"terminated": {"finishedAt": "2026-11-30T08:05:00Z"}}});
        let cases = [
            (json!({"phase": "Pending"}), false, json!(["p", "0/1", "Pending", "0", "10m"])),
            (
                json!({"phase": "Running", "containerStatuses": [running]}),
                false,
                json!(["p", "1/1", "Running", "2 (5m ago)", "10m"]),
            ),
            (
                json!({"phase": "Running", "containerStatuses": [running]}),
                true,
                json!(["p", "1/1", "Terminating", "2 (5m ago)", "10m"]),
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}),
                false,
                json!(["p", "0/1", "Init:0/1", "0", "10m"]),
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "restartCount": 1, "state": {"terminated": {"exitCode": 3}}}]}),
                false,
                json!(["p", "0/1", "Init:ExitCode:3", "1", "10m"]),
            ),
            (
                json!({"phase": "Running", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
                false,
                json!(["p", "0/1", "CrashLoopBackOff", "0", "10m"]),
            ),
            (
                json!({"phase": "Succeeded", "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]}),
                false,
                json!(["p", "0/1", "Completed", "0", "10m"]),
            ),
        ];
        for (status, deleted, expected) in cases {
            let cells = pod(&pod_with(status, deleted), now);
            assert_eq!(Value::Array(cells[..5].to_vec().into()), expected);
            assert_eq!(cells.len(), 9);
        }
    }
}
