//! The store itself: one writer, the history, and the commit that both the map and the durable copy go through.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::durable::{Durable, DurableError};
use crate::journal::Journal;
use crate::{Event, EventKind, Expired, Object, ResourceKey, Snapshot, Watcher};

/// How much is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The number of writes that watches can resume from, and lists can be read at. Default: 10,000.
    pub history: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { history: 10_000 }
    }
}

/// What a commit does.
pub enum Change<'a> {
    /// Stores the bytes that the builder makes for the revision that the write gets.
    Put(&'a mut dyn FnMut(u64) -> Bytes),
    /// Removes the object; watchers are told the bytes that the builder makes for the revision of the removal.
    Delete(&'a mut dyn FnMut(u64) -> Bytes),
}

/// The object is not what the writer took it for; or the write could not be made durable.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// Another revision is stored (or none), than was expected.
    #[error("the object has changed since it was read")]
    Stale {
        /// What is stored now.
        current: Option<Arc<Object>>,
    },
    /// The durable copy refused the write; nothing has changed.
    #[error(transparent)]
    Durable(#[from] DurableError),
}

/// The store; cheap to clone, all clones are one.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    current: ArcSwap<Snapshot>,
    writer: Mutex<Writer>,
    pub(crate) history: RwLock<History>,
    /// The newest revision, for watchers to wait on.
    head: watch::Sender<u64>,
}

/// The lasting copy that writes go to before they are acknowledged.
enum Lasting {
    /// None: objects live as long as the process.
    No,
    /// One that outlives the machine.
    Database(Durable),
    /// One that outlives the process.
    Journal(Journal),
}

struct Writer {
    lasting: Lasting,
}

pub(crate) struct History {
    /// Events in order of revision. With each one stands the state after it, which exact lists and pages read.
    ring: VecDeque<(Event, Snapshot)>,
    capacity: usize,
    /// Everything up to and with this revision has left the ring (or was loaded from the durable copy).
    pub(crate) compacted: u64,
    /// The state at `compacted`.
    base: Snapshot,
}

impl Store {
    /// A store that lives as long as the process.
    pub fn memory(config: Config) -> Self {
        Self::with(config, Snapshot { revision: 1, ..Snapshot::default() }, Lasting::No)
    }

    /// A store whose acknowledged writes outlive the process, in a folder that is made if it is missing.
    ///
    /// # Errors
    /// When the folder or the database in it cannot be opened, or is in use by another process.
    pub fn open(folder: &Path, config: Config) -> Result<Self, DurableError> {
        let (durable, loaded) = Durable::open(folder)?;
        Ok(Self::with(config, loaded, Lasting::Database(durable)))
    }

    /// A store whose acknowledged writes outlive the process, also one that is killed, but not the machine: nothing waits
    /// for the disk. It is kept in the file `path`, with a lock beside it; both are made if they are missing.
    ///
    /// # Errors
    /// When the file cannot be opened, is no journal, or is in use by another process.
    pub fn open_journal(path: &Path, config: Config) -> Result<Self, DurableError> {
        let (journal, loaded) = Journal::open(path)?;
        Ok(Self::with(config, loaded, Lasting::Journal(journal)))
    }

    fn with(config: Config, start: Snapshot, lasting: Lasting) -> Self {
        let history = History {
            ring: VecDeque::new(),
            capacity: config.history.max(1),
            compacted: start.revision,
            base: start.clone(),
        };
        let inner = Inner {
            head: watch::Sender::new(start.revision),
            current: ArcSwap::from_pointee(start),
            writer: Mutex::new(Writer { lasting }),
            history: RwLock::new(history),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The revision of the newest write; it starts at 1.
    pub fn revision(&self) -> u64 {
        self.inner.current.load().revision
    }

    /// The newest state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::clone(&self.inner.current.load())
    }

    /// The state right after the write of `revision`.
    ///
    /// # Errors
    /// [`Expired`] when it has left the history. A revision of the future gives the newest state: callers compare.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Expired> {
        let current = self.snapshot();
        if revision >= current.revision {
            return Ok(current);
        }
        let history = self.inner.history.read();
        if revision == history.compacted {
            return Ok(history.base.clone());
        }
        history
            .at(revision)
            .map(|(_, snapshot)| snapshot.clone())
            .ok_or(Expired { requested: revision, oldest: history.compacted })
    }

    /// One object of the newest state; `namespace` is empty for objects of the whole cluster.
    pub fn get(&self, resource: &ResourceKey, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.inner.current.load().get(resource, namespace, name)
    }

    /// Writes one object if it is still as `expected`: the revision it was read at, or `None` for "does not exist".
    /// Returns what watchers are told: the new object, or the last state of a removed one.
    ///
    /// # Errors
    /// [`Mismatch::Stale`] when something else is stored; [`Mismatch::Durable`] when the durable copy refused.
    pub fn commit(
        &self,
        resource: &ResourceKey,
        namespace: &str,
        name: &str,
        expected: Option<u64>,
        change: Change<'_>,
    ) -> Result<Arc<Object>, Mismatch> {
        let mut writer = self.inner.writer.lock();
        let current = self.inner.current.load_full();
        let key = (Arc::<str>::from(namespace), Arc::<str>::from(name));
        let previous = current.tables.get(resource).and_then(|table| table.get(&key)).cloned();
        if previous.as_ref().map(|object| object.revision()) != expected {
            return Err(Mismatch::Stale { current: previous });
        }
        let revision = current.revision + 1;
        let (kind, bytes) = match change {
            Change::Put(build) if previous.is_none() => (EventKind::Added, build(revision)),
            Change::Put(build) => (EventKind::Modified, build(revision)),
            // Removing what is not there is asked for only by mistake; the expectation `None` says so.
            Change::Delete(_) if previous.is_none() => return Err(Mismatch::Stale { current: None }),
            Change::Delete(build) => (EventKind::Deleted, build(revision)),
        };
        let object = Arc::new(Object::new(revision, bytes));
        let kept = (kind != EventKind::Deleted).then(|| object.bytes());
        match &mut writer.lasting {
            Lasting::No => {}
            Lasting::Database(database) => database.write(resource, &key, revision, kept)?,
            Lasting::Journal(journal) => journal.write(&current, resource, &key, revision, kept)?,
        }
        let mut next = Snapshot { revision, tables: current.tables.clone() };
        let table = next.tables.entry(resource.clone()).or_default();
        match kind {
            EventKind::Deleted => table.remove(&key),
            _ => table.insert(key.clone(), object.clone()),
        };
        let event = Event {
            kind,
            revision,
            resource: resource.clone(),
            namespace: key.0,
            name: key.1,
            object: object.clone(),
            previous,
        };
        // The event is in the ring before the state shows it: who reads revision N can watch from N.
        self.inner.history.write().push(event, next.clone());
        self.inner.current.store(Arc::new(next));
        drop(writer);
        self.inner.head.send_replace(revision);
        Ok(object)
    }

    /// All events of a resource after `from`, in order, without end.
    ///
    /// # Errors
    /// [`Expired`] when an event after `from` has left the history.
    pub fn watch(&self, resource: &ResourceKey, from: u64) -> Result<Watcher, Expired> {
        Watcher::new(self.clone(), Some(resource.clone()), from)
    }

    /// All events of all resources after `from`.
    ///
    /// # Errors
    /// [`Expired`] when an event after `from` has left the history.
    pub fn watch_all(&self, from: u64) -> Result<Watcher, Expired> {
        Watcher::new(self.clone(), None, from)
    }

    pub(crate) fn head(&self) -> watch::Receiver<u64> {
        self.inner.head.subscribe()
    }

    /// Waits until the store has reached `revision`. It has no bound of its own: callers set one.
    pub async fn reached(&self, revision: u64) {
        // The sender lives as long as this store, so waiting cannot fail.
        let mut head = self.head();
        let _alive = head.wait_for(|head| *head >= revision).await;
    }
}

impl History {
    fn push(&mut self, event: Event, after: Snapshot) {
        if self.ring.len() == self.capacity
            && let Some((oldest, snapshot)) = self.ring.pop_front()
        {
            self.compacted = oldest.revision;
            self.base = snapshot;
        }
        self.ring.push_back((event, after));
    }

    /// Revisions are consecutive, so the place of one is its distance from the compacted one.
    fn at(&self, revision: u64) -> Option<&(Event, Snapshot)> {
        let distance = revision.checked_sub(self.compacted)?.checked_sub(1)?;
        self.ring.get(usize::try_from(distance).ok()?)
    }

    /// The event of a revision.
    pub(crate) fn event(&self, revision: u64) -> Option<&Event> {
        self.at(revision).map(|(event, _)| event)
    }
}
