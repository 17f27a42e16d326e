//! What an operator has written, so that a test can name it.

use std::collections::VecDeque;
use std::sync::Arc;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tower::service_fn;

/// More writes than this are only counted.
const KEPT: usize = 200;

/// The writing requests of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Writes>>);

#[derive(Debug, Default)]
struct Writes {
    count: usize,
    last: VecDeque<String>,
}

impl Record {
    /// A client that sends through `client` and is recorded here.
    pub(crate) fn client(&self, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        let record = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            if request.method() != Method::GET {
                record.add(format!("{} {}", request.method(), request.uri().path()));
            }
            let client = client.clone();
            async move { client.send(request).await }
        });
        Client::new(service, namespace)
    }

    fn add(&self, line: String) {
        let mut writes = self.0.lock();
        writes.count += 1;
        writes.last.push_back(line);
        if writes.last.len() > KEPT {
            writes.last.pop_front();
        }
    }

    /// How many writes there were so far.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().count
    }

    /// The writes after the first `count`, one a line.
    pub(crate) fn since(&self, count: usize) -> Vec<String> {
        let writes = self.0.lock();
        let new = writes.count - count;
        writes.last.iter().skip(writes.last.len().saturating_sub(new)).cloned().collect()
    }
}
