//! Update and status.

use pilothouse_value::{json, object};

use crate::support::{Api, config_map, config_maps, deployment, deployments, with_caches};

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

#[tokio::test]
async fn an_update_on_an_old_version_conflicts() {
    let api = Api::start();
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let mut first = made.clone();
    first.set(&["data", "a"], "2");
    api.client.update(&config_maps(), Some("default"), first).await.unwrap();
    let mut second = made;
    second.set(&["data", "a"], "3");
    let answer = api.put(MAP, &second).await;
    assert_eq!(answer.code, 409);
    assert_eq!(
        answer.message(),
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );
}

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let api = Api::start();
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let again = api.client.update(&config_maps(), Some("default"), made.clone()).await.unwrap();
    assert_eq!(object::resource_version(&made), object::resource_version(&again));
}

#[tokio::test]
async fn what_only_the_server_sets_cannot_be_changed() {
    let api = Api::start();
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let mut changed = made.clone();
    changed.set(&["metadata", "creationTimestamp"], "1999-01-01T00:00:00Z");
    let updated = api.client.update(&config_maps(), Some("default"), changed.clone()).await.unwrap();
    assert_eq!(updated.at(&["metadata", "creationTimestamp"]), made.at(&["metadata", "creationTimestamp"]));
    changed.set(&["metadata", "deletionTimestamp"], "1999-01-01T00:00:00Z");
    let refused = api.client.update(&config_maps(), Some("default"), changed).await.unwrap_err();
    assert!(
        refused.message.ends_with("Invalid value: \"1999-01-01T00:00:00Z\": field is immutable"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_name_must_be_that_of_the_path() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let answer = api.put(MAP, &config_map("b")).await;
    assert_eq!(answer.code, 400);
    assert_eq!(answer.message(), "the name of the object (b) does not match the name on the URL (a)");
}

#[tokio::test]
async fn an_update_needs_an_object() {
    let api = Api::start();
    let answer = api.put(MAP, &config_map("a")).await;
    assert_eq!((answer.code, answer.message().as_str()), (404, "configmaps \"a\" not found"));
}

#[tokio::test]
async fn a_put_makes_a_lease() {
    let api = Api::start();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me"},
    });
    let answer = api.put("/apis/coordination.k8s.io/v1/namespaces/default/leases/l", &lease).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
}

#[tokio::test]
async fn a_generation_counts_changes_of_what_is_wanted() {
    let api = Api::start();
    let made = api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    assert_eq!(object::generation(&made), 1);
    let mut labelled = made.clone();
    labelled.set(&["metadata", "labels", "a"], "b");
    let labelled = api.client.update(&deployments(), Some("default"), labelled).await.unwrap();
    assert_eq!(object::generation(&labelled), 1);
    let mut scaled = labelled;
    scaled.set(&["spec", "replicas"], 5);
    let scaled = api.client.update(&deployments(), Some("default"), scaled).await.unwrap();
    assert_eq!(object::generation(&scaled), 2);
}

#[tokio::test]
async fn the_status_is_written_through_its_own_path_only() {
    let api = Api::start();
    let made = api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    let mut both = made;
    both.set(&["spec", "replicas"], 7);
    both.set(&["status", "replicas"], 7);
    let main = api.client.update(&deployments(), Some("default"), both.clone()).await.unwrap();
    assert_eq!((main.i64_at(&["spec", "replicas"]), main.i64_at(&["status", "replicas"])), (Some(7), None));
    let mut both = main;
    both.set(&["spec", "replicas"], 9);
    both.set(&["status", "replicas"], 9);
    let status = api.client.update_status(&deployments(), Some("default"), both).await.unwrap();
    assert_eq!(
        (status.i64_at(&["spec", "replicas"]), status.i64_at(&["status", "replicas"])),
        (Some(7), Some(9))
    );
    assert_eq!(object::generation(&status), 2, "a status is no new generation");
}

#[tokio::test]
async fn the_status_of_a_custom_resource_leaves_its_metadata_alone() {
    let api = with_caches().await;
    let caches = crate::support::caches();
    let made = api.client.create(&caches, Some("default"), crate::support::cache("c")).await.unwrap();
    let mut changed = made;
    changed.set(&["metadata", "labels", "a"], "b");
    changed.set(&["status", "replicas"], 3);
    let updated = api.client.update_status(&caches, Some("default"), changed).await.unwrap();
    assert_eq!(updated.i64_at(&["status", "replicas"]), Some(3));
    assert_eq!(object::labels(&updated), None);
    assert_eq!(object::generation(&updated), 1);
}

#[tokio::test]
async fn a_custom_resource_is_updated_with_a_version_only() {
    let api = with_caches().await;
    let caches = crate::support::caches();
    api.client.create(&caches, Some("default"), crate::support::cache("c")).await.unwrap();
    let status = api.client.update(&caches, Some("default"), crate::support::cache("c")).await.unwrap_err();
    assert_eq!(status.code, 422);
    assert_eq!(
        status.message,
        "caches.demo.io \"c\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    );
}

#[tokio::test]
async fn dry_run_stores_nothing() {
    let api = Api::start();
    let answer = api.post("/api/v1/namespaces/default/configmaps?dryRun=All", &config_map("a")).await;
    assert_eq!(answer.code, 201);
    assert!(!object::uid(&answer.json()).is_empty());
    assert_eq!(api.get(MAP).await.code, 404);
    let refused = api.post("/api/v1/namespaces/default/configmaps?dryRun=Some", &config_map("a")).await;
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.message(),
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
    );
}

#[tokio::test]
async fn an_empty_list_of_managers_clears_them() {
    let api = Api::start();
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    assert_eq!(made.items_at(&["metadata", "managedFields"]).len(), 1);
    let mut cleared = made;
    cleared.set(&["metadata", "managedFields"], json!([]));
    let answer = api.put(MAP, &cleared).await;
    assert_eq!(answer.json().at(&["metadata", "managedFields"]), None, "{}", answer.text);
}
