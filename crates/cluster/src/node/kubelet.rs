//! What the API server asks of the node.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use pilothouse_apiserver::kubelet::{
    Connection, ExecOptions, Kubelet, KubeletError, LogOptions, Session, Streams, Target,
};
use tokio::net::TcpStream;

use super::container::Container;
use super::{Shared, session};

/// The node, as the API server sees it.
pub(super) struct ProcessKubelet(Arc<Shared>);

impl ProcessKubelet {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    fn container(&self, target: &Target) -> Result<Arc<Container>, KubeletError> {
        let pods = self.0.pods.lock();
        let entry = pods.get(&target.uid).ok_or_else(|| {
            KubeletError::NotFound(format!("pod {}_{} not found on this node", target.pod, target.namespace))
        })?;
        let container = entry.containers.get(&target.container).cloned();
        container
            .ok_or_else(|| KubeletError::NotFound(format!("container not found ({:?})", target.container)))
    }
}

fn not_running(target: &Target) -> KubeletError {
    KubeletError::NotFound(format!("container not found ({:?}): it does not run", target.container))
}

impl Kubelet for ProcessKubelet {
    fn runs(&self, node: &str) -> bool {
        self.0.api.node() == node
    }

    fn logs(
        &self,
        target: Target,
        options: LogOptions,
    ) -> BoxFuture<'static, Result<BoxStream<'static, io::Result<Bytes>>, KubeletError>> {
        let container = self.container(&target);
        let now = self.0.api.now();
        async move {
            let container = container?;
            let Target { pod, container: name, .. } = target;
            let log = container.log(options.previous).ok_or_else(|| {
                KubeletError::BadRequest(if options.previous {
                    format!("previous terminated container {name:?} in pod {pod:?} not found")
                } else {
                    format!(
                        "container {name:?} in pod {pod:?} is waiting to start: {}",
                        container.why_waiting()
                    )
                })
            })?;
            log.read(options, now).map_err(|source| KubeletError::Internal {
                what: format!("reading the log of container {name:?} of pod {pod:?}"),
                source,
            })
        }
        .boxed()
    }

    fn exec(
        &self,
        target: Target,
        options: ExecOptions,
    ) -> BoxFuture<'static, Result<Session, KubeletError>> {
        let live = self.container(&target).and_then(|one| one.live().ok_or_else(|| not_running(&target)));
        async move { session::exec(live?, options).await }.boxed()
    }

    fn attach(&self, target: Target, streams: Streams) -> BoxFuture<'static, Result<Session, KubeletError>> {
        let live = self
            .container(&target)
            .and_then(|one| one.live_to_attach(streams.stdin).ok_or_else(|| not_running(&target)));
        async move { Ok(session::attach(live?, streams)) }.boxed()
    }

    fn port_forward(
        &self,
        target: Target,
        port: u16,
    ) -> BoxFuture<'static, Result<Pin<Box<dyn Connection>>, KubeletError>> {
        let ip = self.0.ip(&target.uid);
        async move {
            let Some(ip) = ip else {
                return Err(KubeletError::NotFound(format!("pod {} not found on this node", target.pod)));
            };
            match TcpStream::connect((ip, port)).await {
                Ok(stream) => Ok(Box::pin(stream) as Pin<Box<dyn Connection>>),
                Err(source) => {
                    Err(KubeletError::Internal { what: format!("connecting to {ip}:{port}"), source })
                }
            }
        }
        .boxed()
    }
}
