//! Numbers and switches of a server that kube-apiserver has flags for, and that nearly everybody leaves as they are.

use std::net::SocketAddr;
use std::time::Duration;

use pilothouse_schema::builtin::Policy;

/// See the module. The defaults are kube-apiserver's.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// How long a request may take that follows nothing. Default: one minute.
    pub request_timeout: Duration,
    /// How long a watch lasts at least that sets no bound itself, and at most twice. Default: half an hour.
    pub shortest_watch: Duration,
    /// How long an event is kept after it was written last. Default: one hour.
    pub event_lifetime: Duration,
    /// Seconds that a pod stays on a node that is not ready, if it says nothing. Default: 300.
    pub not_ready_seconds: i64,
    /// Seconds that a pod stays on a node that is not reached, if it says nothing. Default: 300.
    pub unreachable_seconds: i64,
    /// The most seconds that a token is issued for; `None` for no other bound than that of requests.
    pub longest_token_seconds: Option<i64>,
    /// Whether a token for a pod that is asked for as the admission plugin ServiceAccount asks for one is good for longer: clients
    /// of old never read theirs again. Default: yes.
    pub extended_tokens: bool,
    /// What pods may do. Default: everything.
    pub pods: Policy,
    /// Whether a caller may be allowed to impersonate for some requests only (`ConstrainedImpersonation`). Default: yes.
    pub constrained_impersonation: bool,
    /// Whether a node may ask for certificates of others (`AllowInsecureKubeletCertificateSigningRequests`). Default: no.
    pub any_kubelet_certificate: bool,
    /// Whether a node asks only for tokens with audiences of its pods (`ServiceAccountNodeAudienceRestriction`). Default: yes.
    pub node_audiences: bool,
    /// Where connections to pods, Services and nodes are really made to, if not to where they lead: for tests, which have
    /// nobody at such addresses. Who may be asked is decided before. Default: where they lead.
    pub routes: Option<fn(SocketAddr) -> SocketAddr>,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            request_timeout: Duration::from_secs(60),
            shortest_watch: Duration::from_secs(1800),
            event_lifetime: Duration::from_secs(3600),
            not_ready_seconds: 300,
            unreachable_seconds: 300,
            longest_token_seconds: None,
            extended_tokens: true,
            pods: Policy::default(),
            constrained_impersonation: true,
            any_kubelet_certificate: false,
            node_audiences: true,
            routes: None,
        }
    }
}
