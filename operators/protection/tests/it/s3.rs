//! `kando` against an S3 server: the crate `s3s` over a folder, on loopback, with its signatures checked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use pilothouse_protection::kando::{Error, Location};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::io::{AsyncRead, ReadBuf};

struct Server {
    endpoint: String,
    requests: Arc<AtomicUsize>,
    _folder: tempfile::TempDir,
}

/// Serves the bucket `bucket` for the key `id`.
async fn serve() -> Server {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let mut builder = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
    builder.set_auth(SimpleAuth::from_single("id", "secret"));
    let service = builder.build();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (service, counted) = (service.clone(), counted.clone());
            tokio::spawn(async move {
                let counting = hyper::service::service_fn(move |request| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    hyper::service::Service::call(&service, request)
                });
                let _ =
                    Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), counting).await;
            });
        }
    });
    Server { endpoint, requests, _folder: folder }
}

fn location(server: &Server, secret: &str) -> Location {
    let profile = serde_json::json!({
        "Location": {"type": "s3Compliant", "bucket": "bucket", "endpoint": server.endpoint, "prefix": "pre/fix", "region": ""},
        "Credential": {"Type": "keyPair", "KeyPair": {"ID": "id", "Secret": secret}, "Secret": null},
        "SkipSSLVerify": false,
    });
    Location::parse(&profile.to_string()).unwrap()
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|e| if e.path().is_dir() { files(&e.path()) } else { 1 }).sum()
}

/// Bytes that are made while they are read, so that nothing but the code under test could hold them.
struct Made {
    left: usize,
    at: u32,
}

impl AsyncRead for Made {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        // Pieces of odd sizes, as a pipe gives them.
        let size = out.remaining().min(self.left).min(61_441);
        for _ in 0..size {
            self.at = self.at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            out.put_slice(&[(self.at >> 24) as u8]);
        }
        self.left -= size;
        Poll::Ready(Ok(()))
    }
}

async fn pulled(location: &Location, path: &str) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    location.pull(path, &mut out).await.map(|()| out)
}

#[tokio::test]
async fn large_and_small_data_come_back_as_they_went() {
    let server = serve().await;
    let location = location(&server, "secret");
    for size in [0, 5, (8 << 20) - 1, 8 << 20, (20 << 20) + 7] {
        let path = format!("/dir/{size} ü+&.gz");
        location.push(&path, &mut Made { left: size, at: 1 }).await.unwrap();
        let back = pulled(&location, &path).await.unwrap();
        let mut expected = Vec::new();
        tokio::io::copy(&mut Made { left: size, at: 1 }, &mut expected).await.unwrap();
        assert!(back == expected, "{size}: {} bytes came back", back.len());
    }
}

#[tokio::test]
async fn deleting_leaves_an_empty_bucket() {
    let server = serve().await;
    let location = location(&server, "secret");
    for path in ["a-1", "a-10", "d/x", "d/y/z"] {
        location.push(path, &mut &b"data"[..]).await.unwrap();
    }
    location.delete("a-1", false).await.unwrap();
    assert!(matches!(pulled(&location, "a-1").await, Err(Error::NotFound(_))));
    assert_eq!(pulled(&location, "a-10").await.unwrap(), b"data");
    location.delete("d", true).await.unwrap();
    location.delete("a-10", false).await.unwrap();
    assert_eq!(files(&server._folder.path().join("bucket")), 0);
}

#[tokio::test]
async fn a_refusal_is_told_once_and_without_the_secret() {
    let server = serve().await;
    let location = location(&server, "WRONG-CANARY");
    let error = location.push("a", &mut &b"data"[..]).await.unwrap_err().to_string();
    assert!(error.contains("SignatureDoesNotMatch") && !error.contains("CANARY"), "{error}");
    assert_eq!(server.requests.load(Ordering::Relaxed), 1, "what is refused is not tried again");
}
