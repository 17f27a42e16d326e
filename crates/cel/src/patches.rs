//! What mutations of admission policies make: `JSONPatch`, and `Object` with all that is named after its fields
//! (`Object.spec`), of which no schema is known. Source: `k8s.io/apiserver/pkg/cel/mutation`.

use crate::types::Type;

const JSON_PATCH: &str = "JSONPatch";
const OBJECT: &str = "Object";

/// The type of this name.
pub(crate) fn named(name: &str) -> Option<Type> {
    let is_object = name.strip_prefix(OBJECT).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    (is_object || name == JSON_PATCH).then(|| Type::Patch(name.into()))
}

/// The type of a field of such a type. An object has every field; of a patch even an unknown one is found, as one that
/// nothing can be given to.
pub(crate) fn field_type(of: &str, field: &str) -> Type {
    match (of, field) {
        (JSON_PATCH, "op" | "path" | "from") => Type::String,
        (JSON_PATCH, "value") => Type::Dyn,
        (JSON_PATCH, _) => Type::Unspecified,
        _ => Type::Dyn,
    }
}
