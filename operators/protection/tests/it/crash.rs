//! The operator is killed and started again: every ActionSet comes to its end, and nothing is done twice.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use pilothouse::prelude::*;
use pilothouse::serde_json::json;
use pilothouse_protection::api::{ActionSet, State};
use pilothouse_protection::{Options, controller};
use pilothouse_testkit::Cluster;

use crate::stage::{Stage, output, task, with_logs};

/// An operator in a runtime of its own, that can be killed at any moment: nothing of it runs on.
struct Life(Option<tokio::runtime::Runtime>);

impl Life {
    fn start(stage: &Stage) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = with_logs(stage.cluster.client(), &stage.logs);
        runtime.spawn(async move {
            let running = controller::start(client, Options::default()).await.unwrap();
            std::future::pending::<()>().await;
            drop(running);
        });
        Self(Some(runtime))
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // What its thread is just doing is over when this returns. A runtime does not wait for another on its own thread.
            let end = std::thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(60)));
            end.join().unwrap();
        }
    }
}

/// Plays the node for all pods of tasks: each runs a while and succeeds. Counts the pods of each step.
async fn node(stage: Stage, ran: Arc<Mutex<HashMap<String, Vec<String>>>>) {
    const LABELS: &str = "createdBy=kanister";
    let api: Api<Pod> = stage.cluster.api();
    let mut seen = HashSet::new();
    let mut take = move |pod: Pod| {
        if !seen.insert(pod.uid()) {
            return;
        }
        let labels = pod.labels();
        let step = format!(
            "{}/{}",
            labels["protection.pilothouse.dev/actionset-uid"], labels["protection.pilothouse.dev/step"]
        );
        ran.lock().unwrap().entry(step).or_default().push(pod.uid().unwrap_or_default());
        let stage = stage.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(4)).await;
            let _ = stage.end_pod(&pod, &output("path", "/x"), 0).await;
        });
    };
    // A watch ends after some minutes, and on a slow machine the test does not.
    loop {
        let list = api.list(&ListParams::default().labels(LABELS)).await.unwrap();
        list.items.into_iter().for_each(&mut take);
        let version = list.metadata.resource_version.unwrap_or_default();
        let watch = api.watch(&WatchParams::default().labels(LABELS), &version).await.unwrap();
        let mut watch = watch.boxed();
        while let Ok(Some(event)) = watch.try_next().await {
            if let WatchEvent::Added(pod) = event {
                take(pod);
            }
        }
    }
}

#[pilothouse::test(clock = "real")]
async fn killed_at_any_moment_and_started_again_it_comes_to_its_end(cluster: Cluster) -> Result {
    const RUNS: u64 = 50;
    let stage = Stage::closed(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {
        "outputArtifacts": {"o": {"keyValue": {"path": "{{ .Phases.c.Output.path }}"}}},
        "phases": [task("a", "a"), task("b", "{{ .Phases.a.Output.path }}"), task("c", "{{ .Phases.b.Output.path }}")],
        "deferPhase": task("d", "unlock"),
    }})).await?;
    let ran = Arc::new(Mutex::new(HashMap::new()));
    let hand = tokio::spawn(node(stage.clone(), ran.clone()));
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut ends = HashMap::new();
    for run in 0..RUNS {
        let name = format!("run-{run}");
        let mut life = Life::start(&stage);
        stage.action_set(&name, json!({})).await?;
        // Twice killed in each run, at moments that a fixed generator gives.
        for _ in 0..2 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            tokio::time::sleep(Duration::from_micros((random >> 33) % 60_000)).await;
            drop(life);
            life = Life::start(&stage);
        }
        let set = stage.ended(&name).await?;
        drop(life);
        let message = set.status.as_ref().map(|s| s.error.message.clone()).unwrap_or_default();
        assert_ne!((set.state(), message.as_str()), (Some(State::Failed), ""), "a failure has a reason");
        *ends.entry(format!("{:?} {message}", set.state().unwrap())).or_insert(0) += 1;
        assert!(stage.pods().await?.is_empty(), "no pod is left after {name}");
    }
    hand.abort();
    println!("{RUNS} runs, killed twice each: {ends:?}");
    let twice: Vec<_> =
        ran.lock().unwrap().iter().filter(|(_, pods)| pods.len() > 1).map(|(step, _)| step.clone()).collect();
    assert!(twice.is_empty(), "ran twice: {twice:?}");
    assert_eq!(ran.lock().unwrap().len(), usize::try_from(RUNS).unwrap() * 4);
    assert_eq!(ends, HashMap::from([("Complete ".to_owned(), 50)]));
    Ok(())
}

#[pilothouse::test(clock = "real")]
async fn a_command_that_was_running_is_not_run_again(cluster: Cluster) -> Result {
    let stage = Stage::closed(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {
        "phases": [{"func": "KubeExec", "name": "lock", "args": {"namespace": "{{ .Namespace.Name }}", "pod": "p", "command": ["lock"]}}],
        "deferPhase": task("unlock", "unlock"),
    }})).await?;
    let pinned = Life::start(&stage);
    let made = stage.action_set("b", json!({})).await?;
    // There is no pod `p`: the phase fails at once in the first life. Put it back to where a killed operator leaves it.
    let _ = made;
    stage.pod("b", "unlock").await?;
    drop(pinned);
    let set: ActionSet = cluster.get("b").await?;
    let mut status = set.status.clone().unwrap();
    status.actions[0].phases[0].state = State::Running;
    status.actions[0].defer_phase.state = State::Pending;
    let notes = json!({"actions": [{"step": {"started": "2026-01-01T00:00:00Z"}}]}).to_string();
    let patch =
        json!({"metadata": {"annotations": {controller::journal::ANNOTATION: notes}}, "status": status});
    cluster.patch::<ActionSet>("b", None, patch).await?;
    for pod in stage.pods().await? {
        cluster.delete::<Pod>(&pod.name_any()).await?;
    }
    let ran = Arc::new(Mutex::new(HashMap::new()));
    let hand = tokio::spawn(node(stage.clone(), ran.clone()));
    let second = Life::start(&stage);
    let set = stage.ended("b").await?;
    let status = set.status.unwrap();
    assert_eq!(status.state, State::Failed);
    assert!(
        status.error.message.contains("the operator was restarted while the command ran"),
        "{}",
        status.error.message
    );
    assert_eq!(status.actions[0].defer_phase.state, State::Complete);
    drop(second);
    hand.abort();
    Ok(())
}
