//! How a Job ends: what decides it, what is left to do then, and when it is removed.

use pilothouse_value::{Timestamp, Value, object};

use super::View;
use crate::harness::plan::Plan;
use crate::resources::{JOBS, PODS};
use crate::time;
use crate::workloads::conditions::Conditions;
use crate::workloads::pods;
use crate::workloads::replica_set::{count, deleted};

/// How a Job ends. The words become the reason and the message of its conditions.
pub(super) struct Verdict {
    succeeded: bool,
    reason: String,
    message: String,
}

impl Verdict {
    fn failed(reason: &str, message: &str) -> Option<Self> {
        Some(Self { succeeded: false, reason: reason.to_owned(), message: message.to_owned() })
    }
}

/// Whether the Job is complete or failed.
pub(super) fn is_finished(job: &Value) -> bool {
    object::condition_is_true(job, "Complete") || object::condition_is_true(job, "Failed")
}

/// Removes a finished Job when its `ttlSecondsAfterFinished` has passed.
pub(super) fn expire(job: &Value, now: Timestamp, plan: &mut Plan) {
    let Some(ttl) = job.i64_at(&["spec", "ttlSecondsAfterFinished"]) else { return };
    if object::deletion_timestamp(job).is_some() {
        return;
    }
    let ended = ["Complete", "Failed"]
        .iter()
        .find_map(|kind| object::condition(job, kind).filter(|c| c.str_at(&["status"]) == Some("True")));
    match ended.and_then(|c| c.str_at(&["lastTransitionTime"])).and_then(|at| time::until(at, ttl, now)) {
        Some(left) if !left.is_zero() => plan.look_again(left),
        Some(_) => plan.delete(&JOBS, job, None),
        None => {}
    }
}

impl View<'_> {
    /// Whether it is decided how the Job ends.
    pub(super) fn verdict(
        &self,
        conditions: &Conditions,
        status: &Value,
        plan: &mut Plan,
    ) -> Option<Verdict> {
        let decided = |kind: &str| {
            let condition = conditions.get(kind).filter(|c| c.str_at(&["status"]) == Some("True"))?;
            let text = |field: &str| condition.str_at(&[field]).unwrap_or_default().to_owned();
            Some(Verdict {
                succeeded: kind == "SuccessCriteriaMet",
                reason: text("reason"),
                message: text("message"),
            })
        };
        if let Some(verdict) = decided("FailureTarget").or_else(|| decided("SuccessCriteriaMet")) {
            return Some(verdict);
        }
        let limit = self.job.i64_at(&["spec", "backoffLimit"]).unwrap_or(6);
        if self.failed > limit || self.restarts() > limit {
            return Verdict::failed("BackoffLimitExceeded", "Job has reached the specified backoff limit");
        }
        if let Some(seconds) = self.job.i64_at(&["spec", "activeDeadlineSeconds"]) {
            let start = status.str_at(&["startTime"]).unwrap_or_default();
            match time::until(start, seconds, self.now) {
                Some(left) if left.is_zero() => {
                    let message = "Job was active longer than specified deadline";
                    return Verdict::failed("DeadlineExceeded", message);
                }
                Some(left) => plan.look_again(left),
                None => {}
            }
        }
        let complete = match self.completions() {
            Some(completions) => self.succeeded >= completions,
            None => self.succeeded > 0 && self.active.is_empty(),
        };
        complete.then(|| Verdict {
            succeeded: true,
            reason: "CompletionsReached".to_owned(),
            message: "Reached expected number of succeeded pods".to_owned(),
        })
    }

    /// Restarts of containers in place count as failures where the pods restart them.
    fn restarts(&self) -> i64 {
        if self.job.str_at(&["spec", "template", "spec", "restartPolicy"]) != Some("OnFailure") {
            return 0;
        }
        let statuses = |pod: &Value, field: &str| {
            pod.items_at(&["status", field]).iter().filter_map(|s| s.i64_at(&["restartCount"])).sum::<i64>()
        };
        self.active
            .iter()
            .map(|pod| statuses(pod, "initContainerStatuses") + statuses(pod, "containerStatuses"))
            .sum()
    }

    /// Ends the Job: its pods go, and when they are gone its last condition is set.
    pub(super) fn end(
        &self,
        verdict: Verdict,
        status: &mut Value,
        conditions: &mut Conditions,
        plan: &mut Plan,
    ) {
        let Verdict { succeeded, reason, message } = verdict;
        let (first, last) =
            if succeeded { ("SuccessCriteriaMet", "Complete") } else { ("FailureTarget", "Failed") };
        conditions.set_with(first, "True", &reason, &message, self.now, "lastProbeTime");
        for pod in &self.active {
            plan.delete(&PODS, pod, Some(deleted(self.job)));
        }
        let left = self.pods.iter().filter(|pod| !pods::is_finished(pod)).count();
        if count(left) > 0 {
            return;
        }
        conditions.set_with(last, "True", &reason, &message, self.now, "lastProbeTime");
        if succeeded {
            status.set(&["completionTime"], self.now);
            plan.event(self.job, "Completed", "Job completed");
        } else {
            plan.warning(self.job, reason, message);
        }
    }
}
