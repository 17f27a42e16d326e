//! Over a socket: TLS, credentials, and who may do what.

use http_body_util::{BodyExt as _, Empty};
use pilothouse_apiserver::{Authorization, Server, User};
use pilothouse_value::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::support::{Api, config_map, config_maps};

#[tokio::test]
async fn a_user_without_roles_is_refused() {
    let api = Api::with(Server::builder().start().unwrap());
    let client = api.server.client(User::new("jane", ["devs"]));
    let status = client.get(&config_maps(), Some("default"), "a").await.unwrap_err();
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "configmaps \"a\" is forbidden: User \"jane\" cannot get resource \"configmaps\" in API group \"\" in the \
         namespace \"default\""
    );
    let roles = pilothouse_apiserver::Gvr::new("rbac.authorization.k8s.io", "v1", "rolebindings");
    let binding = json!({
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
    });
    api.client.create(&roles, Some("default"), binding).await.unwrap();
    client.create(&config_maps(), Some("default"), config_map("a")).await.unwrap();
    assert!(client.create(&config_maps(), Some("kube-system"), config_map("a")).await.is_err());
}

#[tokio::test]
async fn access_is_reviewed() {
    let api = Api::with(Server::builder().start().unwrap());
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "default"}},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = api.post(path, &review).await;
    assert_eq!((answer.code, answer.json().at(&["status", "allowed"])), (201, Some(&true.into())));
}

#[tokio::test]
async fn a_service_account_gets_a_token() {
    let api = Api::with(Server::builder().start().unwrap());
    let accounts = pilothouse_apiserver::Gvr::new("", "v1", "serviceaccounts");
    api.client.create(&accounts, Some("default"), json!({"metadata": {"name": "robot"}})).await.unwrap();
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
    let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let answer = api.post(path, &request).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    let token = answer.json().str_at(&["status", "token"]).unwrap().to_owned();
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let reviewed = api.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.json();
    assert_eq!(
        reviewed.str_at(&["status", "user", "username"]),
        Some("system:serviceaccount:default:robot"),
        "{reviewed}"
    );
}

/// A connection over TLS that speaks one protocol, with the server's authority trusted and no client certificate.
pub(crate) async fn connect(
    listening: &pilothouse_apiserver::Listening,
    protocol: Option<&str>,
) -> hyper_util::rt::TokioIo<tokio_rustls::client::TlsStream<tokio::net::TcpStream>> {
    let mut roots = rustls::RootCertStore::empty();
    let pem = listening.authority_pem().to_owned();
    for certificate in rustls_pki_types::pem::PemObject::pem_slice_iter(pem.as_bytes()) {
        let certificate: rustls_pki_types::CertificateDer<'static> = certificate.unwrap();
        roots.add(certificate).unwrap();
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocol.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let stream = tokio::net::TcpStream::connect(listening.address()).await.unwrap();
    let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
    hyper_util::rt::TokioIo::new(connector.connect(name, stream).await.unwrap())
}

/// One request over TLS.
async fn over_the_network(server: &Server, path: &str, token: Option<&str>) -> (u16, String) {
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let stream = connect(&listening, None).await;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    let task = tokio::spawn(connection);
    let mut request = http::Request::get(path).header("host", "localhost");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = sender.send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    drop(sender);
    let _ended = task.await;
    (code, String::from_utf8(bytes.to_vec()).unwrap())
}

/// A body whose length is not told, so that it is sent in chunks.
fn in_chunks(text: String) -> http_body_util::combinators::BoxBody<bytes::Bytes, std::convert::Infallible> {
    let half = text.len() / 2;
    let parts = [text[..half].to_owned(), text[half..].to_owned()];
    let frames = parts.map(|part| Ok(http_body::Frame::data(bytes::Bytes::from(part))));
    http_body_util::StreamBody::new(futures::stream::iter(frames)).boxed()
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_body_that_nobody_read() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = Server::builder().authorization(Authorization::AlwaysAllow).start().unwrap();
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let mut stream = connect(&listening, Some("http/1.1")).await.into_inner();
    let body = json!({"metadata": {"name": "a"}}).to_json();
    let (first, second) = body.split_at(body.len() / 2);
    // What is wrong with the query is known before there is a body.
    let head = format!(
        "POST /api/v1/namespaces/default/configmaps?timeout=x HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    stream.write_all(second.as_bytes()).await.unwrap();
    let next = "GET /version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(next.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    let mut answers = Vec::new();
    // The end of a connection that TLS did not announce is no fault here.
    let _ended = stream.read_to_end(&mut answers).await;
    let answers = String::from_utf8_lossy(&answers).into_owned();
    assert!(answers.starts_with("HTTP/1.1 400"), "{answers}");
    assert!(answers.contains("HTTP/1.1 200"), "{answers}");
}

#[tokio::test]
async fn http_1_and_2_keep_their_connections_and_read_both_kinds_of_bodies() {
    let server = Server::builder().authorization(Authorization::AlwaysAllow).start().unwrap();
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let body = |name: &str, chunks: bool| {
        let text = json!({"metadata": {"name": name}, "data": {"k": "v"}}).to_json();
        if chunks { in_chunks(text) } else { http_body_util::Full::from(text).boxed() }
    };
    let request = |path: &str| http::Request::post(path).header("host", "localhost");

    let stream = connect(&listening, Some("http/1.1")).await;
    assert_eq!(stream.inner().get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    for (name, chunks) in [("whole", false), ("chunked", true)] {
        let request = request("/api/v1/namespaces/default/configmaps").body(body(name, chunks)).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 201, "{name}");
        answer.into_body().collect().await.unwrap();
    }
    drop(sender);
    connection.await.unwrap().unwrap();

    let stream = connect(&listening, Some("h2")).await;
    assert_eq!(stream.inner().get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let executor = hyper_util::rt::TokioExecutor::new();
    let (mut sender, connection) = hyper::client::conn::http2::handshake(executor, stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let path = format!("https://{}/api/v1/namespaces/default/configmaps", listening.address());
    let answer = sender.send_request(request(&path).body(body("second", true)).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 201);
    drop((answer, sender));
    connection.abort();
}

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_ask() {
    let server = Server::builder().authorization(Authorization::AlwaysAllow).start().unwrap();
    let client = server.client(User::admin());
    for (name, length) in [("large", 200_000), ("small", 100_000)] {
        let map = json!({"metadata": {"name": name}, "data": {"k": "v".repeat(length)}});
        client.create(&config_maps(), Some("default"), map).await.unwrap();
    }
    let service = server.authenticating_service();
    let asked = [
        ("large", "gzip", true),
        ("large", "br, gzip;q=0.5", true),
        ("large", "gzip;q=0", false),
        ("large", "identity", false),
        ("small", "gzip", false),
    ];
    for (name, encoding, packed) in asked {
        let request = http::Request::get(format!("/api/v1/namespaces/default/configmaps/{name}"))
            .header("accept-encoding", encoding)
            .body(Empty::<bytes::Bytes>::new())
            .unwrap();
        let answer = tower::ServiceExt::oneshot(service.clone(), request).await.unwrap();
        let told = answer.headers().get("content-encoding").map(|value| value.to_str().unwrap());
        assert_eq!(told, packed.then_some("gzip"), "{name} with {encoding}");
        assert_eq!(answer.headers().get("vary").is_some(), packed, "{name} with {encoding}");
    }
}

#[tokio::test]
async fn strangers_may_read_health_and_version_only() {
    let server = Server::builder().start().unwrap();
    assert_eq!(over_the_network(&server, "/healthz", None).await, (200, "ok".into()));
    assert_eq!(over_the_network(&server, "/version", None).await.0, 200);
    let (code, text) = over_the_network(&server, "/api/v1/namespaces", None).await;
    assert_eq!(code, 403);
    assert!(text.contains("User \\\"system:anonymous\\\" cannot list resource \\\"namespaces\\\""), "{text}");
}

#[tokio::test]
async fn a_bad_token_is_unauthorized() {
    let server = Server::builder().start().unwrap();
    assert_eq!(over_the_network(&server, "/healthz", Some("nonsense")).await.0, 401);
}

#[tokio::test]
async fn a_token_that_was_handed_out_is_known() {
    let users = pilothouse_apiserver::authenticator::read_token_file("secret,jane,7,\"devs\"").unwrap();
    let server = Server::builder().tokens(users).start().unwrap();
    assert_eq!(over_the_network(&server, "/api", Some("secret")).await.0, 200);
    let (code, text) = over_the_network(&server, "/api/v1/nodes", Some("secret")).await;
    assert_eq!(code, 403);
    assert!(text.contains("User \\\"jane\\\" cannot list resource"), "{text}");
}

#[tokio::test]
async fn a_kubeconfig_names_the_server() {
    let server = Server::builder().authorization(Authorization::AlwaysAllow).start().unwrap();
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let config = listening.kubeconfig().unwrap();
    assert!(config.contains(&listening.url()) && config.contains("client-certificate-data"));
}

#[tokio::test]
async fn a_watch_over_websocket_sends_a_message_for_each_event() {
    use futures::StreamExt as _;
    let users =
        pilothouse_apiserver::authenticator::read_token_file("secret,admin,1,\"system:masters\"").unwrap();
    let api = Api::with(Server::builder().tokens(users).start().unwrap());
    for name in ["a", "b"] {
        api.client.create(&config_maps(), Some("default"), config_map(name)).await.unwrap();
    }
    for accept in ["application/json", "application/vnd.kubernetes.protobuf"] {
        let listening = api.server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let stream = connect(&listening, None).await.into_inner();
        let mut request =
            "wss://localhost/api/v1/namespaces/default/configmaps?watch=true".into_client_request().unwrap();
        request.headers_mut().insert("authorization", "Bearer secret".parse().unwrap());
        request.headers_mut().insert("accept", accept.parse().unwrap());
        let (mut socket, head) = tokio_tungstenite::client_async(request, stream).await.unwrap();
        assert_eq!(head.status().as_u16(), 101);
        for name in ["a", "b"] {
            match socket.next().await.unwrap().unwrap() {
                Message::Text(text) => {
                    let event = pilothouse_value::parse::json(text.as_bytes()).unwrap().value;
                    assert_eq!(event.str_at(&["type"]), Some("ADDED"));
                    assert_eq!(event.str_at(&["object", "metadata", "name"]), Some(name));
                    assert!(text.ends_with('\n') && accept == "application/json");
                }
                Message::Binary(event) => {
                    assert!(event.starts_with(b"\x0a\x05ADDED\x12") && accept != "application/json");
                }
                other => panic!("{other:?}"),
            }
        }
        socket.close(None).await.unwrap();
    }
}
