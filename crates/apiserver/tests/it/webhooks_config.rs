//! Webhook configurations: defaults, rules, what old ones may keep.

use pilothouse_apiserver::Value;
use pilothouse_value::json;

use crate::hook::{Hook, allow, try_configure};
use crate::support::Api;

fn webhook() -> Value {
    json!({
        "name": "v.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1"},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    })
}

#[tokio::test]
async fn what_is_not_said_is_filled_in() {
    let api = Api::start();
    let answer = try_configure(&api, "Mutating", "m", vec![webhook()]).await;
    let made = answer.json().items_at(&["webhooks"])[0].clone();
    assert_eq!(made.str_at(&["failurePolicy"]), Some("Fail"));
    assert_eq!(made.str_at(&["matchPolicy"]), Some("Equivalent"));
    assert_eq!(made.str_at(&["reinvocationPolicy"]), Some("Never"));
    assert_eq!(made.i64_at(&["timeoutSeconds"]), Some(10));
    assert_eq!(made.get("namespaceSelector"), Some(&json!({})));
    assert_eq!(made.items_at(&["rules"])[0].str_at(&["scope"]), Some("*"));
}

#[tokio::test]
async fn each_rule_is_told_in_upstreams_words() {
    let api = Api::start();
    let cases: Vec<(&str, Value, &str)> = vec![
        (
            "name",
            json!("short"),
            "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
        ),
        (
            "sideEffects",
            json!("Some"),
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ),
        (
            "sideEffects",
            Value::Null,
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        ),
        (
            "admissionReviewVersions",
            json!([]),
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ),
        (
            "admissionReviewVersions",
            json!(["v2"]),
            "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1, v1beta1",
        ),
        (
            "timeoutSeconds",
            json!(31),
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            "clientConfig",
            json!({}),
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            "clientConfig",
            json!({"url": "http://a/b"}),
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        (
            "clientConfig",
            json!({"service": {"name": "a", "namespace": "b", "path": "/x//y"}}),
            "webhooks[0].clientConfig.service.path: Invalid value: \"/x//y\": segment[1] may not be empty",
        ),
        (
            "rules",
            json!([{"operations": ["*", "CREATE"], "apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["a/*", "a/b"]}]),
            "[webhooks[0].rules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations, webhooks[0].rules[0].resources[1]: Invalid value: \"a/b\": if 'a/*' is present, must not specify a/b]",
        ),
        (
            "failurePolicy",
            json!("Maybe"),
            "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
        ),
    ];
    for (key, value, text) in cases {
        let mut webhook = webhook();
        if value.is_null() {
            webhook.take(&[key]);
        } else {
            webhook.set(&[key], value);
        }
        let answer = try_configure(&api, "Validating", "v", vec![webhook]).await;
        assert_eq!(answer.code, 422, "{}", answer.text);
        let expected =
            format!("ValidatingWebhookConfiguration.admissionregistration.k8s.io \"v\" is invalid: {text}");
        assert_eq!(answer.message(), expected);
    }
    let answer = try_configure(&api, "Validating", "v.static.k8s.io", vec![webhook()]).await;
    assert!(answer.message().contains("are reserved for static manifest-based configurations"));
    let answer = try_configure(&api, "Validating", "v", vec![webhook(), webhook()]).await;
    assert!(
        answer.message().ends_with("webhooks[1].name: Duplicate value: \"v.example.com\""),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_rule_that_has_no_effect_is_warned_of() {
    let api = Api::start();
    let mut webhook = webhook();
    webhook.set(
        &["rules"],
        json!([{
            "operations": ["*"], "apiGroups": ["authentication.k8s.io"], "apiVersions": ["v1"],
            "resources": ["tokenreviews"],
        }]),
    );
    let answer = try_configure(&api, "Validating", "v", vec![webhook]).await;
    assert_eq!(answer.code, 201);
    assert_eq!(
        answer.header("warning"),
        "299 - \"webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule \
         will have no effect\""
    );
}

#[tokio::test]
async fn a_change_counts_for_the_next_request() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    let maps = crate::support::config_maps();
    let count = |expected: usize| assert_eq!(hook.take().len(), expected);
    api.client.create(&maps, Some("default"), crate::support::config_map("a")).await.unwrap();
    count(0);
    try_configure(&api, "Validating", "v", vec![hook.webhook("v.example.com", json!({}))]).await;
    api.client.create(&maps, Some("default"), crate::support::config_map("b")).await.unwrap();
    count(1);
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v";
    let rules = json!({"webhooks": [hook.webhook("v.example.com", json!({"rules": []}))]});
    api.patch("application/merge-patch+json", path, &rules).await;
    api.client.create(&maps, Some("default"), crate::support::config_map("c")).await.unwrap();
    count(0);
}

fn conditions(expressions: &[&str]) -> Value {
    let conditions = expressions.iter().enumerate();
    let conditions = conditions
        .map(|(index, expression)| json!({"name": format!("c{index}"), "expression": *expression}))
        .collect::<Vec<_>>();
    json!({"matchConditions": conditions})
}

#[tokio::test]
async fn conditions_that_cannot_be_compiled_are_refused_unless_they_are_there() {
    let api = Api::start();
    let mut webhook = webhook();
    webhook.set(&["matchConditions"], json!([{"name": "a", "expression": "object.x +"}]));
    let answer = try_configure(&api, "Validating", "v", vec![webhook.clone()]).await;
    assert_eq!(answer.code, 422);
    let text = "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"v\" is invalid: \
                webhooks[0].matchConditions[0].expression: Invalid value: \"object.x +\": compilation failed: ERROR: \
                <input>:1:11: Syntax error:";
    assert!(answer.message().starts_with(text), "{}", answer.text);
    webhook.set(
        &["matchConditions"],
        json!([
            {"name": "a", "expression": "1 + 1"}, {"name": "a", "expression": "true"}, {"name": "", "expression": " "},
        ]),
    );
    let answer = try_configure(&api, "Validating", "v", vec![webhook.clone()]).await;
    let text = "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"v\" is invalid: \
                [webhooks[0].matchConditions[0].expression: Invalid value: \"1 + 1\": must evaluate to bool but got int, \
                webhooks[0].matchConditions[1].name: Duplicate value: \"a\", \
                webhooks[0].matchConditions[2].expression: Required value, \
                webhooks[0].matchConditions[2].name: Required value]";
    assert_eq!(answer.message(), text);
    let many: Vec<String> = (0..65).map(|index| format!("{index} == 1")).collect();
    let many = conditions(&many.iter().map(String::as_str).collect::<Vec<_>>());
    webhook.set(&["matchConditions"], many.get("matchConditions").unwrap().clone());
    let answer = try_configure(&api, "Validating", "v", vec![webhook]).await;
    assert!(
        answer.message().ends_with("webhooks[0].matchConditions: Too many: 65: must have at most 64 items")
    );
}

#[tokio::test]
async fn a_webhook_is_asked_if_all_its_conditions_hold() {
    let cases = [
        (vec!["object.metadata.name == 'a'", "request.operation == 'CREATE'"], true),
        (
            vec![
                "oldObject == null",
                "request.userInfo.username == 'system:admin'",
                "request.dryRun == false",
            ],
            true,
        ),
        (vec!["request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'"], true),
        (vec!["authorizer.group('').resource('pods').check('get').allowed()"], true),
        (vec!["authorizer.requestResource.check('delete').allowed()"], true),
        (vec!["namespaceObject == null", "has(request.options.kind)"], true),
        // One that is false outweighs one that cannot be evaluated.
        (vec!["object.nothing == 'x'", "false"], false),
        (vec!["object.metadata.name == 'b'"], false),
    ];
    for (expressions, expected) in cases {
        let hook = Hook::serve(allow).await;
        let api = Api::start();
        let webhook = hook.webhook("v.example.com", conditions(&expressions));
        let answer = try_configure(&api, "Validating", "v", vec![webhook]).await;
        assert_eq!(answer.code, 201, "{}", answer.text);
        let maps = crate::support::config_maps();
        api.client.create(&maps, Some("default"), crate::support::config_map("a")).await.unwrap();
        assert_eq!(hook.take().len(), usize::from(expected), "{expressions:?}");
    }
}

#[tokio::test]
async fn conditions_that_cannot_be_evaluated_do_what_the_failure_policy_says() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    let mut more = conditions(&["object.data.nothing == 'x'"]);
    try_configure(&api, "Validating", "v", vec![hook.webhook("v.example.com", more.clone())]).await;
    let path = "/api/v1/namespaces/default/configmaps";
    let answer = api.post(path, &crate::support::config_map("a")).await;
    assert_eq!(answer.code, 403);
    assert_eq!(
        answer.message(),
        "configmaps \"a\" is forbidden: expression 'object.data.nothing == 'x'' resulted in error: no such key: nothing"
    );
    more.set(&["failurePolicy"], "Ignore");
    let api = Api::start();
    try_configure(&api, "Mutating", "v", vec![hook.webhook("v.example.com", more)]).await;
    assert_eq!(api.post(path, &crate::support::config_map("a")).await.code, 201);
    assert!(hook.take().is_empty());
}
