//! Revisions, snapshots and watches over opaque documents, and their durable copy. It owns what was written, in which
//! order, and for how long it is remembered; it must not know what a document means: no schema, no verbs, no HTTP.
//!
//! One writer at a time, any number of readers: the state is a persistent map behind an atomic pointer, so a reader
//! takes a snapshot with one atomic load and never waits. Every write has the next revision of one counter for the
//! whole store, as in etcd. Events are kept in a ring; a watcher holds a position in it and is told [`Expired`] when
//! it falls out, so a slow watcher never holds up a writer.

mod clock;
mod durable;
mod event;
mod journal;
mod object;
mod snapshot;
mod state;
mod watch;

pub use clock::Clock;
pub use durable::DurableError;
pub use event::{Event, EventKind};
pub use object::{Object, ResourceKey};
pub use snapshot::{Entry, Snapshot};
pub use state::{Change, Config, Mismatch, Store};
pub use watch::Watcher;

/// What was asked for has left the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {requested} has left the history, which starts at {oldest}")]
pub struct Expired {
    /// The revision that was asked for.
    pub requested: u64,
    /// The oldest revision that is still there.
    pub oldest: u64,
}
