//! Waiting for a state through a watch: no polling, no sleeping, and a report when it does not come.

use std::fmt::Write as _;
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Request;
use pilothouse_runtime::{Kind, Object};
use serde_json::Value;

use crate::diff::diff;
use crate::error::{Error, Result};

/// Changes shown in a report.
const SHOWN: usize = 10;

/// What is waited for: one object, and for how long.
pub(crate) struct Wait<'a> {
    pub(crate) client: &'a Client,
    pub(crate) kind: Kind,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// On the test's clock.
    pub(crate) limit: Duration,
    /// On the wall clock: a controller that never rests would hold a paused clock for ever.
    pub(crate) wall_limit: Duration,
}

/// Ends after this time on the wall clock, which runs even when the test's clock is held: by a thread, which ends with the
/// future.
pub(crate) async fn wall_clock(limit: Duration) {
    let (done, over) = tokio::sync::oneshot::channel::<()>();
    let (_held, dropped) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if dropped.recv_timeout(limit) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // Nobody listens any more: then nobody waits.
            let _ = done.send(());
        }
    });
    if over.await.is_err() {
        // The thread has ended without a word, which it does only when this future is dropped.
        std::future::pending::<()>().await;
    }
}

/// The object's states so far.
#[derive(Default)]
struct History {
    last: Option<Value>,
    changes: Vec<String>,
}

impl Wait<'_> {
    /// Waits until `done` says so of the object (`None` while it does not exist). `explain` may add to the report.
    pub(crate) async fn until<T>(
        &self,
        mut done: impl FnMut(Option<&Value>) -> Option<T>,
        explain: impl FnOnce(Option<&Value>) -> String,
    ) -> Result<T> {
        let mut history = History::default();
        let limit = tokio::select! {
            found = self.watch(&mut history, &mut done) => return found,
            () = tokio::time::sleep(self.limit) => self.limit,
            () = wall_clock(self.wall_limit) => self.wall_limit,
        };
        let report = history.report(explain(history.last.as_ref()));
        Err(Error::NotEventually { object: self.describe(), limit, report })
    }

    async fn watch<T>(
        &self,
        history: &mut History,
        done: &mut impl FnMut(Option<&Value>) -> Option<T>,
    ) -> Result<T> {
        let parameters =
            WatchParams::default().fields(&format!("metadata.name={}", self.name)).initial_events();
        loop {
            let failed = |source| Error::Request {
                action: "watch",
                object: self.describe(),
                source: Box::new(source),
            };
            let request = Request::new(self.path())
                .watch(&parameters, "")
                .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
            let events = self.client.request_events::<Value>(request).await.map_err(failed)?;
            let mut events = events.boxed();
            let mut listed = false;
            while let Some(event) = events.next().await {
                let state = match event.map_err(failed)? {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                    WatchEvent::Deleted(_) => None,
                    // The list is complete and the object was not in it.
                    WatchEvent::Bookmark(_) if !listed && history.last.is_none() => None,
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(status) => return Err(failed(kube::Error::Api(status))),
                };
                listed = true;
                history.add(state);
                if let Some(found) = done(history.last.as_ref()) {
                    return Ok(found);
                }
            }
        }
    }

    fn path(&self) -> String {
        let root = if self.kind.group.is_empty() { "api" } else { "apis" };
        let namespace =
            if self.kind.namespaced { format!("namespaces/{}/", self.namespace) } else { String::new() };
        format!("/{root}/{}/{namespace}{}", self.kind.api_version(), self.kind.plural)
    }

    fn describe(&self) -> String {
        if self.kind.namespaced {
            format!("{} {}/{}", self.kind, self.namespace, self.name)
        } else {
            format!("{} {}", self.kind, self.name)
        }
    }
}

impl History {
    fn add(&mut self, state: Option<Value>) {
        let change = match (&self.last, &state) {
            (None, None) => return,
            (None, Some(_)) => "it was created".to_owned(),
            (Some(_), None) => "it was deleted".to_owned(),
            (Some(old), Some(new)) => diff(&quiet(old), &quiet(new)),
        };
        if !change.is_empty() {
            self.changes.push(change);
        }
        self.last = state;
    }

    fn report(&self, explained: String) -> String {
        let mut text = String::new();
        if !explained.is_empty() {
            let _ = writeln!(text, "what is missing:\n{explained}");
        }
        if !self.changes.is_empty() {
            let first = self.changes.len().saturating_sub(SHOWN);
            let _ =
                writeln!(text, "what happened while waiting:\n{}", self.changes[first..].join("\n  ---\n"));
        }
        match &self.last {
            None => text.push_str("last seen: it does not exist"),
            Some(object) => {
                let _ = write!(text, "last seen:\n{}", yaml(&quiet(object)));
            }
        }
        text
    }
}

/// Without what no one reads.
fn quiet(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
    }
    object
}

pub(crate) fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|_| format!("{value:#}"))
}

pub(crate) fn decode<K: Object>(value: &Value) -> Option<K> {
    serde_json::from_value(value.clone()).ok()
}
