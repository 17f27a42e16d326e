//! Requests that are passed on, and their answers that are passed back, as Go's `httputil.ReverseProxy` with upstream's
//! transport does it.

use std::io;
use std::net::IpAddr;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use pilothouse_value::{Status, field};

use super::dial::Open;
use super::go_url::{Url, escape_path, join};
use super::location::Upstream;
use super::rewrite::Links;
use super::unzip::{Packing, gunzip};
use super::{Flow, failed, html, nothing, sniff, unreachable, upgrade};
use crate::doors::body::Body;
use crate::state::State;

/// The longest page whose links are changed, in bytes.
const LONGEST_PAGE: usize = 32 * 1024 * 1024;

/// Headers that are for one connection.
const OF_ONE_HOP: [&str; 9] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// What a client asks for, beside the request itself.
pub(crate) struct Asked<'a> {
    /// The whole path, decoded.
    pub(crate) whole: &'a str,
    /// The parts of the path behind `proxy`, decoded.
    pub(crate) rest: &'a [String],
    /// Who asks.
    pub(crate) peer: Option<IpAddr>,
}

/// Passes a request on to where a proxy leads.
///
/// # Errors
/// 503 if nobody answers there, 500 if the answer cannot be passed on.
pub(crate) async fn proxy<B>(
    state: &State,
    upstream: &Upstream,
    asked: Asked<'_>,
    request: Request<B>,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    let slash = asked.whole.ends_with('/');
    let mut path: String = asked.rest.iter().flat_map(|part| ["/", part.as_str()]).collect();
    if !path.is_empty() {
        path = join("", &path);
    }
    if slash && !path.ends_with('/') {
        path.push('/');
    }
    if upgrade::is_wanted(request.headers()) {
        return upgrade::pass(state, upstream, &escape_path(&path), asked.peer, request).await;
    }
    if path.is_empty() && matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(moved(asked.whole, request.uri().query()));
    }
    let prepend = asked.whole.strip_suffix(&path).unwrap_or(asked.whole).to_owned();
    let (mut head, body) = request.into_parts();
    let host = host(&head);
    if path.is_empty() {
        path.push('/');
    }
    let escaped = escape_path(&path);
    let mut forwarded = join(&prepend, &escaped);
    if path.ends_with('/') {
        forwarded.push('/');
    }
    sent_on(&mut head.headers, asked.peer);
    if text(&head.headers, header::USER_AGENT).is_empty() {
        head.headers.remove(header::USER_AGENT);
    }
    let name = HeaderName::from_static("x-forwarded-uri");
    head.headers.insert(name, HeaderValue::from_str(&forwarded).map_err(|error| failed(error.to_string()))?);
    // Go's transport asks for gzip where the client did not say what it takes, and unpacks it.
    let unpacks = head.method != Method::HEAD
        && !head.headers.contains_key(header::ACCEPT_ENCODING)
        && !head.headers.contains_key(header::RANGE);
    if unpacks {
        head.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let request = outgoing(&head, &escaped, &host, flow(body))?;
    let answer = match Open::to(state, upstream, false).await {
        Ok(open) => open.ask(request).await,
        Err(trouble) => Err(trouble),
    };
    let mut answer = answer
        .map_err(|trouble| unreachable(&trouble.of_transport()))?
        .map(|body| body.map_err(|error| io::Error::other(error.to_string())).boxed_unsync());
    for name in ["credentials", "headers", "methods", "origin"] {
        answer.headers_mut().remove(format!("access-control-allow-{name}"));
    }
    if unpacks && text(answer.headers(), header::CONTENT_ENCODING).eq_ignore_ascii_case("gzip") {
        answer.headers_mut().remove(header::CONTENT_ENCODING);
        answer.headers_mut().remove(header::CONTENT_LENGTH);
        answer = answer.map(gunzip);
    }
    let links = Links { prepend: &prepend, upstream: &upstream.host, asked: &host };
    let mut answer = changed(answer, &links).await?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let offered = text(answer.headers(), header::UPGRADE);
        let text =
            format!("backend tried to switch protocol {} when \"\" was requested", field::quote(&offered));
        return Err(failed(text));
    }
    let trailers = answer.headers().get_all(header::TRAILER).iter().cloned().collect::<Vec<_>>();
    of_one_hop(answer.headers_mut());
    let mut response = Response::new(());
    *response.status_mut() = answer.status();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    for (name, value) in answer.headers() {
        response.headers_mut().append(name, value.clone());
    }
    for trailer in trailers {
        response.headers_mut().append(header::TRAILER, trailer);
    }
    let unnamed = !response.headers().contains_key(header::CONTENT_TYPE)
        && !response.headers().contains_key(header::CONTENT_ENCODING);
    let body = answer.into_body();
    if !unnamed {
        return Ok(response.map(|()| Body::relayed(body)));
    }
    let (kind, body) = sniff::sniffed(body).await;
    if let Some(kind) = kind {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    Ok(response.map(|()| Body::relayed(body)))
}

/// Sends a client to the same path with a slash, below which links of the page work.
fn moved(whole: &str, query: Option<&str>) -> Response<Body> {
    let query = query.filter(|query| !query.is_empty()).map(|query| format!("?{query}")).unwrap_or_default();
    let mut response = Response::new(Body::full(Bytes::new()));
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Ok(location) = HeaderValue::from_bytes(format!("{whole}/{query}").as_bytes()) {
        headers.insert(header::LOCATION, location);
    }
    response
}

/// The answer with links that lead through the proxy.
async fn changed(mut answer: Response<Flow>, links: &Links<'_>) -> Result<Response<Flow>, Status> {
    let location = text(answer.headers(), header::LOCATION);
    if !location.is_empty() {
        let url = Url::parse(&location)
            .map_err(|why| Status::internal(format!("error trying to parse Location header: {why}")))?;
        if let Ok(through) = HeaderValue::from_bytes(links.through(url).as_bytes()) {
            answer.headers_mut().insert(header::LOCATION, through);
        }
        return Ok(answer);
    }
    let kind = text(answer.headers(), header::CONTENT_TYPE);
    if kind.split(';').next().unwrap_or_default().trim() != "text/html" {
        return Ok(answer);
    }
    let Some(packing) = Packing::named(&text(answer.headers(), header::CONTENT_ENCODING)) else {
        return Ok(answer);
    };
    let (mut head, body) = answer.into_parts();
    let body = Limited::new(body, LONGEST_PAGE).collect().await.map_err(|error| {
        failed(match error.is::<LengthLimitError>() {
            true => format!("the page is longer than {LONGEST_PAGE} bytes"),
            false => "unexpected EOF".to_owned(),
        })
    })?;
    let page = body.to_bytes();
    // There is nothing behind the head of an answer to HEAD.
    let page = if page.is_empty() {
        page
    } else {
        packing.unpack(&page, LONGEST_PAGE).map_err(|e| failed(e.to_string()))?
    };
    let page = html::rewrite(&page, &|url| links.through(url));
    let page = packing.pack(page).map_err(|error| failed(error.to_string()))?;
    head.headers.remove(header::CONTENT_LENGTH);
    let body = Full::new(page).map_err(|never| match never {}).boxed_unsync();
    Ok(Response::from_parts(head, body))
}

/// The host that a client asked.
pub(super) fn host(asked: &Parts) -> String {
    let authority = || asked.uri.authority().map(ToString::to_string).unwrap_or_default();
    match text(&asked.headers, header::HOST) {
        host if host.is_empty() => authority(),
        host => host,
    }
}

/// A header as text; empty if it is not there.
fn text(headers: &HeaderMap, name: HeaderName) -> String {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}

/// The request as it goes out. Bodies are counted anew; other headers stay.
pub(super) fn outgoing(head: &Parts, target: &str, host: &str, body: Flow) -> Result<Request<Flow>, Status> {
    let target = match head.uri.query() {
        Some(query) => format!("{target}?{query}"),
        None => target.to_owned(),
    };
    let mut request = Request::new(body);
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = target.parse().map_err(|error| failed(format!("{error}")))?;
    *request.headers_mut() = head.headers.clone();
    let empty = http_body::Body::is_end_stream(request.body());
    let headers = request.headers_mut();
    headers.insert(header::HOST, HeaderValue::from_str(host).map_err(|error| failed(error.to_string()))?);
    if empty {
        headers.remove(header::CONTENT_LENGTH);
        if matches!(head.method, Method::POST | Method::PUT | Method::PATCH) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
    }
    Ok(request)
}

/// What a client sends, as it goes out.
pub(crate) fn flow<B>(body: B) -> Flow
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    if body.is_end_stream() {
        return nothing();
    }
    body.map_frame(|frame| frame.map_data(Into::into))
        .map_err(|error| io::Error::other(error.to_string()))
        .boxed_unsync()
}

/// Headers as they are sent on: without those of one connection, and without what is shown to this server alone.
fn sent_on(headers: &mut HeaderMap, peer: Option<IpAddr>) {
    let trailers = headers.get_all(header::TE).iter().any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.split(',').any(|token| token.trim().eq_ignore_ascii_case("trailers")))
    });
    of_one_hop(headers);
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    without_credentials(headers);
    forwarded_for(headers, peer);
}

/// Takes away what says who the client is: nobody else needs to know, and nobody else may use it.
pub(super) fn without_credentials(headers: &mut HeaderMap) {
    let secret = |name: &str| {
        name == "authorization"
            || name.starts_with("impersonate-")
            || matches!(name, "x-remote-user" | "x-remote-uid" | "x-remote-group")
            || name.starts_with("x-remote-extra-")
    };
    let names: Vec<HeaderName> = headers.keys().filter(|name| secret(name.as_str())).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    let protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let protocols: Vec<String> = protocols
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|one| one.trim().to_owned())
        .collect();
    if !protocols.iter().any(|one| one.starts_with("base64url.bearer.authorization.k8s.io.")) {
        return;
    }
    let rest: Vec<&str> = protocols
        .iter()
        .map(String::as_str)
        .filter(|one| !one.starts_with("base64url.bearer.authorization.k8s.io."))
        .collect();
    headers.remove(header::SEC_WEBSOCKET_PROTOCOL);
    if let Ok(rest) = HeaderValue::from_str(&rest.join(","))
        && !rest.is_empty()
    {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, rest);
    }
}

/// Adds who asked to those who asked before.
pub(crate) fn forwarded_for(headers: &mut HeaderMap, peer: Option<IpAddr>) {
    let Some(peer) = peer else { return };
    let prior = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let mut all: Vec<String> = prior.map(str::to_owned).collect();
    all.push(peer.to_string());
    if let Ok(value) = HeaderValue::from_str(&all.join(", ")) {
        headers.insert(FORWARDED_FOR, value);
    }
}

/// Takes away what is about one connection.
pub(crate) fn of_one_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> =
        named.flat_map(|value| value.split(',')).map(|name| name.trim().to_owned()).collect();
    for name in named.iter().map(String::as_str).chain(OF_ONE_HOP) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_says_who_asks_goes_out() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer secret"),
            ("impersonate-user", "root"),
            ("impersonate-extra-x", "y"),
            ("x-remote-group", "system:masters"),
            ("x-remote-extra-a", "b"),
            ("sec-websocket-protocol", "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0"),
            ("cookie", "stays"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        without_credentials(&mut headers);
        assert_eq!(headers.len(), 2, "{headers:?}");
        assert_eq!(headers["sec-websocket-protocol"], "v4.channel.k8s.io");
        assert_eq!(headers["cookie"], "stays");
    }
}
