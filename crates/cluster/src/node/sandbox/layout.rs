//! What a container's root looks like, as steps: the host's directories under a layer of the container's own, a small
//! `/dev`, an empty `/tmp`, and the volumes.
//!
//! The container's own layer is in memory and goes with the container, as a container's writable layer does. What is
//! to last belongs in volumes.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path as FsPath, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::Isolation;
use super::child::{OLD_ROOT, Path, Step};

/// Something of the host that is mounted in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::node) struct Mount {
    /// On the host: a directory or a file that exists.
    pub(in crate::node) source: PathBuf,
    /// In the container: absolute.
    pub(in crate::node) target: PathBuf,
    /// Writes are refused.
    pub(in crate::node) read_only: bool,
}

/// The steps to a root at `staging` (an empty directory of the host), and what each does, for messages.
///
/// `visible` are directories of the host that the container is to see at their place whatever happens.
///
/// # Errors
/// When the host's root or the source of a mount cannot be read.
pub(super) fn steps(
    isolation: Isolation,
    staging: &FsPath,
    visible: &[PathBuf],
    mounts: &[Mount],
) -> io::Result<Vec<(Step, String)>> {
    let mut steps = Steps(Vec::new());
    steps.memory(staging, "mode=0755");
    for side in ["upper", "work"] {
        steps.directory(&staging.join(".layer").join(side), None);
    }
    let mut number = 0;
    let mut entries: Vec<_> = fs::read_dir("/")?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let at = inside(staging, &path);
        if kind.is_symlink() {
            steps.link(&fs::read_link(&path)?, &at);
        } else if kind.is_dir()
            && !matches!(entry.file_name().as_bytes(), b"proc" | b"sys" | b"dev" | b"tmp" | b"lost+found")
        {
            steps.layer(&path, staging, &mut number);
        }
    }
    for (point, file) in submounts(&fs::read_to_string("/proc/self/mountinfo")?) {
        if file {
            steps.bind(&point, &inside(staging, &point), true, false, true);
        } else {
            steps.layer(&point, staging, &mut number);
        }
    }
    steps.directory(&staging.join("proc"), None);
    steps.directory_with(&staging.join("tmp"), 0o1777, None);
    steps.bind(FsPath::new("/sys"), &staging.join("sys"), false, true, true);
    steps.devices(&staging.join("dev"));
    steps.enter(staging);
    let tmp = ["/tmp", "/dev", "/proc"];
    for path in visible.iter().filter(|path| tmp.iter().any(|hidden| path.starts_with(hidden))) {
        steps.bind(&from_host(path), path, false, true, true);
    }
    // Parents before children, whatever order the pod has them in.
    let mut mounts: Vec<&Mount> = mounts.iter().collect();
    mounts.sort_by_key(|mount| mount.target.components().count());
    if isolation == Isolation::User {
        let mut closed: Vec<PathBuf> =
            mounts.iter().filter_map(|mount| closed_directory(&mount.target)).collect();
        closed.sort();
        closed.dedup();
        for (number, directory) in closed.iter().enumerate() {
            steps.shadow(directory, number)?;
        }
    }
    for mount in mounts {
        let file = !fs::metadata(&mount.source)?.is_dir();
        steps.bind(&from_host(&mount.source), &mount.target, file, mount.read_only, false);
    }
    Ok(steps.0)
}

struct Steps(Vec<(Step, String)>);

impl Steps {
    fn push(&mut self, step: Step, text: String) {
        self.0.push((step, text));
    }

    fn memory(&mut self, at: &FsPath, options: &str) {
        let step = Step::Memory { at: c_string(at), options: text(options) };
        self.push(step, format!("mounting a file system in memory at {}", at.display()));
    }

    fn directory(&mut self, at: &FsPath, owner: Option<(u32, u32)>) {
        let parent = at.parent().map(FsPath::to_path_buf);
        if let Some(parent) = parent.filter(|parent| parent.ends_with(".layer")) {
            self.directory_with(&parent, 0o755, None);
        }
        self.directory_with(at, 0o755, owner);
    }

    fn directory_with(&mut self, at: &FsPath, mode: u32, owner: Option<(u32, u32)>) {
        let step = Step::Directory { at: c_string(at), mode, owner };
        self.push(step, format!("making the directory {}", at.display()));
    }

    /// The overlay's own directory has the mode and owner of its upper one, so that is made like the lower.
    fn layer(&mut self, lower: &FsPath, staging: &FsPath, number: &mut u32) {
        let Ok(metadata) = fs::metadata(lower) else { return };
        let owner = Some((metadata.uid(), metadata.gid()));
        let upper = staging.join(format!(".layer/upper/{number}"));
        let work = staging.join(format!(".layer/work/{number}"));
        *number += 1;
        self.directory_with(&upper, metadata.mode() & 0o7777, owner);
        self.directory(&work, None);
        let at = inside(staging, lower);
        if lower.components().count() == 2 {
            self.directory(&at, None);
        }
        let escaped = |path: &FsPath| {
            path.display().to_string().replace('\\', "\\\\").replace(',', "\\,").replace(':', "\\:")
        };
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr",
            escaped(lower),
            escaped(&upper),
            escaped(&work)
        );
        let step = Step::Layer { lower: c_string(lower), at: c_string(&at), options: text(&options) };
        self.push(step, format!("putting a layer over {}", lower.display()));
    }

    fn link(&mut self, to: &FsPath, at: &FsPath) {
        let step = Step::Link { to: c_string(to), at: c_string(at) };
        self.push(step, format!("making the link {}", at.display()));
    }

    fn bind(&mut self, from: &FsPath, at: &FsPath, file: bool, read_only: bool, optional: bool) {
        let step = Step::Bind { from: c_string(from), at: with_parents(at), file, read_only, optional };
        self.push(step, format!("mounting {} at {}", from.display(), at.display()));
    }

    /// A `/dev` with what every program may expect, and nothing of the machine.
    fn devices(&mut self, dev: &FsPath) {
        self.directory(dev, None);
        self.memory(dev, "mode=0755");
        for name in ["null", "zero", "full", "random", "urandom", "tty", "ptmx"] {
            self.bind(&FsPath::new("/dev").join(name), &dev.join(name), true, false, true);
        }
        self.bind(FsPath::new("/dev/pts"), &dev.join("pts"), false, false, true);
        self.directory(&dev.join("shm"), None);
        self.memory(&dev.join("shm"), "mode=1777");
        let links = [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")];
        for (name, number) in links {
            self.link(FsPath::new(&format!("/proc/self/fd{number}")), &dev.join(name));
        }
    }

    /// Replaces a directory that we may not write to by one in memory that has the same entries, so that mount points
    /// can be made in it: its owner has no number in our user namespace, so not even its layer is open to us.
    fn shadow(&mut self, directory: &FsPath, number: usize) -> io::Result<()> {
        let shadow = PathBuf::from(format!("/.shadow/{number}"));
        self.directory_with(FsPath::new("/.shadow"), 0o755, None);
        self.directory(&shadow, None);
        self.memory(&shadow, "mode=0755");
        for entry in fs::read_dir(directory)?.take(MAX_SHADOWED) {
            let entry = entry?;
            let (path, at, kind) = (entry.path(), shadow.join(entry.file_name()), entry.file_type()?);
            if kind.is_symlink() {
                self.link(&fs::read_link(&path)?, &at);
            } else {
                self.bind(&path, &at, !kind.is_dir(), false, true);
            }
        }
        self.bind(&shadow, directory, false, false, false);
        Ok(())
    }

    fn enter(&mut self, staging: &FsPath) {
        let old = OLD_ROOT.to_string_lossy();
        let old = staging.join(old.trim_start_matches('/'));
        let step = Step::EnterRoot { root: c_string(staging), old: c_string(&old) };
        self.push(step, "entering the container's root".to_owned());
    }
}

fn text(text: &str) -> CString {
    // A NUL ends a path for the kernel; nothing that reaches here can hold one (JSON strings that do are cut).
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

fn c_string(path: &FsPath) -> CString {
    let bytes = path.as_os_str().as_bytes();
    CString::new(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).unwrap_or_default()
}

fn inside(root: &FsPath, path: &FsPath) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn from_host(path: &FsPath) -> PathBuf {
    inside(FsPath::new(&*OLD_ROOT.to_string_lossy()), path)
}

fn with_parents(path: &FsPath) -> Path {
    let mut so_far = PathBuf::from("/");
    let mut parents = Vec::new();
    for part in path.parent().into_iter().flat_map(FsPath::components) {
        if let Component::Normal(name) = part {
            so_far.push(name);
            parents.push(c_string(&so_far));
        }
    }
    Path { parents, path: c_string(path) }
}

/// How many entries a directory may have in which mount points are made without root's rights.
const MAX_SHADOWED: usize = 1024;

/// The directory of the host in which the first missing part of a mount point would have to be made, when we may not.
fn closed_directory(target: &FsPath) -> Option<PathBuf> {
    if fs::symlink_metadata(target).is_ok() || ["/tmp", "/dev"].iter().any(|ours| target.starts_with(ours)) {
        return None;
    }
    let nearest = target.ancestors().skip(1).find_map(|ancestor| fs::canonicalize(ancestor).ok())?;
    // The root itself is ours.
    (nearest.parent().is_some() && access(&nearest, AccessFlags::W_OK).is_err()).then_some(nearest)
}

/// File systems that hold no files of their own.
const PSEUDO: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rpc_pipefs",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// How many mounts of the host below its top directories are carried over.
const MAX_SUBMOUNTS: usize = 64;

/// Mount points below the top directories, in mount order, and whether each is a file.
fn submounts(mountinfo: &str) -> Vec<(PathBuf, bool)> {
    let mut points = Vec::new();
    for line in mountinfo.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (left.split(' ').nth(4), right.split(' ').next()) else { continue };
        let point = PathBuf::from(unescape(point));
        let hidden = ["/proc", "/sys", "/dev", "/tmp"].iter().any(|top| point.starts_with(top));
        if hidden || point.components().count() < 3 || PSEUDO.contains(&kind) {
            continue;
        }
        points.retain(|(other, _)| *other != point);
        let Ok(metadata) = fs::metadata(&point) else { continue };
        points.push((point, !metadata.is_dir()));
    }
    points.truncate(MAX_SUBMOUNTS);
    points
}

/// `mountinfo` writes space, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
