//! Events go some time (by default an hour) after they were written last, as etcd's leases make them go upstream.
//!
//! One task for each server waits for the next that is due. It runs only while there are events.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use pilothouse_store::Change;
use tokio::time::Instant;

use crate::answer::document;
use crate::registry::resource;
use crate::state::State;

/// The namespace and the name of an event.
type Place = (Box<str>, Box<str>);

/// The events that are there, by the time when they are due.
#[derive(Debug, Default)]
pub(crate) struct Expiry(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// What is due when; the revision is that of the last write.
    due: BTreeMap<(Instant, u64), Place>,
    places: HashMap<Place, (Instant, u64)>,
}

/// Takes note of an event that was written.
pub(crate) fn written(state: &Arc<State>, namespace: &str, name: &str, revision: u64) {
    let mut queue = state.expiry.0.lock();
    let idle = queue.due.is_empty();
    let (place, at) =
        ((namespace.into(), name.into()), (Instant::now() + state.tuning.event_lifetime, revision));
    if let Some(before) = queue.places.insert((Box::clone(&place.0), Box::clone(&place.1)), at) {
        queue.due.remove(&before);
    }
    queue.due.insert(at, place);
    if idle {
        tokio::spawn(run(state.clone()));
    }
}

/// Takes note of the events that a store brings along.
pub(crate) fn adopt(state: &Arc<State>) {
    let key = resource::key("", "events");
    for entry in state.store.snapshot().list(&key, None, None) {
        written(state, &entry.namespace, &entry.name, entry.object.revision());
    }
}

/// Removes what is due, until nothing is left.
async fn run(state: Arc<State>) {
    loop {
        let next = {
            let queue = state.expiry.0.lock();
            // Whoever finds nothing here starts the next task.
            let Some(((at, _), _)) = queue.due.first_key_value() else { return };
            *at
        };
        tokio::select! {
            () = state.shutdown.cancelled() => return,
            () = tokio::time::sleep_until(next) => {}
        }
        while let Some((revision, (namespace, name))) = take_due(&state) {
            remove(&state, &namespace, &name, revision);
        }
    }
}

fn take_due(state: &State) -> Option<(u64, Place)> {
    let mut queue = state.expiry.0.lock();
    let first = queue.due.first_entry().filter(|first| first.key().0 <= Instant::now())?;
    let ((_, revision), place) = first.remove_entry();
    queue.places.remove(&place);
    Some((revision, place))
}

/// Removes an event unless somebody has written it since. What cannot be removed now goes with the next start.
fn remove(state: &State, namespace: &str, name: &str, revision: u64) {
    let key = resource::key("", "events");
    let Some(stored) = state.store.get(&key, namespace, name) else { return };
    let mut last = pilothouse_value::Value::clone(stored.value());
    let mut build = |revision: u64| {
        last.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&last)
    };
    let removed = state.store.commit(&key, namespace, name, Some(revision), Change::Delete(&mut build));
    if let Err(pilothouse_store::Mismatch::Durable(error)) = removed {
        tracing::warn!(%error, namespace, name, "an event that is due could not be removed");
    }
}
