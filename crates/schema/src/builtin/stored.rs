//! What the way through the storage does to an object of a built-in kind: objects are stored as protobuf, which cannot
//! tell a list that is empty from one that is not there. Until then the two differ: who gives an empty list owns it.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Gvk, Map, Value};

use super::types::{self, Form, TypeDef};

/// Turns empty lists into nulls, as they are read back from the storage. Definitions of custom resources are stored as
/// JSON, and keep theirs.
pub fn forget_empty_lists(gvk: &Gvk, object: &mut Value) {
    // Hardly any object has one: a look at the values is much faster than one at the types.
    if !has_empty_list(object) {
        return;
    }
    if let (Some(def), Value::Object(map)) = (types::kind(gvk), object)
        && !def.name.starts_with("apiextensions.")
    {
        in_struct(def, map);
    }
}

fn has_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || deeper(|| items.iter().any(has_empty_list)),
        Value::Object(map) => deeper(|| map.values().any(has_empty_list)),
        _ => false,
    }
}

fn in_struct(def: &'static TypeDef, map: &mut Map) {
    for (name, value) in map.iter_mut() {
        if let Some(field) = def.field(name) {
            within(&field.form, value);
        }
    }
}

fn within(form: &Form, value: &mut Value) {
    match (form, &mut *value) {
        (Form::List(_) | Form::WrappedList(_), Value::Array(items)) if items.is_empty() => {
            *value = Value::Null
        }
        (Form::List(item), Value::Array(items)) => items.iter_mut().for_each(|value| within(item, value)),
        (Form::Map(item), Value::Object(map)) => map.values_mut().for_each(|value| within(item, value)),
        (Form::Ref(id), Value::Object(map)) => in_struct(id.def(), map),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn empty_lists_are_forgotten_where_protobuf_cannot_tell_them() {
        let mut role = json!({"rules": [{"verbs": [], "apiGroups": ["a"]}]});
        forget_empty_lists(&Gvk::new("rbac.authorization.k8s.io", "v1", "Role"), &mut role);
        assert_eq!(role, json!({"rules": [{"verbs": null, "apiGroups": ["a"]}]}));
        let kept = json!({"data": {"list": []}});
        let mut revision = kept.clone();
        forget_empty_lists(&Gvk::new("apps", "v1", "ControllerRevision"), &mut revision);
        assert_eq!(revision, kept, "raw JSON is stored as it is");
        let kept = json!({"status": {"conditions": []}});
        let mut definition = kept.clone();
        forget_empty_lists(
            &Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            &mut definition,
        );
        assert_eq!(definition, kept, "definitions are stored as JSON");
    }
}
