//! The schema of what every resource has: `apiVersion`, `kind` and `metadata`. CustomResourceDefinitions leave it out.

use pilothouse_schema::{Schema, Type, builtin};
use pilothouse_value::Gvk;
use std::sync::LazyLock;

static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema { kind: Some(Type::String), ..Default::default() });

/// The same for every kind, so any built-in kind can tell.
static METADATA: LazyLock<Option<&'static Schema>> =
    LazyLock::new(|| builtin::schema(&Gvk::new("", "v1", "ConfigMap"))?.property("metadata"));

/// The schema of a field that every resource has.
pub(super) fn common_field(name: &str) -> Option<&'static Schema> {
    match name {
        "apiVersion" | "kind" => Some(&TEXT),
        "metadata" => *METADATA,
        _ => None,
    }
}
