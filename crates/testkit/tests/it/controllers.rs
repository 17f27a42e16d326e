//! Controllers: failures, panics, time, deletion.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pilothouse::prelude::*;
use pilothouse_testkit::{Cluster, Operator};
use tokio::time::Instant;

use crate::fixture::{Widget, Widgets, keep, ready_reason, widget};

fn metric(operator: &Operator, line: &str) -> bool {
    operator.metrics().encode().lines().any(|known| known == line)
}

#[pilothouse::test]
async fn a_panic_is_contained_told_and_counted(cluster: Cluster) -> Result {
    let operator = cluster
        .run(Widgets::new(|widget, seen| {
            assert_ne!(widget.spec.text, "bad", "a bad widget");
            keep(widget, seen)
        }))
        .await?;
    cluster.apply(widget("bad", "bad")).await?;
    ready_reason(&cluster, "bad", "Panicked").await?;
    cluster.apply(widget("good", "good")).await?;
    ready_reason(&cluster, "good", "AsExpected").await?;
    assert!(!metric(&operator, "controller_runtime_reconcile_panics_total{controller=\"widget\"} 0"));
    cluster.apply(widget("bad", "better")).await?;
    ready_reason(&cluster, "bad", "AsExpected").await?;
    operator.is_quiet().await?;
    Ok(())
}

#[pilothouse::test]
async fn failures_back_off_exponentially_and_write_the_condition_once(cluster: Cluster) -> Result {
    let failures = Arc::new(AtomicUsize::new(0));
    let operator = cluster
        .run(Widgets::new({
            let failures = failures.clone();
            move |widget, seen| match failures.fetch_add(1, Ordering::SeqCst) {
                0..10 => Err(Error::failed("NotYet", "the other side is not there yet")),
                _ => keep(widget, seen),
            }
        }))
        .await?;
    let start = Instant::now();
    cluster.apply(widget("a", "hello")).await?;
    ready_reason(&cluster, "a", "AsExpected").await?;
    // 5 ms doubled nine times over ten failures: 5.115 s.
    assert!((5..7).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    operator.is_quiet().await?;
    assert!(metric(&operator, "controller_runtime_reconcile_errors_total{controller=\"widget\"} 10"));
    let events: Vec<_> = events(&cluster).await?.into_iter().filter(|event| event.0 == "NotYet").collect();
    assert_eq!(events, [("NotYet".to_owned(), 10)], "one event that counts");
    Ok(())
}

#[pilothouse::test]
async fn a_terminal_error_waits_for_the_object_to_change(cluster: Cluster) -> Result {
    let controller = Widgets::new(|widget, seen| match widget.spec.text.as_str() {
        "bad" => Err(Error::terminal("BadText", "the text cannot be kept")),
        _ => keep(widget, seen),
    });
    let calls = controller.calls.clone();
    let operator = cluster.run(controller).await?;
    cluster.apply(widget("a", "bad")).await?;
    ready_reason(&cluster, "a", "BadText").await?;
    cluster.advance(Duration::from_secs(3600)).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    cluster.apply(widget("a", "good")).await?;
    ready_reason(&cluster, "a", "AsExpected").await?;
    operator.is_quiet().await?;
    Ok(())
}

#[pilothouse::test]
async fn an_object_is_looked_at_again_when_its_time_has_come(cluster: Cluster) -> Result {
    let controller = Widgets::new(|widget, seen| {
        Ok(keep(widget, seen)?
            .requeue_after(Duration::from_secs(7200))
            .requeue_after(Duration::from_secs(3600)))
    });
    let calls = controller.calls.clone();
    let operator = cluster.run(controller).await?;
    cluster.apply(widget("a", "hello")).await?;
    operator.rests().await?;
    let before = calls.load(Ordering::SeqCst);
    cluster.advance(Duration::from_secs(3590)).await;
    assert_eq!(calls.load(Ordering::SeqCst), before);
    cluster.advance(Duration::from_secs(20)).await;
    assert_eq!(calls.load(Ordering::SeqCst), before + 1);
    Ok(())
}

#[pilothouse::test]
async fn a_change_of_nothing_but_the_status_is_no_reason(cluster: Cluster) -> Result {
    let controller = Widgets::new(keep);
    let calls = controller.calls.clone();
    let operator = cluster.run(controller).await?;
    cluster.apply(widget("a", "hello")).await?;
    operator.rests().await?;
    // Once for the widget, once for the ConfigMap that it made; not for the status that was written.
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    Ok(())
}

struct Cleaning(Arc<AtomicBool>);

impl Controller for Cleaning {
    type Resource = Widget;

    fn declare(d: &mut Declaration<Widget>) {
        d.name("cleaning").finalizer().owns::<ConfigMap>();
    }

    async fn analyze(&self, widget: &Widget, seen: &Seen<'_>) -> Result<Plan> {
        keep(widget, seen)
    }

    async fn cleanup(&self, _: &Widget, _: &Seen<'_>) -> Result<Cleanup> {
        if self.0.load(Ordering::SeqCst) {
            return Ok(Cleanup::Done);
        }
        let waiting = ConditionStatus::unmet("CleaningUp", "something is not cleaned up yet");
        Ok(Plan::new().ready_when(waiting).requeue_after(Duration::from_secs(10)).into())
    }
}

#[pilothouse::test]
async fn an_object_vanishes_only_after_its_cleanup(cluster: Cluster) -> Result {
    let clean = Arc::new(AtomicBool::new(false));
    let operator = cluster.run(Cleaning(clean.clone())).await?;
    cluster.apply(widget("a", "hello")).await?;
    let kept = ready_reason(&cluster, "a", "AsExpected").await?;
    assert_eq!(kept.metadata.finalizers, Some(vec!["test.pilothouse.dev/cleaning".to_owned()]));
    cluster.delete::<Widget>("a").await?;
    ready_reason(&cluster, "a", "CleaningUp").await?;
    clean.store(true, Ordering::SeqCst);
    cluster.gone::<Widget>("a").await?;
    cluster.gone::<ConfigMap>("a").await?;
    operator.is_quiet().await?;
    Ok(())
}

async fn events(cluster: &Cluster) -> Result<Vec<(String, i32)>> {
    use pilothouse::k8s_openapi::api::core::v1::Event;
    let events = cluster.api::<Event>().list(&Default::default()).await?;
    Ok(events
        .items
        .into_iter()
        .filter(|event| event.involved_object.kind.as_deref() == Some("Widget"))
        .map(|event| (event.reason.unwrap_or_default(), event.count.unwrap_or_default()))
        .collect())
}
