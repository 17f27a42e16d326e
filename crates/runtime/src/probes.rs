//! The server of `/metrics`, `/healthz`, `/livez` and `/readyz`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::metrics::Metrics;

/// Connections that are served at a time.
const CONNECTIONS: usize = 100;

/// What the answers are made of.
#[derive(Clone, Debug)]
pub(crate) struct Probes {
    pub(crate) metrics: Metrics,
    pub(crate) cache: Cache,
    pub(crate) shutdown: CancellationToken,
}

impl Probes {
    /// Listens on `address` (port 0 chooses a free one) and answers until `end`. Returns the real address.
    pub(crate) async fn listen(self, address: SocketAddr, end: CancellationToken) -> Result<SocketAddr> {
        let cannot = |source| Error::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        tokio::spawn(async move { end.run_until_cancelled_owned(self.accept(listener)).await });
        Ok(address)
    }

    async fn accept(self, listener: TcpListener) {
        // Connections end with this future.
        let mut connections = JoinSet::new();
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection to the probes");
                        // Out of file handles, most likely: the next one may have luck.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            };
            if connections.len() >= CONNECTIONS {
                tracing::warn!("too many connections to the probes; one is closed");
                continue;
            }
            let probes = self.clone();
            connections.spawn(async move {
                let service = service_fn(move |request| {
                    let answer = probes.answer(&request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service);
                // A broken connection is the client's affair.
                let _ = connection.await;
            });
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (status, kind, body) = self.page(request.uri().path());
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
        response
    }

    /// The answer to a path: status, content type, text.
    pub(crate) fn page(&self, path: &str) -> (StatusCode, &'static str, String) {
        const TEXT: &str = "text/plain; charset=utf-8";
        match path {
            "/metrics" => (
                StatusCode::OK,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                self.metrics.encode(),
            ),
            "/healthz" | "/livez" => (StatusCode::OK, TEXT, "ok".to_owned()),
            "/readyz" => self.ready(TEXT),
            _ => (
                StatusCode::NOT_FOUND,
                TEXT,
                format!("there is no page {path}\nhint: /metrics, /healthz, /livez, /readyz\n"),
            ),
        }
    }

    fn ready(&self, kind: &'static str) -> (StatusCode, &'static str, String) {
        let statuses = self.cache.statuses();
        let stopping = self.shutdown.is_cancelled();
        let ready = !stopping && statuses.iter().all(|status| status.is_ready());
        let mut text = String::new();
        for status in statuses {
            text.push_str(&format!("{status}\n"));
        }
        if stopping {
            text.push_str("[-]shutdown: the operator is shutting down\n");
        }
        text.push_str(if ready { "readyz check passed\n" } else { "readyz check failed\n" });
        (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, kind, text)
    }
}
