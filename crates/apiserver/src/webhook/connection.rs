//! Connections to a webhook's server: opening, asking, keeping them open for the next call.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use pilothouse_value::field;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::answer::Answer;
use super::redirect::Sent;
use super::{CallError, trust};
use crate::outward::heard::Heard;

/// Connections that wait for the next call.
const IDLE: usize = 32;
/// How long they wait.
const IDLE_FOR: Duration = Duration::from_secs(90);
/// The longest answer that is read: three times what may be in a request.
const LONGEST_ANSWER: usize = 9 * 1024 * 1024;

/// What went wrong on the way.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server closed the connection before it answered.
    Closed,
    /// There was no more time.
    Deadline,
    /// The answer could not be read to its end.
    Body(String),
    /// As Go would tell it.
    Text(String),
    /// The same, of another place than the one that was asked.
    At(String, String),
}

impl Trouble {
    /// What went wrong, without the URL that was asked for.
    pub(crate) fn text(self) -> String {
        match self {
            Trouble::Closed => "EOF".to_owned(),
            Trouble::Deadline => "context deadline exceeded".to_owned(),
            Trouble::Text(text) | Trouble::At(_, text) | Trouble::Body(text) => text,
        }
    }

    /// The error of the whole call.
    pub(crate) fn told(self, url: &str) -> CallError {
        CallError(match self {
            Trouble::Closed => format!("Post \"{url}\": EOF"),
            Trouble::Deadline => format!("Post \"{url}\": context deadline exceeded"),
            Trouble::Text(text) => format!("Post \"{url}\": {text}"),
            Trouble::At(url, text) => format!("Post {}: {text}", field::quote(&url)),
            Trouble::Body(text) => {
                format!("unexpected error when reading response body. Please retry. Original error: {text}")
            }
        })
    }
}

/// A request as it goes over the wire.
///
/// # Errors
/// If the host or the target cannot be in a request.
pub(super) fn request(
    sent: &Sent,
    authorization: Option<&HeaderValue>,
    agent: &'static str,
) -> Result<Request<Full<Bytes>>, Trouble> {
    let mut request = Request::builder().method(sent.method.clone()).uri(&sent.target);
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    if let Some(referer) = &sent.referer {
        request = request.header(header::REFERER, referer);
    }
    if sent.body.is_some() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    request
        .header(header::HOST, &sent.host)
        .header(header::USER_AGENT, agent)
        .header(header::ACCEPT, "application/json, */*")
        .body(Full::new(sent.body.clone().unwrap_or_default()))
        .map_err(|error| Trouble::Text(error.to_string()))
}

/// The open connections to one server.
pub(super) struct Pool {
    connector: TlsConnector,
    idle: Mutex<Vec<(Instant, Open)>>,
    /// One that many calls use at once.
    shared: Mutex<Option<http2::SendRequest<Full<Bytes>>>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("idle", &self.idle.lock().len()).finish_non_exhaustive()
    }
}

impl Pool {
    /// No connections yet.
    pub(super) fn new(tls: Arc<ClientConfig>) -> Pool {
        Pool { connector: TlsConnector::from(tls), idle: Mutex::new(Vec::new()), shared: Mutex::new(None) }
    }

    /// A connection that may be used.
    pub(super) fn take(&self) -> Option<Open> {
        let mut shared = self.shared.lock();
        if shared.as_ref().is_some_and(http2::SendRequest::is_closed) {
            *shared = None;
        }
        if let Some(sender) = &*shared {
            return Some(Open::Shared(sender.clone()));
        }
        drop(shared);
        let mut idle = self.idle.lock();
        let now = Instant::now();
        while let Some((since, open)) = idle.pop() {
            if now.duration_since(since) < IDLE_FOR && !open.is_closed() {
                return Some(open);
            }
        }
        None
    }

    /// Keeps a connection for the next call.
    pub(super) fn give_back(&self, open: Open) {
        if open.is_closed() {
            return;
        }
        if let Open::Shared(sender) = open {
            self.shared.lock().get_or_insert(sender);
            return;
        }
        let mut idle = self.idle.lock();
        if idle.len() < IDLE {
            idle.push((Instant::now(), open));
        }
    }

    /// Opens a connection to the first of these sockets that takes it; through TLS if there is a name that the certificate
    /// must be for.
    ///
    /// # Errors
    /// What the first socket says if none takes it; what is wrong with the certificate.
    pub(super) async fn open(
        &self,
        sockets: &[SocketAddr],
        server_name: Option<&String>,
    ) -> Result<Open, Trouble> {
        let Some(server_name) = server_name else {
            let (stream, _) = dial(sockets).await?;
            return first_version(TokioIo::new(stream)).await;
        };
        let stream = secure(&self.connector, sockets, server_name).await?;
        if stream.get_ref().1.alpn_protocol() != Some(trust::HTTP_2) {
            return first_version(TokioIo::new(stream)).await;
        }
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(told)?;
        tokio::spawn(ended(connection));
        Ok(Open::Shared(sender))
    }
}

/// Opens a connection through TLS to the first of these sockets that takes it.
///
/// # Errors
/// As [`Pool::open`].
pub(crate) async fn secure(
    connector: &TlsConnector,
    sockets: &[SocketAddr],
    server_name: &str,
) -> Result<TlsStream<Heard<TcpStream>>, Trouble> {
    let (stream, socket) = dial(sockets).await?;
    let local = stream.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let name = ServerName::try_from(server_name.to_owned())
        .map_err(|_| Trouble::Text(format!("tls: invalid server name {server_name:?}")))?;
    let (stream, beginning) = Heard::new(stream);
    connector.connect(name, stream).await.map_err(|error| {
        Trouble::Text(
            trust::go_text(&error, server_name, &beginning.first())
                .unwrap_or_else(|| io_text(&error, &format!("{local}->{socket}"))),
        )
    })
}

/// Connects to the first of these sockets that takes it.
///
/// # Errors
/// What the first of them says if none does.
pub(crate) async fn dial(sockets: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), Trouble> {
    let mut first = None;
    for socket in sockets {
        match TcpStream::connect(socket).await {
            Ok(stream) => {
                // A call is one small request: waiting for more to send would only delay it.
                let _best_effort = stream.set_nodelay(true);
                return Ok((stream, *socket));
            }
            Err(error) => {
                first.get_or_insert_with(|| format!("dial tcp {socket}: connect: {}", go_text(&error)));
            }
        }
    }
    Err(Trouble::Text(first.unwrap_or_else(|| "dial tcp: missing address".into())))
}

/// Speaks HTTP/1.1 on a connection.
async fn first_version<S>(stream: TokioIo<S>) -> Result<Open, Trouble>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(stream).await.map_err(told)?;
    tokio::spawn(ended(connection));
    Ok(Open::Single(sender))
}

fn told(error: hyper::Error) -> Trouble {
    Trouble::Text(error.to_string())
}

/// Drives a connection. It ends when its senders are dropped, or when the server closes it.
async fn ended(connection: impl Future<Output = Result<(), hyper::Error>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection to a webhook ended");
    }
}

/// An open connection.
pub(super) enum Open {
    /// For one call at a time.
    Single(http1::SendRequest<Full<Bytes>>),
    /// For many.
    Shared(http2::SendRequest<Full<Bytes>>),
}

impl Open {
    fn is_closed(&self) -> bool {
        match self {
            Open::Single(sender) => sender.is_closed(),
            Open::Shared(sender) => sender.is_closed(),
        }
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`Trouble::Closed`] if the server closed the connection instead.
    pub(super) async fn exchange(mut self, request: Request<Full<Bytes>>) -> Result<(Answer, Open), Trouble> {
        let sent = match &mut self {
            Open::Single(sender) => {
                sender.ready().await.map_err(|_| Trouble::Closed)?;
                sender.send_request(request).await
            }
            Open::Shared(sender) => {
                sender.ready().await.map_err(|_| Trouble::Closed)?;
                sender.send_request(with_authority(request)?).await
            }
        };
        let response = sent.map_err(|error| {
            let broken = std::error::Error::source(&error)
                .and_then(|source| source.downcast_ref::<std::io::Error>())
                .map(std::io::Error::kind);
            let ended = broken == Some(std::io::ErrorKind::UnexpectedEof);
            let reset = broken.is_some() && !ended;
            if ended || error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
                Trouble::Closed
            } else if reset {
                Trouble::Text("read: connection reset by peer".into())
            } else {
                Trouble::Text(format!("net/http: HTTP/1.x transport connection broken: {error}"))
            }
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await.map_err(|error| {
            Trouble::Body(if error.is::<LengthLimitError>() {
                format!("the answer is longer than {LONGEST_ANSWER} bytes")
            } else {
                "unexpected EOF".to_owned()
            })
        })?;
        let answer = Answer { status: head.status, headers: head.headers, body: body.to_bytes() };
        Ok((answer, self))
    }
}

/// A request whose host stands where HTTP/2 wants it.
fn with_authority(mut request: Request<Full<Bytes>>) -> Result<Request<Full<Bytes>>, Trouble> {
    let host = request.headers_mut().remove(header::HOST);
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    parts.authority = host.and_then(|host| host.to_str().ok()?.parse().ok());
    *request.uri_mut() = Uri::from_parts(parts).map_err(|error| Trouble::Text(error.to_string()))?;
    Ok(request)
}

/// An error of the operating system in the words that Go has for it.
pub(crate) fn go_text(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".into(),
        ErrorKind::ConnectionReset => "connection reset by peer".into(),
        ErrorKind::HostUnreachable => "no route to host".into(),
        ErrorKind::NetworkUnreachable => "network is unreachable".into(),
        ErrorKind::TimedOut => "connection timed out".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

/// What goes wrong while TLS is set up, beside certificates.
fn io_text(error: &std::io::Error, way: &str) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "EOF".into(),
        _ => format!("read tcp {way}: read: {}", go_text(error)),
    }
}
