//! Why a test failed.

use std::time::Duration;

use thiserror::Error;

/// The result of what a test does with its cluster.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Why something did not go as the test expects.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster of the test could not be started.
    #[error("cannot start the cluster of this test: {0}")]
    Start(String),
    /// A request of the test failed.
    #[error("cannot {action} {object}: {source}")]
    Request {
        /// The verb.
        action: &'static str,
        /// Resource, namespace and name.
        object: String,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// The operator under test failed.
    #[error(transparent)]
    Operator(#[from] pilothouse_runtime::Error),
    /// A state did not come.
    #[error("{object}: the state that the test waits for did not come within {} s\n{report}", .limit.as_secs())]
    NotEventually {
        /// Resource, namespace and name.
        object: String,
        /// How long was waited, on the test's clock.
        limit: Duration,
        /// What was seen last, and how it came to that.
        report: String,
    },
    /// The operator did not come to rest.
    #[error("the operator does not come to rest: {0}")]
    NotIdle(String),
    /// The operator still writes although nothing changes.
    #[error(
        "the operator is not quiet: nothing has changed, and it still wrote\n{writes}\nhint: write only what differs"
    )]
    NotQuiet {
        /// One line for each writing request.
        writes: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {file}: {source}")]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A generated file is not what it should be.
    #[error(
        "{file} is stale\n{diff}\nhint: run the test again with PILOTHOUSE_UPDATE=1 to write it, and commit it"
    )]
    Stale {
        /// The file.
        file: String,
        /// What differs.
        diff: String,
    },
}

/// So that a test can use `?` for both, whichever it returns.
impl From<Error> for pilothouse_runtime::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Operator(error) => error,
            other => Self::terminal("TestFailed", other),
        }
    }
}
