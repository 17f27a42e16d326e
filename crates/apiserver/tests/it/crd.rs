//! CustomResourceDefinitions: from the definition to the resource and back.

use pilothouse_apiserver::{DeleteOptions, ListOptions, Patch, WatchEventKind, WatchOptions};
use pilothouse_value::{json, object};

use crate::support::{Api, cache, cache_definition, caches, crds, with_caches};

#[tokio::test]
async fn a_definition_is_served_as_soon_as_its_create_returns() {
    let api = Api::start();
    assert_eq!(api.get("/apis/demo.io/v1/caches").await.code, 404);
    api.client.create(&crds(), None, cache_definition()).await.unwrap();
    assert_eq!(api.get("/apis/demo.io/v1/caches").await.code, 200);
    let made = api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    assert_eq!(object::generation(&made), 1);
}

#[tokio::test]
async fn names_are_accepted_and_completed() {
    let api = with_caches().await;
    let definition = api.client.get(&crds(), None, "caches.demo.io").await.unwrap();
    assert!(object::condition_is_true(&definition, "NamesAccepted"));
    assert!(object::condition_is_true(&definition, "Established"));
    assert_eq!(definition.str_at(&["spec", "names", "singular"]), Some("cache"));
    assert_eq!(definition.str_at(&["status", "acceptedNames", "listKind"]), Some("CacheList"));
    assert_eq!(definition.at(&["status", "storedVersions"]).unwrap().to_json(), r#"["v1"]"#);
}

#[tokio::test]
async fn a_watcher_sees_a_definition_become_established() {
    let api = Api::start();
    let mut stream = api.client.watch(&crds(), None, &WatchOptions::default()).await.unwrap();
    api.client.create(&crds(), None, cache_definition()).await.unwrap();
    let first = stream.next().await.unwrap();
    assert_eq!(first.kind, WatchEventKind::Added);
    assert!(!object::condition_is_true(&first.object, "Established"));
    let second = stream.next().await.unwrap();
    assert_eq!(second.kind, WatchEventKind::Modified);
    assert!(object::condition_is_true(&second.object, "Established"));
}

#[tokio::test]
async fn a_name_in_use_is_not_accepted_until_it_is_free() {
    let api = with_caches().await;
    let mut other = cache_definition();
    other.set(&["metadata", "name"], "stores.demo.io");
    other.set(&["spec", "names"], json!({"plural": "stores", "singular": "store", "kind": "Cache"}));
    api.client.create(&crds(), None, other).await.unwrap();
    let refused = api.client.get(&crds(), None, "stores.demo.io").await.unwrap();
    let condition = object::condition(&refused, "NamesAccepted").unwrap();
    assert_eq!(condition.str_at(&["reason"]), Some("ListKindConflict"));
    assert_eq!(condition.str_at(&["message"]), Some("\"CacheList\" is already in use"));
    assert_eq!(api.get("/apis/demo.io/v1/stores").await.code, 404);

    let mut stream = api.client.watch(&crds(), None, &WatchOptions::default()).await.unwrap();
    api.client.delete(&crds(), None, "caches.demo.io", &DeleteOptions::default()).await.unwrap();
    loop {
        let event = stream.next().await.unwrap();
        let name = object::name(&event.object);
        if name == "stores.demo.io" && object::condition_is_true(&event.object, "Established") {
            break;
        }
    }
    // The registry is changed before the next request is served.
    tokio::task::yield_now().await;
    assert_eq!(api.get("/apis/demo.io/v1/stores").await.code, 200);
}

#[tokio::test]
async fn a_watch_ends_with_its_definition() {
    let api = with_caches().await;
    api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    let mut stream = api.client.watch(&caches(), None, &WatchOptions::default()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().kind, WatchEventKind::Added);
    api.client.delete(&crds(), None, "caches.demo.io", &DeleteOptions::default()).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = stream.next().await {
        kinds.push(event.kind);
    }
    assert_eq!(kinds.last(), Some(&WatchEventKind::Deleted), "{kinds:?}");
}

#[tokio::test]
async fn deleting_a_definition_deletes_its_objects_first() {
    let api = with_caches().await;
    let mut held = cache("c");
    held.set(&["metadata", "finalizers"], vec!["demo.io/hold"]);
    api.client.create(&caches(), Some("default"), held).await.unwrap();
    api.client.create(&caches(), Some("default"), cache("d")).await.unwrap();
    let mut stream = api.client.watch(&crds(), None, &WatchOptions::default()).await.unwrap();
    let marked = api.client.delete(&crds(), None, "caches.demo.io", &DeleteOptions::default()).await.unwrap();
    assert!(object::has_finalizer(&marked, "customresourcecleanup.apiextensions.k8s.io"));
    assert!(object::condition_is_true(&marked, "Terminating"));

    // Reads are served while the objects go, new objects are not made.
    loop {
        let event = stream.next().await.unwrap();
        let condition = object::condition(&event.object, "Terminating");
        if condition.and_then(|condition| condition.str_at(&["reason"])) == Some("InstanceDeletionInProgress")
        {
            break;
        }
    }
    let refused = api.client.create(&caches(), Some("default"), cache("e")).await.unwrap_err();
    assert_eq!(
        refused.message,
        "caches.demo.io \"e\" is forbidden: create not allowed while custom resource definition is terminating"
    );
    let mut instances = api.client.watch(&caches(), None, &WatchOptions::default()).await.unwrap();
    while api.client.get(&caches(), Some("default"), "d").await.is_ok() {
        instances.next().await.unwrap();
    }
    assert!(
        object::deletion_timestamp(&api.client.get(&caches(), Some("default"), "c").await.unwrap()).is_some()
    );

    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.client.patch(&caches(), Some("default"), "c", patch, None).await.unwrap();
    loop {
        if stream.next().await.unwrap().kind == WatchEventKind::Deleted {
            break;
        }
    }
    while instances.next().await.is_some() {}
    assert_eq!(api.get("/apis/demo.io/v1/caches").await.code, 404);
    assert_eq!(api.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.demo.io").await.code, 404);
}

#[tokio::test]
async fn several_versions_show_the_same_objects() {
    let api = Api::start();
    let mut definition = cache_definition();
    let mut second = definition.items_at(&["spec", "versions"])[0].clone();
    second.set(&["name"], "v2");
    second.set(&["storage"], false);
    if let Some(versions) = definition.at_mut(&["spec", "versions"]).and_then(|value| value.as_array_mut()) {
        versions.push(second);
    }
    api.client.create(&crds(), None, definition).await.unwrap();
    let v2 = pilothouse_apiserver::Gvr::new("demo.io", "v2", "caches");
    let mut object = cache("c");
    object.set(&["apiVersion"], "demo.io/v2");
    let made = api.client.create(&v2, Some("default"), object).await.unwrap();
    assert_eq!(object::api_version(&made), "demo.io/v2");
    let read = api.client.get(&caches(), Some("default"), "c").await.unwrap();
    assert_eq!(object::api_version(&read), "demo.io/v1");
    assert_eq!(read.get("spec"), made.get("spec"));
    let list = api.client.list(&v2, Some("default"), &ListOptions::default()).await.unwrap();
    assert_eq!(object::api_version(&list.items[0]), "demo.io/v2");
}

#[tokio::test]
async fn a_version_that_is_not_served_is_not_found() {
    let api = with_caches().await;
    let mut definition = api.client.get(&crds(), None, "caches.demo.io").await.unwrap();
    let mut second = definition.items_at(&["spec", "versions"])[0].clone();
    second.set(&["name"], "v2");
    second.set(&["storage"], false);
    second.set(&["served"], false);
    if let Some(versions) = definition.at_mut(&["spec", "versions"]).and_then(|value| value.as_array_mut()) {
        versions.push(second);
    }
    api.client.update(&crds(), None, definition).await.unwrap();
    assert_eq!(api.get("/apis/demo.io/v2/caches").await.code, 404);
    assert_eq!(api.get("/apis/demo.io/v1/caches").await.code, 200);
}

#[tokio::test]
async fn a_conversion_webhook_that_fails_is_told() {
    let api = Api::start();
    let mut definition = cache_definition();
    let mut second = definition.items_at(&["spec", "versions"])[0].clone();
    second.set(&["name"], "v2");
    second.set(&["storage"], false);
    if let Some(versions) = definition.at_mut(&["spec", "versions"]).and_then(|value| value.as_array_mut()) {
        versions.push(second);
    }
    definition.set(
        &["spec", "conversion"],
        json!({"strategy": "Webhook", "webhook": {
            "clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"],
        }}),
    );
    api.client.create(&crds(), None, definition).await.unwrap();
    api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    let answer = api.get("/apis/demo.io/v2/namespaces/default/caches/c").await;
    assert_eq!(answer.code, 500);
    let expected = "conversion webhook for demo.io/v1, Kind=Cache failed: Post \"https://127.0.0.1:1/convert?timeout=30s\"";
    assert!(answer.message().contains(expected), "{}", answer.message());
}

#[tokio::test]
async fn a_deprecated_version_warns() {
    let api = Api::start();
    let mut definition = cache_definition();
    if let Some(version) = definition.at_mut(&["spec", "versions"]).and_then(|value| value.as_array_mut()) {
        version[0].set(&["deprecated"], true);
    }
    api.client.create(&crds(), None, definition).await.unwrap();
    let answer = api.get("/apis/demo.io/v1/caches").await;
    assert_eq!(answer.header("warning"), "299 - \"demo.io/v1 Cache is deprecated\"");
}

#[tokio::test]
async fn definitions_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let open = || pilothouse_apiserver::Store::open(folder.path(), Default::default()).unwrap();
    let start = |store| {
        let builder = pilothouse_apiserver::Server::builder().store(store);
        Api::with(builder.authorization(pilothouse_apiserver::Authorization::AlwaysAllow).start().unwrap())
    };
    let api = start(open());
    api.client.create(&crds(), None, cache_definition()).await.unwrap();
    api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    drop(api);
    let api = start(open());
    let read = api.client.get(&caches(), Some("default"), "c").await.unwrap();
    assert_eq!(read.i64_at(&["spec", "replicas"]), Some(1));
}

#[tokio::test]
async fn another_version_can_become_the_storage_version() {
    let api = with_caches().await;
    let mut definition = api.client.get(&crds(), None, "caches.demo.io").await.unwrap();
    let mut first = definition.items_at(&["spec", "versions"])[0].clone();
    let mut second = first.clone();
    first.set(&["storage"], false);
    second.set(&["name"], "v2");
    definition.set(&["spec", "versions"], vec![first, second]);
    let updated = api.client.update(&crds(), None, definition).await.unwrap();
    assert_eq!(updated.at(&["status", "storedVersions"]).unwrap().to_json(), r#"["v1","v2"]"#);
}

#[tokio::test]
async fn a_group_of_the_community_needs_an_approval() {
    let api = Api::start();
    let mut definition = cache_definition();
    definition.set(&["metadata", "name"], "caches.demo.k8s.io");
    definition.set(&["spec", "group"], "demo.k8s.io");
    definition.set(&["metadata", "annotations", "api-approved.kubernetes.io"], "unapproved, a test");
    api.client.create(&crds(), None, definition).await.unwrap();
    let stored = api.client.get(&crds(), None, "caches.demo.k8s.io").await.unwrap();
    let condition = object::condition(&stored, "KubernetesAPIApprovalPolicyConformant").unwrap();
    assert_eq!(
        (condition.str_at(&["status"]), condition.str_at(&["reason"])),
        (Some("False"), Some("UnapprovedAnnotation"))
    );
}

#[tokio::test]
async fn unknown_fields_of_a_custom_resource_are_pruned_and_defaults_filled_in() {
    let api = with_caches().await;
    let mut object = cache("c");
    object.set(&["spec", "unknown"], 1);
    let path = "/apis/demo.io/v1/namespaces/default/caches";
    let answer = api.post(path, &object).await;
    assert_eq!((answer.code, answer.header("warning")), (201, r#"299 - "unknown field \"spec.unknown\"""#));
    assert_eq!(answer.json().get("spec").unwrap().to_json(), r#"{"mode":"fast","replicas":1}"#);
    let strict = api.post(&format!("{path}?fieldValidation=Strict"), &object).await;
    assert_eq!(strict.code, 400);
    assert!(
        strict.message().ends_with("strict decoding error: unknown field \"spec.unknown\""),
        "{}",
        strict.message()
    );
}

#[tokio::test]
async fn a_custom_resource_is_validated_by_its_schema() {
    let api = with_caches().await;
    let mut object = cache("c");
    object.set(&["spec", "replicas"], 11);
    let answer = api.post("/apis/demo.io/v1/namespaces/default/caches", &object).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        "Cache.demo.io \"c\" is invalid: spec.replicas: Invalid value: 11: spec.replicas in body should be less than or \
         equal to 10"
    );
}

#[tokio::test]
async fn a_changed_schema_gives_its_defaults_to_stored_objects() {
    let api = with_caches().await;
    api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    let mut definition = api.client.get(&crds(), None, "caches.demo.io").await.unwrap();
    if let Some(versions) = definition.at_mut(&["spec", "versions"]).and_then(|value| value.as_array_mut()) {
        let size = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "size"];
        versions[0].set(&size, json!({"type": "string", "default": "small"}));
    }
    api.client.update(&crds(), None, definition).await.unwrap();
    let read = api.client.get(&caches(), Some("default"), "c").await.unwrap();
    assert_eq!(read.str_at(&["spec", "size"]), Some("small"));
}
