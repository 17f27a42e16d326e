//! The Common Expression Language as Kubernetes 1.37 runs it: parser, type checker, evaluator, cost.
//!
//! [`Env::kubernetes`] has the libraries and options of `k8s.io/apiserver/pkg/cel/environment`. An environment declares
//! variables by [`DeclType`] and compiles an expression into a [`Program`], which is immutable and may be evaluated by
//! many threads at once. Documents are not copied: a [`Val`] borrows the document and reads it with its declared type.
//!
//! ```
//! use pilothouse_cel::{DeclType, Env, Val};
//! use pilothouse_value::json;
//!
//! let spec = DeclType::object("Spec").field("replicas", DeclType::int(), true).build();
//! let env = Env::kubernetes().variable("self", spec.clone()).build();
//! let program = env.compile("self.replicas > 2")?;
//! let document = json!({"replicas": 3});
//! let value = Val::view(&document, &spec)?;
//! let evaluation = program.eval(&[("self", value)], None);
//! assert_eq!(evaluation.value?.as_bool(), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod check;
mod cost;
mod decl;
mod env;
mod error;
mod escape;
mod estimate;
mod eval;
mod library;
mod messages;
mod parse;
mod patches;
mod pattern;
mod plan;
mod program;
mod time;
mod types;
mod val;

pub use decl::{DeclType, Field, ListKind, ObjectBuilder, ObjectType};
pub use env::{Env, EnvBuilder, Expression};
pub use error::{EvalError, Issue, Issues};
pub use escape::{escape, unescape};
pub use estimate::{CostEstimate, SizeEstimate, SizeEstimator};
pub use library::authz::{Authorizer, Decision, Question, ResourceSubject, Subject};
pub use pattern::{Pattern, PatternError};
pub use program::{Activation, Evaluation, Program};
pub use time::Timestamp;
pub use types::{HostType, Param, Type};
pub use val::{ListVal, MapVal, Opaque, Text, TypeVal, Val};

/// Greatest cost of one evaluation (`PerCallLimit`): about a tenth of a second of a real server.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// Cost that all the rules of one object may have together (`RuntimeCELCostBudget`).
pub const RUNTIME_COST_BUDGET: u64 = 10_000_000;
/// Cost that all match conditions of one webhook may have together (`RuntimeCELCostBudgetMatchConditions`).
pub const MATCH_CONDITIONS_COST_BUDGET: u64 = 2_500_000;
/// Greatest size of a request that estimates assume, in bytes (`MaxRequestSizeBytes`).
pub const MAX_REQUEST_SIZE_BYTES: i64 = 3 * 1024 * 1024;
/// Greatest size of what a `messageExpression` may make, in bytes.
pub const MAX_MESSAGE_SIZE_BYTES: usize = 5 * 1024;
