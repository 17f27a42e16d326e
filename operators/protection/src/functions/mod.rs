//! The functions that phases call: which there are, what they take, and (in `run`) what they do.

pub mod args;
pub mod output;
pub mod registry;
