//! What expressions can call.

pub(crate) mod decls;
pub(crate) mod hosts;
