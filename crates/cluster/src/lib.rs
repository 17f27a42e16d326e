//! What makes an API server a cluster.
#![allow(dead_code)]

mod harness;
pub mod node;
mod resources;
mod scheduler;
mod services;
mod time;
mod workloads;
