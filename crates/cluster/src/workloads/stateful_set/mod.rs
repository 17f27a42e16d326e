//! StatefulSet: pods with names and claims of their own, made, updated and removed in order
//! (`pkg/controller/statefulset`).

mod identity;
mod status;

use std::collections::BTreeMap;

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Timestamp, Value, object};

use super::revisions::{self, Revisions};
use super::{adopt, deployment, pods};
use crate::harness::plan::Plan;
use crate::resources::PODS;

/// A StatefulSet and what it has, at one moment.
struct View<'a> {
    set: &'a Value,
    revisions: Revisions<'a>,
    /// The revision that pods below the partition, and pods not reached by an update yet, have.
    current: String,
    now: Timestamp,
    /// The pods by ordinal, those that are too many included.
    pods: BTreeMap<i64, &'a Value>,
}

/// What to do for a StatefulSet, given the pods, claims and ControllerRevisions of its namespace.
pub(crate) fn reconcile(
    set: &Value,
    all_pods: &[&Value],
    claims: &[&Value],
    all_revisions: &[&Value],
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let Ok(selector) = LabelSelector::from_object(set.at(&["spec", "selector"]).unwrap_or(&Value::Null))
    else {
        plan.warning(set, "InvalidSelector", "This stateful set has an invalid label selector.");
        return plan;
    };
    let named_so = all_pods.iter().copied().filter(|pod| identity::ordinal(set, object::name(pod)).is_some());
    let owned = adopt::claim(set, &selector, &PODS, named_so, &mut plan);
    let pods: BTreeMap<i64, &Value> =
        owned.into_iter().filter_map(|pod| Some((identity::ordinal(set, object::name(pod))?, pod))).collect();
    if object::deletion_timestamp(set).is_some() {
        return plan;
    }
    let revisions =
        Revisions::resolve(set, "controller.kubernetes.io/hash", all_revisions.iter().copied(), &mut plan);
    let current = set
        .str_at(&["status", "currentRevision"])
        .filter(|name| revisions.template(set, name).is_some())
        .unwrap_or(&revisions.update)
        .to_owned();
    let view = View { set, revisions, current, now, pods };
    view.step(claims, &mut plan);
    view.status(&mut plan);
    let mut in_use: Vec<&str> = view.pods.values().map(|pod| revisions::of_pod(pod)).collect();
    in_use.push(&view.current);
    view.revisions.clean_up(set, &in_use, &mut plan);
    plan
}

impl View<'_> {
    fn start(&self) -> i64 {
        self.set.i64_at(&["spec", "ordinals", "start"]).unwrap_or_default()
    }

    fn replicas(&self) -> i64 {
        self.set.i64_at(&["spec", "replicas"]).unwrap_or(1)
    }

    fn is_ordered(&self) -> bool {
        self.set.str_at(&["spec", "podManagementPolicy"]) != Some("Parallel")
    }

    fn partition(&self) -> i64 {
        self.set.i64_at(&["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or_default()
    }

    fn min_ready(&self) -> i64 {
        self.set.i64_at(&["spec", "minReadySeconds"]).unwrap_or_default()
    }

    fn is_healthy(&self, pod: &Value) -> bool {
        !pods::is_terminating(pod)
            && pods::is_running_and_ready(pod)
            && pods::is_available(pod, self.min_ready(), self.now)
    }

    /// One step towards the wanted pods: missing ones first, then those that are too many, then those out of date.
    fn step(&self, claims: &[&Value], plan: &mut Plan) {
        let wanted = self.start()..self.start() + self.replicas();
        for ordinal in wanted.clone() {
            if self.keep(ordinal, claims, plan) && self.is_ordered() {
                return;
            }
        }
        let condemned: Vec<&Value> =
            self.pods.iter().rev().filter(|(o, _)| !wanted.contains(o)).map(|(_, pod)| *pod).collect();
        let first_sick =
            self.pods.iter().filter(|(o, _)| !wanted.contains(o)).find(|(_, pod)| !self.is_healthy(pod));
        for pod in condemned {
            let blocks = pods::is_terminating(pod)
                || !self.is_healthy(pod) && first_sick.is_some_and(|(_, first)| !std::ptr::eq(*first, pod));
            if self.is_ordered() && blocks {
                return;
            }
            if !pods::is_terminating(pod) {
                identity::release_claims(self.set, pod, claims, plan);
                plan.delete(&PODS, pod, Some(identity::deleted(self.set)));
                if self.is_ordered() {
                    return;
                }
            }
        }
        self.update(plan);
    }

    /// Sees to one pod; says whether an ordered set must wait for it.
    fn keep(&self, ordinal: i64, claims: &[&Value], plan: &mut Plan) -> bool {
        let Some(pod) = self.pods.get(&ordinal).copied() else {
            return self.create(ordinal, claims, plan);
        };
        if pods::is_finished(pod) {
            if !pods::is_terminating(pod) {
                plan.delete(&PODS, pod, Some(identity::deleted(self.set)));
            }
            return true;
        }
        if pods::phase(pod) == "Pending" {
            identity::create_claims(self.set, ordinal, claims, plan);
        }
        !self.is_healthy(pod)
    }

    fn create(&self, ordinal: i64, claims: &[&Value], plan: &mut Plan) -> bool {
        // A claim that is being deleted would be bound to the new pod and then lost under it.
        let stale = identity::claim_names(self.set, ordinal).any(|name| {
            claims
                .iter()
                .any(|claim| object::name(claim) == name && object::deletion_timestamp(claim).is_some())
        });
        if stale {
            return true;
        }
        identity::create_claims(self.set, ordinal, claims, plan);
        let name = self.revision_for(ordinal);
        let Some(template) = self.revisions.template(self.set, name) else { return true };
        let pod = identity::pod(self.set, &template, name, ordinal);
        plan.create(&PODS, pod, Some(identity::created(self.set)));
        true
    }

    /// The revision that a new pod of this ordinal is made from: the old one below the partition, and where a rolling
    /// update has not come by yet because a pod above it still has its turn to come.
    fn revision_for(&self, ordinal: i64) -> &str {
        let update = &self.revisions.update;
        let rolling = self.set.str_at(&["spec", "updateStrategy", "type"]) != Some("OnDelete");
        let mut above = self.pods.range(ordinal + 1..self.start() + self.replicas());
        let not_reached = ordinal < self.start() + self.partition()
            || above.any(|(_, pod)| revisions::of_pod(pod) == self.current);
        if rolling && self.current != *update && not_reached { &self.current } else { update }
    }

    /// Replaces out-of-date pods, the highest ordinal first, as far as `maxUnavailable` allows.
    fn update(&self, plan: &mut Plan) {
        if self.set.str_at(&["spec", "updateStrategy", "type"]) == Some("OnDelete") {
            return;
        }
        let max = self.set.at(&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]);
        let max = max.map_or(1, |max| deployment::int_or_percent(Some(max), self.replicas(), true).max(1));
        let wanted = self.start()..self.start() + self.replicas();
        let sick = self.pods.iter().filter(|(o, pod)| wanted.contains(o) && !self.is_healthy(pod)).count();
        let mut room = max - i64::try_from(sick).unwrap_or(i64::MAX);
        for (ordinal, pod) in self.pods.iter().rev() {
            if !wanted.contains(ordinal)
                || *ordinal < self.start() + self.partition()
                || pods::is_terminating(pod)
                || revisions::of_pod(pod) == self.revisions.update
            {
                continue;
            }
            if self.is_healthy(pod) {
                if room <= 0 {
                    return;
                }
                room -= 1;
            }
            plan.delete(&PODS, pod, Some(identity::deleted(self.set)));
        }
    }
}

#[cfg(test)]
mod tests;
