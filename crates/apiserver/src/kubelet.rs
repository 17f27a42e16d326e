//! The door between the API server and whoever runs pods.
//!
//! The API server serves `pods/{log,exec,attach,portforward}` but runs nothing itself. A node implements
//! [`Kubelet`] and registers itself with the server; the server authenticates, authorizes, chooses the
//! container, and speaks the streaming protocols. Nothing here knows about HTTP framing or processes.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

/// How many chunks a session's channel holds before its producer waits.
pub const SESSION_QUEUE: usize = 32;

/// One container of one pod, as the API server resolved it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// UID of the pod: a pod that was made again under the same name is another target.
    pub uid: String,
    /// Name of the container. Empty for a port-forward, which is about the pod as a whole.
    pub container: String,
}

/// What `kubectl logs` may ask for; the fields of `v1.PodLogOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Keep the stream open and send what is written from now on, until the container has ended.
    pub follow: bool,
    /// The log of the container's instance before the current one.
    pub previous: bool,
    /// Prefix each line with the RFC 3339 time at which it was written.
    pub timestamps: bool,
    /// Only lines written at or after this many seconds before now.
    pub since_seconds: Option<i64>,
    /// Only lines written at or after this RFC 3339 time.
    pub since_time: Option<String>,
    /// Only the last so many lines. `None` means all of them.
    pub tail_lines: Option<usize>,
    /// Stop after this many bytes.
    pub limit_bytes: Option<u64>,
    /// Which of the container's outputs. `None` means both.
    pub stream: Option<LogSource>,
}

/// One of the two outputs of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A command to run inside a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecOptions {
    /// Program and arguments. Not a shell line.
    pub command: Vec<String>,
    /// Which streams are connected.
    pub streams: Streams,
}

/// Which streams of a session are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// Send input.
    pub stdin: bool,
    /// Receive standard output.
    pub stdout: bool,
    /// Receive standard error. Never together with `tty`, which merges both outputs.
    pub stderr: bool,
    /// Give the program a terminal.
    pub tty: bool,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The program ended with this code; death by signal `N` is `128 + N`, as shells and runtimes have it.
    Code(i32),
    /// The program could not be started or watched; the text says why.
    Failed(String),
}

/// A running command (exec) or a view on a running container (attach).
///
/// An exec'd program is killed when its session is dropped before the end: a client that has gone leaves
/// nothing running. A container that was attached to goes on.
pub struct Session {
    /// Input for the program; dropping the sender is end-of-file. `None` when not asked for.
    pub stdin: Option<mpsc::Sender<Bytes>>,
    /// Standard output, closed when the program is done with it. `None` when not asked for.
    pub stdout: Option<mpsc::Receiver<Bytes>>,
    /// Standard error, closed when the program is done with it. `None` when not asked for.
    pub stderr: Option<mpsc::Receiver<Bytes>>,
    /// Changes of the terminal's size. `None` without a terminal.
    pub resize: Option<mpsc::Sender<TerminalSize>>,
    /// Resolves when the program has ended. Output that was written before is in the channels by then, or comes.
    pub exit: BoxFuture<'static, Exit>,
}

/// Both directions of one forwarded connection.
pub trait Connection: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Connection for T {}

/// Why a node could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// This node does not run that pod or container (any more).
    #[error("{0}")]
    NotFound(String),
    /// The pod is here, and the request does not fit its state: not started, no previous instance, ….
    #[error("{0}")]
    BadRequest(String),
    /// The node failed.
    #[error("{what}: {source}")]
    Internal {
        /// What was being done, to what.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

/// What a node offers to the API server. Object-safe: the server holds an `Arc<dyn Kubelet>`.
///
/// Returned futures, streams and sessions own what they need, so the caller can hand them to other tasks.
pub trait Kubelet: Send + Sync + 'static {
    /// Whether the pods of this node are its. Those of other nodes are asked for where their `Node` says that their kubelet is.
    /// Default: yes, of every node.
    fn runs(&self, node: &str) -> bool {
        let _every = node;
        true
    }

    /// The log of a container, in chunks of at most some tens of kilobytes. With `follow` the stream ends with the
    /// container; without, with the file.
    fn logs(
        &self,
        target: Target,
        options: LogOptions,
    ) -> BoxFuture<'static, Result<BoxStream<'static, io::Result<Bytes>>, KubeletError>>;

    /// Starts a command inside a running container.
    fn exec(&self, target: Target, options: ExecOptions)
    -> BoxFuture<'static, Result<Session, KubeletError>>;

    /// Connects to the streams of a running container, from now on.
    fn attach(&self, target: Target, streams: Streams) -> BoxFuture<'static, Result<Session, KubeletError>>;

    /// Opens a connection to a TCP port of the pod.
    fn port_forward(
        &self,
        target: Target,
        port: u16,
    ) -> BoxFuture<'static, Result<Pin<Box<dyn Connection>>, KubeletError>>;
}
