//! What is there before the first request.

pub(crate) mod bootstrap;
pub(crate) mod components;
pub(crate) mod presence;
pub(crate) mod seeds;
