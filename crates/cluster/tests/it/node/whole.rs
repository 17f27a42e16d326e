//! Controllers and a node together: an application as a user would deploy it.

use pilothouse_apiserver::Server;
use pilothouse_cluster::node::NodeOptions;
use pilothouse_cluster::{Cluster, Options};
use pilothouse_value::{Gvr, Value, json};

use super::place::{Place, container};

#[tokio::test]
async fn a_stateful_set_keeps_its_data_and_its_name_when_its_pod_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::builder().start().unwrap();
    let node = NodeOptions { name: "n".to_owned(), ..NodeOptions::new(dir.path().join("node")) };
    let options = Options { node: Some(node), data_dir: Some(dir.path().join("data")), ..Options::default() };
    let cluster = Cluster::start(&server, options).await.unwrap();
    let place = Place::around(&server);

    place
        .make(
            "services",
            json!({
                "metadata": {"name": "log"},
                "spec": {"clusterIP": "None", "selector": {"app": "log"}, "ports": [{"port": 80}]},
            }),
        )
        .await;
    let mut main =
        container("main", "echo $(hostname) >> /data/log; touch /tmp/up; while :; do sleep 0.1; done");
    main.set(&["volumeMounts"], json!([{"name": "data", "mountPath": "/data"}]));
    main.set(
        &["readinessProbe"],
        json!({"exec": {"command": ["test", "-e", "/tmp/up"]}, "periodSeconds": 1}),
    );
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "log"},
        "spec": {
            "replicas": 2,
            "serviceName": "log",
            "selector": {"matchLabels": {"app": "log"}},
            "template": {"metadata": {"labels": {"app": "log"}}, "spec": {"containers": [main], "terminationGracePeriodSeconds": 5}},
            "volumeClaimTemplates": [claim],
        },
    });
    let sets = Gvr::new("apps", "v1", "statefulsets");
    place.client.create(&sets, Some("default"), set).await.unwrap();
    place.until_ready("log-1").await;

    // A pod that looks for the others by name, with its service account's token as admission gives it.
    let names = "log.default.svc.cluster.local log-0.log.default.svc.cluster.local log-1.log";
    let script = format!(
        "for name in {names}; do until getent hosts $name >/dev/null; do sleep 0.05; done; done; \
         test -s /var/run/secrets/kubernetes.io/serviceaccount/token && test -s /var/run/secrets/kubernetes.io/serviceaccount/ca.crt && \
         cat /var/run/secrets/kubernetes.io/serviceaccount/namespace"
    );
    let looker = json!({
        "metadata": {"name": "looker"},
        "spec": {"restartPolicy": "Never", "containers": [container("main", &script)]},
    });
    place.make("pods", looker).await;
    place.until_phase("looker", "Succeeded").await;
    assert_eq!(place.logs("looker", "").await, "default");

    let old = place.until_ready("log-0").await;
    place.delete("log-0", None).await;
    let other = |pod: &Value| {
        pod.str_at(&["metadata", "uid"]) != old.str_at(&["metadata", "uid"])
            && pilothouse_value::object::condition_is_true(pod, "Ready")
    };
    let again = place.until("log-0", other).await;
    let claims = again.items_at(&["spec", "volumes"]);
    assert!(claims.iter().any(|v| v.str_at(&["persistentVolumeClaim", "claimName"]) == Some("data-log-0")));
    let said = super::sessions::output(&place, "log-0", "command=cat&command=/data/log&stdout=1").await;
    assert_eq!(said, "log-0\nlog-0\n");
    cluster.shutdown().await;
    assert!(!dir.path().join("node").exists());
}
