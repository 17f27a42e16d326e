use pilothouse_apiserver::Propagation;
use pilothouse_value::{Value, json, object};

use crate::house::*;

#[tokio::test(start_paused = true)]
async fn what_an_owner_owned_goes_after_it() {
    let house = House::without_node().await;
    let top = house.create(&CONFIG_MAPS, config_map("top")).await;
    let middle = house.create(&CONFIG_MAPS, owned("middle", &[(&top, false)])).await;
    house.create(&CONFIG_MAPS, owned("leaf", &[(&middle, false)])).await;
    house.delete(&CONFIG_MAPS, "top", Some(Propagation::Background)).await;
    house.until_gone(&CONFIG_MAPS, "leaf").await;
    assert!(house.get(&CONFIG_MAPS, "middle").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_object_with_an_owner_left_stays_and_forgets_the_other() {
    let house = House::without_node().await;
    let first = house.create(&CONFIG_MAPS, config_map("first")).await;
    let second = house.create(&CONFIG_MAPS, config_map("second")).await;
    house.create(&CONFIG_MAPS, owned("shared", &[(&first, false), (&second, false)])).await;
    house.delete(&CONFIG_MAPS, "first", None).await;
    let shared =
        house.until_one(&CONFIG_MAPS, "shared", |object| object::owner_references(object).len() == 1).await;
    assert_eq!(object::owner_references(&shared)[0].str_at(&["name"]), Some("second"));
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_the_owner_waits_for_those_that_block_it() {
    let house = House::without_node().await;
    let owner = house.create(&CONFIG_MAPS, config_map("owner")).await;
    let mut held = owned("blocking", &[(&owner, true)]);
    held.set(&["metadata", "finalizers"], json!(["example.com/hold"]));
    house.create(&CONFIG_MAPS, held).await;
    house.delete(&CONFIG_MAPS, "owner", Some(Propagation::Foreground)).await;
    let going = |object: &Value| object::deletion_timestamp(object).is_some();
    house.until_one(&CONFIG_MAPS, "blocking", going).await;
    house.at_rest().await;
    let owner = house.get(&CONFIG_MAPS, "owner").await.unwrap();
    assert!(object::has_finalizer(&owner, "foregroundDeletion"));
    house.patch(&CONFIG_MAPS, "blocking", json!({"metadata": {"finalizers": null}})).await;
    house.until_gone(&CONFIG_MAPS, "owner").await;
    assert!(house.get(&CONFIG_MAPS, "blocking").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_those_that_do_not_block_follow() {
    let house = House::without_node().await;
    let owner = house.create(&CONFIG_MAPS, config_map("owner")).await;
    let mut held = owned("free", &[(&owner, false)]);
    held.set(&["metadata", "finalizers"], json!(["example.com/hold"]));
    house.create(&CONFIG_MAPS, held).await;
    house.delete(&CONFIG_MAPS, "owner", Some(Propagation::Foreground)).await;
    house.until_gone(&CONFIG_MAPS, "owner").await;
    house.until_one(&CONFIG_MAPS, "free", |object| object::deletion_timestamp(object).is_some()).await;
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_without_an_owner() {
    let house = House::without_node().await;
    let owner = house.create(&CONFIG_MAPS, config_map("owner")).await;
    house.create(&CONFIG_MAPS, owned("kept", &[(&owner, true)])).await;
    house.delete(&CONFIG_MAPS, "owner", Some(Propagation::Orphan)).await;
    house.until_gone(&CONFIG_MAPS, "owner").await;
    house.at_rest().await;
    let kept = house.get(&CONFIG_MAPS, "kept").await.unwrap();
    assert_eq!(object::owner_references(&kept).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_was_never_there_or_is_another_by_now_is_no_owner() {
    let house = House::without_node().await;
    let real = house.create(&CONFIG_MAPS, config_map("real")).await;
    let mut absent = real.clone();
    absent.set(&["metadata", "name"], "absent");
    absent.set(&["metadata", "uid"], "00000000-0000-0000-0000-000000000001");
    let mut other = real.clone();
    other.set(&["metadata", "uid"], "00000000-0000-0000-0000-000000000002");
    house.create(&CONFIG_MAPS, owned("of-real", &[(&real, false)])).await;
    house.create(&CONFIG_MAPS, owned("of-absent", &[(&absent, false)])).await;
    house.create(&CONFIG_MAPS, owned("of-other", &[(&other, false)])).await;
    house.until_gone(&CONFIG_MAPS, "of-absent").await;
    house.until_gone(&CONFIG_MAPS, "of-other").await;
    house.at_rest().await;
    assert!(house.get(&CONFIG_MAPS, "of-real").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_a_kind_that_is_not_served_decides_nothing() {
    let house = House::without_node().await;
    let unknown =
        json!({"apiVersion": "unknown.dev/v1", "kind": "Thing", "metadata": {"name": "t", "uid": "u"}});
    house.create(&CONFIG_MAPS, owned("kept", &[(&unknown, false)])).await;
    house.at_rest().await;
    assert!(house.get(&CONFIG_MAPS, "kept").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn custom_objects_own_and_are_owned_as_soon_as_they_are_defined() {
    let house = House::without_node().await;
    house.create(&CRDS, web_definition()).await;
    let owner = house.create(&WEBS, web("owner")).await;
    house.create(&CONFIG_MAPS, owned("map", &[(&owner, true)])).await;
    let mut child = web("child");
    child.set(
        &["metadata", "ownerReferences"],
        json!([{"apiVersion": "demo.dev/v1", "kind": "Web", "name": "owner", "uid": object::uid(&owner)}]),
    );
    house.create(&WEBS, child).await;
    house.delete(&WEBS, "owner", Some(Propagation::Foreground)).await;
    house.until_gone(&WEBS, "owner").await;
    house.until_gone(&WEBS, "child").await;
    assert!(house.get(&CONFIG_MAPS, "map").await.is_none(), "it blocked its owner");
}

#[tokio::test(start_paused = true)]
async fn when_a_definition_goes_what_its_objects_owned_stays_until_the_kind_is_known_again() {
    let house = House::without_node().await;
    house.create(&CRDS, web_definition()).await;
    let owner = house.create(&WEBS, web("owner")).await;
    house.create(&CONFIG_MAPS, owned("map", &[(&owner, false)])).await;
    house.delete(&CRDS, "webs.demo.dev", None).await;
    house.until_gone(&CRDS, "webs.demo.dev").await;
    house.at_rest().await;
    house.create(&CRDS, web_definition()).await;
    house.create(&WEBS, web("other")).await;
    house.at_rest().await;
    assert_eq!(house.names(&WEBS).await, ["other"]);
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_owners_is_undone() {
    let house = House::without_node().await;
    let a = house.create(&CONFIG_MAPS, config_map("a")).await;
    let b = house.create(&CONFIG_MAPS, owned("b", &[(&a, true)])).await;
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": object::uid(&b),
        "blockOwnerDeletion": true}]);
    house.patch(&CONFIG_MAPS, "a", json!({"metadata": {"ownerReferences": reference}})).await;
    house.at_rest().await;
    house.delete(&CONFIG_MAPS, "a", Some(Propagation::Foreground)).await;
    house.until_gone(&CONFIG_MAPS, "a").await;
    house.until_gone(&CONFIG_MAPS, "b").await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_takes_its_sets_and_pods_along_or_leaves_them() {
    let house = House::start().await;
    for (name, propagation, left) in [
        ("back", Propagation::Background, 0),
        ("front", Propagation::Foreground, 0),
        ("kept", Propagation::Orphan, 2),
    ] {
        house.create(&DEPLOYMENTS, workload("Deployment", name, json!({"replicas": 2}))).await;
        house.until_condition(&DEPLOYMENTS, name, "Available", "True").await;
        house.delete(&DEPLOYMENTS, name, Some(propagation)).await;
        house.until_gone(&DEPLOYMENTS, name).await;
        house.until_count(&PODS, left).await;
        house.at_rest().await;
        house.until_count(&PODS, left).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_object_with_an_owner_in_a_namespace_is_left_alone() {
    let house = House::without_node().await;
    let owner = house.create(&CONFIG_MAPS, config_map("owner")).await;
    let mut namespace = json!({"metadata": {"name": "made"}});
    namespace.set(
        &["metadata", "ownerReferences"],
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": object::uid(&owner)}]),
    );
    house.create(&NAMESPACES, namespace).await;
    house.delete(&CONFIG_MAPS, "owner", None).await;
    assert!(house.until_event("OwnerRefInvalidNamespace").await.contains("does not exist in namespace"));
    assert!(house.get(&NAMESPACES, "made").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fell_behind_begins_anew_and_misses_nothing() {
    let server = pilothouse_apiserver::Server::builder().history(8).start().unwrap();
    let house = House::on(server, pilothouse_cluster::Options::default()).await;
    let owner = house.create(&CONFIG_MAPS, config_map("owner")).await;
    house.create(&CONFIG_MAPS, config_map("stranger")).await;
    // Nothing else runs while these are made, so that the watches lose their place in the short history.
    for number in 0..100 {
        house.create(&CONFIG_MAPS, owned(&format!("owned-{number}"), &[(&owner, false)])).await;
    }
    house.delete(&CONFIG_MAPS, "owner", Some(Propagation::Background)).await;
    house
        .until(&CONFIG_MAPS, |all| {
            all.iter().all(|map| !object::name(map).starts_with("owned-")).then_some(())
        })
        .await;
    assert!(house.get(&CONFIG_MAPS, "stranger").await.is_some());
}
