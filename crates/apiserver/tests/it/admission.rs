//! What the cluster adds to objects, and actions on pods.

use pilothouse_value::{json, object};

use crate::support::{Api, pod, pods};

#[tokio::test]
async fn a_pod_gets_its_account_and_token() {
    let api = Api::start();
    let accounts = pilothouse_apiserver::Gvr::new("", "v1", "serviceaccounts");
    api.client.create(&accounts, Some("default"), json!({"metadata": {"name": "default"}})).await.unwrap();
    let made = api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    assert_eq!(made.str_at(&["spec", "serviceAccountName"]), Some("default"));
    let volume = &made.items_at(&["spec", "volumes"])[0];
    assert!(volume.str_at(&["name"]).unwrap().starts_with("kube-api-access-"));
    let mount = &made.items_at(&["spec", "containers"])[0].items_at(&["volumeMounts"])[0];
    assert_eq!(mount.str_at(&["mountPath"]), Some("/var/run/secrets/kubernetes.io/serviceaccount"));
    assert_eq!(mount.get("name"), volume.get("name"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_first_account_of_its_namespace() {
    let api = Api::start();
    api.server.require_service_accounts(true);
    let client = api.client.clone();
    let pod = tokio::spawn(async move { client.create(&pods(), Some("default"), pod("p")).await });
    tokio::task::yield_now().await;
    let accounts = pilothouse_apiserver::Gvr::new("", "v1", "serviceaccounts");
    api.client.create(&accounts, Some("default"), json!({"metadata": {"name": "default"}})).await.unwrap();
    pod.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_without_its_account_is_refused_if_accounts_are_made() {
    let api = Api::start();
    api.server.require_service_accounts(true);
    let status = api.client.create(&pods(), Some("default"), pod("p")).await.unwrap_err();
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "pods \"p\" is forbidden: error looking up service account default/default: serviceaccount \"default\" not found"
    );
}

#[tokio::test]
async fn a_pod_starts_pending_with_priority_and_tolerations() {
    let api = Api::start();
    let made = api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    assert_eq!(made.str_at(&["status", "phase"]), Some("Pending"));
    assert_eq!(made.i64_at(&["spec", "priority"]), Some(0));
    assert_eq!(made.items_at(&["spec", "tolerations"]).len(), 2);
}

#[tokio::test]
async fn a_service_gets_an_address_and_keeps_it() {
    let api = Api::start();
    let services = pilothouse_apiserver::Gvr::new("", "v1", "services");
    let service = |name: &str| json!({"metadata": {"name": name}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}});
    let first = api.client.create(&services, Some("default"), service("a")).await.unwrap();
    let second = api.client.create(&services, Some("default"), service("b")).await.unwrap();
    let address = first.str_at(&["spec", "clusterIP"]).unwrap().to_owned();
    assert!(address.starts_with("10."));
    assert_ne!(Some(address.as_str()), second.str_at(&["spec", "clusterIP"]));
    let mut update = service("a");
    update.set(&["spec", "type"], "NodePort");
    let updated = api.client.update(&services, Some("default"), update).await.unwrap();
    assert_eq!(updated.str_at(&["spec", "clusterIP"]), Some(address.as_str()));
    let port = updated.items_at(&["spec", "ports"])[0].i64_at(&["nodePort"]).unwrap();
    assert!((30000..=32767).contains(&port));
}

#[tokio::test]
async fn an_address_cannot_be_changed() {
    let api = Api::start();
    let service =
        json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}});
    assert_eq!(api.post("/api/v1/namespaces/default/services", &service).await.code, 201);
    let patch = json!({"spec": {"clusterIP": "10.96.0.10"}});
    let answer =
        api.patch("application/merge-patch+json", "/api/v1/namespaces/default/services/a", &patch).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.message(),
        "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.96.0.10\"]: may not change once set"
    );
    let other =
        json!({"metadata": {"name": "b"}, "spec": {"clusterIP": "10.96.0.10", "ports": [{"port": 80}]}});
    let answer = api.post("/api/v1/namespaces/default/services", &other).await;
    assert_eq!(answer.code, 201, "what a refused change took is free again: {}", answer.text);
}

#[tokio::test]
async fn an_address_in_use_is_refused() {
    let api = Api::start();
    let service =
        json!({"metadata": {"name": "a"}, "spec": {"clusterIP": "10.96.0.1", "ports": [{"port": 80}]}});
    let answer = api.post("/api/v1/namespaces/default/services", &service).await;
    assert_eq!(answer.code, 422);
    assert!(answer.message().contains("provided IP is already allocated"), "{}", answer.message());
}

#[tokio::test]
async fn a_binding_places_a_pod_once() {
    let api = Api::start();
    api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    let path = "/api/v1/namespaces/default/pods/p/binding";
    let answer = api.post(path, &binding).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    let placed = api.client.get(&pods(), Some("default"), "p").await.unwrap();
    assert_eq!(placed.str_at(&["spec", "nodeName"]), Some("n"));
    assert!(object::condition_is_true(&placed, "PodScheduled"));
    assert_eq!(api.post(path, &binding).await.code, 409);
}

#[tokio::test]
async fn a_budget_stops_an_eviction() {
    let api = Api::start();
    let mut running = pod("p");
    running.set(&["metadata", "labels", "app"], "x");
    running.set(&["spec", "nodeName"], "n");
    let made = api.client.create(&pods(), Some("default"), running).await.unwrap();
    let mut status = made;
    status.set(&["status", "phase"], "Running");
    api.client.update_status(&pods(), Some("default"), status).await.unwrap();
    let budgets = pilothouse_apiserver::Gvr::new("policy", "v1", "poddisruptionbudgets");
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}});
    api.client.create(&budgets, Some("default"), budget).await.unwrap();
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let path = "/api/v1/namespaces/default/pods/p/eviction";
    let answer = api.post(path, &eviction).await;
    assert_eq!(answer.code, 429);
    assert_eq!(answer.message(), "Cannot evict pod as it would violate the pod's disruption budget.");
    api.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b").await;
    assert_eq!(api.post(path, &eviction).await.code, 201);
}

#[tokio::test]
async fn the_two_faces_of_an_event() {
    let api = Api::start();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "Because", "message": "it happened",
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "type": "Normal",
    });
    assert_eq!(api.post("/api/v1/namespaces/default/events", &event).await.code, 201);
    let other = api.get("/apis/events.k8s.io/v1/namespaces/default/events/e").await.json();
    assert_eq!(
        (other.str_at(&["note"]), other.str_at(&["regarding", "name"])),
        (Some("it happened"), Some("p"))
    );
    let selected = api.get("/api/v1/events?fieldSelector=involvedObject.name%3Dp,type%3DNormal").await.json();
    assert_eq!(selected.items_at(&["items"]).len(), 1);
}

#[tokio::test]
async fn a_pod_on_no_node_has_no_log() {
    let api = Api::start();
    api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    assert_eq!(api.get("/api/v1/namespaces/default/pods/p/log").await.code, 204);
}
