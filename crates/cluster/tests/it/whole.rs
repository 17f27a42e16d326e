//! Controllers and the process node together, on the machine's clock: the way of a workload from its document to files
//! and processes, and back.

use std::path::{Path, PathBuf};

use pilothouse_apiserver::Propagation;
use pilothouse_cluster::Options;
use pilothouse_cluster::node::{Isolation, NodeOptions};
use pilothouse_value::{Value, json, object};

use crate::house::*;

struct Whole {
    house: House,
    dir: tempfile::TempDir,
}

impl Whole {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let node = NodeOptions { api_server: None, ..NodeOptions::new(dir.path().join("node")) };
        let options =
            Options { node: Some(node), data_dir: Some(dir.path().join("data")), ..Options::default() };
        Self { house: House::with(options).await, dir }
    }

    fn mounts(&self) -> bool {
        self.house.cluster.node().unwrap().isolation() != Isolation::None
    }

    async fn stop(self) {
        self.house.cluster.shutdown().await;
        drop(self.dir);
    }
}

fn shell(script: &str) -> Value {
    json!({"name": "c", "image": "any", "command": ["sh", "-c", script]})
}

fn folder(volume: &Value) -> PathBuf {
    Path::new(volume.str_at(&["spec", "hostPath", "path"]).unwrap()).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stateful_set_writes_to_its_claim_and_finds_it_again() {
    let whole = Whole::start().await;
    let house = &whole.house;
    if whole.mounts() {
        let mut set = workload(
            "StatefulSet",
            "db",
            json!({"replicas": 1, "volumeClaimTemplates": [{"metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}]}),
        );
        let mut container =
            shell("echo once >> /data/log; trap 'exit 0' TERM; while :; do sleep 1 & wait; done");
        container.set(&["volumeMounts"], json!([{"name": "data", "mountPath": "/data"}]));
        container.set(
            &["readinessProbe"],
            json!({"exec": {"command": ["test", "-s", "/data/log"]}, "periodSeconds": 1}),
        );
        set.set(&["spec", "template", "spec"], json!({"terminationGracePeriodSeconds": 1}));
        set.set(&["spec", "template", "spec", "containers"], vec![container]);
        house.create(&STATEFUL_SETS, set).await;
        let pod = house.until_condition(&PODS, "db-0", "Ready", "True").await;
        let log = folder(&house.list(&VOLUMES).await[0]).join("log");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "once\n");
        house.delete(&PODS, "db-0", None).await;
        house
            .until_one(&PODS, "db-0", |p| {
                object::uid(p) != object::uid(&pod) && object::condition_is_true(p, "Ready")
            })
            .await;
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "once\nonce\n");
        house.delete(&STATEFUL_SETS, "db", Some(Propagation::Foreground)).await;
        house.until_gone(&STATEFUL_SETS, "db").await;
        house.delete(&CLAIMS, "data-db-0", None).await;
        house.until_count(&VOLUMES, 0).await;
        assert!(!log.exists());
    }
    whole.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_runs_its_program_to_the_end() {
    let whole = Whole::start().await;
    for (name, script, condition) in [("good", "exit 0", "Complete"), ("bad", "exit 3", "Failed")] {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never"}}}});
        job.set(&["spec", "template", "spec", "containers"], vec![shell(script)]);
        whole.house.create(&JOBS, job).await;
        whole.house.until_condition(&JOBS, name, condition, "True").await;
    }
    whole.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_of_processes_comes_through_and_its_service_follows() {
    let whole = Whole::start().await;
    let house = &whole.house;
    let pod = |greeting: &str| {
        let mut spec = json!({"terminationGracePeriodSeconds": 1});
        spec.set(&["containers"], vec![shell(&format!("echo {greeting}; exec sleep 1000"))]);
        spec
    };
    let mut deployment = workload("Deployment", "web", json!({"replicas": 2}));
    deployment.set(&["spec", "template", "spec"], pod("hello"));
    house.create(&DEPLOYMENTS, deployment).await;
    let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}});
    service.set(&["spec"], json!({"selector": {"app": "web"}, "ports": [{"port": 80}]}));
    house.create(&SERVICES, service).await;
    let two = |endpoints: &Value| {
        endpoints.items_at(&["subsets"]).iter().any(|s| s.items_at(&["addresses"]).len() == 2)
    };
    house.until_one(&ENDPOINTS, "web", two).await;
    let before = house.names(&PODS).await;
    house.patch(&DEPLOYMENTS, "web", json!({"spec": {"template": {"spec": pod("welcome")}}})).await;
    house
        .until(&PODS, |pods| {
            let ready = pods.iter().filter(|pod| object::condition_is_true(pod, "Ready")).count();
            let new = pods.iter().all(|pod| !before.iter().any(|name| name == object::name(pod)));
            (pods.len() == 2 && ready == 2 && new).then_some(())
        })
        .await;
    house.until_one(&ENDPOINTS, "web", two).await;
    whole.stop().await;
}
