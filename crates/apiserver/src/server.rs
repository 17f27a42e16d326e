//! The server: what it is made of, and its doors.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use pilothouse_store::{Clock, Config, Store};
use pilothouse_value::{Status, Value};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::admission::webhook::Configurations;
use crate::admission::{Chain, PluginError};
use crate::aggregation::{self, Aggregation, Aggregator};
use crate::audit::{AuditLog, AuditPolicy, AuditSink};
use crate::authentication::authenticator::{Anonymous, RequestHeader, TokenWebhook};
use crate::authentication::certs::CertifiedKey;
use crate::authentication::identity::{Given, Identity, IdentityError};
use crate::authentication::impersonation::Memory;
use crate::authentication::tokens::TokenIssuer;
use crate::authentication::tokens::TokenOptions;
use crate::authentication::user::User;
use crate::authorization::rbac::Authorizer;
use crate::authorization::{Mode, NamedMode};
use crate::doors::client::Client;
use crate::doors::in_flight::{self, InFlight};
use crate::doors::listen::{self, ListenError, Listening};
use crate::doors::network::Network;
use crate::doors::service::LocalService;
use crate::fairness::Fairness;
use crate::kubelet::Kubelet;
use crate::objects::allocate::Allocations;
use crate::objects::elsewhere::ObjectsElsewhere;
use crate::objects::expiry::{self, Expiry};
use crate::outward::{KubeletClient, Kubelets};
use crate::pages::process::{Process, SetVerbosity};
use crate::pipeline::Origin;
use crate::registry::{LeftOut, Registry};
use crate::start::keeping::Keeper;
use crate::start::presence::Presence;
use crate::start::{bootstrap, components};
use crate::state::{Authorization, State};
use crate::tuning::Tuning;
use crate::webhook::{Credentials, CredentialsError, Hooks, ServiceResolver};

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An object of the server's own was refused.
    #[error("making the objects that every cluster has: {0}; hint: is the data folder from another version?")]
    Bootstrap(#[source] Status),
    /// The admission plugins.
    #[error("setting up admission: {0}")]
    Plugins(#[from] PluginError),
    /// What is shown to webhooks.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The server's own keys.
    #[error("setting up the server's keys: {0}")]
    Identity(#[from] IdentityError),
}

/// What to start a server with. [`Server::builder`] gives the defaults.
#[derive(Clone)]
pub struct Builder {
    store: Option<Store>,
    history: usize,
    clock: Clock,
    authorization: Vec<NamedMode>,
    service_accounts: bool,
    service_network: (Ipv4Addr, u32),
    keys: Option<PathBuf>,
    tokens: HashMap<String, User>,
    service_account_tokens: TokenOptions,
    serving: Option<CertifiedKey>,
    client_authorities: Option<String>,
    anonymous: Anonymous,
    request_header: Option<RequestHeader>,
    token_webhook: Option<Arc<TokenWebhook>>,
    bootstrap_tokens: bool,
    node_ports: RangeInclusive<u16>,
    audit: Option<(AuditPolicy, Vec<Arc<dyn AuditSink>>)>,
    left_out: LeftOut,
    tuning: Tuning,
    presence: Presence,
    aggregation: Aggregation,
    fair: bool,
    network: Network,
    in_flight: usize,
    enabled_plugins: Vec<String>,
    disabled_plugins: Vec<String>,
    admission: Option<String>,
    webhook_kubeconfig: Option<Value>,
    process: Process,
    kubelet_client: KubeletClient,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("authorization", &self.authorization)
            .field("service_network", &self.service_network)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Keeps objects in this store; at first one that lives as long as the process.
    #[must_use]
    pub fn store(mut self, store: Store) -> Builder {
        self.store = Some(store);
        self
    }

    /// How many writes watches can resume from, if no store is given. Default: 10,000.
    #[must_use]
    pub fn history(mut self, writes: usize) -> Builder {
        self.history = writes;
        self
    }

    /// The clock that timestamps are read from. Default: the machine's time, moving with tokio's clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Builder {
        self.clock = clock;
        self
    }

    /// Who may do what. Default: RBAC.
    #[must_use]
    pub fn authorization(self, authorization: Authorization) -> Builder {
        let mode = match authorization {
            Authorization::AlwaysAllow => Mode::AlwaysAllow,
            Authorization::Rbac => Mode::Rbac,
        };
        self.authorization_modes([mode])
    }

    /// Who may do what: these are asked in their order, until one has an opinion. Default: RBAC alone.
    #[must_use]
    pub fn authorization_modes(mut self, modes: impl IntoIterator<Item = impl Into<NamedMode>>) -> Builder {
        self.authorization = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Whether a pod is refused when its service account is not there. Default: no, as nobody may be making accounts; see
    /// [`Server::require_service_accounts`].
    #[must_use]
    pub fn require_service_accounts(mut self, require: bool) -> Builder {
        self.service_accounts = require;
        self
    }

    /// The network that Services get addresses from. Default: 10.96.0.0/12.
    #[must_use]
    pub fn service_network(mut self, network: Ipv4Addr, prefix: u32) -> Builder {
        self.service_network = (network, prefix);
        self
    }

    /// Keeps the certificate authority and the key of service account tokens in this folder, so that credentials stay good
    /// across restarts. Default: new ones with each start.
    #[must_use]
    pub fn keys(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.keys = Some(folder.into());
        self
    }

    /// Users that are known by a bearer token that does not change, by token: see
    /// [`read_token_file`](crate::authentication::authenticator::read_token_file). Default: none.
    #[must_use]
    pub fn tokens(mut self, users: HashMap<String, User>) -> Builder {
        self.tokens = users;
        self
    }

    /// The keys of service account tokens, and who issues them for whom. Default: a key of the server's own.
    #[must_use]
    pub fn service_account_tokens(mut self, options: TokenOptions) -> Builder {
        self.service_account_tokens = options;
        self
    }

    /// The certificate that the server shows on its sockets. Default: one that the server's own authority issues for the
    /// address.
    #[must_use]
    pub fn serving(mut self, certificate: CertifiedKey) -> Builder {
        self.serving = Some(certificate);
        self
    }

    /// Trusts client certificates that these authorities (PEM) have signed, and no others; empty: none at all. Default: the
    /// server's own authority.
    #[must_use]
    pub fn client_authorities(mut self, pem: impl Into<String>) -> Builder {
        self.client_authorities = Some(pem.into());
        self
    }

    /// Whether a request without credentials is one of `system:anonymous`, and not refused. Default: yes.
    #[must_use]
    pub fn anonymous(mut self, anonymous: bool) -> Builder {
        self.anonymous = if anonymous { Anonymous::Served } else { Anonymous::Refused };
        self
    }

    /// Serves requests without credentials on these paths only, and refuses them on others.
    #[must_use]
    pub fn anonymous_on(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Builder {
        self.anonymous = Anonymous::ServedOn(paths.into_iter().map(Into::into).collect());
        self
    }

    /// Believes these proxies when they say who sends a request. Default: none.
    #[must_use]
    pub fn request_header(mut self, proxies: RequestHeader) -> Builder {
        self.request_header = Some(proxies);
        self
    }

    /// Asks somebody outside about bearer tokens that the server does not know itself. Default: nobody.
    #[must_use]
    pub fn token_webhook(mut self, webhook: TokenWebhook) -> Builder {
        self.token_webhook = Some(Arc::new(webhook));
        self
    }

    /// Whether secrets of the type `bootstrap.kubernetes.io/token` in `kube-system` are tokens. Default: yes.
    #[must_use]
    pub fn bootstrap_tokens(mut self, count: bool) -> Builder {
        self.bootstrap_tokens = count;
        self
    }

    /// The ports that Services of the type NodePort get. Default: 30000 to 32767.
    #[must_use]
    pub fn node_ports(mut self, ports: RangeInclusive<u16>) -> Builder {
        self.node_ports = ports;
        self
    }

    /// Writes an audit log by this policy, and gives it to these. Default: none is written, which costs nothing.
    #[must_use]
    pub fn audit(
        mut self,
        policy: AuditPolicy,
        sinks: impl IntoIterator<Item = Arc<dyn AuditSink>>,
    ) -> Builder {
        self.audit = Some((policy, sinks.into_iter().collect()));
        self
    }

    /// Does not serve these built-in versions (`apps/v1`) and resources (`batch/v1/cronjobs`). Default: all are served.
    #[must_use]
    pub fn leave_out(mut self, what: LeftOut) -> Builder {
        self.left_out = what;
        self
    }

    /// Numbers and switches that are seldom changed.
    #[must_use]
    pub fn tuning(mut self, tuning: Tuning) -> Builder {
        self.tuning = tuning;
        self
    }

    /// What the server tells of itself in objects.
    #[must_use]
    pub fn presence(mut self, presence: Presence) -> Builder {
        self.presence = presence;
        self
    }

    /// How the servers are reached that APIServices name.
    #[must_use]
    pub fn aggregation(mut self, aggregation: Aggregation) -> Builder {
        self.aggregation = aggregation;
        self
    }

    /// Whether requests are told apart by flow schemas, and answers name the one that they match
    /// (`--enable-priority-and-fairness`). The objects are there in any case. Default: yes.
    #[must_use]
    pub fn priority_and_fairness(mut self, fair: bool) -> Builder {
        self.fair = fair;
        self
    }

    /// How the server behaves towards those who come over the network.
    #[must_use]
    pub fn network(mut self, network: Network) -> Builder {
        self.network = network;
        self
    }

    /// How many requests from the network are answered at once. More wait for up to 15 seconds and are then refused with
    /// 429. Requests that last and those of an exempt priority level, as administrators' are, do not count. Default: 600.
    #[must_use]
    pub fn max_requests_in_flight(mut self, requests: usize) -> Builder {
        self.in_flight = requests;
        self
    }

    /// Runs these admission plugins besides those that run by default. The names are kube-apiserver's; one that it does not
    /// know keeps the server from starting.
    #[must_use]
    pub fn enable_admission_plugins(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Builder {
        self.enabled_plugins.extend(names.into_iter().map(Into::into));
        self
    }

    /// Does not run these admission plugins, unless they are enabled too.
    #[must_use]
    pub fn disable_admission_plugins(
        mut self,
        names: impl IntoIterator<Item = impl Into<String>>,
    ) -> Builder {
        self.disabled_plugins.extend(names.into_iter().map(Into::into));
        self
    }

    /// What admission plugins are told: a document of the kind `AdmissionConfiguration`, in YAML or JSON. Default: nothing.
    #[must_use]
    pub fn admission_configuration(mut self, yaml: impl Into<String>) -> Builder {
        self.admission = Some(yaml.into());
        self
    }

    /// What webhooks are shown that want to know who calls: a kubeconfig, whose users have the names of hosts (`host:port`,
    /// `*.domain`, `*`). Default: nothing.
    #[must_use]
    pub fn webhook_kubeconfig(mut self, document: Value) -> Builder {
        self.webhook_kubeconfig = Some(document);
        self
    }

    /// The flags of the program that this server is part of, by their names, as `/flagz` shows them to those who may see that
    /// page. What is secret does not belong there. Default: none.
    #[must_use]
    pub fn flags(mut self, flags: BTreeMap<String, String>) -> Builder {
        self.process.flags = flags;
        self
    }

    /// Who is told when somebody puts another level of logging to `/debug/flags/v`. Default: nobody, and it is refused.
    #[must_use]
    pub fn set_verbosity(mut self, set: SetVerbosity) -> Builder {
        self.process.set_verbosity = Some(set);
        self
    }

    /// How kubelets are reached whose nodes are not in this process. Default: without a certificate, whoever they are.
    #[must_use]
    pub fn kubelet_client(mut self, client: KubeletClient) -> Builder {
        self.kubelet_client = client;
        self
    }

    /// Starts the server. It must be called inside a tokio runtime, in which the server's tasks then run.
    ///
    /// # Errors
    /// If the objects that every cluster has cannot be made.
    pub fn start(self) -> Result<Server, StartError> {
        let config = Config { history: self.history };
        let shutdown = CancellationToken::new();
        let plugins = Chain::new(&self.enabled_plugins, &self.disabled_plugins, self.admission.as_deref())?;
        let credentials =
            self.webhook_kubeconfig.as_ref().map(Credentials::read).transpose()?.unwrap_or_default();
        let store = self.store.unwrap_or_else(|| Store::memory(config));
        let given = Given {
            folder: self.keys.as_deref(),
            tokens: self.tokens,
            service_accounts: &self.service_account_tokens,
            serving: self.serving,
            client_authorities: self.client_authorities.as_deref(),
            anonymous: self.anonymous,
            request_header: self.request_header,
            token_webhook: self.token_webhook,
            bootstrap_tokens: self.bootstrap_tokens,
        };
        let identity = Identity::new(given, &store, self.clock)?;
        let has_roles = self.authorization.iter().any(|named| matches!(named.mode, Mode::Rbac));
        let authorizer = Authorizer::of_modes(self.authorization, &store);
        let state = Arc::new(State {
            store,
            identity,
            impersonations: Memory::default(),
            plugins,
            tuning: self.tuning,
            aggregator: Aggregator::new(self.aggregation),
            fairness: Fairness::new(self.fair),
            presence: self.presence,
            keeper: Keeper::default(),
            network: self.network,
            in_flight: InFlight::new(self.in_flight),
            address: OnceLock::new(),
            authorizer,
            clock: self.clock,
            started: self.clock.now(),
            process: self.process,
            registry: Registry::built_in(&self.left_out),
            audit: self.audit.map(|(policy, sinks)| AuditLog::new(policy, sinks, self.clock)),
            has_roles,
            service_accounts: AtomicBool::new(self.service_accounts),
            kubelet: RwLock::new(None),
            outward: Kubelets::new(self.kubelet_client),
            elsewhere: RwLock::new(None),
            hooks: Hooks::new(credentials),
            webhooks: Configurations::new(),
            service_resolver: RwLock::new(None),
            definitions: Mutex::new(()),
            allocations: Mutex::new(Allocations::new(
                self.service_network.0,
                self.service_network.1,
                self.node_ports,
            )),
            expiry: Expiry::default(),
            background: tokio_util::task::TaskTracker::new(),
            shutdown: shutdown.clone(),
        });
        expiry::adopt(&state);
        if state.store.revision() > 0 {
            aggregation::adopt(&state);
        }
        bootstrap::run(&state).map_err(StartError::Bootstrap)?;
        Ok(Server { state, _stop: Arc::new(shutdown.drop_guard()) })
    }
}

/// An API server in this process; cheap to clone. It stops when the last clone is dropped, or at [`stop`](Self::stop).
#[derive(Clone, Debug)]
pub struct Server {
    pub(crate) state: Arc<State>,
    _stop: Arc<DropGuard>,
}

impl Server {
    /// What to start a server with.
    pub fn builder() -> Builder {
        Builder {
            store: None,
            history: Config::default().history,
            clock: Clock::new(),
            authorization: vec![Mode::Rbac.into()],
            service_accounts: false,
            service_network: (Ipv4Addr::new(10, 96, 0, 0), 12),
            keys: None,
            tokens: HashMap::new(),
            service_account_tokens: TokenOptions::default(),
            serving: None,
            client_authorities: None,
            anonymous: Anonymous::Served,
            request_header: None,
            token_webhook: None,
            bootstrap_tokens: true,
            node_ports: 30000..=32767,
            audit: None,
            left_out: LeftOut::default(),
            tuning: Tuning::default(),
            presence: Presence::default(),
            aggregation: Aggregation::default(),
            fair: true,
            network: Network::default(),
            in_flight: in_flight::DEFAULT,
            enabled_plugins: Vec::new(),
            disabled_plugins: Vec::new(),
            admission: None,
            webhook_kubeconfig: None,
            process: Process::default(),
            kubelet_client: KubeletClient::default(),
        }
    }

    /// A client that reads and writes documents as this user.
    pub fn client(&self, user: User) -> Client {
        Client::new(self.state.clone(), user)
    }

    /// A service that answers HTTP requests as this user, without a socket.
    pub fn service(&self, user: User) -> LocalService {
        LocalService::new(self.state.clone(), Origin::Inside(user))
    }

    /// A service that answers HTTP requests as whom their headers show, as over the network but without a socket: a bearer
    /// token, or nobody.
    pub fn authenticating_service(&self) -> LocalService {
        let origin = Origin::Network { certificates: Arc::new([]), compress: true, peer: None };
        LocalService::new(self.state.clone(), origin)
    }

    /// The clock that timestamps are read from.
    pub fn clock(&self) -> Clock {
        self.state.clock
    }

    /// The store that objects are kept in.
    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// Registers who runs pods: logs, exec, attach and port-forward of the pods of its nodes are asked of it.
    pub fn set_kubelet(&self, kubelet: Arc<dyn Kubelet>) {
        *self.state.kubelet.write() = Some(kubelet);
    }

    /// Registers where objects are looked for that a read of one object does not find in the store; what is found is kept.
    pub fn set_objects_elsewhere(&self, elsewhere: Arc<dyn ObjectsElsewhere>) {
        *self.state.elsewhere.write() = Some(elsewhere);
    }

    /// Registers who says where the Services that webhook configurations name are reached. Without one, or where it does not
    /// know, the ready endpoints of the Service are asked, or else its cluster IP.
    pub fn set_service_resolver(&self, resolver: Arc<dyn ServiceResolver>) {
        *self.state.service_resolver.write() = Some(resolver);
    }

    /// From now on a pod is refused when its service account is not there. Whoever makes accounts turns it on.
    pub fn require_service_accounts(&self, require: bool) {
        self.state.service_accounts.store(require, Ordering::Relaxed);
    }

    /// Makes tokens for secrets that hold one.
    pub fn token_issuer(&self) -> TokenIssuer {
        TokenIssuer(self.state.identity.signer.clone())
    }

    /// From now on ComponentStatuses say that the controllers and the scheduler are there. Whoever runs them calls it.
    pub fn controllers_run(&self) {
        components::running(&self.state);
    }

    /// The certificate authority that clients must trust, as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.state.identity.authority.pem().certificate
    }

    /// Listens for HTTPS requests, HTTP/1.1 and HTTP/2, until the server stops. Port 0 takes a free one.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub async fn listen(&self, address: SocketAddr) -> Result<Listening, ListenError> {
        listen::listen(self.state.clone(), address).await
    }

    /// Waits until nothing goes on any more behind writes that were answered, such as conversions for those who watch.
    pub async fn settled(&self) {
        self.state.background.close();
        self.state.background.wait().await;
        self.state.background.reopen();
    }

    /// Stops the server: watches end, listeners close, tasks end.
    pub fn stop(&self) {
        self.state.shutdown.cancel();
    }

    /// Resolves when the server has been stopped.
    pub async fn stopped(&self) {
        self.state.shutdown.cancelled().await;
    }
}
