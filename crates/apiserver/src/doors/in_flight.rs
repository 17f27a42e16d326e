//! How many requests from the network are answered at once. More wait a while, and are then told to come back.
//!
//! kube-apiserver does so with priority levels and fair queues; here there is one queue, as wide as all of its levels
//! together. Requests that last (watches, logs, exec) and those of exempt levels do not count, as they do not upstream.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Response, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::render;
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
}

impl InFlight {
    /// Places for so many requests at once.
    pub(crate) fn new(all: usize) -> InFlight {
        let all = all.clamp(1, Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(all));
        InFlight { places, all }
    }

    /// How many are being answered.
    pub(crate) fn now(&self) -> usize {
        self.all - self.places.available_permits().min(self.all)
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
