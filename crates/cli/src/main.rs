//! The command `pilothouse`: the bridge between the embedded API and the operators, for people at a terminal.

mod args;
mod cluster;
mod demo;
mod error;
mod measure;
mod operator;
mod ui;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command, Operator};
use crate::error::{Error, Result};

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    // Under the name `kando` this is the tool that containers call; the node puts that name on their search path.
    if std::path::Path::new(&name).file_name() == Some("kando".as_ref()) {
        return pilothouse_protection::kando::main(std::env::args_os());
    }
    // The folder that `pilothouse envtest` prints has this program under the names of the control plane's tools.
    if pilothouse_envtest::Tool::called(&name).is_some() {
        return pilothouse_envtest::run(std::env::args_os());
    }
    let cli = Cli::parse();
    let outcome = start_logging(&cli.log).and_then(|()| {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|e| {
            Error::machine("starting the runtime", e, "are there threads left? see ulimit -u")
        })?;
        runtime.block_on(run(cli.command))
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(Error::Shown) => ExitCode::FAILURE,
        Err(error) => {
            ui::error(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result {
    match command {
        Command::Demo(args) => demo::run(args).await,
        Command::Cluster(args) => cluster::run(args).await,
        Command::Run(args) => match args.operator {
            Operator::Protection(args) => operator::protection(args).await,
        },
        Command::Envtest(folder) => match pilothouse_envtest::print_folder(&folder) {
            true => Ok(()),
            false => Err(Error::Shown),
        },
        Command::Measure(args) => measure::run(args).await,
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "pilothouse", &mut std::io::stdout());
            Ok(())
        }
    }
}

/// Logs go to standard error, so that standard output stays what a pipe expects.
fn start_logging(filter: &str) -> Result {
    let parsed = EnvFilter::try_new(filter);
    let hint = "use a level such as `info`, or `target=level` pairs separated by commas";
    let filter = parsed.map_err(|e| Error::machine(format!("reading --log {filter}"), e, hint))?;
    let colour = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour).init();
    Ok(())
}

/// Returns when the process is asked to end: Ctrl-C, SIGTERM or a closed terminal.
async fn interrupted() {
    let wait = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            // Without a handler the signal ends the process by itself.
            Err(_refused) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}
