//! Answers in protobuf say what answers in JSON say. That the bytes are a real server's is shown where they are made.

use http_body_util::BodyExt as _;
use pilothouse_schema::proto;
use pilothouse_value::{Value, json, parse};

use crate::support::{Api, config_map, config_maps, deployment, pod, with_caches};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Code, content type and body of an answer.
async fn ask(api: &Api, path: &str, accept: &str) -> (u16, String, Vec<u8>) {
    let (parts, body) = api.open("GET", path, &[("accept", accept)], "").await.into_parts();
    let content_type = parts.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    (parts.status.as_u16(), content_type.to_owned(), body.collect().await.unwrap().to_bytes().to_vec())
}

/// Asks twice and compares.
async fn same(api: &Api, path: &str, parameters: &str) -> Value {
    let (code, _, json) = ask(api, path, &format!("application/json{parameters}")).await;
    let json = parse::json(&json).unwrap().value;
    let (again, content_type, bytes) = ask(api, path, &format!("{PROTOBUF}{parameters}")).await;
    assert_eq!((code, again, content_type.split(';').next()), (code, code, Some(PROTOBUF)), "{path}");
    assert!(proto::encode(&json).is_some_and(|expected| expected == bytes), "{path}{parameters}: {json}");
    json
}

#[tokio::test]
async fn objects_lists_metadata_and_discovery_have_a_protobuf_form() {
    let api = Api::start();
    api.post(MAPS, &config_map("a")).await;
    api.post("/api/v1/namespaces/default/pods", &pod("p")).await;
    api.post("/apis/apps/v1/namespaces/default/deployments", &deployment("d")).await;
    let listed = api.get("/apis/apiregistration.k8s.io/v1/apiservices").await.json();
    let mut resources = 0;
    for service in listed.items_at(&["items"]) {
        let (group, version) = (
            service.str_at(&["spec", "group"]).unwrap_or_default(),
            service.str_at(&["spec", "version"]).unwrap(),
        );
        let place = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/{version}") };
        let discovered = same(&api, &place, "").await;
        for resource in discovered.items_at(&["resources"]) {
            let (name, verbs) = (resource.str_at(&["name"]).unwrap(), resource.items_at(&["verbs"]));
            if verbs.iter().any(|verb| verb.as_str() == Some("list")) {
                same(&api, &format!("{place}/{name}"), "").await;
                same(&api, &format!("{place}/{name}"), ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
                    .await;
                resources += 1;
            }
        }
    }
    assert!(resources > 50, "{resources} resources");
    for path in [&format!("{MAPS}/a"), "/api/v1/namespaces/default/pods/p", "/api", "/apis", "/apis/apps"] {
        same(&api, path, "").await;
    }
    same(&api, "/apis/apps/v1/namespaces/default/deployments/d/scale", "").await;
    same(&api, "/apis", ";as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2").await;
    same(&api, &format!("{MAPS}/missing"), "").await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_in_protobuf_is_a_stream_of_frames() {
    let api = Api::start();
    for name in ["a", "b"] {
        api.client.create(&config_maps(), Some("default"), config_map(name)).await.unwrap();
    }
    let path = format!("{MAPS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=b");
    for parameters in ["", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"] {
        let (_, _, lines) = ask(&api, &path, &format!("application/json{parameters}")).await;
        let events = String::from_utf8(lines).unwrap();
        let mut expected = Vec::new();
        for line in events.lines() {
            let event = parse::json(line.as_bytes()).unwrap().value;
            let object = event.get("object").unwrap();
            expected.extend(proto::encode_event(event.str_at(&["type"]).unwrap(), object).unwrap());
        }
        let (code, content_type, frames) =
            ask(&api, &path, &format!("{PROTOBUF}{parameters},application/json")).await;
        assert_eq!((code, content_type), (200, format!("{PROTOBUF};stream=watch")));
        assert!(frames == expected && !frames.is_empty(), "{parameters}");
    }
}

#[tokio::test]
async fn defined_kinds_have_no_protobuf_form_but_their_metadata_has() {
    let api = with_caches().await;
    let path = "/apis/demo.io/v1/namespaces/default/caches";
    let (code, content_type, body) = ask(&api, path, PROTOBUF).await;
    assert_eq!((code, content_type.as_str()), (406, PROTOBUF));
    let (_, status) = proto::decode(&body).unwrap();
    assert!(status.str_at(&["message"]).unwrap().starts_with("only the following media types are accepted"));
    assert_eq!(ask(&api, path, &format!("{PROTOBUF},application/json")).await.1, "application/json");
    api.post(path, &json!({"apiVersion": "demo.io/v1", "kind": "Cache", "metadata": {"name": "c"}})).await;
    same(&api, path, ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").await;
    same(&api, &format!("{path}/c"), ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1").await;
}
