//! `kubectl apply` and `kubectl apply --server-side` on the same object: the annotation of the former says what the
//! latter may take over without a conflict, and is kept up to date by it.

use super::Manager;
use crate::fieldset::FieldSet;
use crate::typed::{self, Node};
use pilothouse_value::{Value, object, parse};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const KUBECTL: &str = "kubectl";

/// The fields that kubectl applied from the client and that still have that value: applying them is no conflict.
pub(super) fn allowed(live: &Value, schema: Node<'_>, manager: &Manager<'_>) -> FieldSet {
    if manager.name != KUBECTL {
        return FieldSet::new();
    }
    let last = object::annotation(live, ANNOTATION).and_then(|text| parse::json(text.as_bytes()).ok());
    let Some(last) = last.filter(|last| object::api_version(&last.value) == manager.api_version) else {
        return FieldSet::new();
    };
    let changes = typed::compare(schema, &last.value, live);
    typed::field_set(schema, &last.value)
        .difference(&changes.modified)
        .difference(&changes.added)
        .difference(&changes.removed)
}

/// Makes the annotation say what was just applied, if the object has it.
pub(super) fn sync(merged: &mut Value, applied: &Value, manager: &Manager<'_>) {
    if manager.name != KUBECTL || object::annotation(merged, ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    applied.take(&["metadata", "annotations", ANNOTATION]);
    // The line end is what upstream's encoder writes.
    merged.set(&["metadata", "annotations", ANNOTATION], format!("{}\n", applied.to_json()));
}
