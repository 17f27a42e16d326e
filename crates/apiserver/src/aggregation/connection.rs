//! Connections to the servers of others: HTTP/1.1 over TLS. Those that are open and idle are used again.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::{Remote, target};
use crate::outward::Flow;
use crate::state::State;
use crate::webhook::connection;

/// Idle connections that are kept for each.
const IDLE: usize = 16;
/// How long they are.
const IDLE_FOR: Duration = Duration::from_secs(90);

/// The open connections to one server.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<(Instant, SendRequest<Flow>)>>);

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Pool {
    /// A connection that nobody uses.
    fn take(&self) -> Option<SendRequest<Flow>> {
        let mut pool = self.0.lock();
        let now = Instant::now();
        pool.retain(|(since, sender)| !sender.is_closed() && now.duration_since(*since) < IDLE_FOR);
        let at = pool.iter().rposition(|(_, sender)| sender.is_ready())?;
        Some(pool.swap_remove(at).1)
    }

    /// Keeps a connection: it is used again as soon as its answer has been read.
    fn give_back(&self, sender: SendRequest<Flow>) {
        let mut pool = self.0.lock();
        if pool.len() < IDLE {
            pool.push((Instant::now(), sender));
        }
    }

    /// Closes what is idle: it led to where nobody answers.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// Sends a request whose target is a path, and gives the answer as soon as its head has come. `alone` opens a connection for it
/// that may change its protocol.
///
/// # Errors
/// Why there is no answer, in the words of Go's client.
pub(super) async fn send(
    state: &State,
    remote: &Remote,
    mut request: Request<Flow>,
    alone: bool,
) -> Result<Response<Incoming>, String> {
    while let Some(mut sender) = remote.pool.take().filter(|_| !alone) {
        match sender.try_send_request(request).await {
            Ok(response) => {
                remote.pool.give_back(sender);
                return Ok(response);
            }
            // The server had closed it before anything was sent.
            Err(mut error) => match error.take_message() {
                Some(unsent) => request = unsent,
                None => return Err(told(error.error())),
            },
        }
    }
    let mut sender = open(state, remote).await?;
    let response = sender.send_request(request).await.map_err(|error| told(&error))?;
    if !alone {
        remote.pool.give_back(sender);
    }
    Ok(response)
}

async fn open(state: &State, remote: &Remote) -> Result<SendRequest<Flow>, String> {
    let tls = remote.tls.clone()?;
    let sockets = target::place(state, remote)?.sockets().await?;
    let connector = TlsConnector::from(Arc::clone(&tls));
    let stream = connection::secure(&connector, &sockets, &remote.server_name()).await;
    // Other than of webhooks, Go does not look here at what is said in the place of TLS.
    let stream = stream.map_err(|trouble| match trouble.text().as_str() {
        "http: server gave HTTP response to HTTPS client" => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        text => text.to_owned(),
    })?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to an aggregated server ended");
        }
    });
    Ok(sender)
}

fn told(error: &hyper::Error) -> String {
    let broken = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .map(std::io::Error::kind);
    match broken {
        Some(std::io::ErrorKind::UnexpectedEof) => return "EOF".to_owned(),
        Some(_) => return "read: connection reset by peer".to_owned(),
        None => {}
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return "EOF".to_owned();
    }
    format!("net/http: HTTP/1.x transport connection broken: {error}")
}
