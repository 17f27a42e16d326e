//! Documents that nest nearly as deeply as JSON may: every verb takes them, in every encoding, and no thread's stack is used up.

use pilothouse_value::{Value, json};

use crate::converter::{self, Converter};
use crate::support::{Answer, Api};

const WELLS: &str = "/apis/deep.example.com/v1/namespaces/default/wells";
const JSON: (&str, &str) = ("content-type", "application/json");
const YAML: (&str, &str) = ("content-type", "application/yaml");
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");
const PATCH: (&str, &str) = ("content-type", "application/json-patch+json");
const STRATEGIC: (&str, &str) = ("content-type", "application/strategic-merge-patch+json");
const APPLY: (&str, &str) = ("content-type", "application/apply-patch+yaml");
/// What an object has around its `spec.deep`, and its entries of managers around theirs.
const LEVELS: usize = 9_990;

fn lists(levels: usize, inner: &str) -> String {
    format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels))
}

fn objects(levels: usize, inner: &str) -> String {
    format!("{}{inner}{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

fn mixed(levels: usize, inner: &str) -> String {
    format!("{}{inner}{}", "[{\"a\":".repeat(levels / 2), "}]".repeat(levels / 2))
}

fn well(name: &str, deep: &str) -> String {
    format!(
        r#"{{"apiVersion":"deep.example.com/v1","kind":"Well","metadata":{{"name":"{name}"}},"spec":{{"deep":{deep},"shallow":"x"}}}}"#
    )
}

fn definition() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": any, "status": any}});
    let version = |name: &str| {
        json!({"name": name, "served": true, "storage": name == "v1", "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "Deep", "type": "string", "jsonPath": ".spec.deep"}],
            "schema": {"openAPIV3Schema": schema}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "wells.deep.example.com"},
        "spec": {"group": "deep.example.com", "scope": "Namespaced", "names": {"plural": "wells", "kind": "Well"},
            "versions": [version("v1"), version("v2")]},
    })
}

async fn define(api: &Api, definition: &Value) {
    let made = api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(made.code, 201, "{}", made.text);
}

fn expect(answer: &Answer, code: u16, what: &str) {
    let start = answer.text.get(..answer.text.len().min(300)).unwrap_or_default();
    assert_eq!(answer.code, code, "{what}: {start}");
}

/// Puts an object of this name in the place of what is there.
async fn put(api: &Api, at: &str, object: &str) -> Answer {
    let read = api.get(at).await.json();
    let version = read.str_at(&["metadata", "resourceVersion"]).unwrap_or_default();
    let object =
        object.replace("\"metadata\":{", &format!("\"metadata\":{{\"resourceVersion\":\"{version}\","));
    api.send("PUT", at, &[JSON], &object).await
}

/// All verbs on one object whose `spec.deep` nests deeply.
async fn through_all_verbs(deep: &str, other: &str) {
    let api = Api::start();
    define(&api, &definition()).await;
    let at = format!("{WELLS}/one");
    let made =
        api.send("POST", &format!("{WELLS}?fieldValidation=Strict"), &[JSON], &well("one", deep)).await;
    expect(&made, 201, "create");
    assert!(made.text.contains(deep));
    let read = api.get(&at).await;
    expect(&read, 200, "get");
    assert!(read.text.contains(deep));
    let read = api.get(&at.replace("/v1/", "/v2/")).await;
    expect(&read, 200, "get in another version");
    assert!(read.text.contains(deep));
    for accept in [
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    ] {
        expect(&api.send("GET", &at, &[("accept", accept)], "").await, 200, accept);
        let accept = accept.replace("PartialObjectMetadata;", "PartialObjectMetadataList;");
        expect(&api.send("GET", WELLS, &[("accept", &accept)], "").await, 200, &accept);
    }
    expect(&api.get(&format!("{at}?pretty=true")).await, 200, "pretty");
    assert!(api.get(WELLS).await.text.contains(deep));
    let watched = api.get(&format!("{WELLS}?watch=true&timeoutSeconds=1")).await;
    assert!(watched.code == 200 && watched.text.contains(deep));
    let written = put(&api, &at, &well("one", other)).await;
    expect(&written, 200, "update");
    assert!(written.text.contains(other) && !written.text.contains(deep));
    let status =
        well("one", "1").replace("\"spec\"", "\"status\"").replace("\"deep\":1", &format!("\"deep\":{deep}"));
    expect(&put(&api, &format!("{at}/status"), &status).await, 200, "update of the status");

    let patch = format!(r#"{{"spec":{{"deep":{deep}}}}}"#);
    expect(&api.send("PATCH", &at, &[MERGE], &patch).await, 200, "merge patch");
    let patch = format!(
        r#"[{{"op":"test","path":"/spec/deep","value":{deep}}},{{"op":"replace","path":"/spec/deep","value":{other}}},{{"op":"copy","from":"/spec/deep","path":"/spec/copy"}},{{"op":"move","from":"/spec/copy","path":"/spec/moved"}},{{"op":"remove","path":"/spec/moved"}}]"#
    );
    expect(&api.send("PATCH", &at, &[PATCH], &patch).await, 200, "JSON patch");
    let conflict = api.send("PATCH", &format!("{at}?fieldManager=m"), &[APPLY], &well("one", deep)).await;
    expect(&conflict, 409, "apply with a conflict");
    let forced = format!("{at}?fieldManager=m&force=true");
    expect(&api.send("PATCH", &forced, &[APPLY], &well("one", deep)).await, 200, "apply");
    let gone = well("one", "1").replace("\"deep\":1,", "");
    let applied = api.send("PATCH", &forced, &[APPLY], &gone).await;
    expect(&applied, 200, "apply without");
    expect(&api.send("DELETE", &at, &[], "").await, 200, "delete");
    let yaml = format!(
        "apiVersion: deep.example.com/v1\nkind: Well\nmetadata: {{name: yaml}}\nspec:\n  deep: {deep}\n"
    );
    expect(&api.send("POST", WELLS, &[YAML], &yaml).await, 201, "create from YAML");
    expect(&api.send("DELETE", WELLS, &[], "").await, 200, "delete all");
}

#[tokio::test]
async fn lists_in_lists_are_taken_by_all_verbs() {
    through_all_verbs(&lists(LEVELS, "1"), &lists(LEVELS, "2")).await;
}

#[tokio::test]
async fn objects_in_objects_are_taken_by_all_verbs() {
    through_all_verbs(&objects(LEVELS, "1"), &objects(LEVELS, "2")).await;
}

#[tokio::test]
async fn lists_and_objects_in_turn_are_taken_by_all_verbs() {
    through_all_verbs(&mixed(LEVELS, "1"), &mixed(LEVELS, "2")).await;
}

#[tokio::test]
async fn what_nests_deeper_than_go_reads_is_refused_in_its_words() {
    let api = Api::start();
    define(&api, &definition()).await;
    // The object and its spec are two levels.
    let at = format!("{WELLS}?dryRun=All");
    expect(&api.send("POST", &at, &[JSON], &well("a", &lists(9_998, "1"))).await, 201, "10,000 levels");
    let refused = api.send("POST", &at, &[JSON], &well("a", &lists(9_999, "1"))).await;
    expect(&refused, 400, "10,001 levels");
    assert!(refused.message().contains("json parse error: invalid character '[' exceeded max depth"));
    let refused = api.send("POST", &at, &[JSON], &well("a", &objects(9_999, "1"))).await;
    assert!(refused.message().contains("json parse error: invalid character '{' exceeded max depth"));
    expect(&api.send("POST", WELLS, &[JSON], &well("a", &lists(5, "1"))).await, 201, "create");
    for (kind, body) in [
        (MERGE, format!(r#"{{"spec":{{"b":{}}}}}"#, lists(9_999, "1"))),
        (PATCH, format!(r#"[{{"op":"add","path":"/spec/b","value":{}}}]"#, lists(9_999, "1"))),
        (APPLY, well("a", &lists(10_001, "1"))),
    ] {
        let refused = api.send("PATCH", &format!("{WELLS}/a?fieldManager=m"), &[kind], &body).await;
        expect(&refused, 400, kind.1);
    }
    let twice = format!("a: &a {}\nb: {}\n", lists(6_000, ""), lists(6_000, "*a"));
    let refused = api.send("POST", "/api/v1/namespaces/default/configmaps", &[YAML], &twice).await;
    assert!(refused.code == 400 && refused.text.contains("exceeded max depth"), "{}", refused.text);
}

#[tokio::test]
async fn built_in_kinds_keep_and_refuse_what_is_deep() {
    let api = Api::start();
    let revisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
    for (name, deep) in [("l", lists(LEVELS, "1")), ("o", objects(LEVELS, "1")), ("m", mixed(LEVELS, "1"))] {
        let body = |revision: i64| {
            format!(
                r#"{{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{{"name":"{name}"}},"data":{{"deep":{deep}}},"revision":{revision}}}"#
            )
        };
        let at = format!("{revisions}/{name}?fieldManager=m");
        expect(&api.send("POST", revisions, &[JSON], &body(1)).await, 201, "create");
        expect(&api.send("PATCH", &at, &[MERGE], &body(1)).await, 200, "merge patch");
        expect(
            &api.send("PATCH", &at, &[STRATEGIC], r#"{"revision":1}"#).await,
            200,
            "strategic merge patch",
        );
        let forced = format!("{at}&force=true");
        expect(&api.send("PATCH", &forced, &[APPLY], &body(1)).await, 200, "apply");
        let protobuf = [("accept", "application/vnd.kubernetes.protobuf")];
        assert_eq!(api.open("GET", &at, &protobuf, "").await.status(), 200);
        assert!(api.get(&at).await.text.contains(&deep));
        let pod = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}},"status":{{"unknown":{deep}}}}}"#
        );
        expect(
            &api.send("POST", "/api/v1/namespaces/default/pods", &[JSON], &pod).await,
            201,
            "an unknown field",
        );
        for field in ["labels", "finalizers", "ownerReferences", "name"] {
            let body = format!(r#"{{"metadata":{{"generateName":"x","{field}":{deep}}}}}"#);
            let refused = api.send("POST", "/api/v1/namespaces/default/configmaps", &[JSON], &body).await;
            assert!(matches!(refused.code, 400 | 422), "{field}: {}", refused.code);
        }
        let options = format!(r#"{{"kind":"DeleteOptions","apiVersion":"v1","unknown":{deep}}}"#);
        expect(&api.send("DELETE", &at, &[JSON], &options).await, 200, "delete");
    }
    // Entries of managers that are deep themselves.
    let fields = format!("{}{{}}{}", "{\"f:a\":".repeat(9_900), "}".repeat(9_900));
    let body = format!(
        r#"{{"metadata":{{"name":"managed","managedFields":[{{"manager":"m","operation":"Update","apiVersion":"v1","time":"2024-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{fields}}}]}}}}"#
    );
    expect(&api.send("POST", "/api/v1/namespaces/default/configmaps", &[JSON], &body).await, 201, "managers");
    let at = "/api/v1/namespaces/default/configmaps/managed?fieldManager=n";
    expect(&api.send("PATCH", at, &[MERGE], r#"{"data":{"a":"b"}}"#).await, 200, "merge patch");
    expect(&api.send("PATCH", at, &[APPLY], &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "managed"}, "data": {"b": "c"}}).to_json()).await, 200, "apply");
    expect(&api.send("DELETE", at, &[], "").await, 200, "delete");
}

#[tokio::test]
async fn what_is_wide_far_down_takes_no_time_by_the_square() {
    let api = Api::start();
    define(&api, &definition()).await;
    let leaves: Vec<String> = (0..20_000).map(|leaf| format!("\"{leaf}\":{{}}")).collect();
    let wide = objects(5_000, &format!("{{{}}}", leaves.join(",")));
    let other = wide.replacen("\"7\":{}", "\"7\":[]", 1);
    expect(&api.send("POST", WELLS, &[JSON], &well("wide", &wide)).await, 201, "create");
    expect(&put(&api, &format!("{WELLS}/wide"), &well("wide", &other)).await, 200, "update");
    let forced = format!("{WELLS}/wide?fieldManager=m&force=true");
    expect(&api.send("PATCH", &forced, &[APPLY], &well("wide", &wide)).await, 200, "apply");
}

#[tokio::test]
async fn schemas_of_definitions_may_be_deep_and_too_deep() {
    let api = Api::start();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let nested = |levels: usize, open: &str, inner: &str, close: &str| {
        let mut definition = definition();
        definition.set(
            &["spec", "versions"],
            vec![json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": "SCHEMA"}}}})],
        );
        let schema = format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
        definition.to_json().replace("\"SCHEMA\"", &schema)
    };
    let object = r#"{"type":"object","properties":{"a":"#;
    let deep = nested(400, object, r#"{"type":"string","default":"d"}"#, "}}");
    expect(&api.send("POST", definitions, &[JSON], &deep).await, 201, "400 levels");
    let of = |levels: usize, inner: &str| {
        well("one", "1").replace(r#"{"deep":1,"shallow":"x"}"#, &objects(levels, inner))
    };
    expect(&api.send("POST", WELLS, &[JSON], &of(400, "\"x\"")).await, 201, "an object of them");
    expect(
        &api.send("POST", &format!("{WELLS}?dryRun=All"), &[JSON], &of(400, "1")).await,
        422,
        "another type",
    );
    expect(
        &api.send("PATCH", &format!("{WELLS}/one?fieldManager=m&force=true"), &[APPLY], &of(400, "\"y\""))
            .await,
        200,
        "apply",
    );
    expect(
        &api.send("PATCH", &format!("{WELLS}/one"), &[MERGE], r#"{"metadata":{"labels":{"a":"b"}}}"#).await,
        200,
        "patch",
    );
    expect(&api.send("GET", "/openapi/v3/apis/deep.example.com/v1", &[], "").await, 200, "OpenAPI");
    expect(
        &api.send("DELETE", &format!("{definitions}/wells.deep.example.com"), &[], "").await,
        200,
        "delete",
    );
    for (open, close) in [
        (object, "}}"),
        (r#"{"type":"array","items":"#, "}"),
        (r#"{"type":"object","additionalProperties":"#, "}"),
        (r#"{"not":"#, "}"),
        (r#"{"allOf":["#, "]}"),
    ] {
        let refused =
            api.send("POST", definitions, &[JSON], &nested(3_000, open, r#"{"type":"string"}"#, close)).await;
        assert_eq!(refused.code, 422, "{open}: {}", refused.text.get(..300).unwrap_or_default());
    }
}

#[tokio::test]
async fn a_conversion_webhook_may_answer_with_what_is_deep() {
    let api = Api::start();
    let converter = Converter::start().await;
    let mut definition = definition();
    definition.set(&["spec", "conversion"], converter.conversion("v1"));
    define(&api, &definition).await;
    converter.answer(|review| {
        let wanted = review.str_at(&["request", "desiredAPIVersion"]).unwrap_or_default();
        let mut objects = review.items_at(&["request", "objects"]).to_vec();
        objects.iter_mut().for_each(|object| object.set(&["apiVersion"], wanted));
        converter::response(review, objects)
    });
    expect(&api.send("POST", WELLS, &[JSON], &well("one", &mixed(9_900, "1"))).await, 201, "create");
    let read = api.get(&format!("{}/one", WELLS.replace("/v1/", "/v2/"))).await;
    expect(&read, 200, "get");
    assert!(read.text.contains(&mixed(9_900, "1")));
}
