//! A watcher: a position in the history that moves forward as fast as its reader does.

use crate::{Event, Expired, ResourceKey, Store};
use tokio::sync::watch;

/// How many events are looked at while the history is locked for reading.
const BATCH: usize = 256;

/// Reads events in order. It holds no buffer that grows: a reader that falls behind the history is told [`Expired`].
pub struct Watcher {
    store: Store,
    resource: Option<ResourceKey>,
    /// The revision of the last event looked at.
    position: u64,
    head: watch::Receiver<u64>,
    ready: std::collections::VecDeque<Event>,
}

impl Watcher {
    pub(crate) fn new(store: Store, resource: Option<ResourceKey>, from: u64) -> Result<Self, Expired> {
        let compacted = store.inner.history.read().compacted;
        if from < compacted {
            return Err(Expired { requested: from, oldest: compacted });
        }
        let head = store.head();
        Ok(Self { store, resource, position: from, head, ready: std::collections::VecDeque::new() })
    }

    /// The next event; waits for it without a bound: callers set one.
    ///
    /// Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Expired`] once this watcher has fallen behind the history; it will not recover.
    pub async fn next(&mut self) -> Result<Event, Expired> {
        loop {
            if let Some(event) = self.try_next()? {
                return Ok(event);
            }
            let position = self.position;
            // The store that this watcher holds keeps the sender alive, so waiting cannot fail.
            let _alive = self.head.wait_for(|head| *head > position).await;
        }
    }

    /// The next event if there is one already.
    ///
    /// # Errors
    /// [`Expired`] once this watcher has fallen behind the history.
    pub fn try_next(&mut self) -> Result<Option<Event>, Expired> {
        while self.ready.is_empty() {
            let history = self.store.inner.history.read();
            if self.position < history.compacted {
                return Err(Expired { requested: self.position, oldest: history.compacted });
            }
            let before = self.position;
            for _ in 0..BATCH {
                let Some(event) = history.event(self.position + 1) else { break };
                self.position += 1;
                if self.resource.as_ref().is_none_or(|wanted| *wanted == event.resource) {
                    self.ready.push_back(event.clone());
                }
            }
            if self.position == before {
                return Ok(None);
            }
        }
        Ok(self.ready.pop_front())
    }

    /// The revision up to which everything has been delivered: what a bookmark may say.
    pub fn position(&self) -> u64 {
        self.ready.front().map_or(self.position, |event| event.revision - 1)
    }
}
