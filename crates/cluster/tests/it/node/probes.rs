//! Asking containers how they are.

use pilothouse_value::{Value, json, object};

use super::place::{Place, container, state};
use super::sessions::output;

#[tokio::test]
async fn a_pod_is_ready_when_its_probe_succeeds() {
    let place = Place::new().await;
    let ready = place.flag("ready");
    let mut main = container("main", "while :; do sleep 0.1; done");
    main.set(&["readinessProbe"], place.probe_of(&ready));
    place.pod("slow", json!({"containers": [main]})).await;
    let running = |pod: &Value| {
        state(pod, "containerStatuses", "main")
            .is_some_and(|status| status.at(&["state", "running"]).is_some())
    };
    let pod = place.until("slow", running).await;
    assert!(!object::condition_is_true(&pod, "Ready"));
    assert!(place.until_event("slow", "Unhealthy").await.starts_with("Readiness probe failed"));
    output(&place, "slow", &format!("command=touch&command={ready}&stdout=1")).await;
    let pod = place.until_ready("slow").await;
    assert_eq!(
        state(&pod, "containerStatuses", "main").unwrap().at(&["ready"]).and_then(Value::as_bool),
        Some(true)
    );
}

#[tokio::test]
async fn a_container_that_fails_its_liveness_probe_is_started_again() {
    let place = Place::new().await;
    let mut main = container("main", "while :; do sleep 0.1; done");
    main.set(
        &["livenessProbe"],
        json!({"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 1}),
    );
    main.set(&["startupProbe"], json!({"exec": {"command": ["true"]}, "periodSeconds": 1}));
    place.pod("sick", json!({"containers": [main], "terminationGracePeriodSeconds": 1})).await;
    let again = |pod: &Value| {
        state(pod, "containerStatuses", "main").and_then(|status| status.i64_at(&["restartCount"])) >= Some(1)
    };
    place.until("sick", again).await;
    assert_eq!(
        place.events("sick", "Killing").await[0],
        "Container main failed liveness probe, will be restarted"
    );
}

#[tokio::test]
async fn http_and_tcp_probes_reach_the_pods_address() {
    let place = Place::new().await;
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let server = "import http.server,os; \
                  http.server.HTTPServer((os.environ['IP'],8080),http.server.SimpleHTTPRequestHandler).serve_forever()";
    let main = json!({
        "name": "main",
        "image": "none",
        "command": ["python3", "-c", server],
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [{"name": "web", "containerPort": 8080}],
        "startupProbe": {"tcpSocket": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 30},
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    });
    place.pod("web", json!({"containers": [main]})).await;
    place.until_ready("web").await;
}

#[tokio::test]
async fn hooks_are_called() {
    let place = Place::new().await;
    if !place.mounts() {
        // Process 2 is the program's only in a container of its own.
        return;
    }
    let started = place.flag("started");
    let script =
        format!("until test -e {started}; do sleep 0.05; done; echo started; while :; do sleep 0.05; done");
    let mut main = container("main", &script);
    main.set(
        &["lifecycle"],
        json!({
            "postStart": {"exec": {"command": ["touch", started.as_str()]}},
            "preStop": {"exec": {"command": ["sh", "-c", "kill -9 2"]}},
        }),
    );
    place.pod("hooks", json!({"containers": [main], "terminationGracePeriodSeconds": 20})).await;
    place.until_ready("hooks").await;
    place.delete("hooks", None).await;
    place.until_gone("hooks").await;
}
