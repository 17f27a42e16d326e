//! The way of a request, from its head to its answer. Each step is a module of its own:
//!
//! [`request`](crate::request) names what is asked → [`authn`] finds out who asks → [`authz`] whether they may →
//! [`negotiate`] in which form → [`intake`] reads the body → [`verbs`](crate::verbs) do it → [`render`] writes the answer.
//!
//! This module only leads from one to the next. It bounds the time of each request and turns a panic of a handler into a 500.

mod call;

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::Full;
use pilothouse_value::Status;
use rustls_pki_types::CertificateDer;

use self::call::Call;
use crate::aggregation;
use crate::answer::negotiate::{self, Accepted, Endpoint, Format, Transform};
use crate::answer::render::{self, Style};
use crate::answer::{compress, warning};
use crate::audit::{Head, Notes};
use crate::authentication::authn;
use crate::authentication::user::{MASTERS, User};
use crate::authorization::authz;
use crate::authorization::rbac::Attributes;
use crate::connect;
use crate::doors::body::{self, Body};
use crate::doors::in_flight;
use crate::fairness;
use crate::heavy::Load;
use crate::pages;
use crate::pages::process::{self, Page};
use crate::registry::resource::Resource;
use crate::request::{self, Query, RequestInfo};
use crate::request::{intake, options, place};
use crate::state::{Context, State, Target};
use crate::streaming::WatchSocket;

/// How long a write may take, however much time the caller gives it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(34);

/// Where a request comes from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// From this process, as this user.
    Inside(User),
    /// From somebody whom credentials must tell, with the certificates that the client showed.
    Network {
        /// None without a connection.
        certificates: Arc<[CertificateDer<'static>]>,
        /// Whether large answers are compressed for those who ask: they pay for it with time, which is worth it where the
        /// network is slower than a processor.
        compress: bool,
        /// Who opened the connection. None without one.
        peer: Option<IpAddr>,
    },
}

/// Answers a request.
pub(crate) async fn handle<B>(state: Arc<State>, origin: Origin, mut request: Request<B>) -> Response<Body>
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    let audit_id = request
        .headers()
        .get("audit-id")
        .cloned()
        .or_else(|| HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()).ok());
    request::make_text(request.headers_mut());
    let pretty = negotiate::wants_pretty(
        Query::parse(request.uri().query()).get("pretty"),
        text(request.headers(), header::USER_AGENT),
    );
    let accept = request.headers().get(header::ACCEPT).cloned();
    let head = request.method() == http::Method::HEAD;
    let compresses =
        matches!(origin, Origin::Network { compress: true, .. }) && compress::wanted(request.headers());
    let id = audit_id.as_ref().and_then(request::header_text).unwrap_or_default();
    let mut level = None;
    let (comes_in, script) = match origin {
        Origin::Network { .. } => (Some(state.clone()), state.network.origin(request.headers())),
        Origin::Inside(_) => (None, None),
    };
    let asks_first = script.is_some() && request.method() == http::Method::OPTIONS;
    let answer = async {
        if asks_first {
            // A browser asks whether a script may ask; nobody has to be known for that.
            return Ok(render::bare(204));
        }
        route(state, origin, request, id, &mut level).await
    };
    let mut response = match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(Ok(response)) => response,
        Ok(Err(status)) => {
            let accept = accept.as_ref().and_then(request::header_text);
            render::failure(&status, negotiate::of_failure(accept, pretty))
        }
        Err(panic) => {
            tracing::error!(panic = panic_text(&*panic), "a handler panicked");
            let status =
                Status::internal("this request caused apiserver to panic. Look in the logs for details.");
            render::failure(&status, Format::Json)
        }
    };
    if response.extensions().get::<body::Untouched>().is_some() {
        return response;
    }
    if head {
        *response.body_mut() = Body::full(Bytes::new());
    }
    if compresses {
        response = compress::compress(response);
    }
    if let Some(state) = comes_in {
        state.network.write(response.headers_mut(), script);
    }
    if let Some(level) = level {
        level.write(response.headers_mut());
    }
    if let Some(audit_id) = audit_id {
        response.headers_mut().insert(HeaderName::from_static("audit-id"), audit_id);
    }
    response
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(request::header_text)
}

/// Finds out who asks, and lets the audit log know; then the request is carried out.
async fn route<B>(
    state: Arc<State>,
    origin: Origin,
    request: Request<B>,
    id: &str,
    level: &mut Option<fairness::Flow>,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    let query = Query::parse(request.uri().query());
    let info = RequestInfo::parse(request.method(), request.uri().path(), &query);
    if info.is_cut_short() {
        return Ok(render::unreadable_path(&info.path));
    }
    let name = info.resource.as_ref().and_then(|path| path.authorized_name(&info.verb, &query));
    let name = name.as_deref().unwrap_or_default();
    let peer = match &origin {
        Origin::Network { peer, .. } => *peer,
        Origin::Inside(_) => None,
    };
    let (uri, headers) = (request.uri(), request.headers());
    let (user, queues) = match &origin {
        Origin::Inside(user) => (user.clone(), false),
        Origin::Network { certificates, .. } => {
            let found = authn::authenticate(&state, headers, certificates, &info.path).await;
            if let (Err(_), Some(log)) = (&found, &state.audit) {
                let nobody = User { groups: Vec::new(), name: String::new(), ..User::anonymous() };
                let asked = attributes(&nobody, &info, name, &query);
                log.refuse(&asked, Head { uri, headers, peer, id });
            }
            (found?, true)
        }
    };
    let asked = Asked { query: &query, info: &info, name, peer, id };
    let lasts = info.verb == "watch" || info.resource.as_ref().is_some_and(connect::is_connect_path);
    let record = state.audit.as_ref().and_then(|log| {
        log.open(&attributes(&user, &info, name, &query), Head { uri, headers, peer, id }, lasts)
    });
    let Some(mut record) = record else {
        return carry_out(state, (user, queues), request, asked, None, level).await;
    };
    let notes = Some(record.notes.clone());
    let writes = !matches!(info.verb.as_str(), "get" | "list" | "watch");
    let carried = async {
        if lasts || !writes || info.resource.is_none() {
            return carry_out(state, (user, queues), request, asked, notes, level).await;
        }
        // What is sent stands in the log, so it is read first.
        let (head, body) = request.into_parts();
        let body = body::read(body).await?;
        record.sent(&body);
        let request = Request::from_parts(head, Full::new(body));
        carry_out(state, (user, queues), request, asked, notes, level).await
    };
    match AssertUnwindSafe(carried).catch_unwind().await {
        Ok(outcome) => record.close(outcome),
        Err(panic) => {
            record.panicked(panic_text(&*panic).unwrap_or_default());
            std::panic::resume_unwind(panic)
        }
    }
}

/// What a request asks for, read.
#[derive(Clone, Copy)]
struct Asked<'a> {
    query: &'a Query,
    info: &'a RequestInfo,
    /// The name that authorization looks at.
    name: &'a str,
    /// Who opened the connection.
    peer: Option<IpAddr>,
    /// What the request is called.
    id: &'a str,
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str))
}

/// Carries a request out that `user` has sent. `queues` says whether it waits for its turn; `level` is set as soon as it is
/// known whose turn it is.
async fn carry_out<B>(
    state: Arc<State>,
    (user, queues): (User, bool),
    request: Request<B>,
    asked: Asked<'_>,
    notes: Option<Arc<Notes>>,
    level: &mut Option<fairness::Flow>,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    let Asked { query, info, name, peer, id } = asked;
    let user_agent = text(request.headers(), header::USER_AGENT).map(str::to_owned);
    let other = authn::impersonate(&state, &attributes(&user, info, name, query), request.headers())?;
    if let (Some(other), Some(notes)) = (&other, &notes) {
        notes.impersonates(other);
    }
    let mut context = Context::new(state.clone(), other.unwrap_or(user), user_agent);
    context.notes = notes;
    context.peer = peer;
    if queues {
        context.load = Load::of_network();
    }
    let connects = info.verb == "proxy" || info.resource.as_ref().is_some_and(connect::is_connect_path);
    let lasts = info.verb == "watch" || connects;
    let flow = state.fairness.flow(&state, &attributes(&context.user, info, name, query));
    // Without flow schemas nobody but administrators is let through at once.
    let exempt = flow.as_ref().map_or_else(|| context.user.is_in(MASTERS), fairness::Flow::is_exempt);
    if !connects {
        *level = flow;
    }
    let _place = if queues && !lasts && !exempt {
        match state.in_flight.enter().await {
            Some(place) => Some(place),
            None => return Ok(in_flight::refusal()),
        }
    } else {
        None
    };
    let asked = attributes(&context.user, info, name, query);
    match authz::authorize(&state, &asked, context.notes.as_deref()).await {
        Ok(()) => {}
        Err(authz::Refusal::Forbidden(status)) => {
            let format = negotiate::of_failure(text(request.headers(), header::ACCEPT), false);
            return Ok(render::unsniffed(render::failure(&status, format)));
        }
        Err(authz::Refusal::Failed(why)) => return Ok(render::failed_page(request.uri(), &why)),
    }

    if info.path.starts_with("//") {
        return Ok(render::no_such_page());
    }
    if let Some(remote) = state.aggregator.of_path(&info.path) {
        return aggregation::pass_on(&state, &remote, request, (&context.user, peer, id), (info, lasts))
            .await;
    }
    let Some(path) = &info.resource else {
        if let Some(page) = Page::at(&info.path) {
            return process::serve(&state, page, request, query).await;
        }
        return pages::serve(&state, &request, query);
    };
    let Some(resource) = state.registry.get(&path.group, &path.version, &path.resource) else {
        let known = state.registry.table().has_group(&path.group);
        return if known { Err(Status::no_such_path()) } else { Ok(render::no_such_page()) };
    };
    // Paths of defined kinds are looked at as a whole: one of the other scope is nobody's.
    let everywhere = matches!(info.verb.as_str(), "list" | "watch");
    let namespace = path.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    if !resource.is_built_in()
        && resource.namespaced != namespace.is_some()
        && !(resource.namespaced && everywhere)
    {
        return Ok(render::no_such_page());
    }
    if resource.is_built_in() && info.verb == "watch" && request.method() != http::Method::GET {
        return Err(place::wrong_method());
    }
    if resource.is_built_in() && lists_alone(&resource) && query.flag("watch") && info.verb == "watch" {
        // The path leads to the list, which finds out that there is nothing to watch.
        let status = Status::method_not_allowed(&resource.group, &resource.plural, "watch");
        let mut response =
            render::failure(&status, negotiate::of_failure(text(request.headers(), header::ACCEPT), false));
        let deprecation = pilothouse_schema::builtin::deprecation(&resource.gvk());
        let warnings: Vec<String> = deprecation.into_iter().map(str::to_owned).collect();
        warning::write(response.headers_mut(), &warnings);
        return Ok(response);
    }
    let target = place::target(&resource, path, &info.verb)?;
    if resource.custom.as_ref().is_some_and(|custom| !custom.sound) {
        return Err(Status::internal("error resolving resource"));
    }
    if let Some(deprecation) = resource.custom.as_ref().and_then(|custom| custom.deprecation.as_deref()) {
        context.warn(deprecation);
    }
    if let Some(custom) = &resource.custom {
        custom.prepare(matches!(info.verb.as_str(), "create" | "update" | "patch")).await;
    }
    if let Some(deprecation) =
        pilothouse_schema::builtin::deprecation(&resource.gvk()).filter(|_| resource.is_built_in())
    {
        context.warn(deprecation);
    }
    if connect::is_connect(&target) {
        let pretty = negotiate::wants_pretty(query.get("pretty"), context.user_agent.as_deref());
        let format = negotiate::of_failure(text(request.headers(), header::ACCEPT), pretty);
        let answer = connect::serve(&context, &target, (path, &info.path, query), request).await;
        let mut response = answer.unwrap_or_else(|status| render::failure(&status, format));
        warning::write(response.headers_mut(), &context.take_warnings());
        return Ok(response);
    }
    let endpoint = Endpoint {
        tables: resource.has_verb("list"),
        streams: matches!(info.verb.as_str(), "list" | "watch"),
        custom: !resource.is_built_in(),
    };
    let accept = request.headers().get(header::ACCEPT).cloned();
    let accept = accept.as_ref().and_then(request::header_text);
    let accepted = negotiate::accept(accept, endpoint)?;
    if request.method() == http::Method::HEAD && resource.is_built_in() {
        // Upstream routes GET alone; the handler of defined kinds does not look at the method again.
        return Err(place::wrong_method());
    }
    let pretty = negotiate::wants_pretty(query.get("pretty"), context.user_agent.as_deref());
    let accepted = match accepted.format {
        Format::Json if pretty => Accepted { format: Format::PrettyJson, ..accepted },
        _ => accepted,
    };
    let style =
        Style { accepted, include: options::include(query, accepted.transform)?, now: state.clock.now() };
    // A watch lasts as long as it says itself.
    let limit = match info.verb.as_str() {
        "watch" => state.tuning.request_timeout,
        _ => options::timeout(query, state.tuning.request_timeout)?,
    };
    let target = match accepted.transform {
        Transform::Table(_) if matches!(info.verb.as_str(), "get" | "list" | "watch") => {
            printed(&state, target)
        }
        _ => target,
    };
    context.deadline = context.deadline.min(tokio::time::Instant::now() + limit);
    let call = Call { context: &context, target: &target, query, style };
    let answer = if info.verb == "watch" {
        match accepted.format {
            Format::Yaml => Err(negotiate::no_stream()),
            Format::Json | Format::PrettyJson | Format::Protobuf => {
                let mut request = request;
                match WatchSocket::of(&mut request) {
                    Ok(socket) => call.watch(socket).await,
                    Err(status) => Err(status),
                }
            }
        }
    } else {
        let writes = !matches!(info.verb.as_str(), "get" | "list") && WRITE_TIMEOUT < limit;
        let limit = if writes { WRITE_TIMEOUT } else { limit };
        match tokio::time::timeout(limit, context.load.bear(call.answer(&info.verb, request))).await {
            // What was asked for is done; only then does it turn out that it cannot be shown so.
            Ok(answer) => {
                answer.and_then(|answer| one_or_many(accepted, &info.verb, &resource).map(|()| answer))
            }
            Err(_) if writes => {
                let why =
                    "Timeout: request did not complete within requested timeout - context deadline exceeded";
                Err(Status::timeout(why, 0))
            }
            Err(_) => Ok(render::timed_out()),
        }
    };
    let mut response =
        answer.unwrap_or_else(|status| render::failure(&status, negotiate::of_failure(accept, pretty)));
    warning::write(response.headers_mut(), &context.take_warnings());
    Ok(response)
}

/// Whether a resource is listed, and cannot be watched.
fn lists_alone(resource: &Resource) -> bool {
    resource.has_verb("list") && !resource.has_verb("watch")
}

/// Metadata of one object and of a list are two kinds, and each is for its own verbs.
///
/// # Errors
/// 406 if the caller accepts the wrong one.
pub(super) fn one_or_many(accepted: Accepted, verb: &str, resource: &Resource) -> Result<(), Status> {
    let many = matches!(verb, "list" | "deletecollection");
    if verb == "delete" {
        // Mostly answered by a Status, which is shown as it is.
        return Ok(());
    }
    let go_type = |kind: &str| match resource.is_built_in() {
        true => format!("*{}.{kind}", intake::internal_package(&resource.group)),
        false if many => "*unstructured.UnstructuredList".to_owned(),
        false => "*unstructured.Unstructured".to_owned(),
    };
    let message = match accepted.transform {
        Transform::Metadata(_) if many => format!(
            "you requested PartialObjectMetadata, but the requested object is a list ({})",
            go_type(&resource.list_kind)
        ),
        Transform::MetadataList(_) if !many && verb != "watch" => format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            go_type(&resource.kind)
        ),
        _ => return Ok(()),
    };
    if !resource.is_built_in() && !many {
        // What makes metadata of lists out of the objects of defined kinds finds out by itself.
        return Err(Status::new(500, "", "content is not a list"));
    }
    Err(Status::new(406, "NotAcceptable", message))
}

/// Autoscalers are printed as they are stored, in their second version: the first cannot show all of it.
fn printed(state: &State, target: Target) -> Target {
    let resource = &target.resource;
    if resource.kind != "HorizontalPodAutoscaler" || resource.version != "v1" || !resource.is_built_in() {
        return target;
    }
    match state.registry.get("autoscaling", "v2", &resource.plural) {
        Some(resource) => Target { resource, ..target },
        None => target,
    }
}

/// What authorization looks at. The name is of one object, or the one that a field selector pins.
fn attributes<'a>(user: &'a User, info: &'a RequestInfo, name: &'a str, query: &'a Query) -> Attributes<'a> {
    let verb = info.verb.as_str();
    let Some(path) = &info.resource else {
        return Attributes::of_path(user, verb, &info.path);
    };
    let selects = matches!(verb, "list" | "watch" | "deletecollection");
    let selector = |of: &str| if selects { query.get(of).unwrap_or_default() } else { "" };
    Attributes {
        version: &path.version,
        field_selector: selector("fieldSelector"),
        label_selector: selector("labelSelector"),
        subresource: path.subresource.as_deref().unwrap_or_default(),
        namespace: path.namespace.as_deref().unwrap_or_default(),
        name,
        path: &info.path,
        ..Attributes::of_resource(user, verb, &path.group, &path.resource)
    }
}
