//! ReplicaSet: as many pods as it says, made from its template (`pkg/controller/replicaset`).

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Timestamp, Value, json, object};

use super::{adopt, pods};
use crate::harness::plan::{Plan, Tell};
use crate::resources::{PODS, REPLICA_SETS};

/// The most pods that one step makes or removes (`BurstReplicas`).
const BURST: usize = 500;

/// What to do for a ReplicaSet, given the pods of its namespace.
pub(crate) fn reconcile(set: &Value, all: &[&Value], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let Ok(selector) = LabelSelector::from_object(set.at(&["spec", "selector"]).unwrap_or(&Value::Null))
    else {
        plan.warning(set, "InvalidSelector", "This replica set has an invalid label selector.");
        return plan;
    };
    let owned = adopt::claim(set, &selector, &PODS, all.iter().copied(), &mut plan);
    let active: Vec<&Value> = owned.iter().copied().filter(|pod| pods::is_active(pod)).collect();
    if object::deletion_timestamp(set).is_none() {
        scale(set, &active, &mut plan);
    }
    status(set, &owned, &active, now, &mut plan);
    plan
}

fn scale(set: &Value, active: &[&Value], plan: &mut Plan) {
    let wanted = usize::try_from(set.i64_at(&["spec", "replicas"]).unwrap_or(1)).unwrap_or_default();
    if active.len() < wanted {
        let template = set.at(&["spec", "template"]).unwrap_or(&Value::Null);
        let mut pod = pods::from_template(set, template);
        pod.set(&["metadata", "generateName"], generate_name(object::name(set)));
        for _ in 0..(wanted - active.len()).min(BURST) {
            plan.create(&PODS, pod.clone(), Some(created(set)));
        }
    } else {
        let mut victims = active.to_vec();
        pods::sort_for_deletion(&mut victims);
        for pod in victims.into_iter().take((active.len() - wanted).min(BURST)) {
            plan.delete(&PODS, pod, Some(deleted(set)));
        }
    }
}

/// The event that tells of a pod made for `owner`.
pub(crate) fn created(owner: &Value) -> Tell {
    Tell {
        regarding: crate::harness::plan::reference(owner),
        reason: "SuccessfulCreate",
        message: "Created pod: {}".to_owned(),
        failure: "FailedCreate",
        failure_message: "Error creating: {error}".to_owned(),
    }
}

/// The event that tells of a pod removed for `owner`.
pub(crate) fn deleted(owner: &Value) -> Tell {
    Tell {
        regarding: crate::harness::plan::reference(owner),
        reason: "SuccessfulDelete",
        message: "Deleted pod: {}".to_owned(),
        failure: "FailedDelete",
        failure_message: "Error deleting: {error}".to_owned(),
    }
}

/// The beginning of the names of an owner's pods, which is left out where the name would be too long for a label.
pub(crate) fn generate_name(owner: &str) -> String {
    format!("{owner}-")
}

fn status(set: &Value, owned: &[&Value], active: &[&Value], now: Timestamp, plan: &mut Plan) {
    let min_ready = set.i64_at(&["spec", "minReadySeconds"]).unwrap_or_default();
    let template = set.at(&["spec", "template", "metadata", "labels"]).and_then(Value::as_object);
    let labelled = |pod: &&&Value| {
        let labels = object::labels(pod);
        template.is_none_or(|t| t.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v)))
    };
    let mut status = json!({
        "replicas": count(active.len()),
        "observedGeneration": object::generation(set),
        "terminatingReplicas": count(owned.iter().filter(|p| pods::is_terminating(p) && !pods::is_finished(p)).count()),
    });
    for (field, number) in [
        ("fullyLabeledReplicas", active.iter().filter(labelled).count()),
        ("readyReplicas", active.iter().filter(|pod| pods::is_ready(pod)).count()),
        ("availableReplicas", active.iter().filter(|pod| pods::is_available(pod, min_ready, now)).count()),
    ] {
        if number > 0 {
            status.set(&[field], count(number));
        }
    }
    if let Some(conditions) = set.at(&["status", "conditions"]) {
        status.set(&["conditions"], conditions.clone());
    }
    plan.status(&REPLICA_SETS, set, status);
    if let Some(left) = pods::next_available(active.iter().copied(), min_ready, now) {
        plan.look_again(left);
    }
}

/// A count as documents hold it.
pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::plan::Intent;

    fn set(replicas: i64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "ns", "uid": "me", "generation": 2},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}}})
    }

    fn pod(name: &str, phase: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web"},
                "ownerReferences": [{"uid": "me", "controller": true}]},
            "spec": {"nodeName": "n"}, "status": {"phase": phase}})
    }

    fn summary(plan: &Plan) -> (usize, Vec<&str>, Option<&Value>) {
        let mut creates = 0;
        let (mut deletes, mut status) = (Vec::new(), None);
        for intent in &plan.intents {
            match intent {
                Intent::Create { .. } => creates += 1,
                Intent::Delete { name, .. } => deletes.push(name.as_str()),
                Intent::UpdateStatus { object, .. } => status = object.get("status"),
                other => panic!("{other:?}"),
            }
        }
        (creates, deletes, status)
    }

    #[test]
    fn makes_what_is_missing_and_removes_what_is_too_many() {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let pods = [pod("a", "Running"), pod("b", "Pending"), pod("c", "Failed")];
        let seen: Vec<&Value> = pods.iter().collect();
        for (replicas, creates, deletes) in
            [(0, 0, vec!["b", "a"]), (1, 0, vec!["b"]), (2, 0, vec![]), (5, 3, vec![])]
        {
            let plan = reconcile(&set(replicas), &seen, now);
            let (made, removed, _) = summary(&plan);
            assert_eq!((made, removed), (creates, deletes), "replicas: {replicas}");
        }
    }

    #[test]
    fn a_pod_carries_the_template_and_its_owner() {
        let plan = reconcile(&set(1), &[], Timestamp::parse("2026-01-01T00:00:00Z").unwrap());
        let Intent::Create { object: pod, .. } = &plan.intents[0] else { panic!("{plan:?}") };
        assert_eq!(pod.str_at(&["metadata", "generateName"]), Some("web-"));
        assert_eq!(object::label(pod, "app"), Some("web"));
        assert_eq!(object::controller_of(pod).and_then(|r| r.str_at(&["uid"])), Some("me"));
        assert_eq!(pod.items_at(&["spec", "containers"]).len(), 1);
    }

    #[test]
    fn a_settled_set_writes_nothing() {
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let mut set = set(1);
        let pods = [pod("a", "Running")];
        let seen: Vec<&Value> = pods.iter().collect();
        let plan = reconcile(&set, &seen, now);
        let (_, _, Some(status)) = summary(&plan) else { panic!("{plan:?}") };
        set.set(&["status"], status.clone());
        assert_eq!(reconcile(&set, &seen, now).intents, []);
    }
}
