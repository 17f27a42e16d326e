//! What a container is told is wrong with it.

use pilothouse_cluster::node::Isolation;
use pilothouse_value::{Value, json};

use super::place::{Place, container, exit_code, long_sleep, runs, state};

fn waits_with<'a>(reason: &'a str) -> impl Fn(&Value) -> bool + 'a {
    move |pod| {
        let status = state(pod, "containerStatuses", "main");
        status.and_then(|status| status.str_at(&["state", "waiting", "reason"])) == Some(reason)
    }
}

#[tokio::test]
async fn a_container_without_a_command_says_that_images_are_not_run() {
    let place = Place::new().await;
    place.pod("image", json!({"containers": [{"name": "main", "image": "nginx"}]})).await;
    let pod = place.until("image", waits_with("ErrImagePull")).await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    let message = status.str_at(&["state", "waiting", "message"]).unwrap();
    assert!(message.contains("needs `command`") && message.contains("\"nginx\""), "{message}");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_a_start_error() {
    let place = Place::new().await;
    let main = json!({"name": "main", "image": "x", "command": ["/no/such/program"]});
    place.pod("lost", json!({"restartPolicy": "Never", "containers": [main]})).await;
    let pod = place.until_phase("lost", "Failed").await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(status.str_at(&["state", "terminated", "reason"]), Some("StartError"));
    assert_eq!(exit_code(&pod, "main"), Some(128));
    assert!(status.str_at(&["state", "terminated", "message"]).unwrap().contains("/no/such/program"));
}

#[tokio::test]
async fn a_missing_config_map_is_waited_for() {
    let place = Place::new().await;
    let mut main = container("main", "echo $COLOR");
    main.set(
        &["env"],
        json!([{"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "paint", "key": "color"}}}]),
    );
    place.pod("paint", json!({"restartPolicy": "Never", "containers": [main]})).await;
    let pod = place.until("paint", waits_with("CreateContainerConfigError")).await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(status.str_at(&["state", "waiting", "message"]), Some("configmap \"paint\" not found"));
    place.make("configmaps", json!({"metadata": {"name": "paint"}, "data": {"color": "blue"}})).await;
    place.until_phase("paint", "Succeeded").await;
    assert_eq!(place.logs("paint", "").await, "blue\n");
    assert_eq!(place.events("paint", "Failed").await, ["Error: configmap \"paint\" not found"]);
}

#[tokio::test]
async fn a_crash_loop_is_told() {
    let place = Place::new().await;
    place.pod("loop", json!({"containers": [container("main", "exit 1")]})).await;
    let pod = place.until("loop", waits_with("CrashLoopBackOff")).await;
    assert_eq!(pod.str_at(&["status", "phase"]), Some("Running"));
    let status = state(&pod, "containerStatuses", "main").unwrap();
    assert!(status.i64_at(&["restartCount"]).unwrap() >= 1);
    assert_eq!(status.i64_at(&["lastState", "terminated", "exitCode"]), Some(1));
}

#[tokio::test]
async fn a_termination_message_is_read() {
    let place = Place::new().await;
    if !place.mounts() {
        return;
    }
    place.script("word", "printf done > /dev/termination-log").await;
    let pod = place.until_phase("word", "Succeeded").await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    assert_eq!(status.str_at(&["state", "terminated", "message"]), Some("done"));
}

#[tokio::test]
async fn logs_of_a_container_that_waits_say_so() {
    let place = Place::new().await;
    place.pod("image", json!({"containers": [{"name": "main", "image": "nginx", "command": []}]})).await;
    place.until("image", waits_with("ErrImagePull")).await;
    let (code, text) = place.ask("/api/v1/namespaces/default/pods/image/log?previous=true").await;
    assert_eq!(code, 400, "{text}");
    assert!(text.contains("previous terminated container"), "{text}");
}

#[tokio::test]
async fn without_namespaces_programs_run_and_volumes_are_refused() {
    let place = Place::with(Some(Isolation::None)).await;
    place.script("plain", "echo hello; exit 2").await;
    let pod = place.until_phase("plain", "Failed").await;
    assert_eq!(exit_code(&pod, "main"), Some(2));
    assert_eq!(place.logs("plain", "").await, "hello\n");
    let mut main = container("main", "true");
    main.set(&["volumeMounts"], json!([{"name": "v", "mountPath": "/v"}]));
    place.pod("mounts", json!({"containers": [main], "volumes": [{"name": "v", "emptyDir": {}}]})).await;
    let pod = place.until("mounts", waits_with("CreateContainerError")).await;
    let status = state(&pod, "containerStatuses", "main").unwrap();
    let message = status.str_at(&["state", "waiting", "message"]).unwrap();
    assert!(message.contains("cannot mount a volume at /v"), "{message}");
}

#[tokio::test]
async fn without_namespaces_what_a_program_leaves_behind_dies_with_it() {
    let place = Place::with(Some(Isolation::None)).await;
    let sleep = long_sleep(7659);
    place.script("plain", &format!("(setsid {sleep} &); sleep 0.1")).await;
    place.until_phase("plain", "Succeeded").await;
    assert!(!runs(&sleep));
}
