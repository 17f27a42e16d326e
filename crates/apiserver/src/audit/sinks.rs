//! Where the audit log is written to: a file, standard output, or a server that is sent batches.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use pilothouse_store::Clock;
use pilothouse_value::{Value, json};
use tokio::sync::mpsc;

use super::file::{AuditRotation, RotatedFile};
use super::legacy;
use crate::webhook::Remote;

/// Takes the events of an audit log.
pub trait AuditSink: Send + Sync {
    /// Takes an event, a document of the kind `Event` of `audit.k8s.io/v1`. It must not wait for long.
    fn take(&self, event: Value);
}

/// How an event is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditFormat {
    /// As JSON.
    #[default]
    Json,
    /// As text that has less (`--audit-log-format=legacy`).
    Legacy,
}

/// Writes each event on a line of its own.
pub struct AuditLines {
    out: Mutex<Box<dyn Write + Send>>,
    format: AuditFormat,
}

impl std::fmt::Debug for AuditLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLines").finish_non_exhaustive()
    }
}

impl AuditLines {
    /// Appends JSON to a file, which is made if it is not there, and makes room for itself by this clock; `-` is standard
    /// output.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &str, rotation: AuditRotation, clock: Clock) -> std::io::Result<AuditLines> {
        if path == "-" {
            return Ok(AuditLines::to(std::io::stdout()));
        }
        Ok(AuditLines::to(RotatedFile::open(Path::new(path), rotation, clock)?))
    }

    /// Writes JSON here. Each line comes in one piece.
    pub fn to(out: impl Write + Send + 'static) -> AuditLines {
        AuditLines { out: Mutex::new(Box::new(out)), format: AuditFormat::Json }
    }

    /// Writes events in this format.
    #[must_use]
    pub fn format(mut self, format: AuditFormat) -> AuditLines {
        self.format = format;
        self
    }
}

impl AuditSink for AuditLines {
    fn take(&self, event: Value) {
        let mut line = Vec::new();
        match self.format {
            AuditFormat::Json => event.write_json(&mut line),
            AuditFormat::Legacy => line = legacy::line(&event).into_bytes(),
        }
        line.push(b'\n');
        if let Err(error) = self.out.lock().write_all(&line) {
            tracing::warn!(%error, "writing the audit log");
        }
    }
}

/// Events that wait to be sent.
const WAITING: usize = 10_000;
/// Events that are sent at once.
const BATCH: usize = 400;

/// Sends events to the server of a kubeconfig, in batches.
#[derive(Debug)]
pub struct AuditWebhook(mpsc::Sender<Value>);

impl AuditWebhook {
    /// Sends a batch when it is full, or when its first event has waited for so long. It must be called inside a tokio
    /// runtime, in which the batches are sent.
    ///
    /// # Errors
    /// If the kubeconfig cannot be used.
    pub fn start(kubeconfig: &str, longest_wait: Duration) -> Result<AuditWebhook, String> {
        AuditWebhook::of(kubeconfig, longest_wait, BATCH)
    }

    /// Sends each event alone, as soon as it comes. It must be called inside a tokio runtime.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn each_alone(kubeconfig: &str) -> Result<AuditWebhook, String> {
        AuditWebhook::of(kubeconfig, Duration::ZERO, 1)
    }

    fn of(kubeconfig: &str, longest_wait: Duration, batch: usize) -> Result<AuditWebhook, String> {
        let remote = Remote::of_file(kubeconfig)?;
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(send(remote, receiver, longest_wait, batch));
        Ok(AuditWebhook(sender))
    }
}

impl AuditSink for AuditWebhook {
    fn take(&self, event: Value) {
        if self.0.try_send(event).is_err() {
            tracing::warn!("an event is not in the audit log: too many wait to be sent");
        }
    }
}

async fn send(remote: Remote, mut events: mpsc::Receiver<Value>, longest_wait: Duration, most: usize) {
    while let Some(first) = events.recv().await {
        let mut batch = vec![first];
        let deadline = tokio::time::Instant::now() + longest_wait;
        while batch.len() < most {
            match tokio::time::timeout_at(deadline, events.recv()).await {
                Ok(Some(event)) => batch.push(event),
                Ok(None) | Err(_) => break,
            }
        }
        for event in &mut batch {
            // The list says what its items are.
            event.take(&["kind"]);
            event.take(&["apiVersion"]);
        }
        let mut list = json!({"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}});
        list.set(&["items"], batch);
        if let Err(error) = remote.post(list.to_json().into()).await {
            tracing::warn!(error, "sending the audit log");
        }
    }
}
