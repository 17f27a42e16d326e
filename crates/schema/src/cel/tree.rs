//! The compiled rules of a whole schema, in the shape of the schema. Source: `NewValidator` of apiextensions
//! `pkg/apiserver/schema/cel/validation.go`.

use std::collections::BTreeMap;

use pilothouse_cel::{DeclType, escape};
use pilothouse_value::Value;
use pilothouse_value::stack::deeper;

use super::compile::{All, Compiled, compile};
use super::declare::declare;
use super::{Findings, evaluate};
use crate::node::{Additional, Rule, Schema};

/// The compiled rules of a schema. To be made once for a schema that was accepted, and used for all its objects.
#[derive(Debug)]
pub struct Rules {
    root: Node,
}

impl Rules {
    /// Compiles the rules of the schema of a custom resource; `None` if it has none.
    pub fn compile(schema: &Schema) -> Option<Self> {
        Self::of(schema, true)
    }

    /// Compiles the rules of a schema. `is_resource` for a whole custom resource, whose type and metadata rules see.
    pub(crate) fn of(schema: &Schema, is_resource: bool) -> Option<Self> {
        if !has_rules(schema) {
            return None;
        }
        let root = node(schema, schema, &declare(schema, is_resource))?;
        Some(Self { root })
    }

    /// What the rules say of an object; `old` is the object before an update. Returns whether that cost less than `limit`.
    pub(super) fn evaluate(
        &self,
        schema: &Schema,
        new: &Value,
        old: Option<&Value>,
        limit: Option<u64>,
        findings: &mut Findings,
    ) -> bool {
        evaluate::object(&self.root, schema, new, old, limit, findings)
    }

    /// What the rules say of a default value, with what is left of the budget afterwards.
    pub(crate) fn evaluate_default(
        &self,
        schema: &Schema,
        value: &Value,
        path: &pilothouse_value::field::Path,
        budget: &mut i64,
    ) -> Vec<pilothouse_value::field::Error> {
        evaluate::default(&self.root, schema, value, path, budget)
    }
}

/// The rules of a node and of what is below it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) declared: DeclType,
    pub(super) rules: Vec<(Rule, Compiled)>,
    /// Whether any of the rules uses `oldSelf`.
    pub(super) uses_old_self: bool,
    pub(super) items: Option<Box<Node>>,
    pub(super) properties: BTreeMap<Box<str>, Node>,
    pub(super) additional: Option<Box<Node>>,
    pub(super) all_of: Vec<Node>,
}

fn has_rules(schema: &Schema) -> bool {
    !schema.constraints().rules.is_empty()
        || schema.items().is_some_and(|items| deeper(|| has_rules(items)))
        || schema.additional().and_then(Additional::schema).is_some_and(|child| deeper(|| has_rules(child)))
        || schema.properties().iter().any(|(_, child)| deeper(|| has_rules(child.get())))
}

/// `restrictions` is the schema that has the rules: the node's own or one of its `allOf`.
fn node(restrictions: &Schema, schema: &Schema, declared: &DeclType) -> Option<Node> {
    deeper(|| node_here(restrictions, schema, declared))
}

fn node_here(restrictions: &Schema, schema: &Schema, declared: &DeclType) -> Option<Node> {
    if !declared.is_exposed() {
        return None;
    }
    let rules = &restrictions.constraints().rules;
    let compiled = if rules.is_empty() { Vec::new() } else { compile(rules, schema, declared, &All) };
    let uses_old_self =
        compiled.iter().any(|one| matches!(one, Compiled::Ready(ready) if ready.uses_old_self));
    let child = |restrictions: Option<&Schema>, schema: Option<&Schema>| {
        Some(Box::new(node(restrictions?, schema?, declared.elements()?)?))
    };
    let items = child(restrictions.items(), schema.items());
    let additional = child(
        restrictions.additional().and_then(Additional::schema),
        schema.additional().and_then(Additional::schema),
    );
    let mut properties = BTreeMap::new();
    for (name, restrictions) in restrictions.properties().iter() {
        let Some(property) = schema.property(name) else { continue };
        let known = declared.as_object().and_then(|object| object.property(name));
        let own;
        let declared = match known {
            Some(field) => field.ty(),
            // What expressions cannot name has rules of its own nevertheless.
            None if escape(name).is_none() => {
                own = declare(property, property.is_embedded_resource());
                &own
            }
            None => continue,
        };
        if let Some(found) = node(restrictions.get(), property, declared) {
            properties.insert(name.into(), found);
        }
    }
    let all_of: Vec<Node> =
        restrictions.constraints().all_of.iter().filter_map(|one| node(one, schema, declared)).collect();
    let is_empty = compiled.is_empty()
        && items.is_none()
        && additional.is_none()
        && properties.is_empty()
        && all_of.is_empty();
    (!is_empty).then(|| Node {
        declared: declared.clone(),
        rules: rules.iter().cloned().zip(compiled).collect(),
        uses_old_self,
        items,
        properties,
        additional,
        all_of,
    })
}
