//! The built-in kinds of Kubernetes 1.37: which resources a server serves without any flag, what their objects look
//! like, how Go reads and writes them, their defaults and their rules. The tables under `src/tables` are written by
//! `generate/`; what no table can say (defaults that depend on other fields, rules between fields) stands in Rust, by
//! kind.
//!
//! Everything is read from its table when it is first asked for: starting costs nothing.

mod autoscalers;
mod decode;
mod defaults;
mod descriptions;
mod empties;
mod go;
mod go_json;
mod go_names;
mod ips;
mod nodes;
mod prepare;
mod resources;
mod selectable;
mod stored;
mod subresources;
pub(crate) mod types;
mod unstructured;
mod validation;
mod warnings;
mod write;

pub use autoscalers::convert_autoscaler;
pub use decode::{DecodeError, decode, zero_object};
pub(crate) use decode::{is_omitted, zero};
pub use defaults::default;
pub use descriptions::describe;
pub(crate) use descriptions::unescape;
pub use empties::{Empties, bundles, put_bundles, take_empties, tells_empty};
pub use prepare::{
    has_generation, hide_template_generation, prepare_create, prepare_update, say_template_generation,
    sync_app_armor,
};
pub use resources::{Resource, Subresource, Verbs, resource, resources};

pub use selectable::{FieldLabelError, check_field_label, field_value};
pub use stored::forget_empty_lists;
pub use subresources::prepare_subresource;
pub use unstructured::{convert, is_managed_fields_entry};
pub use validation::{
    CompileCondition, CompilePolicy, ConditionProblem, Policy, PolicyExpression, PolicyRole, validate,
    validate_as_given, validate_binding, validate_cluster_ips, validate_policy, validate_subresource,
    validate_webhooks,
};
pub use warnings::{Amounts, status_warnings, warnings};
pub use write::{metadata_json, write_item_json, write_json};

pub(crate) use types::kinds_of_type;

use pilothouse_value::Gvk;

use crate::Schema;

/// The name of a kind's type in the tables, such as `apps.v1.Deployment`; `None` for a kind that is not built in.
/// Lists (`PodList`) and the options of requests (`DeleteOptions`, in any group) are kinds too.
pub fn type_name(gvk: &Gvk) -> Option<&'static str> {
    types::kind(gvk).map(|def| def.name)
}

/// The schema of a built-in kind, without descriptions (see [`describe`]); `None` for a kind that is not built in.
pub fn schema(gvk: &Gvk) -> Option<&'static Schema> {
    type_name(gvk).map(nodes::resolve)
}

/// What a server warns of when a deprecated kind is used.
pub fn deprecation(gvk: &Gvk) -> Option<&'static str> {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}
