//! A node.
mod sandbox;
pub use sandbox::Isolation;
