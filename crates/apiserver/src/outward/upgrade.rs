//! Connections that leave HTTP: the request is passed on as it is, and once the other side has agreed, bytes are carried both ways.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use pilothouse_value::Status;
use tokio_util::sync::CancellationToken;

use super::dial::Open;
use super::location::Upstream;
use super::reverse::{forwarded_for, host, outgoing, without_credentials};
use super::{failed, nothing};
use crate::doors::body::{Body, Untouched};
use crate::state::State;

/// Whether a client wants to leave HTTP; upstream looks at this header alone.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| value.to_ascii_lowercase().contains("upgrade"))
}

/// Passes a request on that asks to leave HTTP. `target` is the path, and the query if there is one, at the other side.
///
/// # Errors
/// 500 if nobody answers, or somebody who does not leave HTTP and does not refuse it either.
pub(super) async fn pass<B>(
    state: &State,
    upstream: &Upstream,
    target: &str,
    peer: Option<IpAddr>,
    mut request: Request<B>,
) -> Result<Response<Body>, Status> {
    let ours = hyper::upgrade::on(&mut request);
    let (head, body) = request.into_parts();
    drop(body);
    let answer = ask(state, upstream, target, peer, &head).await?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return refused(answer);
    }
    let mut response = Response::new(Body::full(Bytes::new()));
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    response.extensions_mut().insert(Untouched);
    let theirs = hyper::upgrade::on(answer);
    let shutdown = state.shutdown.clone();
    tokio::spawn(async move {
        match tokio::try_join!(ours, theirs) {
            Ok((ours, theirs)) => carry(TokioIo::new(ours), TokioIo::new(theirs), shutdown).await,
            Err(error) => tracing::debug!(%error, "a connection was not upgraded"),
        }
    });
    Ok(response)
}

/// Asks the other side to leave HTTP.
///
/// # Errors
/// 500 if nobody answers.
pub(super) async fn ask(
    state: &State,
    upstream: &Upstream,
    target: &str,
    peer: Option<IpAddr>,
    asked: &Parts,
) -> Result<Response<hyper::body::Incoming>, Status> {
    let host = host(asked);
    let (mut head, ()) = Request::new(()).into_parts();
    head.method = asked.method.clone();
    head.headers = asked.headers.clone();
    without_credentials(&mut head.headers);
    forwarded_for(&mut head.headers, peer);
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::TRAILER] {
        head.headers.remove(name);
    }
    // Go names itself where the client does not say what it is.
    let agent = head.headers.entry(header::USER_AGENT);
    agent.or_insert(HeaderValue::from_static("Go-http-client/1.1"));
    let target = if target.is_empty() { "/" } else { target };
    let outgoing = outgoing(&head, target, &host, nothing())?;
    let open = Open::to(state, upstream, false).await.map_err(|trouble| failed(trouble.of_upgrade()))?;
    open.ask(outgoing).await.map_err(|trouble| failed(trouble.of_upgrade()))
}

/// The answer of somebody who stays with HTTP: a refusal is passed on as it is.
///
/// # Errors
/// 500 if it is no refusal.
pub(super) fn refused(answer: Response<hyper::body::Incoming>) -> Result<Response<Body>, Status> {
    let code = answer.status().as_u16();
    if code < 400 {
        return Err(failed(format!("invalid upgrade response: status code {code}")));
    }
    let (mut head, body) = answer.into_parts();
    for name in [header::CONNECTION, header::TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    let body = body.map_err(|error| std::io::Error::other(error.to_string())).boxed_unsync();
    let mut response = Response::from_parts(head, Body::relayed(body));
    response.extensions_mut().insert(Untouched);
    Ok(response)
}

/// Carries bytes both ways until one side has ended, or the server stops.
pub(crate) async fn carry<A, B>(ours: A, theirs: B, shutdown: CancellationToken)
where
    A: tokio::io::AsyncRead + tokio::io::AsyncWrite,
    B: tokio::io::AsyncRead + tokio::io::AsyncWrite,
{
    let (mut read_ours, mut write_ours) = tokio::io::split(ours);
    let (mut read_theirs, mut write_theirs) = tokio::io::split(theirs);
    tokio::select! {
        _ = tokio::io::copy(&mut read_ours, &mut write_theirs) => {}
        _ = tokio::io::copy(&mut read_theirs, &mut write_ours) => {}
        () = shutdown.cancelled() => {}
    }
    // What is on its way is not lost with the connection.
    let _gone = tokio::io::AsyncWriteExt::shutdown(&mut write_ours).await;
    let _gone = tokio::io::AsyncWriteExt::shutdown(&mut write_theirs).await;
}
