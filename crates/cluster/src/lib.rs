//! What makes an API server a cluster: the garbage collector, the life cycle of namespaces, default service accounts,
//! workloads, the scheduler, claims and volumes, Services, and nodes. It owns what controllers decide and what nodes do;
//! it must not know how the server stores, checks or serves objects, and talks to it through `apiserver::Client` only.
//!
//! Each controller is a pure function from documents to a plan of writes, which tables test, and a thin wiring that says
//! which changes make it look. The wirings share one watch for each resource.

mod accounts;
mod claims;
mod cluster;
mod discovery;
mod garbage;
mod harness;
mod instant;
mod namespaces;
pub mod node;
mod quotas;
mod resources;
mod roles;
mod scheduler;
mod services;
mod taints;
mod time;
mod tokens;
mod workloads;

pub use claims::PROVISIONER;
pub use cluster::{Cluster, Options, StartError};
pub use instant::{InstantNode, InstantPhase, PHASE_ANNOTATION};
