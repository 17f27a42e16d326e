//! EventRateLimit: nobody floods the server with events. Each limit has its buckets: one for the server, or one for each
//! namespace, user, or source and object; of these the latest ones are kept.

use std::collections::HashMap;

use parking_lot::Mutex;
use pilothouse_value::{Status, Value};
use tokio::time::Instant;

use super::{Attributes, Operation, Plugin};

/// See the module.
pub(super) struct EventRateLimit;

/// What has a bucket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitType {
    /// All events together.
    Server,
    /// A namespace.
    Namespace,
    /// A user.
    User,
    /// Who reports, and of which object.
    SourceAndObject,
}

impl LimitType {
    /// The types as configurations name them.
    pub(crate) const NAMES: [(&'static str, LimitType); 4] = [
        ("Namespace", LimitType::Namespace),
        ("Server", LimitType::Server),
        ("SourceAndObject", LimitType::SourceAndObject),
        ("User", LimitType::User),
    ];
}

/// A limit, with its buckets.
#[derive(Debug)]
pub(crate) struct Limit {
    /// What has a bucket.
    pub(crate) kind: LimitType,
    /// Events a second in the long run.
    pub(crate) qps: f64,
    /// Events at once.
    pub(crate) burst: f64,
    /// The most buckets that are kept.
    pub(crate) buckets: usize,
    /// The buckets by key.
    pub(crate) filled: Mutex<HashMap<String, Bucket>>,
}

/// How many events may still come, and since when that is so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    tokens: f64,
    since: Instant,
}

impl Limit {
    /// Takes one event from the key's bucket; false if it is empty.
    fn take(&self, key: &str) -> bool {
        let now = Instant::now();
        let mut filled = self.filled.lock();
        if filled.len() >= self.buckets && !filled.contains_key(key) {
            let oldest = filled.iter().min_by_key(|(_, bucket)| bucket.since).map(|(key, _)| key.clone());
            oldest.map(|oldest| filled.remove(&oldest));
        }
        let bucket = filled.entry(key.to_owned()).or_insert(Bucket { tokens: self.burst, since: now });
        let gained = now.duration_since(bucket.since).as_secs_f64() * self.qps;
        bucket.tokens = (bucket.tokens + gained).min(self.burst);
        bucket.since = now;
        let may = bucket.tokens >= 1.0;
        if may {
            bucket.tokens -= 1.0;
        }
        may
    }
}

impl Plugin for EventRateLimit {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        // Only the older of the two kinds counts upstream, too.
        if !attributes.resource().is("", "events") || attributes.dry_run() {
            return Ok(());
        }
        let mut reached = Vec::new();
        for limit in &attributes.state().plugins.settings.events {
            let key = key(limit.kind, attributes);
            if !limit.take(&key) {
                let named = LimitType::NAMES.iter().find(|(_, kind)| *kind == limit.kind);
                let name = named.map_or("", |(name, _)| name);
                reached.push(format!("limit reached on type {name} for key {key}"));
            }
        }
        let message = match reached.as_slice() {
            [] => return Ok(()),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        Err(Status::new(429, "TooManyRequests", format!("Too many requests: {message}")))
    }
}

fn key(kind: LimitType, attributes: &Attributes<'_>) -> String {
    match kind {
        LimitType::Server => String::new(),
        LimitType::Namespace => attributes.namespace().to_owned(),
        LimitType::User => attributes.user().name.clone(),
        LimitType::SourceAndObject => {
            let none = Value::Null;
            let event = attributes.object.as_ref().unwrap_or(&none);
            let text = |path: &[&str]| event.str_at(path).unwrap_or_default();
            let of = |field: &'static str| text(&["involvedObject", field]);
            [
                text(&["source", "component"]),
                text(&["source", "host"]),
                of("kind"),
                of("namespace"),
                of("name"),
                of("uid"),
                of("apiVersion"),
            ]
            .concat()
        }
    }
}
