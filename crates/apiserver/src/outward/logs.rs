//! The log of a container whose kubelet is reached through a network.

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use pilothouse_value::status::Details;
use pilothouse_value::{Status, Value, field, object};

use super::dial::Open;
use super::go_url::{escape_path, escape_value};
use super::location::node_of;
use super::{failed, nothing};
use crate::answer::render;
use crate::doors::body::Body;
use crate::state::State;

/// The longest refusal that is read, in bytes.
const LONGEST_REFUSAL: usize = 50_000;

/// What a client wants to see of a log, in the words that the kubelet is asked in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogQuery {
    /// The container; none if there is only one.
    pub(crate) container: Option<String>,
    /// Parameters and their values; the kubelet gets them in the order of their names.
    pub(crate) parameters: Vec<(&'static str, String)>,
    /// Takes whatever certificate the kubelet shows.
    pub(crate) trusting: bool,
}

/// Asks the kubelet of a pod's node for the log of a container.
///
/// # Errors
/// 404 if there is no such node, 500 if its kubelet is not reached; what the kubelet says.
pub(crate) async fn logs(
    state: &State,
    pod: &Value,
    container: &str,
    query: &LogQuery,
) -> Result<Response<Body>, Status> {
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    let upstream = node_of(state, node, "pods", !query.trusting)?;
    let (namespace, name) = (object::namespace(pod).unwrap_or_default(), object::name(pod));
    let path = escape_path(&format!("/containerLogs/{namespace}/{name}/{container}"));
    let mut parameters: Vec<String> =
        query.parameters.iter().map(|(name, value)| format!("{name}={}", escape_value(value))).collect();
    parameters.sort();
    let parameters = parameters.join("&");
    let target = if parameters.is_empty() { path } else { format!("{path}?{parameters}") };
    let url = format!("{}://{}{target}", upstream.scheme(), upstream.host);
    let request = Request::get(&target)
        .header(header::HOST, &upstream.host)
        .header(header::USER_AGENT, "Go-http-client/1.1")
        .header(header::ACCEPT_ENCODING, "gzip")
        .body(nothing())
        .map_err(|error| failed(format!("failed to construct request for {url}, got {error}")))?;
    let answer = match Open::to(state, &upstream, true).await {
        Ok(open) => open.ask(request).await,
        Err(trouble) => Err(trouble),
    };
    let answer = answer
        .map_err(|trouble| failed(format!("Get {}: {}", field::quote(&url), trouble.of_transport())))?;
    let code = answer.status().as_u16();
    let location = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    if let (301 | 302 | 303 | 307 | 308, Some(location)) = (code, location) {
        return Err(failed(format!("Get {}: redirects forbidden", field::quote(location))));
    }
    if !(200..=206).contains(&code) {
        return Err(refusal(code, name, answer.into_body()).await);
    }
    let zipped = answer.headers().get(header::CONTENT_ENCODING).is_some_and(|value| value == "gzip");
    let body = answer.into_body().map_err(|error| std::io::Error::other(error.to_string())).boxed_unsync();
    let body = if zipped { super::unzip::gunzip(body) } else { body };
    Ok(render::response(200, "text/plain", Body::relayed(body)))
}

/// What a kubelet's refusal is to the client.
async fn refusal(code: u16, pod: &str, mut body: Incoming) -> Status {
    let mut said = Vec::new();
    while said.len() < LONGEST_REFUSAL
        && let Some(Ok(frame)) = body.frame().await
    {
        said.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    said.truncate(LONGEST_REFUSAL);
    let said = String::from_utf8_lossy(&said).into_owned();
    let (reason, message) = match code {
        400 => return Status::bad_request(said),
        500 => return Status::internal(said),
        401 => ("Unauthorized", "the server has asked for the client to provide credentials".to_owned()),
        403 => ("Forbidden", said),
        404 => ("NotFound", "the server could not find the requested resource".to_owned()),
        405 => (
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource".to_owned(),
        ),
        406 if said.is_empty() || said == "unknown" => (
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports".to_owned(),
        ),
        406 => ("NotAcceptable", said),
        409 => ("Conflict", "the server reported a conflict".to_owned()),
        415 => ("UnsupportedMediaType", said),
        422 => ("Invalid", "the server rejected our request due to an error in our request".to_owned()),
        429 => (
            "TooManyRequests",
            "the server has received too many requests and has asked us to try again later".to_owned(),
        ),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request".to_owned()),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the \
             request"
                .to_owned(),
        ),
        501.. => (
            "InternalError",
            format!("an error on the server ({}) has prevented the request from succeeding", field::quote(&said)),
        ),
        _ => (
            "",
            format!("the server responded with the status code {code} but did not return more information"),
        ),
    };
    let details = Details { name: pod.to_owned(), kind: "pods/log".to_owned(), ..Details::default() };
    Status::new(code, reason, format!("{message} ( pods/log {pod})")).with_details(details)
}

/// No log, as the pod is on no node.
pub(crate) fn none() -> Response<Body> {
    let mut response = render::response(204, "text/plain", Body::full(Bytes::new()));
    response.headers_mut().remove(header::CONTENT_TYPE);
    response
}
