use pilothouse_value::{Value, json, object};

use crate::house::*;

fn pod(name: &str, spec: Value) -> Value {
    let mut pod = template(name);
    pod.set(&["metadata", "name"], name);
    for (key, value) in spec.as_object().unwrap().iter() {
        pod.set(&["spec", key], value.clone());
    }
    pod
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_and_runs() {
    let house = House::start().await;
    house.create(&PODS, pod("p", json!({}))).await;
    let pod = house.until_condition(&PODS, "p", "Ready", "True").await;
    assert_eq!(pod.str_at(&["spec", "nodeName"]), Some("instant"));
    assert!(object::condition_is_true(&pod, "PodScheduled"));
    assert_eq!(house.until_event("Scheduled").await, "Successfully assigned default/p to instant");
}

#[tokio::test(start_paused = true)]
async fn events_of_the_scheduler_tell_their_action_and_have_a_time_of_their_own() {
    let house = House::start().await;
    house.create(&PODS, pod("p", json!({}))).await;
    house.until_event("Scheduled").await;
    let events = house.list(&EVENTS).await;
    let event = events.iter().find(|event| event.str_at(&["reason"]) == Some("Scheduled")).unwrap();
    assert_eq!(event.str_at(&["action"]), Some("Binding"));
    assert_eq!(event.str_at(&["reportingComponent"]), Some("default-scheduler"));
    assert!(event.str_at(&["eventTime"]).is_some());
    // kubectl sorts events without a last time before all others: what was scheduled comes before what ran.
    assert_eq!(event.at(&["lastTimestamp"]), Some(&Value::Null));
    assert_eq!(event.get("count"), None);
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_a_node_that_fits() {
    let house = House::start().await;
    house.create(&PODS, pod("p", json!({"nodeSelector": {"disk": "ssd"}}))).await;
    let waiting = house.until_condition(&PODS, "p", "PodScheduled", "False").await;
    assert_eq!(
        object::condition(&waiting, "PodScheduled").unwrap().str_at(&["message"]),
        Some("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.")
    );
    house.patch(&NODES, "instant", json!({"metadata": {"labels": {"disk": "ssd"}}})).await;
    house.until_condition(&PODS, "p", "Ready", "True").await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_its_claim() {
    let house = House::start().await;
    let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "late"}}]});
    house.create(&PODS, pod("p", volumes)).await;
    assert_eq!(
        house.until_event("FailedScheduling").await,
        "0/1 nodes are available: persistentvolumeclaim \"late\" not found."
    );
    house
        .create(
            &CLAIMS,
            json!({"metadata": {"name": "late"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}),
        )
        .await;
    house.until_condition(&PODS, "p", "Ready", "True").await;
}

#[tokio::test(start_paused = true)]
async fn gates_and_other_schedulers_hold_a_pod_back() {
    let house = House::start().await;
    house.create(&PODS, pod("gated", json!({"schedulingGates": [{"name": "example.com/wait"}]}))).await;
    house.create(&PODS, pod("theirs", json!({"schedulerName": "other"}))).await;
    house.at_rest().await;
    for name in ["gated", "theirs"] {
        assert_eq!(house.get(&PODS, name).await.unwrap().str_at(&["spec", "nodeName"]), None, "{name}");
    }
    house.patch(&PODS, "gated", json!({"spec": {"schedulingGates": null}})).await;
    house.until_condition(&PODS, "gated", "Ready", "True").await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_goes_from_its_node() {
    let house = House::start().await;
    house.create(&PODS, pod("p", json!({}))).await;
    house.until_condition(&PODS, "p", "Ready", "True").await;
    house.delete(&PODS, "p", None).await;
    house.until_gone(&PODS, "p").await;
}
