//! What is there before the first request, and what of it comes back.

pub(crate) mod bootstrap;
pub(crate) mod components;
pub(crate) mod keeping;
pub(crate) mod presence;
pub(crate) mod seeds;
