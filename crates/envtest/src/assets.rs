//! The folder that `KUBEBUILDER_ASSETS` names: links to this program under the names of the tools, and to the user's
//! kubectl.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::Tool;

/// Why the folder could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AssetsError {
    /// Where this program is.
    #[error("finding this program: {0}")]
    Program(#[source] std::io::Error),
    /// The environment names no folder for caches.
    #[error("neither XDG_CACHE_HOME nor HOME is set\nhint: --dir names a folder")]
    NoCache,
    /// The folder or a link in it.
    #[error("making {}: {source}\nhint: --dir names another folder", path.display())]
    Link {
        /// What was being made.
        path: PathBuf,
        /// Why it could not be.
        source: std::io::Error,
    },
}

/// The folder, ready for use.
#[derive(Clone, Debug)]
pub struct Assets {
    /// An absolute path.
    pub folder: PathBuf,
    /// The kubectl that the folder's link leads to; `None` if there is none on PATH.
    pub kubectl: Option<PathBuf>,
}

/// Makes the folder, or completes one that is there. `program` is the absolute path of the multi-call program; `folder` is
/// where, by default one of its own for this program under `XDG_CACHE_HOME` or `~/.cache`. Any number of processes may do
/// so at once: each link is put in its place by one rename.
///
/// # Errors
/// If the folder or a link cannot be made.
pub fn prepare(program: &Path, folder: Option<&Path>) -> Result<Assets, AssetsError> {
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => cache()?.join(own_name(program)),
    };
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |source| AssetsError::Link { path, source }
    };
    std::fs::create_dir_all(&folder).map_err(fail(&folder))?;
    let folder = folder.canonicalize().map_err(fail(&folder))?;
    for tool in [Tool::Etcd, Tool::KubeApiserver] {
        let link = folder.join(tool.name());
        put_link(program, &link).map_err(fail(&link))?;
    }
    let link = folder.join("kubectl");
    let kubectl = find_on_path("kubectl", &folder);
    match &kubectl {
        Some(found) => put_link(found, &link).map_err(fail(&link))?,
        // A link that leads nowhere any more would only confuse.
        None if link.is_symlink() && !link.exists() => std::fs::remove_file(&link).map_err(fail(&link))?,
        None => {}
    }
    Ok(Assets { folder, kubectl })
}

fn cache() -> Result<PathBuf, AssetsError> {
    // The XDG specification has relative paths ignored.
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    Ok(base.ok_or(AssetsError::NoCache)?.join("pilothouse").join("envtest"))
}

/// The version, and a hash of the program's path: two programs of one version do not take each other's links.
fn own_name(program: &Path) -> String {
    // FNV-1a, which does not change between versions of Rust.
    let hash = program.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{}-{:08x}", env!("CARGO_PKG_VERSION"), hash >> 32)
}

/// Makes `link` lead to `target`, whatever was there, in one step.
fn put_link(target: &Path, link: &Path) -> std::io::Result<()> {
    if std::fs::read_link(link).is_ok_and(|now| now == target) {
        return Ok(());
    }
    let mut partial = link.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = PathBuf::from(partial);
    let _leftover = std::fs::remove_file(&partial);
    std::os::unix::fs::symlink(target, &partial)?;
    std::fs::rename(&partial, link)
}

/// The first program of this name on PATH that is not in `except`.
fn find_on_path(name: &str, except: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute() && folder.canonicalize().is_ok_and(|folder| folder != except))
        .map(|folder| folder.join(OsStr::new(name)))
        .find(|file| {
            file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
}
