//! A conversion webhook on the loopback address, and a definition that names it.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use pilothouse_value::{Value, json, parse};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What a webhook does with a review that it is sent: it gives back the review with its response.
type Answer = Box<dyn Fn(Value) -> Value + Send + Sync>;

/// A running webhook. It ends with the test's runtime.
pub(crate) struct Converter {
    url: String,
    bundle: String,
    /// The reviews that it was sent, oldest first.
    asked: Arc<Mutex<Vec<Value>>>,
    answer: Arc<Mutex<Arc<Answer>>>,
}

impl Converter {
    /// Starts a webhook that moves `spec.replicas` of v1 to `spec.count` of v2, and back.
    pub(crate) async fn start() -> Converter {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/convert", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Mutex<Arc<Answer>>> = Arc::new(Mutex::new(Arc::new(Box::new(moved))));
        let (kept, current) = (asked.clone(), answer.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, kept, current) = (acceptor.clone(), kept.clone(), current.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let serve = service_fn(|request: Request<Incoming>| {
                        let (kept, current) = (kept.clone(), current.clone());
                        async move {
                            let body = request.into_body().collect().await?.to_bytes();
                            let review = parse::json(&body).unwrap().value;
                            kept.lock().push(review.clone());
                            let answer = current.lock().clone();
                            let text = answer(review).to_json();
                            Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(text))))
                        }
                    });
                    let _ended = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), serve)
                        .await;
                });
            }
        });
        use base64::Engine as _;
        let bundle = base64::engine::general_purpose::STANDARD.encode(made.cert.pem());
        Converter { url, bundle, asked, answer }
    }

    /// Answers otherwise from now on.
    pub(crate) fn answer(&self, answer: impl Fn(Value) -> Value + Send + Sync + 'static) {
        *self.answer.lock() = Arc::new(Box::new(answer));
    }

    /// How often it was asked since the last call of this.
    pub(crate) fn asked(&self) -> usize {
        self.take().len()
    }

    /// The reviews since the last call of this.
    pub(crate) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.asked.lock())
    }

    /// `spec.conversion` of a definition that is converted here.
    pub(crate) fn conversion(&self, review: &str) -> Value {
        json!({"strategy": "Webhook", "webhook": {
            "clientConfig": {"url": self.url.as_str(), "caBundle": self.bundle.as_str()},
            "conversionReviewVersions": [review],
        }})
    }

    /// A definition of widgets: v1 has `spec.replicas`, v2 `spec.count`; `storage` is the version that is stored.
    pub(crate) fn widgets(&self, storage: &str) -> Value {
        let version = |name: &str, field: &str| {
            let mut properties = json!({"mode": {"type": "string"}});
            properties.set(&[field], json!({"type": "integer"}));
            json!({
                "name": name, "served": true, "storage": name == storage,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": format!(".spec.{field}"), "statusReplicasPath": ".status.ready",
                }},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": properties},
                    "status": {"type": "object", "properties": {"ready": {"type": "integer"}}},
                }}},
            })
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.demo.io"},
            "spec": {
                "group": "demo.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [version("v1", "replicas"), version("v2", "count")],
                "conversion": self.conversion("v1"),
            },
        })
    }
}

/// A widget in a version.
pub(crate) fn widget(version: &str, name: &str, number: i64) -> Value {
    let mut value = json!({
        "apiVersion": format!("demo.io/{version}"), "kind": "Widget", "metadata": {"name": name}, "spec": {},
    });
    value.set(&["spec", if version == "v1" { "replicas" } else { "count" }], number);
    value
}

/// The answer to a review with these objects.
pub(crate) fn response(mut review: Value, objects: Vec<Value>) -> Value {
    let uid = review.str_at(&["request", "uid"]).unwrap().to_owned();
    review.take(&["request"]);
    review.set(
        &["response"],
        json!({"uid": uid, "result": {"status": "Success"}, "convertedObjects": objects}),
    );
    review
}

/// The answer that widgets are converted with.
pub(crate) fn moved(review: Value) -> Value {
    let desired = review.str_at(&["request", "desiredAPIVersion"]).unwrap().to_owned();
    let mut objects = review.items_at(&["request", "objects"]).to_vec();
    let (from, to) = if desired == "demo.io/v2" { ("replicas", "count") } else { ("count", "replicas") };
    for object in &mut objects {
        object.set(&["apiVersion"], desired.as_str());
        if let Some(number) = object.take(&["spec", from]) {
            object.set(&["spec", to], number);
        }
    }
    response(review, objects)
}
