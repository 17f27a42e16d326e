//! Validation rules of custom resources, through every way to write them.

use pilothouse_value::{Value, json};

use crate::support::{Answer, Api};

const BOATS: &str = "/apis/demo.io/v1/namespaces/default/boats";
const BOAT: &str = "/apis/demo.io/v1/namespaces/default/boats/b";

fn definition(rules: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.demo.io"},
        "spec": {
            "group": "demo.io", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                }},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "properties": {
                                "replicas": {"type": "integer"}, "most": {"type": "integer"}, "port": {"type": "string", "maxLength": 20},
                            },
                            "x-kubernetes-validations": rules,
                        },
                        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                    },
                    "x-kubernetes-validations": [{
                        "rule": "!has(self.status) || self.status.replicas <= self.spec.replicas",
                        "message": "more replicas than there should be",
                    }],
                }},
            }],
        },
    })
}

fn boat(spec: Value) -> Value {
    json!({"apiVersion": "demo.io/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": spec})
}

/// An API with boats whose replicas are bound and whose port never changes.
async fn with_boats() -> Api {
    let api = Api::start();
    let rules = json!([
        {"rule": "!has(self.most) || self.replicas <= self.most",
         "messageExpression": "'%d is more than %d'.format([self.replicas, self.most])", "fieldPath": ".replicas"},
        {"rule": "self.port == oldSelf.port", "message": "the port cannot change", "reason": "FieldValueForbidden"},
    ]);
    define(&api, &definition(rules)).await;
    api
}

async fn define(api: &Api, definition: &Value) {
    let made = api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(made.code, 201, "{}", made.message());
}

fn assert_refused(answer: &Answer, message: &str) {
    assert_eq!((answer.code, answer.message()), (422, format!("Boat.demo.io \"b\" is invalid: {message}")));
}

#[tokio::test]
async fn a_rule_is_asked_on_every_way_to_write_an_object() {
    let api = with_boats().await;
    let too_many = "spec.replicas: Invalid value: 4 is more than 3";
    let answer = api.post(BOATS, &boat(json!({"replicas": 4, "most": 3, "port": "Kiel"}))).await;
    assert_refused(&answer, too_many);
    let made = api.post(BOATS, &boat(json!({"replicas": 3, "most": 3, "port": "Kiel"}))).await;
    assert_eq!(made.code, 201, "{}", made.message());

    let more = json!({"spec": {"replicas": 4}});
    assert_refused(&api.patch("application/merge-patch+json", BOAT, &more).await, too_many);
    assert_refused(
        &api.patch("application/merge-patch+json", &format!("{BOAT}/scale"), &more).await,
        too_many,
    );
    let moved = json!({"spec": {"port": "Oslo"}});
    assert_refused(
        &api.patch("application/merge-patch+json", BOAT, &moved).await,
        "spec: Forbidden: the port cannot change",
    );

    let status = json!({"status": {"replicas": 9}});
    let answer = api.patch("application/merge-patch+json", &format!("{BOAT}/status"), &status).await;
    assert_refused(&answer, "<nil>: Invalid value: more replicas than there should be");
    let fewer = api
        .patch("application/merge-patch+json", &format!("{BOAT}/status"), &json!({"status": {"replicas": 1}}))
        .await;
    assert_eq!(fewer.code, 200, "{}", fewer.message());
}

#[tokio::test]
async fn a_rule_is_not_asked_of_an_object_that_is_wrong_otherwise() {
    let api = with_boats().await;
    let answer =
        api.post(BOATS, &boat(json!({"replicas": 4, "most": 3, "port": "much longer than it may be"}))).await;
    assert_refused(
        &answer,
        "[spec.port: Too long: may not be more than 20 bytes, <nil>: Invalid value: null: some validation rules were not \
         checked because the object was invalid; correct the existing errors to complete validation]",
    );
}

#[tokio::test]
async fn what_breaks_a_new_rule_may_stay_and_is_warned_of() {
    let api = Api::start();
    define(&api, &definition(json!([]))).await;
    let made = api.post(BOATS, &boat(json!({"replicas": 4, "port": "Kiel"}))).await;
    assert_eq!(made.code, 201, "{}", made.message());
    let rules = json!([{"rule": "self.replicas < 3"}]);
    let spec = json!({"spec": definition(rules).get("spec").unwrap()});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.demo.io";
    let changed = api.patch("application/merge-patch+json", path, &spec).await;
    assert_eq!(changed.code, 200, "{}", changed.message());

    let labelled =
        api.patch("application/merge-patch+json", BOAT, &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(labelled.code, 200, "{}", labelled.message());
    let warning = r#"299 - "spec: Invalid value: failed rule: self.replicas < 3""#;
    assert_eq!(labelled.header("warning"), warning);
    let answer = api.patch("application/merge-patch+json", BOAT, &json!({"spec": {"replicas": 5}})).await;
    assert_refused(&answer, "spec: Invalid value: failed rule: self.replicas < 3");
}

#[tokio::test]
async fn a_definition_with_a_rule_that_cannot_be_compiled_is_refused() {
    let api = Api::start();
    let wrong = definition(json!([{"rule": "self.sails > 1"}]));
    let answer = api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &wrong).await;
    assert_eq!(answer.code, 422);
    let text = "compilation failed: ERROR: <input>:1:5: undefined field 'sails'\n | self.sails > 1\n | ....^";
    assert!(answer.message().ends_with(text), "{}", answer.message());
}

#[tokio::test]
async fn rules_that_take_long_hold_up_nobody() {
    let api = Api::start();
    let sums = json!([{"rule": "self.all(a, self.all(b, a + b < 1000))", "message": "a sum is too large"}]);
    let mut definition = definition(json!([]));
    let versions = definition.at_mut(&["spec", "versions"]).and_then(Value::as_array_mut).unwrap();
    versions[0].set(
        &["schema", "openAPIV3Schema", "properties", "numbers"],
        json!({"type": "array", "maxItems": 200, "items": {"type": "integer"}, "x-kubernetes-validations": sums}),
    );
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(api.post(crds, &definition).await.code, 201);
    let mut numbers: Vec<i64> = (0..200).collect();
    let mut wanted = boat(json!({"replicas": 1}));
    wanted.set(&["numbers"], numbers.clone());

    // Both wait for the same thread; the second is answered while the rules of the first are evaluated on another.
    let slow = api.post(BOATS, &wanted);
    tokio::pin!(slow);
    tokio::select! {
        biased;
        answer = &mut slow => panic!("{} came first", answer.code),
        answer = api.get("/version") => assert_eq!(answer.code, 200),
    }
    assert_eq!(slow.await.code, 201);

    numbers.push(999);
    numbers.remove(0);
    let patch = json!({"numbers": numbers});
    let answer = api.patch("application/merge-patch+json", BOAT, &patch).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.message(), "Boat.demo.io \"b\" is invalid: numbers: Invalid value: a sum is too large");
}
