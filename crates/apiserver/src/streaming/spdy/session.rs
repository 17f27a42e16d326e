//! Exec and attach over SPDY: one stream each for errors, input, output and the terminal's size.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use super::connection::{Connection, Output, Stream};
use crate::kubelet::{Session, Streams, TerminalSize};
use crate::streaming::outcome::{ErrorStyle, last_word};
use crate::streaming::websocket::terminal_size;

/// How long a client may take to open the streams it asked for (`DefaultStreamCreationTimeout`).
const STREAMS_TIMEOUT: Duration = Duration::from_secs(30);
/// The most that is kept while a message with a terminal's size is cut in two, in bytes.
const MAX_SIZE_MESSAGE: usize = 1024;

/// One of the `channel.k8s.io` protocols, as they differ over SPDY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::streaming) struct Dialect {
    errors: ErrorStyle,
    resizes: bool,
}

impl Dialect {
    /// All names, in the order in which a server prefers them.
    pub(in crate::streaming) const NAMES: &[&str] =
        &["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];

    /// The first offered protocol that is spoken here. A client that offers none speaks the oldest.
    pub(in crate::streaming) fn choose(offered: &[String]) -> Option<(Option<&str>, Self)> {
        if offered.is_empty() {
            return Some((None, Self { errors: ErrorStyle::Text, resizes: false }));
        }
        offered.iter().find_map(|name| {
            let dialect = match name.as_str() {
                "v4.channel.k8s.io" => Self { errors: ErrorStyle::Document, resizes: true },
                "v3.channel.k8s.io" => Self { errors: ErrorStyle::Text, resizes: true },
                "v2.channel.k8s.io" | "channel.k8s.io" => Self { errors: ErrorStyle::Text, resizes: false },
                _ => return None,
            };
            Some((Some(name.as_str()), dialect))
        })
    }

    /// A port-forward has no dialects.
    pub(in crate::streaming) fn for_port_forward() -> Self {
        Self { errors: ErrorStyle::Text, resizes: false }
    }
}

/// Speaks for a session until it has ended or the client has gone.
pub(in crate::streaming) async fn serve_session<S>(
    io: S,
    dialect: Dialect,
    session: Session,
    streams: Streams,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut connection = Connection::new(io);
    let wanted = Wanted::gather(&mut connection, dialect, streams);
    let Ok(Some(wanted)) = tokio::time::timeout(STREAMS_TIMEOUT, wanted).await else {
        tracing::debug!("a client did not open the streams that it asked for");
        return;
    };
    let Session { stdin, stdout, stderr, resize, exit } = session;
    let output = async {
        tokio::join!(
            copy_out(stdout, wanted.stdout.map(|stream| stream.output)),
            copy_out(stderr, wanted.stderr.map(|stream| stream.output)),
        );
        let exit = exit.await;
        if let Some(error) = wanted.error {
            if let Some(text) = last_word(&exit, dialect.errors) {
                error.output.send(text.into()).await;
            }
            error.output.finish().await;
        }
    };
    let input = async {
        tokio::join!(
            copy_in(wanted.stdin.map(|stream| stream.input), stdin),
            copy_sizes(wanted.resize.map(|stream| stream.input), resize),
        );
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = output => {}
        () = input => {}
        () = connection.gone() => return,
    }
    connection.close().await;
}

#[derive(Default)]
struct Wanted {
    error: Option<Stream>,
    stdin: Option<Stream>,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    resize: Option<Stream>,
}

impl Wanted {
    /// Waits until all streams are there. `None` when the client goes before.
    async fn gather(connection: &mut Connection, dialect: Dialect, streams: Streams) -> Option<Self> {
        let mut wanted = Self::default();
        let missing = |wanted: &Self| {
            wanted.error.is_none()
                || (streams.stdin && wanted.stdin.is_none())
                || (streams.stdout && wanted.stdout.is_none())
                || (streams.stderr && wanted.stderr.is_none())
                || (streams.tty && dialect.resizes && wanted.resize.is_none())
        };
        while missing(&wanted) {
            let stream = connection.accept().await?;
            let slot = match stream.headers.get("streamtype").unwrap_or_default() {
                "error" => &mut wanted.error,
                "stdin" => &mut wanted.stdin,
                "stdout" => &mut wanted.stdout,
                "stderr" => &mut wanted.stderr,
                "resize" => &mut wanted.resize,
                other => {
                    tracing::debug!(
                        stream = other,
                        "a client opened a stream that means nothing in a session"
                    );
                    return None;
                }
            };
            *slot = Some(stream);
        }
        Some(wanted)
    }
}

async fn copy_out(from: Option<mpsc::Receiver<Bytes>>, to: Option<Output>) {
    if let Some(mut from) = from {
        while let Some(chunk) = from.recv().await {
            if let Some(to) = &to
                && !to.send(chunk).await
            {
                return;
            }
        }
    }
    if let Some(to) = to {
        to.finish().await;
    }
}

async fn copy_in(from: Option<mpsc::Receiver<Bytes>>, to: Option<mpsc::Sender<Bytes>>) {
    let (Some(mut from), Some(to)) = (from, to) else { return };
    while let Some(chunk) = from.recv().await {
        if to.send(chunk).await.is_err() {
            // The program no longer reads: what still comes is read over, so that the connection keeps moving.
            while from.recv().await.is_some() {}
        }
    }
}

/// Sizes are JSON documents one after the other, without anything between them but white space.
async fn copy_sizes(from: Option<mpsc::Receiver<Bytes>>, to: Option<mpsc::Sender<TerminalSize>>) {
    let (Some(mut from), Some(to)) = (from, to) else { return };
    let mut buffer = BytesMut::new();
    while let Some(chunk) = from.recv().await {
        buffer.extend_from_slice(&chunk);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'}') {
            let document = buffer.split_to(end + 1);
            if let Some(size) = terminal_size(&document) {
                let _ = to.send(size).await;
            }
        }
        if buffer.len() > MAX_SIZE_MESSAGE {
            buffer.clear();
        }
    }
}
