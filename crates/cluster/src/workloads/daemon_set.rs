//! DaemonSet: one pod on each node that it fits (`pkg/controller/daemon`).

use std::collections::BTreeMap;

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Timestamp, Value, json, object};

use super::replica_set::{count, created, deleted};
use super::revisions::{self, Revisions};
use super::{adopt, deployment, pods};
use crate::harness::plan::Plan;
use crate::resources::{DAEMON_SETS, PODS};
use crate::scheduler::fit;

/// What to do for a DaemonSet, given the pods and ControllerRevisions of its namespace, and all nodes.
pub(crate) fn reconcile(
    set: &Value,
    all_pods: &[&Value],
    all_revisions: &[&Value],
    nodes: &[&Value],
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let Ok(selector) = LabelSelector::from_object(set.at(&["spec", "selector"]).unwrap_or(&Value::Null))
    else {
        plan.warning(set, "InvalidSelector", "This daemon set has an invalid label selector.");
        return plan;
    };
    let owned = adopt::claim(set, &selector, &PODS, all_pods.iter().copied(), &mut plan);
    if object::deletion_timestamp(set).is_some() {
        return plan;
    }
    let revisions =
        Revisions::resolve(set, revisions::REVISION_HASH, all_revisions.iter().copied(), &mut plan);
    let mut by_node: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for pod in &owned {
        by_node.entry(node_of(pod)).or_default().push(pod);
    }
    let probe = pod_for(set, &revisions.update, "");
    let wanted: Vec<&str> =
        nodes.iter().filter(|node| fit::daemon(&probe, node)).map(|node| object::name(node)).collect();
    for name in &wanted {
        let here = by_node.get(name).map_or(&[][..], Vec::as_slice);
        for pod in here.iter().filter(|pod| pods::is_finished(pod) && !pods::is_terminating(pod)) {
            plan.delete(&PODS, pod, Some(deleted(set)));
        }
        if here.is_empty() {
            plan.create(&PODS, pod_for(set, &revisions.update, name), Some(created(set)));
        }
    }
    for (_, unwanted) in by_node.iter().filter(|(node, _)| !wanted.contains(node)) {
        for pod in unwanted.iter().filter(|pod| !pods::is_terminating(pod)) {
            plan.delete(&PODS, pod, Some(deleted(set)));
        }
    }
    update(set, &revisions, &wanted, &by_node, now, &mut plan);
    status(set, &revisions, &wanted, &by_node, now, &mut plan);
    let in_use: Vec<&str> = owned.iter().map(|pod| revisions::of_pod(pod)).collect();
    revisions.clean_up(set, &in_use, &mut plan);
    plan
}

/// Replaces out-of-date pods as far as `maxUnavailable` allows; those that are not available anyway first.
fn update(
    set: &Value,
    revisions: &Revisions<'_>,
    wanted: &[&str],
    by_node: &BTreeMap<&str, Vec<&Value>>,
    now: Timestamp,
    plan: &mut Plan,
) {
    if set.str_at(&["spec", "updateStrategy", "type"]) == Some("OnDelete") {
        return;
    }
    let min_ready = min_ready(set);
    let max = set.at(&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]);
    let max = max.map_or(1, |max| deployment::int_or_percent(Some(max), count(wanted.len()), true).max(1));
    let here: Vec<Option<&Value>> =
        wanted.iter().map(|node| by_node.get(node).and_then(|p| p.first().copied())).collect();
    let available = |pod: &Value| !pods::is_terminating(pod) && pods::is_available(pod, min_ready, now);
    let missing = here.iter().filter(|pod| !pod.is_some_and(available)).count();
    let mut room = max - count(missing);
    for pod in here.into_iter().flatten() {
        if pods::is_terminating(pod) || pods::is_finished(pod) || revisions::of_pod(pod) == hash(revisions) {
            continue;
        }
        if available(pod) {
            if room <= 0 {
                continue;
            }
            room -= 1;
        }
        plan.delete(&PODS, pod, Some(deleted(set)));
    }
}

fn status(
    set: &Value,
    revisions: &Revisions<'_>,
    wanted: &[&str],
    by_node: &BTreeMap<&str, Vec<&Value>>,
    now: Timestamp,
    plan: &mut Plan,
) {
    let min_ready = min_ready(set);
    let here: Vec<&Value> =
        wanted.iter().filter_map(|node| by_node.get(node).and_then(|p| p.first().copied())).collect();
    let number = |keep: &dyn Fn(&Value) -> bool| count(here.iter().filter(|pod| keep(pod)).count());
    let available = number(&|pod| pods::is_available(pod, min_ready, now));
    let misscheduled = by_node.keys().filter(|node| !wanted.contains(node)).count();
    let mut status = json!({
        "observedGeneration": object::generation(set),
        "currentNumberScheduled": count(here.len()),
        "desiredNumberScheduled": count(wanted.len()),
        "numberMisscheduled": count(misscheduled),
        "numberReady": number(&|pod| pods::is_ready(pod)),
    });
    for (field, number) in [
        ("updatedNumberScheduled", number(&|pod| revisions::of_pod(pod) == hash(revisions))),
        ("numberAvailable", available),
        ("numberUnavailable", count(wanted.len()) - available),
    ] {
        if number > 0 {
            status.set(&[field], number);
        }
    }
    plan.status(&DAEMON_SETS, set, status);
    if let Some(left) = pods::next_available(here.into_iter(), min_ready, now) {
        plan.look_again(left);
    }
}

/// The pod for a node. It is tied to the node by affinity, and the scheduler binds it, as upstream.
fn pod_for(set: &Value, revision: &str, node: &str) -> Value {
    let template = set.at(&["spec", "template"]).unwrap_or(&Value::Null);
    let mut pod = pods::from_template(set, template);
    pod.set(&["metadata", "generateName"], format!("{}-", object::name(set)));
    pod.set(&["metadata", "labels", revisions::REVISION_HASH], suffix(revision));
    if !node.is_empty() {
        let only = json!({"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]});
        pod.set(
            &["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"],
            only,
        );
    }
    let mut tolerations = pod.items_at(&["spec", "tolerations"]).to_vec();
    for (taint, effect) in [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ] {
        let key = format!("node.kubernetes.io/{taint}");
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": effect}));
    }
    pod.set(&["spec", "tolerations"], tolerations);
    pod
}

/// The node that a pod is on or is meant for.
fn node_of(pod: &Value) -> &str {
    if let Some(node) = pod.str_at(&["spec", "nodeName"]).filter(|node| !node.is_empty()) {
        return node;
    }
    let affinity = [
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let terms = pod.items_at(&affinity);
    let field = terms.first().and_then(|term| term.items_at(&["matchFields"]).first());
    field.and_then(|field| field.items_at(&["values"]).first()).and_then(Value::as_str).unwrap_or_default()
}

fn min_ready(set: &Value) -> i64 {
    set.i64_at(&["spec", "minReadySeconds"]).unwrap_or_default()
}

fn hash<'a>(revisions: &'a Revisions<'_>) -> &'a str {
    suffix(&revisions.update)
}

/// A DaemonSet's pods carry the hash alone, a StatefulSet's the whole name of the revision.
fn suffix(revision: &str) -> &str {
    revision.rsplit('-').next().unwrap_or_default()
}
