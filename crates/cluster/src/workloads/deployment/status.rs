//! The status of a Deployment: counts, availability, progress (`pkg/controller/deployment/progress.go`).

use pilothouse_value::{Timestamp, Value, json, object};

use super::scale::{self, replicas, reported};
use super::sets::Sets;
use crate::harness::plan::Plan;
use crate::resources::DEPLOYMENTS;
use crate::time;
use crate::workloads::conditions::Conditions;

/// Remembers that the name of the new ReplicaSet was taken, so that the next hash differs.
pub(super) fn collided(deployment: &Value, count: i64, plan: &mut Plan) {
    let mut status = deployment.get("status").cloned().unwrap_or_else(Value::object);
    status.set(&["collisionCount"], count);
    plan.status(&DEPLOYMENTS, deployment, status);
}

/// Writes the status; `created` is the name of the ReplicaSet that this plan makes.
pub(super) fn write(view: &Sets<'_>, created: Option<&str>, now: Timestamp, plan: &mut Plan) {
    let deployment = view.deployment;
    let sum = |field: &str| view.all().map(|set| reported(set, field)).sum::<i64>();
    let available = sum("availableReplicas");
    let mut status = json!({
        "observedGeneration": object::generation(deployment),
        "terminatingReplicas": sum("terminatingReplicas"),
    });
    for (field, number) in [
        ("replicas", sum("replicas")),
        ("updatedReplicas", view.new.map(|new| reported(new, "replicas")).unwrap_or_default()),
        ("readyReplicas", sum("readyReplicas")),
        ("availableReplicas", available),
        ("unavailableReplicas", view.all().map(replicas).sum::<i64>() - available),
    ] {
        if number > 0 {
            status.set(&[field], number);
        }
    }
    if let Some(count) = deployment.at(&["status", "collisionCount"]) {
        status.set(&["collisionCount"], count.clone());
    }
    let mut conditions = Conditions::of(deployment);
    let (_, unavailable) = scale::surge_and_unavailable(deployment);
    let (met, reason, message) = if available >= replicas(deployment) - unavailable {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    conditions.set_with("Available", met, reason, message, now, "lastUpdateTime");
    progress(view, created, &status, &mut conditions, now, plan);
    conditions.write(&mut status);
    plan.status(&DEPLOYMENTS, deployment, status);
}

fn progress(
    view: &Sets<'_>,
    created: Option<&str>,
    status: &Value,
    conditions: &mut Conditions,
    now: Timestamp,
    plan: &mut Plan,
) {
    let deployment = view.deployment;
    // 2^31-1 seconds is how kubectl and the API spell "no deadline".
    let deadline =
        deployment.i64_at(&["spec", "progressDeadlineSeconds"]).filter(|s| *s < i64::from(i32::MAX));
    let Some(deadline) = deadline else {
        conditions.remove("Progressing");
        return;
    };
    if deployment.at(&["spec", "paused"]).and_then(Value::as_bool) == Some(true) {
        set(conditions, "Unknown", "DeploymentPaused", "Deployment is paused", now);
        return;
    }
    if conditions.get("Progressing").and_then(|c| c.str_at(&["reason"])) == Some("DeploymentPaused") {
        set(conditions, "Unknown", "DeploymentResumed", "Deployment is resumed", now);
    }
    let name = view.new.map_or_else(|| created.unwrap_or_default(), object::name);
    let subject = if name.is_empty() {
        format!("Deployment \"{}\"", object::name(deployment))
    } else {
        format!("ReplicaSet \"{name}\"")
    };
    let before = |field: &str| reported(deployment, field);
    let after = |field: &str| status.i64_at(&[field]).unwrap_or_default();
    let old = |of: &dyn Fn(&str) -> i64| of("replicas") - of("updatedReplicas");
    let moved = after("updatedReplicas") > before("updatedReplicas")
        || old(&after) < old(&before)
        || after("readyReplicas") > before("readyReplicas")
        || after("availableReplicas") > before("availableReplicas");
    let reason =
        conditions.get("Progressing").and_then(|c| c.str_at(&["reason"])).unwrap_or_default().to_owned();
    let settled = after("updatedReplicas") == after("replicas") && reason == "NewReplicaSetAvailable";
    if let Some(created) = created {
        let message = format!("Created new replica set \"{created}\"");
        set(conditions, "True", "NewReplicaSetCreated", &message, now);
    } else if view.is_complete() && deployment_is_observed(deployment) {
        set(
            conditions,
            "True",
            "NewReplicaSetAvailable",
            &format!("{subject} has successfully progressed."),
            now,
        );
    } else if settled {
        // A finished rollout whose pods come and go is not progressing anew.
    } else if moved || conditions.get("Progressing").is_none() {
        let message = format!("{subject} is progressing.");
        // Each step starts the deadline anew, although nothing in the condition may differ but its time.
        let started = conditions.get("Progressing").filter(|c| c.str_at(&["status"]) == Some("True"));
        let since = started.and_then(|c| c.get("lastTransitionTime")).cloned();
        conditions.remove("Progressing");
        set(conditions, "True", "ReplicaSetUpdated", &message, now);
        if let Some(since) = since {
            conditions.date("Progressing", &since);
        }
    } else {
        let since =
            conditions.get("Progressing").and_then(|c| c.str_at(&["lastUpdateTime"])).unwrap_or_default();
        match time::until(since, deadline, now) {
            Some(left) if left.is_zero() && reason != "ProgressDeadlineExceeded" => {
                let message = format!("{subject} has timed out progressing.");
                set(conditions, "False", "ProgressDeadlineExceeded", &message, now);
            }
            Some(left) if !left.is_zero() => plan.look_again(left),
            _ => {}
        }
    }
}

/// Whether the status tells of the present spec: a rollout that has not begun is not complete.
fn deployment_is_observed(deployment: &Value) -> bool {
    deployment.i64_at(&["status", "observedGeneration"]).unwrap_or_default() >= object::generation(deployment)
        || object::generation(deployment) == 0
}

fn set(conditions: &mut Conditions, status: &str, reason: &str, message: &str, now: Timestamp) {
    conditions.set_with("Progressing", status, reason, message, now, "lastUpdateTime");
}
