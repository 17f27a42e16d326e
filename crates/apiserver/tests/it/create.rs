//! Create.

use pilothouse_value::{json, object};

use crate::support::{Api, config_map, config_maps};

#[tokio::test]
async fn create_sets_what_only_the_server_knows() {
    let api = Api::start();
    let mut object = config_map("a");
    object.set(&["metadata", "uid"], "mine");
    object.set(&["metadata", "creationTimestamp"], "1999-01-01T00:00:00Z");
    let made = api.client.create(&config_maps(), Some("default"), object).await.unwrap();
    assert_ne!(object::uid(&made), "mine");
    assert_eq!(object::uid(&made).len(), 36);
    assert!(!made.str_at(&["metadata", "creationTimestamp"]).unwrap().starts_with("1999"));
    assert_eq!(object::namespace(&made), Some("default"));
    assert_eq!(object::generation(&made), 0, "a ConfigMap counts no generations");
    let read = api.client.get(&config_maps(), Some("default"), "a").await.unwrap();
    assert_eq!(read, made);
}

#[tokio::test]
async fn create_records_the_manager_of_the_fields() {
    let api = Api::start();
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let entry = &made.items_at(&["metadata", "managedFields"])[0];
    assert_eq!(entry.str_at(&["manager"]), Some("test"));
    assert_eq!(entry.str_at(&["operation"]), Some("Update"));
    assert_eq!(entry.at(&["fieldsV1"]).unwrap().to_json(), r#"{"f:data":{".":{},"f:a":{}}}"#);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let api = Api::start();
    assert_eq!(api.post("/api/v1/namespaces/default/configmaps", &config_map("a")).await.code, 201);
    let again = api.post("/api/v1/namespaces/default/configmaps", &config_map("a")).await;
    assert_eq!(again.code, 409);
    assert_eq!(again.message(), "configmaps \"a\" already exists");
    assert_eq!(again.json().str_at(&["reason"]), Some("AlreadyExists"));
}

#[tokio::test]
async fn names_are_generated() {
    let api = Api::start();
    let object = json!({"metadata": {"generateName": "web-"}});
    let made = api.client.create(&config_maps(), Some("default"), object).await.unwrap();
    let name = object::name(&made);
    assert!(name.starts_with("web-") && name.len() == 9, "{name}");
}

#[tokio::test]
async fn a_missing_namespace_is_not_found() {
    let api = Api::start();
    let answer = api.post("/api/v1/namespaces/nowhere/configmaps", &config_map("a")).await;
    assert_eq!((answer.code, answer.message().as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test]
async fn a_resource_version_is_refused() {
    let api = Api::start();
    let mut object = config_map("a");
    object.set(&["metadata", "resourceVersion"], "7");
    let answer = api.post("/api/v1/namespaces/default/configmaps", &object).await;
    assert_eq!(answer.code, 500);
    assert_eq!(answer.message(), "resourceVersion should not be set on objects to be created");
}
