//! The audit log: who asked for what, and what became of it.

use std::sync::Arc;

use parking_lot::Mutex;
use pilothouse_apiserver::{AuditPolicy, AuditSink, Server, User, Value};
use pilothouse_value::json;

use crate::support::{Api, config_map, pod};

#[derive(Default)]
struct Kept(Mutex<Vec<Value>>);

impl AuditSink for Kept {
    fn take(&self, event: Value) {
        self.0.lock().push(event);
    }
}

impl Kept {
    fn take_all(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock())
    }
}

fn audited(rules: &str) -> (Api, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    let policy = format!("{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: {rules}}}");
    let policy = AuditPolicy::read(&policy).unwrap();
    let sink: Arc<dyn AuditSink> = kept.clone();
    let server = Server::builder().audit(policy, [sink]).start().unwrap();
    (Api::with(server), kept)
}

fn stages(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event.str_at(&["stage"]).unwrap()).collect()
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_request_is_written_of_when_it_comes_and_when_it_is_answered() {
    let (api, kept) = audited("[{level: Metadata}]");
    let headers = [("user-agent", "tester/1"), ("audit-id", "one"), ("content-type", "application/json")];
    api.send("POST", MAPS, &headers, &config_map("a").to_json()).await;
    let mut events = kept.take_all();
    assert_eq!(stages(&events), ["RequestReceived", "ResponseComplete"]);
    let mut last = events.pop().unwrap();
    for time in ["requestReceivedTimestamp", "stageTimestamp"] {
        let text = last.take(&[time]).unwrap();
        assert_eq!(text.as_str().map(str::len), Some("2026-01-01T00:00:00.000000Z".len()), "{text}");
    }
    assert_eq!(
        last,
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "one",
            "stage": "ResponseComplete", "requestURI": MAPS, "verb": "create",
            "user": {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]},
            "userAgent": "tester/1",
            "objectRef": {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"},
            "responseStatus": {"metadata": {}, "code": 201},
            "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
        })
    );
}

#[tokio::test]
async fn a_rule_says_how_much_is_written() {
    let (api, kept) = audited(
        "[{level: None, resources: [{resources: [secrets]}]},
          {level: RequestResponse, verbs: [create], omitStages: [RequestReceived], omitManagedFields: true},
          {level: Request, verbs: [patch], omitStages: [RequestReceived]}]",
    );
    api.get("/api/v1/namespaces/default/secrets").await;
    api.get(MAPS).await;
    assert!(kept.take_all().is_empty());
    api.post(MAPS, &config_map("a")).await;
    let events = kept.take_all();
    assert_eq!(stages(&events), ["ResponseComplete"]);
    assert_eq!(events[0].get("requestObject"), Some(&config_map("a")));
    let answer = events[0].get("responseObject").unwrap();
    assert!(answer.at(&["metadata", "uid"]).is_some() && answer.at(&["metadata", "managedFields"]).is_none());
    let patch = json!({"data": {"a": "2"}});
    api.patch("application/merge-patch+json", &format!("{MAPS}/a"), &patch).await;
    let events = kept.take_all();
    assert_eq!((events[0].get("requestObject"), events[0].get("responseObject")), (Some(&patch), None));
}

#[tokio::test]
async fn a_refusal_is_written_with_its_status_and_why() {
    let (api, kept) = audited("[{level: Metadata, omitStages: [RequestReceived]}]");
    let api = api.acting_as(User::new("ann", ["dev"]));
    api.get(&format!("{MAPS}/a")).await;
    let event = kept.take_all().pop().unwrap();
    assert_eq!(event.str_at(&["responseStatus", "reason"]), Some("Forbidden"));
    assert_eq!(event.i64_at(&["responseStatus", "code"]), Some(403));
    assert_eq!(event.str_at(&["annotations", "authorization.k8s.io/decision"]), Some("forbid"));
    let request = http::Request::get(MAPS).header("authorization", "Bearer x");
    let request = request.body(http_body_util::Full::new(bytes::Bytes::new())).unwrap();
    let _answer = tower::ServiceExt::oneshot(api.server.authenticating_service(), request).await.unwrap();
    let event = kept.take_all().pop().unwrap();
    assert_eq!(event.str_at(&["stage"]), Some("ResponseStarted"));
    assert_eq!(
        event.get("responseStatus"),
        Some(&json!({
            "metadata": {}, "status": "Failure", "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
        }))
    );
}

#[tokio::test]
async fn whom_a_request_is_carried_out_as_is_written() {
    let (api, kept) = audited("[{level: Metadata}]");
    api.send("GET", MAPS, &[("impersonate-user", "bob")], "").await;
    let events = kept.take_all();
    assert_eq!(events[0].get("impersonatedUser"), None);
    assert_eq!(events[1].str_at(&["user", "username"]), Some("system:admin"));
    assert_eq!(events[1].str_at(&["impersonatedUser", "username"]), Some("bob"));
}

#[tokio::test]
async fn the_end_of_a_watch_is_written_when_it_comes() {
    let (api, kept) = audited("[{level: Metadata}]");
    let watch = api.open("GET", &format!("{MAPS}?watch=true"), &[], "").await;
    assert_eq!(stages(&kept.take_all()), ["RequestReceived", "ResponseStarted"]);
    drop(watch);
    assert_eq!(stages(&kept.take_all()), ["ResponseComplete"]);
}

#[tokio::test]
async fn what_breaks_the_standard_to_audit_is_noted() {
    let (api, kept) =
        audited("[{level: Metadata, resources: [{resources: [pods]}], omitStages: [RequestReceived]}]");
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/audit": "baseline"}}});
    api.patch("application/merge-patch+json", "/api/v1/namespaces/default", &labels).await;
    let mut bad = pod("bad");
    bad.set(&["spec", "hostPID"], true);
    assert_eq!(api.post("/api/v1/namespaces/default/pods", &bad).await.code, 201);
    let event = kept.take_all().pop().unwrap();
    let note = |key: &str| event.str_at(&["annotations", &format!("pod-security.kubernetes.io/{key}")]);
    assert_eq!(note("enforce-policy"), Some("privileged:latest"));
    assert_eq!(
        note("audit-violations"),
        Some("would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)")
    );
}
