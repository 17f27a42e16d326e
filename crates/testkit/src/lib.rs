//! A cluster in a test: a real Kubernetes API in the process, objects put in, states waited for, an operator run as its
//! own service account with the permissions that it declares. It owns what only tests need. It is the bridge: the one
//! place beside the command line where both the API server and the operator's engine are seen; nothing of it is linked
//! into an operator.
//!
//! ```
//! use pilothouse::prelude::*;
//! use pilothouse_testkit::Cluster;
//!
//! #[pilothouse::test]
//! async fn objects_are_kept(cluster: Cluster) -> Result {
//!     let mut settings = ConfigMap::default();
//!     settings.metadata.name = Some("settings".to_owned());
//!     cluster.apply(settings).await?;
//!     cluster.eventually::<ConfigMap>("settings", |found| found.data.is_none()).await?;
//!     Ok(())
//! }
//! ```
//!
//! Each test has a cluster of its own, so tests run in parallel. With `PILOTHOUSE_TEST_KUBECONFIG=FILE` the same tests
//! run on the cluster that the file names, each in a namespace of its own.

mod cluster;
mod diff;
mod environment;
mod error;
mod files;
mod operator;
mod record;
mod wait;

use std::fmt;

pub use pilothouse_macros::test;

pub use crate::cluster::Cluster;
pub use crate::diff::diff;
pub use crate::error::{Error, Result};
pub use crate::files::{Manifest, assert_manifests, cluster_role};
pub use crate::operator::Operator;
pub use crate::record::Fault;

/// What a test asks of its cluster.
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    real_clock: bool,
    controllers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { real_clock: false, controllers: true }
    }
}

impl Options {
    /// Let the clock run: for tests with processes or sockets, whose work a jumping clock would overtake.
    pub fn real_clock(mut self) -> Self {
        self.real_clock = true;
        self
    }

    /// Whether the controllers of a cluster run (garbage collection, namespaces, workloads); the default is that they do.
    pub fn controllers(mut self, controllers: bool) -> Self {
        self.controllers = controllers;
        self
    }
}

/// How a test ends: nothing, or a `Result` whose error can be shown.
pub trait Outcome {
    /// The text of the failure.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<T, E: fmt::Display> Outcome for std::result::Result<T, E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// Runs a test on a cluster of its own. `#[pilothouse::test]` calls it.
///
/// # Panics
/// When the cluster cannot be started, and when the test fails: this is how a test says so.
pub fn run<O: Outcome, F: Future<Output = O>>(options: Options, test: impl FnOnce(Cluster) -> F) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    if !options.real_clock && !environment::is_external() {
        builder.start_paused(true);
    }
    let failure = match builder.build() {
        Err(error) => Some(format!("cannot start the runtime of the test: {error}")),
        Ok(runtime) => runtime.block_on(async {
            match Cluster::start(&options).await {
                Err(error) => Some(error.to_string()),
                Ok(cluster) => {
                    let failure = test(cluster.clone()).await.failure();
                    cluster.stop().await;
                    failure
                }
            }
        }),
    };
    if let Some(failure) = failure {
        fail(&failure);
    }
}

#[allow(clippy::panic, reason = "a panic is how a test fails")]
#[track_caller]
pub(crate) fn fail(text: &str) -> ! {
    panic!("{text}")
}
