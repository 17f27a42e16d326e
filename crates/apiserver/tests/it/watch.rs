//! Watch.

use http_body_util::BodyExt as _;
use pilothouse_apiserver::{ListOptions, Patch, WatchEventKind, WatchOptions, WatchStream};
use pilothouse_value::{json, object, parse};

use crate::support::{Api, config_map, config_maps};

async fn event(stream: &mut WatchStream) -> (WatchEventKind, String) {
    let event = stream.next().await.unwrap();
    (event.kind, object::name(&event.object).to_owned())
}

async fn label(api: &Api, name: &str, value: &str) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"app": value}}}));
    api.client.patch(&config_maps(), Some("default"), name, patch, None).await.unwrap();
}

#[tokio::test]
async fn a_watch_without_a_version_begins_with_what_is_there() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let mut stream =
        api.client.watch(&config_maps(), Some("default"), &WatchOptions::default()).await.unwrap();
    assert_eq!(event(&mut stream).await, (WatchEventKind::Added, "a".into()));
    label(&api, "a", "x").await;
    assert_eq!(event(&mut stream).await, (WatchEventKind::Modified, "a".into()));
    api.delete("/api/v1/namespaces/default/configmaps/a").await;
    assert_eq!(event(&mut stream).await, (WatchEventKind::Deleted, "a".into()));
}

#[tokio::test]
async fn a_watch_goes_on_from_a_list() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let list = api.client.list(&config_maps(), Some("default"), &ListOptions::default()).await.unwrap();
    api.client.create(&config_maps(), Some("default"), config_map("b")).await.unwrap();
    let options = WatchOptions { resource_version: Some(list.resource_version), ..Default::default() };
    let mut stream = api.client.watch(&config_maps(), Some("default"), &options).await.unwrap();
    assert_eq!(event(&mut stream).await, (WatchEventKind::Added, "b".into()));
}

#[tokio::test]
async fn selectors_turn_changes_into_arrivals_and_departures() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let options = WatchOptions { label_selector: Some("app=x".into()), ..Default::default() };
    let mut stream = api.client.watch(&config_maps(), Some("default"), &options).await.unwrap();
    label(&api, "a", "x").await;
    assert_eq!(event(&mut stream).await, (WatchEventKind::Added, "a".into()));
    label(&api, "a", "y").await;
    let gone = stream.next().await.unwrap();
    assert_eq!(gone.kind, WatchEventKind::Deleted);
    assert_eq!(object::label(&gone.object, "app"), Some("x"), "the old content");
    let now = api.client.get(&config_maps(), Some("default"), "a").await.unwrap();
    assert_eq!(object::resource_version(&gone.object), object::resource_version(&now), "at the new version");
}

#[tokio::test]
async fn other_namespaces_are_not_seen() {
    let api = Api::start();
    let mut stream =
        api.client.watch(&config_maps(), Some("default"), &WatchOptions::default()).await.unwrap();
    api.client.create(&config_maps(), Some("kube-system"), config_map("a")).await.unwrap();
    api.client.create(&config_maps(), Some("default"), config_map("b")).await.unwrap();
    assert_eq!(event(&mut stream).await, (WatchEventKind::Added, "b".into()));
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps?watch=true&sendInitialEvents=true&\
                resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let response = api.open("GET", path, &[], "").await;
    let bytes = response.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let lines: Vec<_> = text.lines().map(|line| parse::json(line.as_bytes()).unwrap().value).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0].str_at(&["type"]), Some("ADDED"));
    assert_eq!(lines[1].str_at(&["type"]), Some("BOOKMARK"));
    let annotation = ["object", "metadata", "annotations", "k8s.io/initial-events-end"];
    assert_eq!(lines[1].str_at(&annotation), Some("true"));
    assert_eq!(lines[1].str_at(&["object", "kind"]), Some("ConfigMap"));
}

#[tokio::test]
async fn initial_events_need_a_match_rule() {
    let api = Api::start();
    let answer = api.get("/api/v1/pods?watch=1&sendInitialEvents=true").await;
    assert_eq!(answer.code, 422);
    assert!(
        answer.message().contains("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        "{}",
        answer.message()
    );
    assert_eq!(
        api.get("/api/v1/pods?sendInitialEvents=true").await.code,
        422,
        "a list has no initial events"
    );
}

#[tokio::test]
async fn a_version_that_left_the_history_is_an_error_event() {
    let server = pilothouse_apiserver::Server::builder()
        .authorization(pilothouse_apiserver::Authorization::AlwaysAllow)
        .history(2)
        .start()
        .unwrap();
    let api = Api::with(server);
    let options = WatchOptions { resource_version: Some("2".into()), ..Default::default() };
    let mut stream = api.client.watch(&config_maps(), None, &options).await.unwrap();
    let event = stream.next().await.unwrap();
    assert_eq!(event.kind, WatchEventKind::Error);
    assert_eq!(
        (event.object.i64_at(&["code"]), event.object.str_at(&["reason"])),
        (Some(410), Some("Expired"))
    );
    assert!(event.object.str_at(&["message"]).unwrap().starts_with("too old resource version: 2 ("));
    assert!(stream.next().await.is_none(), "the watch is over");
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_timeout() {
    let api = Api::start();
    let options = WatchOptions {
        resource_version: Some("1".into()),
        timeout: Some(std::time::Duration::from_secs(5)),
        ..Default::default()
    };
    let mut stream = api.client.watch(&config_maps(), Some("default"), &options).await.unwrap();
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_quiet_watch_sends_bookmarks() {
    let api = Api::start();
    let options = WatchOptions { allow_bookmarks: true, ..Default::default() };
    let mut stream = api.client.watch(&config_maps(), Some("default"), &options).await.unwrap();
    let version = api.server.store().revision().to_string();
    let bookmark = stream.next().await.unwrap();
    assert_eq!(bookmark.kind, WatchEventKind::Bookmark);
    assert_eq!(object::resource_version(&bookmark.object), version);
}

#[tokio::test]
async fn a_watch_ends_with_the_server() {
    let api = Api::start();
    let mut stream =
        api.client.watch(&config_maps(), Some("default"), &WatchOptions::default()).await.unwrap();
    api.server.stop();
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn the_old_watch_prefix_is_served() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let response = api.open("GET", "/api/v1/watch/namespaces/default/configmaps", &[], "").await;
    let bytes = response.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8(bytes.to_vec()).unwrap().starts_with(r#"{"type":"ADDED","object":{"#));
}
