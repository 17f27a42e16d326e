use pilothouse_cluster::PHASE_ANNOTATION;
use pilothouse_value::{Value, json, object};

use crate::house::*;

fn service(spec: Value) -> Value {
    let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}});
    service.set(&["spec"], spec);
    service.set(&["spec", "selector"], json!({"app": "web"}));
    service.set(&["spec", "ports"], json!([{"name": "http", "port": 80, "targetPort": 8080}]));
    service
}

fn addresses(endpoints: &Value, list: &str) -> usize {
    endpoints.items_at(&["subsets"]).iter().map(|subset| subset.items_at(&[list]).len()).sum()
}

#[tokio::test(start_paused = true)]
async fn a_service_finds_its_pods_as_they_come_and_go() {
    let house = House::start().await;
    house.create(&SERVICES, service(json!({}))).await;
    house.until_one(&ENDPOINTS, "web", |e| addresses(e, "addresses") == 0).await;
    house.create(&DEPLOYMENTS, workload("Deployment", "web", json!({"replicas": 2}))).await;
    house.until_one(&ENDPOINTS, "web", |e| addresses(e, "addresses") == 2).await;
    house
        .until(&ENDPOINT_SLICES, |slices| {
            let ours =
                slices.iter().find(|s| object::label(s, "kubernetes.io/service-name") == Some("web"))?;
            (ours.items_at(&["endpoints"]).len() == 2).then_some(())
        })
        .await;
    house.patch(&DEPLOYMENTS, "web", json!({"spec": {"replicas": 0}})).await;
    house.until_one(&ENDPOINTS, "web", |e| addresses(e, "addresses") == 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_not_ready_gets_no_traffic_until_it_is() {
    let house = House::start().await;
    house.create(&SERVICES, service(json!({}))).await;
    let mut pod = template("web");
    pod.set(&["metadata", "name"], "p");
    pod.set(&["metadata", "annotations", PHASE_ANNOTATION], "Unready");
    house.create(&PODS, pod).await;
    house.until_one(&ENDPOINTS, "web", |e| addresses(e, "notReadyAddresses") == 1).await;
    house.patch(&PODS, "p", json!({"metadata": {"annotations": {PHASE_ANNOTATION: "Running"}}})).await;
    house.until_one(&ENDPOINTS, "web", |e| addresses(e, "addresses") == 1).await;
}

#[tokio::test(start_paused = true)]
async fn endpoints_and_slices_go_with_their_service_and_come_back_when_deleted() {
    let house = House::start().await;
    house.create(&SERVICES, service(json!({"clusterIP": "None"}))).await;
    let before = house.until_one(&ENDPOINTS, "web", |_| true).await;
    house.delete(&ENDPOINTS, "web", None).await;
    house.until_one(&ENDPOINTS, "web", |e| object::uid(e) != object::uid(&before)).await;
    house.delete(&SERVICES, "web", None).await;
    house.until_gone(&ENDPOINTS, "web").await;
    house
        .until(&ENDPOINT_SLICES, |slices| {
            slices.iter().all(|s| object::label(s, "kubernetes.io/service-name") != Some("web")).then_some(())
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn endpoints_of_a_service_without_selector_are_left_alone() {
    let house = House::start().await;
    let mut service = service(json!({}));
    service.take(&["spec", "selector"]);
    house.create(&SERVICES, service).await;
    let own = json!({"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]});
    house.create(&ENDPOINTS, own).await;
    house.at_rest().await;
    assert_eq!(addresses(&house.get(&ENDPOINTS, "web").await.unwrap(), "addresses"), 1);
    house.delete(&SERVICES, "web", None).await;
    house.at_rest().await;
    assert!(house.get(&ENDPOINTS, "web").await.is_some());
}
