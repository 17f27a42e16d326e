//! From what a pod's containers do to what its status says: phase, conditions, container statuses. No side effects.
//!
//! The phase is `getPhase` of the kubelet, the conditions are `status.Generate…Condition`.

use pilothouse_value::{Timestamp, Value, json, object};

use super::spec::{self, RestartPolicy};

/// What a container is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not running, and the reason why; it will be started, or not.
    Waiting { reason: String, message: String },
    /// Since then.
    Running { since: Timestamp },
    /// Ended, for good or until it is started again.
    Terminated(Ended),
}

/// How a run of a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) code: i32,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) started: Option<Timestamp>,
    pub(super) finished: Timestamp,
    pub(super) id: String,
}

/// A container at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) name: String,
    pub(super) image: String,
    /// `process://UID-NAME-RUN`, or empty before the first run.
    pub(super) id: String,
    pub(super) state: State,
    /// The run before.
    pub(super) last: Option<Ended>,
    pub(super) restarts: i64,
    /// Its startup probe has succeeded, or it has none.
    pub(super) started: bool,
    pub(super) ready: bool,
    /// It keeps running beside the main containers.
    pub(super) sidecar: bool,
}

impl Snapshot {
    pub(super) fn waiting(container: &Value, reason: &str) -> Self {
        Self {
            name: container.str_at(&["name"]).unwrap_or_default().to_owned(),
            image: container.str_at(&["image"]).unwrap_or_default().to_owned(),
            id: String::new(),
            state: State::Waiting { reason: reason.to_owned(), message: String::new() },
            last: None,
            restarts: 0,
            started: false,
            ready: false,
            sidecar: spec::is_sidecar(container),
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// Exit code of the run that ended, when it is not running again.
    fn ended(&self) -> Option<i32> {
        match (&self.state, &self.last) {
            (State::Terminated(ended), _) => Some(ended.code),
            // Waiting to be started again.
            (State::Waiting { .. }, Some(last)) => Some(last.code),
            _ => None,
        }
    }

    /// An init container that has done its part.
    fn is_initialized(&self) -> bool {
        if self.sidecar {
            self.started
        } else {
            matches!(&self.state, State::Terminated(ended) if ended.code == 0)
        }
    }

    /// `container` is what the pod's spec says of it.
    fn to_value(&self, container: &Value, init: bool) -> Value {
        let mut value = json!({
            "name": self.name.as_str(),
            "image": self.image.as_str(),
            "imageID": "",
            "ready": if init && !self.sidecar { self.is_initialized() } else { self.ready },
            "started": self.started && self.is_running(),
            "restartCount": self.restarts,
            "state": state(&self.state),
            "lastState": self.last.as_ref().map_or_else(|| json!({}), |ended| json!({"terminated": terminated(ended)})),
        });
        if !self.id.is_empty() {
            value.set(&["containerID"], self.id.as_str());
            // What it was given when it was made.
            value.set(&["resources"], container.get("resources").cloned().unwrap_or_else(Value::object));
            if let Some(requests) = container.at(&["resources", "requests"]) {
                value.set(&["allocatedResources"], requests.clone());
            }
            let mounts: Vec<Value> = container.items_at(&["volumeMounts"]).iter().map(mount).collect();
            if !mounts.is_empty() {
                value.set(&["volumeMounts"], mounts);
            }
        }
        value
    }
}

/// The status of a mount. What is mounted below a read-only mount stays writable: Kubernetes' default.
fn mount(spec: &Value) -> Value {
    let mut status = json!({
        "name": spec.str_at(&["name"]).unwrap_or_default(),
        "mountPath": spec.str_at(&["mountPath"]).unwrap_or_default(),
    });
    if spec.get("readOnly").and_then(Value::as_bool) == Some(true) {
        status.set(&["readOnly"], true);
        status.set(&["recursiveReadOnly"], "Disabled");
    }
    status
}

fn state(state: &State) -> Value {
    match state {
        State::Waiting { reason, message } => {
            let mut waiting = json!({"reason": reason.as_str()});
            if !message.is_empty() {
                waiting.set(&["message"], message.as_str());
            }
            json!({"waiting": waiting})
        }
        State::Running { since } => json!({"running": {"startedAt": since.to_string()}}),
        State::Terminated(ended) => json!({"terminated": terminated(ended)}),
    }
}

fn terminated(ended: &Ended) -> Value {
    let mut value = json!({
        "exitCode": i64::from(ended.code),
        "reason": ended.reason.as_str(),
        "finishedAt": ended.finished.to_string(),
        "startedAt": ended.started.unwrap_or(ended.finished).to_string(),
    });
    if !ended.message.is_empty() {
        value.set(&["message"], ended.message.as_str());
    }
    if !ended.id.is_empty() {
        value.set(&["containerID"], ended.id.as_str());
    }
    value
}

/// What a pod is, beside its containers.
pub(super) struct Place<'a> {
    pub(super) pod_ip: &'a str,
    pub(super) host_ip: &'a str,
    pub(super) started: Timestamp,
    pub(super) now: Timestamp,
}

/// The whole status. `pod` is the newest document: conditions of others and times of conditions are taken from it.
pub(super) fn compose(pod: &Value, init: &[Snapshot], main: &[Snapshot], place: &Place<'_>) -> Value {
    let phase = phase(RestartPolicy::of(pod), init, main);
    let list = |snapshots: &[Snapshot], init| -> Value {
        let specs = pod.items_at(&["spec", if init { "initContainers" } else { "containers" }]);
        let spec = |name: &str| specs.iter().find(|spec| spec.str_at(&["name"]) == Some(name));
        let status =
            |snapshot: &Snapshot| snapshot.to_value(spec(&snapshot.name).unwrap_or(&Value::Null), init);
        snapshots.iter().map(status).collect::<Vec<_>>().into()
    };
    let mut status = json!({
        "phase": phase,
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "podIP": place.pod_ip,
        "podIPs": [{"ip": place.pod_ip}],
        "startTime": place.started.to_string(),
        "qosClass": pod.str_at(&["status", "qosClass"]).unwrap_or("BestEffort"),
        "conditions": conditions(pod, phase, init, main, place.now),
        "containerStatuses": list(main, false),
        "resources": pod.at(&["spec", "resources"]).cloned().unwrap_or_else(Value::object),
    });
    if !init.is_empty() {
        status.set(&["initContainerStatuses"], list(init, true));
    }
    if let Some(generation) = pod.i64_at(&["metadata", "generation"]) {
        status.set(&["observedGeneration"], generation);
    }
    status
}

fn phase(policy: RestartPolicy, init: &[Snapshot], main: &[Snapshot]) -> &'static str {
    let failed_init = |snapshot: &&Snapshot| {
        !snapshot.sidecar && matches!(&snapshot.state, State::Terminated(ended) if ended.code != 0)
    };
    if policy == RestartPolicy::Never && init.iter().find(failed_init).is_some() {
        return "Failed";
    }
    if !init.iter().all(Snapshot::is_initialized)
        && main.iter().all(|s| !s.is_running() && s.ended().is_none())
    {
        return "Pending";
    }
    let never_ran = |snapshot: &Snapshot| !snapshot.is_running() && snapshot.ended().is_none();
    if main.iter().any(never_ran) {
        return "Pending";
    }
    if main.iter().any(Snapshot::is_running) || policy == RestartPolicy::Always {
        return "Running";
    }
    let codes: Vec<i32> = main.iter().filter_map(Snapshot::ended).collect();
    match policy {
        _ if codes.iter().all(|code| *code == 0) => "Succeeded",
        RestartPolicy::Never => "Failed",
        _ => "Running",
    }
}

fn conditions(pod: &Value, phase: &str, init: &[Snapshot], main: &[Snapshot], now: Timestamp) -> Value {
    let names = |of: &[Snapshot], bad: &dyn Fn(&Snapshot) -> bool| {
        of.iter()
            .filter(|snapshot| bad(snapshot))
            .map(|snapshot| snapshot.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let finished = matches!(phase, "Succeeded" | "Failed");
    let succeeded = phase == "Succeeded";
    let mut list = Vec::new();
    let mut add = |kind: &str, holds: bool, reason: &str, message: String| {
        list.push(condition(pod, kind, holds, reason, &message, now));
    };
    add("PodReadyToStartContainers", !finished, "", String::new());

    let uninitialized = names(init, &|snapshot| !snapshot.is_initialized());
    match (succeeded, uninitialized.is_empty()) {
        (true, _) => add("Initialized", true, "PodCompleted", String::new()),
        (_, true) => add("Initialized", true, "", String::new()),
        (_, false) => {
            let message = format!("containers with incomplete status: [{uninitialized}]");
            add("Initialized", false, "ContainersNotInitialized", message);
        }
    }

    let unready = names(main, &|snapshot| !snapshot.ready);
    let gates: Vec<&str> = pod
        .items_at(&["spec", "readinessGates"])
        .iter()
        .filter_map(|gate| gate.str_at(&["conditionType"]))
        .filter(|kind| !object::condition_is_true(pod, kind))
        .collect();
    for kind in ["Ready", "ContainersReady"] {
        if finished {
            let reason = if succeeded { "PodCompleted" } else { "PodFailed" };
            add(kind, false, reason, String::new());
        } else if !unready.is_empty() {
            add(kind, false, "ContainersNotReady", format!("containers with unready status: [{unready}]"));
        } else if let (Some(gate), "Ready") = (gates.first(), kind) {
            let message = format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.");
            add(kind, false, "ReadinessGatesNotReady", message);
        } else {
            add(kind, true, "", String::new());
        }
    }
    // What others have written stays; of the scheduler's word the node tells for which generation it holds.
    let ours = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"];
    for other in pod.items_at(&["status", "conditions"]) {
        let kind = other.str_at(&["type"]).unwrap_or_default();
        if ours.contains(&kind) {
            continue;
        }
        let mut other = other.clone();
        if let (Some(generation), "PodScheduled") = (pod.i64_at(&["metadata", "generation"]), kind) {
            other.set(&["observedGeneration"], generation);
        }
        list.push(other);
    }
    list.into()
}

fn condition(pod: &Value, kind: &str, holds: bool, reason: &str, message: &str, now: Timestamp) -> Value {
    let status = if holds { "True" } else { "False" };
    let since = object::condition(pod, kind)
        .filter(|old| old.str_at(&["status"]) == Some(status))
        .and_then(|old| old.str_at(&["lastTransitionTime"]))
        .map_or_else(|| now.to_string(), str::to_owned);
    let mut value = json!({"type": kind, "status": status, "lastTransitionTime": since});
    if let Some(generation) = pod.i64_at(&["metadata", "generation"]) {
        value.set(&["observedGeneration"], generation);
    }
    for (key, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            value.set(&[key], text);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(state: State) -> Snapshot {
        let ready = matches!(state, State::Running { .. });
        Snapshot { state, ready, started: ready, ..Snapshot::waiting(&json!({"name": "c"}), "") }
    }

    fn ended(code: i32) -> State {
        let finished = Timestamp::from_unix_seconds(1);
        State::Terminated(Ended {
            code,
            reason: "Error".into(),
            message: String::new(),
            started: None,
            finished,
            id: String::new(),
        })
    }

    fn running() -> State {
        State::Running { since: Timestamp::from_unix_seconds(1) }
    }

    fn waiting() -> State {
        State::Waiting { reason: "ContainerCreating".into(), message: String::new() }
    }

    #[test]
    fn phases() {
        use RestartPolicy::{Always, Never, OnFailure};
        let table = [
            (Always, vec![], vec![waiting()], "Pending"),
            (Always, vec![running()], vec![waiting()], "Pending"),
            (Always, vec![ended(0)], vec![running()], "Running"),
            (Always, vec![], vec![running(), waiting()], "Pending"),
            (Always, vec![], vec![ended(1)], "Running"),
            (OnFailure, vec![], vec![ended(1)], "Running"),
            (OnFailure, vec![], vec![ended(0)], "Succeeded"),
            (Never, vec![], vec![ended(0), ended(1)], "Failed"),
            (Never, vec![], vec![ended(0), running()], "Running"),
            (Never, vec![ended(1)], vec![waiting()], "Failed"),
        ];
        for (policy, init, main, expected) in table {
            let snapshots = |states: Vec<State>| states.into_iter().map(at).collect::<Vec<_>>();
            let (init, main) = (snapshots(init), snapshots(main));
            assert_eq!(phase(policy, &init, &main), expected, "{policy:?} {init:?} {main:?}");
        }
    }

    #[test]
    fn a_container_that_was_made_tells_what_it_was_given() {
        let container = json!({
            "name": "c",
            "resources": {"requests": {"cpu": "1"}},
            "volumeMounts": [
                {"name": "a", "mountPath": "/a", "subPath": "s"},
                {"name": "b", "mountPath": "/b", "readOnly": true},
            ],
        });
        let waiting = at(waiting()).to_value(&container, false);
        assert_eq!(waiting.get("volumeMounts"), None);
        let made = Snapshot { id: "process://1".into(), ..at(running()) }.to_value(&container, false);
        assert_eq!(made.get("resources"), container.get("resources"));
        assert_eq!(made.get("allocatedResources"), container.at(&["resources", "requests"]));
        assert_eq!(
            made.get("volumeMounts").unwrap().to_json(),
            r#"[{"mountPath":"/a","name":"a"},{"mountPath":"/b","name":"b","readOnly":true,"recursiveReadOnly":"Disabled"}]"#
        );
    }

    #[test]
    fn a_condition_keeps_its_time_until_it_changes() {
        let old = json!({"metadata": {"generation": 2}, "status": {"conditions": [
            {"type": "Ready", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"},
            {"type": "PodScheduled", "status": "True"},
        ]}});
        let now = Timestamp::from_unix_seconds(1_800_000_000);
        let of = |main: Snapshot| conditions(&old, "Running", &[], &[main], now);
        let find = |list: &Value, kind: &str| {
            list.as_array().unwrap().iter().find(|c| c.str_at(&["type"]) == Some(kind)).cloned().unwrap()
        };
        let same = find(&of(at(waiting())), "Ready");
        assert_eq!(same.str_at(&["lastTransitionTime"]), Some("2020-01-01T00:00:00Z"));
        assert_eq!(same.str_at(&["message"]), Some("containers with unready status: [c]"));
        let ready = of(at(running()));
        assert_eq!(find(&ready, "Ready").str_at(&["lastTransitionTime"]), Some(now.to_string().as_str()));
        let scheduled = find(&ready, "PodScheduled");
        assert_eq!(scheduled.str_at(&["status"]), Some("True"));
        assert_eq!(scheduled.i64_at(&["observedGeneration"]), Some(2));
    }
}
