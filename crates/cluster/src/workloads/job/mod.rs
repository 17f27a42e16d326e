//! Job: pods that run to their end, as many as it says (`pkg/controller/job`).
//!
//! Left out: the tracking finalizer on pods (a finished pod that someone removes is still counted, through the status,
//! but two that are removed between two looks count once), `podFailurePolicy`, `successPolicy` and
//! `backoffLimitPerIndex`.

mod finish;
mod indexed;

use std::time::Duration;

use pilothouse_value::{Timestamp, Value, json, object};

use super::conditions::Conditions;
use super::pods;
use super::replica_set::{count, created, deleted};
use crate::harness::plan::Plan;
use crate::resources::{JOBS, PODS};
use crate::time;

/// Who manages a Job that does not say it.
const MANAGER: &str = "kubernetes.io/job-controller";
/// The delay before a failed pod is replaced, doubled with each failure (`DefaultJobPodFailureBackOff`).
const FIRST_BACKOFF_SECONDS: i64 = 10;
/// The longest such delay (`MaxJobPodFailureBackOff`).
const LONGEST_BACKOFF_SECONDS: i64 = 600;

/// A Job and its pods at one moment.
struct View<'a> {
    job: &'a Value,
    now: Timestamp,
    pods: Vec<&'a Value>,
    active: Vec<&'a Value>,
    succeeded: i64,
    failed: i64,
}

/// What to do for a Job, given the pods of its namespace.
pub(crate) fn reconcile(job: &Value, all_pods: &[&Value], now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let manager = job.str_at(&["spec", "managedBy"]).unwrap_or(MANAGER);
    if manager != MANAGER {
        return plan;
    }
    if finish::is_finished(job) {
        finish::expire(job, now, &mut plan);
        return plan;
    }
    if object::deletion_timestamp(job).is_some() {
        return plan;
    }
    let view = View::new(job, all_pods, now);
    let mut conditions = Conditions::of(job);
    let mut status = job.get("status").cloned().unwrap_or_else(Value::object);
    if view.is_suspended() {
        view.suspend(&mut status, &mut conditions, &mut plan);
    } else {
        if status.get("startTime").is_none() {
            status.set(&["startTime"], now);
        }
        if conditions.get("Suspended").is_some_and(|c| c.str_at(&["status"]) == Some("True")) {
            conditions.set_with("Suspended", "False", "JobResumed", "Job resumed", now, "lastProbeTime");
            plan.event(job, "Resumed", "Job resumed");
            status.set(&["startTime"], now);
        }
        match view.verdict(&conditions, &status, &mut plan) {
            Some(verdict) => view.end(verdict, &mut status, &mut conditions, &mut plan),
            None => view.run(&mut plan),
        }
    }
    view.count(&mut status);
    conditions.write(&mut status);
    plan.status(&JOBS, job, status);
    plan
}

impl<'a> View<'a> {
    fn new(job: &'a Value, all_pods: &[&'a Value], now: Timestamp) -> Self {
        let pods: Vec<&Value> = all_pods
            .iter()
            .copied()
            .filter(|pod| {
                object::controller_of(pod).and_then(|r| r.str_at(&["uid"])) == Some(object::uid(job))
            })
            .collect();
        let counted = |field: &str| job.i64_at(&["status", field]).unwrap_or_default();
        let in_phase = |phase: &str| count(pods.iter().filter(|pod| pods::phase(pod) == phase).count());
        let succeeded = if indexed::applies(job) {
            count(indexed::completed(job, &pods).len())
        } else {
            in_phase("Succeeded").max(counted("succeeded"))
        };
        // A pod that is deleted before it finished counts as failed once it is gone for good; that is told by its phase.
        let failed = in_phase("Failed").max(counted("failed"));
        let active = pods.iter().copied().filter(|pod| pods::is_active(pod)).collect();
        Self { job, now, pods, active, succeeded, failed }
    }

    fn is_suspended(&self) -> bool {
        self.job.at(&["spec", "suspend"]).and_then(Value::as_bool) == Some(true)
    }

    fn completions(&self) -> Option<i64> {
        self.job.i64_at(&["spec", "completions"])
    }

    fn parallelism(&self) -> i64 {
        self.job.i64_at(&["spec", "parallelism"]).unwrap_or(1)
    }

    fn suspend(&self, status: &mut Value, conditions: &mut Conditions, plan: &mut Plan) {
        for pod in &self.active {
            plan.delete(&PODS, pod, Some(deleted(self.job)));
        }
        if conditions.set_with(
            "Suspended",
            "True",
            "JobSuspended",
            "Job suspended",
            self.now,
            "lastProbeTime",
        ) {
            plan.event(self.job, "Suspended", "Job suspended");
        }
        status.take(&["startTime"]);
    }

    /// Makes the pods that are missing, or removes those that are too many.
    fn run(&self, plan: &mut Plan) {
        let active = count(self.active.len());
        let wanted = match self.completions() {
            Some(completions) => self.parallelism().min(completions - self.succeeded),
            // A work queue: once a pod has succeeded none is replaced any more.
            None if self.succeeded > 0 => active.min(self.parallelism()),
            None => self.parallelism(),
        }
        .max(0);
        if active > wanted {
            let mut victims = self.active.clone();
            pods::sort_for_deletion(&mut victims);
            for pod in victims.into_iter().take(usize::try_from(active - wanted).unwrap_or_default()) {
                plan.delete(&PODS, pod, Some(deleted(self.job)));
            }
        } else if active < wanted {
            match self.backoff() {
                Some(wait) => plan.look_again(wait),
                None => self.create(wanted - active, plan),
            }
        }
    }

    fn create(&self, number: i64, plan: &mut Plan) {
        let number = usize::try_from(number).unwrap_or_default().min(500);
        let template = self.job.at(&["spec", "template"]).unwrap_or(&Value::Null);
        let mut pod = pods::from_template(self.job, template);
        let (name, uid) = (object::name(self.job), object::uid(self.job));
        for (label, value) in [
            ("batch.kubernetes.io/controller-uid", uid),
            ("batch.kubernetes.io/job-name", name),
            ("controller-uid", uid),
            ("job-name", name),
        ] {
            pod.set(&["metadata", "labels", label], value);
        }
        pod.set(&["metadata", "generateName"], format!("{name}-"));
        if indexed::applies(self.job) {
            let next = indexed::next(self.job, &self.pods, self.completions().unwrap_or_default());
            for index in next.into_iter().take(number) {
                plan.create(&PODS, indexed::pod(self.job, &pod, index), Some(created(self.job)));
            }
            return;
        }
        for _ in 0..number {
            plan.create(&PODS, pod.clone(), Some(created(self.job)));
        }
    }

    /// How long to wait before a failed pod is replaced.
    fn backoff(&self) -> Option<Duration> {
        let failed: Vec<&&Value> = self.pods.iter().filter(|pod| pods::phase(pod) == "Failed").collect();
        let since_success = self
            .pods
            .iter()
            .filter(|pod| pods::phase(pod) == "Succeeded")
            .map(|pod| finished_at(pod))
            .max()
            .unwrap_or_default();
        let last = failed.iter().map(|pod| finished_at(pod)).max()?;
        let failures = failed.iter().filter(|pod| finished_at(pod) > since_success).count();
        if failures == 0 {
            return None;
        }
        let factor = 1_i64 << failures.saturating_sub(1).min(16);
        let delay = FIRST_BACKOFF_SECONDS.saturating_mul(factor).min(LONGEST_BACKOFF_SECONDS);
        time::until(last, delay, self.now).filter(|left| !left.is_zero())
    }

    fn count(&self, status: &mut Value) {
        let ready = self.active.iter().filter(|pod| pods::is_ready(pod)).count();
        let terminating =
            self.pods.iter().filter(|p| pods::is_terminating(p) && !pods::is_finished(p)).count();
        for (field, number) in
            [("active", count(self.active.len())), ("succeeded", self.succeeded), ("failed", self.failed)]
        {
            if number > 0 {
                status.set(&[field], number);
            } else {
                status.take(&[field]);
            }
        }
        status.set(&["ready"], count(ready));
        status.set(&["terminating"], count(terminating));
        status.set(&["uncountedTerminatedPods"], json!({}));
        if indexed::applies(self.job) {
            let completed = indexed::spell(&indexed::completed(self.job, &self.pods));
            if completed.is_empty() {
                status.take(&["completedIndexes"]);
            } else {
                status.set(&["completedIndexes"], completed);
            }
        }
    }
}

/// When the last container of a pod ended; the pod's creation where that is not told.
fn finished_at(pod: &Value) -> &str {
    let ends = pod.items_at(&["status", "containerStatuses"]).iter();
    ends.filter_map(|status| status.str_at(&["state", "terminated", "finishedAt"]))
        .max()
        .or_else(|| pod.str_at(&["metadata", "creationTimestamp"]))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
