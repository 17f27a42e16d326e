//! How each watch is doing, in words that name the kind, the namespace, the verb and the reason.

use std::fmt;

use parking_lot::RwLock;

/// How a watch is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// The first list has not arrived yet.
    Starting,
    /// The watch is up to date, as far as it can know.
    Watching,
    /// The last request failed. It is tried again, later and later.
    Failing {
        /// The verb that failed: `list` or `watch`.
        verb: &'static str,
        /// The server's reason, or `Disconnected`, `Unreachable`, `BadObject`.
        reason: String,
        /// The server's text.
        message: String,
        /// How many times in a row.
        failures: u32,
    },
}

/// One watch of the cache and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchStatus {
    /// The resource: `deployments.apps`.
    pub resource: String,
    /// The namespace that it is restricted to.
    pub namespace: Option<String>,
    /// True once the first complete list has arrived.
    pub synced: bool,
    /// How it is doing.
    pub health: Health,
    /// The last object that could not be decoded, and why. Such objects are left out; the others are served.
    pub undecodable: Option<String>,
}

impl WatchStatus {
    /// True when the cache has been filled and the watch is not failing.
    pub fn is_ready(&self) -> bool {
        self.synced && !matches!(self.health, Health::Failing { .. })
    }
}

impl fmt::Display for WatchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_ready() { "+" } else { "-" };
        write!(f, "[{sign}]watch {}", self.resource)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}")?,
            None => f.write_str(" in all namespaces")?,
        }
        match &self.health {
            Health::Starting => f.write_str(": waiting for the first list")?,
            Health::Watching => f.write_str(" ok")?,
            Health::Failing { verb, reason, message, failures } => {
                write!(f, ": {verb} failed {failures} times: {reason}: {message}")?;
                if reason == "Forbidden" {
                    f.write_str(" (hint: grant the rules of the controller's declaration to this user)")?;
                }
            }
        }
        if let Some(undecodable) = &self.undecodable {
            write!(f, "; left out: {undecodable}")?;
        }
        Ok(())
    }
}

/// The part of [`WatchStatus`] that changes.
#[derive(Debug)]
pub(crate) struct HealthCell(RwLock<(Health, Option<String>)>);

impl Default for HealthCell {
    fn default() -> Self {
        Self(RwLock::new((Health::Starting, None)))
    }
}

impl HealthCell {
    pub(crate) fn get(&self) -> (Health, Option<String>) {
        self.0.read().clone()
    }

    pub(crate) fn watching(&self) {
        if self.0.read().0 != Health::Watching {
            self.0.write().0 = Health::Watching;
        }
    }

    pub(crate) fn failing(&self, verb: &'static str, reason: &str, message: &str, failures: u32) {
        self.0.write().0 =
            Health::Failing { verb, reason: reason.to_owned(), message: message.to_owned(), failures };
    }

    pub(crate) fn undecodable(&self, text: String) {
        self.0.write().1 = Some(text);
    }
}
