//! The doors of a server: a socket, a `tower::Service` and documents in the same process, and the bodies that pass them.

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod in_flight;
pub(crate) mod listen;
pub(crate) mod network;
pub(crate) mod service;
mod unread;
