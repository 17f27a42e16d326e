//! The form of requests and answers.

use pilothouse_value::json;

use crate::support::{Api, config_map, config_maps, pod, pods, with_caches};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let api = Api::start();
    for path in ["/nothing", "/apis/nothing/v1/things"] {
        let answer = api.get(path).await;
        assert_eq!((answer.code, answer.text.as_str()), (404, "404 page not found\n"), "{path}");
    }
    for path in ["/api/v1/things", "/apis/apps/v2/things", "/api/v1/namespaces/default/pods/p/nothing"] {
        let answer = api.get(path).await;
        assert_eq!(answer.code, 404, "{path}");
        assert_eq!(answer.message(), "the server could not find the requested resource", "{path}");
    }
}

#[tokio::test]
async fn yaml_is_read_and_written() {
    let api = Api::start();
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: \"on\"\n";
    let headers = [("content-type", "application/yaml"), ("accept", "application/yaml")];
    let answer = api.send("POST", MAPS, &headers, yaml).await;
    assert_eq!((answer.code, answer.header("content-type")), (201, "application/yaml"));
    let back = pilothouse_value::parse::yaml(&answer.text).unwrap().value;
    assert_eq!(back.str_at(&["data", "k"]), Some("on"));
}

#[tokio::test]
async fn protobuf_is_read() {
    let api = Api::start();
    let request = ::http::Request::post("/api/v1/namespaces")
        .header("content-type", "application/vnd.kubernetes.protobuf")
        .body(http_body_util::Full::new(bytes::Bytes::from(namespace_in_protobuf("n"))))
        .unwrap();
    let response = tower::ServiceExt::oneshot(api.service(), request).await.unwrap();
    assert_eq!(response.status().as_u16(), 201);
    assert_eq!(api.get("/api/v1/namespaces/n").await.code, 200);
}

/// `runtime.Unknown` around a `Namespace` that has only a name.
fn namespace_in_protobuf(name: &str) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend_from_slice(bytes);
        out
    };
    let raw = field(1, &field(1, name.as_bytes()));
    let kind = [field(1, b"v1"), field(2, b"Namespace")].concat();
    [b"k8s\0".to_vec(), field(1, &kind), field(2, &raw)].concat()
}

#[tokio::test]
async fn an_unknown_content_type_is_unsupported() {
    let api = Api::start();
    let answer = api.send("POST", MAPS, &[("content-type", "text/plain")], "x").await;
    assert_eq!(answer.code, 415);
    assert!(answer.message().starts_with("the body of the request was in an unknown format"));
}

#[tokio::test]
async fn a_body_has_a_limit() {
    let api = Api::start();
    let answer = api
        .send("POST", MAPS, &[("content-type", "application/json")], &"x".repeat(3 * 1024 * 1024 + 1))
        .await;
    assert_eq!(answer.code, 413);
    assert_eq!(answer.message(), "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn another_kind_is_refused() {
    let api = Api::start();
    let mut other = config_map("a");
    other.set(&["apiVersion"], "v2");
    let answer = api.post(MAPS, &other).await;
    assert_eq!(answer.code, 400);
    assert_eq!(
        answer.message(),
        "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \
         \"v2\" in scheme \"pkg/runtime/scheme.go:111\""
    );
    let answer = api.post(MAPS, &pod("a")).await;
    assert_eq!(answer.code, 400);
    assert_eq!(
        answer.message(),
        "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown \
         conversion"
    );
}

#[tokio::test]
async fn another_namespace_is_refused() {
    let api = Api::start();
    let mut other = config_map("a");
    other.set(&["metadata", "namespace"], "kube-system");
    let answer = api.post(MAPS, &other).await;
    assert_eq!(answer.code, 400);
    assert_eq!(
        answer.message(),
        "the namespace of the provided object does not match the namespace sent on the request"
    );
}

#[tokio::test]
async fn a_wrong_type_names_its_field() {
    let api = Api::start();
    let mut wrong = config_map("a");
    wrong.set(&["data"], json!({"a": 1}));
    let answer = api.post(MAPS, &wrong).await;
    assert_eq!(answer.code, 400);
    assert_eq!(
        answer.message(),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct \
         field ConfigMap.data of type string"
    );
}

#[tokio::test]
async fn duplicate_fields_are_told_or_refused() {
    let api = Api::start();
    let body = |name: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"1","a":"2"}}}}"#
        )
    };
    let warned = api.send("POST", MAPS, &[("content-type", "application/json")], &body("a")).await;
    assert_eq!((warned.code, warned.header("warning")), (201, r#"299 - "duplicate field \"data.a\"""#));
    let path = format!("{MAPS}?fieldValidation=Strict");
    let strict = api.send("POST", &path, &[("content-type", "application/json")], &body("b")).await;
    assert_eq!(strict.code, 400);
    assert_eq!(
        strict.message(),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field \"data.a\""
    );
}

#[tokio::test]
async fn tables_are_for_people() {
    let api = Api::start();
    api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let table = api.send("GET", "/api/v1/pods", &[("accept", accept)], "").await.json();
    assert_eq!(table.str_at(&["kind"]), Some("Table"));
    let columns: Vec<_> =
        table.items_at(&["columnDefinitions"]).iter().filter_map(|column| column.str_at(&["name"])).collect();
    assert_eq!(&columns[..5], ["Name", "Ready", "Status", "Restarts", "Age"]);
    let row = &table.items_at(&["rows"])[0];
    assert_eq!(row.items_at(&["cells"])[2].as_str(), Some("Pending"));
    assert_eq!(row.str_at(&["object", "kind"]), Some("PartialObjectMetadata"));
}

#[tokio::test]
async fn columns_of_a_definition_are_shown() {
    let api = with_caches().await;
    api.client.create(&crate::support::caches(), Some("default"), crate::support::cache("c")).await.unwrap();
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let path = "/apis/demo.io/v1/namespaces/default/caches";
    let table = api.send("GET", path, &[("accept", accept)], "").await.json();
    assert_eq!(table.items_at(&["rows"])[0].get("cells").unwrap().to_json(), r#"["c",1]"#);
}

#[tokio::test]
async fn metadata_can_be_asked_for_alone() {
    let api = Api::start();
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = api.send("GET", MAPS, &[("accept", accept)], "").await.json();
    assert_eq!(list.str_at(&["kind"]), Some("PartialObjectMetadataList"));
    assert_eq!(list.items_at(&["items"])[0].get("data"), None);
}

#[tokio::test]
async fn people_get_indented_json() {
    let api = Api::start();
    assert!(api.send("GET", MAPS, &[("user-agent", "curl/8")], "").await.text.contains("\n  \"items\""));
    assert!(!api.get(MAPS).await.text.trim_end().contains('\n'));
}

#[tokio::test]
async fn requests_carry_an_audit_id() {
    let api = Api::start();
    assert_eq!(api.send("GET", MAPS, &[("audit-id", "abc")], "").await.header("audit-id"), "abc");
    assert_eq!(api.get(MAPS).await.header("audit-id").len(), 36);
}

#[tokio::test]
async fn a_verb_that_a_resource_does_not_know_is_told() {
    let api = Api::start();
    let answer = api.send("DELETE", "/api/v1/namespaces", &[], "").await;
    assert_eq!(answer.code, 405);
    let answer = api.send("PUT", MAPS, &[("content-type", "application/json")], "{}").await;
    assert_eq!(answer.code, 405);
}
