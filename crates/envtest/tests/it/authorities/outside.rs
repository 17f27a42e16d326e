//! Somebody outside: a server on loopback that answers as it was told, and remembers what it was asked.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pilothouse_apiserver::Value;
use pilothouse_apiserver::certs::Authority;
use pilothouse_value::{json, parse};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Notify;

#[derive(Default)]
struct Shared {
    table: Value,
    asked: Vec<Value>,
}

/// A running server. It ends with the test's runtime.
pub(super) struct Outside {
    pub(super) address: SocketAddr,
    /// Where nobody listens.
    pub(super) gone: SocketAddr,
    /// Who signed its certificate.
    pub(super) bundle: String,
    shared: Arc<Mutex<Shared>>,
    came: Arc<Notify>,
    _gone: TcpSocket,
}

impl Outside {
    pub(super) async fn start() -> Outside {
        let authority = Authority::generate().unwrap();
        let pair = authority.issue_server(&["127.0.0.1".to_owned()]).unwrap();
        let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        // Nobody else gets the port, and nobody listens there.
        let nobody = TcpSocket::new_v4().unwrap();
        nobody.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let gone = nobody.local_addr().unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared { table: Value::object(), ..Shared::default() }));
        let came = Arc::new(Notify::new());
        let (kept, told) = (shared.clone(), came.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, kept, told) = (acceptor.clone(), kept.clone(), told.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let serve = service_fn(|request| answer(request, kept.clone(), told.clone()));
                    let _ended = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), serve)
                        .await;
                });
            }
        });
        let bundle = STANDARD.encode(&authority.pem().certificate);
        Outside { address, gone, bundle, shared, came, _gone: nobody }
    }

    /// Answers so at a path from here on.
    pub(super) fn serve(&self, path: &str, answer: Value) {
        self.shared.lock().unwrap().table.set(&[path], answer);
    }

    /// What was asked since the last time; so many questions are waited for, but not longer than this.
    pub(super) async fn asked(&self, count: usize, patience: Duration) -> Vec<Value> {
        let all_there = async {
            while self.shared.lock().unwrap().asked.len() < count {
                self.came.notified().await;
            }
        };
        let _late = tokio::time::timeout(patience, all_there).await;
        std::mem::take(&mut self.shared.lock().unwrap().asked)
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Mutex<Shared>>,
    came: Arc<Notify>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    let mut asked = json!({"do": format!("{} {target}", head.method), "headers": {}});
    for name in ["Content-Type", "Accept", "User-Agent", "Referer", "Authorization"] {
        if let Some(value) = head.headers.get(name) {
            asked.set(&["headers", name], value.to_str().unwrap());
        }
    }
    if !body.is_empty() {
        asked.set(&["body"], parse::json(&body).map(|parsed| parsed.value).unwrap_or_default());
    }
    let said = {
        let mut shared = shared.lock().unwrap();
        shared.asked.push(asked);
        shared.table.get(head.uri.path()).cloned()
    };
    came.notify_one();
    let said = said.unwrap_or_else(|| json!({"code": 404, "body": "no such path"}));
    let text = match said.get("body") {
        Some(Value::String(text)) => text.to_string(),
        Some(body) => body.to_json(),
        None => String::new(),
    };
    let code = u16::try_from(said.i64_at(&["code"]).unwrap_or(200)).unwrap();
    let response = Response::builder().status(code).header("content-type", "application/json");
    Ok(response.body(Full::new(Bytes::from(text))).unwrap())
}
