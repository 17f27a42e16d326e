//! Structural schemas: what a CustomResourceDefinition may say of its objects, and the node that it becomes.
//!
//! A schema is structural when the shape of the objects can be read from it without evaluating anything: each field has
//! one type, and alternatives only restrict. Source: apiextensions `pkg/apiserver/schema` and
//! `pkg/apis/apiextensions/validation`.

mod build;
mod defaults;
mod openapi;
pub(crate) mod props;
mod rules;

use std::sync::Arc;

use pilothouse_value::Value;
use pilothouse_value::field::{self, Path};

use crate::cel::check::StoredExpressions;
use crate::node::Schema;
pub(crate) use build::build;
use props::Props;

/// Reads an `openAPIV3Schema` that stands at `path`, or tells all that is wrong with it.
///
/// CEL rules are compiled to see whether they can be; [`crate::cel::Rules`] keeps what is compiled.
pub fn parse(schema: &Value, path: &Path) -> Result<Arc<Schema>, Vec<field::Error>> {
    let rules = RuleContext { stored: &StoredExpressions::default(), is_unchanged: false };
    let (node, errors) = check(schema, path, Strictness::default(), rules);
    if errors.is_empty() { Ok(Arc::new(node)) } else { Err(errors) }
}

/// Reads a schema that was accepted before, whatever the rules of today say of it.
pub fn parse_stored(schema: &Value) -> Arc<Schema> {
    Arc::new(build(Props(schema)))
}

/// Rules that came later, and that a CRD which broke them before may go on breaking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strictness {
    pub(crate) structural: bool,
    pub(crate) pruned_defaults: bool,
    pub(crate) atomic_sets: bool,
    pub(crate) map_keys: bool,
    pub(crate) types: bool,
}

impl Default for Strictness {
    fn default() -> Self {
        Self { structural: true, pruned_defaults: true, atomic_sets: true, map_keys: true, types: true }
    }
}

impl Strictness {
    /// What an old schema allows: each rule that it keeps is required of the new one too.
    pub(crate) fn of_old(schemas: &[&Value]) -> Self {
        let none = |test: &mut dyn FnMut(Props<'_>) -> bool| {
            !schemas.iter().any(|schema| Props(schema).any(&mut |props| test(props)))
        };
        Self {
            structural: schemas
                .iter()
                .all(|schema| rules::structural(Props(schema), &Path::root()).is_empty()),
            pruned_defaults: schemas.iter().all(|schema| defaults::are_pruned(&build(Props(schema)))),
            atomic_sets: none(&mut |props| openapi::has_set_of_granular_items(props)),
            map_keys: none(&mut |props| !openapi::map_keys(props, &Path::root()).is_empty()),
            types: none(&mut |props| {
                props.some_text("type").is_some_and(|kind| crate::node::Type::parse(kind).is_none())
            }),
        }
    }
}

/// What the definition as it was before has to say of the rules of a schema.
#[derive(Clone, Copy)]
pub(crate) struct RuleContext<'a> {
    /// The expressions that it has.
    pub(crate) stored: &'a StoredExpressions,
    /// Whether it has this schema, as it is.
    pub(crate) is_unchanged: bool,
}

/// How deep a schema may nest. Upstream has no limit but that of JSON; ours is for what is made of schemas, and far from what anybody
/// writes.
const DEEPEST: usize = 1_000;

/// Makes the node of a schema, and finds all that is wrong with it.
pub(crate) fn check(
    schema: &Value,
    path: &Path,
    strictness: Strictness,
    rules: RuleContext<'_>,
) -> (Schema, Vec<field::Error>) {
    let props = Props(schema);
    if props.is_deeper_than(DEEPEST) {
        let detail = format!("OpenAPIV3Schema is nested deeper than {DEEPEST} levels");
        return (Default::default(), vec![field::Error::invalid(path, "", detail)]);
    }
    let node = build(props);
    let mut errors = Vec::new();
    let unsupported = rules::unsupported(props);
    if strictness.structural && unsupported.is_none() {
        errors = rules::structural(props, path);
        if errors.is_empty() {
            errors = defaults::validate(&node, path, strictness.pruned_defaults);
        }
    }
    let is_structural = strictness.structural && unsupported.is_none() && errors.is_empty();
    errors.extend(openapi::validate(props, path, strictness, is_structural.then_some(&node), rules));
    if let Some(detail) = unsupported
        && errors.is_empty()
        && strictness.structural
    {
        errors.push(field::Error::invalid(path, "", detail));
    }
    (node, errors)
}
