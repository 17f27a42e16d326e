//! What can go wrong in a reconcile, and what that means for the next try.

use std::error::Error as StdError;
use std::time::Duration;

use thiserror::Error;

use crate::object::Key;

/// A boxed cause.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// The result of everything in this crate that can fail.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Why a reconcile, a plan or a start failed. [`Error::reason`] is a CamelCase word for it, which serves as the
/// reason of events and conditions and as a label of metrics.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A request to the Kubernetes API failed.
    #[error("{}", request_text(.0))]
    Kubernetes(#[from] kube::Error),
    /// A request that is part of a plan, a watch or a start failed.
    #[error("cannot {action} {object}: {}", request_text(.source))]
    Request {
        /// The verb and what for: `apply`, `remove`, `write the status of`.
        action: &'static str,
        /// Resource, namespace and name.
        object: String,
        /// The answer of the server, or why there was none.
        source: kube::Error,
    },
    /// The connection settings could not be found.
    #[error(
        "cannot find out how to reach Kubernetes: {0}\n\
         hint: set KUBECONFIG, or run in a pod that has a service account"
    )]
    Config(#[source] BoxError),
    /// An object could not be written as or read from JSON.
    #[error("cannot convert {what} to or from JSON: {source}")]
    Json {
        /// What was converted.
        what: String,
        /// Where it failed.
        source: serde_json::Error,
    },
    /// A guard held a plan back: nothing of the plan was done.
    #[error(transparent)]
    Refused(#[from] crate::plan::Refusal),
    /// A kind was read that the controller had not declared, so that there is no cache of it.
    #[error(
        "{controller} reads {kind} but did not declare it\n\
         hint: add `.reads::<{kind}>()` or `.owns::<{kind}>()` to its `declare`"
    )]
    Undeclared {
        /// The controller's name.
        controller: String,
        /// The kind that was read.
        kind: String,
    },
    /// The controller's own logic failed.
    #[error("{source}")]
    Failed {
        /// A CamelCase word.
        reason: &'static str,
        /// False when trying again makes no sense before the object changes.
        retry: bool,
        /// What failed.
        source: BoxError,
    },
    /// A reconcile panicked. It was contained; the object is tried again later.
    #[error(
        "the reconcile of {key} panicked: {message}\nhint: this is a bug in the controller; the log has the backtrace"
    )]
    Panicked {
        /// Which object.
        key: Key,
        /// The text of the panic.
        message: String,
    },
    /// A reconcile took longer than the controller's limit and was stopped.
    #[error(
        "the reconcile of {key} was stopped after {} s\n\
         hint: move long work to a background task, or raise the limit with `Declaration::timeout`",
        .limit.as_secs()
    )]
    TimedOut {
        /// Which object.
        key: Key,
        /// The limit.
        limit: Duration,
    },
    /// The caches were not filled in time.
    #[error("the caches are not ready after {} s:\n{failing}", .limit.as_secs())]
    NotReady {
        /// How long was waited.
        limit: Duration,
        /// One line for each watch that is not ready: resource, namespace, verb, reason.
        failing: String,
    },
    /// The server of metrics and probes could not listen.
    #[error("cannot serve metrics and probes on {address}: {source}\nhint: choose a free address")]
    Listen {
        /// The address asked for.
        address: String,
        /// Why not.
        source: std::io::Error,
    },
}

impl Error {
    /// The logic failed for `reason` (a CamelCase word); try again, later and later.
    pub fn failed(reason: &'static str, source: impl Into<BoxError>) -> Self {
        Self::Failed { reason, retry: true, source: source.into() }
    }

    /// The logic failed for `reason` (a CamelCase word) and will fail again until the object changes: it is
    /// not tried again before.
    pub fn terminal(reason: &'static str, source: impl Into<BoxError>) -> Self {
        Self::Failed { reason, retry: false, source: source.into() }
    }

    /// A CamelCase word for the failure.
    pub fn reason(&self) -> &str {
        match self {
            Self::Kubernetes(source) | Self::Request { source, .. } => request_reason(source),
            Self::Config(_) => "NoConfig",
            Self::Json { .. } => "BadJSON",
            Self::Refused(refusal) => refusal.reason(),
            Self::Undeclared { .. } => "Undeclared",
            Self::Failed { reason, .. } => reason,
            Self::Panicked { .. } => "Panicked",
            Self::TimedOut { .. } => "TimedOut",
            Self::NotReady { .. } => "CachesNotReady",
            Self::Listen { .. } => "CannotListen",
        }
    }

    /// True when the same object should be tried again without having changed.
    pub fn is_retriable(&self) -> bool {
        !matches!(self, Self::Failed { retry: false, .. } | Self::Undeclared { .. })
    }

    /// True when a write lost against a newer one: the next try sees it.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Kubernetes(kube::Error::Api(status))
            | Self::Request { source: kube::Error::Api(status), .. } => {
                status.code == 409 && status.reason == "Conflict"
            }
            _ => false,
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(source: serde_json::Error) -> Self {
        Self::Json { what: "a value".to_owned(), source }
    }
}

/// What the server said, without the repetition that `kube::Error` prints.
pub(crate) fn request_text(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => {
            let mut text = other.to_string();
            let mut source = other.source();
            while let Some(cause) = source {
                let cause_text = cause.to_string();
                if !text.contains(&cause_text) {
                    text.push_str(": ");
                    text.push_str(&cause_text);
                }
                source = cause.source();
            }
            text
        }
    }
}

/// The reason of a failed request: the server's own word, else `Unreachable` or `BadAnswer`.
pub(crate) fn request_reason(error: &kube::Error) -> &str {
    match error {
        kube::Error::Api(status) if !status.reason.is_empty() => &status.reason,
        kube::Error::Api(_) => "RequestFailed",
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => "BadAnswer",
        _ => "Unreachable",
    }
}
