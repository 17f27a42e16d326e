//! From creation to the end: phases, restarts, deletion, shutdown.

use pilothouse_value::{Gvr, json, object};

use super::place::{
    PATIENCE, Place, container, exit_code, long_sleep, long_sleep_in, runs, state, until_none_runs,
};

#[tokio::test]
async fn the_node_is_registered_ready_and_with_a_lease() {
    let place = Place::new().await;
    let node = place.client.get(&Gvr::new("", "v1", "nodes"), None, "n").await.unwrap();
    assert!(object::condition_is_true(&node, "Ready"));
    assert_eq!(node.items_at(&["status", "addresses"])[0].str_at(&["address"]), Some("127.0.0.1"));
}

#[tokio::test]
async fn a_script_that_succeeds_makes_the_pod_succeed() {
    let place = Place::new().await;
    place.script("ok", "echo hello; echo bad >&2").await;
    let pod = place.until_phase("ok", "Succeeded").await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(status.str_at(&["state", "terminated", "reason"]), Some("Completed"));
    assert_eq!(status.i64_at(&["state", "terminated", "exitCode"]), Some(0));
    assert!(pod.str_at(&["status", "podIP"]).unwrap().starts_with("127."));
    let mut lines: Vec<_> = place.logs("ok", "").await.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["bad", "hello"]);
    assert_eq!(place.events("ok", "Started").await, ["Container started"]);
}

#[tokio::test]
async fn a_script_that_fails_makes_the_pod_fail_with_its_code() {
    let place = Place::new().await;
    place.script("bad", "exit 3").await;
    let pod = place.until_phase("bad", "Failed").await;
    assert_eq!(exit_code(&pod, "main"), Some(3));
    let condition = object::condition(&pod, "Ready").unwrap();
    assert_eq!(condition.get("observedGeneration"), pod.at(&["metadata", "generation"]));
    assert_eq!(condition.str_at(&["reason"]), Some("PodFailed"));
}

#[tokio::test]
async fn a_container_that_fails_is_started_again_until_it_succeeds() {
    let place = Place::new().await;
    let dir = place.path("state");
    std::fs::create_dir(&dir).unwrap();
    if !place.mounts() {
        return;
    }
    let script = "echo x >> /state/runs; echo run $(wc -l < /state/runs); test $(wc -l < /state/runs) -ge 3";
    let mut main = container("main", script);
    main.set(&["volumeMounts"], json!([{"name": "state", "mountPath": "/state"}]));
    let spec = json!({
        "restartPolicy": "OnFailure",
        "containers": [main],
        "volumes": [{"name": "state", "hostPath": {"path": dir}}],
    });
    place.pod("again", spec).await;
    let pod = place.until_phase("again", "Succeeded").await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(status.i64_at(&["restartCount"]), Some(2));
    assert_eq!(status.i64_at(&["lastState", "terminated", "exitCode"]), Some(1));
    assert_eq!(place.logs("again", "").await, "run 3\n");
    assert_eq!(place.logs("again", "previous=true").await, "run 2\n");
    assert_eq!(place.events("again", "BackOff").await.len(), 1);
}

#[tokio::test]
async fn init_containers_run_in_order_before_the_others() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    let with = |name: &str, script: &str| {
        let mut container = container(name, script);
        container.set(&["volumeMounts"], json!([{"name": "shared", "mountPath": "/shared"}]));
        container
    };
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [with("one", "echo one >> /shared/x"), with("two", "echo two >> /shared/x")],
        "containers": [with("main", "cat /shared/x")],
        "volumes": [{"name": "shared", "emptyDir": {}}],
    });
    place.pod("order", spec).await;
    let pod = place.until_phase("order", "Succeeded").await;
    assert_eq!(place.logs("order", "container=main").await, "one\ntwo\n");
    assert!(object::condition_is_true(&pod, "Initialized"));
    assert_eq!(
        state(&pod, "initContainerStatuses", "two").unwrap().i64_at(&["state", "terminated", "exitCode"]),
        Some(0)
    );
}

#[tokio::test]
async fn a_failed_init_container_fails_a_pod_that_never_restarts() {
    let place = Place::new().await;
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [container("one", "exit 9")],
        "containers": [container("main", "echo never")],
    });
    place.pod("stuck", spec).await;
    let pod = place.until_phase("stuck", "Failed").await;
    let waiting = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(waiting.str_at(&["state", "waiting", "reason"]), Some("PodInitializing"));
}

#[tokio::test]
async fn a_sidecar_runs_beside_the_others_and_ends_after_them() {
    let place = Place::new().await;
    let up = place.flag("up");
    let script = format!("trap 'echo bye; exit 0' TERM; touch {up}; while :; do sleep 0.05; done");
    let mut sidecar = container("sidecar", &script);
    sidecar.set(&["restartPolicy"], "Always");
    // The others begin when it knows what to do at the end.
    sidecar.set(&["startupProbe"], place.probe_of(&up));
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [sidecar],
        "containers": [container("main", "exit 0")],
    });
    place.pod("side", spec).await;
    place.until_phase("side", "Succeeded").await;
    let gone = |pod: &pilothouse_value::Value| {
        state(pod, "initContainerStatuses", "sidecar").unwrap().at(&["state", "terminated"]).is_some()
    };
    place.until("side", gone).await;
    assert!(place.logs("side", "container=sidecar").await.ends_with("bye\n"));
}

#[tokio::test]
async fn deletion_sends_sigterm_and_then_lets_the_pod_go() {
    let place = Place::new().await;
    place.script("polite", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done").await;
    place.until_ready("polite").await;
    place.delete("polite", None).await;
    place.until_gone("polite").await;
    assert_eq!(place.events("polite", "Killing").await, ["Stopping container main"]);
}

#[tokio::test]
async fn who_ignores_sigterm_is_killed_after_the_grace_period() {
    let place = Place::new().await;
    let sleep = long_sleep(7654);
    place.script("deaf", &format!("trap '' TERM; while :; do {sleep}; done")).await;
    place.until_ready("deaf").await;
    place.delete("deaf", Some(1)).await;
    place.until_gone("deaf").await;
    assert!(!runs(&sleep));
}

#[tokio::test]
async fn a_pod_that_is_deleted_by_force_leaves_no_process() {
    let place = Place::new().await;
    let sleep = long_sleep(7655);
    place.script("forced", &format!("trap '' TERM; while :; do {sleep}; done")).await;
    let pod = place.until_ready("forced").await;
    place.delete("forced", Some(0)).await;
    place.until_gone("forced").await;
    // The same name again: the new pod comes after the old one's end has begun, and is another.
    place.script("forced", "exit 0").await;
    let new = place.until_phase("forced", "Succeeded").await;
    assert_ne!(object::uid(&new), object::uid(&pod));
    until_none_runs(&sleep).await;
}

#[tokio::test]
async fn a_shutdown_leaves_no_process_and_no_file() {
    let mut place = Place::new().await;
    let sleep = long_sleep(7656);
    place.script("one", &format!("trap '' TERM; (setsid {sleep} &); while :; do {sleep}; done")).await;
    place.until_ready("one").await;
    place.stop_node().await;
    assert!(!runs(&sleep));
    assert!(!place.node_dir().exists());
    let pod = place.client.get(&super::place::pods(), Some("default"), "one").await.unwrap();
    assert_eq!(pod.str_at(&["status", "phase"]), Some("Running"));
}

#[tokio::test]
async fn a_node_that_comes_again_starts_what_should_run() {
    let mut place = Place::new().await;
    place.pod("kept", json!({"containers": [container("main", "while :; do sleep 0.1; done")]})).await;
    place.until_ready("kept").await;
    place.stop_node().await;
    place.start_node().await;
    let again = |pod: &pilothouse_value::Value| {
        let status = state(pod, "containerStatuses", "main").unwrap();
        status.i64_at(&["restartCount"]) == Some(1) && status.at(&["state", "running"]).is_some()
    };
    let pod = place.until("kept", again).await;
    let last = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(last.str_at(&["lastState", "terminated", "reason"]), Some("ContainerStatusUnknown"));
}

/// Not a test of its own: the process that [`a_node_that_is_killed_takes_all_processes_along`] kills.
#[tokio::test]
#[ignore = "run by another test"]
async fn victim() {
    let place = Place::new().await;
    let sleep = long_sleep(7657);
    place.script("one", &format!("trap '' TERM; (setsid {sleep} &); while :; do {sleep}; done")).await;
    place.until_ready("one").await;
    println!("{} ready", place.node_dir().display());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_node_that_is_killed_takes_all_processes_along() {
    use tokio::io::AsyncBufReadExt;
    let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "node::life::victim", "--ignored", "--nocapture"]);
    let mut victim = command.stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = tokio::io::BufReader::new(victim.stdout.take().unwrap()).lines();
    let ready = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            // The harness writes the test's name without an end before it.
            if let Some(line) = line.strip_suffix(" ready") {
                return line.rsplit(' ').next().unwrap_or_default().to_owned();
            }
        }
        panic!("the victim did not come up");
    };
    let sleep = long_sleep_in(victim.id().unwrap(), 7657);
    let dir = tokio::time::timeout(PATIENCE, ready).await.unwrap();
    assert!(runs(&sleep));
    victim.kill().await.unwrap();
    until_none_runs(&sleep).await;
    // Files cannot go with a process that is killed; the next node in the same place removes them.
    std::fs::remove_dir_all(std::path::Path::new(&dir).parent().unwrap()).unwrap();
}

#[tokio::test]
async fn a_node_that_is_dropped_kills_its_processes() {
    let place = Place::new().await;
    let sleep = long_sleep(7658);
    place.script("one", &format!("trap '' TERM; while :; do {sleep}; done")).await;
    place.until_ready("one").await;
    drop(place);
    until_none_runs(&sleep).await;
}
