//! What goes wrong in a command, in words for the person who ran it.

/// A command failed. `Display` says what was being done, why it failed and what to try.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A request to the cluster failed.
    #[error("{doing}: {}\nhint: {hint}", said(source))]
    Cluster {
        doing: String,
        #[source]
        source: Box<kube::Error>,
        hint: &'static str,
    },
    /// Something that should have come to pass did not, within its bound.
    #[error("{doing}: not after {seconds} s; last seen: {seen}\nhint: {hint}")]
    TimedOut { doing: String, seconds: u64, seen: String, hint: String },
    /// What was seen is not what must be.
    #[error("{what}: {seen}\nhint: {hint}")]
    Wrong { what: String, seen: String, hint: String },
    /// The machine lacks something, or refused it.
    #[error("{doing}: {why}\nhint: {hint}")]
    Machine { doing: String, why: String, hint: String },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// The command failed and has said so itself.
    #[error("failed")]
    Shown,
}

pub(crate) type Result<T = (), E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of the machine, with what to do about it.
    pub(crate) fn machine(doing: impl Into<String>, why: impl ToString, hint: impl Into<String>) -> Self {
        Self::Machine { doing: doing.into(), why: why.to_string(), hint: hint.into() }
    }

    /// Something that was seen and must not be, with what to do about it.
    pub(crate) fn wrong(what: impl Into<String>, seen: impl ToString, hint: impl Into<String>) -> Self {
        Self::Wrong { what: what.into(), seen: seen.to_string(), hint: hint.into() }
    }
}

/// What the server said, without the client's wrapping.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Adds to a client's error what was being done.
pub(crate) trait Doing<T> {
    /// `doing` is a phrase such as `creating the namespace demo`.
    fn doing(self, doing: impl Into<String>) -> Result<T>;
}

impl<T> Doing<T> for std::result::Result<T, kube::Error> {
    fn doing(self, doing: impl Into<String>) -> Result<T> {
        self.map_err(|source| {
            let hint = match &source {
                kube::Error::Api(status) if status.code == 403 => {
                    "the user lacks this permission; see `kubectl auth can-i --list`"
                }
                kube::Error::Api(status) if status.code == 404 => {
                    "something the step stands on is missing; run again with --log debug"
                }
                kube::Error::Api(_) => {
                    "the API server says why; run again with --log debug for every request"
                }
                _ => "is the cluster there? `kubectl get --raw /readyz` asks it",
            };
            Error::Cluster { doing: doing.into(), source: Box::new(source), hint }
        })
    }
}
