//! What is there before the first request: namespaces, the API server's own Service, and every stored definition served.

use std::sync::Arc;

use pilothouse_value::{Status, Value, json};

use crate::options::WriteOptions;
use crate::state::{Context, State, Target};
use crate::user::User;
use crate::verbs::create;
use crate::{allocate, crd};

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes what is missing.
///
/// # Errors
/// If an object of the server's own is refused, which is a fault of the server.
pub(crate) fn run(state: &Arc<State>) -> Result<(), Status> {
    allocate::adopt_all(state);
    crd::lifecycle::serve_all(state);
    for name in NAMESPACES {
        ensure(state, "", "v1", "namespaces", "", json!({"metadata": {"name": name}}))?;
    }
    let address = state.allocations.lock().first().to_string();
    let service = json!({
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
        },
    });
    ensure(state, "", "v1", "services", "default", service)
}

/// Creates an object unless it is there.
pub(crate) fn ensure(
    state: &Arc<State>,
    group: &str,
    version: &str,
    plural: &str,
    namespace: &str,
    value: Value,
) -> Result<(), Status> {
    let resource = state.registry.get(group, version, plural).ok_or_else(Status::no_such_path)?;
    let name = value.str_at(&["metadata", "name"]).unwrap_or_default();
    if state.store.get(&resource.key, namespace, name).is_some() {
        return Ok(());
    }
    let context = Context::new(state.clone(), User::admin(), Some("kube-apiserver".into()));
    let target = Target { resource, namespace: namespace.into(), name: String::new(), subresource: None };
    create::create(&context, &target, value.into(), &WriteOptions::default()).map(|_| ())
}
