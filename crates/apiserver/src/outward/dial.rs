//! Opening connections to pods and nodes: through the network, or through the node in this process that runs the pod.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use super::Flow;
use super::heard::{Beginning, Heard};
use super::kubelets::Trust;
use super::location::{Upstream, Way};
use crate::kubelet::{Kubelet, KubeletError, Target};
use crate::state::State;
use crate::webhook::{connection, trust};

/// How long it may take until somebody answers at an address.
const CONNECTS: Duration = Duration::from_secs(30);
/// How long TLS may take to be set up.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Both directions of a connection.
trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection that HTTP/1.1 is spoken on.
pub(super) struct Open {
    sender: SendRequest<Flow>,
    beginning: Beginning,
    /// Both ends, as errors of reading name them.
    way: String,
}

/// Why no answer came, in the words of Go.
pub(super) enum Trouble {
    /// No connection.
    Dialling(String),
    /// The connection ended before an answer.
    CutOff(Beginning),
    /// The answer is none.
    NotHttp(Beginning),
    /// Something else went wrong with the connection.
    Broken(String),
}

/// What Go's transport says before what is wrong with the form of an answer.
const BROKEN: &str = "net/http: HTTP/1.x transport connection broken: ";

impl Trouble {
    /// As Go's HTTP transport tells it.
    pub(super) fn of_transport(self) -> String {
        match self {
            Trouble::Dialling(why) | Trouble::Broken(why) => why,
            Trouble::CutOff(beginning) => beginning.cut_off("EOF", BROKEN),
            Trouble::NotHttp(beginning) => beginning.not_http(BROKEN),
        }
    }

    /// As client-go's SPDY tells it, which dials and reads answers itself.
    pub(super) fn of_spdy(self) -> String {
        match self {
            Trouble::Dialling(why) => why,
            other => other.of_upgrade(),
        }
    }

    /// As the handler of upgrades tells it, which reads answers itself.
    pub(super) fn of_upgrade(self) -> String {
        match self {
            Trouble::Dialling(why) => format!("error dialing backend: {why}"),
            Trouble::Broken(why) => why,
            Trouble::CutOff(beginning) => beginning.cut_off("unexpected EOF", ""),
            Trouble::NotHttp(beginning) => beginning.not_http(""),
        }
    }
}

impl Open {
    /// Connects to where an upstream is. `client` says whether Go's `http.Client` is imitated, which has a word of its own for
    /// those that speak no TLS.
    ///
    /// # Errors
    /// If nobody is there, or it is not whom it should be.
    pub(super) async fn to(state: &State, upstream: &Upstream, client: bool) -> Result<Open, Trouble> {
        let (io, way) = connect(state, upstream, client).await.map_err(Trouble::Dialling)?;
        let (io, beginning) = Heard::new(io);
        let (sender, connection) =
            http1::handshake(TokioIo::new(io)).await.map_err(|error| Trouble::Broken(error.to_string()))?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "a connection to a pod or a node ended");
            }
        });
        Ok(Open { sender, beginning, way })
    }

    /// Sends a request; the answer's body comes over time.
    ///
    /// # Errors
    /// If there is no answer.
    pub(super) async fn ask(
        mut self,
        request: http::Request<Flow>,
    ) -> Result<http::Response<hyper::body::Incoming>, Trouble> {
        self.sender.send_request(request).await.map_err(|error| {
            let source = std::error::Error::source(&error);
            if let Some(io) = source.and_then(|source| source.downcast_ref::<std::io::Error>()) {
                if let Some(text) = trust::go_text(io, "", &[]) {
                    return Trouble::Broken(text);
                }
                if io.kind() != std::io::ErrorKind::UnexpectedEof {
                    return Trouble::Broken(format!(
                        "read tcp {}: read: {}",
                        self.way,
                        connection::go_text(io)
                    ));
                }
            }
            if error.is_parse() {
                return Trouble::NotHttp(self.beginning);
            }
            if error.is_user() || error.is_body_write_aborted() {
                return Trouble::Broken(error.to_string());
            }
            Trouble::CutOff(self.beginning)
        })
    }
}

/// The connection, and both its ends in words.
async fn connect(state: &State, upstream: &Upstream, client: bool) -> Result<(Box<dyn Io>, String), String> {
    let (stream, way): (Box<dyn Io>, String) = match &upstream.way {
        Way::Process { kubelet, target } => {
            (Box::new(inside(kubelet, target, upstream.port).await?), upstream.host.clone())
        }
        Way::Network { addresses } => {
            let sockets = sockets(state, upstream, addresses).await?;
            let dialled = tokio::time::timeout(CONNECTS, connection::dial(&sockets)).await;
            let Ok(dialled) = dialled else {
                return Err(format!("dial tcp {}: i/o timeout", address(upstream)));
            };
            // Errors name the place that was asked for, wherever it is.
            let (stream, socket) = dialled.map_err(|trouble| match trouble {
                connection::Trouble::Text(text) => match sockets.first() {
                    Some(first) => text.replace(&first.to_string(), &address(upstream)),
                    None => text,
                },
                other => other.told("").0,
            })?;
            let local = stream.local_addr().map(|local| local.to_string()).unwrap_or_default();
            (Box::new(stream), format!("{local}->{socket}"))
        }
    };
    let Some(trust) = upstream.secure else { return Ok((stream, way)) };
    let io = handshake(state, trust, stream, &upstream.name, client).await?;
    Ok((io, way))
}

async fn handshake(
    state: &State,
    trusts: Trust,
    stream: Box<dyn Io>,
    name: &str,
    client: bool,
) -> Result<Box<dyn Io>, String> {
    let connector = TlsConnector::from(state.outward.config(trusts)?);
    let name =
        ServerName::try_from(name.to_owned()).map_err(|_| format!("tls: invalid server name {name:?}"))?;
    let (stream, beginning) = Heard::new(stream);
    let connecting = connector.connect(name.clone(), stream);
    match tokio::time::timeout(HANDSHAKE, connecting).await {
        Err(_elapsed) => Err("net/http: TLS handshake timeout".to_owned()),
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => {
            let heard = beginning.first();
            let heard = if client { heard.as_slice() } else { &[] };
            Err(trust::go_text(&error, &name.to_str(), heard).unwrap_or_else(|| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
                _ => format!("read: {}", connection::go_text(&error)),
            }))
        }
    }
}

/// `host:port`, as errors name it.
fn address(upstream: &Upstream) -> String {
    if upstream.name.contains(':') {
        format!("[{}]:{}", upstream.name, upstream.port)
    } else {
        format!("{}:{}", upstream.name, upstream.port)
    }
}

/// The sockets that are tried.
async fn sockets(state: &State, upstream: &Upstream, known: &[IpAddr]) -> Result<Vec<SocketAddr>, String> {
    let port = u16::try_from(upstream.port)
        .map_err(|_| format!("dial tcp: address {}: invalid port", upstream.port))?;
    let addresses = if known.is_empty() { look_up(&upstream.name).await? } else { known.to_vec() };
    let sockets = addresses.into_iter().map(|ip| SocketAddr::new(ip, port));
    Ok(match state.tuning.routes {
        Some(route) => sockets.map(route).collect(),
        None => sockets.collect(),
    })
}

/// The addresses that a host has.
///
/// # Errors
/// If it has none, in the words of Go.
pub(super) async fn look_up(host: &str) -> Result<Vec<IpAddr>, String> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![ip]);
    }
    let missing = || format!("lookup {host}: no such host");
    if host.is_empty() {
        return Err(missing());
    }
    let looked_up = tokio::time::timeout(CONNECTS, tokio::net::lookup_host((host, 0))).await;
    let found = looked_up.map_err(|_| format!("lookup {host}: i/o timeout"))?.map_err(|_| missing())?;
    let found: Vec<IpAddr> = found.map(|socket| socket.ip()).collect();
    if found.is_empty() { Err(missing()) } else { Ok(found) }
}

/// A connection to a pod of the node in this process.
async fn inside(
    kubelet: &Arc<dyn Kubelet>,
    target: &Target,
    port: u32,
) -> Result<Pin<Box<dyn crate::kubelet::Connection>>, String> {
    let port = u16::try_from(port).map_err(|_| format!("dial tcp: address {port}: invalid port"))?;
    kubelet.port_forward(target.clone(), port).await.map_err(|error| match error {
        KubeletError::Internal { source, .. } => {
            format!("dial tcp {}:{port}: connect: {}", target.pod, connection::go_text(&source))
        }
        other => other.to_string(),
    })
}
