//! Exec and attach over WebSocket for kubelets that speak SPDY alone: the kubelet is asked anew, as client-go asks it, and why it
//! does not do what it was asked is told inside of the WebSocket.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::upgrade::Upgraded;
use pilothouse_value::{Status, Value, field, octets, parse};

use super::dial::Open;
use super::location::Upstream;
use super::nothing;
use super::reverse::outgoing;
use super::sessions::SessionQuery;
use crate::doors::body::{Body, Untouched};
use crate::kubelet::Streams;
use crate::state::State;
use crate::streaming::Translation;

const SPDY: &str = "SPDY/3.1";
const PROTOCOL: &str = "x-stream-protocol-version";
/// The longest refusal that is told, in bytes.
const LONGEST_REFUSAL: usize = 1 << 20;

/// Answers with a WebSocket, and speaks SPDY with the kubelet for the client. `target` is the path, and the query if there is one,
/// at the kubelet.
pub(super) fn translated(
    state: &Arc<State>,
    upstream: Upstream,
    target: String,
    query: &SessionQuery,
    translation: Translation,
) -> Response<Body> {
    let asked = |name: &str| query.parameters.iter().any(|(parameter, _)| *parameter == name);
    let streams =
        Streams { stdin: asked("input"), stdout: asked("output"), stderr: asked("error"), tty: asked("tty") };
    let shutdown = state.shutdown.clone();
    let state = Arc::clone(state);
    let kubelet = async move { opened(&state, &upstream, &target).await };
    let mut response = translation.serve(streams, kubelet, shutdown).map(|()| Body::full(Bytes::new()));
    response.extensions_mut().insert(Untouched);
    response
}

/// The connection to a kubelet that has left HTTP, and the protocol that it has chosen.
///
/// # Errors
/// When there is none, in the words of client-go.
async fn opened(state: &State, upstream: &Upstream, target: &str) -> Result<(Upgraded, String), String> {
    let failed = |url: &str, why: &str| format!("error sending request: Post {}: {why}", field::quote(url));
    let url = format!("{}://{}{target}", upstream.scheme(), upstream.host);
    let request = asked(upstream, target).map_err(|status| failed(&url, &status.message))?;
    let answer = match Open::to(state, upstream, true).await {
        Ok(open) => open.ask(request).await,
        Err(trouble) => Err(trouble),
    };
    let answer = answer.map_err(|trouble| failed(&url, &trouble.of_spdy()))?;
    let headers = answer.headers();
    let is_moved = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if let Some(location) = headers.get(header::LOCATION).filter(|place| is_moved && !place.is_empty()) {
        return Err(failed(&octets::text(location.as_bytes()), "redirect not allowed"));
    }
    let agrees = answer.status() == StatusCode::SWITCHING_PROTOCOLS
        && contains(headers, header::CONNECTION, "upgrade")
        && contains(headers, header::UPGRADE, "spdy/3.1");
    if !agrees {
        return Err(format!("unable to upgrade connection: {}", refusal(answer).await));
    }
    let protocol = headers.get(PROTOCOL).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let io = hyper::upgrade::on(answer).await.map_err(|error| error.to_string())?;
    Ok((io, protocol))
}

/// The request for a SPDY connection.
fn asked(upstream: &Upstream, target: &str) -> Result<Request<super::Flow>, Status> {
    let (mut head, ()) = Request::new(()).into_parts();
    head.method = Method::POST;
    head.headers.insert(header::USER_AGENT, HeaderValue::from_static("Go-http-client/1.1"));
    head.headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    head.headers.insert(header::UPGRADE, HeaderValue::from_static(SPDY));
    for protocol in Translation::OFFERED {
        head.headers.append(PROTOCOL, HeaderValue::from_static(protocol));
    }
    outgoing(&head, target, &upstream.host, nothing())
}

fn contains(headers: &HeaderMap, name: header::HeaderName, part: &str) -> bool {
    let value = headers.get(name).map(|value| value.as_bytes().to_ascii_lowercase());
    value.is_some_and(|value| octets::text(&value).contains(part))
}

/// Why a kubelet stays with HTTP.
async fn refusal(answer: Response<hyper::body::Incoming>) -> String {
    let body = match Limited::new(answer.into_body(), LONGEST_REFUSAL).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return "unable to read error from server response".to_owned(),
    };
    if let Ok(document) = parse::json(&body) {
        let keys = ["message", "error"];
        // Go reads nothing at all of a document in which one of them is no text.
        let readable = keys.iter().all(|key| {
            let member = document.value.get(key);
            member.is_none_or(|member| matches!(member, Value::String(_) | Value::Null))
        });
        for key in keys.into_iter().filter(|_| readable) {
            if let Some(text) = document.value.str_at(&[key]).map(str::trim).filter(|text| !text.is_empty()) {
                return text.to_owned();
            }
        }
    }
    match octets::text(&body).trim() {
        "" => "empty server response".to_owned(),
        text => text.to_owned(),
    }
}
