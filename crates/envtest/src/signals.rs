//! When a tool is told to end.

use tokio::signal::unix::{SignalKind, signal};

use crate::Error;

/// Listens for SIGTERM and SIGINT from now on; the future it returns resolves at the first one.
///
/// # Errors
/// If the process cannot have handlers.
pub(crate) fn termination() -> Result<impl Future<Output = ()>, Error> {
    let fail =
        |e| Error::machine("listening for signals", e, "are there file descriptors left? see ulimit -n");
    let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
