//! Discovery, version, health.

use pilothouse_value::Value;

use crate::support::{Api, with_caches};

const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

fn find<'a>(list: &'a [Value], key: &str, value: &str) -> &'a Value {
    list.iter().find(|item| item.str_at(&[key]) == Some(value)).unwrap()
}

#[tokio::test]
async fn the_core_group_lists_its_resources() {
    let api = Api::start();
    let list = api.get("/api/v1").await.json();
    assert_eq!(list.str_at(&["groupVersion"]), Some("v1"));
    let pods = find(list.items_at(&["resources"]), "name", "pods");
    assert_eq!(pods.items_at(&["shortNames"])[0].as_str(), Some("po"));
    let eviction = find(list.items_at(&["resources"]), "name", "pods/eviction");
    assert_eq!(eviction.str_at(&["group"]), Some("policy"));
}

#[tokio::test]
async fn groups_name_their_preferred_version() {
    let api = Api::start();
    let groups = api.get("/apis").await.json();
    let apps = find(groups.items_at(&["groups"]), "name", "apps");
    assert_eq!(apps.str_at(&["preferredVersion", "groupVersion"]), Some("apps/v1"));
    assert_eq!(api.get("/apis/apps").await.json().str_at(&["kind"]), Some("APIGroup"));
    assert_eq!(api.get("/apis/nothing").await.code, 404);
}

#[tokio::test]
async fn everything_comes_in_one_document() {
    let api = with_caches().await;
    let answer = api.send("GET", "/apis", &[("accept", AGGREGATED)], "").await;
    assert_eq!(
        answer.header("content-type"),
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    let document = answer.json();
    let groups = document.items_at(&["items"]);
    let group = groups.iter().find(|group| group.str_at(&["metadata", "name"]) == Some("demo.io")).unwrap();
    let caches = find(group.items_at(&["versions"])[0].items_at(&["resources"]), "resource", "caches");
    assert_eq!(caches.str_at(&["responseKind", "kind"]), Some("Cache"));
    assert_eq!(caches.items_at(&["subresources"]).len(), 2);
    let tag = answer.header("etag").to_owned();
    let again = api.send("GET", "/apis", &[("accept", AGGREGATED), ("if-none-match", &tag)], "").await;
    assert_eq!((again.code, again.text.as_str()), (304, ""));
}

#[tokio::test]
async fn a_definition_is_announced_as_an_api_service() {
    let api = with_caches().await;
    let service = api.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.demo.io").await;
    assert_eq!(service.code, 200);
    assert_eq!(api.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps").await.code, 200);
}

#[tokio::test]
async fn the_version_is_told() {
    let api = Api::start();
    let version = api.get("/version").await.json();
    assert_eq!(version.str_at(&["gitVersion"]), Some("v1.37.2"));
    assert_eq!((version.str_at(&["major"]), version.str_at(&["minor"])), (Some("1"), Some("37")));
}

#[tokio::test]
async fn health_is_told() {
    let api = Api::start();
    for page in ["healthz", "livez", "readyz"] {
        assert_eq!(api.get(&format!("/{page}")).await.text, "ok");
        let verbose = api.get(&format!("/{page}?verbose")).await.text;
        assert!(
            verbose.contains("[+]ping ok\n") && verbose.ends_with(&format!("{page} check passed\n")),
            "{verbose}"
        );
    }
    assert_eq!(api.get("/healthz/ping").await.text, "ok");
    assert_eq!(api.get("/healthz/nothing").await.code, 404);
}
