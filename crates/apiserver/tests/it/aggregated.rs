//! APIs of others: a second server stands behind the first, which is a proxy that it trusts.

use std::net::SocketAddr;

use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use pilothouse_apiserver::authenticator::{RequestHeader, read_token_file};
use pilothouse_apiserver::certs::Authority;
use pilothouse_apiserver::{Aggregation, Gvr, Server, User, Value, WatchOptions};
use pilothouse_value::{json, parse};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::support::{Api, cache, cache_definition, caches, crds};

/// A server that serves caches, and one before it.
struct Pair {
    front: Api,
    behind: Api,
}

fn api_services() -> Gvr {
    Gvr::new("apiregistration.k8s.io", "v1", "apiservices")
}

async fn pair(client: impl FnOnce(&Authority) -> Authority) -> Pair {
    let proxies = Authority::generate().unwrap();
    let mut trusted = RequestHeader::new(&proxies.pem().certificate).unwrap();
    trusted.username_headers = vec!["X-Remote-User".into()];
    trusted.group_headers = vec!["X-Remote-Group".into()];
    trusted.extra_prefixes = vec!["X-Remote-Extra-".into()];
    let behind = Api::with(Server::builder().request_header(trusted).start().unwrap());
    behind.client.create(&crds(), None, cache_definition()).await.unwrap();
    let address: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let address = behind.server.listen(address).await.unwrap().address();

    let shown = client(&proxies).issue_client(&User::new("front", [""; 0])).unwrap();
    let aggregation = Aggregation { client: Some(shown), ..Aggregation::default() };
    let users = read_token_file("secret,admin,1,\"system:masters\"").unwrap();
    let front = Api::with(Server::builder().tokens(users).aggregation(aggregation).start().unwrap());
    front.server.set_service_resolver(std::sync::Arc::new(move |_: &str, _: &str, _: u16| Some(address)));
    let services = Gvr::new("", "v1", "services");
    let service =
        json!({"metadata": {"name": "s"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    front.client.create(&services, Some("default"), service).await.unwrap();
    let api_service = json!({"metadata": {"name": "v1.demo.io"}, "spec": {
        "group": "demo.io", "version": "v1", "groupPriorityMinimum": 2000, "versionPriority": 10,
        "insecureSkipTLSVerify": true, "service": {"namespace": "default", "name": "s"},
    }});
    front.client.create(&api_services(), None, api_service).await.unwrap();
    Pair { front, behind }
}

/// Waits until the condition says something.
async fn told(front: &Api) -> Value {
    let options =
        WatchOptions { field_selector: Some("metadata.name=v1.demo.io".into()), ..WatchOptions::default() };
    let mut events = front.client.watch(&api_services(), None, &options).await.unwrap();
    loop {
        let event = events.next().await.unwrap();
        if let Some(condition) = event.object.items_at(&["status", "conditions"]).first() {
            return condition.clone();
        }
    }
}

/// A copy of an authority.
fn same(authority: &Authority) -> Authority {
    Authority::from_pem(authority.pem().clone()).unwrap()
}

#[tokio::test]
async fn what_another_server_serves_is_read_written_and_watched_through_this_one() {
    let Pair { front, behind } = pair(same).await;
    let condition = told(&front).await;
    assert_eq!(condition.str_at(&["reason"]), Some("Passed"), "{condition}");

    let made = front.post("/apis/demo.io/v1/namespaces/default/caches", &cache("a")).await;
    assert_eq!(made.code, 201, "{}", made.text);
    let stored = behind.client.get(&caches(), Some("default"), "a").await.unwrap();
    assert_eq!(stored.str_at(&["metadata", "uid"]), made.json().str_at(&["metadata", "uid"]));

    let mut watch = front.open("GET", "/apis/demo.io/v1/caches?watch=1", &[], "").await.into_body();
    let mut event = async || {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        let event = parse::json(frame.strip_suffix(b"\n").unwrap()).unwrap().value;
        event.str_at(&["object", "metadata", "name"]).unwrap_or_default().to_owned()
    };
    assert_eq!(event().await, "a");
    behind.client.create(&caches(), Some("default"), cache("b")).await.unwrap();
    assert_eq!(event().await, "b", "an event comes as soon as it happens");
}

#[tokio::test]
async fn the_connection_of_a_client_that_switches_protocols_is_joined_to_the_other_server() {
    let Pair { front, behind } = pair(same).await;
    assert_eq!(told(&front).await.str_at(&["status"]), Some("True"));
    behind.client.create(&caches(), Some("default"), cache("a")).await.unwrap();
    let listening = front.server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let stream = crate::network::connect(&listening, None).await.into_inner();
    let mut request = "wss://localhost/apis/demo.io/v1/caches?watch=true".into_client_request().unwrap();
    request.headers_mut().insert("authorization", "Bearer secret".parse().unwrap());
    let (mut socket, head) = tokio_tungstenite::client_async(request, stream).await.unwrap();
    assert_eq!(head.status().as_u16(), 101);
    let message = socket.next().await.unwrap().unwrap().into_text().unwrap();
    let event = parse::json(message.as_bytes()).unwrap().value;
    assert_eq!(event.str_at(&["object", "metadata", "name"]), Some("a"));
}

#[tokio::test]
async fn a_proxy_that_the_other_server_does_not_know_cannot_speak_for_users() {
    let Pair { front, .. } = pair(|_| Authority::generate().unwrap()).await;
    let condition = told(&front).await;
    assert_eq!(condition.str_at(&["reason"]), Some("FailedDiscoveryCheck"));
    let answer = front.get("/apis/demo.io/v1/caches").await;
    assert_eq!((answer.code, answer.text.as_str()), (503, "service unavailable\n"));
}
