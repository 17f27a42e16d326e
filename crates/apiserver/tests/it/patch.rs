//! Patch and server-side apply.

use pilothouse_apiserver::Patch;
use pilothouse_value::{json, object};

use crate::support::{Api, cache, caches, config_map, config_maps, deployment, deployments, with_caches};

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";
const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

async fn with_map() -> Api {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    api
}

#[tokio::test]
async fn a_merge_patch_sets_and_removes() {
    let api = with_map().await;
    let answer = api.patch(MERGE, MAP, &json!({"data": {"a": null, "b": "2"}})).await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.json().get("data").unwrap().to_json(), r#"{"b":"2"}"#);
}

#[tokio::test]
async fn a_json_patch_applies_its_operations() {
    let api = with_map().await;
    let operations = json!([
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    ]);
    assert_eq!(api.patch(JSON, MAP, &operations).await.json().str_at(&["data", "a"]), Some("2"));
    let again = api.patch(JSON, MAP, &operations).await;
    assert_eq!(again.code, 422, "the test fails now");
}

#[tokio::test]
async fn a_strategic_patch_merges_lists_by_their_keys() {
    let api = Api::start();
    api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox:2"}]}}}});
    let path = "/apis/apps/v1/namespaces/default/deployments/d";
    let answer = api.patch(STRATEGIC, path, &patch).await;
    assert_eq!(answer.code, 200, "{}", answer.text);
    assert_eq!(answer.json().items_at(&["spec", "template", "spec", "containers"]).len(), 2);
}

#[tokio::test]
async fn a_strict_patch_is_shown_when_it_sets_an_unknown_field() {
    let api = Api::start();
    api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    let path = "/apis/apps/v1/namespaces/default/deployments/d?fieldValidation=Strict";
    let patch = json!({"spec": {"replicas": null, "replicaz": [1, true, "x"]}});
    let answer = api.patch(STRATEGIC, path, &patch).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        " \"\" is invalid: patch: Invalid value: \"map[spec:map[replicas:<nil> replicaz:[1 true x]]]\": \
         strict decoding error: unknown field \"spec.replicaz\""
    );
    // A merge patch is told by the object that it makes.
    let answer = api.patch(MERGE, path, &patch).await;
    assert_eq!(answer.code, 422);
    assert!(
        answer.message().starts_with(" \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn custom_resources_know_no_strategic_patch() {
    let api = with_caches().await;
    api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    let path = "/apis/demo.io/v1/namespaces/default/caches/c";
    let answer = api.patch(STRATEGIC, path, &json!({"spec": {"replicas": 2}})).await;
    assert_eq!(answer.code, 415);
    assert_eq!(
        answer.message(),
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
}

#[tokio::test]
async fn a_patch_that_pins_a_version_conflicts() {
    let api = with_map().await;
    let patch = json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}});
    assert_eq!(api.patch(MERGE, MAP, &patch).await.code, 409);
}

#[tokio::test]
async fn patches_at_the_same_time_all_count() {
    let api = with_map().await;
    let mut tasks = Vec::new();
    for index in 0..20 {
        let client = api.client.clone();
        tasks.push(tokio::spawn(async move {
            let patch = Patch::Merge(json!({"data": {format!("k{index}"): "v"}}));
            client.patch(&config_maps(), Some("default"), "a", patch, None).await
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let map = api.client.get(&config_maps(), Some("default"), "a").await.unwrap();
    assert_eq!(map.get("data").unwrap().as_object().unwrap().len(), 21);
}

#[tokio::test]
async fn a_name_cannot_be_patched() {
    let api = with_map().await;
    assert_eq!(api.patch(MERGE, MAP, &json!({"metadata": {"name": "b"}})).await.code, 400);
}

#[tokio::test]
async fn apply_needs_a_manager() {
    let api = Api::start();
    let answer = api.patch(APPLY, MAP, &config_map("a")).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
}

#[tokio::test]
async fn apply_makes_and_changes_and_removes() {
    let api = Api::start();
    let path = format!("{MAP}?fieldManager=me");
    let made = api.patch(APPLY, &path, &config_map("a")).await;
    assert_eq!(made.code, 201, "{}", made.text);
    let entry = made.json().items_at(&["metadata", "managedFields"])[0].clone();
    assert_eq!((entry.str_at(&["manager"]), entry.str_at(&["operation"])), (Some("me"), Some("Apply")));
    let again = api.patch(APPLY, &path, &config_map("a")).await;
    assert_eq!(again.code, 200);
    assert_eq!(object::resource_version(&again.json()), object::resource_version(&made.json()));
    let mut other = config_map("a");
    other.set(&["data"], json!({"b": "2"}));
    let changed = api.patch(APPLY, &path, &other).await;
    assert_eq!(
        changed.json().get("data").unwrap().to_json(),
        r#"{"b":"2"}"#,
        "what is not applied any more goes"
    );
}

#[tokio::test]
async fn apply_tells_of_conflicts_unless_it_is_forced() {
    let api = Api::start();
    api.patch(APPLY, &format!("{MAP}?fieldManager=first"), &config_map("a")).await;
    let mut other = config_map("a");
    other.set(&["data", "a"], "2");
    let refused = api.patch(APPLY, &format!("{MAP}?fieldManager=second"), &other).await;
    assert_eq!(refused.code, 409);
    assert_eq!(refused.message(), "Apply failed with 1 conflict: conflict with \"first\": .data.a");
    let forced = api.patch(APPLY, &format!("{MAP}?fieldManager=second&force=true"), &other).await;
    assert_eq!(forced.json().str_at(&["data", "a"]), Some("2"));
}

#[tokio::test]
async fn apply_reads_yaml() {
    let api = Api::start();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: y1\n";
    let answer = api.send("PATCH", &format!("{MAP}?fieldManager=me"), &[("content-type", APPLY)], yaml).await;
    assert_eq!((answer.code, answer.json().str_at(&["data", "x"])), (201, Some("y1")));
}

#[tokio::test]
async fn force_is_for_apply_only() {
    let api = with_map().await;
    let answer = api.patch(MERGE, &format!("{MAP}?force=true"), &json!({})).await;
    assert_eq!(answer.code, 422);
    assert!(answer.message().contains("may not be specified for non-apply patch"), "{}", answer.message());
}
