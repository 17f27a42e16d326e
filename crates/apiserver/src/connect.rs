//! Paths that lead out of the server: logs, exec, attach and port-forward of a running pod, and proxies. Whether they may be
//! taken is decided here, and whom they are about; the conversation is [`streaming`](crate::streaming)'s where the node is in
//! this process, and [`outward`](crate::outward)'s where it is reached through a network.

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, header};
use pilothouse_value::{Status, Value, json, object};

use crate::admission::{self, Attributes};
use crate::answer::{negotiate, render};
use crate::authorization::authz::{self, Refusal};
use crate::authorization::rbac;
use crate::doors::body::Body;
use crate::outward::{self, Asked, LogQuery, SessionQuery};
use crate::request::options::no_number;
use crate::request::{Query, ResourcePath, place};
use crate::state::{Context, Target};
use crate::{streaming, verbs};

fn leads_out(resource: &str, subresource: Option<&str>) -> bool {
    matches!(
        (resource, subresource),
        ("pods", Some("log" | "exec" | "attach" | "portforward"))
            | ("pods" | "services" | "nodes", Some("proxy"))
    )
}

/// Whether a target is one of these.
pub(crate) fn is_connect(target: &Target) -> bool {
    target.resource.is_built_in()
        && target.resource.group.is_empty()
        && leads_out(&target.resource.plural, target.subresource.as_deref())
}

/// Whether a path is one of these.
pub(crate) fn is_connect_path(path: &ResourcePath) -> bool {
    path.group.is_empty() && leads_out(&path.resource, path.subresource.as_deref())
}

/// Serves one of these; `whole` is the path, decoded.
///
/// # Errors
/// 405 for a method that is not served there, what admission says, 403 for who may read and not do, 404 if the object is not
/// there, 400 if nobody runs it, 500 and 503 if those who do are not reached, and what they say.
pub(crate) async fn serve<B>(
    context: &Context,
    target: &Target,
    (path, whole, query): (&ResourcePath, &str, &Query),
    request: Request<B>,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display + Send,
{
    let subresource = target.subresource.as_deref().unwrap_or_default();
    let served: &[Method] = match subresource {
        "log" => &[Method::GET],
        "proxy" => &[
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::HEAD,
            Method::OPTIONS,
        ],
        _ => &[Method::GET, Method::POST],
    };
    if !served.contains(request.method()) {
        return Err(place::wrong_method());
    }
    // Logs are read, and nobody is asked about reading.
    if subresource == "log" {
        return log(context, target, request).await;
    }
    if query.get("dryRun").is_some() {
        return Err(Status::bad_request("dryRun is not supported"));
    }
    let options = options(target, path, query, whole)?;
    let mut attributes = Attributes::connect(context, target, options);
    admission::mutate(&mut attributes).await?;
    admission::validate(&attributes).await?;
    if subresource != "proxy" {
        return session(context, target, query, request).await;
    }
    let state = &context.state;
    let upstream = match target.resource.plural.as_str() {
        "pods" => outward::of_pod(state, &target.namespace, &target.name)?,
        "services" => outward::of_service(state, &target.namespace, &target.name)?,
        _ => outward::of_node(state, &target.name).await?,
    };
    let asked = Asked { whole, rest: &path.rest, peer: context.peer };
    outward::proxy(state, &upstream, asked, request).await
}

/// Serves the log of a container.
async fn log<B>(context: &Context, target: &Target, request: Request<B>) -> Result<Response<Body>, Status> {
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    negotiate::accept_log(accept)?;
    let raw = request.uri().query().unwrap_or_default();
    let query: LogQuery = streaming::log_parameters(raw, &target.name)?;
    let stored = verbs::stored(&context.state, target)?;
    let pod = stored.value();
    let container = streaming::chosen_container(pod, query.container.as_deref())?;
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    if node.is_empty() {
        return Ok(outward::no_log());
    }
    let Some(kubelet) = outward::runs_here(&context.state, node) else {
        return outward::logs(&context.state, pod, &container, &query).await;
    };
    let log = streaming::logs(&*kubelet, pod, raw).await?;
    let log = log
        .take_while(|part| futures::future::ready(part.is_ok()))
        .filter_map(|part| futures::future::ready(part.ok().filter(|bytes: &Bytes| !bytes.is_empty())));
    Ok(render::response(200, "text/plain", Body::stream(log)))
}

/// Serves exec, attach and port-forward.
async fn session<B>(
    context: &Context,
    target: &Target,
    query: &Query,
    mut request: Request<B>,
) -> Result<Response<Body>, Status> {
    let subresource = target.subresource.as_deref().unwrap_or_default();
    // WebSockets are asked for by reading; what goes through them is more than that.
    if request.method() != Method::POST {
        may_create(context, target).await?;
    }
    let stored = verbs::stored(&context.state, target)?;
    let pod = stored.value();
    let forwards = subresource == "portforward";
    let container = match forwards {
        true => None,
        false => Some(streaming::chosen_container(pod, query.filled("container"))?),
    };
    let node = pod.str_at(&["spec", "nodeName"]).unwrap_or_default();
    if node.is_empty() {
        let name = object::name(pod);
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
    }
    let Some(kubelet) = outward::runs_here(&context.state, node) else {
        let query = asked_of_kubelet(subresource, container, query);
        return outward::session(&context.state, pod, &query, context.peer, request).await;
    };
    let response = match subresource {
        "exec" => streaming::exec(&mut request, &*kubelet, pod).await?,
        "attach" => streaming::attach(&mut request, &*kubelet, pod).await?,
        _ => streaming::port_forward(&mut request, kubelet, pod)?,
    };
    Ok(response.map(|()| Body::full(Bytes::new())))
}

/// Refuses who may not create what they want to connect to.
async fn may_create(context: &Context, target: &Target) -> Result<(), Status> {
    let resource = &target.resource;
    let asked = rbac::Attributes {
        version: &resource.version,
        subresource: target.subresource.as_deref().unwrap_or_default(),
        namespace: &target.namespace,
        name: &target.name,
        ..rbac::Attributes::of_resource(&context.user, "create", &resource.group, &resource.plural)
    };
    match authz::authorize(&context.state, &asked, None).await {
        Ok(()) => Ok(()),
        Err(Refusal::Forbidden(_)) => Err(target.forbidden("")),
        Err(Refusal::Failed(why)) => Err(Status::new(500, "", &*why)),
    }
}

/// What a kubelet is asked for, in its own words.
fn asked_of_kubelet(subresource: &str, container: Option<String>, query: &Query) -> SessionQuery {
    let mut parameters = Vec::new();
    if subresource == "portforward" {
        let ports: Vec<&str> = query.all("ports").collect();
        if !ports.is_empty() {
            parameters.push(("port", ports.join(",")));
        }
        return SessionQuery { action: "portForward", container, parameters };
    }
    for (flag, name) in [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")] {
        if query.flag(flag) {
            parameters.push((name, "1".to_owned()));
        }
    }
    if subresource != "exec" {
        return SessionQuery { action: "attach", container, parameters };
    }
    parameters.extend(query.all("command").map(|word| ("command", word.to_owned())));
    SessionQuery { action: "exec", container, parameters }
}

/// What is asked for, as an object of the connection's own kind.
///
/// # Errors
/// 400 for a port that is no number.
fn options(target: &Target, path: &ResourcePath, query: &Query, whole: &str) -> Result<Value, Status> {
    let subresource = target.subresource.as_deref().unwrap_or_default();
    let kind = target.resource.subresource(subresource).map_or("", |sub| sub.kind.as_str());
    let mut options = json!({"kind": kind, "apiVersion": "v1"});
    match subresource {
        "portforward" => {
            let ports: Vec<i64> = query.all("ports").map(port).collect::<Result<_, _>>()?;
            if !ports.is_empty() {
                options.set(&["ports"], ports);
            }
        }
        "proxy" => {
            let mut rest: String = path.rest.iter().flat_map(|part| ["/", part.as_str()]).collect();
            if whole.ends_with('/') && !rest.ends_with('/') {
                rest.push('/');
            }
            if !rest.is_empty() {
                options.set(&["path"], rest);
            }
        }
        _ => {
            for flag in ["stdin", "stdout", "stderr", "tty"] {
                if query.flag(flag) {
                    options.set(&[flag], true);
                }
            }
            if let Some(container) = query.filled("container") {
                options.set(&["container"], container);
            }
            if subresource == "exec" {
                let command: Vec<String> = query.all("command").map(str::to_owned).collect();
                options.set(&["command"], if command.is_empty() { Value::Null } else { command.into() });
            }
        }
    }
    Ok(options)
}

/// The number of a port, as upstream reads lists of numbers.
fn port(text: &str) -> Result<i64, Status> {
    text.parse::<u32>().map(i64::from).map_err(|_| {
        Status::bad_request(format!("cannot convert to []int32: {}", no_number("ParseUint", text)))
    })
}
