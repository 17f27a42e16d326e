//! Paths that lead out of the server: logs, exec, attach and port-forward of a running pod, and proxies. Admission is asked
//! and the pod looked up here; the conversation is [`streaming`](crate::streaming)'s.

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response};
use pilothouse_value::{Status, Value, json};

use crate::admission::{self, Attributes};
use crate::answer::render;
use crate::doors::body::Body;
use crate::request::{Query, ResourcePath};
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

/// Whether a path is one of these; they take any method.
pub(crate) fn is_connect_path(path: &ResourcePath) -> bool {
    path.group.is_empty() && leads_out(&path.resource, path.subresource.as_deref())
}

/// Serves one of these.
///
/// # Errors
/// What admission says, 404 if the pod is not there, 501 if this server has no node, and what the node says.
pub(crate) async fn serve<B>(
    context: &Context,
    target: &Target,
    (path, query): (&ResourcePath, &Query),
    mut request: Request<B>,
) -> Result<Response<Body>, Status>
where
    B: Send,
{
    // Logs are read, and nobody is asked about reading.
    if target.subresource.as_deref() != Some("log") {
        let options = options(target, path, query, request.uri().path());
        let mut attributes = Attributes::connect(context, target, options);
        admission::mutate(&mut attributes).await?;
        admission::validate(&attributes).await?;
    }
    let stored = verbs::stored(&context.state, target)?;
    if target.subresource.as_deref() == Some("proxy") {
        return Err(Status::not_implemented(
            "proxying is not served yet; hint: see “What is not there yet” in the book",
        ));
    }
    let pod = stored.value();
    let Some(kubelet) = context.state.kubelet.read().clone() else {
        return Err(Status::not_implemented(
            "this server has no node that runs pods; hint: start the cluster with a node",
        ));
    };
    let response = match target.subresource.as_deref() {
        Some("log") => {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let log = streaming::logs(&*kubelet, pod, &query).await?;
            let log = log.take_while(|part| futures::future::ready(part.is_ok())).filter_map(|part| {
                futures::future::ready(part.ok().filter(|bytes: &Bytes| !bytes.is_empty()))
            });
            return Ok(render::response(200, "text/plain", Body::stream(log)));
        }
        Some("exec") => streaming::exec(&mut request, &*kubelet, pod).await?,
        Some("attach") => streaming::attach(&mut request, &*kubelet, pod).await?,
        _ => streaming::port_forward(&mut request, kubelet, pod)?,
    };
    Ok(response.map(|()| Body::full(Bytes::new())))
}

/// What is asked for, as an object of the connection's own kind.
fn options(target: &Target, path: &ResourcePath, query: &Query, whole: &str) -> Value {
    let subresource = target.subresource.as_deref().unwrap_or_default();
    let kind = target.resource.subresource(subresource).map_or("", |sub| sub.kind.as_str());
    let mut options = json!({"kind": kind, "apiVersion": "v1"});
    match subresource {
        "portforward" => {
            let ports: Vec<i64> = query.all("ports").filter_map(|port| port.parse().ok()).collect();
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
    options
}
