//! One watch: fills a store and keeps it current, whatever the connection does.
//!
//! A watch starts with a streaming list (`sendInitialEvents`); a server that refuses it is asked for pages and then
//! for a watch from there. A stream that ends is taken up where it ended; a position that the server has forgotten
//! (410) starts over, with the old objects served meanwhile.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::AsyncBufReadExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use kube::Client;
use kube::api::{ListParams, WatchParams};
use kube::core::{Request, Status};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::health::HealthCell;
use super::store::Store;
use super::{Managers, Selection};
use crate::backoff::Backoff;
use crate::error::{request_reason, request_text};
use crate::object::{Key, Kind, Object};

/// The server ends a watch after this many seconds.
const WATCH_SECONDS: u32 = 290;
/// A watch that is silent for this long after it should have ended is a dead connection.
const SILENCE: Duration = Duration::from_secs(15);
/// Objects asked for in a page when the server has no streaming lists.
const PAGE: u32 = 500;

pub(crate) struct Watch<K> {
    pub(crate) client: Client,
    pub(crate) selection: Selection,
    pub(crate) store: Store<K>,
    pub(crate) managers: Managers,
    pub(crate) health: Arc<HealthCell>,
}

/// Why a session ended.
enum End {
    /// The stream ended in good order, or after it had brought something.
    Finished,
    /// The server does not know the position any more.
    Expired,
    /// The server refuses streaming lists.
    NoStreaming,
    Failed {
        verb: &'static str,
        reason: String,
        message: String,
    },
}

impl End {
    fn request(verb: &'static str, error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if is_expired(status) => Self::Expired,
            error => {
                Self::Failed { verb, reason: request_reason(error).to_owned(), message: request_text(error) }
            }
        }
    }

    fn broken(message: impl ToString) -> Self {
        Self::Failed { verb: "watch", reason: "Disconnected".to_owned(), message: message.to_string() }
    }
}

impl<K: Object> Watch<K> {
    /// Runs until `shutdown`.
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled(self.follow()).await;
    }

    async fn follow(self) {
        let mut position: Option<String> = None;
        let mut streaming = true;
        let mut failures = 0u32;
        loop {
            let before = position.clone();
            let end = match &position {
                None if streaming => self.stream(&mut position, true).await,
                None => self.list(&mut position).await,
                Some(_) => self.stream(&mut position, false).await,
            };
            match end {
                End::Finished if position != before => failures = 0,
                // An empty stream that ends at once must not become a hot loop.
                End::Finished => failures = failures.max(1),
                End::NoStreaming => {
                    streaming = false;
                    continue;
                }
                End::Expired => {
                    tracing::info!(watch = %self.name(), "the server has forgotten the position; starting over");
                    position = None;
                    failures += 1;
                }
                End::Failed { verb, reason, message } => {
                    failures += 1;
                    tracing::warn!(watch = %self.name(), verb, %reason, %message, failures, "watch failed");
                    self.health.failing(verb, &reason, &message, failures);
                }
            }
            if failures > 0 {
                tokio::time::sleep(spread(Backoff::WATCHES.delay(failures), &self.name(), failures)).await;
            }
        }
    }

    /// Follows one stream. With `initial`, the stream begins with everything that exists.
    async fn stream(&self, position: &mut Option<String>, initial: bool) -> End {
        let parameters = WatchParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            timeout: Some(WATCH_SECONDS),
            bookmarks: true,
            send_initial_events: initial,
        };
        // An empty version asks for the newest state.
        let request = match self.request().watch(&parameters, position.as_deref().unwrap_or_default()) {
            Ok(request) => request,
            Err(error) => return End::broken(error),
        };
        let mut lines = match self.client.request_stream(identity(request)).await {
            Ok(body) => body.lines(),
            Err(kube::Error::Api(status)) if initial && matches!(status.code, 400 | 422) => {
                return End::NoStreaming;
            }
            Err(error) => return End::request("watch", &error),
        };
        // Only while the initial events arrive: what has been listed so far.
        let mut listed = initial.then(HashSet::new);
        if !initial {
            self.health.watching();
        }
        let limit = Duration::from_secs(WATCH_SECONDS.into()) + SILENCE;
        loop {
            let line = match tokio::time::timeout(limit, futures::StreamExt::next(&mut lines)).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(error))) => return End::broken(error),
                Ok(None) if listed.is_some() => {
                    return End::broken("the stream ended before the list was complete");
                }
                Ok(None) => return End::Finished,
                Err(_) => return End::broken("no event and no end of the stream in time"),
            };
            if line.trim().is_empty() {
                continue;
            }
            if let Err(end) = self.event(&line, position, &mut listed) {
                return end;
            }
        }
    }

    fn event(
        &self,
        line: &str,
        position: &mut Option<String>,
        listed: &mut Option<HashSet<Key>>,
    ) -> Result<(), End> {
        #[derive(Deserialize)]
        struct Event<'a> {
            #[serde(rename = "type")]
            kind: &'a str,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        let Event { kind, object } = serde_json::from_str(line).map_err(End::broken)?;
        if kind == "ERROR" {
            let status: Status = serde_json::from_str(object.get()).map_err(End::broken)?;
            return Err(End::request("watch", &kube::Error::Api(Box::new(status))));
        }
        let Some(meta) = self.metadata(object.get()) else { return Ok(()) };
        match kind {
            "BOOKMARK" => {
                let complete = meta.annotations.is_some_and(|all| {
                    all.get("k8s.io/initial-events-end").is_some_and(|value| value == "true")
                });
                if complete && let Some(listed) = listed.take() {
                    self.store.finish_list(&listed, meta.resource_version.as_deref().unwrap_or_default());
                    self.health.watching();
                }
            }
            "DELETED" => {
                if let Some(object) = self.decode(object.get()) {
                    self.store.remove(&object);
                }
            }
            _ => {
                if let Some(listed) = listed {
                    listed.insert(Key::from_meta(&meta));
                }
                if let Some(object) = self.decode(object.get()) {
                    self.store.deliver(object);
                }
            }
        }
        // Before the list is complete there is no position to take up again.
        if listed.is_none() {
            *position = meta.resource_version;
        }
        Ok(())
    }

    /// Reads everything in pages, for servers without streaming lists.
    async fn list(&self, position: &mut Option<String>) -> End {
        #[derive(Deserialize)]
        struct Page<'a> {
            metadata: ListMeta,
            #[serde(borrow, default)]
            items: Vec<&'a RawValue>,
        }
        let mut parameters = ListParams {
            label_selector: self.selection.labels.clone(),
            field_selector: self.selection.fields.clone(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let mut listed = HashSet::new();
        loop {
            let request = match self.request().list(&parameters) {
                Ok(request) => request,
                Err(error) => return End::broken(error),
            };
            let text = match self.client.request_text(request).await {
                Ok(text) => text,
                Err(error) => return End::request("list", &error),
            };
            let page: Page<'_> = match serde_json::from_str(&text) {
                Ok(page) => page,
                Err(error) => {
                    return End::Failed {
                        verb: "list",
                        reason: "BadAnswer".to_owned(),
                        message: error.to_string(),
                    };
                }
            };
            for item in page.items {
                if let Some(meta) = self.metadata(item.get()) {
                    listed.insert(Key::from_meta(&meta));
                }
                if let Some(object) = self.decode(item.get()) {
                    self.store.deliver(object);
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters.continue_token = Some(token),
                None => {
                    self.store
                        .finish_list(&listed, page.metadata.resource_version.as_deref().unwrap_or_default());
                    self.health.watching();
                    *position = page.metadata.resource_version;
                    return End::Finished;
                }
            }
        }
    }

    fn metadata(&self, text: &str) -> Option<ObjectMeta> {
        #[derive(Deserialize)]
        struct Meta {
            #[serde(default)]
            metadata: ObjectMeta,
        }
        match serde_json::from_str::<Meta>(text) {
            Ok(meta) => Some(meta.metadata),
            Err(error) => {
                self.undecodable("an object", &error);
                None
            }
        }
    }

    /// Decodes an object and takes away what no controller needs.
    fn decode(&self, text: &str) -> Option<K> {
        match serde_json::from_str::<K>(text) {
            Ok(mut object) => {
                self.managers.strip(object.meta_mut());
                Some(object)
            }
            Err(error) => {
                let name =
                    self.metadata(text).map(|meta| Key::from_meta(&meta).to_string()).unwrap_or_default();
                self.undecodable(&name, &error);
                None
            }
        }
    }

    fn undecodable(&self, name: &str, error: &serde_json::Error) {
        tracing::warn!(watch = %self.name(), object = name, %error, "cannot decode an object; it is left out");
        self.health.undecodable(format!("{name}: {error}"));
    }

    fn request(&self) -> Request {
        Request::new(Kind::of::<K>().path(self.selection.namespace.as_deref()))
    }

    fn name(&self) -> String {
        self.selection.describe(&Kind::of::<K>())
    }
}

/// Watch streams are not compressed: each event must arrive as soon as it is sent.
fn identity(mut request: http::Request<Vec<u8>>) -> http::Request<Vec<u8>> {
    request.headers_mut().insert(http::header::ACCEPT_ENCODING, http::HeaderValue::from_static("identity"));
    request
}

fn is_expired(status: &Status) -> bool {
    status.code == 410 || matches!(status.reason.as_str(), "Expired" | "Gone")
}

/// Spreads waits by up to a fifth, so that the watches of many operators do not come back in step.
fn spread(wait: Duration, name: &str, failures: u32) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let share = RandomState::new().hash_one((name, failures)) % 1000;
    wait + wait.mul_f64(share as f64 / 5000.0)
}
