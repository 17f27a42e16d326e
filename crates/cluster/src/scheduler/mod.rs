//! The scheduler: each pod goes to the first node that it fits, once its claims are bound. There is no scoring and no
//! counting of resources: a node of this cluster takes what it is given.

pub(crate) mod fit;
pub(crate) mod wiring;

use std::collections::BTreeMap;

use pilothouse_value::{Timestamp, Value, object};

use crate::workloads::conditions::Conditions;

/// What the scheduler decides about a pod.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    /// Nothing is to be done: it is scheduled, going, or another scheduler's.
    Ignore,
    /// It goes to this node.
    Bind(String),
    /// It must wait; the reason of the condition, and why.
    Wait(&'static str, String),
}

/// Decides about a pod, given all nodes and the claims of its namespace.
pub(crate) fn decide(pod: &Value, nodes: &[&Value], claims: &[&Value]) -> Decision {
    let scheduler = pod.str_at(&["spec", "schedulerName"]).unwrap_or("default-scheduler");
    if pod.str_at(&["spec", "nodeName"]).is_some_and(|node| !node.is_empty())
        || object::deletion_timestamp(pod).is_some()
        || scheduler != "default-scheduler"
        || crate::workloads::pods::is_finished(pod)
    {
        return Decision::Ignore;
    }
    if !pod.items_at(&["spec", "schedulingGates"]).is_empty() {
        // The API server has set the condition already.
        return Decision::Ignore;
    }
    if nodes.is_empty() {
        return Decision::Wait("Unschedulable", "no nodes available to schedule pods".to_owned());
    }
    if let Some(why) = claim_obstacle(pod, claims) {
        return Decision::Wait("Unschedulable", sentence(nodes.len(), &why));
    }
    let mut obstacles: BTreeMap<String, usize> = BTreeMap::new();
    for node in nodes {
        match fit::obstacle(pod, node) {
            None => return Decision::Bind(object::name(node).to_owned()),
            Some(why) => *obstacles.entry(why).or_default() += 1,
        }
    }
    let why: Vec<String> = obstacles.into_iter().map(|(why, nodes)| format!("{nodes} {why}")).collect();
    Decision::Wait("Unschedulable", sentence(nodes.len(), &why.join(", ")))
}

fn sentence(nodes: usize, why: &str) -> String {
    format!("0/{nodes} nodes are available: {why}.")
}

fn claim_obstacle(pod: &Value, claims: &[&Value]) -> Option<String> {
    claims_of(pod).find_map(|name| {
        let Some(claim) = claims.iter().find(|claim| object::name(claim) == name) else {
            return Some(format!("persistentvolumeclaim \"{name}\" not found"));
        };
        if object::deletion_timestamp(claim).is_some() {
            return Some(format!("persistentvolumeclaim \"{name}\" is being deleted"));
        }
        match claim.str_at(&["status", "phase"]) {
            Some("Bound") => None,
            Some("Lost") => Some(format!(
                "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{}\"",
                claim.str_at(&["spec", "volumeName"]).unwrap_or_default()
            )),
            _ => Some("pod has unbound immediate PersistentVolumeClaims".to_owned()),
        }
    })
}

/// The names of the claims that a pod mounts, those of its generic ephemeral volumes included.
pub(crate) fn claims_of(pod: &Value) -> impl Iterator<Item = String> + '_ {
    pod.items_at(&["spec", "volumes"]).iter().filter_map(|volume| {
        if let Some(name) = volume.str_at(&["persistentVolumeClaim", "claimName"]) {
            return Some(name.to_owned());
        }
        volume.get("ephemeral")?;
        Some(format!("{}-{}", object::name(pod), volume.str_at(&["name"])?))
    })
}

/// The status of a pod that must wait, if it does not say so already.
pub(crate) fn waiting_status(pod: &Value, reason: &str, message: &str, now: Timestamp) -> Option<Value> {
    let mut conditions = Conditions::of(pod);
    if !conditions.set("PodScheduled", "False", reason, message, now) {
        return None;
    }
    let mut status = pod.get("status").cloned().unwrap_or_else(Value::object);
    conditions.write(&mut status);
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    fn node(name: &str, ready: &str) -> Value {
        json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    }

    fn claim(name: &str, phase: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"volumeName": "v"}, "status": {"phase": phase}})
    }

    #[test]
    fn the_first_ready_node_is_taken_when_the_claims_are_bound() {
        let (sick, well) = (node("a", "False"), node("b", "True"));
        let claims = [claim("bound", "Bound"), claim("pending", "Pending"), claim("lost", "Lost")];
        let with = |claim: &str| {
            json!({"metadata": {"name": "p"}, "spec": {
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}})
        };
        let wait = |text: &str| Decision::Wait("Unschedulable", text.to_owned());
        for (pod, nodes, expected) in [
            (json!({"spec": {}}), vec![&sick, &well], Decision::Bind("b".to_owned())),
            (json!({"spec": {}}), vec![], wait("no nodes available to schedule pods")),
            (json!({"spec": {}}), vec![&sick], wait("0/1 nodes are available: 1 node(s) were not ready.")),
            (json!({"spec": {"nodeName": "a"}}), vec![&well], Decision::Ignore),
            (json!({"spec": {"schedulerName": "mine"}}), vec![&well], Decision::Ignore),
            (json!({"spec": {"schedulingGates": [{"name": "g"}]}}), vec![&well], Decision::Ignore),
            (with("bound"), vec![&well], Decision::Bind("b".to_owned())),
            (
                with("pending"),
                vec![&well],
                wait("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
            ),
            (
                with("lost"),
                vec![&well],
                wait(
                    "0/1 nodes are available: persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\".",
                ),
            ),
            (
                with("none"),
                vec![&well],
                wait("0/1 nodes are available: persistentvolumeclaim \"none\" not found."),
            ),
        ] {
            let claims: Vec<&Value> = claims.iter().collect();
            assert_eq!(decide(&pod, &nodes, &claims), expected, "{}", pod.to_json());
        }
    }
}
