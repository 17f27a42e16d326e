//! `kubectl apply` and `kubectl apply --server-side` on the same object: the annotation of the former says what the
//! latter may take over without a conflict, and is kept up to date by it.

use super::Manager;
use super::entries::Identity;
use crate::fieldset::FieldSet;
use crate::typed::{self, Node};
use pilothouse_value::{Value, object, parse};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const KUBECTL: &str = "kubectl";

/// The conflicts that are left when those are forgiven that are about fields which kubectl applied from the client and
/// that still have that value.
pub(super) fn conflicts(
    conflicts: Vec<(Identity, FieldSet)>,
    live: &Value,
    node: Node<'_>,
    manager: &Manager<'_>,
) -> Vec<(Identity, FieldSet)> {
    if manager.name != KUBECTL {
        return conflicts;
    }
    let Some(allowed) = allowed(live, node, manager) else { return conflicts };
    let left = conflicts.into_iter().map(|(identity, fields)| (identity, fields.difference(&allowed)));
    left.filter(|(_, fields)| !fields.is_empty()).collect()
}

fn allowed(live: &Value, node: Node<'_>, manager: &Manager<'_>) -> Option<FieldSet> {
    let text = object::annotation(live, ANNOTATION).filter(|text| !text.is_empty())?;
    typed::validate(node, live, false).ok()?;
    let last = parse::json(text.as_bytes()).ok()?.value;
    if object::api_version(&last) != manager.api_version {
        return None;
    }
    typed::validate(node, &last, false).ok()?;
    let changes = typed::compare(node, &last, live).ok()?;
    let fields = typed::field_set(node, &last).ok()?;
    Some(fields.difference(&changes.modified).difference(&changes.added).difference(&changes.removed))
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
