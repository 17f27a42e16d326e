//! Those outside who are asked who somebody is, what they may do, and which images may run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use pilothouse_apiserver::authenticator::TokenWebhook;
use pilothouse_apiserver::authorization::{Mode, NamedMode, WebhookAuthorizer, read_configuration};
use pilothouse_apiserver::{Gvr, LeftOut, Server, User, Value};
use pilothouse_value::{json, parse};
use tower::ServiceExt as _;

use crate::hook::Hook;
use crate::support::{Api, config_maps, pod, pods};

const MINUTE: Duration = Duration::from_secs(60);

/// Answers a review: what is named `yes` is allowed, `no` denied, and of all else there is no opinion.
fn decide(spec: &Value) -> Value {
    let name = spec.str_at(&["resourceAttributes", "name"]).unwrap_or_default();
    match name {
        "yes" => json!({"status": {"allowed": true, "reason": "because"}}),
        "no" => json!({"status": {"allowed": false, "denied": true, "reason": "out of the question"}}),
        "both" => json!({"status": {"allowed": true, "denied": true}}),
        _ => json!({"status": {"allowed": false, "reason": "who knows"}}),
    }
}

async fn deciding() -> Hook {
    Hook::serve(|asked| decide(asked.review.get("spec").unwrap())).await
}

fn webhook(hook: &Hook, version: &str) -> NamedMode {
    let folder = tempfile::tempdir().unwrap();
    let file = hook.kubeconfig(folder.path(), "/authorize");
    Mode::Webhook(Arc::new(WebhookAuthorizer::new(&file, version, MINUTE, MINUTE).unwrap())).into()
}

async fn read(server: &Server, name: &str) -> (u16, String) {
    let client = server.client(User::new("ann", ["dev"]));
    match client.get(&config_maps(), Some("default"), name).await {
        Ok(_) => (200, String::new()),
        Err(status) => (status.code, status.message),
    }
}

#[tokio::test]
async fn a_webhook_allows_denies_or_leaves_it_to_others() {
    let hook = deciding().await;
    let server = Server::builder().authorization_modes([webhook(&hook, "v1"), Mode::Rbac.into()]);
    let server = server.start().unwrap();
    assert_eq!(read(&server, "yes").await.0, 404, "allowed, and not there");
    let denied = read(&server, "no").await;
    assert!(
        denied.0 == 403 && denied.1.ends_with("in the namespace \"default\": out of the question"),
        "{denied:?}"
    );
    let open = read(&server, "perhaps").await;
    assert!(
        open.0 == 403 && open.1.ends_with("in the namespace \"default\": default: who knows"),
        "{open:?}"
    );
    let asked = hook.take();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].target, "/authorize?timeout=30s");
    assert_eq!(asked[0].headers["authorization"], "Bearer of-the-server");
    assert_eq!(
        asked[0].review.get("spec").unwrap(),
        &json!({
            "resourceAttributes": {
                "namespace": "default", "verb": "get", "version": "*", "resource": "configmaps", "name": "yes",
            },
            "user": "ann", "groups": ["dev", "system:authenticated"],
        })
    );
    // Answers are kept, and administrators are not asked about.
    assert_eq!(read(&server, "yes").await.0, 404);
    assert_eq!(
        server.client(User::admin()).get(&config_maps(), Some("default"), "no").await.unwrap_err().code,
        404
    );
    assert!(hook.take().is_empty());
}

#[tokio::test]
async fn an_older_review_names_groups_otherwise() {
    let hook = deciding().await;
    let server = Server::builder().authorization_modes([webhook(&hook, "v1beta1")]).start().unwrap();
    read(&server, "yes").await;
    let asked = hook.take();
    assert_eq!(asked[0].review.str_at(&["apiVersion"]), Some("authorization.k8s.io/v1beta1"));
    assert!(
        asked[0].review.at(&["spec", "group"]).is_some() && asked[0].review.at(&["spec", "groups"]).is_none()
    );
}

#[tokio::test]
async fn a_review_through_the_api_tells_what_a_webhook_said() {
    let hook = deciding().await;
    let server = Server::builder().authorization_modes([webhook(&hook, "v1")]).start().unwrap();
    let api = Api::with(server);
    let review = async |name: &str| {
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "pods", "name": name}},
        });
        let answer = api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &body).await;
        answer.json().get("status").cloned().unwrap()
    };
    assert_eq!(review("yes").await, json!({"allowed": true, "reason": "because"}));
    assert_eq!(
        review("no").await,
        json!({"allowed": false, "denied": true, "reason": "out of the question"})
    );
    let both = review("both").await;
    assert_eq!(both.get("denied"), Some(&true.into()));
    assert!(both.str_at(&["evaluationError"]).unwrap().contains("both allow and deny response"));
    assert_eq!(review("x").await, json!({"allowed": false, "reason": "default: who knows"}));
}

#[tokio::test]
async fn a_webhook_that_fails_is_an_error_unless_others_allow() {
    let hook = Hook::serve_codes(|_| (403, json!({}))).await;
    let server = Server::builder().authorization_modes([webhook(&hook, "v1")]).start().unwrap();
    let api = Api::with(server).acting_as(User::new("ann", ["dev"]));
    let answer = api.get("/api/v1/namespaces/default/configmaps/a").await;
    assert_eq!((answer.code, answer.header("content-type")), (500, "text/plain; charset=utf-8"));
    assert!(
        answer.text.starts_with("Internal Server Error: \"/api/v1/namespaces/default/configmaps/a\": "),
        "{}",
        answer.text
    );
    let modes = [webhook(&hook, "v1"), Mode::AlwaysAllow.into()];
    let api = Api::with(Server::builder().authorization_modes(modes).start().unwrap());
    assert_eq!(api.acting_as(User::new("ann", ["dev"])).get("/api/v1/namespaces").await.code, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_acts_as_another_is_asked_about_too() {
    let hook = Hook::serve(|asked| {
        let verb = asked.review.str_at(&["spec", "resourceAttributes", "verb"]).unwrap_or_default();
        json!({"status": {"allowed": verb == "impersonate" || verb == "list"}})
    })
    .await;
    let server = Server::builder().authorization_modes([webhook(&hook, "v1")]).start().unwrap();
    let api = Api::with(server).acting_as(User::new("ann", ["dev"]));
    let answer = api.send("GET", "/api/v1/namespaces", &[("impersonate-user", "bob")], "").await;
    assert_eq!(answer.code, 200, "{}", answer.text);
    assert!(hook.take().iter().any(|asked| asked.review.str_at(&["spec", "user"]) == Some("bob")));
}

#[tokio::test]
async fn a_structured_configuration_asks_only_about_what_matches() {
    let hook = deciding().await;
    let folder = tempfile::tempdir().unwrap();
    let file = hook.kubeconfig(folder.path(), "/");
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
        "authorizers": [{"type": "Webhook", "name": "outside", "webhook": {
            "timeout": "3s", "subjectAccessReviewVersion": "v1", "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": "Deny", "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": file},
            "matchConditions": [{"expression": "has(request.resourceAttributes)"},
                                {"expression": "request.resourceAttributes.namespace == 'default'"}],
        }}, {"type": "RBAC", "name": "roles"}],
    });
    let modes = read_configuration(&configuration.to_json()).unwrap();
    let server = Server::builder().authorization_modes(modes).start().unwrap();
    let told = read(&server, "perhaps").await.1;
    assert!(told.ends_with("outside: who knows"), "{told}");
    let api = Api::with(server).acting_as(User::new("ann", ["dev"]));
    assert_eq!(api.get("/api/v1/namespaces/kube-system/configmaps/yes").await.code, 403);
    assert_eq!(api.get("/healthz").await.code, 200);
    assert_eq!(hook.take().len(), 1);
}

#[test]
fn a_structured_configuration_is_checked() {
    let told = |authorizers: Value| {
        let mut document =
            json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"});
        document.set(&["authorizers"], authorizers);
        read_configuration(&document.to_json()).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        told(json!([])),
        "authorizers: Required value: at least one authorization mode must be defined"
    );
    assert_eq!(
        told(json!([{"type": "RBAC", "name": "a"}, {"type": "RBAC", "name": "b"}])),
        "authorizers[1].type: Duplicate value: \"RBAC\""
    );
    assert!(
        told(json!([{"type": "Magic", "name": "a"}]))
            .starts_with("authorizers[0].type: Unsupported value: \"Magic\"")
    );
    assert_eq!(
        told(json!([{"type": "Webhook", "name": "a"}])),
        "authorizers[0].webhook: Required value: required when type=Webhook"
    );
    let wrong = told(json!([{"type": "Webhook", "name": "a", "webhook": {
        "timeout": "1m", "matchConditions": [{"expression": "request.nothing"}],
    }}]));
    for part in [
        "authorizers[0].timeout: Invalid value: \"1m\": must be > 0s and <= 30s",
        "authorizers[0].subjectAccessReviewVersion: Required value",
        "authorizers[0].failurePolicy: Required value",
        "authorizers[0].connectionInfo.type: Required value",
        "authorizers[0].matchConditions[0].expression: Invalid value: \"request.nothing\": compilation failed",
    ] {
        assert!(wrong.contains(part), "{part} in {wrong}");
    }
}

/// What a request with a token is answered.
async fn with_token(server: &Server, path: &str, token: Option<&str>) -> (u16, Value) {
    let mut request = Request::get(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::new(Bytes::new())).unwrap();
    let response = server.authenticating_service().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, parse::json(&bytes).map(|parsed| parsed.value).unwrap_or_default())
}

#[tokio::test]
async fn a_token_that_the_server_does_not_know_is_asked_about() {
    let hook = Hook::serve(|asked| match asked.review.str_at(&["spec", "token"]) {
        Some("good") => json!({"status": {"authenticated": true, "user": {
            "username": "zoe", "uid": "9", "groups": ["dev"], "extra": {"a": ["b"]},
        }}}),
        Some("elsewhere") => {
            json!({"status": {"authenticated": true, "user": {"username": "zoe"}, "audiences": ["other"]}})
        }
        _ => json!({"status": {"authenticated": false, "error": "never seen"}}),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let file = hook.kubeconfig(folder.path(), "/tokens");
    let webhook = TokenWebhook::new(&file, "v1", MINUTE).unwrap();
    let api = Api::with(Server::builder().token_webhook(webhook).start().unwrap());
    let (code, told) = with_token(&api.server, "/api/v1/namespaces", Some("good")).await;
    assert!(code == 403 && told.str_at(&["message"]).unwrap().contains("User \"zoe\" cannot list"), "{told}");
    assert_eq!(with_token(&api.server, "/api/v1/namespaces", Some("bad")).await.0, 401);
    assert_eq!(with_token(&api.server, "/api/v1/namespaces", Some("elsewhere")).await.0, 401);
    assert_eq!(with_token(&api.server, "/api/v1/namespaces", Some("good")).await.0, 403);
    assert_eq!(hook.take().len(), 3, "answers are kept");
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "good"}});
    let reviewed = api.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.json();
    assert_eq!(
        reviewed.at(&["status", "user"]),
        Some(&json!({
            "username": "zoe", "uid": "9", "groups": ["dev", "system:authenticated"], "extra": {"a": ["b"]},
        }))
    );
    assert!(TokenWebhook::new(&file, "v3", MINUTE).is_err());
}

#[tokio::test]
async fn requests_without_credentials_are_served_on_some_paths() {
    let server = Server::builder().anonymous_on(["/healthz"]).start().unwrap();
    server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    assert_eq!(with_token(&server, "/healthz", None).await.0, 200);
    assert_eq!(with_token(&server, "/readyz", None).await.0, 401);
    assert_eq!(with_token(&server, "/healthz/ping", None).await.0, 401);
}

#[tokio::test]
async fn somebody_outside_says_which_images_may_run() {
    let hook = Hook::serve(|asked| {
        let images = asked.review.items_at(&["spec", "containers"]).to_vec();
        let bad = images.iter().any(|image| image.str_at(&["image"]) == Some("bad"));
        if bad {
            json!({"status": {"allowed": false, "reason": "it is bad"}})
        } else {
            json!({"status": {"allowed": true}})
        }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let file = hook.kubeconfig(folder.path(), "/images");
    let configuration = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
        {"name": "ImagePolicyWebhook", "configuration": {"imagePolicy": {"kubeConfigFile": file, "retryBackoff": 1}}},
    ]});
    let server = Server::builder().admission_configuration(configuration.to_json());
    let api = Api::with(server.enable_admission_plugins(["ImagePolicyWebhook"]).start().unwrap());
    let mut good = pod("good");
    good.set(&["metadata", "annotations"], json!({"a.image-policy.k8s.io/b": "c", "other": "d"}));
    api.client.create(&pods(), Some("default"), good).await.unwrap();
    let asked = hook.take();
    assert_eq!(
        asked[0].review.get("spec").unwrap(),
        &json!({
            "containers": [{"image": "busybox:1"}], "annotations": {"a.image-policy.k8s.io/b": "c"}, "namespace": "default",
        })
    );
    let mut bad = pod("bad");
    bad.set(&["spec", "containers"], json!([{"name": "main", "image": "bad"}]));
    let refused = api.client.create(&pods(), Some("default"), bad).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (403, "pods \"bad\" is forbidden: image policy webhook backend denied one or more images: it is bad")
    );
}

#[tokio::test]
async fn what_is_left_out_is_not_served() {
    let left_out = LeftOut {
        versions: ["autoscaling/v1".to_owned()].into(),
        resources: ["batch/v1/cronjobs".to_owned(), "policy/v1/poddisruptionbudgets".to_owned()].into(),
    };
    let api = Api::with(Server::builder().leave_out(left_out).node_ports(31000..=31001).start().unwrap());
    assert_eq!(api.get("/apis/autoscaling/v1/horizontalpodautoscalers").await.code, 404);
    assert_eq!(api.get("/apis/autoscaling/v2/horizontalpodautoscalers").await.code, 200);
    assert_eq!(api.get("/apis/batch/v1/cronjobs").await.code, 404);
    assert_eq!(api.get("/apis/policy/v1").await.code, 404);
    let names: Vec<String> = api
        .get("/apis/batch/v1")
        .await
        .json()
        .items_at(&["resources"])
        .iter()
        .map(|one| one.str_at(&["name"]).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["jobs", "jobs/status"]);
    let services = Gvr::new("apiregistration.k8s.io", "v1", "apiservices");
    assert_eq!(api.client.get(&services, None, "v1.policy").await.unwrap_err().code, 404);
    let service = |name: &str| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let kind = Gvr::new("", "v1", "services");
    for (name, port) in [("a", 31000), ("b", 31001)] {
        let made = api.client.create(&kind, Some("default"), service(name)).await.unwrap();
        assert_eq!(made.items_at(&["spec", "ports"])[0].i64_at(&["nodePort"]), Some(port));
    }
    assert!(api.client.create(&kind, Some("default"), service("c")).await.is_err());
    let mut outside = service("d");
    outside.set(&["spec", "ports"], json!([{"port": 80, "nodePort": 30000}]));
    let refused = api.client.create(&kind, Some("default"), outside).await.unwrap_err();
    assert!(refused.message.contains("The range of valid ports is 31000-31001"), "{}", refused.message);
}
