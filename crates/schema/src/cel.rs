//! Validation rules of CustomResourceDefinitions (`x-kubernetes-validations`): how a schema is declared to CEL, how its
//! rules are compiled and what they may cost, and what they say of objects. The language itself is `pilothouse-cel`.
//! Source: apiextensions `pkg/apiserver/schema/cel` and `pkg/apis/apiextensions/validation`.

pub(crate) mod check;
mod compile;
mod declare;
mod evaluate;
mod message;
mod tree;

pub use declare::declare;
pub use tree::Rules;

use pilothouse_value::Value;
use pilothouse_value::field::{self, ErrorKind, Path};

use crate::node::Schema;

/// What rules say of an object.
#[derive(Debug, Default)]
pub struct Findings {
    /// What makes the object invalid.
    pub errors: Vec<field::Error>,
    /// What would make it invalid, had it not been so before.
    pub warnings: Vec<String>,
    /// What evaluating them cost, in CEL's units; one more than the budget if that was spent.
    pub cost: u64,
}

/// Adds what the rules of a definition say of a whole object to what was found before. `old` is the object before an
/// update. As upstream, rules are not evaluated for an object whose shape is so wrong that they could not be trusted.
pub fn evaluate(schema: &Schema, rules: &Rules, new: &Value, old: Option<&Value>, findings: &mut Findings) {
    evaluate_within(None, schema, rules, new, old, findings);
}

/// As [`evaluate`], as long as that costs less than `limit`, in CEL's units. Returns whether it did; if not, `findings` are
/// as they were before.
pub fn evaluate_briefly(
    limit: u64,
    schema: &Schema,
    rules: &Rules,
    new: &Value,
    old: Option<&Value>,
    findings: &mut Findings,
) -> bool {
    let (errors, warnings, cost) = (findings.errors.len(), findings.warnings.len(), findings.cost);
    let is_done = evaluate_within(Some(limit), schema, rules, new, old, findings);
    if !is_done {
        findings.errors.truncate(errors);
        findings.warnings.truncate(warnings);
        findings.cost = cost;
    }
    is_done
}

fn evaluate_within(
    limit: Option<u64>,
    schema: &Schema,
    rules: &Rules,
    new: &Value,
    old: Option<&Value>,
    findings: &mut Findings,
) -> bool {
    if findings.errors.iter().any(is_blocking) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
        findings.errors.push(field::Error::invalid(&Path::root(), Value::Null, detail));
        return true;
    }
    rules.evaluate(schema, new, old, limit, findings)
}

fn is_blocking(error: &field::Error) -> bool {
    use ErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    matches!(error.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)
}
