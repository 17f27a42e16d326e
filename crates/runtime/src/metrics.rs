//! Metrics under controller-runtime's names, so that dashboards and alerts made for Go operators keep working.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The buckets of `controller_runtime_reconcile_time_seconds`, in seconds, as controller-runtime has them.
const RECONCILE_BUCKETS: [f64; 30] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25,
    1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 9.0, 20.0, 60.0,
];

/// The buckets of the queue's durations, in seconds: powers of ten from 10 ns to 1000 s.
const QUEUE_BUCKETS: [f64; 12] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByController {
    controller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByResult {
    controller: String,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByQueue {
    name: String,
    controller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByRequest {
    code: String,
    method: String,
    host: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ByWatch {
    resource: String,
    namespace: String,
}

#[derive(Clone)]
struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// A gauge of seconds.
type Seconds = Gauge<f64, AtomicU64>;
type Durations<L> = Family<L, Histogram, Buckets>;

struct Families {
    registry: Registry,
    reconciles: Family<ByResult, Counter>,
    errors: Family<ByController, Counter>,
    terminal_errors: Family<ByController, Counter>,
    panics: Family<ByController, Counter>,
    timeouts: Family<ByController, Counter>,
    durations: Durations<ByController>,
    max_concurrent: Family<ByController, Gauge>,
    active: Family<ByController, Gauge>,
    depth: Family<ByQueue, Gauge>,
    adds: Family<ByQueue, Counter>,
    retries: Family<ByQueue, Counter>,
    unfinished: Family<ByQueue, Seconds>,
    longest: Family<ByQueue, Seconds>,
    queue_durations: Durations<ByQueue>,
    work_durations: Durations<ByQueue>,
    requests: Family<ByRequest, Counter>,
    objects: Family<ByWatch, Gauge>,
    dropped_events: Counter,
    writes: AtomicU64,
    measures: Mutex<Vec<Measure>>,
}

/// Brings a gauge up to date before the metrics are read.
type Measure = Box<dyn Fn() + Send + Sync>;

/// The metrics of one operator. Cheap to clone; all clones count together.
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics that start at zero.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        macro_rules! family {
            ($name:literal, $help:literal) => {{
                let family = Family::default();
                registry.register($name, $help, family.clone());
                family
            }};
            ($name:literal, $help:literal, $buckets:expr) => {{
                let family = Family::new_with_constructor(Buckets(&$buckets));
                registry.register($name, $help, family.clone());
                family
            }};
        }
        let dropped_events = Counter::default();
        registry.register(
            "pilothouse_events_dropped",
            "Events that were not sent because too many were waiting",
            dropped_events.clone(),
        );
        Self(Arc::new(Families {
            reconciles: family!("controller_runtime_reconcile", "Reconciles, by their result"),
            errors: family!("controller_runtime_reconcile_errors", "Reconciles that failed"),
            terminal_errors: family!(
                "controller_runtime_terminal_reconcile_errors",
                "Reconciles that failed and are not tried again until their object changes"
            ),
            panics: family!("controller_runtime_reconcile_panics", "Reconciles that panicked"),
            timeouts: family!(
                "controller_runtime_reconcile_timeouts",
                "Reconciles that were stopped for their time"
            ),
            durations: family!(
                "controller_runtime_reconcile_time_seconds",
                "How long reconciles took",
                RECONCILE_BUCKETS
            ),
            max_concurrent: family!(
                "controller_runtime_max_concurrent_reconciles",
                "How many reconciles may run at a time"
            ),
            active: family!("controller_runtime_active_workers", "How many reconciles run now"),
            depth: family!("workqueue_depth", "Keys that wait"),
            adds: family!("workqueue_adds", "Keys added"),
            retries: family!("workqueue_retries", "Keys put back after a failure"),
            unfinished: family!(
                "workqueue_unfinished_work_seconds",
                "How long the keys that are being worked on have taken so far, together"
            ),
            longest: family!(
                "workqueue_longest_running_processor_seconds",
                "How long the key that takes longest has taken so far"
            ),
            queue_durations: family!(
                "workqueue_queue_duration_seconds",
                "How long keys waited",
                QUEUE_BUCKETS
            ),
            work_durations: family!(
                "workqueue_work_duration_seconds",
                "How long the work on a key took",
                QUEUE_BUCKETS
            ),
            requests: family!(
                "rest_client_requests",
                "Requests to the Kubernetes API, by code, method and host"
            ),
            objects: family!("pilothouse_cached_objects", "Objects in the cache"),
            dropped_events,
            writes: AtomicU64::new(0),
            measures: Mutex::default(),
            registry,
        }))
    }

    /// The text that Prometheus reads (OpenMetrics 1.0).
    pub fn encode(&self) -> String {
        for measure in &*self.0.measures.lock() {
            measure();
        }
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    pub(crate) fn before_reading(&self, measure: impl Fn() + Send + Sync + 'static) {
        self.0.measures.lock().push(Box::new(measure));
    }

    /// The metrics of a controller's queue.
    pub fn queue(&self, controller: &str) -> QueueMetrics {
        let label = ByQueue { name: controller.to_owned(), controller: controller.to_owned() };
        QueueMetrics {
            depth: self.0.depth.get_or_create_owned(&label),
            adds: self.0.adds.get_or_create_owned(&label),
            retries: self.0.retries.get_or_create_owned(&label),
            unfinished: self.0.unfinished.get_or_create_owned(&label),
            longest: self.0.longest.get_or_create_owned(&label),
            queue_durations: self.0.queue_durations.get_or_create_owned(&label),
            work_durations: self.0.work_durations.get_or_create_owned(&label),
        }
    }

    pub(crate) fn controller(&self, controller: &str, concurrency: usize) -> ControllerMetrics {
        let label = ByController { controller: controller.to_owned() };
        let families = &self.0;
        families.max_concurrent.get_or_create(&label).set(i64::try_from(concurrency).unwrap_or(i64::MAX));
        let result = |result| {
            families.reconciles.get_or_create_owned(&ByResult { controller: controller.to_owned(), result })
        };
        ControllerMetrics {
            success: result("success"),
            requeue_after: result("requeue_after"),
            error: result("error"),
            errors: families.errors.get_or_create_owned(&label),
            terminal_errors: families.terminal_errors.get_or_create_owned(&label),
            panics: families.panics.get_or_create_owned(&label),
            timeouts: families.timeouts.get_or_create_owned(&label),
            durations: families.durations.get_or_create_owned(&label),
            active: families.active.get_or_create_owned(&label),
        }
    }

    pub(crate) fn cached_objects(&self, resource: &str, namespace: Option<&str>) -> Gauge {
        self.0.objects.get_or_create_owned(&ByWatch {
            resource: resource.to_owned(),
            namespace: namespace.unwrap_or_default().to_owned(),
        })
    }

    pub(crate) fn request(&self, method: &http::Method, host: Option<&str>, code: Option<u16>) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        let host = host.unwrap_or_default().to_owned();
        self.0.requests.get_or_create(&ByRequest { code, method: method.to_string(), host }).inc();
    }

    pub(crate) fn event_dropped(&self) {
        self.0.dropped_events.inc();
    }

    pub(crate) fn wrote(&self) {
        self.0.writes.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// How many writing requests (all but GET) left through the operator's client so far.
    pub fn writes(&self) -> u64 {
        self.0.writes.load(std::sync::atomic::Ordering::Relaxed)
    }
}

/// What a queue counts.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    unfinished: Seconds,
    longest: Seconds,
    queue_durations: Histogram,
    work_durations: Histogram,
}

impl QueueMetrics {
    pub(crate) fn added(&self) {
        self.adds.inc();
    }

    pub(crate) fn depth(&self, waiting: usize) {
        self.depth.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    pub(crate) fn unfinished(&self, all: f64, longest: f64) {
        self.unfinished.set(all);
        self.longest.set(longest);
    }

    pub(crate) fn waited(&self, time: Duration) {
        self.queue_durations.observe(time.as_secs_f64());
    }

    pub(crate) fn finished(&self, time: Duration, retry: bool) {
        self.work_durations.observe(time.as_secs_f64());
        if retry {
            self.retries.inc();
        }
    }
}

/// What a controller counts.
#[derive(Clone, Debug)]
pub(crate) struct ControllerMetrics {
    pub(crate) success: Counter,
    pub(crate) requeue_after: Counter,
    pub(crate) error: Counter,
    pub(crate) errors: Counter,
    pub(crate) terminal_errors: Counter,
    pub(crate) panics: Counter,
    pub(crate) timeouts: Counter,
    pub(crate) durations: Histogram,
    pub(crate) active: Gauge,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_controller_runtime() {
        let metrics = Metrics::new();
        let controller = metrics.controller("cache", 4);
        controller.success.inc();
        controller.durations.observe(0.2);
        metrics.queue("cache").added();
        metrics.request(&http::Method::GET, Some("10.0.0.1"), Some(200));
        let text = metrics.encode();
        for line in [
            "controller_runtime_reconcile_total{controller=\"cache\",result=\"success\"} 1",
            "controller_runtime_max_concurrent_reconciles{controller=\"cache\"} 4",
            "controller_runtime_reconcile_time_seconds_count{controller=\"cache\"} 1",
            "workqueue_adds_total{name=\"cache\",controller=\"cache\"} 1",
            "workqueue_depth{name=\"cache\",controller=\"cache\"} 0",
            "rest_client_requests_total{code=\"200\",method=\"GET\",host=\"10.0.0.1\"} 1",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
    }
}
