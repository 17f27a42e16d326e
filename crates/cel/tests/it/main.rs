//! Behaviour of the language through its public door.

// Marked, so that lints know the helpers in these for tests.
#[cfg(test)]
mod authorizer;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod expressions;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod programs;

use pilothouse_cel::{DeclType, Env, Val};
use pilothouse_value::Value;

/// Evaluates an expression without variables and shows its value, or says why there is none.
fn eval(expression: &str) -> Result<String, String> {
    let program =
        Env::kubernetes_stored().build().compile(expression).map_err(|issues| issues.to_string())?;
    let value = program.eval(&[], Some(1_000_000)).value.map_err(|why| why.to_string())?;
    Ok(value.to_string())
}

/// Evaluates an expression about a document of a declared type.
fn eval_with(expression: &str, decl: &DeclType, document: &Value) -> Result<String, String> {
    let env = Env::kubernetes_stored().variable("self", decl.clone()).build();
    let program = env.compile(expression).map_err(|issues| issues.to_string())?;
    let value = Val::view(document, decl).map_err(|why| why.to_string())?;
    let evaluation = program.eval(&[("self", value)], Some(1_000_000));
    evaluation.value.map(|value| value.to_string()).map_err(|why| why.to_string())
}
