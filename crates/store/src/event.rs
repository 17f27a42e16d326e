//! What happened to an object, as watchers are told.

use std::sync::Arc;

use crate::{Object, ResourceKey};

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The object is new.
    Added,
    /// The object changed.
    Modified,
    /// The object is gone.
    Deleted,
}

/// One write.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it did.
    pub kind: EventKind,
    /// Its revision.
    pub revision: u64,
    /// The resource that it was made to.
    pub resource: ResourceKey,
    /// The namespace; empty for objects of the whole cluster.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The object after the write; for a deletion its last state, as the deletion's builder wrote it.
    pub object: Arc<Object>,
    /// The object before the write; none for a new one.
    pub previous: Option<Arc<Object>>,
}
