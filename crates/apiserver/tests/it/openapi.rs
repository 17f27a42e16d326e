//! OpenAPI: what is published, when, and with which headers, next to what a real kube-apiserver 1.37.2 said
//! (`conformance/recorded/openapi`). That the built-in documents are right is the schema crate's affair.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use http_body_util::BodyExt as _;
use pilothouse_value::{Value, json, parse};
use sha2::{Digest as _, Sha256};

use crate::recorded::{corpus, document, recorded};
use crate::support::{Answer, Api};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V3: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// An answer's headers and its body, whatever it is.
async fn fetch(
    api: &Api,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, http::HeaderMap, Vec<u8>) {
    let (parts, body) = api.open(method, path, headers, "").await.into_parts();
    let mut bytes = body.collect().await.unwrap().to_bytes().to_vec();
    if parts.headers.get("content-encoding").is_some_and(|encoding| encoding == "gzip") {
        let mut large = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut large).unwrap();
        bytes = large;
    }
    (parts.status.as_u16(), parts.headers, bytes)
}

#[tokio::test]
async fn parts_of_a_document_are_served_to_those_who_know_which_document() {
    const PATH: &str = "/openapi/v3/apis/apps/v1";
    let api = Api::start();
    let (code, head, whole) = fetch(&api, "GET", PATH, &[]).await;
    assert_eq!((code, head["accept-ranges"].to_str().unwrap()), (200, "bytes"));
    let tag = head["etag"].to_str().unwrap();

    let (code, head, part) = fetch(&api, "GET", PATH, &[("range", "bytes=1-9"), ("if-range", tag)]).await;
    let place = format!("bytes 1-9/{}", whole.len());
    assert_eq!((code, head["content-range"].to_str().unwrap()), (206, place.as_str()));
    assert_eq!(part, whole[1..10]);
    let (code, _, all) = fetch(&api, "GET", PATH, &[("range", "bytes=1-9"), ("if-range", "\"old\"")]).await;
    assert_eq!((code, all.len()), (200, whole.len()));

    let (code, head, parts) = fetch(&api, "GET", PATH, &[("range", "bytes=0-0,-1")]).await;
    let kind = head["content-type"].to_str().unwrap();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let size = whole.len();
    let part = |at: usize| {
        format!(
            "--{boundary}\r\nContent-Range: bytes {at}-{at}/{size}\r\nContent-Type: application/json\r\n\r\n"
        )
    };
    let expected = format!("{}{{\r\n{}}}\r\n--{boundary}--\r\n", part(0), part(size - 1));
    assert_eq!((code, String::from_utf8(parts).unwrap()), (206, expected));

    let beyond = format!("bytes={size}-");
    let (code, head, why) = fetch(&api, "GET", PATH, &[("range", &beyond)]).await;
    assert_eq!((code, head["content-range"].to_str().unwrap()), (416, format!("bytes */{size}").as_str()));
    assert_eq!(why, b"invalid range: failed to overlap\n");
    assert_eq!(fetch(&api, "GET", PATH, &[("range", "lines=1")]).await.0, 416);
    assert_eq!(fetch(&api, "GET", PATH, &[("if-match", "\"old\"")]).await.0, 412);
    assert_eq!(fetch(&api, "PUT", PATH, &[("if-none-match", tag)]).await.0, 412);
}

#[tokio::test]
async fn documents_are_answered_with_the_codes_and_headers_of_a_real_server() {
    let text = std::fs::read(folder().join("recorded/openapi/answers.json")).unwrap();
    let requests = parse::json(&text).unwrap().value;
    let api = Api::start();
    let mut differed = Vec::new();
    for request in requests.as_array().unwrap() {
        let text = |key: &str| request.str_at(&[key]).unwrap_or_default();
        let headers: Vec<(&str, &str)> = request
            .get("headers")
            .and_then(Value::as_object)
            .unwrap()
            .iter()
            .map(|(name, value)| (name, value.as_str().unwrap()))
            .collect();
        let (code, ours, body) = fetch(&api, text("method"), text("path"), &headers).await;
        let mut said = Value::object();
        for name in [
            "Content-Type",
            "Etag",
            "Vary",
            "Cache-Control",
            "Location",
            "Content-Encoding",
            "Last-Modified",
            "Expires",
        ] {
            let values: Vec<&str> = ours.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
            if !values.is_empty() {
                let is_time = matches!(name, "Last-Modified" | "Expires");
                said.set(&[name], if is_time { "TIME".to_owned() } else { values.join(", ") });
            }
        }
        let mut own = json!({"code": i64::from(code), "said": said});
        if !body.is_empty() {
            own.set(&["body"], digest(&body));
        }
        let mut real = request.clone();
        let asked =
            format!("{} {} {}", text("method"), text("path"), request.get("headers").unwrap().to_json());
        ["method", "path", "headers"].iter().for_each(|key| drop(real.take(&[key])));
        if own != real {
            differed.push(format!("{asked}\n  real {}\n  ours {}", real.to_json(), own.to_json()));
        }
    }
    assert!(differed.is_empty(), "{}", differed.join("\n"));
}

#[tokio::test]
async fn documents_of_definitions_are_those_of_a_real_server() {
    let text = std::fs::read_to_string(folder().join("recorded/openapi/crds.txt")).unwrap();
    let real: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let api = Api::start();
    let sources = corpus().join("crds/kanister");
    let record = recorded("kanister");
    let mut texts: Vec<String> = record
        .get("crds")
        .and_then(Value::as_object)
        .unwrap()
        .keys()
        .map(|key| document(&sources, key))
        .collect();
    texts.push(std::fs::read_to_string(folder().join("openapi/zoo.json")).unwrap());
    for text in texts {
        let created = api.send("POST", DEFINITIONS, &[("content-type", "application/yaml")], &text).await;
        assert_eq!(created.code, 201, "{}", created.text);
    }
    for path in ["cr.kanister.io/v1alpha1", "zoo.example.com/v1", "zoo.example.com/v2", "zoo.example.com/v4"]
    {
        let path = format!("openapi/v3/apis/{path}");
        let mut ours = Vec::new();
        for accept in ["application/json", V3] {
            let (code, _, body) = fetch(&api, "GET", &format!("/{path}"), &[("accept", accept)]).await;
            assert_eq!(code, 200, "{path}");
            ours.push(digest(&body));
        }
        assert_eq!(ours.join(" "), real[path.as_str()], "{path}");
    }
}

fn webs(versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "webs.demo.dev"},
        "spec": {
            "group": "demo.dev", "scope": "Namespaced",
            "names": {"plural": "webs", "singular": "web", "kind": "Web", "listKind": "WebList"},
            "versions": versions,
        },
    })
}

fn version(name: &str, served: bool, field: &str) -> Value {
    json!({
        "name": name, "served": served, "storage": name == "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {field: {"type": "string"}}}}}},
    })
}

async fn swagger(api: &Api) -> (String, Value) {
    let answer = api.get("/openapi/v2").await;
    (answer.header("etag").to_owned(), answer.json())
}

async fn published(api: &Api, path: &str) -> Option<Answer> {
    let index = api.get("/openapi/v3").await.json();
    let url = index.str_at(&["paths", path, "serverRelativeURL"])?.to_owned();
    Some(api.get(&url).await)
}

/// Waits until the clean-up behind a deleted definition is done.
async fn gone(api: &Api, path: &str) {
    let wait = async {
        while api.get(path).await.code != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(120), wait).await.unwrap();
}

#[tokio::test]
async fn a_definition_is_published_when_its_create_returns_and_gone_with_it() {
    let api = Api::start();
    let (before, _) = swagger(&api).await;
    let definition = webs(json!([version("v1", true, "color"), version("v2", false, "size")]));
    assert_eq!(api.post(DEFINITIONS, &definition).await.code, 201);
    let field = ["definitions", "dev.demo.v1.Web", "properties", "spec", "properties", "color", "type"];
    let (with_webs, document) = swagger(&api).await;
    assert_ne!(before, with_webs);
    assert_eq!(document.str_at(&field), Some("string"));
    assert_eq!(document.at(&["definitions", "dev.demo.v2.Web"]), None, "a version that is not served");
    let first = published(&api, "apis/demo.dev/v1").await.unwrap();
    assert_eq!(first.header("cache-control"), "public, immutable");
    assert!(published(&api, "apis/demo.dev/v2").await.is_none());
    assert!(published(&api, "apis/demo.dev").await.is_none(), "groups of custom resources have no document");

    let path = format!("{DEFINITIONS}/webs.demo.dev");
    let mut definition = api.get(&path).await.json();
    definition.set(&["spec", "versions"], json!([version("v1", true, "shape"), version("v2", true, "size")]));
    assert_eq!(api.put(&path, &definition).await.code, 200);
    let second = published(&api, "apis/demo.dev/v1").await.unwrap();
    assert_ne!(first.header("etag"), second.header("etag"));
    let shape = ["components", "schemas", "dev.demo.v1.Web", "properties", "spec", "properties", "shape"];
    assert!(second.json().at(&shape).is_some());
    assert!(published(&api, "apis/demo.dev/v2").await.is_some());
    let old = format!("/openapi/v3/apis/demo.dev/v1?hash={}", first.header("etag").trim_matches('"'));
    assert_eq!(api.get(&old).await.code, 301);

    assert_eq!(api.delete(&path).await.code, 200);
    gone(&api, &path).await;
    assert!(published(&api, "apis/demo.dev/v1").await.is_none());
    assert_eq!(api.get("/openapi/v3/apis/demo.dev/v1").await.code, 404);
    assert_eq!(swagger(&api).await.0, before);
}

#[tokio::test]
async fn a_document_is_kept_while_other_definitions_change() {
    let api = Api::start();
    assert_eq!(api.post(DEFINITIONS, &webs(json!([version("v1", true, "color")]))).await.code, 201);
    let first = published(&api, "apis/demo.dev/v1").await.unwrap();
    let mut other = webs(json!([version("v1", true, "color")]));
    other.set(&["metadata", "name"], "nets.else.dev");
    other.set(&["spec", "group"], "else.dev");
    other.set(&["spec", "names"], json!({"plural": "nets", "singular": "net", "kind": "Net"}));
    assert_eq!(api.post(DEFINITIONS, &other).await.code, 201);
    let second = published(&api, "apis/demo.dev/v1").await.unwrap();
    assert_eq!(first.header("etag"), second.header("etag"));
    assert_eq!(first.header("last-modified"), second.header("last-modified"));
    assert!(published(&api, "apis/else.dev/v1").await.is_some());
}

/// Clients keep the index and ask whether it changed since the second they got it; a definition of that second is in it.
#[tokio::test]
async fn an_index_from_the_second_of_a_change_is_not_taken_for_the_newest() {
    let api = Api::start();
    let since = api.get("/openapi/v3").await.header("last-modified").to_owned();
    assert_eq!(api.post(DEFINITIONS, &webs(json!([version("v1", true, "color")]))).await.code, 201);
    let after = api.send("GET", "/openapi/v3", &[("if-modified-since", &since)], "").await;
    assert_eq!(after.code, 200);
    assert!(after.json().at(&["paths", "apis/demo.dev/v1"]).is_some());
}
