//! What a server bears: a panic in a handler, too many requests at once, writes that take too long.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use pilothouse_apiserver::authenticator::read_token_file;
use pilothouse_apiserver::kubelet::{
    Connection, ExecOptions, Kubelet, KubeletError, LogOptions, Session, Streams, Target,
};
use pilothouse_apiserver::{LocalService, Server};
use pilothouse_value::json;
use tower::ServiceExt as _;

use crate::support::{Api, pod, pods};

/// A node that fails as badly as it can.
struct Broken;

impl Kubelet for Broken {
    fn logs(
        &self,
        _target: Target,
        _options: LogOptions,
    ) -> BoxFuture<'static, Result<BoxStream<'static, io::Result<Bytes>>, KubeletError>> {
        panic!("a node that is broken")
    }

    fn exec(&self, _: Target, _: ExecOptions) -> BoxFuture<'static, Result<Session, KubeletError>> {
        unreachable!("not asked")
    }

    fn attach(&self, _: Target, _: Streams) -> BoxFuture<'static, Result<Session, KubeletError>> {
        unreachable!("not asked")
    }

    fn port_forward(
        &self,
        _: Target,
        _: u16,
    ) -> BoxFuture<'static, Result<Pin<Box<dyn Connection>>, KubeletError>> {
        unreachable!("not asked")
    }
}

async fn with_pod(server: Server) -> Api {
    let api = Api::with(server);
    let mut pod = pod("p");
    pod.set(&["spec", "nodeName"], "n");
    api.client.create(&pods(), Some("default"), pod).await.unwrap();
    api
}

const LOG: &str = "/api/v1/namespaces/default/pods/p/log";

#[tokio::test]
async fn a_panic_in_a_handler_is_a_500_and_the_server_lives_on() {
    let api = with_pod(Server::builder().start().unwrap()).await;
    api.server.set_kubelet(Arc::new(Broken));
    let answer = api.get(LOG).await;
    assert_eq!(answer.code, 500, "{}", answer.text);
    assert_eq!(
        answer.message(),
        "Internal error occurred: this request caused apiserver to panic. Look in the logs for details."
    );
    assert_eq!(answer.json().str_at(&["reason"]), Some("InternalError"));
    assert_eq!(api.get("/healthz").await.text, "ok");
    assert_eq!(api.get("/api/v1/namespaces/default/pods/p").await.code, 200);
}

async fn ask(service: &LocalService, path: &str, token: &str) -> http::Response<String> {
    let request = Request::get(path).header("authorization", format!("Bearer {token}"));
    let response = service.clone().oneshot(request.body(Full::new(Bytes::new())).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    http::Response::from_parts(parts, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_place_in_time_is_told_to_come_back() {
    let users = read_token_file("ann,ann,1\nroot,root,2,\"system:masters\"\n").unwrap();
    let server = Server::builder().tokens(users).max_requests_in_flight(1).start().unwrap();
    let api = Api::with(server);
    let binding = json!({"metadata": {"name": "ann"}, "subjects": [{"kind": "User", "name": "ann"}],
        "roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": "rbac.authorization.k8s.io"}});
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    assert_eq!(api.post(path, &binding).await.code, 201);
    let service = api.server.authenticating_service();
    // The body of the first request never ends, so it keeps its place.
    let waits = service.clone();
    let first = tokio::spawn(async move {
        let body = StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let request = Request::post("/api/v1/namespaces/default/configmaps");
        let request =
            request.header("authorization", "Bearer ann").header("content-type", "application/json");
        waits.oneshot(request.body(body).unwrap()).await
    });
    while api.get("/metrics").await.text.contains("inflight_requests 0") {
        tokio::task::yield_now().await;
    }
    let refused = ask(&service, "/api/v1/nodes", "ann").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.body(), "Too many requests, please try again later.\n");
    assert_eq!(ask(&service, "/api/v1/nodes", "root").await.status(), 200, "administrators do not wait");
    first.abort();
}

#[tokio::test(start_paused = true)]
async fn a_read_that_never_ends_is_cut_after_the_time_that_its_caller_gives_it() {
    let api = with_pod(Server::builder().start().unwrap()).await;
    let before = tokio::time::Instant::now();
    let path = "/api/v1/namespaces/default/configmaps?resourceVersion=999999999&timeout=1s";
    assert_eq!(api.get(path).await.code, 504);
    assert!(before.elapsed() < std::time::Duration::from_secs(4), "{:?}", before.elapsed());
}
