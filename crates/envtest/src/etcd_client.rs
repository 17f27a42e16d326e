//! The private protocol between our kube-apiserver and our etcd: one question over HTTP, where objects are kept. A real etcd
//! does not know the answer, and then objects live as long as the kube-apiserver.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Instant;

use crate::Error;

/// The path of the question.
pub(crate) const DATA_PATH: &str = "/pilothouse/data-dir";
/// How long an etcd that does not listen yet is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(2);
/// The longest answer that makes sense: a path.
const LONGEST: usize = 64 << 10;

/// Asks an etcd where it keeps objects; `None` from one that is not ours.
///
/// # Errors
/// If nobody listens there, after a while.
pub(crate) async fn data_dir(url: &str) -> Result<Option<PathBuf>, Error> {
    // What is spoken over TLS is no etcd of ours.
    if url.starts_with("https://") || url.starts_with("unixs://") {
        return Ok(None);
    }
    let deadline = Instant::now() + PATIENCE;
    loop {
        let why = match tokio::time::timeout(ATTEMPT, ask(url)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_late) => "no answer".to_owned(),
        };
        if Instant::now() >= deadline {
            let hint = "is etcd running? without --etcd-servers objects live as long as kube-apiserver";
            return Err(Error::machine(format!("asking etcd at {url}"), why, hint));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn ask(url: &str) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = url.strip_prefix("unix://") {
        return question(UnixStream::connect(path).await?).await;
    }
    let authority = url.strip_prefix("http://").unwrap_or(url).trim_end_matches('/');
    question(TcpStream::connect(authority).await?).await
}

async fn question(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Option<PathBuf>, Failure> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = http::Request::get(DATA_PATH).header("host", "etcd").body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, LONGEST).collect().await?.to_bytes();
    connection.abort();
    if head.status != StatusCode::OK {
        return Ok(None);
    }
    let path = PathBuf::from(String::from_utf8_lossy(&body).into_owned());
    Ok(Some(path).filter(|path| path.is_absolute()))
}
