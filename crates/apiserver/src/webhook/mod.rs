//! Calls to webhooks: HTTPS `POST`s of a JSON document to where a `clientConfig` says, for admission and for conversion.
//!
//! [`Hook`] is one such place; [`Hooks`] keeps them, with their open connections, for as long as configurations name them.
//! What goes wrong is told in the words of Go's HTTP client and of client-go, which is what users of Kubernetes look for.

mod answer;
pub(crate) mod connection;
mod credentials;
mod kept;
mod media;
mod redirect;
mod remote;
pub(crate) mod resolve;
pub(crate) mod trust;
pub(crate) mod typed;
pub(crate) mod url;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use pilothouse_value::Value;
use tokio::time::Instant;

use crate::state::State;

use redirect::Sent;

pub(crate) use credentials::Credentials;
pub use credentials::CredentialsError;
pub(crate) use kept::Kept;
pub(crate) use remote::Remote;
pub use resolve::ServiceResolver;

/// Places that are kept; as many as upstream keeps clients.
const KEPT: usize = 200;
/// Who calls webhooks that configurations and definitions name.
const ADMISSION: &str = "kube-apiserver-admission";
/// Who calls the servers of kubeconfigs: Go's client, which nobody has told its name.
const NAMELESS: &str = "Go-http-client/1.1";
/// How often a server that asks to be asked again is.
const RETRIES: usize = 10;
/// The longest that a server may ask to wait before it is asked again.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Why a webhook gave no answer, as the client of the request is told.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub(crate) struct CallError(pub(crate) String);

/// A place that webhooks are served at.
#[derive(Debug)]
pub(crate) struct Hook {
    address: url::Address,
    pool: connection::Pool,
    credential: credentials::Credential,
    /// The program that calls, as it says.
    agent: &'static str,
}

/// The places that configurations name, by what they say of them.
#[derive(Debug)]
pub(crate) struct Hooks {
    known: Mutex<HashMap<String, Arc<Hook>>>,
    credentials: Credentials,
}

impl Hooks {
    /// No places yet, and what is shown to those that want to know who calls.
    pub(crate) fn new(credentials: Credentials) -> Hooks {
        Hooks { known: Mutex::default(), credentials }
    }

    /// The place that a `clientConfig` names.
    ///
    /// # Errors
    /// If it names none, or its CA bundle holds no certificate.
    pub(crate) fn get(&self, client_config: &Value) -> Result<Arc<Hook>, CallError> {
        let key = client_config.to_json();
        if let Some(hook) = self.known.lock().get(&key) {
            return Ok(hook.clone());
        }
        let address = url::Address::of(client_config)?;
        let credential = self.credentials.of(&address.server_name, address.port);
        let bundle = client_config.str_at(&["caBundle"]).unwrap_or_default();
        let tls = trust::client_config(bundle, credential.certificate.as_deref(), address.is_local())?;
        let hook = Arc::new(Hook { address, pool: connection::Pool::new(tls), credential, agent: ADMISSION });
        let mut known = self.known.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, hook.clone());
        Ok(hook)
    }
}

impl Hook {
    /// Sends a JSON document and returns the body of the answer. The server is told of the timeout; it is waited for the
    /// slack beyond it.
    ///
    /// # Errors
    /// If there is no answer in time, or one that is not 2xx.
    pub(crate) async fn call(
        &self,
        state: &State,
        body: Bytes,
        timeout: Duration,
        slack: Duration,
    ) -> Result<Bytes, CallError> {
        let deadline = Instant::now() + timeout + slack;
        // The server is told how long it has, in whole seconds.
        let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        let target = format!("{}?timeout={}", self.address.path, go_seconds(seconds));
        let mut retries = 0;
        loop {
            let mut sent = Sent::first(&self.address.host, target.clone(), body.clone());
            let answer = match tokio::time::timeout_at(deadline, self.follow(Some(state), &mut sent)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => return Err(error.told(&sent.url())),
                Err(_elapsed) => return Err(connection::Trouble::Deadline.told(&sent.url())),
            };
            match answer.retry_after().filter(|wait| *wait <= LONGEST_WAIT) {
                Some(wait) if retries < RETRIES && Instant::now() + wait < deadline => {
                    retries += 1;
                    tokio::time::sleep(wait).await;
                }
                _ => return answer.into_body(),
            }
        }
    }

    /// Sends a request, and goes where the server sends it on to. `sent` is the last request in the end.
    async fn follow(
        &self,
        state: Option<&State>,
        sent: &mut Sent,
    ) -> Result<answer::Answer, connection::Trouble> {
        loop {
            let answer = match sent.elsewhere(&self.address)? {
                None => self.send(state, sent).await?,
                Some(address) => self.send_elsewhere(state, sent, &address).await?,
            };
            match sent.next(&answer)? {
                Some(next) => *sent = next,
                None => return Ok(answer),
            }
        }
    }

    async fn send(&self, state: Option<&State>, sent: &Sent) -> Result<answer::Answer, connection::Trouble> {
        let request = || connection::request(sent, self.credential.header.as_ref(), self.agent);
        // A server closes connections that nobody used for a while; that is no failure of the call.
        while let Some(open) = self.pool.take() {
            match open.exchange(request()?).await {
                Ok((answer, open)) => {
                    self.pool.give_back(open);
                    return Ok(answer);
                }
                Err(connection::Trouble::Closed) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        let endpoints = resolve::endpoints(state, &self.address).await?;
        let open = self.pool.open(&endpoints, Some(&self.address.server_name)).await?;
        let (answer, open) = open.exchange(request()?).await?;
        self.pool.give_back(open);
        Ok(answer)
    }

    /// Sends a request that was sent on to another server; the connection is not kept.
    async fn send_elsewhere(
        &self,
        state: Option<&State>,
        sent: &Sent,
        address: &url::Address,
    ) -> Result<answer::Answer, connection::Trouble> {
        // Who calls is told to nobody but those of the same name.
        let is_same = address.server_name == self.address.server_name;
        let request =
            connection::request(sent, self.credential.header.as_ref().filter(|_| is_same), self.agent)?;
        let endpoints = resolve::endpoints(state, address).await?;
        // A certificate must be for the Service, wherever its server sends the call on to.
        let expected =
            if self.address.service.is_some() { &self.address.server_name } else { &address.server_name };
        let open = self.pool.open(&endpoints, sent.secure.then_some(expected)).await?;
        let (answer, _closed) = open.exchange(request).await?;
        Ok(answer)
    }
}

/// Whole seconds as Go prints a duration: `10s`, `1m30s`.
fn go_seconds(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_are_printed_as_go_does() {
        assert_eq!(super::go_seconds(10), "10s");
        assert_eq!(super::go_seconds(60), "1m0s");
    }
}
