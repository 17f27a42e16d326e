//! Room to be opened.
pub mod kubelet;
