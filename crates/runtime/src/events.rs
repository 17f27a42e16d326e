//! Events: what a controller tells people about an object, shown by `kubectl describe` and `kubectl get events`.
//!
//! Sending never delays a reconcile: events wait in a bounded line and are sent by one task. A repeated event counts
//! up the one that was sent before, and an object that has too much to tell is cut short, as client-go does it.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use k8s_openapi::jiff::{Timestamp, Unit};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::object::Object;
use crate::shutdown::Tasks;

/// Events that may wait to be sent; more are dropped and counted.
const LINE: usize = 1024;
/// How many different events are remembered to count repetitions.
const REMEMBERED: usize = 4096;
/// A repetition within this time counts up; later it is a new event (client-go's aggregation interval).
const WINDOW: Duration = Duration::from_secs(600);
/// How many events one object may have at once, and how often it gets one more (client-go's spam filter).
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_secs(300);
/// Longest message that the API takes, in bytes.
const MESSAGE: usize = 1024;

/// Whether an event tells of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something went as it should.
    Normal,
    /// Something needs attention.
    Warning,
}

/// Something that happened to an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    kind: EventType,
    reason: String,
    message: String,
    action: String,
}

impl Event {
    /// Something went as it should. `reason` is a CamelCase word; `message` is for people.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(EventType::Normal, reason.into(), message.into())
    }

    /// Something needs attention. `reason` is a CamelCase word; `message` is for people.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(EventType::Warning, reason.into(), message.into())
    }

    /// What the controller was doing, as a CamelCase verb; the default is `Reconcile`.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Normal or warning.
    pub fn event_type(&self) -> EventType {
        self.kind
    }

    fn new(kind: EventType, reason: String, mut message: String) -> Self {
        if message.len() > MESSAGE {
            let end = (0..=MESSAGE - 3).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
            message.truncate(end);
            message.push_str("...");
        }
        Self { kind, reason, message, action: "Reconcile".to_owned() }
    }
}

/// Sends events in the name of a controller. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    controller: Arc<str>,
    line: mpsc::Sender<Message>,
    metrics: Metrics,
}

#[derive(Debug)]
struct Message {
    controller: Arc<str>,
    regarding: ObjectReference,
    event: Event,
}

impl Recorder {
    /// Starts the task that sends; [`Recorder::named`] gives each controller its own.
    pub(crate) fn start(client: Client, metrics: Metrics, tasks: &Tasks, clock: Clock) -> Self {
        let (line, receiver) = mpsc::channel(LINE);
        let abort = tasks.abort.clone();
        tasks.tracker.spawn(async move {
            let mut sender = Sender {
                client,
                clock,
                sent: HashMap::new(),
                order: VecDeque::new(),
                budgets: HashMap::new(),
            };
            abort.run_until_cancelled(sender.run(receiver)).await;
        });
        Self { controller: "".into(), line, metrics }
    }

    pub(crate) fn named(&self, controller: &str) -> Self {
        Self { controller: controller.into(), ..self.clone() }
    }

    /// Sends an event about `object`.
    pub fn publish<K: Object>(&self, object: &K, event: Event) {
        self.publish_for(object.object_ref(&()), event);
    }

    /// Sends an event about the object that the reference names. Never waits; when too many events are waiting, this
    /// one is dropped and counted in `pilothouse_events_dropped_total`.
    pub fn publish_for(&self, regarding: ObjectReference, event: Event) {
        let message = Message { controller: self.controller.clone(), regarding, event };
        if self.line.try_send(message).is_err() {
            self.metrics.event_dropped();
        }
    }
}

struct Sent {
    namespace: String,
    name: String,
    count: i32,
    last: Instant,
}

/// The tokens that an object has left, at a time.
struct Budget {
    tokens: f64,
    at: Instant,
}

struct Sender {
    client: Client,
    clock: Clock,
    sent: HashMap<u64, Sent>,
    order: VecDeque<u64>,
    budgets: HashMap<u64, Budget>,
}

impl Sender {
    async fn run(&mut self, mut line: mpsc::Receiver<Message>) {
        while let Some(message) = line.recv().await {
            if let Err(error) = self.send(&message).await {
                let object = message.regarding.name.as_deref().unwrap_or_default();
                tracing::warn!(%error, object, reason = message.event.reason, "cannot send an event");
            }
        }
    }

    async fn send(&mut self, message: &Message) -> Result<(), kube::Error> {
        let now = Instant::now();
        let id = digest(&(
            &*message.controller,
            &message.regarding.uid,
            &message.regarding.namespace,
            &message.regarding.name,
            &message.event,
        ));
        if let Some(sent) = self.sent.get_mut(&id).filter(|sent| now.duration_since(sent.last) < WINDOW) {
            sent.count += 1;
            sent.last = now;
            let patch = json!({"count": sent.count, "lastTimestamp": seconds(self.clock.now())});
            let events = Api::<CoreEvent>::namespaced(self.client.clone(), &sent.namespace);
            match events.patch(&sent.name, &PatchParams::default(), &Patch::Merge(patch)).await {
                // The event has expired on the server: send it anew.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                answer => return answer.map(|_| ()),
            }
        }
        if !self.allowed(&message.regarding, now) {
            return Ok(());
        }
        let event = self.event(message, id);
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let events = Api::<CoreEvent>::namespaced(self.client.clone(), &namespace);
        events.create(&PostParams::default(), &event).await?;
        let name = event.metadata.name.unwrap_or_default();
        if self.sent.insert(id, Sent { namespace, name, count: 1, last: now }).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.sent.remove(&oldest);
            }
        }
        Ok(())
    }

    /// A token bucket for each object.
    fn allowed(&mut self, regarding: &ObjectReference, now: Instant) -> bool {
        if self.budgets.len() >= REMEMBERED {
            self.budgets.retain(|_, budget| now.duration_since(budget.at) < REFILL * 25);
        }
        let id = digest(&(&regarding.uid, &regarding.namespace, &regarding.name));
        let budget = self.budgets.entry(id).or_insert(Budget { tokens: BURST, at: now });
        let refilled = now.duration_since(budget.at).as_secs_f64() / REFILL.as_secs_f64();
        budget.tokens = (budget.tokens + refilled).min(BURST);
        budget.at = now;
        if budget.tokens < 1.0 {
            return false;
        }
        budget.tokens -= 1.0;
        true
    }

    fn event(&self, message: &Message, id: u64) -> CoreEvent {
        let Message { controller, regarding, event } = message;
        let now = self.clock.now();
        // Events about cluster-scoped objects live in the namespace `default`.
        let namespace = regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let mut name = regarding.name.clone().unwrap_or_default();
        name.truncate(220);
        let name = format!("{name}.{:x}", digest(&(id, now.as_nanosecond())));
        let second = Some(Time(seconds(now)));
        CoreEvent {
            metadata: ObjectMeta { namespace: Some(namespace), name: Some(name), ..ObjectMeta::default() },
            involved_object: regarding.clone(),
            type_: Some(match event.kind {
                EventType::Normal => "Normal".to_owned(),
                EventType::Warning => "Warning".to_owned(),
            }),
            reason: Some(event.reason.clone()),
            message: Some(event.message.clone()),
            action: Some(event.action.clone()),
            count: Some(1),
            event_time: Some(MicroTime(now)),
            first_timestamp: second.clone(),
            last_timestamp: second,
            reporting_component: Some(controller.to_string()),
            reporting_instance: Some(controller.to_string()),
            source: Some(EventSource { component: Some(controller.to_string()), host: None }),
            ..CoreEvent::default()
        }
    }
}

/// Without fractions, as `metav1.Time` has it.
fn seconds(time: Timestamp) -> Timestamp {
    time.round(Unit::Second).unwrap_or(time)
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
