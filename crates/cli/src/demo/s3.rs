//! An S3 bucket on loopback, in this process: the well-kept crate `s3s` over a folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::error::{Error, Result};

const BUCKET: &str = "pilothouse-demo";

/// A running S3 server with one bucket. It ends when it is dropped.
pub(crate) struct Bucket {
    address: SocketAddr,
    folder: PathBuf,
    access_key: String,
    secret_key: String,
    server: tokio::task::JoinHandle<()>,
}

impl Bucket {
    /// Serves an empty bucket whose objects are kept below `folder`.
    pub(crate) async fn serve(folder: &Path) -> Result<Self> {
        let fail = |why: String| {
            Error::machine("starting the S3 server", why, "is there space left, and is loopback up?")
        };
        let bucket = folder.join(BUCKET);
        std::fs::create_dir_all(&bucket).map_err(|e| fail(e.to_string()))?;
        let files = FileSystem::new(folder).map_err(|e| fail(format!("{e:?}")))?;
        let (access_key, secret_key) = (random(), random());
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(access_key.as_str(), secret_key.as_str()));
        let service = builder.build();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|e| fail(e.to_string()))?;
        let address = listener.local_addr().map_err(|e| fail(e.to_string()))?;
        let server = tokio::spawn(async move {
            // Connections end with this task.
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                connections.spawn(async move {
                    // A client that goes away early is its own affair.
                    let _ended = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, folder: bucket, access_key, secret_key, server })
    }

    pub(crate) fn name(&self) -> &'static str {
        BUCKET
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn keys(&self) -> (&str, &str) {
        (&self.access_key, &self.secret_key)
    }

    /// The objects in the bucket, and their size together in bytes.
    pub(crate) fn objects(&self) -> Result<(Vec<String>, u64)> {
        let (mut found, mut bytes, mut folders) = (Vec::new(), 0, vec![self.folder.clone()]);
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder)
                .map_err(|e| Error::machine("listing the bucket", e, "is the folder gone?"))?;
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    bytes += entry.metadata().map_or(0, |meta| meta.len());
                    found.push(path.strip_prefix(&self.folder).unwrap_or(&path).display().to_string());
                }
            }
        }
        Ok((found, bytes))
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A secret of 128 random bits.
pub(crate) fn random() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}
