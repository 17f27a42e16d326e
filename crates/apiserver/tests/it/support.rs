//! What the tests share: a server, documents, and HTTP without a socket.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use pilothouse_apiserver::{Authorization, Body, Client, Gvr, LocalService, Server, User, Value};
use pilothouse_value::{json, parse};
use tower::ServiceExt as _;

/// A server with nothing but what every cluster has.
pub(crate) struct Api {
    pub(crate) server: Server,
    pub(crate) client: Client,
    user: User,
}

/// An answer over HTTP.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        parse::json(self.text.as_bytes()).unwrap().value
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn message(&self) -> String {
        self.json().str_at(&["message"]).unwrap_or_default().to_owned()
    }
}

impl Api {
    pub(crate) fn start() -> Api {
        Api::with(Server::builder().authorization(Authorization::AlwaysAllow).start().unwrap())
    }

    pub(crate) fn with(server: Server) -> Api {
        let client = server.client(User::admin()).with_manager("test");
        Api { server, client, user: User::admin() }
    }

    /// Requests come from this user.
    pub(crate) fn acting_as(self, user: User) -> Api {
        Api { user, ..self }
    }

    pub(crate) fn service(&self) -> LocalService {
        self.server.service(self.user.clone())
    }

    /// Sends a request and gives back the response with its stream.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        self.service().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let (parts, body) = self.open(method, path, headers, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], &body.to_json()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[("content-type", "application/json")], &body.to_json()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], "").await
    }

    pub(crate) async fn patch(&self, kind: &str, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, &[("content-type", kind)], &body.to_json()).await
    }
}

pub(crate) fn config_maps() -> Gvr {
    Gvr::new("", "v1", "configmaps")
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

pub(crate) fn pods() -> Gvr {
    Gvr::new("", "v1", "pods")
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "busybox:1"}]},
    })
}

pub(crate) fn deployments() -> Gvr {
    Gvr::new("apps", "v1", "deployments")
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "busybox:1"}]},
            },
        },
    })
}

pub(crate) fn namespaces() -> Gvr {
    Gvr::new("", "v1", "namespaces")
}

pub(crate) fn crds() -> Gvr {
    Gvr::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

pub(crate) fn caches() -> Gvr {
    Gvr::new("demo.io", "v1", "caches")
}

/// A definition with a status, a scale, a column, and a default.
pub(crate) fn cache_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "caches.demo.io"},
        "spec": {
            "group": "demo.io",
            "scope": "Namespaced",
            "names": {"plural": "caches", "kind": "Cache", "shortNames": ["ca"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": [{"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["replicas"],
                            "properties": {
                                "replicas": {"type": "integer", "minimum": 0, "maximum": 10},
                                "mode": {"type": "string", "default": "fast", "enum": ["fast", "safe"]},
                            },
                        },
                        "status": {
                            "type": "object",
                            "properties": {
                                "replicas": {"type": "integer"},
                                "selector": {"type": "string"},
                            },
                        },
                    },
                }},
            }],
        },
    })
}

pub(crate) fn cache(name: &str) -> Value {
    json!({"apiVersion": "demo.io/v1", "kind": "Cache", "metadata": {"name": name}, "spec": {"replicas": 1}})
}

/// A server that serves caches.
pub(crate) async fn with_caches() -> Api {
    let api = Api::start();
    api.client.create(&crds(), None, cache_definition()).await.unwrap();
    api
}
