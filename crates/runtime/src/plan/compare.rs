//! Whether what exists already is what is wanted, so that nothing is written that is there.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use crate::object::Kind;

/// What the server sets in the metadata: no part of what a controller wants.
const SERVER_SET: [&str; 7] = [
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// An object as an intent: with its type, without nulls (Rust's `None` means "not set"), status and what the server sets.
pub(crate) fn intent(object: Value, kind: &Kind) -> Value {
    let mut object = without_nulls(object);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), kind.api_version().into());
        fields.insert("kind".to_owned(), kind.kind.clone().into());
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !SERVER_SET.contains(&name.as_str()));
        }
    }
    object
}

/// Takes out the fields of objects that are null.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// True when applying `wanted` as `manager` would change nothing in `live`: every wanted field is there, and every field
/// that this manager has applied before is still wanted. When in doubt (the server writes values differently) it says
/// false, and the apply finds out.
pub(crate) fn is_applied(live: &Value, wanted: &Value, manager: &str) -> bool {
    let applied = live.pointer("/metadata/managedFields").and_then(Value::as_array).and_then(|entries| {
        entries.iter().find(|entry| entry["manager"] == manager && entry["operation"] == "Apply")
    });
    match applied {
        Some(entry) => covers(live, wanted) && wants_all(wanted, &entry["fieldsV1"]),
        None => false,
    }
}

/// True when `live` has everything that `wanted` has. Lists must be of the same length.
fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| match live.get(name) {
                Some(live) => covers(live, wanted),
                // Types leave out empty maps and lists.
                None => is_empty(wanted),
            })
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted))
        }
        (Value::Number(live), Value::Number(wanted)) => live == wanted || live.as_f64() == wanted.as_f64(),
        (live, wanted) => live == wanted,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// True when `wanted` still has all the fields of a `FieldsV1` set
/// (<https://kubernetes.io/docs/reference/using-api/server-side-apply/>): `f:NAME` is a field, `k:{KEYS}` an item of a
/// list by its keys, `v:VALUE` an item of a set, `i:INDEX` an item by its place.
fn wants_all(wanted: &Value, fields: &Value) -> bool {
    let Some(fields) = fields.as_object() else { return true };
    fields.iter().all(|(path, below)| {
        let child = match path.split_once(':') {
            Some(("f", name)) => wanted.get(name),
            Some(("k", keys)) => item_by_keys(wanted, keys),
            Some(("v", value)) => item_by_value(wanted, value),
            Some(("i", index)) => index.parse::<usize>().ok().and_then(|index| wanted.get(index)),
            // `.` is the value itself.
            _ => return true,
        };
        child.is_some_and(|child| wants_all(child, below))
    })
}

fn item_by_keys<'a>(wanted: &'a Value, keys: &str) -> Option<&'a Value> {
    let keys: Map<String, Value> = serde_json::from_str(keys).ok()?;
    // A key that is not set is one that the server has defaulted, as the protocol of a port.
    wanted
        .as_array()?
        .iter()
        .find(|item| keys.iter().all(|(name, value)| item.get(name).is_none_or(|wanted| wanted == value)))
}

fn item_by_value<'a>(wanted: &'a Value, value: &str) -> Option<&'a Value> {
    let value: Value = serde_json::from_str(value).ok()?;
    wanted.as_array()?.iter().find(|item| **item == value)
}

/// A number that changes when something changes that an apply could have set.
pub(crate) fn fingerprint(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, value) in object.as_object().into_iter().flatten().filter(|(name, _)| *name != "status") {
        name.hash(&mut hasher);
        match value.as_object().filter(|_| name == "metadata") {
            Some(metadata) => {
                for (name, value) in metadata.iter().filter(|(name, _)| !SERVER_SET.contains(&name.as_str()))
                {
                    (name, value).hash(&mut hasher);
                }
            }
            None => value.hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// A number that changes when a status changes in more than the time of a condition.
pub(crate) fn status_fingerprint(status: &Value) -> u64 {
    let mut status = status.clone();
    for condition in
        status["conditions"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut)
    {
        condition.remove("lastTransitionTime");
    }
    let mut hasher = DefaultHasher::new();
    status.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live() -> Value {
        json!({
            "metadata": {"name": "a", "uid": "u", "managedFields": [{
                "manager": "cache", "operation": "Apply", "fieldsV1": {
                    "f:metadata": {"f:labels": {"f:app": {}}},
                    "f:spec": {"f:replicas": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}},
                },
            }], "labels": {"app": "a", "other": "x"}},
            "spec": {"replicas": 3, "ports": [{"port": 80, "protocol": "TCP"}], "strategy": "Rolling"},
        })
    }

    fn wanted() -> Value {
        json!({"metadata": {"name": "a", "labels": {"app": "a"}}, "spec": {"replicas": 3, "ports": [{"port": 80}]}})
    }

    #[test]
    fn what_others_have_added_is_no_difference() {
        assert!(is_applied(&live(), &wanted(), "cache"));
    }

    #[test]
    fn a_changed_field_is_a_difference() {
        let mut wanted = wanted();
        wanted["spec"]["replicas"] = json!(4);
        assert!(!is_applied(&live(), &wanted, "cache"));
    }

    #[test]
    fn a_field_that_is_no_longer_wanted_is_a_difference() {
        let mut wanted = wanted();
        wanted["metadata"].as_object_mut().unwrap().remove("labels");
        assert!(!is_applied(&live(), &wanted, "cache"));
    }

    #[test]
    fn an_item_that_is_no_longer_wanted_is_a_difference() {
        let mut live = live();
        live["spec"]["ports"] = json!([{"port": 80, "protocol": "TCP"}, {"port": 81, "protocol": "TCP"}]);
        assert!(!is_applied(&live, &wanted(), "cache"));
    }

    #[test]
    fn what_another_manager_has_applied_is_not_ours() {
        assert!(!is_applied(&live(), &wanted(), "another"));
    }

    #[test]
    fn an_intent_has_no_nulls_no_status_and_nothing_of_the_server() {
        let kind = Kind {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            namespaced: true,
        };
        let object = json!({"metadata": {"name": "a", "uid": "u", "creationTimestamp": null},
            "spec": {"x": null, "list": [{"y": null}]}, "status": {"ready": true}});
        assert_eq!(
            intent(object, &kind),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {"list": [{}]}})
        );
    }

    #[test]
    fn a_fingerprint_does_not_see_versions_and_status() {
        let mut other = live();
        other["metadata"]["resourceVersion"] = json!("7");
        other["status"] = json!({"ready": true});
        assert_eq!(fingerprint(&live()), fingerprint(&other));
        other["spec"]["replicas"] = json!(4);
        assert_ne!(fingerprint(&live()), fingerprint(&other));
    }
}
