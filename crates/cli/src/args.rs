//! The command line: one definition that parsing, `--help` and completions come from.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::ui::Output;

/// Builds, tests, ships and runs Kubernetes operators, with a real Kubernetes API in every test.
#[derive(Debug, Parser)]
#[command(
    name = "pilothouse",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// What to log to standard error, as tracing filters: `info`, `pilothouse_protection=debug`
    #[arg(long, global = true, env = "PILOTHOUSE_LOG", default_value = "warn", value_name = "FILTER")]
    pub(crate) log: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Backs up, destroys and restores an application, from nothing and in seconds
    Demo(DemoArgs),
    /// Runs the embedded Kubernetes API until it is interrupted, and prints its KUBECONFIG
    Cluster(ClusterArgs),
    /// Prints the folder for KUBEBUILDER_ASSETS: etcd and kube-apiserver for suites that use envtest
    Envtest(pilothouse_envtest::FolderArguments),
    /// Runs one of the operators against the cluster that KUBECONFIG names, or that it runs in
    Run(RunArgs),
    /// Prints shell completions, to be sourced or put where your shell looks for them
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Prints what the embedded API costs: time from its start to its first answer, and resident memory
    Measure(MeasureArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Which application
    #[command(subcommand)]
    pub(crate) application: Option<Application>,

    /// Play on the cluster that KUBECONFIG names instead of an embedded one
    #[arg(long, global = true)]
    pub(crate) existing: bool,

    /// The image that the demo's containers use on an existing cluster; it needs `sh`, `tar`, `gzip` and `kando`
    #[arg(long, global = true, default_value = "localhost/pilothouse-demo:1", value_name = "IMAGE")]
    pub(crate) image: String,

    /// Leave everything running at the end, to look around with kubectl, until interrupted
    #[arg(long, global = true)]
    pub(crate) keep: bool,

    /// How to talk
    #[arg(long, short, global = true, value_enum, default_value_t)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Application {
    /// A journal of numbered records with checksums, written by plain `sh` (the default)
    Journal,
    /// A real PostgreSQL server with rows to count, the upstream Blueprint, and an S3 bucket
    Postgres(PostgresArgs),
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PostgresArgs {
    /// The number of rows
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) rows: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Keep the cluster in this folder across restarts (default: it lives as long as the process)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Where to listen; loopback only. Port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub(crate) listen: SocketAddr,

    /// Write the kubeconfig to this file instead of a temporary one
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Run no node: pods stay Pending, as under envtest
    #[arg(long)]
    pub(crate) no_node: bool,

    /// Run no controllers at all: only the API
    #[arg(long)]
    pub(crate) no_controllers: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(subcommand)]
    pub(crate) operator: Operator,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Operator {
    /// Backup and restore of stateful applications: Kanister's API
    Protection(ProtectionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProtectionArgs {
    /// Create or update the CRDs first
    #[arg(long)]
    pub(crate) install_crds: bool,

    /// Where to serve /metrics, /healthz and /readyz (default: nowhere)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
}

#[derive(Debug, Args)]
pub(crate) struct MeasureArgs {
    /// How many starts to measure
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) starts: u32,

    /// How to talk
    #[arg(long, short, value_enum, default_value_t)]
    pub(crate) output: Output,
}
