//! Connections to a webhook's server: opening, asking, keeping them open for the next call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::answer::Answer;
use super::{CallError, trust};

/// Connections that wait for the next call.
const IDLE: usize = 32;
/// How long they wait.
const IDLE_FOR: Duration = Duration::from_secs(90);
/// The longest answer that is read: three times what may be in a request.
const LONGEST_ANSWER: usize = 9 * 1024 * 1024;

/// What went wrong on the way.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server closed the connection before it answered.
    Closed,
    /// There was no more time.
    Deadline,
    /// The answer could not be read to its end.
    Body(String),
    /// As Go would tell it.
    Text(String),
}

impl Trouble {
    /// The error of the whole call.
    pub(super) fn told(self, url: &str) -> CallError {
        CallError(match self {
            Trouble::Closed => format!("Post \"{url}\": EOF"),
            Trouble::Deadline => format!("Post \"{url}\": context deadline exceeded"),
            Trouble::Text(text) => format!("Post \"{url}\": {text}"),
            Trouble::Body(text) => {
                format!("unexpected error when reading response body. Please retry. Original error: {text}")
            }
        })
    }
}

/// A request that sends this body.
///
/// # Errors
/// If the host or the target cannot be in a request.
pub(super) fn request(
    host: &str,
    target: &str,
    authorization: Option<&HeaderValue>,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, Trouble> {
    let mut request = Request::post(target);
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    request
        .header(header::HOST, host)
        .header(header::USER_AGENT, "kube-apiserver-admission")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(body))
        .map_err(|error| Trouble::Text(error.to_string()))
}

/// The idle connections to one server.
pub(super) struct Pool {
    connector: TlsConnector,
    idle: Mutex<Vec<(Instant, Open)>>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("idle", &self.idle.lock().len()).finish_non_exhaustive()
    }
}

impl Pool {
    /// No connections yet.
    pub(super) fn new(tls: Arc<ClientConfig>) -> Pool {
        Pool { connector: TlsConnector::from(tls), idle: Mutex::new(Vec::new()) }
    }

    /// A connection that nobody uses.
    pub(super) fn take(&self) -> Option<Open> {
        let mut idle = self.idle.lock();
        let now = Instant::now();
        while let Some((since, open)) = idle.pop() {
            if now.duration_since(since) < IDLE_FOR && !open.sender.is_closed() {
                return Some(open);
            }
        }
        None
    }

    /// Keeps a connection for the next call.
    pub(super) fn give_back(&self, open: Open) {
        let mut idle = self.idle.lock();
        if idle.len() < IDLE && !open.sender.is_closed() {
            idle.push((Instant::now(), open));
        }
    }

    /// Opens a connection to the first of these sockets that takes it.
    ///
    /// # Errors
    /// What the first socket says if none takes it; what is wrong with the certificate.
    pub(super) async fn open(&self, sockets: &[SocketAddr], server_name: &str) -> Result<Open, Trouble> {
        let mut first = None;
        let mut dialled = None;
        for socket in sockets {
            match TcpStream::connect(socket).await {
                Ok(stream) => {
                    dialled = Some((stream, *socket));
                    break;
                }
                Err(error) => {
                    first.get_or_insert_with(|| format!("dial tcp {socket}: connect: {}", go_text(&error)));
                }
            }
        }
        let Some((stream, socket)) = dialled else {
            return Err(Trouble::Text(first.unwrap_or_else(|| "dial tcp: missing address".into())));
        };
        // A call is one small request: waiting for more to send would only delay it.
        let _best_effort = stream.set_nodelay(true);
        let local = stream.local_addr().map(|address| address.to_string()).unwrap_or_default();
        let name = ServerName::try_from(server_name.to_owned())
            .map_err(|_| Trouble::Text(format!("tls: invalid server name {server_name:?}")))?;
        let stream = self.connector.connect(name, stream).await.map_err(|error| {
            Trouble::Text(
                trust::go_text(&error, server_name)
                    .unwrap_or_else(|| io_text(&error, &format!("{local}->{socket}"))),
            )
        })?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Trouble::Text(error.to_string()))?;
        // It ends when the sender is dropped, or when the server closes it.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to a webhook ended");
            }
        });
        Ok(Open { sender })
    }
}

/// An open connection.
pub(super) struct Open {
    sender: SendRequest<Full<Bytes>>,
}

impl Open {
    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`Trouble::Closed`] if the server closed the connection instead.
    pub(super) async fn exchange(mut self, request: Request<Full<Bytes>>) -> Result<(Answer, Open), Trouble> {
        self.sender.ready().await.map_err(|_| Trouble::Closed)?;
        let response = self.sender.send_request(request).await.map_err(|error| {
            let reset = std::error::Error::source(&error)
                .and_then(|source| source.downcast_ref::<std::io::Error>())
                .is_some_and(|error| error.kind() != std::io::ErrorKind::UnexpectedEof);
            if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
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

/// An error of the operating system in the words that Go has for it.
fn go_text(error: &std::io::Error) -> String {
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
