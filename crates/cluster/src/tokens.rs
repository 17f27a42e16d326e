//! Fills secrets of the type `kubernetes.io/service-account-token` with a token of the account that they name
//! (`pkg/controller/serviceaccount/tokens_controller.go`). Such a token is good until the secret or the account goes.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_apiserver::Server;
use pilothouse_value::{Value, object};

use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::{SECRETS, SERVICE_ACCOUNTS};

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Makes a token: namespace, account, uid of the account, secret. `None` if the server has no key.
type Issue = Box<dyn Fn(&str, &str, &str, &str) -> Option<String> + Send + Sync>;

struct Tokens {
    api: Api,
    ca_pem: String,
    issue: Issue,
}

impl Reconcile for Tokens {
    /// The secret.
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(secret) = self.api.of(&SECRETS).get(&key.namespace, &key.name) else { return Ok(None) };
        let Some(account) = account_of(&secret) else { return Ok(None) };
        let account = self.api.of(&SERVICE_ACCOUNTS).get(&key.namespace, account);
        self.api.act(self.plan(&secret, account.as_deref())).await
    }
}

/// The account that a secret is to have a token of.
fn account_of(secret: &Value) -> Option<&str> {
    let account = object::annotation(secret, ACCOUNT).filter(|name| !name.is_empty());
    account.filter(|_| secret.str_at(&["type"]) == Some(TYPE))
}

impl Tokens {
    fn plan(&self, secret: &Value, account: Option<&Value>) -> Plan {
        let mut plan = Plan::default();
        if object::deletion_timestamp(secret).is_some() {
            return plan;
        }
        let said = object::annotation(secret, ACCOUNT_UID).unwrap_or_default();
        let Some(account) = account.filter(|account| said.is_empty() || said == object::uid(account)) else {
            plan.delete(&SECRETS, secret, None);
            return plan;
        };
        let (namespace, uid) = (object::namespace(secret).unwrap_or_default(), object::uid(account));
        let mut filled = secret.clone();
        let has = |key: &str| secret.str_at(&["data", key]).is_some_and(|data| !data.is_empty());
        if secret.str_at(&["data", "ca.crt"]) != Some(&STANDARD.encode(&self.ca_pem)) {
            filled.set(&["data", "ca.crt"], STANDARD.encode(&self.ca_pem));
        }
        if !has("namespace") {
            filled.set(&["data", "namespace"], STANDARD.encode(namespace));
        }
        if !has("token") {
            let token = (self.issue)(namespace, object::name(account), uid, object::name(secret));
            if let Some(token) = token {
                filled.set(&["data", "token"], STANDARD.encode(token));
            }
        }
        filled.set(&["metadata", "annotations", ACCOUNT_UID], uid);
        if filled != *secret {
            plan.update(&SECRETS, filled);
        }
        plan
    }
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner, server: &Server) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let keys = queue.clone();
    api.of(&SECRETS).on_change(move |change| {
        let secret = change.new.iter().find(|secret| account_of(secret).is_some());
        secret.into_iter().for_each(|secret| keys.add(Key::of(secret)));
    });
    let (keys, secrets) = (queue.clone(), Arc::downgrade(&api.of(&SECRETS)));
    api.of(&SERVICE_ACCOUNTS).on_change(move |change| {
        let (Some(account), Some(secrets)) = (change.latest(), secrets.upgrade()) else { return };
        let all = secrets.list(object::namespace(account));
        let own = all.iter().filter(|secret| account_of(secret) == Some(object::name(account)));
        own.for_each(|secret| keys.add(Key::of(secret)));
    });
    let reads = vec![api.of(&SECRETS), api.of(&SERVICE_ACCOUNTS)];
    let issuer = server.token_issuer();
    let issue: Issue = Box::new(move |namespace, account, uid, secret| {
        let token = issuer.issue(namespace, account, uid, secret);
        token.map_err(|error| tracing::warn!(%error, namespace, secret, "making a token")).ok()
    });
    let tokens = Tokens {
        api: api.named("serviceaccount-token-controller"),
        ca_pem: server.authority_pem().to_owned(),
        issue,
    };
    runner.run("serviceaccount-token-controller", tokens, queue, reads);
}
