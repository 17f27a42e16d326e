//! An operator in one page. A `Cache` asks for a number of replicas of a cache server; the operator keeps a Deployment
//! and a Service for it, and tells in the condition `Ready` whether the replicas are there.

use pilothouse::prelude::*;
use pilothouse::serde_json::{from_value, json};

/// A cache that keeps the given number of replicas.
#[pilothouse::resource(
    group = "demo.pilothouse.dev",
    version = "v1",
    kind = "Cache",
    namespaced,
    status = "Observed",
    shortname = "ca",
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    )
)]
pub struct CacheSpec {
    /// How many servers to run.
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The image of the server.
    #[serde(default = "default_image")]
    pub image: String,
}

fn default_image() -> String {
    "docker.io/library/memcached:1.6".to_owned()
}

/// Keeps what a `Cache` asks for.
#[derive(Debug)]
pub struct CacheController;

impl Controller for CacheController {
    type Resource = Cache;

    fn declare(d: &mut Declaration<Cache>) {
        d.owns::<Deployment>().owns::<Service>();
    }

    async fn analyze(&self, cache: &Cache, seen: &Seen<'_>) -> Result<Plan> {
        let deployment = deployment(cache)?;
        Ok(Plan::new().ready_when(seen.is_available(&deployment)).ensure(deployment).ensure(service(cache)?))
    }
}

fn deployment(cache: &Cache) -> Result<Deployment> {
    let labels = json!({"app.kubernetes.io/name": "cache", "app.kubernetes.io/instance": cache.name_any()});
    Ok(from_value(json!({
        "metadata": {"name": cache.name_any(), "labels": labels},
        "spec": {
            "replicas": cache.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "server", "image": cache.spec.image, "ports": [{"name": "cache", "containerPort": 11211}],
                }]},
            },
        },
    }))?)
}

fn service(cache: &Cache) -> Result<Service> {
    Ok(from_value(json!({
        "metadata": {"name": cache.name_any()},
        "spec": {
            "selector": {"app.kubernetes.io/name": "cache", "app.kubernetes.io/instance": cache.name_any()},
            "ports": [{"name": "cache", "port": 11211}],
        },
    }))?)
}
