//! Exec, attach and port-forward of pods whose kubelet is reached through a network: the connection is handed through.
//!
//! Kubelets that do not speak WebSocket themselves get SPDY: what a port-forward tunnels through a WebSocket is unpacked here, and
//! what exec and attach say through one is translated (`translated`).

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, header};
use pilothouse_value::{Status, Value, object};

use super::go_url::{escape_path, escape_value};
use super::location::{Upstream, node_of};
use super::{translated, upgrade};
use crate::doors::body::Body;
use crate::state::State;
use crate::streaming::{Translation, Tunnel};

/// What a session is about, in the words that the kubelet is asked in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionQuery {
    /// `exec`, `attach` or `portForward`.
    pub(crate) action: &'static str,
    /// None for a port-forward.
    pub(crate) container: Option<String>,
    /// Parameters and their values; the kubelet gets them in the order of their names.
    pub(crate) parameters: Vec<(&'static str, String)>,
}

impl SessionQuery {
    fn target(&self, pod: &Value) -> String {
        let namespace = object::namespace(pod).unwrap_or_default();
        let mut path = format!("/{}/{namespace}/{}", self.action, object::name(pod));
        if let Some(container) = &self.container {
            path.push('/');
            path.push_str(container);
        }
        let mut parameters = self.parameters.clone();
        // Those of one name stay in their order.
        parameters.sort_by_key(|(name, _)| *name);
        let parameters: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={}", escape_value(value))).collect();
        let path = escape_path(&path);
        if parameters.is_empty() { path } else { format!("{path}?{}", parameters.join("&")) }
    }
}

/// Hands a connection through to the kubelet of a pod's node.
///
/// # Errors
/// 404 if there is no such node, 400 if the client does not leave HTTP, 500 if the kubelet is not reached.
pub(crate) async fn session<B>(
    state: &Arc<State>,
    pod: &Value,
    query: &SessionQuery,
    peer: Option<IpAddr>,
    mut request: Request<B>,
) -> Result<Response<Body>, Status> {
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    let upstream = node_of(state, node, "pods", true)?;
    let target = query.target(pod);
    if query.action == "portForward"
        && !upstream.speaks_websocket
        && let Some(tunnel) = Tunnel::of(&mut request)?
    {
        let (head, body) = request.into_parts();
        drop(body);
        return tunnelled(state, &upstream, &target, peer, (head, tunnel)).await;
    }
    if query.action != "portForward"
        && !upstream.speaks_websocket
        && let Some(translation) = Translation::of(&mut request)?
    {
        return Ok(translated::translated(state, upstream, target, query, translation));
    }
    if !upgrade::is_wanted(request.headers()) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    upgrade::pass(state, &upstream, &target, peer, request).await
}

/// Hands what a WebSocket tunnels through to a kubelet that speaks SPDY.
async fn tunnelled(
    state: &State,
    upstream: &Upstream,
    target: &str,
    peer: Option<IpAddr>,
    (mut head, tunnel): (Parts, Tunnel),
) -> Result<Response<Body>, Status> {
    head.method = Method::POST;
    let headers = &mut head.headers;
    for name in [header::SEC_WEBSOCKET_PROTOCOL, header::SEC_WEBSOCKET_KEY, header::SEC_WEBSOCKET_VERSION] {
        headers.remove(name);
    }
    headers.insert(header::UPGRADE, http::HeaderValue::from_static("SPDY/3.1"));
    headers.insert("x-stream-protocol-version", http::HeaderValue::from_static(Tunnel::INSIDE));
    let answer = upgrade::ask(state, upstream, target, peer, &head).await?;
    if answer.status() != http::StatusCode::SWITCHING_PROTOCOLS {
        return upgrade::refused(answer);
    }
    let theirs = hyper::upgrade::on(answer);
    let shutdown = state.shutdown.clone();
    let head = tunnel.serve(move |ours| async move {
        match theirs.await {
            Ok(theirs) => upgrade::carry(ours, hyper_util::rt::TokioIo::new(theirs), shutdown).await,
            Err(error) => tracing::debug!(%error, "a kubelet did not leave HTTP"),
        }
    });
    let mut response = head.map(|()| Body::full(Bytes::new()));
    response.extensions_mut().insert(crate::doors::body::Untouched);
    Ok(response)
}
