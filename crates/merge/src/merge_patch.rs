//! JSON merge patch (RFC 7386), as `application/merge-patch+json`.

use crate::PatchError;
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
    for (key, change) in patch.iter() {
        match change {
            Value::Null => {
                target.remove(key);
            }
            Value::Object(_) => match target.get_mut(key) {
                Some(current) => apply(current, change),
                None => {
                    let mut fresh = Value::Object(Map::default());
                    apply(&mut fresh, change);
                    target.insert(key.to_owned(), fresh);
                }
            },
            other => {
                target.insert(key.to_owned(), other.clone());
            }
        }
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
