use pilothouse_apiserver::{Client, Gvr};
use pilothouse_cluster::PHASE_ANNOTATION;
use pilothouse_value::{Value, json, object};

use crate::house::*;

async fn available(replicas: i64) -> House {
    let house = House::start().await;
    house.create(&DEPLOYMENTS, workload("Deployment", "web", json!({"replicas": replicas}))).await;
    house.until_condition(&DEPLOYMENTS, "web", "Available", "True").await;
    rolled_out(&house).await;
    house
}

/// Waits for what `kubectl rollout status` waits for.
async fn rolled_out(house: &House) -> Value {
    house
        .until_one(&DEPLOYMENTS, "web", |d| {
            let status = |field: &str| d.i64_at(&["status", field]).unwrap_or_default();
            let wanted = d.i64_at(&["spec", "replicas"]).unwrap_or_default();
            status("observedGeneration") >= object::generation(d)
                && status("updatedReplicas") == wanted
                && status("replicas") == wanted
                && status("availableReplicas") == wanted
        })
        .await
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

async fn images(house: &House) -> Vec<String> {
    let pods = house.list(&PODS).await;
    pods.iter()
        .map(|p| p.items_at(&["spec", "containers"])[0].str_at(&["image"]).unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_and_tells_of_it() {
    let house = available(3).await;
    let deployment = house.get(&DEPLOYMENTS, "web").await.unwrap();
    assert_eq!(deployment.i64_at(&["status", "readyReplicas"]), Some(3));
    assert_eq!(object::annotation(&deployment, "deployment.kubernetes.io/revision"), Some("1"));
    assert!(house.until_event("ScalingReplicaSet").await.starts_with("Scaled up replica set web-"));
    assert!(house.until_event("SuccessfulCreate").await.starts_with("Created pod: web-"));
    let pod = &house.list(&PODS).await[0];
    let hash = object::label(pod, "pod-template-hash").unwrap();
    assert!(object::name(pod).starts_with(&format!("web-{hash}-")));
}

#[tokio::test(start_paused = true)]
async fn at_rest_nothing_is_written() {
    let house = available(3).await;
    house.at_rest().await;
    let before = house.revision();
    // Less than an hour: events go then.
    house.pass(std::time::Duration::from_secs(3000)).await;
    assert_eq!(house.revision(), before);
}

#[tokio::test(start_paused = true)]
async fn a_new_image_rolls_out_and_can_be_undone() {
    let house = available(3).await;
    house.patch(&DEPLOYMENTS, "web", image("registry.example/c:v2")).await;
    rolled_out(&house).await;
    house.until_count(&PODS, 3).await;
    assert_eq!(images(&house).await, ["registry.example/c:v2"; 3]);
    // What `kubectl rollout undo` does: the template of the old set, without its hash.
    let sets = house.list(&REPLICA_SETS).await;
    let old = sets
        .iter()
        .find(|s| object::annotation(s, "deployment.kubernetes.io/revision") == Some("1"))
        .unwrap();
    let mut template = old.at(&["spec", "template"]).cloned().unwrap();
    template.take(&["metadata", "labels", "pod-template-hash"]);
    let undo = json!([{"op": "replace", "path": "/spec/template", "value": template}]);
    let undo = pilothouse_apiserver::Patch::Json(undo);
    house.client.patch(&DEPLOYMENTS, Some("default"), "web", undo, None).await.unwrap();
    let deployment = rolled_out(&house).await;
    house.until_count(&PODS, 3).await;
    assert_eq!(images(&house).await, ["registry.example/c:v1"; 3]);
    assert_eq!(house.names(&REPLICA_SETS).await.len(), 2);
    drop(deployment);
    house
        .until_one(&DEPLOYMENTS, "web", |d| {
            object::annotation(d, "deployment.kubernetes.io/revision") == Some("3")
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_replaces_every_pod() {
    let house = available(2).await;
    let before = house.names(&PODS).await;
    let restart = json!({"spec": {"template": {"metadata": {"annotations": {
        "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}}});
    house.patch(&DEPLOYMENTS, "web", restart).await;
    rolled_out(&house).await;
    house.until_count(&PODS, 2).await;
    let after = house.names(&PODS).await;
    assert!(after.iter().all(|name| !before.contains(name)), "{before:?} {after:?}");
}

#[tokio::test(start_paused = true)]
async fn scaling_goes_both_ways_also_through_the_subresource() {
    let house = available(1).await;
    scale(&house.client, &DEPLOYMENTS, "web", 4).await;
    rolled_out(&house).await;
    house.until_count(&PODS, 4).await;
    scale(&house.client, &DEPLOYMENTS, "web", 0).await;
    house.until_count(&PODS, 0).await;
    rolled_out(&house).await;
}

async fn scale(client: &Client, gvr: &Gvr, name: &str, replicas: i64) {
    let mut scale = client.get_subresource(gvr, Some("default"), name, "scale").await.unwrap();
    scale.set(&["spec", "replicas"], replicas);
    client.update_subresource(gvr, Some("default"), Some("scale"), scale).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_rollout_whose_pods_are_not_ready_stops_and_says_so() {
    let house = available(2).await;
    let mut patch = image("registry.example/c:broken");
    patch.set(&["spec", "progressDeadlineSeconds"], 60);
    patch.set(&["spec", "template", "metadata", "annotations", PHASE_ANNOTATION], "Unready");
    house.patch(&DEPLOYMENTS, "web", patch).await;
    let deployment = house.until_condition(&DEPLOYMENTS, "web", "Progressing", "False").await;
    let condition = object::condition(&deployment, "Progressing").unwrap();
    assert_eq!(condition.str_at(&["reason"]), Some("ProgressDeadlineExceeded"));
    assert!(object::condition_is_true(&deployment, "Available"), "the old pods still serve");
}

#[tokio::test(start_paused = true)]
async fn recreate_never_runs_both_templates() {
    let house = House::start().await;
    let spec = json!({"replicas": 2, "strategy": {"type": "Recreate"}});
    house.create(&DEPLOYMENTS, workload("Deployment", "web", spec)).await;
    rolled_out(&house).await;
    house.patch(&DEPLOYMENTS, "web", image("registry.example/c:v2")).await;
    house
        .until(&PODS, |pods| {
            let images: std::collections::BTreeSet<_> = pods
                .iter()
                .map(|p| p.items_at(&["spec", "containers"])[0].str_at(&["image"]).unwrap())
                .collect();
            assert!(images.len() <= 1, "{images:?}");
            (pods.len() == 2 && images.contains("registry.example/c:v2")).then_some(())
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_is_replaced() {
    let house = available(2).await;
    let victim = house.names(&PODS).await.remove(0);
    house.delete(&PODS, &victim, None).await;
    house
        .until(&PODS, |pods| {
            (pods.len() == 2 && pods.iter().all(|pod| object::name(pod) != victim)).then_some(())
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn min_ready_seconds_are_waited_for() {
    let house = House::start().await;
    let spec = json!({"replicas": 1, "minReadySeconds": 30});
    let started = tokio::time::Instant::now();
    house.create(&DEPLOYMENTS, workload("Deployment", "web", spec)).await;
    house.until_condition(&DEPLOYMENTS, "web", "Available", "True").await;
    assert!((29..=31).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn without_a_node_pods_stay_pending_and_the_deployment_unavailable() {
    let house = House::without_node().await;
    house.create(&DEPLOYMENTS, workload("Deployment", "web", json!({"replicas": 1}))).await;
    house.until_condition(&DEPLOYMENTS, "web", "Available", "False").await;
    let pod = house.until(&PODS, |pods| pods.first().map(|pod| Value::clone(pod))).await;
    assert_eq!(pod.str_at(&["status", "phase"]), Some("Pending"));
    assert_eq!(house.until_event("FailedScheduling").await, "no nodes available to schedule pods");
}
