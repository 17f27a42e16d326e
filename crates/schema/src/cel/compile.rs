//! The rules of one node, compiled. Source: apiextensions `pkg/apiserver/schema/cel/compilation.go`.

use pilothouse_cel::{DeclType, Env, MAX_REQUEST_SIZE_BYTES, Program, Type};

use crate::crd::field_path;
use crate::node::{Rule, Schema};

/// The variable of the value that a rule is about.
pub(super) const SELF: &str = "self";
/// The variable of the value before an update.
pub(super) const OLD_SELF: &str = "oldSelf";

/// Which expressions are known since before: they may use what the release before this one does not know.
pub(crate) trait Stored {
    /// Whether this rule was stored before.
    fn has_rule(&self, rule: &str) -> bool;
    /// Whether this message expression was stored before.
    fn has_message(&self, expression: &str) -> bool;
}

/// Everything is: the rules of a definition that was accepted.
pub(super) struct All;

impl Stored for All {
    fn has_rule(&self, _rule: &str) -> bool {
        true
    }

    fn has_message(&self, _expression: &str) -> bool {
        true
    }
}

/// A rule after it was compiled.
#[derive(Debug)]
pub(super) enum Compiled {
    /// It says nothing.
    Empty,
    /// It cannot be used.
    Refused(Refused),
    /// It can be evaluated.
    Ready(Box<Ready>),
}

#[derive(Debug)]
pub(super) struct Refused {
    /// The text that upstream gives.
    pub(super) reason: String,
    pub(super) uses_old_self: bool,
}

#[derive(Debug)]
pub(super) struct Ready {
    pub(super) program: Program,
    pub(super) uses_old_self: bool,
    /// What one evaluation may cost.
    pub(super) max_cost: u64,
    /// The expression of the message, or what is wrong with it.
    pub(super) message: Option<Result<Message, String>>,
    /// The field that a failure names, in the form of errors.
    pub(super) field_path: Option<String>,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) program: Program,
    pub(super) max_cost: u64,
}

/// Compiles the rules of a node. `declared` is what CEL sees of the node's schema.
pub(super) fn compile(
    rules: &[Rule],
    schema: &Schema,
    declared: &DeclType,
    stored: &dyn Stored,
) -> Vec<Compiled> {
    // Upstream numbers them by the clock, so that nobody relies on the name.
    let declared = declared.assign_names("selfType0");
    let mut environments = Environments { declared: &declared, built: [const { None }; 4] };
    rules.iter().map(|rule| one(rule, schema, &declared, &mut environments, stored)).collect()
}

fn one(
    rule: &Rule,
    schema: &Schema,
    declared: &DeclType,
    environments: &mut Environments<'_>,
    stored: &dyn Stored,
) -> Compiled {
    if rule.rule.trim().is_empty() {
        return Compiled::Empty;
    }
    let is_optional = rule.optional_old_self.unwrap_or_default();
    let refused = |reason: String, uses_old_self| Compiled::Refused(Refused { reason, uses_old_self });
    let expression = match environments.get(is_optional, stored.has_rule(&rule.rule)).check(&rule.rule) {
        Ok(expression) => expression,
        Err(issues) => return refused(format!("compilation failed: {issues}"), false),
    };
    if !matches!(expression.output_type(), Type::Bool) {
        return refused("cel expression must evaluate to a bool".to_owned(), false);
    }
    let uses_old_self = expression.references(OLD_SELF);
    let program = match expression.program() {
        Ok(program) => program,
        Err(issues) => return refused(format!("program instantiation failed: {issues}"), uses_old_self),
    };
    let message = rule.message_expression.as_deref().filter(|expression| !expression.is_empty());
    let message = message.map(|expression| {
        let environment = environments.get(is_optional, stored.has_message(expression));
        let checked = environment.check(expression);
        let checked = checked.map_err(|issues| format!("messageExpression compilation failed: {issues}"))?;
        if !matches!(checked.output_type(), Type::String) {
            return Err("messageExpression must evaluate to a string".to_owned());
        }
        let program = checked.program();
        let program =
            program.map_err(|issues| format!("messageExpression instantiation failed: {issues}"))?;
        let max_cost = program.estimate_cost(declared).max;
        Ok(Message { program, max_cost })
    });
    // Upstream does not come to the path when there is something wrong with the expression of the message.
    let path = rule.field_path.as_deref().filter(|path| !path.is_empty() && !matches!(message, Some(Err(_))));
    Compiled::Ready(Box::new(Ready {
        uses_old_self,
        max_cost: program.estimate_cost(declared).max,
        message,
        field_path: path.and_then(|path| field_path::normalize(schema, path)),
        program,
    }))
}

/// How often a value of this type may occur at most in a request, if nothing bounds it.
pub(super) fn max_cardinality(declared: &DeclType) -> u64 {
    // A comma at least stands between two.
    let size = declared.min_serialized_size().saturating_add(1).max(1);
    u64::try_from(MAX_REQUEST_SIZE_BYTES / size).unwrap_or_default()
}

/// The environments of a node, built when they are needed: `oldSelf` plain or optional, new expressions or stored ones.
struct Environments<'a> {
    declared: &'a DeclType,
    built: [Option<Env>; 4],
}

impl Environments<'_> {
    fn get(&mut self, is_optional: bool, is_stored: bool) -> &Env {
        let at = usize::from(is_optional) * 2 + usize::from(is_stored);
        let declared = self.declared;
        let build = || {
            let old = declared.clone();
            let builder = if is_stored { Env::kubernetes_stored() } else { Env::kubernetes() };
            builder
                .variable(SELF, declared.clone())
                .variable(OLD_SELF, if is_optional { DeclType::optional(old) } else { old })
                .build()
        };
        let [a, b, c, d] = &mut self.built;
        let slot = match at {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        slot.get_or_insert_with(build)
    }
}
