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
