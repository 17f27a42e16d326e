//! Room to be opened.
pub mod kubelet;
pub mod streaming;
