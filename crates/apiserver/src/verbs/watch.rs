//! Watch: what is there, then every change, as seen through selectors.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use pilothouse_schema::builtin;
use pilothouse_store::{Event, EventKind, Object, Watcher};
use pilothouse_value::{Status, Value};
use tokio::time::{Instant, Sleep};

use crate::answer::document::Document;
use crate::answer::present;
use crate::registry::resource::Resource;
use crate::request::options::WatchOptions;
use crate::request::select::Selection;
use crate::state::{Context, State, Target};
use crate::verbs::read;

/// How long before the end of a watch upstream sends the last bookmark.
const LAST_BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How often a bookmark says how far a quiet watch has come.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// The annotation of the bookmark that ends the first events of a watch.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchEventKind {
    /// The object is new to the watch.
    Added,
    /// The object changed.
    Modified,
    /// The object is gone, or no longer selected.
    Deleted,
    /// Nothing happened: this is how far the watch has come.
    Bookmark,
    /// The watch cannot go on; the object is a `Status`.
    Error,
}

impl WatchEventKind {
    /// The `type` of the event on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            WatchEventKind::Added => "ADDED",
            WatchEventKind::Modified => "MODIFIED",
            WatchEventKind::Deleted => "DELETED",
            WatchEventKind::Bookmark => "BOOKMARK",
            WatchEventKind::Error => "ERROR",
        }
    }
}

/// One event on its way to a client.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) kind: WatchEventKind,
    pub(crate) document: Document,
}

/// An open watch. It ends with its timeout, with the server, or with its resource.
pub(crate) struct Watch {
    state: Arc<State>,
    target: Target,
    selection: Selection,
    watcher: Option<Watcher>,
    ready: VecDeque<Seen>,
    bookmarks: bool,
    /// Whether it ends before a bookmark is due.
    short: bool,
    deadline: Instant,
    generation: tokio::sync::watch::Receiver<u64>,
}

/// Opens a watch.
///
/// # Errors
/// 400 for selectors that cannot be read. What is wrong with the version is told as an event.
pub(crate) async fn watch(
    context: &Context,
    target: &Target,
    options: &WatchOptions,
) -> Result<Watch, Status> {
    options.check()?;
    let state = &context.state;
    let resource = &target.resource;
    let selection =
        Selection::parse(resource, options.label_selector.as_deref(), options.field_selector.as_deref())?;
    let version = read::parse(options.resource_version.as_deref()).map_err(|status| read::bare(&status))?;
    // Spread out, so that clients do not all come back at once.
    let shortest = state.tuning.shortest_watch;
    let jitter = shortest / 256 * u32::from(uuid::Uuid::new_v4().as_bytes()[0]);
    let deadline = Instant::now() + options.timeout.unwrap_or(shortest + jitter);
    let mut watch = Watch {
        state: state.clone(),
        target: target.clone(),
        selection,
        watcher: None,
        ready: VecDeque::new(),
        bookmarks: options.allow_bookmarks,
        short: options.timeout.is_some_and(|timeout| timeout <= LAST_BOOKMARK_BEFORE_END),
        deadline,
        generation: state.registry.changes(),
    };
    watch.generation.mark_unchanged();
    // Without a version the old rule holds, which is the new one in full: everything there is comes first.
    let initial = options.send_initial_events.unwrap_or(version.is_none());
    if let Some(version) = version.filter(|_| initial)
        && let Err(status) = read::reach(state, resource, version).await
    {
        watch.fail(&status);
        return Ok(watch);
    }
    let from = if initial || version.is_none() {
        let snapshot = state.store.snapshot();
        if initial {
            watch.begin(&snapshot).await?;
            if options.allow_bookmarks {
                let end = watch.bookmark(snapshot.revision(), true);
                watch.ready.push_back(end);
            }
        }
        snapshot.revision()
    } else {
        version.unwrap_or_default()
    };
    // Events of an earlier definition of the same name are of no resource that is known now.
    let oldest = resource.custom.as_ref().map_or(0, |custom| custom.definition.served_from);
    if from < oldest {
        watch.fail(&too_old(pilothouse_store::Expired { requested: from, oldest }));
        return Ok(watch);
    }
    match state.store.watch(&resource.key, from) {
        Ok(watcher) => watch.watcher = Some(watcher),
        Err(expired) => watch.fail(&too_old(expired)),
    }
    Ok(watch)
}

fn too_old(expired: pilothouse_store::Expired) -> Status {
    Status::expired(format!("too old resource version: {} ({})", expired.requested, expired.oldest))
}

/// What woke a watch up.
enum Woken {
    Event(Result<Event, pilothouse_store::Expired>),
    Registry,
    Bookmark,
    End,
}

impl Watch {
    /// Queues an ADDED for all that is there.
    async fn begin(&mut self, snapshot: &pilothouse_store::Snapshot) -> Result<(), Status> {
        let namespace = self.namespace().map(str::to_owned);
        for entry in snapshot.list(&self.target.resource.key, namespace.as_deref(), None) {
            let document = present::present_shared(&self.state, &self.target.resource, &entry.object).await?;
            if self.selection.is_everything() || self.selection.matches(&document.value()) {
                self.ready.push_back(Seen { kind: WatchEventKind::Added, document });
            }
        }
        Ok(())
    }

    fn namespace(&self) -> Option<&str> {
        (self.target.resource.namespaced && !self.target.namespace.is_empty())
            .then_some(self.target.namespace.as_str())
    }

    /// Queues an error as the last event.
    fn fail(&mut self, status: &Status) {
        self.ready.push_back(Seen { kind: WatchEventKind::Error, document: status.to_value().into() });
        self.watcher = None;
    }

    fn bookmark(&self, version: u64, end_of_initial: bool) -> Seen {
        let resource = &self.target.resource;
        // Of a built-in kind it carries what an object has in which nothing is set.
        let zero = if resource.is_built_in() { builtin::zero_object(&resource.gvk()) } else { None };
        let mut value = zero.unwrap_or_else(|| {
            let mut value = Value::object();
            value.set(&["apiVersion"], resource.api_version());
            value.set(&["kind"], resource.kind.as_str());
            value
        });
        value.set(&["metadata", "resourceVersion"], version.to_string());
        if end_of_initial {
            value.set(&["metadata", "annotations", INITIAL_EVENTS_END], "true");
        }
        Seen { kind: WatchEventKind::Bookmark, document: value.into() }
    }

    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some(seen) = self.ready.pop_front() {
                return Some(seen);
            }
            match self.wake().await? {
                Woken::Event(Ok(event)) => {
                    if let Some(seen) = self.see(&event).await {
                        return Some(seen);
                    }
                }
                Woken::Event(Err(expired)) => self.fail(&too_old(expired)),
                Woken::Registry => {
                    if !self.still_served() {
                        self.watcher = None;
                    }
                }
                Woken::Bookmark => {
                    let position = self.watcher.as_ref()?.position();
                    return Some(self.bookmark(position, false));
                }
                Woken::End => {
                    let position = self.watcher.as_ref()?.position();
                    self.watcher = None;
                    // A last bookmark, so that the client need not read again what it has seen. Upstream has none for a watch
                    // that is over before the first is due.
                    return (self.bookmarks && !self.short).then(|| self.bookmark(position, false));
                }
            }
        }
    }

    async fn wake(&mut self) -> Option<Woken> {
        let bookmarks = self.bookmarks;
        let custom = self.target.resource.custom.is_some();
        let watcher = self.watcher.as_mut()?;
        // What is there already needs no timer.
        match watcher.try_next() {
            Ok(None) => {}
            Ok(Some(event)) => return Some(Woken::Event(Ok(event))),
            Err(expired) => return Some(Woken::Event(Err(expired))),
        }
        let mut bookmark: std::pin::Pin<Box<Sleep>> = Box::pin(tokio::time::sleep(BOOKMARK_EVERY));
        let woken = tokio::select! {
            biased;
            () = self.state.shutdown.cancelled() => return None,
            event = watcher.next() => Woken::Event(event),
            _changed = self.generation.changed(), if custom => Woken::Registry,
            () = tokio::time::sleep_until(self.deadline) => Woken::End,
            () = &mut bookmark, if bookmarks => Woken::Bookmark,
        };
        Some(woken)
    }

    /// Whether the resource is still served as it was when the watch began. With a change of its definition every watch ends,
    /// as upstream: whoever watches comes back and reads what the new definition makes of the objects.
    fn still_served(&mut self) -> bool {
        let resource = &self.target.resource;
        let now = self.state.registry.get(&resource.group, &resource.version, &resource.plural);
        let definition =
            |resource: &Resource| resource.custom.as_ref().map(|custom| custom.definition.clone());
        match (now.as_deref().and_then(definition), definition(resource)) {
            (Some(now), Some(before)) => Arc::ptr_eq(&now, &before),
            (now, before) => now.is_none() && before.is_none(),
        }
    }

    /// What this watch sees of a write: what matters is whether the object was, and is, selected.
    async fn see(&self, event: &Event) -> Option<Seen> {
        if self.namespace().is_some_and(|namespace| namespace != &*event.namespace) {
            return None;
        }
        let now = (event.kind != EventKind::Deleted).then_some(&event.object);
        let was = event.previous.as_ref();
        let (was, is) = if self.selection.is_everything() {
            (was.is_some(), now.is_some())
        } else {
            (self.selects(was).await, self.selects(now).await)
        };
        let kind = match (was, is) {
            (false, true) => WatchEventKind::Added,
            (true, true) => WatchEventKind::Modified,
            (true, false) => WatchEventKind::Deleted,
            (false, false) => return None,
        };
        let document = if kind == WatchEventKind::Deleted && event.kind != EventKind::Deleted {
            // The object left the selection: its old content, at the version of the write that took it out.
            let previous = event.previous.as_ref()?;
            let document =
                present::present_shared(&self.state, &self.target.resource, previous).await.ok()?;
            let mut value = Value::clone(&document.value());
            value.set(&["metadata", "resourceVersion"], event.revision.to_string());
            value.into()
        } else {
            match present::present_shared(&self.state, &self.target.resource, &event.object).await {
                Ok(document) => document,
                Err(status) => {
                    return Some(Seen { kind: WatchEventKind::Error, document: status.to_value().into() });
                }
            }
        };
        Some(Seen { kind, document })
    }

    async fn selects(&self, stored: Option<&Arc<Object>>) -> bool {
        let Some(stored) = stored else { return false };
        let document = present::present_shared(&self.state, &self.target.resource, stored).await;
        document.is_ok_and(|document| self.selection.matches(&document.value()))
    }

    /// The watch as a stream.
    pub(crate) fn stream(self) -> impl Stream<Item = Seen> + Send {
        futures::stream::unfold(self, |mut watch| async move { watch.next().await.map(|seen| (seen, watch)) })
    }
}
