//! Defaults are values, and must be valid and pruned like any other.
//! Source: apiextensions `pkg/apiserver/schema/defaulting/validation.go`.

use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

use crate::cel::Rules;
use crate::node::{Child, Schema};
use crate::object_meta;
use crate::prune::prune_value;
use crate::validate::validate_default;

/// From the closest object with its own type and metadata to a default in these.
#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element,
}

/// All that is wrong with the defaults of a schema. Inside of the root's own metadata there are none.
pub(super) fn validate(schema: &Schema, path: &Path, require_pruned: bool) -> Vec<field::Error> {
    let budget = i64::try_from(pilothouse_cel::RUNTIME_COST_BUDGET).unwrap_or(i64::MAX);
    let mut checker = Checker { require_pruned, steps: Vec::new(), errors: Vec::new(), budget };
    checker.node(schema, path, true, false);
    checker.errors
}

/// Whether no default has fields that are not declared.
pub(super) fn are_pruned(schema: &Schema) -> bool {
    let own = schema.default().is_none_or(|default| {
        let mut pruned = default.clone();
        prune_value(schema, &mut pruned);
        pruned == *default
    });
    own && schema.items().is_none_or(|items| deeper(|| are_pruned(items)))
        && schema.properties().iter().all(|(_, child)| deeper(|| are_pruned(child.get())))
}

struct Checker<'a> {
    require_pruned: bool,
    steps: Vec<Step<'a>>,
    errors: Vec<field::Error>,
    /// What the rules for all defaults may cost together; negative once it is spent.
    budget: i64,
}

impl<'a> Checker<'a> {
    fn node(&mut self, schema: &'a Schema, path: &Path, is_root: bool, inside_meta: bool) {
        let is_resource = is_root || schema.embedded_resource;
        let inside_meta = inside_meta && !is_resource;
        let outer = if is_resource { std::mem::take(&mut self.steps) } else { Vec::new() };
        if let Some(default) = schema.default() {
            self.default(schema, default, &path.child("default"), is_resource, inside_meta);
        }
        if self.budget < 0 {
            return;
        }
        if let Some(items) = schema.items() {
            self.within(Step::Element, |inner| inner.node(items, &path.child("items"), false, inside_meta));
        }
        for (name, child) in schema.properties().iter() {
            let Child::Inline(child) = child else { continue };
            let inside_meta =
                inside_meta || (is_resource && matches!(name, "metadata" | "apiVersion" | "kind"));
            let path = path.child("properties").key(name);
            self.within(Step::Field(name), |inner| inner.node(child, &path, false, inside_meta));
        }
        if is_resource {
            self.steps = outer;
        }
    }

    fn within(&mut self, step: Step<'a>, check: impl FnOnce(&mut Self)) {
        self.steps.push(step);
        deeper(|| check(self));
        self.steps.pop();
    }

    fn default(
        &mut self,
        schema: &Schema,
        default: &Value,
        path: &Path,
        is_resource: bool,
        inside_meta: bool,
    ) {
        let mut found = Vec::new();
        if inside_meta {
            let resource = self.surround(default.clone());
            if let Some(fields) = resource.as_object() {
                object_meta::validate_resource(fields, &Path::root(), &mut found);
            }
            if !found.is_empty() {
                let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
                let text = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
                let detail = format!("must result in valid metadata: {text}");
                self.errors.push(field::Error::invalid(path, default.clone(), detail));
                return;
            }
        } else {
            if self.require_pruned {
                let mut pruned = default.clone();
                prune_value(schema, &mut pruned);
                if pruned != *default {
                    let detail = "must not have unknown fields";
                    self.errors.push(field::Error::invalid(path, default.clone(), detail));
                }
            }
            object_meta::validate_embedded(schema, default, path, &mut found);
        }
        if found.is_empty() {
            found = validate_default(schema, default, path);
        }
        if found.is_empty()
            && let Some(rules) = Rules::of(schema, is_resource)
        {
            found = rules.evaluate_default(schema, default, path, &mut self.budget);
        }
        self.errors.append(&mut found);
    }

    /// An object that has the value where the default would be.
    fn surround(&self, mut value: Value) -> Value {
        for step in self.steps.iter().rev() {
            value = match step {
                Step::Field(name) => Value::Object(std::iter::once((*name, value)).collect::<Map>()),
                Step::Element => Value::Array(vec![value].into()),
            };
        }
        let fields = value.make_object();
        fields.or_insert_with("apiVersion", || "validation/v1".into());
        fields.or_insert_with("kind", || "Validation".into());
        value
    }
}
