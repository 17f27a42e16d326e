//! Upgrades without a socket: an in-process client gets a real upgraded connection through a pipe in memory.
//!
//! Only hyper can make the handle that a client waits on after `101 Switching Protocols`, so for such a request (and
//! only for it) both ends of an HTTP/1.1 connection are run over the pipe.

use std::future::Future;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;

/// How much each direction of the pipe holds, in bytes.
const PIPE: usize = 64 * 1024;

/// Sends `head` through a pipe to `serve`, and returns the answer; the connection lives on in two tasks until either
/// side drops it. `extensions` of the request do not travel through a connection: `serve` gets its own copy.
///
/// # Errors
/// When the handshake does not come through; then `serve` has broken the connection.
pub async fn in_process<S, Fut, B>(
    mut head: http::request::Parts,
    serve: S,
) -> Result<Response<Incoming>, hyper::Error>
where
    S: Fn(Request<Incoming>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (client, server) = tokio::io::duplex(PIPE);
    let extensions = std::mem::take(&mut head.extensions);
    let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        // What the upgrade hangs on is in hyper's own extensions: add to them, do not replace them.
        request.extensions_mut().extend(extensions.clone());
        let answer = serve(request);
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    tokio::spawn(async move {
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(server), service);
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "an in-process connection broke");
        }
    });
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(client)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "an in-process connection broke");
        }
    });
    if !head.headers.contains_key(http::header::HOST) {
        head.headers.insert(http::header::HOST, http::HeaderValue::from_static("localhost"));
    }
    sender.send_request(Request::from_parts(head, Empty::<Bytes>::new())).await
}
