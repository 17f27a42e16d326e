//! Calls of webhooks that go wrong, and where webhooks are found.

use pilothouse_apiserver::Value;
use pilothouse_value::json;

use crate::hook::{Hook, allow, configure, deny, patch, respond};
use crate::support::{Api, config_map, config_maps};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// What a client is told whose request a webhook of this kind is asked about.
async fn outcome(hook: &Hook, kind: &str, more: Value) -> (u16, String) {
    let api = Api::start();
    configure(&api, kind, "c", vec![hook.webhook("v.example.com", more)]).await;
    let answer = api.post(CONFIG_MAPS, &config_map("a")).await;
    (answer.code, answer.message())
}

#[tokio::test]
async fn nobody_listens() {
    let hook = Hook::serve(allow).await;
    let nowhere = json!({"url": "https://127.0.0.1:1/path/", "caBundle": hook.bundle()});
    let more = json!({"clientConfig": nowhere.clone(), "timeoutSeconds": 3});
    let (code, message) = outcome(&hook, "Validating", more.clone()).await;
    assert_eq!(code, 500);
    assert_eq!(
        message,
        "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: \
         Post \"https://127.0.0.1:1/path?timeout=3s\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
    assert_eq!(outcome(&hook, "Mutating", more).await.0, 500);
    let ignored = json!({"clientConfig": nowhere, "failurePolicy": "Ignore"});
    assert_eq!(outcome(&hook, "Validating", ignored.clone()).await.0, 201);
    assert_eq!(outcome(&hook, "Mutating", ignored).await.0, 201);
}

#[tokio::test]
async fn a_denial_is_no_failure_that_could_be_ignored() {
    let hook = Hook::serve(|asked| deny(asked, json!({"message": "no", "code": 403}))).await;
    assert_eq!(outcome(&hook, "Validating", json!({"failurePolicy": "Ignore"})).await.0, 403);
}

#[tokio::test]
async fn a_server_with_a_certificate_for_others_is_not_believed() {
    let other = Hook::for_names(&["other.example.com"]).await;
    let text = |why: &str, hook: &Hook| {
        format!(
            "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: Post \
             \"https://{}/?timeout=10s\": tls: failed to verify certificate: x509: {why}",
            hook.address
        )
    };
    let why = "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs";
    assert_eq!(outcome(&other, "Validating", json!({})).await, (500, text(why, &other)));
    let second = Hook::serve(allow).await;
    let mixed =
        json!({"clientConfig": {"url": format!("https://{}", second.address), "caBundle": other.bundle()}});
    let why = "certificate signed by unknown authority";
    assert_eq!(outcome(&second, "Validating", mixed).await, (500, text(why, &second)));
}

#[tokio::test]
async fn answers_that_are_none_are_told_of() {
    let cases: Vec<(Value, &str)> = vec![
        (
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}),
            "received invalid webhook response: webhook response was absent",
        ),
        (
            json!({"response": {"uid": "UID", "allowed": true}}),
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "x"}}),
            "received invalid webhook response: expected response.uid=\"UID\", got \"x\"",
        ),
        (
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "response": {}}),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "UID", "allowed": true, "patch": "W10="}}),
            "received invalid webhook response: webhook returned response.patch but not response.patchType",
        ),
        (
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "UID", "allowed": true, "patchType": "JSONPatch"}}),
            "received invalid webhook response: webhook returned response.patchType but not response.patch",
        ),
        (
            json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "UID", "allowed": true, "patchType": "Merge", "patch": "W3t9XQ=="}}),
            "unsupported patch type \"Merge\"",
        ),
    ];
    for (answer, why) in cases {
        let hook = Hook::serve(move |asked| {
            let mut answer = answer.clone();
            if answer.str_at(&["response", "uid"]) == Some("UID") {
                answer.set(&["response", "uid"], asked.text(&["uid"]));
            }
            answer
        })
        .await;
        let (code, message) = outcome(&hook, "Mutating", json!({})).await;
        let uid = hook.asked()[0].text(&["uid"]);
        let why = why.replace("UID", &uid);
        assert_eq!(code, 500);
        assert_eq!(
            message,
            format!("Internal error occurred: failed calling webhook \"v.example.com\": {why}")
        );
    }
}

#[tokio::test]
async fn answers_that_are_no_success_are_told_of() {
    let cases = [
        (404, Value::Null, "the server could not find the requested resource"),
        (500, json!("{}"), "an error on the server (\"unknown\") has prevented the request from succeeding"),
        (
            500,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "broken", "code": 500}),
            "broken",
        ),
        (200, json!(""), "0-length response with status code: 200 and content type: application/json"),
    ];
    for (code, body, why) in cases {
        let hook = Hook::serve_codes(move |_| (code, body.clone())).await;
        let (code, message) = outcome(&hook, "Validating", json!({})).await;
        assert_eq!(code, 500);
        assert_eq!(
            message,
            format!(
                "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: {why}"
            )
        );
    }
}

#[tokio::test]
async fn a_validating_webhook_changes_nothing() {
    let hook = Hook::serve(|asked| patch(asked, &json!([]))).await;
    let (code, message) = outcome(&hook, "Validating", json!({})).await;
    assert_eq!(code, 500);
    assert!(
        message
            .ends_with("received invalid webhook response: validating webhook may not return response.patch")
    );
}

#[tokio::test]
async fn a_deletion_cannot_be_patched() {
    let hook = Hook::serve(|asked| match asked.text(&["operation"]).as_str() {
        "DELETE" => patch(asked, &json!([{"op": "add", "path": "/data", "value": {}}])),
        _ => allow(asked),
    })
    .await;
    let api = Api::start();
    configure(&api, "Mutating", "m", vec![hook.webhook("m.example.com", json!({}))]).await;
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    let answer = api.delete(&format!("{CONFIG_MAPS}/a")).await;
    assert_eq!(answer.code, 500);
    assert_eq!(
        answer.message(),
        "Internal error occurred: admission webhook \"m.example.com\" attempted to modify the object, which is not \
         supported for this operation"
    );
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_says_nothing_is_waited_for_as_long_as_it_may_take() {
    // It takes connections and never answers: time passes only on tokio's clock.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    let hook = Hook::serve(allow).await;
    let more = json!({
        "clientConfig": {"url": format!("https://{silent}"), "caBundle": hook.bundle()}, "timeoutSeconds": 2,
    });
    let (code, message) = outcome(&hook, "Validating", more.clone()).await;
    assert_eq!(code, 500);
    assert_eq!(
        message,
        format!(
            "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: Post \
             \"https://{silent}/?timeout=2s\": context deadline exceeded"
        )
    );
    // The time of the whole request comes first.
    let api = Api::start();
    configure(&api, "Validating", "c", vec![hook.webhook("v.example.com", more)]).await;
    let answer = api.post(&format!("{CONFIG_MAPS}?timeout=1s"), &config_map("a")).await;
    assert_eq!(answer.code, 504);
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    assert!(answer.text.contains("Timeout: request did not complete within the allotted timeout"));
}

#[tokio::test]
async fn a_service_is_found_by_the_resolver_and_then_by_its_endpoints() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    let service = json!({"namespace": "default", "name": "hook", "path": "/review", "port": 8443});
    let more = json!({"clientConfig": {"service": service, "caBundle": hook.bundle()}});
    configure(&api, "Validating", "c", vec![hook.webhook("v.example.com", more)]).await;
    let answer = api.post(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(
        answer.message(),
        "Internal error occurred: failed calling webhook \"v.example.com\": failed to call webhook: Post \
         \"https://hook.default.svc:8443/review?timeout=10s\": service \"hook\" not found"
    );
    let address = hook.address;
    api.server.set_service_resolver(std::sync::Arc::new(move |namespace: &str, name: &str, port: u16| {
        assert_eq!((namespace, name, port), ("default", "hook", 8443));
        Some(address)
    }));
    assert_eq!(api.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
    assert_eq!(hook.take()[0].headers["host"], "hook.default.svc:8443");

    api.server.set_service_resolver(std::sync::Arc::new(|_: &str, _: &str, _: u16| None));
    let services = pilothouse_apiserver::Gvr::new("", "v1", "services");
    let slices = pilothouse_store::ResourceKey::new("discovery.k8s.io", "endpointslices");
    let hook_service =
        json!({"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 8443, "name": "https"}]}});
    api.client.create(&services, Some("default"), hook_service).await.unwrap();
    // Endpoints are never on this host, as far as the API is concerned: this one gets past its rules.
    let slice = json!({
        "metadata": {"name": "hook-1", "namespace": "default", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": i64::from(hook.address.port()), "protocol": "TCP"}],
        "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": true}}],
    });
    let mut bytes = |_: u64| bytes::Bytes::from(slice.to_json());
    let change = pilothouse_store::Change::Put(&mut bytes);
    api.server.store().commit(&slices, "default", "hook-1", None, change).unwrap();
    assert_eq!(api.post(CONFIG_MAPS, &config_map("b")).await.code, 201);
}

#[tokio::test]
async fn a_dry_run_asks_only_webhooks_without_side_effects() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    let none = json!({"sideEffects": "NoneOnDryRun"});
    configure(&api, "Validating", "c", vec![hook.webhook("v.example.com", none)]).await;
    assert_eq!(api.post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("a")).await.code, 201);
    assert_eq!(hook.take()[0].get(&["dryRun"]), Value::Bool(true));
}

#[tokio::test]
async fn connections_are_used_again() {
    let hook = Hook::serve(|asked| respond(asked, json!({"allowed": true}))).await;
    let api = Api::start();
    configure(&api, "Validating", "c", vec![hook.webhook("v.example.com", json!({}))]).await;
    for index in 0..5 {
        let name = format!("a{index}");
        api.client.create(&config_maps(), Some("default"), config_map(&name)).await.unwrap();
    }
    assert_eq!(hook.take().len(), 5);
    assert_eq!(hook.connections(), 1);
}

#[tokio::test]
async fn http_2_is_spoken_on_this_machine_and_not_with_services() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    configure(&api, "Validating", "c", vec![hook.webhook("v.example.com", json!({}))]).await;
    let calls = (0..8).map(|index| {
        let (client, name) = (api.client.clone(), format!("a{index}"));
        async move { client.create(&config_maps(), Some("default"), config_map(&name)).await.map(drop) }
    });
    // The first call opens the connection that all later ones share.
    api.client.create(&config_maps(), Some("default"), config_map("first")).await.unwrap();
    for created in futures::future::join_all(calls).await {
        created.unwrap();
    }
    assert!(hook.take().iter().all(|asked| asked.version == http::Version::HTTP_2));
    assert_eq!(hook.connections(), 1);

    let address = hook.address;
    api.server.set_service_resolver(std::sync::Arc::new(move |_: &str, _: &str, _: u16| Some(address)));
    let service = json!({"namespace": "default", "name": "hook"});
    let more = json!({"clientConfig": {"service": service, "caBundle": hook.bundle()}});
    configure(&api, "Validating", "d", vec![hook.webhook("w.example.com", more)]).await;
    api.client.create(&config_maps(), Some("default"), config_map("last")).await.unwrap();
    assert!(hook.take().iter().any(|asked| asked.version == http::Version::HTTP_11));
}

#[tokio::test]
async fn the_objects_behind_a_deleted_definition_go_without_webhooks_being_asked() {
    let hook = Hook::serve(|asked| deny(asked, json!({"message": "no", "code": 403}))).await;
    let api = crate::support::with_caches().await;
    api.client.create(&crate::support::caches(), Some("default"), crate::support::cache("c")).await.unwrap();
    let rules = json!([{
        "operations": ["DELETE"], "apiGroups": ["demo.io"], "apiVersions": ["*"], "resources": ["caches"],
    }]);
    configure(&api, "Validating", "c", vec![hook.webhook("v.example.com", json!({"rules": rules}))]).await;
    assert_eq!(api.delete("/apis/demo.io/v1/namespaces/default/caches/c").await.code, 403);
    let crds = crate::support::crds();
    let options = pilothouse_apiserver::WatchOptions::default();
    let mut stream = api.client.watch(&crds, None, &options).await.unwrap();
    api.client.delete(&crds, None, "caches.demo.io", &Default::default()).await.unwrap();
    while stream.next().await.unwrap().kind != pilothouse_apiserver::WatchEventKind::Deleted {}
    assert_eq!(hook.take().len(), 1);
}
