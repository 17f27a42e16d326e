//! Programs in namespaces of their own: a container's root, processes and host name, made with what the kernel gives.
//!
//! As root, or where user namespaces are allowed, a container has its own mounts, processes, IPC and host name. The
//! network is the host's. Where the kernel allows none of that ([`Isolation::None`]), programs run as plain processes
//! on the host's files; the node then refuses containers that mount volumes, because it could only pretend.

mod child;
mod layout;
mod terminal;
#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use nix::sys::signal::Signal;
use nix::unistd::{Gid, Uid};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

pub(super) use layout::Mount;
pub(super) use terminal::Terminal;

use child::{Prepared, STAGES, World};

/// What the kernel lets this process do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Namespaces, made with the rights of root.
    Root,
    /// Namespaces inside a user namespace.
    User,
    /// Plain processes.
    None,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {source}")]
pub(super) struct SpawnError {
    /// What was being done.
    pub(super) stage: String,
    /// What the kernel said.
    pub(super) source: io::Error,
}

/// A user, a group and more groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
}

/// A container's surroundings.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// An empty directory of the host, which stays empty.
    pub(super) staging: PathBuf,
    /// Directories of the host that are to be seen at their place.
    pub(super) visible: Vec<PathBuf>,
    /// Volumes and files.
    pub(super) mounts: Vec<Mount>,
    /// The host name.
    pub(super) hostname: String,
}

/// A program to start.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Never empty.
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Absolute, in the container.
    pub(super) workdir: PathBuf,
    /// `None` runs it as the node's own user.
    pub(super) identity: Option<Identity>,
    /// Connect standard input.
    pub(super) stdin: bool,
    /// Give it a terminal.
    pub(super) tty: bool,
}

/// A started program. Dropping it kills it, and all that it has started.
pub(super) struct Process {
    /// The keeper's process id.
    #[cfg(test)]
    keeper: u32,
    exit: watch::Receiver<Option<i32>>,
    control: PipeWriter,
    inside: Inside,
    /// Its streams, each to be taken once.
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    pub(super) terminal: Option<Terminal>,
}

/// A running program's namespaces, to start others in.
#[derive(Clone)]
pub(super) struct Inside(Namespaces);

#[derive(Clone)]
enum Namespaces {
    Host,
    /// In the order in which they are to be entered.
    Own(Arc<[OwnedFd]>),
    /// The program ended before they could be opened.
    Gone,
}

impl Isolation {
    /// Tries it out, by running `true` in a root of its own.
    pub(super) async fn probe(staging: &Path) -> Self {
        // Root inside somebody else's container may lack the rights of root and still have user namespaces.
        let attempts: &[Self] =
            if Uid::effective().is_root() { &[Self::Root, Self::User] } else { &[Self::User] };
        let mut refusals = Vec::new();
        for attempt in attempts {
            match attempt.try_out(staging).await {
                Ok(()) => return *attempt,
                Err(refusal) => refusals.push(refusal),
            }
        }
        let refusals = refusals.join("; ");
        tracing::warn!(
            refusals,
            "the kernel allows no namespaces: containers run as plain processes and cannot mount volumes"
        );
        Self::None
    }

    async fn try_out(self, staging: &Path) -> Result<(), String> {
        let program = Program {
            argv: vec!["true".to_owned()],
            env: vec![("PATH".to_owned(), DEFAULT_PATH.to_owned())],
            workdir: PathBuf::from("/"),
            identity: None,
            stdin: false,
            tty: false,
        };
        let surroundings = Surroundings {
            staging: staging.to_owned(),
            hostname: "probe".to_owned(),
            ..Surroundings::default()
        };
        match start(self, program, surroundings).await {
            Ok(process) => match process.wait().await {
                0 => Ok(()),
                code => Err(format!("{self:?}: exit code {code}")),
            },
            Err(error) => Err(format!("{self:?}: {error}")),
        }
    }
}

/// The search path of a program that sets none.
pub(super) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Starts a program in a root of its own.
pub(super) async fn start(
    isolation: Isolation,
    program: Program,
    surroundings: Surroundings,
) -> Result<Process, SpawnError> {
    blocking(move || {
        if isolation == Isolation::None {
            return spawn(program, World::Host, Vec::new());
        }
        let steps =
            layout::steps(isolation, &surroundings.staging, &surroundings.visible, &surroundings.mounts)
                .map_err(|source| SpawnError { stage: "reading what is to be mounted".to_owned(), source })?;
        let (steps, texts): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        let maps = (isolation == Isolation::User).then(|| {
            let (uid, gid) = (Uid::effective(), Gid::effective());
            (format!("{uid} {uid} 1").into_bytes(), format!("{gid} {gid} 1").into_bytes())
        });
        let hostname = CString::new(surroundings.hostname).unwrap_or_default();
        spawn(program, World::New { maps, steps, hostname }, texts)
    })
    .await
}

/// Starts a program beside one that runs.
pub(super) async fn start_inside(inside: Inside, program: Program) -> Result<Process, SpawnError> {
    blocking(move || {
        let world = match &inside.0 {
            Namespaces::Host => World::Host,
            Namespaces::Own(all) => World::Of(all.iter().map(AsRawFd::as_raw_fd).collect()),
            Namespaces::Gone => {
                let source = io::Error::from(io::ErrorKind::NotFound);
                return Err(SpawnError { stage: "entering a container that has ended".to_owned(), source });
            }
        };
        // `inside` lives until here, and with it the descriptors.
        let started = spawn(program, world, Vec::new());
        drop(inside);
        started
    })
    .await
}

/// `fork` and the mounts take milliseconds: not on a thread that others wait for.
async fn blocking<F>(work: F) -> Result<Process, SpawnError>
where
    F: FnOnce() -> Result<Process, SpawnError> + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(SpawnError { stage: "starting a process".to_owned(), source: io::Error::other(error) })
    })
}

fn spawn(program: Program, world: World, texts: Vec<String>) -> Result<Process, SpawnError> {
    let failed = |stage: &str| {
        let stage = stage.to_owned();
        move |source| SpawnError { stage, source }
    };
    let Some((name, args)) = program.argv.split_first() else {
        return Err(failed("starting a process")(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    let (control_reader, control) = io::pipe().map_err(failed("opening a pipe"))?;
    let (report_reader, report) = io::pipe().map_err(failed("opening a pipe"))?;
    let new_world = matches!(world, World::New { .. });

    let mut command = Command::new(name);
    command.args(args).env_clear().envs(program.env.iter().map(|(key, value)| (key, value)));
    let terminal = if program.tty {
        let (terminal, slave) = Terminal::open().map_err(failed("opening a terminal"))?;
        for (stream, fd) in [(0, slave.try_clone()), (1, slave.try_clone()), (2, Ok(slave))] {
            let stdio = Stdio::from(fd.map_err(failed("opening a terminal"))?);
            match stream {
                0 => command.stdin(stdio),
                1 => command.stdout(stdio),
                _ => command.stderr(stdio),
            };
        }
        Some(terminal)
    } else {
        command.stdin(if program.stdin { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        None
    };
    let identity = program.identity.map(|identity| child::Identity {
        uid: identity.uid,
        gid: identity.gid,
        groups: identity.groups.iter().map(|gid| Gid::from_raw(*gid)).collect(),
    });
    let workdir = CString::new(program.workdir.into_os_string().into_encoded_bytes())
        .unwrap_or_else(|_| c"/".to_owned());
    child::arrange(
        &mut command,
        Prepared {
            world,
            workdir,
            identity,
            tty: program.tty,
            control: control_reader.as_raw_fd(),
            report: report.as_raw_fd(),
        },
    );
    let spawned = command.spawn();
    // Their copies in the children are all that may be left.
    drop((control_reader, report));
    let mut child =
        spawned.map_err(|source| SpawnError { stage: stage(report_reader, &texts, name), source })?;
    let inside = Inside(match child.id() {
        Some(keeper) if new_world => {
            namespaces(keeper).map_or(Namespaces::Gone, |all| Namespaces::Own(all.into()))
        }
        _ => Namespaces::Host,
    });
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok(Process {
        #[cfg(test)]
        keeper: child.id().unwrap_or_default(),
        exit: reap(child),
        control,
        inside,
        stdin,
        stdout,
        stderr,
        terminal,
    })
}

/// Waits for a keeper, whoever still asks for its exit code: no zombie is left.
fn reap(mut child: Child) -> watch::Receiver<Option<i32>> {
    let (sender, receiver) = watch::channel(None);
    tokio::spawn(async move {
        let code = match child.wait().await {
            Ok(status) => status.code().unwrap_or(KILLED),
            Err(error) => {
                tracing::warn!(%error, "waiting for a process failed");
                KILLED
            }
        };
        sender.send_replace(Some(code));
    });
    receiver
}

const KILLED: i32 = 128 + Signal::SIGKILL as i32;

/// What failed, as the child told it. Nothing told means that `exec` itself did.
fn stage(mut report: PipeReader, texts: &[String], program: &str) -> String {
    let mut number = [0; 4];
    if report.read_exact(&mut number).is_err() {
        return format!("exec: {program:?}");
    }
    let number = u32::from_ne_bytes(number);
    let step = number.checked_sub(child::FIRST_STEP).and_then(|step| texts.get(step as usize));
    let known = STAGES.get(number as usize).map(|stage| (*stage).to_owned());
    step.cloned().or(known).unwrap_or_else(|| "starting a process".to_owned())
}

/// The namespaces that the keeper has made. Fails when it has ended: a process that only waits to be waited for has none.
fn namespaces(keeper: u32) -> io::Result<Vec<OwnedFd>> {
    let path = |name: &str| format!("/proc/{keeper}/ns/{name}");
    let mut names = vec!["ipc", "uts", "pid_for_children", "mnt"];
    if std::fs::read_link(path("user"))? != std::fs::read_link("/proc/self/ns/user")? {
        names.insert(0, "user");
    }
    names.into_iter().map(|name| File::open(path(name)).map(OwnedFd::from)).collect()
}

impl Process {
    /// Sends a signal to the program; `SIGKILL` ends all that it has started, too.
    pub(super) fn signal(&self, signal: Signal) {
        // A pipe that nobody reads any more belongs to a program that has ended.
        let _ = (&self.control).write_all(&[signal as u8]);
    }

    /// The exit code; 128 + N after signal N.
    pub(super) async fn wait(&self) -> i32 {
        let mut exit = self.exit.clone();
        let code = exit.wait_for(Option::is_some).await.map(|code| *code);
        code.ok().flatten().unwrap_or(KILLED)
    }

    /// To start others beside it, as long as it runs.
    pub(super) fn inside(&self) -> Inside {
        self.inside.clone()
    }
}
