//! Reading pods: the few questions that are asked of a pod's document in several places.

use std::time::Duration;

use pilothouse_value::{Value, object};

/// How often a container is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

impl RestartPolicy {
    pub(super) fn of(pod: &Value) -> Self {
        match pod.str_at(&["spec", "restartPolicy"]) {
            Some("Never") => Self::Never,
            Some("OnFailure") => Self::OnFailure,
            _ => Self::Always,
        }
    }

    /// Whether a container that ended with this code is started again.
    pub(super) fn restarts(self, code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

pub(super) fn namespace(pod: &Value) -> &str {
    object::namespace(pod).unwrap_or("default")
}

pub(super) fn containers(pod: &Value) -> &[Value] {
    pod.items_at(&["spec", "containers"])
}

pub(super) fn init_containers(pod: &Value) -> &[Value] {
    pod.items_at(&["spec", "initContainers"])
}

/// An init container that keeps running beside the others.
pub(super) fn is_sidecar(container: &Value) -> bool {
    container.str_at(&["restartPolicy"]) == Some("Always")
}

/// The container of that name, of whatever sort.
pub(super) fn container<'a>(pod: &'a Value, name: &str) -> Option<&'a Value> {
    init_containers(pod)
        .iter()
        .chain(containers(pod))
        .find(|container| container.str_at(&["name"]) == Some(name))
}

/// How long the pod's processes have after SIGTERM: what the deletion says, or what the pod says.
pub(super) fn grace_period(pod: &Value) -> Duration {
    let seconds = pod
        .i64_at(&["metadata", "deletionGracePeriodSeconds"])
        .or_else(|| pod.i64_at(&["spec", "terminationGracePeriodSeconds"]))
        .unwrap_or(30);
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

/// Whether the pod has ended for good.
pub(super) fn is_finished(pod: &Value) -> bool {
    matches!(pod.str_at(&["status", "phase"]), Some("Succeeded" | "Failed"))
}

/// The name that the pod's host has.
pub(super) fn hostname(pod: &Value) -> &str {
    pod.str_at(&["spec", "hostname"]).filter(|name| !name.is_empty()).unwrap_or_else(|| object::name(pod))
}

/// Strings of a list.
pub(super) fn strings(value: &Value, path: &[&str]) -> Vec<String> {
    value.items_at(path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
