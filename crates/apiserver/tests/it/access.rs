//! Who may do what, and as whom.

use pilothouse_apiserver::{Client, Gvr, Server, User, Value};
use pilothouse_value::json;

use crate::support::{Api, config_map, config_maps, pods};

const RBAC: &str = "rbac.authorization.k8s.io";

fn rbac(plural: &str) -> Gvr {
    Gvr::new(RBAC, "v1", plural)
}

fn api() -> Api {
    Api::with(Server::builder().start().unwrap())
}

fn role(name: &str, verbs: &[&str]) -> Value {
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str, kind: &str, role: &str, user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
    })
}

/// Jane has the role `admin` in the namespace `default`.
async fn jane(api: &Api) -> Client {
    let binding = binding("jane", "ClusterRole", "admin", "jane");
    api.client.create(&rbac("rolebindings"), Some("default"), binding).await.unwrap();
    api.server.client(User::new("jane", ["devs"]))
}

#[tokio::test]
async fn a_change_of_rules_counts_at_once() {
    let api = api();
    let client = api.server.client(User::new("ann", ["devs"]));
    let may =
        async || client.create(&config_maps(), Some("default"), config_map("a")).await.map_err(|s| s.code);
    assert_eq!(may().await, Err(403));
    api.client.create(&rbac("roles"), Some("default"), role("r", &["get"])).await.unwrap();
    api.client
        .create(&rbac("rolebindings"), Some("default"), binding("b", "Role", "r", "ann"))
        .await
        .unwrap();
    assert_eq!(may().await, Err(403));
    api.client.update(&rbac("roles"), Some("default"), role("r", &["create"])).await.unwrap();
    assert!(may().await.is_ok());
    api.client.delete(&rbac("rolebindings"), Some("default"), "b", &Default::default()).await.unwrap();
    assert_eq!(may().await, Err(403));
}

#[tokio::test]
async fn nobody_grants_more_than_they_have() {
    let api = api();
    let jane = jane(&api).await;
    jane.create(&rbac("roles"), Some("default"), role("fine", &["get", "create"])).await.unwrap();
    let mut nodes = role("greedy", &["get"]);
    nodes.set(&["rules"], json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]));
    let refused = jane.create(&rbac("roles"), Some("default"), nodes.clone()).await.unwrap_err();
    assert_eq!(
        refused.message,
        "roles.rbac.authorization.k8s.io \"greedy\" is forbidden: user \"jane\" (groups=[\"devs\" \
         \"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], \
         Resources:[\"nodes\"], Verbs:[\"get\" \"list\"]}"
    );
    nodes.set(&["metadata", "name"], "fine");
    assert_eq!(jane.update(&rbac("roles"), Some("default"), nodes).await.unwrap_err().code, 403);
    let admin = binding("all", "ClusterRole", "cluster-admin", "jane");
    assert_eq!(jane.create(&rbac("rolebindings"), Some("default"), admin).await.unwrap_err().code, 403);
    let own = binding("own", "Role", "fine", "bob");
    jane.create(&rbac("rolebindings"), Some("default"), own).await.unwrap();
}

#[tokio::test]
async fn aggregated_roles_grow_with_their_parts() {
    let api = api();
    jane(&api).await;
    let mut part = role("part", &["get"]);
    part.set(&["kind"], "ClusterRole");
    part.set(&["metadata", "labels", "rbac.authorization.k8s.io/aggregate-to-admin"], "true");
    part.set(&["rules"], json!([{"apiGroups": [""], "resources": ["configmaps/things"], "verbs": ["get"]}]));
    api.client.create(&rbac("clusterroles"), None, part).await.unwrap();
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "jane", "resourceAttributes": {
            "verb": "get", "resource": "configmaps", "subresource": "things", "namespace": "default",
        }},
    });
    let answer = api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review).await.json();
    assert_eq!(answer.at(&["status", "allowed"]), Some(&true.into()), "{answer}");
}

#[tokio::test]
async fn one_acts_as_another_if_one_may() {
    let api = api();
    let jane = jane(&api).await;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_json();
    let headers = [
        ("content-type", "application/json"),
        ("impersonate-user", "system:serviceaccount:default:robot"),
        ("impersonate-extra-scopes", "view"),
    ];
    let me = api.send("POST", path, &headers, &review).await;
    assert_eq!(me.code, 201, "{}", me.text);
    let info = me.json().at(&["status", "userInfo"]).cloned().unwrap();
    assert_eq!(info.str_at(&["username"]), Some("system:serviceaccount:default:robot"));
    assert_eq!(info.at(&["extra"]), Some(&json!({"scopes": ["view"]})));

    let service = api.server.service(jane.user().clone());
    let request = http::Request::get("/api/v1/namespaces/default/pods").header("impersonate-user", "bob");
    let request = request.body(http_body_util::Full::new(bytes::Bytes::new())).unwrap();
    let response = tower::ServiceExt::oneshot(service, request).await.unwrap();
    assert_eq!(response.status(), 403);
}

#[tokio::test]
async fn all_that_one_may_is_listed() {
    let api = api();
    let jane = jane(&api).await;
    let service = api.server.service(jane.user().clone());
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"},
    });
    let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews")
        .header("content-type", "application/json")
        .body(http_body_util::Full::new(bytes::Bytes::from(review.to_json())))
        .unwrap();
    let response = tower::ServiceExt::oneshot(service, request).await.unwrap();
    assert_eq!(response.status(), 201);
    let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    let answer = pilothouse_value::parse::json(&body).unwrap().value;
    let rules = answer.items_at(&["status", "resourceRules"]);
    assert!(rules.iter().any(|rule| rule.items_at(&["resources"]).contains(&"secrets".into())), "{answer}");
    assert_eq!(answer.at(&["status", "incomplete"]), Some(&false.into()));
}

#[tokio::test]
async fn the_token_of_a_pod_dies_with_the_pod() {
    let api = api();
    let accounts = Gvr::new("", "v1", "serviceaccounts");
    api.client.create(&accounts, Some("default"), json!({"metadata": {"name": "robot"}})).await.unwrap();
    let mut pod = crate::support::pod("p");
    pod.set(&["spec", "serviceAccountName"], "robot");
    api.client.create(&pods(), Some("default"), pod).await.unwrap();
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": [], "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}},
    });
    let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let answer = api.post(path, &request).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    let token = answer.json().str_at(&["status", "token"]).unwrap().to_owned();
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let good = api.post(path, &review).await.json();
    let name = good.at(&["status", "user", "extra", "authentication.kubernetes.io/pod-name"]);
    assert_eq!(name, Some(&json!(["p"])), "{good}");
    api.client.delete(&pods(), Some("default"), "p", &Default::default()).await.unwrap();
    let gone = api.post(path, &review).await.json();
    assert_eq!(gone.at(&["status", "authenticated"]), None, "{gone}");
}
