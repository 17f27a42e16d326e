//! What is there before the first request: namespaces, roles, API services, the API server's own Service, and every stored
//! definition served.

use std::sync::Arc;

use futures::FutureExt as _;
use pilothouse_schema::builtin;
use pilothouse_value::{Status, Value, json};

use crate::authentication::user::User;
use crate::authorization::bootstrap_rbac;
use crate::crd;
use crate::objects::allocate;
use crate::request::options::WriteOptions;
use crate::start::{components, presence, seeds};
use crate::state::{Context, State, Target};
use crate::verbs::create;

/// Namespaces that every cluster has.
pub(super) const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// The priority classes that every cluster has.
const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Makes what is missing.
///
/// # Errors
/// If an object of the server's own is refused, which is a fault of the server.
pub(crate) fn run(state: &Arc<State>) -> Result<(), Status> {
    allocate::adopt_all(state);
    crd::lifecycle::serve_all(state);
    namespaces(state)?;
    components::begin(state);
    let now = state.now();
    let policy = state.has_roles.then_some(&*seeds::POLICY);
    let left_out = !state.registry.is_whole();
    for seed in policy.into_iter().flatten().chain(&*seeds::CLUSTER) {
        if left_out && !seed.is_of_what_is_served(&state.registry.table()) {
            continue;
        }
        let _there = seed.write(state, &now);
    }
    state.fairness.begin(state, &now);
    presence::begin(state)
}

/// Makes the namespaces that every cluster has, as far as they are missing.
///
/// # Errors
/// What stands in the way of one.
pub(super) fn namespaces(state: &Arc<State>) -> Result<(), Status> {
    for name in NAMESPACES {
        ensure(state, "", "v1", "namespaces", "", json!({"metadata": {"name": name}}))?;
    }
    Ok(())
}

/// The group of API services.
pub(crate) const API_REGISTRATION: &str = "apiregistration.k8s.io";

/// Whether a priority class is one of those that every cluster has.
pub(crate) fn is_system_priority(name: &str) -> bool {
    PRIORITY_CLASSES.iter().any(|(own, ..)| *own == name)
}

/// The priority classes that every cluster has.
pub(crate) fn priority_classes() -> impl Iterator<Item = Value> {
    PRIORITY_CLASSES.iter().map(|(name, priority, description)| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "generation": 1, "managedFields": [{
                "manager": "kube-apiserver", "operation": "Update", "apiVersion": "scheduling.k8s.io/v1",
                "time": seeds::NOW, "fieldsType": "FieldsV1",
                "fieldsV1": {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}},
            }]},
            "value": priority,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        })
    })
}

/// The API services of all versions that are built in.
pub(crate) fn built_in_api_services() -> impl Iterator<Item = Value> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    builtin::resources().iter().filter_map(move |resource| {
        let version = (resource.group, resource.version);
        let is_new = !seen.contains(&version);
        seen.extend(is_new.then_some(version));
        // The group of API services itself is served by whoever serves them all.
        let own = resource.group == API_REGISTRATION;
        (is_new && !own).then(|| api_service(resource.group, resource.version, true))
    })
}

/// How much a group, and a version in it, is wanted before others.
pub(crate) fn priorities(group: &str, version: &str, built_in: bool) -> (i64, i64) {
    match (group, version) {
        _ if !built_in => (1000, 100),
        ("", _) => (18000, 1),
        ("apps", _) => (17800, 15),
        ("events.k8s.io", _) => (17750, 15),
        ("authentication.k8s.io", _) => (17700, 15),
        ("authorization.k8s.io", _) => (17600, 15),
        ("autoscaling", "v2") => (17500, 30),
        ("autoscaling", _) => (17500, 15),
        ("batch", _) => (17400, 15),
        ("certificates.k8s.io", _) => (17300, 15),
        ("networking.k8s.io", _) => (17200, 15),
        ("policy", _) => (17100, 15),
        (bootstrap_rbac::GROUP, _) => (17000, 15),
        ("storage.k8s.io", _) => (16800, 15),
        ("admissionregistration.k8s.io" | crd::GROUP, _) => (16700, 15),
        ("scheduling.k8s.io", _) => (16600, 15),
        ("coordination.k8s.io", _) => (16500, 15),
        ("node.k8s.io", _) => (16300, 15),
        ("discovery.k8s.io", _) => (16200, 15),
        ("resource.k8s.io", _) => (16200, 21),
        ("flowcontrol.apiserver.k8s.io", _) => (16100, 21),
        (_, _) => (15800, 15),
    }
}

/// The API service that says that this server serves a version of a group itself, since [`seeds::NOW`].
pub(crate) fn api_service(group: &str, version: &str, built_in: bool) -> Value {
    let (group_priority, version_priority) = priorities(group, version, built_in);
    let mut service = json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {
            "name": format!("{version}.{group}"),
            "labels": {"kube-aggregator.kubernetes.io/automanaged": if built_in { "onstart" } else { "true" }},
        },
        "spec": {
            "version": version,
            "groupPriorityMinimum": group_priority,
            "versionPriority": version_priority,
        },
        "status": {"conditions": [{
            "type": "Available", "status": "True", "reason": "Local",
            "message": "Local APIServices are always available", "lastTransitionTime": seeds::NOW,
        }]},
    });
    let mut fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:kube-aggregator.kubernetes.io/automanaged": {}}},
        "f:spec": {"f:groupPriorityMinimum": {}, "f:version": {}, "f:versionPriority": {}},
    });
    if !group.is_empty() {
        service.set(&["spec", "group"], group);
        fields.set(&["f:spec", "f:group"], Value::object());
    }
    let manager = json!({
        "manager": "kube-apiserver", "operation": "Update", "apiVersion": "apiregistration.k8s.io/v1",
        "time": seeds::NOW, "fieldsType": "FieldsV1", "fieldsV1": fields,
    });
    service.set(&["metadata", "managedFields"], vec![manager]);
    service
}

/// Creates an object unless it is there, as the server itself.
///
/// # Errors
/// What stands in its way.
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
    let making = async move {
        create::create(&context, &target, value.into(), &WriteOptions::default()).await.map(|_| ())
    };
    let mut making = Box::pin(making);
    match (&mut making).now_or_never() {
        Some(made) => made,
        // Something outside of the server is asked first, which may need the server: this one comes later.
        None => {
            tokio::spawn(making);
            Ok(())
        }
    }
}
