//! Delete: finalizers, grace, preconditions, propagation, many at once.

use pilothouse_apiserver::{DeleteOptions, ListOptions, Patch, Propagation};
use pilothouse_value::{json, object};

use crate::support::{Api, config_map, config_maps, namespaces, pod, pods};

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

#[tokio::test]
async fn a_deletion_answers_with_success() {
    let api = Api::start();
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let answer = api.delete(MAP).await;
    assert_eq!(answer.code, 200);
    let status = answer.json();
    assert_eq!(status.str_at(&["status"]), Some("Success"));
    assert_eq!(status.str_at(&["details", "kind"]), Some("configmaps"));
    assert_eq!(status.str_at(&["details", "uid"]), Some(object::uid(&made)));
    assert_eq!(api.delete(MAP).await.code, 404);
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let api = Api::start();
    let mut map = config_map("a");
    map.set(&["metadata", "finalizers"], vec!["demo.io/hold"]);
    api.client.create(&config_maps(), Some("default"), map).await.unwrap();
    let held = api.delete(MAP).await.json();
    assert!(object::deletion_timestamp(&held).is_some());
    assert_eq!(held.i64_at(&["metadata", "deletionGracePeriodSeconds"]), Some(0));
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.client.patch(&config_maps(), Some("default"), "a", patch, None).await.unwrap();
    assert_eq!(api.get(MAP).await.code, 404, "the last finalizer took it along");
}

#[tokio::test]
async fn no_finalizer_is_added_once_an_object_goes() {
    let api = Api::start();
    let mut map = config_map("a");
    map.set(&["metadata", "finalizers"], vec!["demo.io/hold"]);
    api.client.create(&config_maps(), Some("default"), map).await.unwrap();
    api.delete(MAP).await;
    let patch = json!({"metadata": {"finalizers": ["demo.io/hold", "demo.io/more"]}});
    let answer = api.patch("application/merge-patch+json", MAP, &patch).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is \
         being deleted, found new finalizers []string{\"demo.io/more\"}"
    );
}

#[tokio::test]
async fn preconditions_are_kept() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let options = DeleteOptions { uid: Some("other".into()), ..Default::default() };
    let status = api.client.delete(&config_maps(), Some("default"), "a", &options).await.unwrap_err();
    assert!(status.is_conflict());
    assert!(status.message.contains("the UID in the precondition (other) does not match the UID in record"));
    let options = DeleteOptions { resource_version: Some("1".into()), ..Default::default() };
    assert!(
        api.client.delete(&config_maps(), Some("default"), "a", &options).await.unwrap_err().is_conflict()
    );
}

#[tokio::test]
async fn propagation_becomes_a_finalizer() {
    let api = Api::start();
    for (propagation, finalizer) in
        [(Propagation::Foreground, "foregroundDeletion"), (Propagation::Orphan, "orphan")]
    {
        api.client
            .create(&config_maps(), Some("default"), config_map(finalizer.trim_end_matches("Deletion")))
            .await
            .unwrap();
        let options = DeleteOptions { propagation: Some(propagation), ..Default::default() };
        let name = finalizer.trim_end_matches("Deletion");
        let held = api.client.delete(&config_maps(), Some("default"), name, &options).await.unwrap();
        assert_eq!(object::finalizers(&held).collect::<Vec<_>>(), [finalizer]);
    }
}

#[tokio::test]
async fn options_are_read_from_the_body() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let body = r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Sideways"}"#;
    let answer = api.send("DELETE", MAP, &[("content-type", "application/json")], body).await;
    assert_eq!(answer.code, 422);
    let body = r#"{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}"#;
    assert_eq!(api.send("DELETE", MAP, &[("content-type", "application/json")], body).await.code, 200);
    assert_eq!(api.get(MAP).await.code, 200, "it was a dry run");
}

#[tokio::test]
async fn a_pod_that_nobody_runs_goes_at_once() {
    let api = Api::start();
    api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    let gone = api.client.delete(&pods(), Some("default"), "p", &DeleteOptions::default()).await.unwrap();
    assert_eq!(object::kind(&gone), "Pod", "a pod's deletion answers with the pod");
    assert!(api.client.get(&pods(), Some("default"), "p").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_running_pod_gets_its_grace() {
    let api = Api::start();
    let mut running = pod("p");
    running.set(&["spec", "nodeName"], "n");
    api.client.create(&pods(), Some("default"), running).await.unwrap();
    let marked = api.client.delete(&pods(), Some("default"), "p", &DeleteOptions::default()).await.unwrap();
    assert_eq!(marked.i64_at(&["metadata", "deletionGracePeriodSeconds"]), Some(30));
    let shorter = DeleteOptions { grace_period_seconds: Some(5), ..Default::default() };
    let marked = api.client.delete(&pods(), Some("default"), "p", &shorter).await.unwrap();
    assert_eq!(marked.i64_at(&["metadata", "deletionGracePeriodSeconds"]), Some(5));
    let longer = DeleteOptions { grace_period_seconds: Some(50), ..Default::default() };
    let marked = api.client.delete(&pods(), Some("default"), "p", &longer).await.unwrap();
    assert_eq!(marked.i64_at(&["metadata", "deletionGracePeriodSeconds"]), Some(5), "never longer");
    let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
    api.client.delete(&pods(), Some("default"), "p", &now).await.unwrap();
    assert!(api.client.get(&pods(), Some("default"), "p").await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let api = Api::start();
    for (name, app) in [("a", "x"), ("b", "x"), ("c", "y")] {
        let mut map = config_map(name);
        map.set(&["metadata", "labels", "app"], app);
        api.client.create(&config_maps(), Some("default"), map).await.unwrap();
    }
    let answer = api.delete("/api/v1/namespaces/default/configmaps?labelSelector=app%3Dx").await;
    assert_eq!((answer.code, answer.json().items_at(&["items"]).len()), (200, 2));
    let left = api.client.list(&config_maps(), Some("default"), &ListOptions::default()).await.unwrap();
    assert_eq!(left.items.len(), 1);
}

#[tokio::test]
async fn some_namespaces_are_for_ever() {
    let api = Api::start();
    let answer = api.delete("/api/v1/namespaces/default").await;
    assert_eq!(answer.code, 403);
    assert_eq!(answer.message(), "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

#[tokio::test]
async fn a_namespace_goes_when_it_is_finalized() {
    let api = Api::start();
    api.client.create(&namespaces(), None, json!({"metadata": {"name": "n"}})).await.unwrap();
    let marked = api.delete("/api/v1/namespaces/n").await.json();
    assert_eq!(marked.str_at(&["status", "phase"]), Some("Terminating"));
    let refused = api.post("/api/v1/namespaces/n/configmaps", &config_map("a")).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.message(),
        "configmaps \"a\" is forbidden: unable to create new content in namespace n because it is being terminated"
    );
    let mut finalized = api.get("/api/v1/namespaces/n").await.json();
    finalized.set(&["spec", "finalizers"], Vec::<String>::new());
    assert_eq!(api.put("/api/v1/namespaces/n/finalize", &finalized).await.code, 200);
    assert_eq!(api.get("/api/v1/namespaces/n").await.code, 404);
}
