//! The client that an operator's controllers get: every request is counted.

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use crate::metrics::Metrics;

/// A client that sends through `client` and counts in `metrics`.
pub(crate) fn observed(client: Client, metrics: Metrics) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, metrics) = (client.clone(), metrics.clone());
        async move {
            let method = request.method().clone();
            // The base address is put in below this layer, so that there is no host to tell.
            let host = request.uri().host().map(str::to_owned);
            if method != Method::GET {
                metrics.wrote();
            }
            let answer = client.send(request).await;
            let code = answer.as_ref().ok().map(|response| response.status().as_u16());
            metrics.request(&method, host.as_deref(), code);
            answer
        }
    });
    Client::new(service, namespace)
}
