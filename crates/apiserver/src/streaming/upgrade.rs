//! The handshake: which framing and which protocol, and the head of the answer.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures::{SinkExt as _, Stream, StreamExt as _};
use http::header::{
    CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    UPGRADE,
};
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use pilothouse_value::Status;
use tokio::io::DuplexStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::{spdy, websocket};
use crate::kubelet::{Kubelet, Session, Streams, Target};

const STREAM_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const SPDY: &str = "SPDY/3.1";
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
const PORT_FORWARD: &str = "portforward.k8s.io";

/// The largest WebSocket message that is taken, in bytes. Clients send at most 32 KiB at once.
const MAX_MESSAGE: usize = 1 << 20;

/// Whether a request asks to leave HTTP on its connection.
pub fn wants_upgrade(headers: &HeaderMap) -> bool {
    has_token(headers, &CONNECTION, "upgrade") && headers.contains_key(UPGRADE)
}

/// An upgrade that was understood, and not answered yet.
pub(super) struct Upgrade {
    on_upgrade: OnUpgrade,
    protocol: Protocol,
    head: Response<()>,
}

enum Protocol {
    WebSocket(websocket::Dialect),
    Spdy(spdy::Dialect),
    /// SPDY frames inside the messages of a WebSocket.
    Tunnel,
}

impl Upgrade {
    /// For exec and attach.
    pub(super) fn for_session<B>(request: &mut Request<B>) -> Result<Self, Status> {
        match framing(request.headers())? {
            Framing::WebSocket { accept } => {
                let offered = tokens(request.headers(), &SEC_WEBSOCKET_PROTOCOL);
                // A client that offers nothing speaks the oldest dialect, and expects no protocol in the answer.
                let (name, dialect) = if offered.is_empty() {
                    (None, websocket::Dialect::OLDEST)
                } else {
                    let known =
                        |name: &String| websocket::Dialect::named(name).map(|d| (Some(name.clone()), d));
                    offered.iter().find_map(known).ok_or_else(|| no_protocol(&offered, websocket::NAMES))?
                };
                let head = websocket_head(&accept, name.as_deref())?;
                Ok(Self::new(request, Protocol::WebSocket(dialect), head))
            }
            Framing::Spdy => {
                let offered = tokens(request.headers(), &STREAM_PROTOCOL_VERSION);
                let (name, dialect) = spdy::Dialect::choose(&offered)
                    .ok_or_else(|| no_protocol(&offered, spdy::Dialect::NAMES))?;
                Ok(Self::new(request, Protocol::Spdy(dialect), spdy_head(name)?))
            }
        }
    }

    /// For port-forward.
    pub(super) fn for_port_forward<B>(request: &mut Request<B>) -> Result<Self, Status> {
        match framing(request.headers())? {
            Framing::WebSocket { accept } => {
                let offered = tokens(request.headers(), &SEC_WEBSOCKET_PROTOCOL);
                if !offered.iter().any(|name| name == TUNNEL) {
                    return Err(no_protocol(&offered, &[TUNNEL]));
                }
                let head = websocket_head(&accept, Some(TUNNEL))?;
                Ok(Self::new(request, Protocol::Tunnel, head))
            }
            Framing::Spdy => {
                let offered = tokens(request.headers(), &STREAM_PROTOCOL_VERSION);
                if !offered.is_empty() && !offered.iter().any(|name| name == PORT_FORWARD) {
                    return Err(no_protocol(&offered, &[PORT_FORWARD]));
                }
                let dialect = spdy::Dialect::for_port_forward();
                Ok(Self::new(request, Protocol::Spdy(dialect), spdy_head(Some(PORT_FORWARD))?))
            }
        }
    }

    fn new<B>(request: &mut Request<B>, protocol: Protocol, head: Response<()>) -> Self {
        Self { on_upgrade: hyper::upgrade::on(request), protocol, head }
    }

    /// Answers with the switch of protocols, and speaks for the session once the connection is ours.
    pub(super) fn serve_session(self, session: Session, streams: Streams) -> Response<()> {
        let Self { on_upgrade, protocol, head } = self;
        upgraded(on_upgrade, move |io| async move {
            match protocol {
                Protocol::WebSocket(dialect) => {
                    websocket::serve(websocket(io).await, dialect, session, streams).await;
                }
                Protocol::Spdy(dialect) => spdy::serve_session(io, dialect, session, streams).await,
                // `for_session` never chooses it.
                Protocol::Tunnel => {}
            }
        });
        head
    }

    pub(super) fn serve_port_forward(self, kubelet: Arc<dyn Kubelet>, target: Target) -> Response<()> {
        let Self { on_upgrade, protocol, head } = self;
        upgraded(on_upgrade, move |io| async move {
            match protocol {
                Protocol::Tunnel => {
                    let io = websocket::tunnel(websocket(io).await);
                    spdy::serve_port_forward(io, kubelet, target).await;
                }
                _ => spdy::serve_port_forward(io, kubelet, target).await,
            }
        });
        head
    }
}

/// SPDY that a client tunnels through a WebSocket for a port-forward; it has not begun.
pub(crate) struct Tunnel {
    on_upgrade: OnUpgrade,
    head: Response<()>,
}

impl Tunnel {
    /// What is spoken inside.
    pub(crate) const INSIDE: &str = PORT_FORWARD;

    /// `None` for a request that does not ask for one.
    ///
    /// # Errors
    /// 400 for a handshake without a key.
    pub(crate) fn of<B>(request: &mut Request<B>) -> Result<Option<Self>, Status> {
        let headers = request.headers();
        let is_socket =
            has_token(headers, &CONNECTION, "upgrade") && has_token(headers, &UPGRADE, "websocket");
        if !is_socket || !has_token(headers, &SEC_WEBSOCKET_PROTOCOL, TUNNEL) {
            return Ok(None);
        }
        let Framing::WebSocket { accept } = framing(headers)? else { return Ok(None) };
        let head = websocket_head(&accept, Some(TUNNEL))?;
        Ok(Some(Self { on_upgrade: hyper::upgrade::on(request), head }))
    }

    /// Answers with the switch of protocols, and hands what is inside to `carry`.
    pub(crate) fn serve<F, Fut>(self, carry: F) -> Response<()>
    where
        F: FnOnce(DuplexStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        upgraded(
            self.on_upgrade,
            move |io| async move { carry(websocket::tunnel(websocket(io).await)).await },
        );
        self.head
    }
}

/// A watch over WebSocket that has not begun: each event is a message.
pub(crate) struct WatchSocket {
    on_upgrade: OnUpgrade,
    head: Response<()>,
}

impl WatchSocket {
    /// `None` for a request that is no WebSocket's.
    ///
    /// # Errors
    /// 400 for a handshake without a key.
    pub(crate) fn of<B>(request: &mut Request<B>) -> Result<Option<Self>, Status> {
        let headers = request.headers();
        if !has_token(headers, &CONNECTION, "upgrade") || !has_token(headers, &UPGRADE, "websocket") {
            return Ok(None);
        }
        let Framing::WebSocket { accept } = framing(headers)? else { return Ok(None) };
        let head = websocket_head(&accept, None)?;
        Ok(Some(Self { on_upgrade: hyper::upgrade::on(request), head }))
    }

    /// Answers with the switch of protocols, and sends the events until they end or the client goes.
    pub(crate) fn serve(
        self,
        events: impl Stream<Item = Bytes> + Send + 'static,
        binary: bool,
    ) -> Response<()> {
        let message = move |event: Bytes| match String::from_utf8(event.into()) {
            Ok(text) if !binary => Message::text(text),
            Ok(text) => Message::binary(text.into_bytes()),
            Err(error) => Message::binary(error.into_bytes()),
        };
        upgraded(self.on_upgrade, move |io| async move {
            let (mut sink, mut source) = websocket(io).await.split();
            let mut events = std::pin::pin!(events);
            loop {
                tokio::select! {
                    event = events.next() => {
                        let Some(event) = event else { break };
                        if sink.send(message(event)).await.is_err() {
                            return;
                        }
                    }
                    // What the client says is of no interest, except that it goes.
                    said = source.next() => match said {
                        Some(Ok(said)) if !said.is_close() => {}
                        _ => return,
                    },
                }
            }
            let _gone = sink.close().await;
        });
        self.head
    }
}

pub(super) type Io = TokioIo<Upgraded>;

pub(super) fn upgraded<F, Fut>(on_upgrade: OnUpgrade, serve: F)
where
    F: FnOnce(Io) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        match on_upgrade.await {
            Ok(io) => serve(TokioIo::new(io)).await,
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
}

pub(super) async fn websocket(io: Io) -> WebSocketStream<Io> {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await
}

pub(super) enum Framing {
    WebSocket { accept: String },
    Spdy,
}

pub(super) fn framing(headers: &HeaderMap) -> Result<Framing, Status> {
    if has_token(headers, &CONNECTION, "upgrade") {
        if has_token(headers, &UPGRADE, "websocket") {
            let Some(key) = headers.get(SEC_WEBSOCKET_KEY) else {
                return Err(Status::bad_request("the WebSocket handshake has no Sec-WebSocket-Key header"));
            };
            return Ok(Framing::WebSocket { accept: derive_accept_key(key.as_bytes()) });
        }
        if has_token(headers, &UPGRADE, SPDY) {
            return Ok(Framing::Spdy);
        }
    }
    Err(Status::bad_request("Upgrade request required"))
}

fn no_protocol(offered: &[String], known: &[&str]) -> Status {
    let text = format!(
        "unable to upgrade: unable to negotiate protocol: client supports [{}], server accepts [{}]",
        offered.join(" "),
        known.join(" ")
    );
    Status::bad_request(text)
}

pub(super) fn websocket_head(accept: &str, protocol: Option<&str>) -> Result<Response<()>, Status> {
    let mut head = switching("websocket");
    head.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, header_value(accept)?);
    if let Some(protocol) = protocol {
        head.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, header_value(protocol)?);
    }
    Ok(head)
}

fn spdy_head(protocol: Option<&str>) -> Result<Response<()>, Status> {
    let mut head = switching(SPDY);
    if let Some(protocol) = protocol {
        head.headers_mut().insert(STREAM_PROTOCOL_VERSION, header_value(protocol)?);
    }
    Ok(head)
}

fn switching(protocol: &'static str) -> Response<()> {
    let mut head = Response::new(());
    *head.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    head.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    head.headers_mut().insert(UPGRADE, HeaderValue::from_static(protocol));
    head
}

fn header_value(text: &str) -> Result<HeaderValue, Status> {
    HeaderValue::from_str(text)
        .map_err(|error| Status::bad_request(format!("the protocol {text:?} cannot be a header: {error}")))
}

fn tokens(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(|token| token.trim().to_owned())
        .filter(|t| !t.is_empty())
        .collect()
}

pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    tokens(headers, name).iter().any(|token| token.eq_ignore_ascii_case(wanted))
}
