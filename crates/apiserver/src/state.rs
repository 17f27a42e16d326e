//! What all requests of one server share, and what one request carries along.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use pilothouse_schema::builtin::Amounts;
use pilothouse_store::{Clock, Store};
use pilothouse_value::stack::deeper;
use pilothouse_value::{Status, Timestamp, Value, object};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Chain;
use crate::admission::webhook::Configurations;
use crate::aggregation::Aggregator;
use crate::answer::warning::Warnings;
use crate::audit::{AuditLog, Notes};
use crate::authentication::identity::Identity;
use crate::authentication::impersonation::Memory;
use crate::authentication::user::User;
use crate::authorization::rbac::Authorizer;
use crate::doors::in_flight::InFlight;
use crate::doors::network::Network;
use crate::fairness::Fairness;
use crate::heavy::Load;
use crate::kubelet::Kubelet;
use crate::objects::allocate::Allocations;
use crate::objects::elsewhere::ObjectsElsewhere;
use crate::objects::expiry::Expiry;
use crate::outward::Kubelets;
use crate::pages::process::Process;
use crate::registry::Registry;
use crate::registry::resource::Resource;
use crate::start::keeping::Keeper;
use crate::start::presence::Presence;
use crate::tuning::Tuning;
use crate::webhook::{Hooks, ServiceResolver};

/// How long a write may take.
const LONGEST_WRITE: Duration = Duration::from_secs(34);

/// Who may do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Everyone may do everything.
    AlwaysAllow,
    /// Roles and bindings say.
    #[default]
    Rbac,
}

/// What all requests of one server share.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    /// When the server started.
    pub(crate) started: Timestamp,
    /// What it says of its process.
    pub(crate) process: Process,
    pub(crate) registry: Registry,
    /// Whether roles and bindings count.
    pub(crate) has_roles: bool,
    pub(crate) authorizer: Authorizer,
    /// Who asked for what is written there; none if it is not.
    pub(crate) audit: Option<AuditLog>,
    pub(crate) identity: Identity,
    /// How callers came to act as others lately.
    pub(crate) impersonations: Memory,
    /// What others serve.
    pub(crate) aggregator: Aggregator,
    /// Which requests belong to which level of priority; none if that is not told.
    pub(crate) fairness: Fairness,
    /// What the server tells of itself in objects.
    pub(crate) presence: Presence,
    /// What is about to be made again.
    pub(crate) keeper: Keeper,
    /// The places for requests from the network.
    pub(crate) in_flight: InFlight,
    /// Numbers and switches.
    pub(crate) tuning: Tuning,
    /// How it behaves towards the network.
    pub(crate) network: Network,
    /// The admission plugins that run.
    pub(crate) plugins: Chain,
    /// Whether a pod needs its service account to be there.
    pub(crate) service_accounts: AtomicBool,
    /// Where the server listens first; none while it does not.
    pub(crate) address: OnceLock<SocketAddr>,
    pub(crate) kubelet: RwLock<Option<Arc<dyn Kubelet>>>,
    /// How kubelets, pods and Services are reached through the network.
    pub(crate) outward: Kubelets,
    /// Where objects are looked for that a read does not find.
    pub(crate) elsewhere: RwLock<Option<Arc<dyn ObjectsElsewhere>>>,
    /// The places that webhooks are served at, with their open connections.
    pub(crate) hooks: Hooks,
    /// The webhooks that are asked when objects are written.
    pub(crate) webhooks: Configurations,
    /// Says where Services of webhooks are reached, before the cluster is asked.
    pub(crate) service_resolver: RwLock<Option<Arc<dyn ServiceResolver>>>,
    /// Held while definitions are written, so that no two decide on names at once.
    pub(crate) definitions: Mutex<()>,
    pub(crate) allocations: Mutex<Allocations>,
    /// The events that go when their time is over.
    pub(crate) expiry: Expiry,
    /// What goes on for a while after a write was answered.
    pub(crate) background: TaskTracker,
    /// Cancelled when the server stops: watches and tasks end.
    pub(crate) shutdown: CancellationToken,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("revision", &self.store.revision()).finish_non_exhaustive()
    }
}

impl State {
    /// The present time as metadata shows it: RFC 3339 with seconds.
    pub(crate) fn now(&self) -> String {
        self.clock.now().to_string()
    }
}

/// What one request carries along.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) state: Arc<State>,
    pub(crate) user: User,
    /// The name that writes are recorded under if the options give none.
    pub(crate) user_agent: Option<String>,
    /// When the request must have been answered.
    pub(crate) deadline: Instant,
    /// Who opened the connection; none without one.
    pub(crate) peer: Option<IpAddr>,
    /// What the audit log is to say of the request; none if it says nothing.
    pub(crate) notes: Option<Arc<Notes>>,
    /// Whether what is left to do is much.
    pub(crate) load: Load,
    warnings: Mutex<Warnings>,
    given: Mutex<Option<Value>>,
    amounts: Mutex<Amounts>,
    shares_labels: AtomicBool,
}

impl Context {
    /// The context of a request by this user.
    pub(crate) fn new(state: Arc<State>, user: User, user_agent: Option<String>) -> Context {
        let deadline = Instant::now() + LONGEST_WRITE;
        Context {
            state,
            user,
            user_agent,
            deadline,
            peer: None,
            notes: None,
            warnings: Mutex::default(),
            load: Load::default(),
            given: Mutex::new(None),
            amounts: Mutex::default(),
            shares_labels: AtomicBool::new(false),
        }
    }

    /// Adds a warning to the answer. The same text is told once.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.warnings.lock().add(text.into());
    }

    /// Takes note of a document that is about to be read, if errors must show it as it was given, as reading drops empty
    /// lists, and of the amounts in it whose digits matter to warnings.
    pub(crate) fn note_given(&self, value: &Value) {
        if has_empty(value) {
            *self.given.lock() = Some(value.clone());
        }
        let amounts = Amounts::of(value);
        if !amounts.is_empty() {
            *self.amounts.lock() = amounts;
        }
    }

    /// Takes note of a job that has no labels of its own: until it is stored, those of its pods are its own, whatever they become.
    pub(crate) fn note_shared_labels(&self, shared: bool) {
        self.shares_labels.store(shared, Ordering::Relaxed);
    }

    /// Whether the labels of the job that was read are those of its pods.
    pub(crate) fn shares_labels(&self) -> bool {
        self.shares_labels.load(Ordering::Relaxed)
    }

    /// The document of [`Context::note_given`].
    pub(crate) fn given(&self) -> Option<Value> {
        self.given.lock().clone()
    }

    /// The amounts of [`Context::note_given`].
    pub(crate) fn amounts(&self) -> Amounts {
        self.amounts.lock().clone()
    }

    /// Takes the warnings that were collected.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock()).into_texts()
    }
}

fn has_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || deeper(|| items.iter().any(has_empty)),
        Value::Object(map) => map.is_empty() || deeper(|| map.values().any(has_empty)),
        _ => false,
    }
}

/// The object, or the set of objects, that a request is about.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    /// Empty: no namespace, or all of them.
    pub(crate) namespace: String,
    /// Empty: not one object.
    pub(crate) name: String,
    pub(crate) subresource: Option<String>,
}

impl Target {
    /// 404 for the object.
    pub(crate) fn not_found(&self) -> Status {
        // The one resource that upstream names in the singular here.
        let plural = match self.resource.plural.as_str() {
            "componentstatuses" if self.resource.group.is_empty() => "componentstatus",
            plural => plural,
        };
        Status::not_found(&self.resource.group, plural, &self.name)
    }

    /// The place of the object in upstream's storage, as errors of that storage name it. A rehearsal looks without the prefix
    /// of the storage.
    pub(crate) fn storage_key(&self, dry_run: bool) -> String {
        let own = self.resource.stored_under();
        let prefix = if dry_run { "" } else { "/registry" };
        let parts = [prefix.trim_start_matches('/'), &own, &self.namespace, &self.name];
        parts.into_iter().filter(|part| !part.is_empty()).flat_map(|part| ["/", part]).collect()
    }

    /// 409 of upstream's storage for an object that has another uid than it was taken to have.
    ///
    /// # Errors
    /// If it has.
    pub(crate) fn require_uid(&self, uid: &str, current: &Value, dry_run: bool) -> Result<(), Status> {
        let own = object::uid(current);
        if uid.is_empty() || uid == own {
            return Ok(());
        }
        Err(self.conflict(&format!(
            "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
             UID in precondition: {uid}, UID in object meta: {own}",
            self.storage_key(dry_run),
        )))
    }

    /// 409: the object is no longer what the caller took it for.
    pub(crate) fn modified(&self) -> Status {
        Status::modified(&self.resource.group, &self.resource.plural, &self.name)
    }

    /// 409 with a text.
    pub(crate) fn conflict(&self, why: &str) -> Status {
        Status::conflict(&self.resource.group, &self.resource.plural, &self.name, why)
    }

    /// 403 with a text.
    pub(crate) fn forbidden(&self, why: &str) -> Status {
        Status::forbidden(&self.resource.group, &self.resource.plural, &self.name, why)
    }

    /// Whether the rules of metadata are looked at twice when the object is changed: by the kind, and for all kinds. Of built-in
    /// kinds few still do it themselves.
    pub(crate) fn looks_twice(&self) -> bool {
        self.resource.custom.is_some() || self.resource.is("apiregistration.k8s.io", "apiservices")
    }

    /// 422 with what is wrong. What two rules of a built-in kind find is told once.
    pub(crate) fn invalid(&self, errors: &[pilothouse_value::field::Error]) -> Status {
        let mut errors = errors.to_vec();
        if !self.looks_twice() {
            let mut texts = HashSet::new();
            errors.retain(|error| texts.insert(error.to_string()));
        }
        // Upstream has one internal kind for both groups of events, that of the core.
        let group = if &*self.resource.group == "events.k8s.io" { "" } else { &self.resource.group };
        Status::invalid(group, &self.resource.kind, &self.name, &errors)
    }
}
