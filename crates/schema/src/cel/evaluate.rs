//! Rules at work on an object: what is compared with what, what may be overlooked, and what it all may cost.
//! Source: `Validator.validate` of apiextensions `pkg/apiserver/schema/cel/validation.go`.

use std::sync::Arc;

use pilothouse_cel::{Activation, EvalError, PER_CALL_LIMIT, RUNTIME_COST_BUDGET, Val};
use pilothouse_value::field::{self, ErrorKind, Path};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

use super::Findings;
use super::compile::{Compiled, OLD_SELF, Ready, SELF};
use super::message;
use super::tree::Node;
use crate::node::{Additional, Rule, Schema, Type};
use crate::ratchet::{Old, Pair};

/// How much text what rules say of one object may take, in bytes: a message may be as long as a definition, and there may be one for
/// each item of a list.
const MOST_TOLD: usize = 8 << 20;

/// Evaluates the rules for a whole object. Returns whether that could be done for less than `limit`, if there is one; if
/// not, what was found is not all.
pub(super) fn object(
    root: &Node,
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    limit: Option<u64>,
    findings: &mut Findings,
) -> bool {
    let path = Path::root();
    let pair = old.map(|old| Pair::new(new, Old { value: old, schema }));
    let mut run = Run { budget: budget(), limit, findings, told: 0, overlooked: 0 };
    let ratchet = Ratchet { current: pair.as_ref(), parent: None };
    run.node(root, schema, At { path: &path, step: None }, new, old, ratchet);
    let (left, is_done) = (run.budget, run.limit != Some(0));
    findings.cost += u64::try_from(budget() - left).unwrap_or_default();
    is_done
}

/// Evaluates the rules for a default value: first as an update that changes nothing, then as a creation.
pub(super) fn default(
    root: &Node,
    schema: &Schema,
    value: &Value,
    path: &Path,
    left: &mut i64,
) -> Vec<field::Error> {
    let before = *left;
    let mut found = Vec::new();
    for old in [Some(value), None] {
        let mut findings = Findings::default();
        let mut run = Run { budget: before, limit: None, findings: &mut findings, told: 0, overlooked: 0 };
        run.node(root, schema, At { path, step: None }, value, old, Ratchet::default());
        *left = run.budget.min(*left);
        found = findings.errors;
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn budget() -> i64 {
    i64::try_from(RUNTIME_COST_BUDGET).unwrap_or(i64::MAX)
}

/// What is left once the budget is spent: nothing more is evaluated.
const SPENT: i64 = -1;

/// Where in the object a value is; written out only for an error.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a Path,
    step: Option<(&'a At<'a>, Step<'a>)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    fn then(&'a self, step: Step<'a>) -> At<'a> {
        At { path: self.path, step: Some((self, step)) }
    }

    fn to_path(self) -> Path {
        match self.step {
            None => self.path.clone(),
            Some((above, Step::Field(name))) => deeper(|| above.to_path()).child(name),
            Some((above, Step::Key(key))) => deeper(|| above.to_path()).key(key),
            Some((above, Step::Index(index))) => deeper(|| above.to_path()).index(index),
        }
    }
}

/// What a value was before, for overlooking failures of what did not change.
#[derive(Clone, Copy, Default)]
struct Ratchet<'a> {
    /// The value itself with its past, if it can be told.
    current: Option<&'a Pair<'a>>,
    /// The closest part around it whose past can be told.
    parent: Option<&'a Pair<'a>>,
}

impl<'a> Ratchet<'a> {
    fn is_unchanged(self) -> bool {
        self.current.or(self.parent).is_some_and(Pair::is_unchanged)
    }

    /// For what is below this value; `child` is its past.
    fn below(self, child: Option<&'a Pair<'a>>) -> Self {
        match self.current {
            None => self,
            Some(current) => Self { current: child, parent: Some(current) },
        }
    }
}

/// The variables of a rule.
struct Variables<'v, 'n> {
    new: &'v Value,
    /// The value before; the outer `None` if no variable of that name is there.
    old: Option<Option<&'v Value>>,
    is_optional: bool,
    node: &'n Node,
}

impl<'v, 'n: 'v> Activation<'v> for Variables<'v, 'n> {
    fn resolve(&self, name: &str) -> Option<Result<Val<'v>, EvalError>> {
        let declared = &self.node.declared;
        match name {
            SELF => Some(Val::view(self.new, declared)),
            OLD_SELF => match (self.old?, self.is_optional) {
                (Some(old), false) => Some(Val::view(old, declared)),
                // It is there, also where it is not of its type.
                (Some(old), true) => {
                    let old = Val::view(old, declared);
                    Some(Ok(Val::some(old.unwrap_or_else(|why| Val::Wrong(Arc::new(why))))))
                }
                (None, true) => Some(Ok(Val::none())),
                (None, false) => None,
            },
            _ => None,
        }
    }
}

struct Run<'f> {
    budget: i64,
    /// What may be spent before it is given up: 0 once it has been.
    limit: Option<u64>,
    findings: &'f mut Findings,
    /// How much text of errors was made, in bytes, and of what is overlooked.
    told: usize,
    overlooked: usize,
}

impl Run<'_> {
    fn node(
        &mut self,
        node: &Node,
        schema: &Schema,
        at: At<'_>,
        new: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
    ) {
        if new.is_null() {
            return;
        }
        self.rules(node, schema, at, new, old, ratchet);
        for restrictions in &node.all_of {
            if self.budget < 0 {
                return;
            }
            let ratchet = Ratchet { current: None, parent: ratchet.parent };
            deeper(|| self.node(restrictions, schema, at, new, old, ratchet));
        }
        if self.budget < 0 {
            return;
        }
        match new {
            Value::Array(items) => self.array(node, schema, at, items, old, ratchet),
            Value::Object(fields) => self.fields(node, schema, at, fields, old, ratchet),
            _ => {}
        }
    }

    fn array(
        &mut self,
        node: &Node,
        schema: &Schema,
        at: At<'_>,
        items: &[Value],
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
    ) {
        let (Some(child), Some(item_schema)) = (node.items.as_deref(), schema.items()) else { return };
        // Where the past of the list can be told, it is the old list.
        let elements = old.and_then(|value| Old { value, schema }.elements());
        for (index, item) in items.iter().enumerate() {
            let old = elements.as_ref().and_then(|elements| elements.find(item));
            let pair = old.filter(|_| ratchet.current.is_some()).map(|old| Pair::new(item, old));
            let at = at.then(Step::Index(index));
            let old = old.map(|old| old.value);
            deeper(|| self.node(child, item_schema, at, item, old, ratchet.below(pair.as_ref())));
            if self.budget < 0 {
                return;
            }
        }
    }

    fn fields(
        &mut self,
        node: &Node,
        schema: &Schema,
        at: At<'_>,
        fields: &Map,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
    ) {
        let additional = node.additional.as_deref().zip(schema.additional().and_then(Additional::schema));
        let additional = fields.iter().filter_map(|(key, value)| {
            let (child, schema) = additional?;
            Some((Step::Key(key), key, value, child, schema))
        });
        let properties = fields.iter().filter_map(|(key, value)| {
            Some((Step::Field(key), key, value, node.properties.get(key)?, schema.property(key)?))
        });
        for (step, key, value, child, schema) in additional.chain(properties) {
            // The versions of one object differ in these without a change that anyone made.
            let is_version = ratchet.parent.is_none() && matches!(key, "apiVersion" | "kind");
            let past = ratchet.current.filter(|_| !is_version).and_then(|current| current.old_field(key));
            let pair = past.map(|old| Pair::new(value, old));
            let below = if is_version && ratchet.current.is_some() {
                Ratchet::default()
            } else {
                ratchet.below(pair.as_ref())
            };
            deeper(|| {
                self.node(child, schema, at.then(step), value, old.and_then(|old| old.get(key)), below)
            });
            if self.budget < 0 {
                return;
            }
        }
    }

    fn rules(
        &mut self,
        node: &Node,
        schema: &Schema,
        at: At<'_>,
        new: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
    ) {
        if node.rules.is_empty() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if self.budget <= 0 {
            return self.stop(schema, at, OUT_OF_BUDGET.to_owned());
        }
        for (rule, compiled) in &node.rules {
            match compiled {
                Compiled::Empty => {}
                Compiled::Refused(refused) => {
                    self.fail(schema, at, format!("rule compile error: {}", refused.reason));
                }
                Compiled::Ready(ready) => {
                    let is_optional = rule.optional_old_self.unwrap_or_default();
                    if ready.uses_old_self && old.is_none() && !is_optional {
                        continue;
                    }
                    self.rule(rule, ready, node, schema, at, new, old, ratchet);
                    if self.budget < 0 {
                        return;
                    }
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a rule, and all that it is evaluated for")]
    fn rule(
        &mut self,
        rule: &Rule,
        ready: &Ready,
        node: &Node,
        schema: &Schema,
        at: At<'_>,
        new: &Value,
        old: Option<&Value>,
        ratchet: Ratchet<'_>,
    ) {
        let mut variables = Variables {
            new,
            old: node.uses_old_self.then_some(old),
            is_optional: rule.optional_old_self.unwrap_or_default(),
            node,
        };
        let evaluation = ready.program.eval(&variables, Some(self.call_limit()));
        if self.gives_up(evaluation.cost) {
            return;
        }
        let Some(left) = spend(self.budget, evaluation.cost) else {
            return self.stop(schema, at, OUT_OF_BUDGET.to_owned());
        };
        self.budget = left;
        let holds = match evaluation.value {
            Ok(value) => value.as_bool() == Some(true),
            Err(EvalError::CostLimitExceeded) => {
                let error = EvalError::CostLimitExceeded;
                let text = format!(
                    "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                    message::of_error(rule)
                );
                return self.stop(schema, at, text);
            }
            Err(error) => {
                let error = error.to_string();
                let rule = message::of_error(rule);
                let text = if error.starts_with("no such overload") {
                    format!(
                        "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
                    )
                } else {
                    format!("{error} evaluating rule: {rule}")
                };
                return self.fail(schema, at, text);
            }
        };
        if holds {
            return;
        }
        let path = at.to_path();
        let path = ready.field_path.as_deref().map_or(path.clone(), |field| path.child(field));
        let is_overlooked = !ready.uses_old_self && ratchet.is_unchanged();
        let mut detail = None;
        if let Some(Ok(expression)) = &ready.message {
            // As upstream, the expression sees `oldSelf` as it is, whatever the rule says.
            variables.is_optional = false;
            let evaluation = expression.program.eval(&variables, Some(self.call_limit()));
            if self.gives_up(evaluation.cost) {
                return;
            }
            match message::read(&expression.program, evaluation, &mut self.budget) {
                Ok(text) => detail = text,
                Err(text) => {
                    self.add(field::Error::invalid(&path, type_name(schema), text), is_overlooked);
                    self.budget = SPENT;
                    return;
                }
            }
        }
        let detail = detail.unwrap_or_else(|| message::of_failure(rule));
        let kind = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => ErrorKind::Forbidden,
            Some("FieldValueRequired") => ErrorKind::Required,
            Some("FieldValueDuplicate") => ErrorKind::Duplicate,
            _ => ErrorKind::Invalid,
        };
        let error = match kind {
            ErrorKind::Forbidden | ErrorKind::Required => field::Error::new(kind, &path, Value::Null, detail),
            _ => {
                let detail = if kind == ErrorKind::Duplicate { String::new() } else { detail };
                if matches!(schema.kind(), Some(Type::Object | Type::Array)) {
                    field::Error::new(kind, &path, Value::Null, detail).without_value()
                } else {
                    field::Error::new(kind, &path, new.clone(), detail)
                }
            }
        };
        self.add(error, is_overlooked);
    }

    /// What one expression may cost.
    fn call_limit(&self) -> u64 {
        self.limit.map_or(PER_CALL_LIMIT, |left| left.min(PER_CALL_LIMIT))
    }

    /// Counts what an expression has cost. Returns whether that was too much to go on, if this is to be brief.
    fn gives_up(&mut self, cost: u64) -> bool {
        let Some(limit) = &mut self.limit else { return false };
        *limit = limit.saturating_sub(cost);
        if *limit == 0 {
            self.budget = SPENT;
        }
        *limit == 0
    }

    /// Adds what a rule says: an error, or a warning of what need not be mended now.
    fn add(&mut self, error: field::Error, is_overlooked: bool) {
        let told = if is_overlooked { &mut self.overlooked } else { &mut self.told };
        // The first is always told.
        if *told > MOST_TOLD {
            return;
        }
        *told += error.detail.len() + error.path.as_str().len();
        if is_overlooked {
            self.findings.warnings.push(error.to_string());
        } else {
            self.findings.errors.push(error);
        }
    }

    /// Adds that a rule could not be evaluated.
    fn fail(&mut self, schema: &Schema, at: At<'_>, text: String) {
        self.add(field::Error::invalid(&at.to_path(), type_name(schema), text), false);
    }

    /// Adds that nothing more is evaluated.
    fn stop(&mut self, schema: &Schema, at: At<'_>, text: String) {
        self.fail(schema, at, text);
        self.budget = SPENT;
    }
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What is left of a budget, if it is enough.
pub(super) fn spend(budget: i64, cost: u64) -> Option<i64> {
    let cost = i64::try_from(cost).ok()?;
    budget.checked_sub(cost).filter(|left| *left >= 0)
}

/// What upstream shows as the value where a rule cannot be evaluated.
fn type_name(schema: &Schema) -> &'static str {
    schema.kind().map(Type::as_str).unwrap_or_default()
}
