//! What makes a pod of a StatefulSet that very pod: its name, its labels and its claims.

use pilothouse_value::{Value, json, object};

use crate::harness::plan::{Plan, Tell, reference};
use crate::resources::CLAIMS;
use crate::workloads::{pods, revisions};

/// The number at the end of a pod's name, if the rest of it is the set's name.
pub(super) fn ordinal(set: &Value, pod: &str) -> Option<i64> {
    let digits = pod.strip_prefix(object::name(set))?.strip_prefix('-')?;
    let canonical = !digits.is_empty() && (digits == "0" || !digits.starts_with('0'));
    if canonical && digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn pod_name(set: &Value, ordinal: i64) -> String {
    format!("{}-{ordinal}", object::name(set))
}

fn templates(set: &Value) -> &[Value] {
    set.items_at(&["spec", "volumeClaimTemplates"])
}

fn claim_name(set: &Value, template: &Value, ordinal: i64) -> String {
    format!("{}-{}", object::name(template), pod_name(set, ordinal))
}

/// The names of the claims of a pod.
pub(super) fn claim_names(set: &Value, ordinal: i64) -> impl Iterator<Item = String> + '_ {
    templates(set).iter().map(move |template| claim_name(set, template, ordinal))
}

/// The pod of this ordinal, made from the template of a revision.
pub(super) fn pod(set: &Value, template: &Value, revision: &str, ordinal: i64) -> Value {
    let name = pod_name(set, ordinal);
    let mut pod = pods::from_template(set, template);
    pod.set(&["metadata", "name"], &name);
    for (label, value) in [
        ("statefulset.kubernetes.io/pod-name", name.as_str()),
        ("apps.kubernetes.io/pod-index", &ordinal.to_string()),
        (revisions::REVISION_HASH, revision),
    ] {
        pod.set(&["metadata", "labels", label], value);
    }
    pod.set(&["spec", "hostname"], &name);
    if let Some(service) = set.str_at(&["spec", "serviceName"]) {
        pod.set(&["spec", "subdomain"], service);
    }
    let mut volumes: Vec<Value> = templates(set)
        .iter()
        .map(|claim| {
            let source = json!({"claimName": claim_name(set, claim, ordinal)});
            let mut volume = json!({"name": object::name(claim)});
            volume.set(&["persistentVolumeClaim"], source);
            volume
        })
        .collect();
    let is_claim =
        |volume: &&Value| templates(set).iter().any(|t| volume.str_at(&["name"]) == Some(object::name(t)));
    volumes.extend(pod.items_at(&["spec", "volumes"]).iter().filter(|v| !is_claim(v)).cloned());
    if !volumes.is_empty() {
        pod.set(&["spec", "volumes"], volumes);
    }
    pod
}

/// Plans to make the claims of a pod that are missing.
pub(super) fn create_claims(set: &Value, ordinal: i64, existing: &[&Value], plan: &mut Plan) {
    for template in templates(set) {
        let name = claim_name(set, template, ordinal);
        if existing.iter().any(|claim| object::name(claim) == name) {
            continue;
        }
        let mut claim = template.clone();
        claim.set(&["apiVersion"], "v1");
        claim.set(&["kind"], "PersistentVolumeClaim");
        claim.take(&["status"]);
        claim.set(&["metadata", "name"], &name);
        claim.set(&["metadata", "namespace"], object::namespace(set).unwrap_or_default());
        let labels = set.at(&["spec", "selector", "matchLabels"]).and_then(Value::as_object);
        for (key, value) in labels.into_iter().flat_map(|labels| labels.iter()) {
            claim.set(&["metadata", "labels", key], value.clone());
        }
        if policy(set, "whenDeleted") == Some("Delete") {
            let mut owner = object::controller_reference(set);
            owner.take(&["controller"]);
            owner.take(&["blockOwnerDeletion"]);
            claim.set(&["metadata", "ownerReferences"], vec![owner]);
        }
        let (set_name, pod) = (object::name(set), pod_name(set, ordinal));
        let tell = Tell {
            regarding: reference(set),
            reason: "SuccessfulCreate",
            message: format!("Create Claim {name} Pod {pod} in StatefulSet {set_name} success"),
            failure: "FailedCreate",
            failure_message: format!(
                "Create Claim {name} for Pod {pod} in StatefulSet {set_name} failed error: {{error}}"
            ),
        };
        plan.create(&CLAIMS, claim, Some(tell));
    }
}

/// Where claims go with the pods that scaling down removes: makes the pod their owner, so that they go with it.
pub(super) fn release_claims(set: &Value, pod: &Value, existing: &[&Value], plan: &mut Plan) {
    let Some(ordinal) = ordinal(set, object::name(pod)) else { return };
    if policy(set, "whenScaled") != Some("Delete") {
        return;
    }
    for name in claim_names(set, ordinal) {
        if let Some(claim) = existing.iter().find(|claim| object::name(claim) == name) {
            let owner = json!({"apiVersion": "v1", "kind": "Pod",
                "name": object::name(pod), "uid": object::uid(pod)});
            plan.patch(&CLAIMS, claim, json!({"metadata": {"ownerReferences": [owner]}}));
        }
    }
}

fn policy<'a>(set: &'a Value, when: &str) -> Option<&'a str> {
    set.str_at(&["spec", "persistentVolumeClaimRetentionPolicy", when])
}

/// The event that tells of a pod made.
pub(super) fn created(set: &Value) -> Tell {
    tell(set, "Create", "SuccessfulCreate", "FailedCreate")
}

/// The event that tells of a pod removed.
pub(super) fn deleted(set: &Value) -> Tell {
    tell(set, "Delete", "SuccessfulDelete", "FailedDelete")
}

fn tell(set: &Value, verb: &str, reason: &'static str, failure: &'static str) -> Tell {
    let name = object::name(set);
    Tell {
        regarding: reference(set),
        reason,
        message: format!("{verb} Pod {{}} in StatefulSet {name} successful"),
        failure,
        failure_message: format!("{verb} Pod {{}} in StatefulSet {name} failed error: {{error}}"),
    }
}
