//! Events: what controllers did and why, told on the objects concerned. An event that repeats is counted, not written
//! again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pilothouse_apiserver::{Client, Clock, Patch};
use pilothouse_value::{Value, json};

use crate::resources::EVENTS;

/// How many events are remembered in order to count them; beyond it all are forgotten.
const REMEMBERED: usize = 4096;

/// Writes events.
pub(crate) struct Recorder {
    client: Client,
    clock: Clock,
    written: Mutex<HashMap<Key, Written>>,
    number: AtomicU64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    uid: String,
    kind: &'static str,
    reason: String,
    message: String,
}

#[derive(Clone)]
struct Written {
    name: String,
    count: i64,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("remembered", &self.written.lock().len()).finish_non_exhaustive()
    }
}

impl Recorder {
    pub(crate) fn new(client: Client, clock: Clock) -> Self {
        Self { client, clock, written: Mutex::default(), number: AtomicU64::new(0) }
    }

    /// Records an event about an object, given by reference. With an action it is one of the newer kind
    /// ([`super::plan::Plan::event_of`]). An event that cannot be written is logged and forgotten.
    pub(crate) async fn record(
        &self,
        component: &str,
        regarding: &Value,
        (kind, action): (&'static str, Option<&'static str>),
        reason: &str,
        message: &str,
    ) {
        let text = |field: &str| regarding.str_at(&[field]).unwrap_or_default();
        let namespace = Some(text("namespace")).filter(|n| !n.is_empty()).unwrap_or("default");
        let key =
            Key { uid: text("uid").to_owned(), kind, reason: reason.to_owned(), message: message.to_owned() };
        let now = self.clock.now();
        let before = self.written.lock().get(&key).cloned();
        if let Some(Written { name, count }) = before {
            let again = match action {
                None => json!({"count": count + 1, "lastTimestamp": now.to_string()}),
                Some(_) => json!({"series": {"count": count + 1, "lastObservedTime": now.micro()}}),
            };
            let patch = Patch::Merge(again);
            if self.client.patch(&EVENTS, Some(namespace), &name, patch, None).await.is_ok() {
                self.written.lock().insert(key, Written { name, count: count + 1 });
                return;
            }
        }
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let seconds = u64::try_from(now.unix_seconds()).unwrap_or_default();
        let name = format!("{}.{:x}", text("name"), (seconds << 24) + number);
        let mut event = json!({"apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "reason": reason, "message": message, "type": kind, "reportingComponent": component});
        match action {
            None => {
                event.set(&["count"], 1);
                event.set(&["firstTimestamp"], now.to_string());
                event.set(&["lastTimestamp"], now.to_string());
                event.set(&["source", "component"], component);
                event.set(&["reportingInstance"], "");
            }
            Some(action) => {
                event.set(&["action"], action);
                event.set(&["eventTime"], now.micro());
                event.set(&["reportingInstance"], format!("{component}-pilothouse"));
            }
        }
        event.set(&["involvedObject"], regarding.clone());
        match self.client.create(&EVENTS, Some(namespace), event).await {
            Ok(_) => {
                let mut written = self.written.lock();
                if written.len() >= REMEMBERED {
                    written.clear();
                }
                written.insert(key, Written { name, count: 1 });
            }
            Err(status) => tracing::debug!(reason, error = %status.message, "an event could not be written"),
        }
    }
}
