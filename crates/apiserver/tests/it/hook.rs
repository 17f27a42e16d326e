//! A webhook on loopback: an HTTPS server with a certificate of its own, which remembers what it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pilothouse_apiserver::certs::{Authority, server_config};
use pilothouse_apiserver::{Network, Value};
use pilothouse_value::{json, parse};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::Api;

/// One question that a webhook was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) version: http::Version,
    pub(crate) review: Value,
}

impl Asked {
    /// A field of the request in the review.
    pub(crate) fn get(&self, path: &[&str]) -> Value {
        self.review.get("request").and_then(|request| request.at(path)).cloned().unwrap_or_default()
    }

    pub(crate) fn text(&self, path: &[&str]) -> String {
        self.get(path).as_str().unwrap_or_default().to_owned()
    }
}

/// What a webhook does with a question: the answer's status code and body.
type Handler = dyn Fn(&Asked) -> (u16, Value) + Send + Sync;

/// A webhook that is being served.
pub(crate) struct Hook {
    pub(crate) address: SocketAddr,
    authority: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl Hook {
    /// Serves a webhook that answers with what the handler makes of each review.
    pub(crate) async fn serve(handler: impl Fn(&Asked) -> Value + Send + Sync + 'static) -> Hook {
        Hook::serve_codes(move |asked| (200, handler(asked))).await
    }

    /// As [`Hook::serve`]; the handler says the status code too.
    pub(crate) async fn serve_codes(
        handler: impl Fn(&Asked) -> (u16, Value) + Send + Sync + 'static,
    ) -> Hook {
        Hook::start(Arc::new(handler), &["127.0.0.1", "hook.default.svc"]).await
    }

    /// Serves a webhook that lets everything in, with a certificate for these names.
    pub(crate) async fn for_names(names: &[&str]) -> Hook {
        Hook::start(Arc::new(|asked: &Asked| (200, allow(asked))), names).await
    }

    async fn start(handler: Arc<Handler>, names: &[&str]) -> Hook {
        let authority = Authority::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let config = server_config(&authority.issue_server(&names).unwrap(), &Network::default()).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (acceptor, seen, handler) = (acceptor.clone(), seen.clone(), handler.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = hyper::service::service_fn(move |request| {
                        answer(request, seen.clone(), handler.clone())
                    });
                    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let connection = server.serve_connection(TokioIo::new(stream), service);
                    let _ended_by_the_client = connection.await;
                });
            }
        });
        Hook { address, authority: authority.pem().certificate.clone(), asked, connections }
    }

    /// The CA bundle as configurations have it.
    pub(crate) fn bundle(&self) -> String {
        STANDARD.encode(&self.authority)
    }

    /// A `clientConfig` that points here.
    pub(crate) fn client_config(&self, path: &str) -> Value {
        json!({"url": format!("https://{}{path}", self.address), "caBundle": self.bundle()})
    }

    /// Writes a kubeconfig that points here, and gives back where it is.
    pub(crate) fn kubeconfig(&self, folder: &std::path::Path, path: &str) -> String {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {
                "server": format!("https://{}{path}", self.address), "certificate-authority-data": self.bundle(),
            }}],
            "users": [{"name": "u", "user": {"token": "of-the-server"}}],
        });
        let file = folder.join("kubeconfig");
        std::fs::write(&file, config.to_json()).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// All that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// All that was asked so far, which is forgotten.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// One webhook of a configuration that asks this server about all config maps, changed as `more` says.
    pub(crate) fn webhook(&self, name: &str, more: Value) -> Value {
        let mut webhook = json!({
            "name": name,
            "clientConfig": self.client_config("/"),
            "rules": [{
                "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (key, value) in more.as_object().unwrap().iter() {
            webhook.set(&[key], value.clone());
        }
        webhook
    }
}

async fn answer(
    request: Request<hyper::body::Incoming>,
    seen: Arc<Mutex<Vec<Asked>>>,
    handler: Arc<Handler>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let asked = Asked {
        target: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: head.headers,
        version: head.version,
        review: parse::json(&bytes).unwrap().value,
    };
    seen.lock().unwrap().push(asked.clone());
    let (code, answer) = handler(&asked);
    let text = match &answer {
        Value::String(text) => text.to_string(),
        value => value.to_json(),
    };
    Ok(Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(text)))
        .unwrap())
}

/// The answer to a review with this response, whose uid is filled in.
pub(crate) fn respond(asked: &Asked, mut response: Value) -> Value {
    response.set(&["uid"], asked.text(&["uid"]));
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

pub(crate) fn allow(asked: &Asked) -> Value {
    respond(asked, json!({"allowed": true}))
}

pub(crate) fn deny(asked: &Asked, status: Value) -> Value {
    respond(asked, json!({"allowed": false, "status": status}))
}

/// Lets it in with these operations.
pub(crate) fn patch(asked: &Asked, operations: &Value) -> Value {
    let patch = STANDARD.encode(operations.to_json());
    respond(asked, json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}))
}

/// Stores a configuration of this kind (`Mutating` or `Validating`) with these webhooks.
pub(crate) async fn configure(api: &Api, kind: &str, name: &str, webhooks: Vec<Value>) {
    let answer = try_configure(api, kind, name, webhooks).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
}

/// As [`configure`], with the answer.
pub(crate) async fn try_configure(
    api: &Api,
    kind: &str,
    name: &str,
    webhooks: Vec<Value>,
) -> crate::support::Answer {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", kind.to_lowercase());
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
        "metadata": {"name": name}, "webhooks": webhooks,
    });
    api.post(&path, &configuration).await
}
