//! A compiled expression.

use crate::check::Checked;
use crate::cost;
use crate::error::{EvalError, Issues};
use crate::estimate::{CostEstimate, SizeEstimator};
use crate::eval::Machine;
use crate::plan::{Node, plan};
use crate::types::Type;
use crate::val::Val;
use pilothouse_value::stack;

/// Gives the variables of an expression their values.
pub trait Activation<'a> {
    /// The value of a variable; `None` if there is none of this name.
    ///
    /// # Errors
    /// When the value cannot be made; it is an error of the expression only where the variable is used.
    fn resolve(&self, name: &str) -> Option<Result<Val<'a>, EvalError>>;
}

impl<'a, const N: usize> Activation<'a> for [(&str, Val<'a>); N] {
    fn resolve(&self, name: &str) -> Option<Result<Val<'a>, EvalError>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| Ok(value.clone()))
    }
}

/// What came out of an evaluation.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value, or why there is none.
    pub value: Result<Val<'a>, EvalError>,
    /// What it cost, also when it failed.
    pub cost: u64,
}

/// A compiled expression: immutable, to be evaluated any number of times.
#[derive(Debug)]
pub struct Program {
    source: Box<str>,
    checked: Checked,
    node: Node,
}

impl Program {
    pub(crate) fn new(source: &str, checked: Checked) -> Result<Self, Issues> {
        let node = plan(&checked).map_err(|why| Issues::not_instantiated(source, why.to_string()))?;
        Ok(Self { source: source.into(), checked, node })
    }

    /// The text of the expression.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The type of its value.
    pub fn output_type(&self) -> &Type {
        self.checked.output_type()
    }

    /// Whether the expression uses the variable of this name.
    pub fn references(&self, variable: &str) -> bool {
        self.checked.uses(variable)
    }

    /// What one evaluation may cost with values of these sizes.
    pub fn estimate_cost(&self, sizes: &dyn SizeEstimator) -> CostEstimate {
        cost::estimate(&self.checked, sizes)
    }

    /// Evaluates the expression; stops when the cost exceeds the limit.
    pub fn eval<'a>(&self, variables: &dyn Activation<'a>, cost_limit: Option<u64>) -> Evaluation<'a> {
        let mut machine = Machine::new(variables, cost_limit);
        let value = stack::with_room(|| machine.eval(&self.node));
        Evaluation { value, cost: machine.cost }
    }
}
