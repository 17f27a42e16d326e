//! Port-forward over SPDY: two streams for each TCP connection, one for its data and one for what went wrong, which
//! belong together by their `requestid` header.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::connection::{Connection, Output, Stream};
use crate::kubelet::{self, Kubelet, Target};

/// How many streams may wait for their other half.
const MAX_HALVES: usize = 64;
/// How much is sent at once, in bytes.
const CHUNK: usize = 32 * 1024;

/// Carries connections until the client has gone.
pub(in crate::streaming) async fn serve_port_forward<S>(io: S, kubelet: Arc<dyn Kubelet>, target: Target)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut connection = Connection::new(io);
    let mut halves: HashMap<String, Stream> = HashMap::new();
    let mut forwards = JoinSet::new();
    loop {
        let stream = tokio::select! {
            stream = connection.accept() => stream,
            Some(_) = forwards.join_next() => continue,
        };
        let Some(stream) = stream else { break };
        // Old clients send no request id: their data stream comes right after its error stream.
        let id = stream.headers.get("requestid").unwrap_or_default().to_owned();
        let Some(other) = halves.remove(&id) else {
            if halves.len() < MAX_HALVES {
                halves.insert(id, stream);
            }
            continue;
        };
        let (error, data) = match (kind(&other), kind(&stream)) {
            ("error", "data") => (other, stream),
            ("data", "error") => (stream, other),
            kinds => {
                tracing::debug!(?kinds, "a client opened two streams that do not belong together");
                continue;
            }
        };
        forwards.spawn(forward(Arc::clone(&kubelet), target.clone(), data, error.output));
    }
    // Connections of a client that has gone end with it: dropping the set aborts them.
}

fn kind(stream: &Stream) -> &str {
    stream.headers.get("streamtype").unwrap_or_default()
}

async fn forward(kubelet: Arc<dyn Kubelet>, target: Target, data: Stream, error: Output) {
    let asked = data.headers.get("port").unwrap_or_default();
    let port = asked.parse::<u16>().ok().filter(|port| *port > 0);
    let Stream { input, output, .. } = data;
    let refusal = match port {
        None => format!("unable to parse {asked:?} as a port"),
        Some(port) => match kubelet.port_forward(target.clone(), port).await {
            Ok(connection) => {
                carry(connection, input, output).await;
                error.finish().await;
                return;
            }
            Err(refused) => {
                let Target { pod, uid, .. } = target;
                format!("error forwarding port {port} to pod {pod}, uid {uid}: {refused}")
            }
        },
    };
    error.send(refusal.into()).await;
    output.finish().await;
    error.finish().await;
}

async fn carry(
    connection: Pin<Box<dyn kubelet::Connection>>,
    mut input: mpsc::Receiver<Bytes>,
    output: Output,
) {
    let (mut reader, mut writer) = tokio::io::split(connection);
    let inbound = async {
        while let Some(chunk) = input.recv().await {
            if writer.write_all(&chunk).await.is_err() {
                break;
            }
        }
        let _ = writer.shutdown().await;
        // The rest is read over, so that one deaf port does not hold up the others.
        while input.recv().await.is_some() {}
    };
    let outbound = async {
        let mut buffer = BytesMut::with_capacity(CHUNK);
        while let Ok(1..) = reader.read_buf(&mut buffer).await {
            if !output.send(buffer.split().freeze()).await {
                break;
            }
            buffer.reserve(CHUNK);
        }
        output.finish().await;
    };
    // The pod's side decides: when it has closed, the connection is over, whatever the client still sends.
    tokio::pin!(inbound, outbound);
    tokio::select! {
        () = &mut outbound => {}
        () = &mut inbound => outbound.await,
    }
}
