//! Admission webhooks: what they are asked, about what, in which order, and what they may change.

use std::sync::atomic::{AtomicUsize, Ordering};

use pilothouse_apiserver::Value;
use pilothouse_value::{json, object};

use crate::hook::{Asked, Hook, allow, configure, deny, patch, respond};
use crate::support::{
    Api, cache, cache_definition, config_map, config_maps, crds, deployment, deployments, namespaces, pod,
    pods,
};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn add_label(key: &str) -> Value {
    json!([{"op": "add", "path": format!("/data/{key}"), "value": "set"}])
}

#[tokio::test]
async fn a_review_has_all_that_upstream_tells() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    configure(&api, "Validating", "v", vec![hook.webhook("v.example.com", json!({}))]).await;
    let path = format!("{CONFIG_MAPS}?fieldManager=me&dryRun=All&fieldValidation=Strict");
    assert_eq!(api.post(&path, &config_map("a")).await.code, 201);
    let asked = hook.take();
    let [asked] = asked.as_slice() else { panic!("asked {} times", asked.len()) };
    assert_eq!(asked.target, "/?timeout=10s");
    assert_eq!(asked.headers["content-type"], "application/json");
    assert_eq!(asked.headers["user-agent"], "kube-apiserver-admission");
    assert_eq!(asked.review.str_at(&["apiVersion"]), Some("admission.k8s.io/v1"));
    assert_eq!(asked.review.str_at(&["kind"]), Some("AdmissionReview"));
    let request = asked.review.get("request").unwrap();
    let keys: Vec<&str> = request.as_object().unwrap().iter().map(|(key, _)| key).collect();
    let expected = "dryRun kind name namespace object oldObject operation options requestKind requestResource resource uid \
                    userInfo";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(asked.get(&["kind"]), json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
    assert_eq!(asked.get(&["requestKind"]), asked.get(&["kind"]));
    assert_eq!(asked.get(&["resource"]), json!({"group": "", "version": "v1", "resource": "configmaps"}));
    assert_eq!(asked.text(&["name"]), "a");
    assert_eq!(asked.text(&["namespace"]), "default");
    assert_eq!(asked.text(&["operation"]), "CREATE");
    assert_eq!(asked.text(&["userInfo", "username"]), "system:admin");
    assert_eq!(asked.get(&["userInfo", "groups"]), json!(["system:masters", "system:authenticated"]));
    assert_eq!(asked.text(&["object", "metadata", "namespace"]), "default");
    assert!(!asked.text(&["object", "metadata", "uid"]).is_empty());
    assert_eq!(asked.get(&["oldObject"]), Value::Null);
    assert_eq!(asked.get(&["dryRun"]), Value::Bool(true));
    assert_eq!(
        asked.get(&["options"]),
        json!({
            "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "fieldManager": "me",
            "fieldValidation": "Strict",
        })
    );
}

#[tokio::test]
async fn a_mutating_webhook_sees_the_object_before_the_server_fills_it_in() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    configure(&api, "Mutating", "m", vec![hook.webhook("m.example.com", json!({}))]).await;
    let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}});
    assert_eq!(api.post(CONFIG_MAPS, &unnamed).await.code, 201);
    let asked = hook.take();
    assert_eq!(asked[0].get(&["name"]), Value::Null);
    assert_eq!(asked[0].get(&["object", "metadata", "uid"]), Value::Null);
    assert_eq!(asked[0].text(&["object", "metadata", "managedFields"]), "");
    assert_eq!(asked[0].get(&["object", "metadata", "managedFields"]).as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn every_verb_is_an_operation() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    configure(&api, "Validating", "v", vec![hook.webhook("v.example.com", json!({}))]).await;
    let one = format!("{CONFIG_MAPS}/a");
    let operation = |asked: &[Asked]| {
        asked
            .iter()
            .map(|asked| {
                let there = |key: &str| !asked.get(&[key]).is_null();
                (
                    asked.text(&["operation"]),
                    asked.text(&["options", "kind"]),
                    asked.text(&["name"]),
                    there("object"),
                    there("oldObject"),
                )
            })
            .collect::<Vec<_>>()
    };
    let expected = |operation: &str, options: &str, name: &str, object, old| {
        vec![(operation.to_owned(), options.to_owned(), name.to_owned(), object, old)]
    };
    let apply = ("application/apply-patch+yaml", format!("{one}?fieldManager=me&force=true"));
    api.patch(apply.0, &apply.1, &config_map("a")).await;
    assert_eq!(operation(&hook.take()), expected("CREATE", "CreateOptions", "a", true, false));
    let mut changed = config_map("a");
    changed.set(&["data", "a"], "2");
    api.patch(apply.0, &apply.1, &changed).await;
    assert_eq!(operation(&hook.take()), expected("UPDATE", "UpdateOptions", "a", true, true));
    api.patch("application/merge-patch+json", &one, &json!({"data": {"a": "3"}})).await;
    assert_eq!(operation(&hook.take()), expected("UPDATE", "UpdateOptions", "a", true, true));
    api.put(&one, &config_map("a")).await;
    assert_eq!(operation(&hook.take()), expected("UPDATE", "UpdateOptions", "a", true, true));
    assert_eq!(api.delete(&one).await.code, 200);
    assert_eq!(operation(&hook.take()), expected("DELETE", "DeleteOptions", "a", false, true));
    api.post(CONFIG_MAPS, &config_map("b")).await;
    hook.take();
    // The request is about all of them, and names none.
    assert_eq!(api.delete(&format!("{CONFIG_MAPS}?labelSelector=!x")).await.code, 200);
    assert!(operation(&hook.take()).contains(&expected("DELETE", "DeleteOptions", "", false, true)[0]));
}

#[tokio::test]
async fn subresources_are_asked_about_with_their_own_kinds() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    let everything = json!({"rules": [{
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
    }]});
    configure(&api, "Validating", "v", vec![hook.webhook("v.example.com", everything)]).await;
    api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    hook.take();
    let scale = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    let answer = api.patch("application/merge-patch+json", scale, &json!({"spec": {"replicas": 5}})).await;
    assert_eq!(answer.code, 200);
    let asked = hook.take();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].text(&["subResource"]), "scale");
    assert_eq!(asked[0].text(&["requestSubResource"]), "scale");
    assert_eq!(asked[0].get(&["kind"]), json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}));
    assert_eq!(asked[0].get(&["object", "spec", "replicas"]).as_i64(), Some(5));
    assert_eq!(asked[0].get(&["oldObject", "spec", "replicas"]).as_i64(), Some(2));

    let mut fixture = pod("p");
    fixture.set(&["spec", "nodeName"], "n");
    api.client.create(&pods(), Some("default"), fixture).await.unwrap();
    hook.take();
    let answer =
        api.post("/api/v1/namespaces/default/pods/p/exec?command=a&command=b&stdin=true", &json!({})).await;
    assert_eq!(answer.code, 404, "there is no node");
    let asked = hook.take();
    assert_eq!(asked[0].text(&["operation"]), "CONNECT");
    assert_eq!(
        asked[0].get(&["object"]),
        json!({"kind": "PodExecOptions", "apiVersion": "v1", "stdin": true, "command": ["a", "b"]})
    );
    assert_eq!(asked[0].get(&["options"]), Value::Null);

    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let answer = api.post("/api/v1/namespaces/default/pods/p/eviction", &eviction).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    let asked = hook.take();
    let kinds: Vec<String> = asked.iter().map(|asked| asked.text(&["kind", "kind"])).collect();
    assert_eq!(kinds, ["Eviction"], "what an eviction does was asked about when it was asked for");
}

#[tokio::test]
async fn patches_are_made_in_order_and_read_with_the_schema() {
    let first = Hook::serve(|asked| patch(asked, &add_label("one"))).await;
    let second = Hook::serve(|asked| {
        assert_eq!(asked.text(&["object", "data", "one"]), "set");
        patch(
            asked,
            &json!([{"op": "add", "path": "/unknown", "value": 1},
            {"op": "add", "path": "/data/two", "value": "set"}]),
        )
    })
    .await;
    let api = Api::start();
    // Configurations are sorted by their names.
    configure(&api, "Mutating", "b", vec![second.webhook("second.example.com", json!({}))]).await;
    configure(&api, "Mutating", "a", vec![first.webhook("first.example.com", json!({}))]).await;
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    assert_eq!(made.get("data"), Some(&json!({"a": "1", "one": "set", "two": "set"})));
    assert_eq!(made.get("unknown"), None);
}

#[tokio::test]
async fn what_a_webhook_sets_is_defaulted_validated_and_pruned() {
    let hook = Hook::serve(|asked| {
        let operations = match asked.text(&["resource", "resource"]).as_str() {
            "caches" => json!([
                {"op": "add", "path": "/spec/unknown", "value": true},
                {"op": "replace", "path": "/spec/replicas", "value": asked.get(&["object", "spec", "wanted"])},
            ]),
            _ => json!([{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "x"}}]),
        };
        patch(asked, &operations)
    })
    .await;
    let api = Api::start();
    let mut definition = cache_definition();
    let versions = definition.at_mut(&["spec", "versions"]).and_then(Value::as_array_mut).unwrap();
    let spec = ["schema", "openAPIV3Schema", "properties", "spec", "properties", "wanted"];
    versions[0].set(&spec, json!({"type": "integer"}));
    api.client.create(&crds(), None, definition).await.unwrap();
    let rules = json!({"rules": [{
        "operations": ["CREATE"], "apiGroups": ["", "demo.io"], "apiVersions": ["v1"],
        "resources": ["pods", "caches"],
    }]});
    configure(&api, "Mutating", "m", vec![hook.webhook("m.example.com", rules)]).await;
    let made = api.client.create(&pods(), Some("default"), pod("p")).await.unwrap();
    let side = &made.items_at(&["spec", "containers"])[1];
    assert_eq!(side.str_at(&["imagePullPolicy"]), Some("Always"));

    let caches = pilothouse_apiserver::Gvr::new("demo.io", "v1", "caches");
    let mut good = cache("good");
    good.set(&["spec", "wanted"], 7);
    let made = api.client.create(&caches, Some("default"), good).await.unwrap();
    assert_eq!(made.get("spec"), Some(&json!({"replicas": 7, "wanted": 7, "mode": "fast"})));
    let mut bad = cache("bad");
    bad.set(&["spec", "wanted"], 70);
    let status = api.client.create(&caches, Some("default"), bad).await.unwrap_err();
    assert_eq!(status.code, 422);
    assert!(status.message.contains("should be less than or equal to 10"), "{}", status.message);
}

#[tokio::test]
async fn a_webhook_that_can_be_asked_again_is_asked_once_more_after_a_change() {
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let first = Hook::serve(move |asked| {
        count.fetch_add(1, Ordering::Relaxed);
        allow(asked)
    })
    .await;
    let second = Hook::serve(|asked| patch(asked, &add_label("late"))).await;
    let api = Api::start();
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let webhooks = vec![
        first.webhook("again.example.com", again),
        first.webhook("never.example.com", json!({})),
        second.webhook("changes.example.com", json!({})),
    ];
    configure(&api, "Mutating", "m", webhooks).await;
    api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 3, "both, and one of them once more");
    assert_eq!(first.take()[2].text(&["object", "data", "late"]), "set");
    assert_eq!(second.take().len(), 1);
}

#[tokio::test]
async fn selectors_and_rules_say_what_is_asked_about() {
    let hook = Hook::serve(allow).await;
    let api = Api::start();
    for (name, labels) in [("red", json!({"color": "red"})), ("blue", json!({"color": "blue"}))] {
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        api.client.create(&namespaces(), None, namespace).await.unwrap();
    }
    let rules = |group: &str, resource: &str, scope: &str| {
        json!([{
            "operations": ["CREATE", "UPDATE"], "apiGroups": [group], "apiVersions": ["*"],
            "resources": [resource], "scope": scope,
        }])
    };
    let red = json!({"matchLabels": {"color": "red"}});
    let webhooks = vec![
        hook.webhook(
            "namespace.example.com",
            json!({
                "clientConfig": hook.client_config("/namespace"), "namespaceSelector": red.clone(),
                "rules": rules("", "*", "*"),
            }),
        ),
        hook.webhook(
            "object.example.com",
            json!({
                "clientConfig": hook.client_config("/object"), "objectSelector": red.clone(),
            }),
        ),
        hook.webhook(
            "cluster.example.com",
            json!({
                "clientConfig": hook.client_config("/cluster"), "rules": rules("*", "*", "Cluster"),
            }),
        ),
    ];
    configure(&api, "Validating", "v", webhooks).await;
    let paths = || -> Vec<String> {
        let mut paths: Vec<String> = hook.take().iter().map(|asked| asked.target.clone()).collect();
        paths.sort();
        paths.iter().map(|path| path.trim_end_matches("?timeout=10s").to_owned()).collect()
    };
    let mut labelled = config_map("a");
    labelled.set(&["metadata", "labels", "color"], "red");
    api.client.create(&config_maps(), Some("blue"), config_map("a")).await.unwrap();
    assert_eq!(paths(), [""; 0]);
    api.client.create(&config_maps(), Some("red"), config_map("a")).await.unwrap();
    assert_eq!(paths(), ["/namespace"]);
    api.client.create(&config_maps(), Some("default"), labelled).await.unwrap();
    assert_eq!(paths(), ["/object"]);
    // The label that goes counts as much as the one that comes.
    api.client.update(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    assert_eq!(paths(), ["/object"]);
    // A namespace is selected by what it will be.
    let namespace = json!({"metadata": {"name": "blue", "labels": {"color": "red"}}});
    api.client.update(&namespaces(), None, namespace).await.unwrap();
    assert_eq!(paths(), ["/cluster", "/namespace"]);
    // Namespaces are cluster-scoped, though requests name them as theirs.
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    let roles = pilothouse_apiserver::Gvr::new("rbac.authorization.k8s.io", "v1", "clusterroles");
    api.client.create(&roles, None, role).await.unwrap();
    assert_eq!(paths(), ["/cluster"]);
}

#[tokio::test]
async fn an_equivalent_version_is_converted_to_the_one_of_the_rule() {
    let hook = Hook::serve(|asked| {
        assert_eq!(asked.text(&["object", "apiVersion"]), "demo.io/v1");
        assert_eq!(asked.text(&["kind", "version"]), "v1");
        patch(asked, &json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]))
    })
    .await;
    let api = Api::start();
    let mut definition = cache_definition();
    let versions = definition.at_mut(&["spec", "versions"]).and_then(Value::as_array_mut).unwrap();
    let mut other = versions[0].clone();
    other.set(&["name"], "v2");
    other.set(&["storage"], false);
    versions.push(other);
    api.client.create(&crds(), None, definition).await.unwrap();
    let rules = json!([{
        "operations": ["CREATE"], "apiGroups": ["demo.io"], "apiVersions": ["v1"], "resources": ["caches"],
    }]);
    let exact = Hook::serve(allow).await;
    let webhooks = vec![
        hook.webhook("equivalent.example.com", json!({"rules": rules.clone()})),
        exact.webhook("exact.example.com", json!({"rules": rules, "matchPolicy": "Exact"})),
    ];
    configure(&api, "Mutating", "m", webhooks).await;
    let caches = pilothouse_apiserver::Gvr::new("demo.io", "v2", "caches");
    let mut made = cache("c");
    made.set(&["apiVersion"], "demo.io/v2");
    let made = api.client.create(&caches, Some("default"), made).await.unwrap();
    assert_eq!(object::api_version(&made), "demo.io/v2");
    assert_eq!(made.i64_at(&["spec", "replicas"]), Some(3));
    let asked = hook.take();
    assert_eq!(asked[0].text(&["requestKind", "version"]), "v2");
    assert_eq!(asked[0].text(&["requestResource", "version"]), "v2");
    assert_eq!(exact.take().len(), 0);
}

#[tokio::test]
async fn a_denial_has_the_code_and_the_words_of_the_webhook() {
    let cases = [
        (json!({"message": "no", "code": 403, "reason": "Forbidden"}), 403, "denied the request: no"),
        (json!({"reason": "Because"}), 400, "denied the request: Because"),
        (json!({"code": 200, "status": "Success"}), 400, "denied the request without explanation"),
        (Value::Null, 400, "denied the request without explanation"),
    ];
    let api = Api::start();
    for (index, (status, code, text)) in cases.into_iter().enumerate() {
        let hook = Hook::serve(move |asked| deny(asked, status.clone())).await;
        let name = format!("c{index}");
        configure(&api, "Validating", &name, vec![hook.webhook("v.example.com", json!({}))]).await;
        let answer = api.post(CONFIG_MAPS, &config_map("a")).await;
        assert_eq!(
            (answer.code, answer.message()),
            (code, format!("admission webhook \"v.example.com\" {text}"))
        );
        assert_eq!(answer.json().str_at(&["status"]), Some("Failure"));
        let path = format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}");
        assert_eq!(api.delete(&path).await.code, 200);
    }
    assert_eq!(api.post(CONFIG_MAPS, &config_map("a")).await.code, 201, "without webhooks nobody is asked");
}

#[tokio::test]
async fn warnings_reach_the_client() {
    let hook = Hook::serve(|asked| {
        respond(asked, json!({"allowed": true, "warnings": ["careful", "very \"careful\""], "auditAnnotations": {"a": "b"}}))
    })
    .await;
    let api = Api::start();
    configure(&api, "Validating", "v", vec![hook.webhook("v.example.com", json!({}))]).await;
    let answer = api.post(CONFIG_MAPS, &config_map("a")).await;
    let warnings: Vec<&str> =
        answer.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(warnings, ["299 - \"careful\"", "299 - \"very \\\"careful\\\"\""]);
}

#[tokio::test]
async fn what_configures_admission_and_reviews_is_never_asked_about() {
    let hook = Hook::serve(|asked| deny(asked, Value::Null)).await;
    let api = Api::start();
    let everything = json!({"rules": [{
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
    }]});
    configure(&api, "Validating", "all", vec![hook.webhook("all.example.com", everything)]).await;
    configure(&api, "Mutating", "other", vec![hook.webhook("other.example.com", json!({}))]).await;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    });
    let answer = api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await;
    assert_eq!(answer.code, 201);
    assert!(hook.take().is_empty());
    assert_eq!(api.post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await.code, 400);
}

#[tokio::test]
async fn a_review_of_the_older_version_is_answered_in_it() {
    let hook = Hook::serve(|asked| {
        assert_eq!(asked.review.str_at(&["apiVersion"]), Some("admission.k8s.io/v1beta1"));
        // Neither the kind nor the uid were ever looked at.
        json!({"response": {"allowed": true, "patch": "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEvYiIsInZhbHVlIjoiMiJ9XQ=="}})
    })
    .await;
    let api = Api::start();
    let versions = json!({"admissionReviewVersions": ["v9", "v1beta1", "v1"]});
    configure(&api, "Mutating", "m", vec![hook.webhook("m.example.com", versions)]).await;
    let made = api.client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    assert_eq!(made.str_at(&["data", "b"]), Some("2"));
}

#[tokio::test]
async fn owners_and_managers_are_mended_after_a_webhook() {
    let hook = Hook::serve(|asked| {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-1"});
        patch(
            asked,
            &json!([
                {"op": "add", "path": "/metadata/ownerReferences", "value": [owner.clone(), owner]},
                {"op": "replace", "path": "/metadata/managedFields/0/apiVersion", "value": ""},
            ]),
        )
    })
    .await;
    let api = Api::start();
    configure(&api, "Mutating", "m", vec![hook.webhook("m.example.com", json!({}))]).await;
    let answer = api.post(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    assert_eq!(answer.json().items_at(&["metadata", "ownerReferences"]).len(), 1);
    assert_eq!(answer.json().items_at(&["metadata", "managedFields"])[0].str_at(&["apiVersion"]), Some("v1"));
    let warnings: Vec<&str> =
        answer.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert!(warnings[0].contains(".metadata.managedFields was in an invalid state after admission"));
    assert!(warnings[0].contains("apiVersion must not be empty"));
    assert!(warnings[1].contains("duplicate entries after mutating admission happens"));
    assert!(warnings[1].contains("duplicate UID(s) observed: u-1"));
}

/// Typed clients write lists and maps that are not set as null, and webhooks patch them in.
#[tokio::test]
async fn nulls_that_a_webhook_sets_are_those_of_a_client() {
    let hook = Hook::serve(|asked| {
        patch(
            asked,
            &asked
                .get(&["object", "metadata", "annotations", "patch"])
                .as_str()
                .map(|text| pilothouse_value::parse::json(text.as_bytes()).unwrap().value)
                .unwrap_or_default(),
        )
    })
    .await;
    let api = Api::start();
    let mut definition = cache_definition();
    let versions = definition.at_mut(&["spec", "versions"]).and_then(Value::as_array_mut).unwrap();
    let spec = ["schema", "openAPIV3Schema", "properties", "spec", "properties"];
    let properties = versions[0].at_mut(&spec).unwrap();
    properties.set(&["tags"], json!({"type": "array", "items": {"type": "string"}}));
    properties.set(&["note"], json!({"type": "string", "nullable": true}));
    api.client.create(&crds(), None, definition).await.unwrap();
    let rules = json!({"rules": [{
        "operations": ["CREATE"], "apiGroups": ["demo.io"], "apiVersions": ["v1"], "resources": ["caches"],
    }]});
    configure(&api, "Mutating", "m", vec![hook.webhook("m.example.com", rules)]).await;
    let caches = pilothouse_apiserver::Gvr::new("demo.io", "v1", "caches");
    let with = |patch: Value| {
        let mut object = cache("c");
        object.set(&["metadata", "annotations", "patch"], patch.to_json());
        object
    };
    let nulls = json!([
        {"op": "add", "path": "/spec/tags", "value": null},
        {"op": "add", "path": "/spec/mode", "value": null},
        {"op": "add", "path": "/spec/note", "value": null},
    ]);
    let made = api.client.create(&caches, Some("default"), with(nulls)).await.unwrap();
    assert_eq!(made.get("spec"), Some(&json!({"replicas": 1, "mode": "fast", "note": null})));
    let inside = json!([{"op": "add", "path": "/spec/tags", "value": [null]}]);
    let status = api.client.create(&caches, Some("default"), with(inside)).await.unwrap_err();
    assert_eq!(status.code, 422);
}
