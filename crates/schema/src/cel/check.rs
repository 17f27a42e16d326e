//! The rules of a definition that is written: whether they compile, what they may cost, and whether there is an old
//! value to compare with. Source: `CELSchemaContext` and `ValidateCustomResourceDefinitionOpenAPISchema` of apiextensions
//! `pkg/apis/apiextensions/validation`.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use pilothouse_cel::DeclType;
use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Value, json};

use super::compile::{Compiled, Message, Ready, Stored, compile, max_cardinality};
use super::declare::declare;
use crate::node::{Additional, Rule, Schema, Type};
use crate::structural::props::Props;

/// Greatest cost of one expression for all values of an object together (`StaticEstimatedCostLimit`).
const EXPRESSION_LIMIT: u64 = 10_000_000;
/// Greatest cost of all expressions of a schema together (`StaticEstimatedCRDCostLimit`).
const SCHEMA_LIMIT: u64 = 100_000_000;
/// How many of the most expensive expressions are named.
const NAMED: usize = 4;

/// The expressions of the definition as it was before.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredExpressions {
    rules: BTreeSet<Box<str>>,
    messages: BTreeSet<Box<str>>,
}

impl StoredExpressions {
    /// Collects the expressions of all schemas.
    pub(crate) fn of(schemas: &[&Value]) -> Self {
        let mut found = Self::default();
        for schema in schemas {
            Props(schema).any(&mut |props| {
                for rule in props.list("x-kubernetes-validations") {
                    found.rules.insert(rule.text("rule").into());
                    found.messages.extend(rule.some_text("messageExpression").map(Box::from));
                }
                false
            });
        }
        found
    }
}

impl Stored for StoredExpressions {
    fn has_rule(&self, rule: &str) -> bool {
        self.rules.contains(rule)
    }

    fn has_message(&self, expression: &str) -> bool {
        self.messages.contains(expression)
    }
}

/// What is found in the rules of one schema.
pub(crate) struct Check<'a> {
    stored: &'a StoredExpressions,
    /// Whether each expression may cost what it likes: the schema is what it was.
    is_unchanged: bool,
    total: u64,
    most_expensive: Vec<(Path, u64)>,
    errors: Vec<field::Error>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(stored: &'a StoredExpressions, is_unchanged: bool) -> Self {
        Self { stored, is_unchanged, total: 0, most_expensive: Vec::new(), errors: Vec::new() }
    }

    /// What was found, and whether it costs too much as a whole. `path` is where the schema stands.
    pub(crate) fn finish(mut self, path: &Path) -> Vec<field::Error> {
        if self.total > SCHEMA_LIMIT {
            for (path, _) in &self.most_expensive {
                let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                self.errors.push(field::Error::forbidden(path, detail));
            }
            let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            self.errors.push(field::Error::forbidden(path, too_expensive(what, self.total, SCHEMA_LIMIT)));
        }
        self.errors
    }

    /// Checks the rules of one node. `no_past` is the part of the schema within which old values cannot be told.
    pub(crate) fn node(&mut self, scope: &Scope<'_>, no_past: Option<&Path>, path: &Path) {
        let rules = &scope.schema.constraints().rules;
        if rules.is_empty() {
            return;
        }
        let path = path.child("x-kubernetes-validations");
        let Some(declared) = scope.declared() else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            self.errors.push(field::Error::internal(&path, detail));
            return;
        };
        let cardinality = scope.cardinality.unwrap_or_else(|| max_cardinality(declared));
        for (index, compiled) in compile(rules, scope.schema, declared, self.stored).iter().enumerate() {
            let Some(rule) = rules.get(index) else { continue };
            self.rule(rule, compiled, cardinality, no_past, &path.index(index));
        }
    }

    fn rule(
        &mut self,
        rule: &Rule,
        compiled: &Compiled,
        cardinality: u64,
        no_past: Option<&Path>,
        path: &Path,
    ) {
        let at_rule = path.child("rule");
        let refuse = |path: &Path, reason: &str| {
            field::Error::invalid(path, Value::Null, reason).showing(printed(rule))
        };
        let max_cost = if let Compiled::Ready(ready) = compiled { ready.max_cost } else { 0 };
        self.expression("estimated rule cost", max_cost.saturating_mul(cardinality), &at_rule);
        let uses_old_self = match compiled {
            Compiled::Empty => return,
            Compiled::Refused(refused) => {
                self.errors.push(refuse(&at_rule, &refused.reason));
                refused.uses_old_self
            }
            Compiled::Ready(ready) => {
                let Ready { uses_old_self, message, .. } = &**ready;
                let at_message = path.child("messageExpression");
                match message {
                    Some(Ok(Message { max_cost, .. })) => {
                        self.expression("estimated messageExpression cost", *max_cost, &at_message);
                    }
                    Some(Err(reason)) => self.errors.push(refuse(&at_message, reason)),
                    None => {}
                }
                *uses_old_self
            }
        };
        if uses_old_self {
            if let Some(within) = no_past {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                );
                self.errors.push(field::Error::invalid(&at_rule, &*rule.rule, detail));
            }
        } else if let Some(is_optional) = rule.optional_old_self {
            let detail = "may not be set if oldSelf is not used in rule";
            self.errors.push(field::Error::invalid(&path.child("optionalOldSelf"), is_optional, detail));
        }
    }

    /// Counts what an expression may cost for all values of an object together.
    fn expression(&mut self, what: &str, cost: u64, path: &Path) {
        if !self.is_unchanged && cost > EXPRESSION_LIMIT {
            self.errors.push(field::Error::forbidden(path, too_expensive(what, cost, EXPRESSION_LIMIT)));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.most_expensive.push((path.clone(), cost));
            self.most_expensive.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.most_expensive.truncate(NAMED);
        }
    }
}

/// A rule as upstream prints it: its internal form, in Go's JSON.
fn printed(rule: &Rule) -> String {
    let text = |text: Option<&str>| Value::from(text.unwrap_or_default()).to_json();
    let or_null = |value: Option<Value>| value.unwrap_or_default().to_json();
    field::escape_html(format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        text(Some(&rule.rule)),
        text(rule.message.as_deref()),
        text(rule.message_expression.as_deref()),
        or_null(rule.reason.as_deref().map(|reason| json!(reason))),
        text(rule.field_path.as_deref()),
        or_null(rule.optional_old_self.map(Value::Bool)),
    ))
}

fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a factor for people to read")]
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// A node of the schema with what the nodes above say of it.
pub(crate) struct Scope<'a> {
    above: Option<&'a Scope<'a>>,
    step: Step<'a>,
    schema: &'a Schema,
    /// Whether this node or one above has rules.
    has_rules: bool,
    /// How many values of this node an object may have; `None` without a bound.
    cardinality: Option<u64>,
    /// What CEL sees of the node, found out when it is asked for.
    declared: OnceCell<Option<DeclType>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Property(&'a str),
    Element,
}

impl<'a> Scope<'a> {
    /// The root of a schema.
    pub(crate) fn root(schema: &'a Schema) -> Self {
        Self {
            above: None,
            step: Step::Root,
            schema,
            has_rules: !schema.constraints().rules.is_empty(),
            cardinality: Some(1),
            declared: OnceCell::new(),
        }
    }

    /// A declared field.
    pub(crate) fn property(&'a self, name: &'a str) -> Option<Self> {
        Some(self.below(Step::Property(name), self.schema.property(name)?))
    }

    /// The elements of a list.
    pub(crate) fn items(&'a self) -> Option<Self> {
        Some(self.below(Step::Element, self.schema.items()?))
    }

    /// The values of a map.
    pub(crate) fn additional(&'a self) -> Option<Self> {
        Some(self.below(Step::Element, self.schema.additional().and_then(Additional::schema)?))
    }

    fn below(&'a self, step: Step<'a>, schema: &'a Schema) -> Self {
        let cardinality = self.cardinality.zip(max_elements(self.schema));
        Self {
            above: Some(self),
            step,
            schema,
            has_rules: self.has_rules || !schema.constraints().rules.is_empty(),
            cardinality: cardinality.map(|(above, here)| above.saturating_mul(here)),
            declared: OnceCell::new(),
        }
    }

    /// What CEL sees of the node; `None` if that is nothing.
    fn declared(&self) -> Option<&DeclType> {
        self.declared.get_or_init(|| deeper(|| self.declare())).as_ref()
    }

    fn declare(&self) -> Option<DeclType> {
        if let Some(above) = self.above.filter(|above| above.has_rules) {
            let above = above.declared()?;
            let part = match self.step {
                Step::Root => None,
                Step::Property(name) => above
                    .as_object()
                    .and_then(|object| object.property(name))
                    .filter(|field| field.ident().is_some())
                    .map(|field| field.ty()),
                Step::Element => above.elements(),
            };
            if let Some(part) = part.filter(|part| part.is_exposed()) {
                return Some(part.clone());
            }
        }
        let is_resource = self.above.is_none() || self.schema.is_embedded_resource();
        Some(declare(self.schema, is_resource)).filter(DeclType::is_exposed)
    }
}

/// By how much a node multiplies what is below it.
fn max_elements(schema: &Schema) -> Option<u64> {
    let constraints = schema.constraints();
    let bound = |max: Option<i64>| max.map(|max| u64::try_from(max).unwrap_or_default());
    match schema.kind() {
        Some(Type::Object) if schema.additional().is_some() => bound(constraints.max_properties),
        Some(Type::Array) => bound(constraints.max_items),
        _ => Some(1),
    }
}
