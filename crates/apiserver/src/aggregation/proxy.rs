//! Passing requests on to the server that an APIService names, and its answers back.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use pilothouse_value::Status;
use tokio_util::sync::CancellationToken;

use super::connection;
use super::{Remote, identity, target};
use crate::answer::render;
use crate::authentication::user::User;
use crate::doors::body::Body;
use crate::outward::{self, reverse, upgrade};
use crate::request::RequestInfo;
use crate::start::bootstrap::API_REGISTRATION;
use crate::state::State;
use crate::webhook::url;

/// The longest answer that the server itself reads.
const LONGEST_ANSWER: usize = 32 * 1024 * 1024;
/// What is said of answers to all requests.
const UNCACHED: &str = "no-cache, private";
/// What browsers may do is this server's to say.
const CORS: [HeaderName; 4] = [
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
];

/// An answer that was read to its end.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Asks for a path, as a user.
///
/// # Errors
/// Why there is no answer, in the words of Go's client.
pub(super) async fn ask(
    state: &State,
    remote: &Remote,
    path: &str,
    headers: &[(HeaderName, &str)],
    user: &User,
) -> Result<Answer, String> {
    let host = target::place(state, remote)?.host;
    let mut request = Request::builder().method(Method::GET).uri(path).header(header::HOST, host);
    for (name, value) in headers {
        request = request.header(name, *value);
    }
    let mut request = request.body(outward::nothing()).map_err(|error| error.to_string())?;
    let agent = HeaderValue::from_static("Go-http-client/1.1");
    request.headers_mut().entry(header::USER_AGENT).or_insert(agent);
    identity::write(request.headers_mut(), user);
    let response = connection::send(state, remote, request, false).await?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, LONGEST_ANSWER).collect().await.map_err(|error| error.to_string())?;
    Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() })
}

/// Passes a request on and its answer back. `audit_id` is what the request is called.
///
/// # Errors
/// 504 if there is no answer in time.
pub(crate) async fn pass_on<B>(
    state: &Arc<State>,
    remote: &Remote,
    request: Request<B>,
    (user, peer, audit_id): (&User, Option<IpAddr>, &str),
    (info, lasts): (&RequestInfo, bool),
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    if !is_available(state, remote) {
        return Ok(render::no_page(true));
    }
    if let Err(why) = &remote.tls {
        return Ok(render::plain(500, format!("{why}\n")));
    }
    let Ok(place) = target::place(state, remote) else { return Ok(render::no_page(true)) };
    let upgrades = upgrade::is_wanted(request.headers());
    let is_discovery = info.resource.is_none() && info.path.trim_matches('/').split('/').count() == 3;
    let (mut head, body) = request.into_parts();
    let upgraded = upgrades.then(|| head.extensions.remove::<hyper::upgrade::OnUpgrade>()).flatten();
    let mut headers = std::mem::take(&mut head.headers);
    let protocol = headers.get(header::UPGRADE).cloned();
    prepare(&mut headers, user, peer, audit_id);
    let path = url::escaped(&info.path);
    let set = |headers: &mut HeaderMap, name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    set(&mut headers, header::HOST, &place.host);
    if let (true, Some(protocol)) = (upgrades, protocol) {
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, protocol);
    } else {
        set(&mut headers, HeaderName::from_static("x-forwarded-uri"), &path);
        set(&mut headers, HeaderName::from_static("x-forwarded-host"), &place.host);
        set(&mut headers, HeaderName::from_static("x-forwarded-proto"), "https");
    }
    let query = head.uri.query().map(ordered).filter(|query| !query.is_empty());
    let target = query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    let mut passed = Request::new(reverse::flow(body));
    *passed.method_mut() = head.method;
    match target.parse() {
        Ok(target) => *passed.uri_mut() = target,
        Err(_) => return Ok(render::plain(400, "the path cannot be passed on\n")),
    }
    *passed.headers_mut() = headers;

    let limit = if is_discovery { state.aggregator.options.patience } else { state.tuning.request_timeout };
    let sending = connection::send(state, remote, passed, upgrades);
    let answered = if lasts || upgrades {
        sending.await
    } else {
        match tokio::time::timeout(limit, sending).await {
            Ok(answered) => answered,
            Err(_elapsed) if is_discovery => Err("context deadline exceeded".to_owned()),
            Err(_elapsed) => {
                return Err(Status::timeout("request did not complete within the allotted timeout", 0));
            }
        }
    };
    match answered {
        Ok(response) if upgrades => Ok(switch(response, upgraded, state.shutdown.clone())),
        Ok(response) => Ok(answer(state, response)),
        Err(why) if upgrades => Ok(render::plain(503, format!("error dialing backend: {why}\n"))),
        Err(why) => Ok(render::plain(503, format!("error trying to reach service: {why}\n"))),
    }
}

fn is_available(state: &State, remote: &Remote) -> bool {
    let key = crate::registry::resource::key(API_REGISTRATION, "apiservices");
    state.store.get(&key, "", &remote.name).is_some_and(|stored| {
        stored.value().items_at(&["status", "conditions"]).iter().any(|condition| {
            condition.str_at(&["type"]) == Some("Available") && condition.str_at(&["status"]) == Some("True")
        })
    })
}

/// Takes away what was for this server alone, and tells who asks.
fn prepare(headers: &mut HeaderMap, user: &User, peer: Option<IpAddr>, audit_id: &str) {
    reverse::of_one_hop(headers);
    headers.remove(header::AUTHORIZATION);
    let impersonating: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("impersonate-")).cloned().collect();
    for name in impersonating {
        headers.remove(name);
    }
    identity::write(headers, user);
    if let Ok(id) = HeaderValue::from_str(audit_id) {
        headers.insert(HeaderName::from_static("audit-id"), id);
    }
    // Who asks without a connection is on this machine.
    reverse::forwarded_for(headers, Some(peer.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))));
}

/// A query as Go encodes it again: its keys in order, each with a value.
fn ordered(query: &str) -> String {
    let decode = |text: &str| crate::request::decode(&text.replace('+', " ")).into_owned();
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (decode(key), decode(value)))
        .collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    let encode = |text: &str| {
        let mut made = String::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b' ' => made.push('+'),
                _ if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => made.push(char::from(byte)),
                _ => made.push_str(&format!("%{byte:02X}")),
            }
        }
        made
    };
    pairs
        .iter()
        .map(|(key, value)| format!("{}={}", encode(key), encode(value)))
        .collect::<Vec<_>>()
        .join("&")
}

/// The answer as it goes to the client, part by part as it comes.
fn answer(state: &State, response: Response<Incoming>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if state.aggregator.options.reject_redirects
        && head.status.is_redirection()
        && head.headers.get(header::LOCATION).is_some_and(|location| !location.is_empty())
    {
        let text = "the backend attempted to redirect this request, which is not permitted";
        let mut refused = render::response(502, "text/plain; charset=utf-8", Body::full(text));
        refused.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(UNCACHED));
        return refused;
    }
    reverse::of_one_hop(&mut head.headers);
    for name in CORS {
        head.headers.remove(name);
    }
    // What this server says of every answer stands before what the other says.
    let theirs: Vec<HeaderValue> = head.headers.get_all(header::CACHE_CONTROL).iter().cloned().collect();
    head.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(UNCACHED));
    for value in theirs {
        head.headers.append(header::CACHE_CONTROL, value);
    }
    let parts = body
        .into_data_stream()
        .take_while(|part| futures::future::ready(part.is_ok()))
        .filter_map(|part| futures::future::ready(part.ok()));
    let mut answer = Response::new(Body::stream(parts));
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    answer
}

/// Joins the two connections, if the server has switched protocols.
fn switch(
    mut response: Response<Incoming>,
    client: Option<hyper::upgrade::OnUpgrade>,
    shutdown: CancellationToken,
) -> Response<Body> {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        if response.status().as_u16() < 400 {
            let code = response.status().as_u16();
            return render::plain(503, format!("invalid upgrade response: status code {code}\n"));
        }
        let (mut head, body) = response.into_parts();
        reverse::of_one_hop(&mut head.headers);
        let parts = body.into_data_stream().filter_map(|part| futures::future::ready(part.ok()));
        let mut refused = Response::new(Body::stream(parts));
        *refused.status_mut() = head.status;
        *refused.headers_mut() = head.headers;
        return refused;
    }
    let Some(client) = client else {
        return render::plain(503, "request connection cannot be hijacked\n");
    };
    let server = hyper::upgrade::on(&mut response);
    tokio::spawn(async move {
        let (Ok(client), Ok(server)) = (client.await, server.await) else { return };
        upgrade::carry(TokioIo::new(client), TokioIo::new(server), shutdown).await;
    });
    let mut answer = Response::new(Body::full(Bytes::new()));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    *answer.headers_mut() = response.headers().clone();
    answer
}
