//! The operator as its users meet it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on panics; the helpers here are parts of tests"
)]

mod corpus;
mod crash;
mod manifests;
mod run;
mod s3;
#[cfg(test)]
mod stage;
