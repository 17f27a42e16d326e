//! `kando`: what runs inside of task pods. It moves data to and from the location of a Profile, and tells outputs.
//!
//! It reads the Profile from the command line, as Blueprints give it, or from the variable `KANDO_PROFILE`, where other
//! processes do not see the keys. It prints nothing but what it is asked for, and no key in any error.

mod file;
mod profile;
mod s3;

use std::ffi::OsString;
use std::io::Write as _;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::functions::output;

pub use self::profile::Location;

/// The exit code of every failure, which is Kanister's.
const FAILED: u8 = 69;

/// Why `kando` did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Profile makes no sense, or names a kind of location that is not built.
    #[error("the profile cannot be used: {0}")]
    Profile(String),
    /// The path makes no sense.
    #[error("the path {path:?} cannot be used: {why}")]
    Path {
        /// The path as it was given.
        path: String,
        /// Why not.
        why: &'static str,
    },
    /// There is nothing at the path.
    #[error(
        "there is nothing at {0}\nhint: compare the path with the artifact of the backup, and the bucket and prefix of the profile"
    )]
    NotFound(String),
    /// A local file or stream failed.
    #[error("cannot {action} {what}: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file, or what stands for it.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The service refused, or was not reached.
    #[error("cannot {action} {what}: {why}")]
    Service {
        /// What was being done.
        action: &'static str,
        /// The URL without its query.
        what: String,
        /// Why not.
        why: String,
    },
    /// The name of an output makes no sense.
    #[error("the output key {0:?} cannot be used\nhint: use letters, digits and _")]
    Key(String),
}

impl Error {
    fn io(action: &'static str, what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { action, what, source }
    }
}

/// Moves data to and from the location of a profile, and tells outputs of a phase.
#[derive(Parser)]
#[command(name = "kando", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Accepted for compatibility; errors are always shown, and nothing else is.
    #[arg(short, long, global = true, default_value = "warn", value_name = "LEVEL")]
    verbosity: String,
}

#[derive(Subcommand)]
enum Command {
    /// Push, pull or delete data at a location.
    #[command(subcommand)]
    Location(LocationCommand),
    /// Tell an output of the phase.
    Output {
        /// Letters, digits and `_`.
        key: String,
        /// Any text.
        value: String,
    },
}

#[derive(Subcommand)]
enum LocationCommand {
    /// Push a file or a stream to the location.
    Push {
        /// A file, or `-` for standard input.
        source: PathBuf,
        #[command(flatten)]
        place: Place,
        /// Accepted for compatibility.
        #[arg(short, long, default_value = "kandoOutput", value_name = "NAME")]
        output_name: String,
    },
    /// Pull from the location to a file or a stream.
    Pull {
        /// A file, or `-` for standard output.
        target: PathBuf,
        #[command(flatten)]
        place: Place,
    },
    /// Delete what is at the path.
    Delete {
        #[command(flatten)]
        place: Place,
        /// Delete everything below the path too.
        #[arg(long)]
        recursive: bool,
    },
}

#[derive(Args)]
struct Place {
    /// The profile as JSON, as `{{ toJson .Profile }}` gives it.
    #[arg(short, long, env = "KANDO_PROFILE", hide_env_values = true, value_name = "JSON")]
    profile: String,
    /// The path at the location, below the profile's prefix.
    #[arg(short = 's', long, default_value = "", value_name = "PATH")]
    path: String,
}

/// Runs `kando` with the arguments, the first of which is its own name, and gives its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(FAILED));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(run(cli.command));
            // A thread may still hang in a read of standard input; the process ends without it.
            runtime.shutdown_background();
            result
        }
        Err(source) => Err(Error::Io { action: "start", what: "the runtime".to_owned(), source }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(FAILED)
        }
    }
}

async fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Output { key, value } => {
            if !output::valid_key(&key) {
                return Err(Error::Key(key));
            }
            let mut stdout = std::io::stdout();
            writeln!(stdout, "{}", output::line(&key, &value))
                .and_then(|()| stdout.flush())
                .map_err(Error::io("write to", "standard output"))
        }
        Command::Location(LocationCommand::Push { source, place, output_name: _ }) => {
            let location = Location::parse(&place.profile)?;
            if is_dash(&source) {
                location.push(&place.path, &mut standard(std::io::stdin())?).await
            } else {
                let what = source.display().to_string();
                let mut file = tokio::fs::File::open(&source).await.map_err(Error::io("open", what))?;
                location.push(&place.path, &mut file).await
            }
        }
        Command::Location(LocationCommand::Pull { target, place }) => {
            let location = Location::parse(&place.profile)?;
            if is_dash(&target) {
                let mut stdout = standard(std::io::stdout())?;
                location.pull(&place.path, &mut stdout).await?;
                stdout.flush().await.map_err(Error::io("write to", "standard output"))
            } else {
                pull_to_file(&location, &place.path, &target).await
            }
        }
        Command::Location(LocationCommand::Delete { place, recursive }) => {
            Location::parse(&place.profile)?.delete(&place.path, recursive).await
        }
    }
}

/// A standard stream as a file, which reads and writes without a buffer in between.
fn standard(stream: impl AsFd) -> Result<tokio::fs::File, Error> {
    let handle = stream.as_fd().try_clone_to_owned().map_err(Error::io("open", "a standard stream"))?;
    Ok(tokio::fs::File::from_std(handle.into()))
}

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Pulls into a file beside the target, which takes its place when all is there: a pull that is cut short leaves the old
/// file as it was.
async fn pull_to_file(location: &Location, path: &str, target: &Path) -> Result<(), Error> {
    let what = target.display().to_string();
    let special = tokio::fs::metadata(target).await.is_ok_and(|m| !m.is_file());
    if special {
        let mut file =
            tokio::fs::OpenOptions::new().write(true).open(target).await.map_err(Error::io("open", &what))?;
        location.pull(path, &mut file).await?;
        return file.flush().await.map_err(Error::io("write to", what));
    }
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (file, temporary) = tempfile::Builder::new()
        .prefix(".kando-")
        .tempfile_in(folder)
        .map_err(Error::io("create a file beside", &what))?
        .into_parts();
    let mut file = tokio::fs::File::from_std(file);
    location.pull(path, &mut file).await?;
    file.flush().await.map_err(Error::io("write", &what))?;
    file.sync_all().await.map_err(Error::io("write", &what))?;
    temporary.persist(target).map_err(|e| Error::Io { action: "write", what, source: e.error })
}

impl Location {
    /// Writes everything that the stream gives to the path.
    ///
    /// # Errors
    /// [`Error`]
    pub async fn push(&self, path: &str, source: &mut (dyn AsyncRead + Unpin + Send)) -> Result<(), Error> {
        match self {
            Self::File(store) => store.push(path, source).await,
            Self::S3(store) => store.push(path, source).await,
        }
    }

    /// Writes what is at the path to the stream.
    ///
    /// # Errors
    /// [`Error`]
    pub async fn pull(&self, path: &str, target: &mut (dyn AsyncWrite + Unpin + Send)) -> Result<(), Error> {
        match self {
            Self::File(store) => store.pull(path, target).await,
            Self::S3(store) => store.pull(path, target).await,
        }
    }

    /// Deletes what is at the path; nothing being there is no error. Everything below the path goes too only when
    /// `recursive` says so, and an empty path is refused: Kanister deletes whatever begins with the path, up to the whole
    /// bucket.
    ///
    /// # Errors
    /// [`Error`]
    pub async fn delete(&self, path: &str, recursive: bool) -> Result<(), Error> {
        match self {
            Self::File(store) => store.delete(path, recursive).await,
            Self::S3(store) => store.delete(path, recursive).await,
        }
    }
}

/// The key of a path: below the prefix, without empty parts.
fn key(prefix: &str, path: &str) -> Result<String, Error> {
    let bad = |why| Error::Path { path: path.to_owned(), why };
    let parts: Vec<&str> = path.split('/').filter(|p| !matches!(*p, "" | ".")).collect();
    if parts.is_empty() {
        return Err(bad("it is empty"));
    }
    if parts.contains(&"..") {
        return Err(bad("it leads upwards"));
    }
    let prefix = prefix.split('/').filter(|p| !matches!(*p, "" | "." | ".."));
    Ok(prefix.chain(parts).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests;
