//! The command and the house it stands in.
//!
//! The modules are `cfg(test)` so that helpers in them count as tests for the lints.

#[cfg(test)]
mod doors;
