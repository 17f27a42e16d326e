//! `pods/{log,exec,attach,portforward}`, and watches over WebSocket: the streaming protocols of Kubernetes over a connection
//! that was upgraded.
//!
//! A request comes here decoded, authenticated, authorized, and with the pod it is about. What comes out is the head
//! of a response (or the stream of a log); the conversation goes on in a task of its own that ends with the
//! connection. Three framings are spoken: WebSocket with channels (`v5.channel.k8s.io` and its elders), SPDY/3.1, and
//! SPDY/3.1 tunnelled through a WebSocket for port-forward. What is said inside them is the same [`Session`](crate::kubelet::Session).
//!
//! HTTP/2 has no upgrade, so a client must come over HTTP/1.1, as every Kubernetes client does.

mod bridge;
mod options;
mod outcome;
mod spdy;
mod translate;
mod upgrade;
mod websocket;

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use http::{Request, Response};
use pilothouse_value::{Status, Value};

use crate::kubelet::{Kubelet, KubeletError};
pub use bridge::in_process;
use options::Query;
pub(crate) use options::{chosen_container, log_parameters};
pub(crate) use translate::Translation;
use upgrade::Upgrade;
pub use upgrade::wants_upgrade;
pub(crate) use upgrade::{Tunnel, WatchSocket};

/// Answers `GET …/pods/NAME/log`: the log as a stream of plain text (`text/plain`).
///
/// `query` is the request's raw query string.
///
/// # Errors
/// 400 when the container is ambiguous or has not started, 422 for options that contradict each other, 404 when the
/// node no longer has the container.
pub async fn logs(
    kubelet: &dyn Kubelet,
    pod: &Value,
    query: &str,
) -> Result<BoxStream<'static, io::Result<Bytes>>, Status> {
    let query = Query::parse(query);
    let target = options::container_target(pod, query.first("container"))?;
    let options = options::log_options(&query, &target.pod)?;
    kubelet.logs(target, options).await.map_err(status)
}

/// Answers `…/pods/NAME/exec`: starts the command, then upgrades the connection.
///
/// # Errors
/// 400 when the request is no upgrade, offers no protocol that is spoken here, or names no command or container.
pub async fn exec<B>(
    request: &mut Request<B>,
    kubelet: &dyn Kubelet,
    pod: &Value,
) -> Result<Response<()>, Status> {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let target = options::container_target(pod, query.first("container"))?;
    let options = options::exec_options(&query)?;
    let upgrade = Upgrade::for_session(request)?;
    let streams = options.streams;
    let session = kubelet.exec(target, options).await.map_err(status)?;
    Ok(upgrade.serve_session(session, streams))
}

/// Answers `…/pods/NAME/attach`: connects to the streams of a container that runs.
///
/// # Errors
/// As [`exec`].
pub async fn attach<B>(
    request: &mut Request<B>,
    kubelet: &dyn Kubelet,
    pod: &Value,
) -> Result<Response<()>, Status> {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let target = options::container_target(pod, query.first("container"))?;
    let streams = options::streams(&query)?;
    let upgrade = Upgrade::for_session(request)?;
    let session = kubelet.attach(target, streams).await.map_err(status)?;
    Ok(upgrade.serve_session(session, streams))
}

/// Answers `…/pods/NAME/portforward`: carries TCP connections to ports of the pod.
///
/// # Errors
/// 400 when the request is no upgrade or offers no protocol that is spoken here.
pub fn port_forward<B>(
    request: &mut Request<B>,
    kubelet: Arc<dyn Kubelet>,
    pod: &Value,
) -> Result<Response<()>, Status> {
    let target = options::pod_target(pod)?;
    let upgrade = Upgrade::for_port_forward(request)?;
    Ok(upgrade.serve_port_forward(kubelet, target))
}

/// How a refusal of the node is told to the client.
fn status(error: KubeletError) -> Status {
    match error {
        KubeletError::NotFound(text) => Status::internal(text),
        KubeletError::BadRequest(text) => Status::bad_request(text),
        KubeletError::Internal { .. } => Status::internal(&error),
    }
}
