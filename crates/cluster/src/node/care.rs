//! Looking after a program that runs: its post-start hook, and its probes in their turn.

use pilothouse_value::Value;

use super::api::Tone;
use super::container::Container;
use super::pod::PodContext;
use super::probe::{Schedule, Subject};

impl Container {
    /// Hooks and probes of a program that runs. Resolves when it has to be restarted, with the reason.
    pub(super) async fn look_after(&self, context: &PodContext, subject: &Subject) -> String {
        if let Some(hook) = self.document.at(&["lifecycle", "postStart"])
            && let Err(why) = subject.handle(hook).await
        {
            let message = format!("PostStartHook failed: {why}");
            context.event(self.name(), Tone::Warning, "FailedPostStartHook", &message).await;
            return "failed its post-start hook".to_owned();
        }
        if let Some(probe) = self.document.get("startupProbe") {
            let schedule = Schedule::of(probe);
            let mut counter = Counter::default();
            tokio::time::sleep(schedule.delay).await;
            loop {
                let answer = self.ask(context, subject, "Startup", probe, &counter).await;
                match counter.count(answer, schedule) {
                    Some(true) => break,
                    Some(false) => return "failed startup probe".to_owned(),
                    None => tokio::time::sleep(schedule.period).await,
                }
            }
            let ready = self.document.get("readinessProbe").is_none();
            self.set(context, |snapshot| {
                snapshot.started = true;
                snapshot.ready = ready;
            });
        }
        let readiness = async {
            if let Some(probe) = self.document.get("readinessProbe") {
                let schedule = Schedule::of(probe);
                let mut counter = Counter::default();
                tokio::time::sleep(schedule.delay).await;
                loop {
                    let answer = self.ask(context, subject, "Readiness", probe, &counter).await;
                    if let Some(ready) = counter.count(answer, schedule)
                        && self.snapshot().ready != ready
                    {
                        self.set(context, |snapshot| snapshot.ready = ready);
                    }
                    tokio::time::sleep(schedule.period).await;
                }
            }
            std::future::pending::<()>().await;
        };
        let liveness = async {
            if let Some(probe) = self.document.get("livenessProbe") {
                let schedule = Schedule::of(probe);
                let mut counter = Counter::default();
                tokio::time::sleep(schedule.delay).await;
                loop {
                    let answer = self.ask(context, subject, "Liveness", probe, &counter).await;
                    if counter.count(answer, schedule) == Some(false) {
                        return;
                    }
                    tokio::time::sleep(schedule.period).await;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = readiness => {}
            () = liveness => {}
        }
        "failed liveness probe".to_owned()
    }

    /// Asks once. The first bad answer in a row is told.
    async fn ask(
        &self,
        context: &PodContext,
        subject: &Subject,
        kind: &str,
        probe: &Value,
        before: &Counter,
    ) -> bool {
        match subject.ask(probe, Schedule::of(probe)).await {
            Ok(()) => true,
            Err(why) => {
                if before.bad == 0 {
                    let message = format!("{kind} probe failed: {why}");
                    context.event(self.name(), Tone::Warning, "Unhealthy", &message).await;
                }
                false
            }
        }
    }
}

/// Answers in a row.
#[derive(Default)]
struct Counter {
    good: i64,
    bad: i64,
}

impl Counter {
    /// What is believed now; `None` while there are too few answers.
    fn count(&mut self, good: bool, schedule: Schedule) -> Option<bool> {
        (self.good, self.bad) = if good { (self.good + 1, 0) } else { (0, self.bad + 1) };
        if self.good >= schedule.successes {
            Some(true)
        } else if self.bad >= schedule.failures {
            Some(false)
        } else {
            None
        }
    }
}
