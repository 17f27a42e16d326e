//! The drop-in for `setup-envtest`: a folder for `KUBEBUILDER_ASSETS` with `etcd` and `kube-apiserver`, which are one
//! program of ours under two names, and with the user's own `kubectl`. It owns the command lines of both tools, the folder,
//! and how a server and what it keeps are told apart by `--etcd-servers` and `--etcd-prefix`; it must not know what the API
//! answers, which is `pilothouse_apiserver`'s.

mod access;
mod admission;
mod apiserver;
pub mod assets;
mod auditing;
mod contradictions;
mod doors;
mod etcd;
mod etcd_client;
mod etcd_rpc;
mod flags;
mod keeping;
mod kubelets;
mod presence;
mod serving;
mod signals;
mod switches;

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use pilothouse_apiserver::SetVerbosity;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::flags::{FlagError, Parsed};

/// A tool of a Kubernetes control plane that this program can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// What a kube-apiserver keeps its objects in.
    Etcd,
    /// The API server.
    KubeApiserver,
}

impl Tool {
    /// The tool that a program called this is; `None` for any other name. Only the last part of a path counts.
    pub fn called(name: &OsStr) -> Option<Tool> {
        match Path::new(name).file_name()?.to_str()? {
            "etcd" => Some(Tool::Etcd),
            "kube-apiserver" => Some(Tool::KubeApiserver),
            _ => None,
        }
    }

    /// The name that it is called by.
    pub const fn name(self) -> &'static str {
        match self {
            Tool::Etcd => "etcd",
            Tool::KubeApiserver => "kube-apiserver",
        }
    }
}

/// Why a tool does not run, or has ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// A file that a flag names.
    #[error("reading {} (--{flag}): {why}", path.display())]
    File { flag: &'static str, path: PathBuf, why: String },
    /// Anything else of the machine.
    #[error("{doing}: {why}\nhint: {hint}")]
    Machine { doing: String, why: String, hint: &'static str },
}

impl Error {
    fn machine(doing: impl Into<String>, why: impl ToString, hint: &'static str) -> Self {
        Self::Machine { doing: doing.into(), why: why.to_string(), hint }
    }
}

/// Prints the folder for `KUBEBUILDER_ASSETS`, and makes it if it is not there.
#[derive(Debug, Parser)]
#[command(name = "pilothouse-envtest", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    folder: FolderArguments,
}

/// Where the folder is.
#[derive(Debug, Default, clap::Args)]
pub struct FolderArguments {
    /// Make this folder instead of one under the user's cache folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The program: `etcd` or `kube-apiserver` when it is called so, otherwise the command that prints the folder. `arguments`
/// begin with the name that it is called by.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(tool) = arguments.first().and_then(|name| Tool::called(name)) {
        return run_tool(tool, arguments.get(1..).unwrap_or_default());
    }
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) if print_folder(&arguments.folder) => ExitCode::SUCCESS,
        Ok(_said_why) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody is left to tell when the stream is closed.
            let _closed = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

/// Makes the folder and prints its path, alone, to standard output; what else there is to say goes to standard error.
/// Returns whether it could.
pub fn print_folder(arguments: &FolderArguments) -> bool {
    let made = std::env::current_exe()
        .map_err(assets::AssetsError::Program)
        .and_then(|program| assets::prepare(&program, arguments.dir.as_deref()));
    match made {
        Ok(assets) => {
            if assets.kubectl.is_none() {
                tell(
                    "note: no kubectl on PATH, so there is none in the folder; suites that call it will say so",
                );
            }
            let _closed = writeln!(std::io::stdout().lock(), "{}", assets.folder.display());
            true
        }
        Err(error) => {
            tell(&format!("error: {error}"));
            false
        }
    }
}

/// Runs a tool with its arguments, until it is told to end.
fn run_tool(tool: Tool, arguments: &[OsString]) -> ExitCode {
    let outcome = flags::parse(tool, arguments).map_err(Error::from).and_then(|parsed| {
        if parsed.is_set("help") {
            let _closed = std::io::stdout().lock().write_all(flags::help(tool).as_bytes());
            return Ok(());
        }
        if parsed.is_set("version") {
            let _closed = writeln!(std::io::stdout().lock(), "{}", flags::version(tool));
            return Ok(());
        }
        for flag in &parsed.unknown {
            tell(&format!("Warning: {}: unknown flag --{flag}: it is ignored", tool.name()));
        }
        serve(tool, &parsed)
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("Error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve(tool: Tool, parsed: &Parsed) -> Result<(), Error> {
    let set_verbosity = start_logging(parsed);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime
        .map_err(|e| Error::machine("starting the runtime", e, "are there threads left? see ulimit -u"))?;
    let outcome = runtime.block_on(async {
        match tool {
            Tool::Etcd => etcd::run(parsed).await,
            Tool::KubeApiserver => apiserver::run(parsed, set_verbosity).await,
        }
    });
    // What still runs belongs to connections that were cut.
    runtime.shutdown_background();
    outcome
}

/// Logs go to standard error, as upstream's do: warnings, and more with `--v`. Returns what changes the level.
fn start_logging(parsed: &Parsed) -> SetVerbosity {
    let given = parsed.last("v").and_then(|text| text.parse().ok()).unwrap_or_default();
    let (filter, handle) = tracing_subscriber::reload::Layer::new(level(given));
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // A second call in one process keeps the first one's settings.
    let _set = tracing_subscriber::registry().with(filter).with(lines).try_init();
    Arc::new(move |given| {
        // It is only refused when the process ends.
        let _set = handle.modify(|filter| *filter = level(given));
    })
}

/// How much is logged at a level of `--v`.
fn level(v: u32) -> LevelFilter {
    match v {
        0 | 1 => LevelFilter::WARN,
        2 => LevelFilter::INFO,
        3..=7 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

/// Tells whoever reads standard error.
fn tell(text: &str) {
    // Nobody is left to tell when standard error is closed.
    let _closed = writeln!(std::io::stderr().lock(), "{text}");
}
