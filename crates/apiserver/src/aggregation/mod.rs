//! API services of others: groups and versions that an APIService says a Service of the cluster serves. Requests for them are
//! passed on to it, whether it can be reached stands in the APIService's status, and what it serves is told among all else.
//!
//! [`Aggregator`] knows those services. As long as there is none, nothing here runs and nobody waits for anything. For each one
//! there is one task, which asks again when the APIService, its Service or the Service's endpoints change, and now and then.
//!
//! Source of behaviour: k8s.io/kube-aggregator.

mod check;
mod connection;
mod discovery;
mod identity;
mod proxy;
mod published;
mod target;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, RwLock};
use pilothouse_store::{Object, ResourceKey};
use pilothouse_value::{Value, object};
use rustls::ClientConfig;
use tokio::sync::Notify;

use crate::authentication::certs::CertifiedKey;
use crate::pages::openapi::Kept;
use crate::registry::resource;
use crate::start::bootstrap::API_REGISTRATION;
use crate::state::{State, Target};
use crate::webhook::trust;

pub(crate) use discovery::Served;
pub(crate) use proxy::pass_on;
pub(crate) use published::Published;

/// The label of APIServices that the server keeps itself.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The port of a Service, if an APIService does not say.
const PORT: u16 = 443;

/// How requests reach the servers of others.
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// What this server shows to them when it names the user of a request (`--proxy-client-cert-file`, `--proxy-client-key-file`).
    /// Default: nothing.
    pub client: Option<CertifiedKey>,
    /// Whether they are reached at their endpoints, and not by the address of their Service (`--enable-aggregator-routing`).
    /// An address of the cluster is answered by its endpoints in any case, as there may be nobody else who does.
    pub endpoints: bool,
    /// Whether an answer that leads elsewhere is refused (`--aggregator-reject-forwarding-redirect`). Default: yes.
    pub reject_redirects: bool,
    /// How often somebody is asked who answers; what they serve and publish is asked for half as often. Default: 30 seconds.
    pub interval: Duration,
    /// How long an answer to a question for what is served may take. Default: 5 seconds.
    pub patience: Duration,
}

impl Default for Aggregation {
    fn default() -> Aggregation {
        let (interval, patience) = (Duration::from_secs(30), Duration::from_secs(5));
        Aggregation { client: None, endpoints: false, reject_redirects: true, interval, patience }
    }
}

/// The services that are served by others.
#[derive(Debug)]
pub(crate) struct Aggregator {
    options: Aggregation,
    key: ResourceKey,
    any: AtomicBool,
    /// By the name of the APIService: `v1.group`.
    remotes: RwLock<BTreeMap<String, Arc<Remote>>>,
    /// Groups and versions of which somebody has said that this server serves them.
    claims: RwLock<BTreeMap<String, Claim>>,
    /// When what others publish has changed last.
    published: Mutex<Option<SystemTime>>,
    /// The Swagger document of all together, and what it was made of.
    pub(crate) swagger: Mutex<Option<(String, Arc<Kept>)>>,
}

/// A group and version, and how much they are wanted before others.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) group_priority: i64,
    pub(crate) version_priority: i64,
}

impl Claim {
    fn of(api_service: &Value) -> Claim {
        let text = |key: &str| api_service.str_at(&["spec", key]).unwrap_or_default().to_owned();
        let number = |key: &str| api_service.i64_at(&["spec", key]).unwrap_or_default();
        Claim {
            group: text("group"),
            version: text("version"),
            group_priority: number("groupPriorityMinimum"),
            version_priority: number("versionPriority"),
        }
    }
}

/// A group and version that somebody else serves, as its APIService says; another one when that changes.
#[derive(Debug)]
pub(crate) struct Remote {
    name: String,
    claim: Claim,
    namespace: String,
    service: String,
    port: u16,
    /// `caBundle` and `insecureSkipTLSVerify`.
    trust: (String, bool),
    tls: Result<Arc<ClientConfig>, String>,
    pool: connection::Pool,
    /// Something has changed that may matter.
    changed: Notify,
    gone: AtomicBool,
    /// What it serves, as far as it was asked.
    served: Mutex<Served>,
    /// What it publishes, as far as it was asked; another APIService of its name takes it over.
    published: Arc<Mutex<Published>>,
}

impl Remote {
    fn of(api_service: &Value, client: Option<&CertifiedKey>) -> Option<Remote> {
        let spec = api_service.get("spec")?;
        let service = spec.get("service").filter(|service| !service.is_null())?;
        let text = |value: &Value, key: &str| value.str_at(&[key]).unwrap_or_default().to_owned();
        let bundle = text(spec, "caBundle");
        let trusting = spec.get("insecureSkipTLSVerify").and_then(Value::as_bool) == Some(true);
        let port = service.i64_at(&["port"]).and_then(|port| u16::try_from(port).ok()).unwrap_or(PORT);
        let own = client.map(trust::own_certificate).transpose();
        let tls = own.and_then(|own| {
            if trusting {
                trust::trusting_config(own.as_ref(), false)
            } else {
                trust::client_config(&bundle, own.as_ref(), false)
            }
        });
        Some(Remote {
            name: object::name(api_service).to_owned(),
            claim: Claim::of(api_service),
            namespace: text(service, "namespace"),
            service: text(service, "name"),
            port,
            trust: (bundle, trusting),
            tls: tls.map_err(|error| error.0),
            pool: connection::Pool::default(),
            changed: Notify::new(),
            gone: AtomicBool::new(false),
            served: Mutex::default(),
            published: Arc::default(),
        })
    }

    /// Whether it is reached in the same way.
    fn is_as(&self, other: &Remote) -> bool {
        let priorities = |claim: &Claim| (claim.group_priority, claim.version_priority);
        (&self.namespace, &self.service, self.port, &self.trust, priorities(&self.claim))
            == (&other.namespace, &other.service, other.port, &other.trust, priorities(&other.claim))
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// The path that its discovery is at.
    fn path(&self) -> String {
        let Claim { group, version, .. } = &self.claim;
        if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
    }

    /// The name that its certificate must be for.
    fn server_name(&self) -> String {
        format!("{}.{}.svc", self.service, self.namespace)
    }
}

impl Aggregator {
    /// No service of others yet.
    pub(crate) fn new(options: Aggregation) -> Aggregator {
        Aggregator {
            options,
            key: resource::key(API_REGISTRATION, "apiservices"),
            any: AtomicBool::new(false),
            remotes: RwLock::default(),
            claims: RwLock::default(),
            published: Mutex::default(),
            swagger: Mutex::default(),
        }
    }

    /// Whether there is no service of others.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Relaxed)
    }

    /// Who serves a path, if somebody else does.
    pub(crate) fn of_path(&self, path: &str) -> Option<Arc<Remote>> {
        if self.is_empty() {
            return None;
        }
        let mut parts = path.strip_prefix('/')?.split('/');
        let name = match parts.next()? {
            "api" => "v1.".to_owned(),
            "apis" => {
                let (group, version) = (parts.next()?, parts.next()?);
                format!("{version}.{group}")
            }
            "openapi" => return self.documented(path.strip_prefix("/openapi/v3/")?),
            _ => return None,
        };
        self.remotes.read().get(&name).cloned()
    }

    /// All of them, by name.
    fn all(&self) -> Vec<Arc<Remote>> {
        if self.is_empty() { Vec::new() } else { self.remotes.read().values().cloned().collect() }
    }

    /// Groups and versions that are told of because somebody says that this server serves them.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        if self.is_empty() { Vec::new() } else { self.claims.read().values().cloned().collect() }
    }

    fn claim(&self, name: &str, claim: Option<Claim>) {
        let mut claims = self.claims.write();
        match claim {
            Some(claim) => claims.insert(name.to_owned(), claim),
            None => claims.remove(name),
        };
        self.any.store(!claims.is_empty() || !self.remotes.read().is_empty(), Ordering::Relaxed);
    }

    fn set(&self, name: &str, remote: Option<Arc<Remote>>) {
        let claims = self.claims.read();
        let mut remotes = self.remotes.write();
        let before = match remote {
            Some(remote) => remotes.insert(name.to_owned(), remote),
            None => remotes.remove(name),
        };
        self.any.store(!claims.is_empty() || !remotes.is_empty(), Ordering::Relaxed);
        drop((claims, remotes));
        if let Some(before) = before {
            before.gone.store(true, Ordering::Relaxed);
            before.changed.notify_one();
            // Clients that keep the index ask whether there is another.
            if self.published().is_some() {
                *self.published.lock() = Some(SystemTime::now());
            }
        }
    }
}

/// Takes note of the services of others that a store brings along.
pub(crate) fn adopt(state: &Arc<State>) {
    for entry in state.store.snapshot().list(&state.aggregator.key, None, None) {
        know(state, &entry.object);
    }
}

/// Takes note of an object that was written, if it says something of services of others.
pub(crate) fn written(state: &Arc<State>, target: &Target, stored: &Arc<Object>) {
    if !target.resource.is_built_in() {
        return;
    }
    if target.resource.is(API_REGISTRATION, "apiservices") {
        know(state, stored);
    } else if !state.aggregator.is_empty() {
        touched(state, target, stored.value());
    }
}

/// Takes note of an object that is gone.
pub(crate) fn removed(state: &Arc<State>, target: &Target, last: &Value) {
    if state.aggregator.is_empty() || !target.resource.is_built_in() {
        return;
    }
    if target.resource.is(API_REGISTRATION, "apiservices") {
        state.aggregator.set(&target.name, None);
        state.aggregator.claim(&target.name, None);
    } else {
        touched(state, target, last);
    }
}

/// What keeps the service of an APIService from being reached, as its condition, if that is known without asking it.
pub(crate) fn obstacle(state: &State, api_service: &Value) -> Option<Value> {
    let remote = state.aggregator.remotes.read().get(object::name(api_service)).cloned()?;
    let (reason, message) = target::obstacle(state, &remote)?;
    Some(check::condition(state, false, reason, &message))
}

fn know(state: &Arc<State>, stored: &Arc<Object>) {
    let value = stored.value();
    let name = object::name(value);
    let Some(mut remote) = Remote::of(value, state.aggregator.options.client.as_ref()) else {
        if !state.aggregator.is_empty() {
            state.aggregator.set(name, None);
        }
        // Those of what is served are kept by the server itself.
        if object::label(value, AUTOMANAGED).is_none() {
            state.aggregator.claim(name, Some(Claim::of(value)));
        }
        return;
    };
    if !state.aggregator.is_empty() {
        state.aggregator.claim(name, None);
    }
    let known = state.aggregator.remotes.read().get(name).cloned();
    if let Some(known) = known {
        if known.is_as(&remote) {
            return;
        }
        remote.published = known.published.clone();
        remote.published.lock().forget_when();
    }
    let remote = Arc::new(remote);
    state.aggregator.set(name, Some(remote.clone()));
    tokio::spawn(check::look_after(Arc::downgrade(state), remote, state.shutdown.clone()));
}

/// A Service or its endpoints have changed: who is served by it is looked at anew.
fn touched(state: &State, target: &Target, value: &Value) {
    let service = if target.resource.is("", "services") {
        target.name.as_str()
    } else if target.resource.is("discovery.k8s.io", "endpointslices") {
        object::label(value, "kubernetes.io/service-name").unwrap_or_default()
    } else {
        return;
    };
    for remote in state.aggregator.remotes.read().values() {
        if remote.service == service && remote.namespace == target.namespace {
            remote.changed.notify_one();
        }
    }
}
