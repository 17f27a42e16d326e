//! Behaviour of the cluster through its public door: each test has a server of its own, and a clock that moves only when
//! everything is at rest.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)] // All of this binary is tests; clippy sees only the functions marked so.

mod accounts;
mod claims;
mod deployments;
mod garbage;
mod house;
mod jobs;
mod namespaces;
mod node;
mod quotas;
mod scheduling;
mod services;
mod sets;
mod whole;
