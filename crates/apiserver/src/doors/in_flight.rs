//! How many requests from the network are answered at once. More wait a while, and are then told to come back.
//!
//! kube-apiserver does so with priority levels and fair queues; here there is one queue, as wide as all of its levels
//! together. Requests that last (watches, logs, exec) and those of administrators do not count, as they do not upstream.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::render;
use crate::authentication::user::{MASTERS, User};
use crate::doors::body::Body;

/// What kube-apiserver answers at once: its limits for reads and for writes together.
pub(crate) const DEFAULT: usize = 600;
/// How long a request waits for its turn: a quarter of the time that it has.
const PATIENCE: Duration = Duration::from_secs(15);

/// The places for requests.
#[derive(Debug)]
pub(crate) struct InFlight {
    places: Arc<Semaphore>,
    all: usize,
    /// The level of administrators, who never wait.
    exempt: Level,
    /// The level of everybody else.
    global: Level,
}

/// A level of priority, as the heads of answers name it: by the uids of a flow schema and of the level that it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    schema: HeaderValue,
    level: HeaderValue,
}

impl Level {
    fn new() -> Level {
        // The text of a uid is a header's value.
        let uid = || {
            HeaderValue::from_str(&uuid::Uuid::new_v4().to_string())
                .unwrap_or_else(|_| HeaderValue::from_static(""))
        };
        Level { schema: uid(), level: uid() }
    }

    /// Names the level in the head of an answer.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(HeaderName::from_static("x-kubernetes-pf-flowschema-uid"), self.schema.clone());
        headers.insert(HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid"), self.level.clone());
    }
}

impl InFlight {
    /// Places for so many requests at once.
    pub(crate) fn new(all: usize) -> InFlight {
        let all = all.clamp(1, Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(all));
        InFlight { places, all, exempt: Level::new(), global: Level::new() }
    }

    /// How many are being answered.
    pub(crate) fn now(&self) -> usize {
        self.all - self.places.available_permits().min(self.all)
    }

    /// The level of a user's requests.
    pub(crate) fn level(&self, user: &User) -> &Level {
        if user.is_in(MASTERS) { &self.exempt } else { &self.global }
    }

    /// A place, kept until it is dropped; `None` if there is none in time.
    pub(crate) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Some(place);
        }
        tokio::time::timeout(PATIENCE, self.places.clone().acquire_owned()).await.ok()?.ok()
    }
}

/// 429: come back in a second.
pub(crate) fn refusal() -> Response<Body> {
    let text = "Too many requests, please try again later.\n";
    let mut response = render::plain(429, text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
