//! What expressions can call.

pub(crate) mod authz;
pub(crate) mod calls;
pub(crate) mod convert;
pub(crate) mod decls;
mod format;
pub(crate) mod guard;
pub(crate) mod hosts;
mod lists;
pub(crate) mod net;
mod operators;
pub(crate) mod optional;
pub(crate) mod printf;
mod quantity;
pub(crate) mod regex;
mod semver;
mod strings;
mod times;
mod url;

use crate::error::EvalError;
use crate::val::Val;

/// What a function returns.
pub(crate) type Outcome<'a> = Result<Val<'a>, EvalError>;

fn no_such_overload<T>() -> Result<T, EvalError> {
    Err(EvalError::no_such_overload())
}
