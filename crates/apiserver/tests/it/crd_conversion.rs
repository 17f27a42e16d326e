//! Custom resources of several versions that a webhook converts.

use pilothouse_apiserver::{ListOptions, Patch, WatchEventKind, WatchOptions};
use pilothouse_value::{Gvr, Value, json, object};

use crate::converter::{Converter, moved, response, widget};
use crate::support::{Api, crds};

fn gvr(version: &str) -> Gvr {
    Gvr::new("demo.io", version, "widgets")
}

fn path(version: &str, name: &str) -> String {
    format!("/apis/demo.io/{version}/namespaces/default/widgets/{name}")
}

fn list(version: &str) -> String {
    format!("/apis/demo.io/{version}/namespaces/default/widgets")
}

async fn start() -> (Api, Converter) {
    let (api, converter) = (Api::start(), Converter::start().await);
    api.client.create(&crds(), None, converter.widgets("v1")).await.unwrap();
    (api, converter)
}

#[tokio::test]
async fn an_object_is_shown_in_the_version_that_is_asked_for() {
    let (api, converter) = start().await;
    let made = api.post(&list("v2"), &widget("v2", "a", 3)).await;
    assert_eq!(made.code, 201, "{}", made.text);
    assert_eq!(made.json().get("spec"), Some(&json!({"count": 3})));
    let stored =
        api.server.store().snapshot().list(&widgets_key(), None, None).next().unwrap().object.value().clone();
    assert_eq!(stored.get("spec"), Some(&json!({"replicas": 3})));
    assert_eq!(api.get(&path("v1", "a")).await.json().get("spec"), Some(&json!({"replicas": 3})));
    assert_eq!(api.get(&path("v2", "a")).await.json().get("spec"), Some(&json!({"count": 3})));
    let question = converter.take().remove(0);
    assert_eq!(question.str_at(&["apiVersion"]), Some("apiextensions.k8s.io/v1"));
    assert_eq!(question.str_at(&["request", "desiredAPIVersion"]), Some("demo.io/v1"));
    assert_eq!(question.items_at(&["request", "objects"]).len(), 1);
}

fn widgets_key() -> pilothouse_store::ResourceKey {
    pilothouse_store::ResourceKey::new("demo.io", "widgets")
}

#[tokio::test]
async fn every_object_is_converted_alone_and_once_for_those_who_list_the_other_version() {
    let (api, converter) = start().await;
    for name in ["c", "a", "b"] {
        api.client.create(&gvr("v1"), Some("default"), widget("v1", name, 1)).await.unwrap();
    }
    api.server.settled().await;
    let questions = converter.take();
    assert_eq!(questions.len(), 3);
    assert!(questions.iter().all(|question| question.items_at(&["request", "objects"]).len() == 1));
    for _ in 0..2 {
        let page = api.client.list(&gvr("v2"), None, &ListOptions::default()).await.unwrap();
        let names: Vec<&str> = page.items.iter().map(|item| object::name(item)).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert!(page.items.iter().all(|item| item.i64_at(&["spec", "count"]) == Some(1)));
    }
    assert_eq!(converter.asked(), 0);
}

#[tokio::test]
async fn what_was_converted_is_listed_while_the_webhook_is_away_until_a_write_cannot_be() {
    let (api, converter) = start().await;
    api.post(&list("v1"), &widget("v1", "a", 1)).await;
    api.server.settled().await;
    converter.answer(|review| response(review, Vec::new()));
    assert_eq!(api.get(&list("v2")).await.code, 200);
    assert_eq!(api.get(&path("v2", "a")).await.code, 500, "one object is read anew");
    assert_eq!(api.get(&format!("{}?resourceVersion=0", path("v2", "a"))).await.code, 200);
    api.post(&list("v1"), &widget("v1", "b", 1)).await;
    api.server.settled().await;
    assert_eq!(api.get(&list("v2")).await.code, 500);
    converter.answer(moved);
    assert_eq!(api.get(&list("v2")).await.code, 200);
}

#[tokio::test]
async fn watchers_of_a_version_share_one_conversion() {
    let (api, converter) = start().await;
    let mut watches = Vec::new();
    for _ in 0..5 {
        watches.push(api.client.watch(&gvr("v2"), None, &WatchOptions::default()).await.unwrap());
    }
    api.client.create(&gvr("v1"), Some("default"), widget("v1", "a", 7)).await.unwrap();
    for watch in &mut watches {
        let event = watch.next().await.unwrap();
        assert_eq!(event.kind, WatchEventKind::Added);
        assert_eq!(event.object.i64_at(&["spec", "count"]), Some(7));
    }
    assert_eq!(converter.asked(), 1);
}

#[tokio::test]
async fn updates_patches_and_subresources_work_in_every_version() {
    let (api, _converter) = start().await;
    api.post(&list("v1"), &widget("v1", "a", 1)).await;
    let mut read = api.get(&path("v2", "a")).await.json();
    read.set(&["spec", "count"], 2);
    let updated = api.put(&path("v2", "a"), &read).await;
    assert_eq!((updated.code, updated.json().i64_at(&["metadata", "generation"])), (200, Some(2)));
    let merged =
        api.patch("application/merge-patch+json", &path("v2", "a"), &json!({"spec": {"count": 3}})).await;
    assert_eq!(merged.json().get("spec"), Some(&json!({"count": 3})));
    let operations = json!([{"op": "replace", "path": "/spec/count", "value": 4}]);
    let patched = api.patch("application/json-patch+json", &path("v2", "a"), &operations).await;
    assert_eq!(patched.json().get("spec"), Some(&json!({"count": 4})), "{}", patched.text);
    let status = api
        .patch(
            "application/merge-patch+json",
            &format!("{}/status", path("v2", "a")),
            &json!({"status": {"ready": 4}}),
        )
        .await;
    assert_eq!(status.json().get("status"), Some(&json!({"ready": 4})));
    let scale = api.get(&format!("{}/scale", path("v2", "a"))).await.json();
    assert_eq!(
        (scale.i64_at(&["spec", "replicas"]), scale.i64_at(&["status", "replicas"])),
        (Some(4), Some(4))
    );
    let scaled = api
        .patch(
            "application/merge-patch+json",
            &format!("{}/scale", path("v2", "a")),
            &json!({"spec": {"replicas": 9}}),
        )
        .await;
    assert_eq!(scaled.code, 200, "{}", scaled.text);
    assert_eq!(api.get(&path("v1", "a")).await.json().get("spec"), Some(&json!({"replicas": 9})));
    assert_eq!(api.delete(&path("v2", "a")).await.code, 200);
    assert_eq!(api.get(&path("v1", "a")).await.code, 404);
}

#[tokio::test]
async fn a_failure_is_told_in_upstreams_words() {
    let (api, converter) = start().await;
    api.post(&list("v1"), &widget("v1", "a", 1)).await;
    let refused = |review: Value| {
        let mut review = response(review, Vec::new());
        review.set(&["response", "result"], json!({"status": "Failed", "message": "not today"}));
        review
    };
    converter.answer(refused);
    let answer = api.get(&path("v2", "a")).await;
    assert_eq!(answer.code, 500);
    let why = "conversion webhook for demo.io/v1, Kind=Widget failed: not today";
    let message = answer.message();
    assert!(message.starts_with(
        "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /demo.io/widgets/default/a,"
    ));
    assert!(message.ends_with(why), "{message}");
    let listed = api.get(&list("v2")).await;
    assert_eq!((listed.code, listed.json().str_at(&["reason"])), (500, Some("StorageReadError")));
    assert!(listed.message().starts_with("failed to read one or more widgets.demo.io from the storage: "));
    let patched =
        api.patch("application/merge-patch+json", &path("v2", "a"), &json!({"spec": {"count": 3}})).await;
    assert!(patched.message().starts_with("object not decodable revision="), "{}", patched.message());
    assert!(patched.message().ends_with(why));
    let created = api.post(&list("v2"), &widget("v2", "b", 1)).await;
    assert_eq!(created.message(), "conversion webhook for demo.io/v2, Kind=Widget failed: not today");
    assert_eq!(created.json().get("reason"), None);
    converter.answer(|review| response(review, Vec::new()));
    let message = api.get(&path("v2", "a")).await.message();
    assert!(
        message.ends_with("conversion webhook for demo.io/v1, Kind=Widget returned 0 objects, expected 1")
    );
    converter.answer(|review| {
        let mut answer = moved(review);
        let objects = answer.at_mut(&["response", "convertedObjects"]).and_then(Value::as_array_mut).unwrap();
        objects[0].set(&["metadata", "name"], "other");
        answer
    });
    let message = api.get(&path("v2", "a")).await.message();
    assert!(message.ends_with("returned invalid object: must have the same name: a != other"), "{message}");
    converter.answer(moved);
    assert_eq!(api.get(&path("v2", "a")).await.code, 200, "a failure is not kept");
}

#[tokio::test]
async fn what_a_version_does_not_declare_is_pruned_after_conversion() {
    let (api, converter) = start().await;
    converter.answer(|review| {
        let mut answer = moved(review);
        let objects = answer.at_mut(&["response", "convertedObjects"]).and_then(Value::as_array_mut).unwrap();
        for object in objects {
            object.set(&["spec", "unknown"], true);
            object.set(&["metadata", "labels", "converted"], "yes");
            object.set(&["metadata", "finalizers"], json!(["demo.io/no"]));
        }
        answer
    });
    api.post(&list("v1"), &widget("v1", "a", 1)).await;
    let read = api.get(&path("v2", "a")).await.json();
    assert_eq!(read.get("spec"), Some(&json!({"count": 1})));
    assert_eq!(object::label(&read, "converted"), Some("yes"));
    assert!(object::finalizers(&read).next().is_none(), "only labels and annotations may change");
}

#[tokio::test]
async fn the_older_review_is_spoken_to_those_who_ask_for_it() {
    let (api, converter) = (Api::start(), Converter::start().await);
    let mut definition = converter.widgets("v1");
    definition.set(&["spec", "conversion"], converter.conversion("v1beta1"));
    api.client.create(&crds(), None, definition).await.unwrap();
    let made = api.post(&list("v2"), &widget("v2", "a", 1)).await;
    assert_eq!(made.code, 201, "{}", made.text);
    assert_eq!(converter.take()[0].str_at(&["apiVersion"]), Some("apiextensions.k8s.io/v1beta1"));
}

#[tokio::test]
async fn an_object_moves_to_the_new_storage_version_when_it_is_written() {
    let (api, converter) = start().await;
    api.post(&list("v1"), &widget("v1", "a", 1)).await;
    let mut definition = api.client.get(&crds(), None, "widgets.demo.io").await.unwrap();
    definition.set(&["spec", "versions"], converter.widgets("v2").at(&["spec", "versions"]).unwrap().clone());
    let updated = api.client.update(&crds(), None, definition).await.unwrap();
    assert_eq!(updated.at(&["status", "storedVersions"]), Some(&json!(["v1", "v2"])));
    let stored = || {
        let snapshot = api.server.store().snapshot();
        let value = snapshot.list(&widgets_key(), None, None).next().unwrap().object.value().clone();
        object::api_version(&value).to_owned()
    };
    let read = api.get(&path("v1", "a")).await.json();
    assert_eq!((stored().as_str(), read.i64_at(&["spec", "replicas"])), ("demo.io/v1", Some(1)));
    // The same document again: nothing changes for the client, but it is stored anew.
    let again = api.put(&path("v1", "a"), &read).await.json();
    assert_eq!(stored(), "demo.io/v2");
    assert_ne!(object::resource_version(&again), object::resource_version(&read));
    let once_more = api.put(&path("v1", "a"), &again).await.json();
    assert_eq!(object::resource_version(&once_more), object::resource_version(&again), "now nothing changes");
}

#[tokio::test]
async fn appliers_of_two_versions_own_the_fields_of_theirs() {
    let (api, _converter) = start().await;
    let apply = |version: &'static str, manager: &'static str, document: Value| {
        let client = api.client.clone();
        async move {
            let patch = Patch::Apply { document, manager: manager.into(), force: false };
            client.patch(&gvr(version), Some("default"), "a", patch, None).await
        }
    };
    apply("v1", "one", widget("v1", "a", 1)).await.unwrap();
    let mut other = widget("v2", "a", 1);
    other.take(&["spec", "count"]);
    other.set(&["spec", "mode"], "fast");
    let both = apply("v2", "two", other).await.unwrap();
    assert_eq!(both.get("spec"), Some(&json!({"count": 1, "mode": "fast"})));
}
