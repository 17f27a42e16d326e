//! Get and list.

use pilothouse_apiserver::ListOptions;
use pilothouse_value::{Value, object};

use crate::support::{Api, config_map, config_maps, namespaces, pod, pods};

async fn with_maps(names: &[&str]) -> Api {
    let api = Api::start();
    for name in names {
        let mut map = config_map(name);
        map.set(&["metadata", "labels", "name"], *name);
        api.client.create(&config_maps(), Some("default"), map).await.unwrap();
    }
    api
}

fn names(items: &[std::sync::Arc<Value>]) -> Vec<&str> {
    items.iter().map(|item| object::name(item)).collect()
}

#[tokio::test]
async fn a_missing_object_is_not_found() {
    let api = Api::start();
    let answer = api.get("/api/v1/namespaces/default/configmaps/x").await;
    assert_eq!((answer.code, answer.message().as_str()), (404, "configmaps \"x\" not found"));
    assert_eq!(answer.json().at(&["details"]).unwrap().to_json(), r#"{"kind":"configmaps","name":"x"}"#);
}

#[tokio::test]
async fn lists_are_in_the_order_of_names() {
    let api = with_maps(&["c", "a", "b"]).await;
    let list = api.client.list(&config_maps(), Some("default"), &ListOptions::default()).await.unwrap();
    assert_eq!(names(&list.items), ["a", "b", "c"]);
}

#[tokio::test]
async fn items_of_a_built_in_list_do_not_repeat_their_kind() {
    let api = with_maps(&["a"]).await;
    let list = api.get("/api/v1/namespaces/default/configmaps").await.json();
    assert_eq!(list.str_at(&["kind"]), Some("ConfigMapList"));
    let item = &list.items_at(&["items"])[0];
    assert_eq!((item.get("kind"), item.get("apiVersion")), (None, None));
    assert_eq!(object::name(item), "a");
}

#[tokio::test]
async fn an_empty_list_has_items() {
    let api = Api::start();
    let answer = api.get("/api/v1/pods").await;
    assert!(answer.text.contains(r#""items":[]"#), "{}", answer.text);
}

#[tokio::test]
async fn labels_select() {
    let api = with_maps(&["a", "b", "c"]).await;
    for (selector, expected) in [
        ("name=a", vec!["a"]),
        ("name in (a,c)", vec!["a", "c"]),
        ("name!=a", vec!["b", "c"]),
        ("!name", vec![]),
    ] {
        let options = ListOptions { label_selector: Some(selector.into()), ..Default::default() };
        let list = api.client.list(&config_maps(), Some("default"), &options).await.unwrap();
        assert_eq!(names(&list.items), expected, "{selector}");
    }
}

#[tokio::test]
async fn fields_select() {
    let api = Api::start();
    api.client.create(&pods(), Some("default"), pod("a")).await.unwrap();
    let mut placed = pod("b");
    placed.set(&["spec", "nodeName"], "n1");
    api.client.create(&pods(), Some("default"), placed).await.unwrap();
    for (selector, expected) in [
        ("metadata.name=a", vec!["a"]),
        ("spec.nodeName=n1", vec!["b"]),
        ("spec.nodeName=", vec!["a"]),
        ("status.phase=Pending,metadata.name!=a", vec!["b"]),
    ] {
        let options = ListOptions { field_selector: Some(selector.into()), ..Default::default() };
        let list = api.client.list(&pods(), None, &options).await.unwrap();
        assert_eq!(names(&list.items), expected, "{selector}");
    }
}

#[tokio::test]
async fn an_unknown_field_cannot_be_selected_by() {
    let api = Api::start();
    let pod = api.get("/api/v1/pods?fieldSelector=spec.nothing%3Da").await;
    assert_eq!((pod.code, pod.message().as_str()), (400, "field label not supported: spec.nothing"));
    let map = api.get("/api/v1/configmaps?fieldSelector=data.a%3D1").await;
    assert_eq!(map.code, 400);
    assert_eq!(
        map.message(),
        "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
}

#[tokio::test]
async fn pages_show_one_version() {
    let api = with_maps(&["a", "b", "c", "d", "e"]).await;
    let first = api
        .client
        .list(&config_maps(), Some("default"), &ListOptions { limit: 2, ..Default::default() })
        .await
        .unwrap();
    assert_eq!(names(&first.items), ["a", "b"]);
    api.client.create(&config_maps(), Some("default"), config_map("bb")).await.unwrap();
    let next = ListOptions { limit: 2, continue_token: first.continue_token.clone(), ..Default::default() };
    let second = api.client.list(&config_maps(), Some("default"), &next).await.unwrap();
    assert_eq!(names(&second.items), ["c", "d"], "what came later is not shown");
    assert_eq!(second.resource_version, first.resource_version);
    let last = ListOptions { limit: 2, continue_token: second.continue_token, ..Default::default() };
    let third = api.client.list(&config_maps(), Some("default"), &last).await.unwrap();
    assert_eq!((names(&third.items), third.continue_token), (vec!["e"], None));
}

#[tokio::test]
async fn the_rest_of_a_list_is_counted() {
    let api = with_maps(&["a", "b", "c"]).await;
    let list = api.get("/api/v1/namespaces/default/configmaps?limit=1").await.json();
    assert_eq!(list.i64_at(&["metadata", "remainingItemCount"]), Some(2));
}

#[tokio::test]
async fn a_broken_token_is_refused() {
    let api = Api::start();
    let answer = api.get("/api/v1/pods?limit=1&continue=nonsense").await;
    assert_eq!(answer.code, 400);
    assert!(
        answer.message().starts_with("invalid continue token: continue key is not valid"),
        "{}",
        answer.message()
    );
}

#[tokio::test]
async fn an_expired_token_tells_how_to_go_on() {
    let server = pilothouse_apiserver::Server::builder()
        .authorization(pilothouse_apiserver::Authorization::AlwaysAllow)
        .history(3)
        .start()
        .unwrap();
    let api = Api::with(server);
    for name in ["a", "b", "c"] {
        api.client.create(&config_maps(), Some("default"), config_map(name)).await.unwrap();
    }
    let token = api.get("/api/v1/namespaces/default/configmaps?limit=1").await.json();
    let token = token.str_at(&["metadata", "continue"]).unwrap().to_owned();
    for name in ["d", "e", "f", "g"] {
        api.client.create(&config_maps(), Some("default"), config_map(name)).await.unwrap();
    }
    let expired = api.get(&format!("/api/v1/namespaces/default/configmaps?limit=1&continue={token}")).await;
    assert_eq!((expired.code, expired.json().str_at(&["reason"])), (410, Some("Expired")));
    let token = expired.json().str_at(&["metadata", "continue"]).unwrap().to_owned();
    let rest = api.get(&format!("/api/v1/namespaces/default/configmaps?continue={token}")).await.json();
    let names: Vec<&str> = rest.items_at(&["items"]).iter().map(object::name).collect();
    assert_eq!(names, ["b", "c", "d", "e", "f", "g"]);
}

#[tokio::test]
async fn a_list_can_be_read_at_a_version() {
    let api = with_maps(&["a"]).await;
    let before = api.client.list(&config_maps(), Some("default"), &ListOptions::default()).await.unwrap();
    api.client.create(&config_maps(), Some("default"), config_map("b")).await.unwrap();
    let options = ListOptions {
        resource_version: Some(before.resource_version.clone()),
        resource_version_match: Some("Exact".into()),
        ..Default::default()
    };
    let exact = api.client.list(&config_maps(), Some("default"), &options).await.unwrap();
    assert_eq!((names(&exact.items), exact.resource_version), (vec!["a"], before.resource_version));
}

#[tokio::test]
async fn rules_of_resource_version_match_are_checked() {
    let api = Api::start();
    let answer = api.get("/api/v1/pods?resourceVersionMatch=Exact").await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden \
         unless resourceVersion is provided"
    );
}

#[tokio::test(start_paused = true)]
async fn a_version_of_the_future_times_out() {
    let api = Api::start();
    let answer = api.get("/api/v1/namespaces/default/configmaps?resourceVersion=999999").await;
    assert_eq!((answer.code, answer.json().str_at(&["reason"])), (504, Some("Timeout")));
    assert!(answer.message().starts_with("Timeout: Too large resource version: 999999, current: "));
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn every_cluster_has_its_namespaces() {
    let api = Api::start();
    let list = api.client.list(&namespaces(), None, &ListOptions::default()).await.unwrap();
    assert_eq!(names(&list.items), ["default", "kube-node-lease", "kube-public", "kube-system"]);
}
