//! The door for everyone else: HTTPS on a socket, HTTP/1.1 and HTTP/2.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::authentication::certs::{self, CertError, CertifiedKey};
use crate::authentication::user::User;
use crate::doors::unread;
use crate::pipeline::{self, Origin};
use crate::request;
use crate::start::presence;
use crate::state::State;

/// Most connections at once; more wait to be accepted.
const CONNECTIONS: usize = 4096;
/// How long a handshake, or the head of a request, may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long a connection may stay open on which nothing is asked for, once something was: kube-apiserver's limit.
const QUIET: Duration = Duration::from_secs(90);
/// How many bytes the head of a request may have. Upstream takes a third more; what is kept of the headers of HTTP/2 has room for
/// that many lines only if none is shorter than they are.
const HEADERS: usize = 768 * 1024;
/// How many lines of headers a request of HTTP/1.1 may have: one who is impersonated has one for each group.
const LINES: usize = 1000;
/// How long requests that are under way get to end when the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// Why the server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be had.
    #[error("listening on {address}: {source}; hint: is another process using the port?")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The server's certificate cannot be made.
    #[error(transparent)]
    Certificate(#[from] CertError),
}

/// A socket that the server listens on. It is closed when the server stops.
#[derive(Clone, Debug)]
pub struct Listening {
    address: SocketAddr,
    state: Arc<State>,
    closed: CancellationToken,
}

impl Listening {
    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Resolves when the server has stopped and the requests that were under way have ended, within two seconds of the
    /// stop.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// The URL that clients use.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate authority that clients must trust, as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.state.identity.authority.pem().certificate
    }

    /// A kubeconfig of the administrator.
    ///
    /// # Errors
    /// If no certificate can be made for the user.
    pub fn kubeconfig(&self) -> Result<String, CertError> {
        self.kubeconfig_for(&User::admin())
    }

    /// A kubeconfig of a user, who is recognized by a client certificate.
    ///
    /// # Errors
    /// If no certificate can be made for the user.
    pub fn kubeconfig_for(&self, user: &User) -> Result<String, CertError> {
        let client = self.state.identity.authority.issue_client(user)?;
        Ok(certs::kubeconfig(&self.url(), self.authority_pem(), &client))
    }
}

/// Listens until the server stops.
///
/// # Errors
/// If the address cannot be had.
pub(crate) async fn listen(state: Arc<State>, address: SocketAddr) -> Result<Listening, ListenError> {
    let fail = |source| ListenError::Bind { address, source };
    let listener = TcpListener::bind(address).await.map_err(fail)?;
    let bound = listener.local_addr().map_err(fail)?;
    let identity = match &state.identity.serving {
        Some(given) => given.clone(),
        None => issue(&state, bound)?,
    };
    let acceptor = TlsAcceptor::from(Arc::new(certs::server_config(&identity, &state.network)?));
    // A server that listens a second time is still known by where it did first.
    let _first = state.address.set(bound);
    if let Err(status) = presence::listening(&state, bound) {
        tracing::warn!(message = status.message, "the Service of the server itself was not made");
    }
    let closed = CancellationToken::new();
    let guard = closed.clone().drop_guard();
    let task = accept(state.clone(), listener, acceptor);
    tokio::spawn(async move {
        task.await;
        drop(guard);
    });
    Ok(Listening { address: bound, state, closed })
}

/// A certificate of the server's own authority for all names of this address.
fn issue(state: &State, bound: SocketAddr) -> Result<CertifiedKey, CertError> {
    let first = state.allocations.lock().first();
    let names = [
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
        bound.ip().to_string(),
        first.to_string(),
        "kubernetes".to_owned(),
        "kubernetes.default".to_owned(),
        "kubernetes.default.svc".to_owned(),
        "kubernetes.default.svc.cluster.local".to_owned(),
    ];
    state.identity.authority.issue_server(&names)
}

async fn accept(state: Arc<State>, listener: TcpListener, acceptor: TlsAcceptor) {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let shutdown = state.shutdown.clone();
    loop {
        let slot = tokio::select! {
            () = shutdown.cancelled() => break,
            // The semaphore is never closed.
            slot = slots.clone().acquire_owned() => match slot { Ok(slot) => slot, Err(_) => break },
        };
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let task = connection(state.clone(), stream, acceptor.clone(), graceful.watcher(), slot);
                let shutdown = shutdown.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        () = task => {}
                        () = overdue(shutdown) => {}
                    }
                });
            }
            Err(error) => {
                // Out of file descriptors, most likely: what is open must close first.
                tracing::warn!(%error, "accepting a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    // Connections that do not end by themselves are cut by their own tasks.
    let _late = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

async fn overdue(shutdown: CancellationToken) {
    shutdown.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

async fn connection(
    state: Arc<State>,
    stream: TcpStream,
    acceptor: TlsAcceptor,
    watcher: Watcher,
    _slot: OwnedSemaphorePermit,
) {
    // Within a machine bytes are cheaper than the time to compress them.
    let peer = stream.peer_addr().ok().map(|peer| peer.ip());
    let compress = peer.is_some_and(|peer| !peer.is_loopback());
    // Small answers must not wait for more to send.
    let _slow_is_fine = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, "TLS handshake");
            return;
        }
        Err(_) => return,
    };
    let certificates: Arc<[CertificateDer<'static>]> = stream
        .get_ref()
        .1
        .peer_certificates()
        .unwrap_or_default()
        .iter()
        .map(|own| own.clone().into_owned())
        .collect();
    let origin = Origin::Network { certificates, compress, peer };
    let streams = state.network.http2_streams;
    let idle = Arc::new(Idle::new());
    let requests = idle.clone();
    let service = hyper::service::service_fn(move |request| {
        let log = Logged::of(&request);
        let busy = Idle::busy(&requests);
        let (request, rest) = unread::lend(request);
        let answer = pipeline::handle(state.clone(), origin.clone(), request);
        async move {
            let mut answer = answer.await.map(|body| body.keeping(busy));
            if let Some(rest) = rest
                && !rest.take_in().await
            {
                answer.headers_mut().insert(http::header::CONNECTION, HeaderValue::from_static("close"));
            }
            if let Some(log) = log {
                log.write(answer.status());
            }
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    http1.max_buf_size(HEADERS).max_headers(LINES);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).max_concurrent_streams(streams).max_header_list_size(HEADERS as u32);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let connection = watcher.watch(connection.into_owned());
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            tracing::debug!(error, "a connection ended early");
        },
        () = idle.over() => tracing::debug!("a connection asked for nothing any more"),
    }
}

/// What is logged of a request, at the level of debugging: as upstream's HTTP log, and like it without bodies and headers,
/// which may hold secrets.
struct Logged {
    line: String,
    since: Instant,
}

impl Logged {
    /// `None` if nobody wants to know.
    fn of<B>(request: &http::Request<B>) -> Option<Logged> {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return None;
        }
        let agent = request.headers().get(http::header::USER_AGENT);
        let agent = agent.and_then(request::header_text).unwrap_or_default();
        let line = format!("{} {} {agent:?}", request.method(), request.uri());
        Some(Logged { line, since: Instant::now() })
    }

    fn write(self, status: http::StatusCode) {
        let milliseconds = self.since.elapsed().as_secs_f64() * 1e3;
        tracing::debug!("{} {} {milliseconds:.2} ms", self.line, status.as_u16());
    }
}

/// Finds out that nothing is asked for on a connection. Each connection takes a place, and a descriptor, that others may want.
struct Idle(Mutex<Quiet>);

struct Quiet {
    /// How many requests are being answered.
    busy: usize,
    /// Since when there is none.
    since: tokio::time::Instant,
    patience: Duration,
}

/// As long as it is kept, something is being answered.
struct Busy(Arc<Idle>);

impl Idle {
    fn new() -> Idle {
        Idle(Mutex::new(Quiet { busy: 0, since: tokio::time::Instant::now(), patience: PATIENCE }))
    }

    fn busy(self: &Arc<Idle>) -> Busy {
        self.0.lock().busy += 1;
        Busy(self.clone())
    }

    /// Resolves when nothing was asked for long enough.
    async fn over(&self) {
        loop {
            let due = {
                let quiet = self.0.lock();
                let now = tokio::time::Instant::now();
                let since = if quiet.busy > 0 { now } else { quiet.since };
                let due = since + quiet.patience;
                if due <= now {
                    return;
                }
                due
            };
            tokio::time::sleep_until(due).await;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut quiet = self.0.0.lock();
        quiet.busy = quiet.busy.saturating_sub(1);
        (quiet.since, quiet.patience) = (tokio::time::Instant::now(), QUIET);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_on_which_nothing_is_asked_for_is_closed_after_a_while() {
        let idle = Arc::new(Idle::new());
        let start = tokio::time::Instant::now();
        idle.over().await;
        assert_eq!(start.elapsed(), PATIENCE, "nothing was asked for at all");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_lives_as_long_as_something_is_being_answered() {
        let idle = Arc::new(Idle::new());
        let (one, other) = (idle.busy(), idle.busy());
        let start = tokio::time::Instant::now();
        drop(one);
        tokio::time::timeout(Duration::from_secs(3600), idle.over()).await.unwrap_err();
        drop(other);
        let end = tokio::time::Instant::now();
        idle.over().await;
        assert!(start.elapsed() >= Duration::from_secs(3600) + QUIET);
        assert_eq!(end.elapsed(), QUIET);
    }
}
