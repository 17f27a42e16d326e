//! What a server makes again when somebody deletes it, and how soon: as recorded from a real one (`conformance/kept`). The clock is
//! held, so nothing here waits.

use std::path::Path;
use std::time::Duration;

use pilothouse_apiserver::{Presence, Server, Value};
use pilothouse_value::parse;

use crate::support::Api;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// A server that tells an address, as the recorded one, and its port.
async fn api(renewal: Option<Duration>) -> (Api, u16) {
    let presence = Presence { address: Some([192, 0, 2, 1].into()), renewal, ..Presence::default() };
    let builder = Server::builder().presence(presence);
    let server = builder.service_network([10, 0, 0, 0].into(), 24).start().unwrap();
    let listening = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let port = listening.address().port();
    (Api::with(server), port)
}

async fn get(api: &Api, path: &str) -> (u16, Value) {
    let answer = api.get(path).await;
    (answer.code, answer.json())
}

async fn lease(api: &Api) -> Value {
    let (_, leases) = get(api, LEASES).await;
    leases.items_at(&["items"])[0].clone()
}

/// A document with names in the place of what is another at each start.
fn normal(value: &Value, key: &str, port: u16) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, member)| (key.to_owned(), normal(member, key, port)));
            let mut made = Value::Object(members.collect());
            if let Some(Value::Array(managers)) = made.get_mut("managedFields") {
                managers.sort_by_key(Value::to_json);
            }
            made
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| normal(item, key, port)).collect()),
        Value::Int(number) if *number == i64::from(port) => Value::Int(6443),
        Value::String(text) => match key {
            "kubernetes.io/hostname" => "HOST".into(),
            "resourceVersion" => "RV".into(),
            "uid" => "UID".into(),
            "holderIdentity" => "apiserver-ID_UID".into(),
            _ if text.len() >= 20 && text.ends_with('Z') && text.get(10..11) == Some("T") => "TIME".into(),
            _ if text.starts_with("apiserver-") && text.len() == 36 => "apiserver-ID".into(),
            _ => text.replace(&port.to_string(), "6443").into(),
        },
        other => other.clone(),
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_comes_back_when_upstreams_controllers_look() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/recorded/kept.json");
    let steps = parse::json(&std::fs::read(file).unwrap()).unwrap().value;
    let steps = steps.as_array().unwrap();
    let (api, port) = api(None).await;
    let name = lease(&api).await.str_at(&["metadata", "name"]).unwrap().to_owned();
    let path = |step: &Value| step.str_at(&["delete"]).unwrap().replace("apiserver-ID", &name);
    // The first look has been when the server started.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut before = Vec::new();
    for step in steps {
        before.push(get(&api, &path(step)).await.1);
        let answer = api.delete(&path(step)).await;
        assert_eq!(i64::from(answer.code), step.i64_at(&["code"]).unwrap(), "{}", path(step));
    }
    for (seconds, looked) in [(6, 0), (2, 10), (48, 10), (2, 60)] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        for (step, before) in steps.iter().zip(&before) {
            let back = step.i64_at(&["within"]).is_some_and(|within| within <= looked);
            let stayed = step.i64_at(&["code"]) == Some(403);
            let (code, found) = get(&api, &path(step)).await;
            assert_eq!(code, if back || stayed { 200 } else { 404 }, "{}: after look {looked}", path(step));
            if back {
                assert_ne!(found.at(&["metadata", "uid"]), before.at(&["metadata", "uid"]));
                let wanted = normal(step.get("object").unwrap(), "", 6443);
                assert_eq!(
                    normal(&found, "", port).to_json_pretty(),
                    wanted.to_json_pretty(),
                    "{}",
                    path(step)
                );
            }
        }
    }
    assert!(steps.iter().any(|step| step.get("within").is_some()));
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_the_identity_is_renewed_if_that_is_asked_for() {
    let renewed = |lease: &Value| lease.str_at(&["spec", "renewTime"]).unwrap().to_owned();
    let (idle, _) = api(None).await;
    let (busy, _) = api(Some(Duration::from_secs(10))).await;
    let (first, second) = (lease(&idle).await, lease(&busy).await);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(lease(&idle).await, first);
    let later = lease(&busy).await;
    assert!(renewed(&later) > renewed(&second));
    assert_eq!(later.at(&["spec", "holderIdentity"]), second.at(&["spec", "holderIdentity"]));
    let own = second.str_at(&["metadata", "name"]).unwrap();
    busy.delete(&format!("{LEASES}/{own}")).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_ne!(lease(&busy).await.at(&["metadata", "uid"]), second.at(&["metadata", "uid"]));
}
