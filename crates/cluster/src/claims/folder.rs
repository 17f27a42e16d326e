//! The folders of volumes, below one folder of the cluster.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::harness::api::Failure;

/// Where the folders are. Without a folder given, a temporary one that goes with the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    root: PathBuf,
    /// Removes the temporary folder when the last copy is dropped.
    _temporary: Option<Arc<TempDir>>,
}

impl Folders {
    /// Below `data`, or below a temporary folder.
    pub(crate) fn new(data: Option<&Path>) -> io::Result<Self> {
        match data {
            Some(data) => Ok(Self { root: data.join("volumes"), _temporary: None }),
            None => {
                let temporary = tempfile::Builder::new().prefix("pilothouse-volumes-").tempdir()?;
                Ok(Self { root: temporary.path().to_owned(), _temporary: Some(Arc::new(temporary)) })
            }
        }
    }

    /// The folder of a volume.
    pub(crate) fn of(&self, volume: &str) -> PathBuf {
        self.root.join(volume)
    }

    /// Makes the folder of a volume, open to every user that a pod may run as.
    pub(crate) fn make(&self, volume: &str) -> Result<(), Failure> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.of(volume);
        let made = std::fs::create_dir_all(&path)
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)));
        made.map_err(|source| Failure::Folder { doing: "making the folder of a volume", path, source })
    }

    /// Removes the folder of a volume with all that is in it; one that is not right below our own is left alone.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), Failure> {
        let path = PathBuf::from(path);
        let ours = path.parent() == Some(&*self.root) && path.file_name().is_some();
        if !ours {
            return Ok(());
        }
        match tokio::fs::remove_dir_all(&path).await {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Failure::Folder { doing: "removing the folder of a volume", path, source })
            }
            _ => Ok(()),
        }
    }
}
