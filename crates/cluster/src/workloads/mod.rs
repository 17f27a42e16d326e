//! The workload controllers: what keeps pods running for Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs.
//! Each is a pure function from documents to a plan, and a thin controller around it.

pub(crate) mod adopt;
pub(crate) mod conditions;
pub(crate) mod daemon_set;
pub(crate) mod deployment;
pub(crate) mod job;
pub(crate) mod pods;
pub(crate) mod replica_set;
pub(crate) mod revisions;
#[cfg(test)]
pub(crate) mod simulate;
pub(crate) mod stateful_set;
pub(crate) mod wiring;
