//! The answer: what of a stored object is shown, in which form, and its bytes.

pub(crate) mod compress;
pub(crate) mod document;
pub(crate) mod negotiate;
pub(crate) mod present;
pub(crate) mod ranges;
pub(crate) mod render;
pub(crate) mod warning;
pub(crate) mod yaml;
