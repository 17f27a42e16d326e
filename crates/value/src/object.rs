//! Reading and writing the metadata that every Kubernetes object has. Absent or mistyped fields read as absent.

use crate::{Map, Value};

/// `metadata.name`, or an empty string.
pub fn name(object: &Value) -> &str {
    object.str_at(&["metadata", "name"]).unwrap_or_default()
}

/// `metadata.namespace`, if it is not empty.
pub fn namespace(object: &Value) -> Option<&str> {
    object.str_at(&["metadata", "namespace"]).filter(|namespace| !namespace.is_empty())
}

/// `metadata.uid`, or an empty string.
pub fn uid(object: &Value) -> &str {
    object.str_at(&["metadata", "uid"]).unwrap_or_default()
}

/// `metadata.resourceVersion`, or an empty string.
pub fn resource_version(object: &Value) -> &str {
    object.str_at(&["metadata", "resourceVersion"]).unwrap_or_default()
}

/// `metadata.generation`, or 0.
pub fn generation(object: &Value) -> i64 {
    object.i64_at(&["metadata", "generation"]).unwrap_or_default()
}

/// `apiVersion`, or an empty string.
pub fn api_version(object: &Value) -> &str {
    object.str_at(&["apiVersion"]).unwrap_or_default()
}

/// `kind`, or an empty string.
pub fn kind(object: &Value) -> &str {
    object.str_at(&["kind"]).unwrap_or_default()
}

/// `metadata.labels`.
pub fn labels(object: &Value) -> Option<&Map> {
    object.at(&["metadata", "labels"])?.as_object()
}

/// One label.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    labels(object)?.get(key)?.as_str()
}

/// `metadata.annotations`.
pub fn annotations(object: &Value) -> Option<&Map> {
    object.at(&["metadata", "annotations"])?.as_object()
}

/// One annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    annotations(object)?.get(key)?.as_str()
}

/// `metadata.deletionTimestamp`, if the object is being deleted.
pub fn deletion_timestamp(object: &Value) -> Option<&str> {
    object.str_at(&["metadata", "deletionTimestamp"])
}

/// `metadata.finalizers`.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object.items_at(&["metadata", "finalizers"]).iter().filter_map(Value::as_str)
}

/// Whether the object has this finalizer.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    finalizers(object).any(|f| f == finalizer)
}

/// `metadata.ownerReferences`.
pub fn owner_references(object: &Value) -> &[Value] {
    object.items_at(&["metadata", "ownerReferences"])
}

/// The owner reference with `controller: true`.
pub fn controller_of(object: &Value) -> Option<&Value> {
    owner_references(object).iter().find(|r| r.get("controller").and_then(Value::as_bool) == Some(true))
}

/// An owner reference to `owner` with `controller` and `blockOwnerDeletion` set.
pub fn controller_reference(owner: &Value) -> Value {
    crate::json!({
        "apiVersion": api_version(owner), "kind": kind(owner), "name": name(owner), "uid": uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// The condition of this type in `status.conditions`.
pub fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object.items_at(&["status", "conditions"]).iter().find(|c| c.str_at(&["type"]) == Some(kind))
}

/// Whether the condition of this type has status `True`.
pub fn condition_is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).and_then(|c| c.str_at(&["status"])) == Some("True")
}
