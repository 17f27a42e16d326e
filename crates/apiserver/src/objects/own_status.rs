//! What a real server's own controllers tell of objects: whether a flow schema has its priority level, and whether an
//! aggregated API can be reached. Ours is told at once, by a write of its own behind the one that made the object.

use std::sync::Arc;

use pilothouse_store::Object;
use pilothouse_value::{Value, json};

use crate::aggregation;
use crate::fairness;
use crate::registry::resource;
use crate::start::bootstrap::API_REGISTRATION;
use crate::state::{State, Target};
use crate::verbs;

/// Who is recorded as the writer, and how.
struct Controller {
    manager: &'static str,
    operation: &'static str,
}

const FLOW: Controller = Controller { manager: fairness::CONSUMER, operation: "Apply" };
const AVAILABILITY: Controller = Controller { manager: "kube-apiserver", operation: "Update" };

/// Writes the status of an object that was written, if it is of a kind whose status is the server's own, or of those whose
/// status it changes. An object that somebody changed meanwhile keeps what they wrote.
pub(crate) async fn tell(state: &Arc<State>, target: &Target, stored: &Arc<Object>) {
    let resource = &target.resource;
    if !resource.is_built_in() || target.subresource.is_some() {
        return;
    }
    let value = stored.value();
    if resource.group == fairness::GROUP && !state.fairness.is_enabled() {
        // Nobody looks at them.
    } else if resource.is(fairness::GROUP, fairness::SCHEMAS) {
        write(state, target, stored, &FLOW, dangling(state, value)).await;
    } else if resource.is(fairness::GROUP, fairness::LEVELS) {
        level_changed(state, &target.name).await;
    } else if resource.is(API_REGISTRATION, "apiservices") && value.at(&["spec", "service"]).is_none() {
        let local = json!({
            "type": "Available", "status": "True", "reason": "Local",
            "message": "Local APIServices are always available", "lastTransitionTime": state.now(),
        });
        tell_of_api_service(state, target, stored, local).await;
    } else if resource.is(API_REGISTRATION, "apiservices")
        && let Some(condition) = aggregation::obstacle(state, value)
    {
        // What can be known without asking anybody is told at once.
        tell_of_api_service(state, target, stored, condition).await;
    }
}

/// Writes whether an API service is available.
pub(crate) async fn tell_of_api_service(
    state: &Arc<State>,
    target: &Target,
    stored: &Arc<Object>,
    mut condition: Value,
) {
    // The time is that of the last change of the status alone.
    let conditions = stored.value().items_at(&["status", "conditions"]);
    let before = conditions.iter().find(|one| one.get("type") == condition.get("type"));
    if let Some(time) = before
        .filter(|before| before.get("status") == condition.get("status"))
        .and_then(|before| before.get("lastTransitionTime"))
    {
        condition.set(&["lastTransitionTime"], time.clone());
    }
    write(state, target, stored, &AVAILABILITY, condition).await;
}

/// Tells the flow schemas that lead to a level whether it is there now.
pub(crate) async fn level_changed(state: &Arc<State>, level: &str) {
    let resource = state.registry.get(fairness::GROUP, "v1", fairness::SCHEMAS);
    let Some(resource) = resource.filter(|_| state.fairness.is_enabled()) else { return };
    let leading: Vec<(String, Arc<Object>)> = state
        .store
        .snapshot()
        .list(&resource.key, None, None)
        .filter(|entry| {
            entry.object.value().str_at(&["spec", "priorityLevelConfiguration", "name"]) == Some(level)
        })
        .map(|entry| (entry.name.to_string(), entry.object.clone()))
        .collect();
    for (name, stored) in leading {
        let target = Target { resource: resource.clone(), namespace: String::new(), name, subresource: None };
        let condition = dangling(state, stored.value());
        Box::pin(write(state, &target, &stored, &FLOW, condition)).await;
    }
}

/// Writes a condition, unless the object has it.
async fn write(
    state: &Arc<State>,
    target: &Target,
    stored: &Arc<Object>,
    controller: &Controller,
    condition: Value,
) {
    let mut told = Value::clone(stored.value());
    let kind = condition.str_at(&["type"]).unwrap_or_default().to_owned();
    let is_own = |one: &Value| one.str_at(&["type"]) == Some(kind.as_str());
    let conditions = told.entry(&["status", "conditions"]);
    if !matches!(conditions, Value::Array(_)) {
        *conditions = Value::Array(Vec::new().into());
    }
    let Value::Array(conditions) = conditions else { return };
    let says = |one: &Value, key| one.get(key) == condition.get(key);
    match conditions.iter_mut().find(|one| is_own(one)) {
        Some(own) if ["status", "reason", "message"].into_iter().all(|key| says(own, key)) => return,
        Some(own) => *own = condition,
        None => conditions.push(condition),
    }
    let fields = json!({".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}});
    let mut written = Value::object();
    if controller.operation == "Update" {
        written.set(&["."], Value::object());
    }
    written.set(&[&format!("k:{{\"type\":\"{kind}\"}}")], fields);
    let entry = json!({
        "manager": controller.manager, "operation": controller.operation, "subresource": "status",
        "apiVersion": target.resource.api_version(), "time": state.now(), "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": written}},
    });
    let is_entry = |one: &Value| {
        ["manager", "operation", "subresource"].into_iter().all(|key| one.get(key) == entry.get(key))
    };
    match told.entry(&["metadata", "managedFields"]) {
        Value::Array(entries) => match entries.iter_mut().find(|one| is_entry(one)) {
            Some(own) => *own = entry,
            None => entries.push(entry),
        },
        other => *other = Value::Array(vec![entry].into()),
    }
    if let Err(status) = verbs::put(state, target, Some(stored.revision()), told).await {
        tracing::warn!(
            name = target.name,
            message = status.message,
            "the server's own status was not written"
        );
    }
}

/// Whether a flow schema names a priority level that is not there.
fn dangling(state: &State, schema: &Value) -> Value {
    let name = schema.str_at(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
    let key = resource::key(fairness::GROUP, fairness::LEVELS);
    let found = fairness::is_mandatory(name) || state.store.get(&key, "", name).is_some();
    fairness::dangling(name, found, &state.now())
}
