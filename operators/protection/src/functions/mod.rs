//! The functions that phases call: which there are, what they take, and what they do.

pub mod args;
mod exec;
mod jsonpath;
mod kubeops;
pub mod output;
mod pod;
mod podspec;
pub mod registry;
mod scale;
mod step;
mod wait;

pub use pod::remove;
pub use step::{Limits, PhaseId, Step, StepError, run};
