use std::time::Duration;

use pilothouse_apiserver::DeleteOptions;
use pilothouse_value::{Value, json, object};

use crate::house::*;

fn in_namespace(mut object: Value) -> Value {
    object.set(&["metadata", "namespace"], "made");
    object
}

async fn with_namespace() -> House {
    let house = House::start().await;
    house.create(&NAMESPACES, json!({"metadata": {"name": "made"}})).await;
    house
}

#[tokio::test(start_paused = true)]
async fn an_empty_namespace_is_gone_at_once() {
    let house = with_namespace().await;
    let before = tokio::time::Instant::now();
    house.delete(&NAMESPACES, "made", None).await;
    house.until_gone(&NAMESPACES, "made").await;
    assert!(before.elapsed() < Duration::from_millis(100), "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn everything_in_a_namespace_goes_with_it_custom_objects_too() {
    let house = with_namespace().await;
    house.create(&CRDS, web_definition()).await;
    house.create(&WEBS, in_namespace(web("w"))).await;
    house.create(&CONFIG_MAPS, in_namespace(config_map("m"))).await;
    house.create(&DEPLOYMENTS, in_namespace(workload("Deployment", "d", json!({"replicas": 2})))).await;
    house.until_count(&PODS, 2).await;
    house.delete(&NAMESPACES, "made", None).await;
    house.until_gone(&NAMESPACES, "made").await;
    for resource in [&*WEBS, &*DEPLOYMENTS, &*REPLICA_SETS, &*PODS, &*EVENTS] {
        assert_eq!(house.names(resource).await, Vec::<String>::new(), "{resource}");
    }
    let left = house.list(&CONFIG_MAPS).await;
    assert!(left.iter().all(|map| object::namespace(map) != Some("made")));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_says_what_holds_it_and_goes_when_that_goes() {
    let house = with_namespace().await;
    let mut held = in_namespace(config_map("held"));
    held.set(&["metadata", "finalizers"], json!(["example.com/hold"]));
    house.create(&CONFIG_MAPS, held).await;
    house.delete(&NAMESPACES, "made", None).await;
    let namespace = house.until_condition(&NAMESPACES, "made", "NamespaceContentRemaining", "True").await;
    assert_eq!(namespace.str_at(&["status", "phase"]), Some("Terminating"));
    let message = |kind: &str| {
        object::condition(&namespace, kind)
            .and_then(|c| c.str_at(&["message"]))
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        message("NamespaceContentRemaining"),
        "Some resources are remaining: configmaps. has 1 resource instances"
    );
    assert_eq!(
        message("NamespaceFinalizersRemaining"),
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
    );
    let free = pilothouse_apiserver::Patch::Merge(json!({"metadata": {"finalizers": null}}));
    house.client.patch(&CONFIG_MAPS, Some("made"), "held", free, None).await.unwrap();
    house.until_gone(&NAMESPACES, "made").await;
}

#[tokio::test(start_paused = true)]
async fn nothing_can_be_made_in_a_namespace_that_is_going() {
    let house = with_namespace().await;
    let mut held = in_namespace(config_map("held"));
    held.set(&["metadata", "finalizers"], json!(["example.com/hold"]));
    house.create(&CONFIG_MAPS, held).await;
    house.delete(&NAMESPACES, "made", None).await;
    let create = house.client.create(&CONFIG_MAPS, Some("made"), config_map("late"));
    assert_eq!(house.refused(create).await.code, 403);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_can_be_made_again() {
    let house = with_namespace().await;
    house.client.delete(&NAMESPACES, None, "made", &DeleteOptions::default()).await.unwrap();
    house.until_gone(&NAMESPACES, "made").await;
    house.create(&NAMESPACES, json!({"metadata": {"name": "made"}})).await;
    house
        .until(&SERVICE_ACCOUNTS, |all| {
            all.iter().any(|o| object::namespace(o) == Some("made")).then_some(())
        })
        .await;
}
