//! What a real server's own controllers tell of new objects: whether a flow schema has its priority level, and whether an
//! aggregated API can be reached. Ours is told at once, by a write of its own behind the one that made the object.

use std::sync::Arc;

use pilothouse_store::Object;
use pilothouse_value::{Value, json, object};

use crate::registry::resource;
use crate::state::{State, Target};
use crate::verbs;

/// Who is recorded as the writer, and how.
struct Controller {
    manager: &'static str,
    operation: &'static str,
}

const FLOW: Controller =
    Controller { manager: "api-priority-and-fairness-config-consumer-v1", operation: "Apply" };
/// The levels that every cluster has. Here all requests wait in one queue, so there are no objects for them.
const LEVELS: [&str; 8] = [
    "catch-all",
    "exempt",
    "global-default",
    "leader-election",
    "node-high",
    "system",
    "workload-high",
    "workload-low",
];
const AVAILABILITY: Controller = Controller { manager: "kube-apiserver", operation: "Update" };

/// Writes the status of a new object, if it is of a kind whose status is the server's own. An object that somebody
/// changed meanwhile keeps what they wrote.
pub(crate) async fn tell(state: &Arc<State>, target: &Target, stored: &Arc<Object>) {
    let resource = &target.resource;
    let value = stored.value();
    let (controller, condition) = if resource.is("flowcontrol.apiserver.k8s.io", "flowschemas") {
        (FLOW, dangling(state, value))
    } else if resource.is("apiregistration.k8s.io", "apiservices") && value.at(&["spec", "service"]).is_some()
    {
        (AVAILABILITY, reachable(state, value))
    } else {
        return;
    };
    let mut told = Value::clone(value);
    let kind = condition.str_at(&["type"]).unwrap_or_default().to_owned();
    told.set(&["status", "conditions"], vec![condition]);
    let fields = json!({".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}});
    let mut conditions = Value::object();
    if controller.operation == "Update" {
        conditions.set(&["."], Value::object());
    }
    conditions.set(&[&format!("k:{{\"type\":\"{kind}\"}}")], fields);
    let entry = json!({
        "manager": controller.manager, "operation": controller.operation, "subresource": "status",
        "apiVersion": resource.api_version(), "time": state.now(), "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": conditions}},
    });
    match told.entry(&["metadata", "managedFields"]) {
        Value::Array(entries) => entries.push(entry),
        other => *other = Value::Array(vec![entry]),
    }
    if let Err(status) = verbs::put(state, target, Some(stored.revision()), told).await {
        tracing::warn!(
            name = target.name,
            message = status.message,
            "the status of a new object was not written"
        );
    }
}

fn condition(state: &State, kind: &str, status: bool, reason: &str, message: String) -> Value {
    json!({
        "type": kind, "status": if status { "True" } else { "False" }, "reason": reason, "message": message,
        "lastTransitionTime": state.now(),
    })
}

/// Whether a flow schema names a priority level that is not there.
fn dangling(state: &State, schema: &Value) -> Value {
    let name = schema.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
    let key = resource::key("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations");
    let found = LEVELS.contains(&name) || state.store.get(&key, "", name).is_some();
    let (reason, what) = if found { ("Found", "it exists") } else { ("NotFound", "there is no such object") };
    let joined = if found { "and" } else { "but" };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named \"{name}\" {joined} {what}"
    );
    condition(state, "Dangling", !found, reason, message)
}

/// Whether the Service of an aggregated API can be called. This server calls none.
fn reachable(state: &State, api_service: &Value) -> Value {
    let of = |key| api_service.str_at(&["spec", "service", key]).unwrap_or_default();
    let (namespace, name) = (of("namespace"), of("name"));
    let place = format!("service/{name} in \"{namespace}\"");
    let (reason, message) = match state.store.get(&resource::key("", "services"), namespace, name) {
        None => ("ServiceNotFound", format!("{place} is not present")),
        Some(service) => {
            let port = api_service.i64_at(&["spec", "service", "port"]).unwrap_or(443);
            let ports = service.value().items_at(&["spec", "ports"]);
            if ports.iter().any(|one| one.i64_at(&["port"]) == Some(port)) {
                let name = object::name(api_service);
                ("FailedDiscoveryCheck", format!("requests for {name} are not passed on to {place}"))
            } else {
                ("ServicePortError", format!("{place} is not listening on port {port}"))
            }
        }
    };
    condition(state, "Available", false, reason, message)
}
