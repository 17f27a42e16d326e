//! Paths that lead to a running pod: logs, exec, attach, port-forward. The pod is looked up here; the conversation is
//! [`streaming`](crate::streaming)'s.

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response};
use pilothouse_value::Status;

use crate::body::Body;
use crate::render;
use crate::request::{Query, ResourcePath};
use crate::state::{Context, Target};
use crate::{streaming, verbs};

const NAMES: [&str; 4] = ["log", "exec", "attach", "portforward"];

/// Whether a target is one of these.
pub(crate) fn is_connect(target: &Target) -> bool {
    target.resource.is("", "pods") && target.subresource.as_deref().is_some_and(|name| NAMES.contains(&name))
}

/// Whether a path is one of these; they take any method.
pub(crate) fn is_connect_path(path: &ResourcePath) -> bool {
    path.group.is_empty()
        && path.resource == "pods"
        && path.subresource.as_deref().is_some_and(|name| NAMES.contains(&name))
}

/// Serves one of these.
///
/// # Errors
/// 404 if the pod is not there, 501 if this server has no node, and what the node says.
pub(crate) async fn serve<B>(
    context: &Context,
    target: &Target,
    _query: &Query,
    mut request: Request<B>,
) -> Result<Response<Body>, Status>
where
    B: Send,
{
    let stored = verbs::stored(&context.state, target)?;
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
