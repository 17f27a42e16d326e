//! The engine of an operator: a shared cache, fair queues, controllers, plans, events, metrics and probes, and a
//! shutdown in good order. It owns everything between a watch event and the requests that answer it. It knows
//! Kubernetes only through [`kube::Client`]: not how an API server is made, and nothing of any operator's domain.
//!
//! # The high-level door: [`Controller`]
//!
//! Its logic is a function from what was seen to a [`Plan`]; guards check the plan, and only what differs is written.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
//! # use pilothouse_runtime::*;
//! struct Copies;
//!
//! impl Controller for Copies {
//!     type Resource = Service; // your kind
//!
//!     fn declare(d: &mut Declaration<Service>) {
//!         d.name("copies").owns::<ConfigMap>().reads::<Secret>();
//!     }
//!
//!     async fn analyze(&self, service: &Service, seen: &Seen<'_>) -> Result<Plan> {
//!         let secret = seen.get::<Secret>("source"); // when it changes, this service is analyzed again
//!         Ok(Plan::new().ready_when(secret.is_some()).ensure(ConfigMap::default()))
//!     }
//! }
//!
//! # async fn run() -> Result {
//! Manager::from_env().await?.controller(Copies).run().await
//! # }
//! ```
//!
//! # The low-level door: [`Reconciler`]
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
//! # use pilothouse_runtime::*;
//! struct Backups;
//!
//! impl Reconciler for Backups {
//!     type Resource = ConfigMap; // your kind
//!
//!     fn declare(d: &mut Declaration<ConfigMap>) {
//!         d.name("backups").finalizer().reads::<Secret>().uses::<Pod>(&["get", "create", "delete"]);
//!         d.uses_subresource::<Pod>("exec", &["create"]).uses_subresource::<Pod>("log", &["get"]);
//!     }
//!
//!     /// Once, with filled caches, before the first reconcile: resume what a crash has interrupted.
//!     async fn start(&self, cx: &Context) -> Result {
//!         for object in cx.list::<ConfigMap>(None)? {
//!             cx.enqueue(&Key::of(&*object));
//!         }
//!         Ok(())
//!     }
//!
//!     async fn reconcile(&self, object: Arc<ConfigMap>, cx: &Context) -> Result<Action> {
//!         cx.events().publish(&*object, Event::normal("Started", "the backup has started"));
//!         let (context, key) = (cx.clone(), Key::of(&*object));
//!         cx.spawn("backup", async move {
//!             // long work: `context.client()`, and look at `context.shutdown()` to come to a safe point
//!             context.enqueue(&key); // look at the object again
//!         });
//!         Ok(Action::AwaitChange) // or Action::RequeueAfter(duration), or an error: backoff for this key alone
//!     }
//! }
//!
//! # async fn run() -> Result {
//! Manager::from_env().await?.reconciler(Backups).probes(([127, 0, 0, 1], 8080).into()).run().await
//! # }
//! ```
//!
//! [`Manager::start`] gives a [`Running`] operator to hold ([`Running::shutdown`], [`Running::idle`]);
//! [`Manager::rules`] are the RBAC rules derived from the declarations.

mod available;
mod backoff;
mod cache;
mod client;
mod clock;
mod connect;
mod controller;
mod declaration;
mod error;
mod events;
mod manager;
mod metrics;
mod object;
mod plan;
mod probes;
mod queue;
mod seen;
mod shutdown;

pub use crate::available::Available;
pub use crate::backoff::Backoff;
pub use crate::cache::{Cache, Change, Health, Selection, Store, WatchStatus};
pub use crate::clock::Clock;
pub use crate::connect::connect;
pub use crate::controller::{Action, Cleanup, Context, Controller, Reconciler};
pub use crate::declaration::Declaration;
pub use crate::error::{BoxError, Error, Result};
pub use crate::events::{Event, EventType, Recorder};
pub use crate::manager::{Manager, Running};
pub use crate::metrics::{Metrics, QueueMetrics};
pub use crate::object::{Key, Kind, Object, Scope, controller_of};
pub use crate::plan::{ConditionStatus, Observed, Plan, Refusal, intent};
pub use crate::queue::{Load, Outcome, Queue};
pub use crate::seen::Seen;
pub use crate::shutdown::signal;
