//! Ending in good order: first a request to stop, then a grace period, then an abort.

use std::io;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The background tasks of an operator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) tracker: TaskTracker,
    /// Cancelled when the grace period is over.
    pub(crate) abort: CancellationToken,
}

/// Waits for SIGTERM (which Kubernetes sends) or SIGINT (Ctrl-C).
///
/// # Errors
/// When the process may not listen to signals.
pub async fn signal() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => Ok(()),
            interrupted = tokio::signal::ctrl_c() => interrupted,
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
