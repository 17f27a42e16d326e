//! The texts of failures. Source: `ruleMessageOrDefault` and `evalMessageExpression` of apiextensions
//! `pkg/apiserver/schema/cel/validation.go`.

use pilothouse_cel::{EvalError, Evaluation, MAX_MESSAGE_SIZE_BYTES, Program};
use pilothouse_value::field;

use super::evaluate::spend;
use crate::node::Rule;

/// The text of a rule that does not hold.
pub(super) fn of_failure(rule: &Rule) -> String {
    match own(rule) {
        Some(message) => message.trim().to_owned(),
        None => format!("failed rule: {}", rule.rule.trim()),
    }
}

/// How errors name a rule: by its message, or by its text.
pub(super) fn of_error(rule: &Rule) -> &str {
    own(rule).unwrap_or(&rule.rule).trim()
}

fn own(rule: &Rule) -> Option<&str> {
    rule.message.as_deref().filter(|message| !message.is_empty())
}

/// The text that the expression of a message has made. `None` where that is none that can be shown, which is no error.
///
/// # Errors
/// The text for an evaluation that cost too much: nothing more may be evaluated then.
pub(super) fn read(
    expression: &Program,
    evaluation: Evaluation<'_>,
    budget: &mut i64,
) -> Result<Option<String>, String> {
    let Some(left) = spend(*budget, evaluation.cost) else {
        return Err("messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run".to_owned());
    };
    let value = match evaluation.value {
        Ok(value) => value,
        Err(EvalError::CostLimitExceeded) => {
            return Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                field::quote(expression.source())
            ));
        }
        Err(_) => {
            *budget = left;
            return Ok(None);
        }
    };
    *budget = left;
    let text = value.as_str().map(str::trim).unwrap_or_default();
    let is_usable = !text.is_empty() && text.len() <= MAX_MESSAGE_SIZE_BYTES && !text.contains('\n');
    Ok(is_usable.then(|| text.to_owned()))
}
