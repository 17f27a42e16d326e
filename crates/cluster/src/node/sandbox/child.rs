//! What happens between `fork` and `exec`. The one file with unsafe code: everything here runs in a copy of a process
//! that may have had other threads, so it only makes system calls on what was prepared before, and allocates nothing.
//!
//! Up to three processes stand between the node and the program:
//!
//! - the *keeper* is the node's child. It makes the namespaces and the root, then waits and passes on the exit code;
//! - the *init* is process 1 of the container's process namespace. It starts the program, reaps what is orphaned,
//!   passes on signals that come over the control pipe, and ends when the program ends or the pipe closes. The kernel
//!   then kills whatever is left in the namespace. So a program is process 2, and not deaf to SIGTERM as process 1 is;
//! - the *program*.
//!
//! The pipe's other end is only in the node: when the node dies, by whatever signal, all its containers die.
//! Without namespaces, and for a command in a container that runs, keeper and init are one.
#![allow(unsafe_code, reason = "fork, setns and exec have no safe form; each block says why it holds")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, open};
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, pthread_sigmask, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Gid, Pid, Uid, chdir, chown, fork, mkdir, pivot_root, setgid, setgroups, sethostname, setsid,
    setuid, symlinkat, write,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Where the host's root is while the mounts are made, seen from inside.
pub(super) const OLD_ROOT: &CStr = c"/.host";

/// One step on the way to the container's root.
pub(super) enum Step {
    /// A new, empty file system in memory.
    Memory { at: CString, options: CString },
    /// A directory with exactly this mode and owner; parents must exist. One that exists is fine.
    Directory { at: CString, mode: u32, owner: Option<(u32, u32)> },
    /// A copy-on-write view of a directory; where the kernel refuses one, the directory itself.
    Layer { lower: CString, at: CString, options: CString },
    /// A directory or file of the host. Parents of `at` and `at` itself are made.
    Bind { from: CString, at: Path, file: bool, read_only: bool, optional: bool },
    /// A symbolic link.
    Link { to: CString, at: CString },
    /// From here on, paths are inside.
    EnterRoot { root: CString, old: CString },
}

/// A path and all its parents, shortest first, so that a child need not build strings.
pub(super) struct Path {
    pub(super) parents: Vec<CString>,
    pub(super) path: CString,
}

/// Whose rights the program has.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<Gid>,
}

/// Namespaces that the program gets.
pub(super) enum World {
    /// The host's.
    Host,
    /// New ones, and a root made by steps. `maps` are the contents of `uid_map` and `gid_map` when a user namespace is
    /// needed.
    New { maps: Option<(Vec<u8>, Vec<u8>)>, steps: Vec<Step>, hostname: CString },
    /// Those of a container that runs: in the order in which they are to be entered.
    Of(Vec<RawFd>),
}

/// All that the child needs, prepared by the parent.
pub(super) struct Prepared {
    pub(super) world: World,
    pub(super) workdir: CString,
    pub(super) identity: Option<Identity>,
    pub(super) tty: bool,
    /// The control pipe's end for reading: each byte is a signal.
    pub(super) control: RawFd,
    /// Where the number of the step that failed is written.
    pub(super) report: RawFd,
}

/// The places where starting can fail, as numbers to send through a pipe. Steps follow from [`FIRST_STEP`].
pub(super) const STAGES: [&str; 6] = [
    "making namespaces",
    "entering the container's namespaces",
    "mounting /proc",
    "starting the first process",
    "taking the user's rights",
    "changing to the working directory",
];
pub(super) const FIRST_STEP: u32 = 16;

/// Runs in the child of `fork`; returns in the process that is to `exec` the program, and nowhere else.
pub(super) fn become_program(prepared: &Prepared) -> io::Result<()> {
    // Not to be in the terminal's process group: Ctrl-C is for the node, which then ends its containers in order.
    let _ = setsid();
    match &prepared.world {
        World::Host => {
            let _ = prctl::set_child_subreaper(true);
            as_init(prepared, false)
        }
        World::Of(namespaces) => {
            for &namespace in namespaces {
                // SAFETY: the parent keeps these descriptors open until `spawn` has returned.
                let fd = unsafe { BorrowedFd::borrow_raw(namespace) };
                at(prepared, 1, setns(fd, CloneFlags::empty()))?;
            }
            as_init(prepared, false)
        }
        World::New { maps, steps, hostname } => {
            let mut flags = CloneFlags::CLONE_NEWNS
                | CloneFlags::CLONE_NEWPID
                | CloneFlags::CLONE_NEWIPC
                | CloneFlags::CLONE_NEWUTS;
            if maps.is_some() {
                flags |= CloneFlags::CLONE_NEWUSER;
            }
            at(prepared, 0, unshare(flags))?;
            if let Some((uids, gids)) = maps {
                at(prepared, 0, put(c"/proc/self/setgroups", b"deny"))?;
                at(prepared, 0, put(c"/proc/self/uid_map", uids))?;
                at(prepared, 0, put(c"/proc/self/gid_map", gids))?;
            }
            let _ = sethostname(std::ffi::OsStr::new(hostname.to_str().unwrap_or("pod")));
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            at(prepared, 0, mount(NOTHING, c"/", NOTHING, private, NOTHING))?;
            for (number, step) in steps.iter().enumerate() {
                at(prepared, FIRST_STEP + number as u32, take(step))?;
            }
            // SAFETY: this process is a fork, so it has one thread; the child only makes system calls, as this does.
            match at(prepared, 3, unsafe { fork() })? {
                ForkResult::Parent { child } => keep(child),
                ForkResult::Child => {
                    // A keeper that is killed takes its container along.
                    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
                    at(
                        prepared,
                        2,
                        mount(Some(c"proc"), c"/proc", Some(c"proc"), MsFlags::empty(), NOTHING),
                    )?;
                    at(prepared, 2, umount2(OLD_ROOT, MntFlags::MNT_DETACH))?;
                    as_init(prepared, true)
                }
            }
        }
    }
}

const NOTHING: Option<&CStr> = None;

/// Tells the parent where a failure was.
fn at<T>(prepared: &Prepared, stage: u32, result: Result<T, Errno>) -> io::Result<T> {
    result.map_err(|errno| {
        // SAFETY: the descriptor is the report pipe's, open in this process until `exec`.
        let report = unsafe { BorrowedFd::borrow_raw(prepared.report) };
        let _ = write(report, &stage.to_ne_bytes());
        io::Error::from(errno)
    })
}

fn put(file: &CStr, text: &[u8]) -> Result<(), Errno> {
    let fd = open(file, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    write(&fd, text).map(drop)
}

fn take(step: &Step) -> Result<(), Errno> {
    match step {
        Step::Memory { at, options } => {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
            mount(Some(c"tmpfs"), at.as_c_str(), Some(c"tmpfs"), flags, Some(options.as_c_str()))
        }
        Step::Directory { at, mode, owner } => {
            directory(at)?;
            if let Some((uid, gid)) = owner {
                // An owner who has no number in this user namespace cannot be given; then it is ours.
                let _ = chown(at.as_c_str(), Some(Uid::from_raw(*uid)), Some(Gid::from_raw(*gid)));
            }
            let mode = Mode::from_bits_truncate(*mode);
            fchmodat(AT_FDCWD, at.as_c_str(), mode, FchmodatFlags::FollowSymlink)
        }
        Step::Layer { lower, at, options } => {
            let overlay = mount(
                Some(c"overlay"),
                at.as_c_str(),
                Some(c"overlay"),
                MsFlags::empty(),
                Some(options.as_c_str()),
            );
            overlay.or_else(|_| {
                let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
                mount(Some(lower.as_c_str()), at.as_c_str(), NOTHING, flags, NOTHING)
            })
        }
        Step::Bind { from, at, file, read_only, optional } => {
            let done = bind(from, at, *file, *read_only);
            if *optional { Ok(()) } else { done }
        }
        Step::Link { to, at } => symlinkat(to.as_c_str(), AT_FDCWD, at.as_c_str()),
        Step::EnterRoot { root, old } => {
            directory(old)?;
            pivot_root(root.as_c_str(), old.as_c_str())?;
            chdir(c"/")
        }
    }
}

fn directory(at: &CStr) -> Result<(), Errno> {
    match mkdir(at, Mode::from_bits_truncate(0o755)) {
        Err(Errno::EEXIST) => Ok(()),
        other => other,
    }
}

fn bind(from: &CStr, at: &Path, file: bool, read_only: bool) -> Result<(), Errno> {
    for parent in &at.parents {
        directory(parent)?;
    }
    let target = at.path.as_c_str();
    if file {
        open(
            target,
            OFlag::O_CREAT | OFlag::O_CLOEXEC | OFlag::O_NOCTTY | OFlag::O_NONBLOCK,
            Mode::from_bits_truncate(0o644),
        )
        .map(drop)
        .or_else(|errno| if exists(target) { Ok(()) } else { Err(errno) })?;
    } else {
        directory(target)?;
    }
    mount(Some(from), target, NOTHING, MsFlags::MS_BIND | MsFlags::MS_REC, NOTHING)?;
    if !read_only {
        return Ok(());
    }
    // In a user namespace a mount keeps the restrictions it came with, and they must be repeated.
    let plain = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY;
    let strict = plain | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let mut last = Err(Errno::EPERM);
    for flags in [plain, strict, strict | MsFlags::MS_NOEXEC] {
        last = mount(NOTHING, target, NOTHING, flags, NOTHING);
        if last.is_ok() {
            break;
        }
    }
    last
}

fn exists(path: &CStr) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::F_OK).is_ok()
}

/// The keeper's life: it holds nothing but its child.
fn keep(init: Pid) -> ! {
    defaults();
    close_from(0);
    loop {
        match waitpid(init, None) {
            Ok(status) => {
                if let Some(code) = code(&status) {
                    exit(code)
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => exit(255),
        }
    }
}

/// Starts the program and looks after it. Returns in the program.
fn as_init(prepared: &Prepared, alone: bool) -> io::Result<()> {
    let mut children = SigSet::empty();
    children.add(Signal::SIGCHLD);
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&children), None);
    // SAFETY: as above: one thread, and only system calls until `exec`.
    match at(prepared, 3, unsafe { fork() })? {
        ForkResult::Child => {
            let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
            be_program(prepared)
        }
        ForkResult::Parent { child } => {
            defaults();
            // SAFETY: both descriptors belong to this process alone; everything else is closed here.
            unsafe {
                libc::dup2(prepared.control, 0);
            }
            close_from(1);
            // SAFETY: descriptor 0 was just made.
            let control = unsafe { BorrowedFd::borrow_raw(0) };
            let code = watch_over(control, child, &children);
            if !alone {
                end_the_rest();
            }
            exit(code)
        }
    }
}

fn be_program(prepared: &Prepared) -> io::Result<()> {
    let _ = setsid();
    if prepared.tty {
        // SAFETY: descriptor 0 is the terminal; the request takes an integer.
        unsafe {
            libc::ioctl(0, libc::TIOCSCTTY, 0);
        }
    }
    if let Some(Identity { uid, gid, groups }) = &prepared.identity {
        for stream in 0..3 {
            // SAFETY: a system call on numbers; a stream that cannot be given away keeps its owner.
            unsafe {
                libc::fchown(stream, *uid, *gid);
            }
        }
        at(prepared, 4, setgroups(groups))?;
        at(prepared, 4, setgid(Gid::from_raw(*gid)))?;
        at(prepared, 4, setuid(Uid::from_raw(*uid)))?;
    }
    at(prepared, 5, chdir(prepared.workdir.as_c_str()))
}

/// Waits for the program's end. The exit code is the program's, 128 + N for signal N.
fn watch_over(control: BorrowedFd<'_>, program: Pid, children: &SigSet) -> i32 {
    const KILLED: i32 = 128 + libc::SIGKILL;
    let Ok(signals) = SignalFd::with_flags(children, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC) else {
        let _ = kill(program, Signal::SIGKILL);
        return KILLED;
    };
    loop {
        while let Ok(Some(_)) = signals.read_signal() {}
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(status) if status.pid() == Some(program) => {
                    if let Some(code) = code(&status) {
                        return code;
                    }
                }
                Ok(WaitStatus::StillAlive) | Err(_) => break,
                Ok(_) => {}
            }
        }
        let mut ready =
            [PollFd::new(control, PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut ready, PollTimeout::NONE);
        if ready[0].any() == Some(true) {
            let mut byte = [0];
            let wanted = match nix::unistd::read(control, &mut byte) {
                Ok(1) => Signal::try_from(i32::from(byte[0])).ok(),
                Err(Errno::EINTR | Errno::EAGAIN) => continue,
                // The node is gone.
                _ => Some(Signal::SIGKILL),
            };
            match wanted {
                Some(Signal::SIGKILL) => {
                    // The whole group, for a program that has no process namespace of its own.
                    let _ = kill(Pid::from_raw(-program.as_raw()), Signal::SIGKILL);
                    let _ = kill(program, Signal::SIGKILL);
                    return KILLED;
                }
                Some(signal) => {
                    let _ = kill(program, signal);
                }
                None => {}
            }
        }
    }
}

/// Without a process namespace: kills what the program has left behind, which is our children as we are its subreaper.
fn end_the_rest() {
    // Bounded: a fork bomb is not to keep the keeper for ever.
    for _ in 0..1000 {
        let Ok(list) = open(c"/proc/thread-self/children", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())
        else {
            return;
        };
        let mut text = [0; 4096];
        let length = nix::unistd::read(&list, &mut text).unwrap_or(0);
        let mut number = 0;
        for byte in text.iter().take(length) {
            if byte.is_ascii_digit() {
                number = number * 10 + i32::from(byte - b'0');
            } else if number > 0 {
                let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
                number = 0;
            }
        }
        if waitpid(None, None) == Err(Errno::ECHILD) {
            return;
        }
    }
}

fn code(status: &WaitStatus) -> Option<i32> {
    match *status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

/// Signals do what they do in a new process: handlers of the node must not run here.
fn defaults() {
    for number in 1..32 {
        if let Ok(which) = Signal::try_from(number) {
            // SAFETY: the default action runs no code of ours.
            let _ = unsafe { signal(which, SigHandler::SigDfl) };
        }
    }
}

fn close_from(first: u32) {
    // SAFETY: nothing in this process uses a descriptor from here on.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, u32::MAX, 0);
    }
}

fn exit(code: i32) -> ! {
    // SAFETY: ends this process without running the node's exit handlers.
    unsafe { libc::_exit(code) }
}

/// Hands a descriptor to the reactor.
pub(super) fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor stays open, and the same, as long as the `AsyncFd` that holds it.
    unsafe { Ok(AsyncFd::register_with_interest(fd, Interest::READABLE | Interest::WRITABLE)?) }
}

/// Sets the size of a terminal.
pub(super) fn set_size(terminal: BorrowedFd<'_>, width: u16, height: u16) {
    use std::os::fd::AsRawFd;
    let size = libc::winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request reads one `winsize`, which lives until it returns.
    unsafe {
        libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size);
    }
}

/// Arranges for [`become_program`] to run in the child of a command.
pub(super) fn arrange(command: &mut tokio::process::Command, prepared: Prepared) {
    // SAFETY: `become_program` makes system calls only, on what `prepared` holds.
    unsafe {
        command.pre_exec(move || become_program(&prepared));
    }
}
