//! Controllers that act by themselves.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use pilothouse::prelude::*;
use pilothouse_testkit::Cluster;
use tokio::sync::Notify;

use crate::fixture::{Widget, widget};

/// What a test looks at.
#[derive(Default)]
struct Seen {
    running: AtomicUsize,
    most: AtomicUsize,
    done: Mutex<Vec<String>>,
    gone: Mutex<Vec<String>>,
    started: Mutex<BTreeSet<String>>,
}

struct Slow(Arc<Seen>);

impl Reconciler for Slow {
    type Resource = Widget;

    fn declare(d: &mut Declaration<Widget>) {
        d.name("slow").concurrency(3).timeout(Duration::from_secs(100));
    }

    async fn start(&self, context: &Context) -> Result {
        self.0.started.lock().extend(context.list::<Widget>(None)?.iter().map(|widget| widget.name_any()));
        Ok(())
    }

    async fn reconcile(&self, widget: Arc<Widget>, _: &Context) -> Result<Action> {
        let now = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(now, Ordering::SeqCst);
        let stuck = widget.spec.text == "stuck";
        tokio::time::sleep(Duration::from_secs(if stuck { 1_000_000 } else { 1 })).await;
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        self.0.done.lock().push(widget.name_any());
        Ok(Action::AwaitChange)
    }

    async fn gone(&self, key: &Key, _: &Context) -> Result {
        self.0.gone.lock().push(key.to_string());
        Ok(())
    }
}

#[pilothouse::test]
async fn reconciles_run_side_by_side_up_to_the_limit_and_in_turn(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    for number in 0..10 {
        cluster.apply(widget(&format!("w{number}"), "x")).await?;
    }
    let seen = Arc::new(Seen::default());
    let operator = cluster.operate(|manager| manager.reconciler(Slow(seen.clone()))).await?;
    assert_eq!(seen.started.lock().len(), 10, "the caches are filled before the start");
    operator.rests().await?;
    assert_eq!(seen.most.load(Ordering::SeqCst), 3);
    let once: BTreeSet<_> = seen.done.lock().iter().cloned().collect();
    assert_eq!((once.len(), seen.done.lock().len()), (10, 10), "each once");
    cluster.delete::<Widget>("w3").await?;
    operator.rests().await?;
    assert_eq!(*seen.gone.lock(), ["default/w3"]);
    Ok(())
}

#[pilothouse::test]
async fn a_reconcile_that_does_not_end_is_stopped_and_hurts_no_other(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    let seen = Arc::new(Seen::default());
    let operator = cluster.operate(|manager| manager.reconciler(Slow(seen.clone()))).await?;
    cluster.apply(widget("stuck", "stuck")).await?;
    cluster.apply(widget("fine", "x")).await?;
    cluster.advance(Duration::from_secs(50)).await;
    let text = operator.metrics().encode();
    let longest = "workqueue_longest_running_processor_seconds{name=\"slow\",controller=\"slow\"} ";
    let seconds = text.lines().find_map(|line| line.strip_prefix(longest)?.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| (49.0..51.0).contains(&seconds)), "{text}");
    cluster.advance(Duration::from_secs(100)).await;
    assert_eq!(*seen.done.lock(), ["fine"]);
    let text = operator.metrics().encode();
    assert!(text.contains("controller_runtime_reconcile_timeouts_total{controller=\"slow\"} 1"), "{text}");
    Ok(())
}

/// Does its work in the background and comes back when it is done.
struct Background {
    release: Arc<Notify>,
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Reconciler for Background {
    type Resource = Widget;

    fn declare(d: &mut Declaration<Widget>) {
        d.name("background");
    }

    async fn reconcile(&self, widget: Arc<Widget>, context: &Context) -> Result<Action> {
        let first = self.log.lock().is_empty();
        if !first {
            self.log.lock().push("came back");
            return Ok(Action::AwaitChange);
        }
        self.log.lock().push("started");
        let (release, log, context_for_task) = (self.release.clone(), self.log.clone(), context.clone());
        context.spawn("work", async move {
            tokio::select! {
                () = release.notified() => log.lock().push("worked"),
                () = context_for_task.shutdown().cancelled() => log.lock().push("stopped"),
            }
            context_for_task.enqueue(&Key::of(&*widget));
        });
        context.spawn("bad", async { panic!("a background task of this test panics") });
        Ok(Action::AwaitChange)
    }
}

#[pilothouse::test]
async fn background_work_can_bring_its_object_back(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    let (release, log) = (Arc::new(Notify::new()), Arc::new(Mutex::new(Vec::new())));
    let background = Background { release: release.clone(), log: log.clone() };
    let operator = cluster.operate(|manager| manager.reconciler(background)).await?;
    cluster.apply(widget("a", "x")).await?;
    operator.rests().await?;
    release.notify_one();
    operator.rests().await?;
    assert_eq!(*log.lock(), ["started", "worked", "came back"]);
    Ok(())
}

#[pilothouse::test]
async fn background_work_is_told_of_the_shutdown(cluster: Cluster) -> Result {
    cluster.install::<Widget>().await?;
    let log = Arc::new(Mutex::new(Vec::new()));
    let background = Background { release: Arc::default(), log: log.clone() };
    let operator = cluster.operate(|manager| manager.reconciler(background)).await?;
    cluster.apply(widget("a", "x")).await?;
    operator.rests().await?;
    operator.stop().await;
    assert_eq!(*log.lock(), ["started", "stopped"]);
    Ok(())
}
