//! Deployments, sets and jobs.

use pilothouse_value::{Map, Value};

use super::{Rule, fill, fill_pointer, is_empty, is_unset, object, objects, text};

pub(super) fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "apps.v1.DeploymentSpec" => deployment_spec,
        "apps.v1.ReplicaSetSpec" => |map| fill(map, "replicas", 1),
        "apps.v1.StatefulSetSpec" => stateful_set_spec,
        "apps.v1.DaemonSetSpec" => daemon_set_spec,
        "batch.v1.Job" => job,
        "batch.v1.CronJobSpec" => cron_job_spec,
        "batch.v1.PodFailurePolicyOnPodConditionsPattern" => |map| fill(map, "status", "True"),
        _ => return None,
    })
}

fn deployment_spec(map: &mut Map) {
    fill(map, "replicas", 1);
    let strategy = object(map, "strategy");
    fill(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = object(strategy, "rollingUpdate");
        fill_pointer(rolling, "maxUnavailable", "25%");
        fill_pointer(rolling, "maxSurge", "25%");
    }
    fill(map, "revisionHistoryLimit", 10);
    fill(map, "progressDeadlineSeconds", 600);
}

fn daemon_set_spec(map: &mut Map) {
    let strategy = object(map, "updateStrategy");
    fill(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = object(strategy, "rollingUpdate");
        fill_pointer(rolling, "maxUnavailable", 1);
        fill_pointer(rolling, "maxSurge", 0);
    }
    fill(map, "revisionHistoryLimit", 10);
}

fn stateful_set_spec(map: &mut Map) {
    fill(map, "podManagementPolicy", "OrderedReady");
    let strategy = object(map, "updateStrategy");
    if is_unset(strategy, "type") {
        strategy.insert("type", "RollingUpdate");
        object(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate")
    {
        fill(rolling, "partition", 0);
        fill_pointer(rolling, "maxUnavailable", 1);
    }
    for claim in objects(map, "volumeClaimTemplates") {
        claim.insert("apiVersion", "v1");
        claim.insert("kind", "PersistentVolumeClaim");
    }
    let policy = object(map, "persistentVolumeClaimRetentionPolicy");
    fill(policy, "whenDeleted", "Retain");
    fill(policy, "whenScaled", "Retain");
    fill(map, "replicas", 1);
    fill(map, "revisionHistoryLimit", 10);
}

fn job(map: &mut Map) {
    let spec = object(map, "spec");
    if is_unset(spec, "completions") && is_unset(spec, "parallelism") {
        spec.insert("completions", 1);
    }
    fill(spec, "parallelism", 1);
    let backoff = if is_unset(spec, "backoffLimitPerIndex") { 6 } else { i64::from(i32::MAX) };
    fill(spec, "backoffLimit", backoff);
    fill_pointer(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replacement = if is_unset(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    fill_pointer(spec, "podReplacementPolicy", replacement);
    fill(spec, "manualSelector", false);
    let labels = spec.get("template").and_then(|template| template.at(&["metadata", "labels"])).cloned();
    let metadata = object(map, "metadata");
    if let (Some(labels @ Value::Object(_)), true) = (labels, is_empty(metadata, "labels")) {
        metadata.insert("labels", labels);
    }
}

fn cron_job_spec(map: &mut Map) {
    fill(map, "concurrencyPolicy", "Allow");
    fill(map, "suspend", false);
    fill(map, "successfulJobsHistoryLimit", 3);
    fill(map, "failedJobsHistoryLimit", 1);
}
