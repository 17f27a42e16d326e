//! The wire between an operator under test and its cluster: writes are recorded, faults are put in.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, Uri};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tower::service_fn;

/// More writes than this are only counted.
const KEPT: usize = 200;
/// Writes that a report shows.
const SHOWN: usize = 10;

/// The writing requests of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    counts: watch::Sender<Counts>,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    all: usize,
    /// How often the most frequent request was sent.
    most: usize,
}

#[derive(Debug, Default)]
struct Lines {
    last: VecDeque<String>,
    repeats: HashMap<String, usize>,
}

impl Record {
    /// A client that sends through `client`, is recorded here, and meets these faults.
    pub(crate) fn client(&self, client: Client, faults: Faults) -> Client {
        let namespace = client.default_namespace().to_owned();
        let record = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            if request.method() != Method::GET {
                record.add(format!("{} {}", request.method(), request.uri().path()));
            }
            let fault = faults.meet(request.method(), request.uri());
            let client = client.clone();
            async move {
                match fault {
                    Some(answer) => Ok(answer),
                    None => client.send(request).await,
                }
            }
        });
        Client::new(service, namespace)
    }

    fn add(&self, line: String) {
        let mut lines = self.lines.lock();
        let repeats = lines.repeats.entry(line.clone()).or_default();
        *repeats += 1;
        let repeats = *repeats;
        lines.last.push_back(line);
        if lines.last.len() > KEPT {
            lines.last.pop_front();
        }
        self.counts.send_modify(|counts| {
            counts.all += 1;
            counts.most = counts.most.max(repeats);
        });
    }

    /// How many writes there were so far.
    pub(crate) fn count(&self) -> usize {
        self.counts.borrow().all
    }

    /// Waits until one and the same request was sent so many times more often than any was till now.
    pub(crate) async fn repeats(&self, times: usize) {
        let mut counts = self.counts.subscribe();
        let limit = counts.borrow().most + times;
        // The sender lives as long as this record.
        let _ = counts.wait_for(|counts| counts.most >= limit).await;
    }

    /// The writes after the first `count` (the last of them, if there were many), one a line.
    pub(crate) fn since(&self, count: usize) -> String {
        let last = &self.lines.lock().last;
        let new = self.count() - count;
        let lines = last.iter().skip(last.len().saturating_sub(new)).rev().take(SHOWN);
        lines.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
    }
}

/// An error that the server gives instead of an answer to an operator's request.
#[derive(Clone, Debug)]
#[must_use = "a fault does nothing until it is given to `Cluster::inject`"]
pub struct Fault {
    method: Method,
    part: String,
    times: usize,
    code: u16,
    reason: String,
}

impl Fault {
    /// For requests of this method whose path and query contain `part`; the answer is 500 `InternalError`, once.
    pub fn on(method: Method, part: impl Into<String>) -> Self {
        Self { method, part: part.into(), times: 1, code: 500, reason: "InternalError".to_owned() }
    }

    /// So many times; the default is once.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// With this code and reason, for example `409` and `Conflict`.
    pub fn answer(mut self, code: u16, reason: impl Into<String>) -> Self {
        self.code = code;
        self.reason = reason.into();
        self
    }
}

/// The faults that a cluster has in store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<Mutex<Vec<Fault>>>);

impl Faults {
    pub(crate) fn add(&self, fault: Fault) {
        self.0.lock().push(fault);
    }

    fn meet(&self, method: &Method, uri: &Uri) -> Option<Response<Body>> {
        let target = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let mut faults = self.0.lock();
        let fault =
            faults.iter_mut().find(|f| f.times > 0 && f.method == *method && target.contains(&f.part))?;
        fault.times -= 1;
        let status = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "metadata": {},
            "code": fault.code, "reason": fault.reason,
            "message": format!("this test makes {method} {} fail", fault.part),
        });
        let mut answer = Response::new(Body::from(status.to_string().into_bytes()));
        *answer.status_mut() = StatusCode::from_u16(fault.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Some(answer)
    }
}
