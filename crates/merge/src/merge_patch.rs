//! JSON merge patch (RFC 7386), as `application/merge-patch+json`.

use crate::PatchError;
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

/// Merges `patch` into `doc`: objects are merged key by key, `null` removes, anything else replaces.
///
/// Total: any patch can be applied to any document. A request's patch must be an object; see [`check`].
pub fn apply(doc: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *doc = patch.clone();
        return;
    };
    if !matches!(doc, Value::Object(_)) {
        *doc = Value::Object(Map::default());
    }
    let Value::Object(target) = doc else { return };
    deeper(|| merge(target, patch));
}

fn merge(target: &mut Map, patch: &Map) {
    for (key, change) in patch.iter() {
        if change.is_null() {
            target.remove(key);
            continue;
        }
        match (target.get_mut(key), change) {
            (Some(current @ Value::Object(_)), Value::Object(_)) => apply(current, change),
            // In what takes the place of an object nulls stay, as upstream has it.
            (Some(current @ Value::Object(_)), _) => *current = change.clone(),
            _ => {
                target.insert(key, without_nulls(change));
            }
        }
    }
}

/// What is new comes without the fields that are null, also in objects that stand in lists.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => deeper(|| {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key, without_nulls(value))).collect())
        }),
        Value::Array(items) => deeper(|| Value::Array(items.iter().map(without_nulls).collect())),
        scalar => scalar.clone(),
    }
}

/// Refuses what kube-apiserver refuses before it merges: a patch that is not an object.
pub fn check(patch: &Value) -> Result<(), PatchError> {
    let kind = match patch {
        Value::Object(_) => return Ok(()),
        Value::Null => return Err(PatchError::Malformed("Invalid JSON Patch".into())),
        other => crate::json_patch::json_type(other),
    };
    Err(PatchError::Malformed(format!(
        "error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )))
}
