//! Whether an object does its work, for the kinds that operators make most.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;

use crate::object::Object;
use crate::plan::ConditionStatus;

/// A kind that can tell whether it does its work.
pub trait Available: Object {
    /// Met when the object does what it is for.
    fn availability(&self) -> ConditionStatus;
}

/// Rolled out entirely, and enough replicas are available (as `kubectl rollout status` sees it).
impl Available for Deployment {
    fn availability(&self) -> ConditionStatus {
        let status = self.status.clone().unwrap_or_default();
        let wanted = self.spec.replicas.unwrap_or(1);
        rolled_out(
            "Deployment",
            self.metadata.name.as_deref(),
            status.observed_generation >= self.metadata.generation,
            status.updated_replicas.unwrap_or(0),
            status.available_replicas.unwrap_or(0),
            wanted,
        )
    }
}

/// Rolled out entirely, and all replicas are available.
impl Available for StatefulSet {
    fn availability(&self) -> ConditionStatus {
        let status = self.status.clone().unwrap_or_default();
        let wanted = self.spec.replicas.unwrap_or(1);
        rolled_out(
            "StatefulSet",
            self.metadata.name.as_deref(),
            status.observed_generation >= self.metadata.generation,
            status.updated_replicas.unwrap_or(0),
            status.available_replicas.unwrap_or(0),
            wanted,
        )
    }
}

/// Its condition `Ready` is true.
impl Available for Pod {
    fn availability(&self) -> ConditionStatus {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        let conditions = self.status.as_ref().and_then(|status| status.conditions.as_ref());
        match conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready") {
            Some(ready) if ready.status == "True" => {
                ConditionStatus::met("PodReady", format!("Pod {name} is ready"))
            }
            _ => ConditionStatus::unmet("PodNotReady", format!("Pod {name} is not ready")),
        }
    }
}

/// Its condition `Complete` is true.
impl Available for Job {
    fn availability(&self) -> ConditionStatus {
        let name = self.metadata.name.as_deref().unwrap_or_default();
        let conditions = self.status.as_ref().and_then(|status| status.conditions.as_ref());
        let is = |kind: &str| {
            conditions
                .into_iter()
                .flatten()
                .any(|condition| condition.type_ == kind && condition.status == "True")
        };
        if is("Complete") {
            ConditionStatus::met("JobComplete", format!("Job {name} is complete"))
        } else if is("Failed") {
            ConditionStatus::unmet("JobFailed", format!("Job {name} has failed"))
        } else {
            ConditionStatus::unmet("JobRunning", format!("Job {name} is running"))
        }
    }
}

fn rolled_out(
    kind: &str,
    name: Option<&str>,
    observed: bool,
    updated: i32,
    available: i32,
    wanted: i32,
) -> ConditionStatus {
    let name = name.unwrap_or_default();
    if !observed || updated < wanted {
        ConditionStatus::unmet(
            "RollingOut",
            format!("{kind} {name}: {updated} of {wanted} replicas are up to date"),
        )
    } else if available < wanted {
        ConditionStatus::unmet(
            "NotAvailable",
            format!("{kind} {name}: {available} of {wanted} replicas are available"),
        )
    } else {
        ConditionStatus::met(
            "Available",
            format!("{kind} {name}: {available} of {wanted} replicas are available"),
        )
    }
}
