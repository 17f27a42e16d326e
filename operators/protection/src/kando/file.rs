//! A folder as a location: a mounted claim, a share, a disk.

use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::{Error, key};

/// A folder that holds data under their keys.
pub struct FileStore {
    /// The folder.
    pub(super) root: PathBuf,
    /// Joined in front of every path.
    pub(super) prefix: String,
}

impl FileStore {
    fn place(&self, path: &str) -> Result<PathBuf, Error> {
        Ok(self.root.join(key(&self.prefix, path)?))
    }

    /// Everything is written beside its place first: what is there under the key is always whole.
    pub(super) async fn push(
        &self,
        path: &str,
        source: &mut (dyn AsyncRead + Unpin + Send),
    ) -> Result<(), Error> {
        let place = self.place(path)?;
        let shown = place.display().to_string();
        let folder = place.parent().unwrap_or(&self.root).to_owned();
        tokio::fs::create_dir_all(&folder)
            .await
            .map_err(Error::io("create the folder", folder.display().to_string()))?;
        let (file, temporary) = tempfile::Builder::new()
            .prefix(".kando-")
            .tempfile_in(&folder)
            .map_err(Error::io("create a file in", folder.display().to_string()))?
            .into_parts();
        let mut file = tokio::fs::File::from_std(file);
        tokio::io::copy(source, &mut file).await.map_err(Error::io("write", &shown))?;
        file.flush().await.map_err(Error::io("write", &shown))?;
        file.sync_all().await.map_err(Error::io("write", &shown))?;
        temporary.persist(&place).map_err(|e| Error::Io {
            action: "write",
            what: shown.clone(),
            source: e.error,
        })?;
        // The name must be as durable as the data.
        let folder = tokio::fs::File::open(&folder).await.map_err(Error::io("write", &shown))?;
        folder.sync_all().await.map_err(Error::io("write", shown))
    }

    pub(super) async fn pull(
        &self,
        path: &str,
        target: &mut (dyn AsyncWrite + Unpin + Send),
    ) -> Result<(), Error> {
        let place = self.place(path)?;
        let shown = place.display().to_string();
        let mut file = match tokio::fs::File::open(&place).await {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Error::NotFound(shown)),
            Err(error) => return Err(Error::io("open", shown)(error)),
        };
        tokio::io::copy(&mut file, target).await.map_err(Error::io("read", shown))?;
        Ok(())
    }

    pub(super) async fn delete(&self, path: &str, recursive: bool) -> Result<(), Error> {
        let place = self.place(path)?;
        let shown = place.display().to_string();
        let is_folder = tokio::fs::symlink_metadata(&place).await.is_ok_and(|m| m.is_dir());
        let removed = match (is_folder, recursive) {
            (true, true) => tokio::fs::remove_dir_all(&place).await,
            // As in a bucket, where only keys are things: there is nothing under this one.
            (true, false) => return Ok(()),
            (false, _) => tokio::fs::remove_file(&place).await,
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("delete", shown)(error));
            }
            _ => {}
        }
        self.prune(place.parent()).await;
        Ok(())
    }

    /// Removes folders that hold nothing any more, up to the root.
    async fn prune(&self, mut folder: Option<&Path>) {
        while let Some(empty) = folder.filter(|f| f.starts_with(&self.root) && *f != self.root) {
            if tokio::fs::remove_dir(empty).await.is_err() {
                return;
            }
            folder = empty.parent();
        }
    }
}
