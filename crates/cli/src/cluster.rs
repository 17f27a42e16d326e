//! `pilothouse cluster`, and the embedded cluster that the demo plays on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pilothouse_apiserver::{Listening, Server, User};
use pilothouse_cluster::{Cluster, NodeOptions, Options};
use pilothouse_value::Gvr;
use tempfile::TempDir;

use crate::args::ClusterArgs;
use crate::error::{Error, Result};

/// An API server with controllers and a node, in this process, in a folder of its own.
pub(crate) struct Embedded {
    server: Server,
    cluster: Option<Cluster>,
    listening: Listening,
    /// Removed at the end, with everything that the cluster has written.
    folder: TempDir,
    first_answer: Duration,
}
