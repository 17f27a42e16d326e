//! What the status of an object may say (upstream: the `Validate…StatusUpdate` of pkg/apis/*/validation).

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Gvk, Timestamp, Value, names};

use super::super::ips;
use super::addresses::legacy_ip;
use super::{At, Errors, IMMUTABLE, certificates, device_claims, jobs, nodes, resources, storage};

pub(super) fn validate(gvk: &Gvk, at: &At<'_>, old: &Value, errors: &mut Errors) {
    let status = at.child("status");
    let counts = |fields: &[&str], errors: &mut Errors| errors.not_negative(&status, fields);
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("resource.k8s.io", "ResourceClaim") => device_claims::claim_status(at, old, errors),
        ("flowcontrol.apiserver.k8s.io", _) => {
            let mut seen = BTreeSet::new();
            for condition in status.items("conditions") {
                let kind = condition.text("type");
                if !seen.insert(kind) {
                    errors.0.push(Error::duplicate(&condition.path.child("type"), kind));
                }
                if kind.is_empty() {
                    errors.required(&condition.path.child("type"), "");
                }
            }
        }
        ("apps", "Deployment") => {
            counts(
                &[
                    "observedGeneration",
                    "replicas",
                    "updatedReplicas",
                    "readyReplicas",
                    "availableReplicas",
                    "unavailableReplicas",
                    "terminatingReplicas",
                    "collisionCount",
                ],
                errors,
            );
            at_most_replicas(&status, &["updatedReplicas", "readyReplicas", "availableReplicas"], errors);
            available_are_ready(&status, "readyReplicas", errors);
            counter_grows(&status, old, "collisionCount", errors);
        }
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            counts(
                &[
                    "replicas",
                    "fullyLabeledReplicas",
                    "readyReplicas",
                    "availableReplicas",
                    "observedGeneration",
                    "terminatingReplicas",
                ],
                errors,
            );
            at_most_replicas(
                &status,
                &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
                errors,
            );
            available_are_ready(&status, "readyReplicas", errors);
        }
        ("apps", "StatefulSet") => {
            counts(
                &[
                    "replicas",
                    "readyReplicas",
                    "currentReplicas",
                    "updatedReplicas",
                    "availableReplicas",
                    "observedGeneration",
                    "collisionCount",
                ],
                errors,
            );
            at_most_replicas(
                &status,
                &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
                errors,
            );
            available_are_ready(&status, "status.readyReplicas", errors);
            counter_grows(&status, old, "collisionCount", errors);
        }
        ("apps", "DaemonSet") => {
            counts(
                &[
                    "currentNumberScheduled",
                    "numberMisscheduled",
                    "desiredNumberScheduled",
                    "numberReady",
                    "observedGeneration",
                    "updatedNumberScheduled",
                    "numberAvailable",
                    "numberUnavailable",
                    "collisionCount",
                ],
                errors,
            );
            counter_grows(&status, old, "collisionCount", errors);
        }
        ("batch", "Job") => job(at, old, errors),
        ("storage.k8s.io", "VolumeAttachment") => {
            for error in ["attachError", "detachError"] {
                let error = status.child(error);
                if let Some(code) = error.int("errorCode").filter(|code| *code < 0) {
                    let detail = "must be between 0 and 2147483647, inclusive";
                    errors.invalid(&error.path.child("errorCode"), code, detail);
                }
            }
        }
        ("policy", "PodDisruptionBudget") => {
            conditions(&status, errors);
            counts(&["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"], errors);
        }
        ("autoscaling", "HorizontalPodAutoscaler") => counts(&["currentReplicas", "desiredReplicas"], errors),
        ("", "Service") => {
            load_balancer(at, old, errors);
        }
        ("networking.k8s.io", "Ingress") => ingress(&status, old, errors),
        ("", "Namespace") => namespace(at, old, errors),
        ("", "Node") => nodes::update(at, old, errors),
        ("", "ResourceQuota") => {
            for part in ["hard", "used"] {
                for (name, value) in status.map(part) {
                    let path = status.path.child(part).key(name);
                    resources::quota_name(&path, name, errors);
                    resources::amount(&path, name, value, errors);
                }
            }
        }
        ("", "PersistentVolumeClaim") => storage::claim_status(&status, errors),
        ("certificates.k8s.io", "CertificateSigningRequest") => certificates::status(at, old, false, errors),
        _ => {}
    }
}

fn at_most_replicas(status: &At<'_>, fields: &[&str], errors: &mut Errors) {
    let replicas = status.int("replicas").unwrap_or_default();
    for field in fields {
        if let Some(count) = status.int(field).filter(|count| *count > replicas) {
            errors.invalid(&status.path.child(field), count, "cannot be greater than status.replicas");
        }
    }
}

fn available_are_ready(status: &At<'_>, ready_field: &str, errors: &mut Errors) {
    let (available, ready) = (
        status.int("availableReplicas").unwrap_or_default(),
        status.int("readyReplicas").unwrap_or_default(),
    );
    if available > ready {
        let detail = format!("cannot be greater than {ready_field}");
        errors.invalid(&status.path.child("availableReplicas"), available, detail);
    }
}

fn counter_grows(status: &At<'_>, old: &Value, field: &str, errors: &mut Errors) {
    let path = status.path.child(field);
    let Some(before) = old.i64_at(&["status", field]) else { return };
    match status.int(field) {
        None if before > 0 => errors.invalid(&path, 0, "cannot be decremented"),
        None => {}
        Some(count) if count < before => errors.invalid(&path, count, "cannot be decremented"),
        Some(_) => {}
    }
}

/// Conditions of the common form (upstream: metav1 validation.ValidateConditions).
pub(super) fn conditions(status: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for condition in status.items("conditions") {
        let (kind, reason) = (condition.text("type"), condition.text("reason"));
        if !seen.insert(kind) {
            errors.0.push(Error::duplicate(&condition.path, kind));
        }
        let path = condition.path.child("type");
        match kind {
            "" => errors.required(&path, "is required"),
            kind => errors.complaints(&path, kind, names::qualified_name(kind)),
        }
        errors.one_of(&condition, "status", &["False", "True", "Unknown"], true);
        if let Some(generation) = condition.int("observedGeneration").filter(|generation| *generation < 0) {
            let detail = "must be greater than or equal to zero";
            errors.invalid(&condition.path.child("observedGeneration"), generation, detail);
        }
        if condition.find("lastTransitionTime").is_none() {
            errors.required(&condition.path.child("lastTransitionTime"), "");
        }
        let path = condition.path.child("reason");
        if reason.is_empty() {
            errors.required(&path, "");
        } else {
            let first = reason.starts_with(|c: char| c.is_ascii_alphabetic());
            let last = reason.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let good = reason.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':'));
            if !(first && last && good) {
                let detail = "a condition reason must start with alphabetic character, optionally followed by a string of \
                              alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. \
                              'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
                              '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
                errors.invalid(&path, reason, detail);
            }
            if reason.len() > 1024 {
                errors.0.push(Error::too_long(&path, 1024));
            }
        }
        if condition.text("message").len() > 32 * 1024 {
            errors.0.push(Error::too_long(&condition.path.child("message"), 32 * 1024));
        }
    }
}

fn load_balancer(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let balancer = at.child("status").child("loadBalancer");
    let ingress = balancer.items("ingress");
    let kind = at.child("spec").text("type").to_owned();
    if kind != "LoadBalancer" && !ingress.is_empty() {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        errors.forbidden(&balancer.path.child("ingress"), detail);
        return;
    }
    for one in ingress {
        let (ip, host) = (one.text("ip"), one.text("hostname"));
        if !ip.is_empty() {
            legacy_ip(&one.path.child("ip"), ip, |ip| was_ingress(old, ip), errors);
        }
        match one.text("ipMode") {
            "" if one.find("ipMode").is_none() && ip.is_empty() => {}
            "" if one.find("ipMode").is_none() => {
                errors.required(&one.path.child("ipMode"), "must be specified when `ip` is set")
            }
            _ if ip.is_empty() => {
                errors.forbidden(&one.path.child("ipMode"), "may not be specified when `ip` is not set");
            }
            _ => errors.one_of_all(&one, "ipMode", &["Proxy", "VIP"]),
        }
        hostname(&one, host, errors);
    }
}

fn hostname(one: &At<'_>, host: &str, errors: &mut Errors) {
    if host.is_empty() {
        return;
    }
    let path = one.path.child("hostname");
    errors.complaints(&path, host, names::dns1123_subdomain(host));
    if ips::sloppy_ip(host).is_some() {
        errors.invalid(&path, host, "must be a DNS name, not an IP address");
    }
}

fn ingress(status: &At<'_>, old: &Value, errors: &mut Errors) {
    for one in status.child("loadBalancer").items("ingress") {
        let ip = one.text("ip");
        if !ip.is_empty() {
            legacy_ip(&one.path.child("ip"), ip, |ip| was_ingress(old, ip), errors);
        }
        hostname(&one, one.text("hostname"), errors);
    }
}

fn namespace(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let status = at.child("status");
    let phase = status.text("phase");
    let path = status.path.child("Phase");
    if old.at(&["metadata", "deletionTimestamp"]).is_none_or(Value::is_null) {
        if phase != "Active" {
            errors.invalid(&path, phase, "may only be 'Active' if `deletionTimestamp` is empty");
        }
    } else if phase != "Terminating" {
        errors.invalid(&path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
    }
}

/// Whether an address was in the status before.
fn was_ingress(old: &Value, ip: &str) -> bool {
    old.items_at(&["status", "loadBalancer", "ingress"]).iter().any(|one| one.str_at(&["ip"]) == Some(ip))
}

/// Where a node can be reached: each way once.
pub(super) fn node_addresses(status: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for address in status.items("addresses") {
        if !seen.insert(address.value.to_json()) {
            let shown = super::go::show("core.NodeAddress", address.value);
            errors.0.push(Error::duplicate(&address.path, Value::Null).showing(shown));
        }
    }
}

fn job(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let (spec, status) = (at.child("spec"), at.child("status"));
    errors.not_negative(&status, &["active", "succeeded", "failed", "ready", "terminating"]);
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        for uid in status.child("uncountedTerminatedPods").items(list) {
            match uid.value.as_str().unwrap_or_default() {
                "" => errors.invalid(&uid.path, "", "must not be empty"),
                text if !seen.insert(text) => errors.0.push(Error::duplicate(&uid.path, text)),
                _ => {}
            }
        }
    }
    let holds = |status: &Value, kind: &str| {
        let conditions = status.items_at(&["conditions"]).iter();
        conditions
            .into_iter()
            .any(|c| c.str_at(&["type"]) == Some(kind) && c.str_at(&["status"]) == Some("True"))
    };
    let now = |kind: &str| holds(status.value, kind);
    let (complete, failed) = (now("Complete"), now("Failed"));
    let (target, success) = (now("FailureTarget"), now("SuccessCriteriaMet"));
    let path = |field: &str| status.path.child(field);
    let conditions = |wrong: bool, detail: &str, errors: &mut Errors| {
        if wrong {
            errors.invalid_without_value(&path("conditions"), detail);
        }
    };
    conditions(complete && failed, "cannot set Complete=True and Failed=true conditions", errors);
    conditions(complete && target, "cannot set Complete=True and FailureTarget=true conditions", errors);
    let (start, end) = (status.child("startTime"), status.child("completionTime"));
    if !end.value.is_null() && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.invalid(&end.path, end.value.clone(), detail);
    }
    if end.value.is_null() && complete {
        errors.required(&end.path, "completionTime is required for Complete jobs");
    }
    let time = |at: &At<'_>| at.value.as_str().and_then(|text| Timestamp::parse(text).ok());
    if let (Some(from), Some(to)) = (time(&start), time(&end))
        && to < from
    {
        errors.invalid(&end.path, end.value.clone(), "must be equal to or after `startTime`");
    }
    conditions(
        failed && !target,
        "cannot set Failed=True condition without the FailureTarget=true condition",
        errors,
    );
    let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
    conditions(complete && !success, detail, errors);
    let finished = complete || failed;
    let active = status.int("active").unwrap_or_default();
    if finished {
        if active > 0 {
            errors.invalid(&path("active"), active, "active>0 is invalid for finished job");
        }
        if start.value.is_null() {
            errors.required(&path("startTime"), "startTime is required for finished job");
        }
        let uncounted = status.child("uncountedTerminatedPods");
        if ["succeeded", "failed"].iter().any(|list| !uncounted.items(list).is_empty()) {
            let detail = "must be empty for finished job";
            errors.shown(&uncounted.path, "batch.UncountedTerminatedPods", uncounted.value, detail);
        }
    }
    indexes(&spec, &status, errors);
    if let Some(count) = status.int("terminating").filter(|count| finished && *count > 0) {
        errors.invalid(&path("terminating"), count, "terminating>0 is invalid for finished job");
    }
    if let Some(ready) = status.int("ready").filter(|ready| *ready > active) {
        errors.invalid(&path("ready"), ready, "cannot set more ready pods than active");
    }
    conditions(success && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions", errors);
    conditions(
        success && target,
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
        errors,
    );
    let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
    conditions(spec.find("successPolicy").is_some() && !success && complete, detail, errors);

    let before = old.get("status").unwrap_or(&Value::Null);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        let lost = holds(before, kind) && !now(kind);
        conditions(lost, &format!("cannot disable the terminal {kind}=True condition"), errors);
    }
    for field in ["failed", "succeeded"] {
        let count = status.int(field).unwrap_or_default();
        if count < before.i64_at(&[field]).unwrap_or_default() {
            errors.invalid(&path(field), count, format!("cannot decrease the {field} counter"));
        }
    }
    let changed =
        |field: &str| before.get(field).filter(|old| Some(*old) != status.value.get(field)).is_some();
    if changed("completionTime") && !end.value.is_null() {
        errors.invalid(&end.path, end.value.clone(), IMMUTABLE);
    }
    if changed("startTime") && !spec.flag("suspend") {
        let detail = "field is immutable for unsuspended job once set";
        errors.invalid(&start.path, start.value.clone(), detail);
    }
    let lost = holds(before, "SuccessCriteriaMet") && !now("SuccessCriteriaMet");
    conditions(lost, "cannot disable the SuccessCriteriaMet=True condition", errors);
}

fn indexes(spec: &At<'_>, status: &At<'_>, errors: &mut Errors) {
    let completions = spec.int("completions");
    let per_index = spec.int("backoffLimitPerIndex").is_some();
    let (done, failed) = (status.text("completedIndexes"), status.find("failedIndexes"));
    let path = status.path.child("completedIndexes");
    if let Some(Err(why)) = completions.map(|completions| jobs::count_indexes(done, completions)) {
        errors.invalid(&path, done, format!("error parsing completedIndexes: {why}"));
    }
    if let (Some(completions), Some(failed), true) = (completions, &failed, per_index) {
        let text = failed.value.as_str().unwrap_or_default();
        if let Err(why) = jobs::count_indexes(text, completions) {
            errors.invalid(&failed.path, text, format!("error parsing failedIndexes: {why}"));
        }
    }
    if !done.is_empty() && spec.text("completionMode") != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.invalid(&path, done, detail);
    }
    if let Some(failed) = failed.filter(|_| !per_index) {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.invalid(&failed.path, failed.value.clone(), detail);
    }
}
