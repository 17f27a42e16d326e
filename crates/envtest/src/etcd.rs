//! `etcd`: it listens where it is told to, says that it is healthy, and names the folder in which kube-apiserver keeps
//! objects. It holds none itself, and its gRPC door says so.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

use crate::flags::{ETCD, FlagError, Parsed};
use crate::{Error, etcd_client, signals, tell};

const HINT: &str = "is another process using it? --listen-client-urls names another";

/// A socket that was asked for.
enum Listener {
    Tcp(TcpListener),
    /// With the path, which is removed at the end.
    Unix(UnixListener, PathBuf),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// If a socket cannot be had, or the command line makes no sense.
pub(crate) async fn run(flags: &Parsed) -> Result<(), Error> {
    let ended = signals::termination()?;
    let data_dir = Arc::new(data_dir(flags)?);
    let mut tasks = JoinSet::new();
    let mut sockets = Vec::new();
    for url in urls(flags) {
        match listen(url).await? {
            Listener::Tcp(listener) => {
                if let Ok(address) = listener.local_addr()
                    && url.trim_end_matches('/').ends_with(":0")
                {
                    tell(&format!("Listening on http://{address}"));
                }
                tasks.spawn(accept_tcp(listener, data_dir.clone()));
            }
            Listener::Unix(listener, path) => {
                sockets.push(path);
                tasks.spawn(accept_unix(listener, data_dir.clone()));
            }
        }
    }
    ended.await;
    tasks.abort_all();
    for path in sockets {
        let _gone_already = std::fs::remove_file(path);
    }
    Ok(())
}

fn urls(flags: &Parsed) -> Vec<&str> {
    let mut urls = flags.list("listen-client-urls");
    urls.extend(flags.list("listen-client-http-urls"));
    if urls.is_empty() {
        urls.push("http://localhost:2379");
    }
    urls
}

/// The folder for objects, absolute. kube-apiserver makes it when it first keeps something.
fn data_dir(flags: &Parsed) -> Result<PathBuf, Error> {
    let name = flags.last("name").filter(|name| !name.is_empty()).unwrap_or("default");
    let given = flags.last("data-dir").filter(|folder| !folder.is_empty());
    let folder = given.map_or_else(|| PathBuf::from(format!("{name}.etcd")), PathBuf::from);
    std::path::absolute(&folder)
        .map_err(|e| Error::machine(format!("finding {}", folder.display()), e, "--data-dir names a folder"))
}

async fn listen(url: &str) -> Result<Listener, Error> {
    let fail = |e: std::io::Error| Error::machine(format!("listening on {url}"), e, HINT);
    if let Some(path) = url.strip_prefix("unix://") {
        let path = PathBuf::from(path);
        remove_dead_socket(&path).await;
        return Ok(Listener::Unix(UnixListener::bind(&path).map_err(fail)?, path));
    }
    let Some(authority) = url.strip_prefix("http://") else {
        return Err(FlagError::Invalid {
            flag: "listen-client-urls",
            value: url.to_owned(),
            why: "it must begin with http:// or unix://; hint: this etcd speaks no TLS".to_owned(),
        }
        .into());
    };
    Ok(Listener::Tcp(TcpListener::bind(authority.trim_end_matches('/')).await.map_err(fail)?))
}

/// A socket that nobody listens on is left of a process that was killed.
async fn remove_dead_socket(path: &Path) {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket());
    if is_socket && tokio::net::UnixStream::connect(path).await.is_err() {
        let _gone_already = std::fs::remove_file(path);
    }
}

async fn accept_tcp(listener: TcpListener, data_dir: Arc<PathBuf>) {
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, data_dir.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn accept_unix(listener: UnixListener, data_dir: Arc<PathBuf>) {
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, data_dir.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, data_dir: Arc<PathBuf>) {
    let service = hyper::service::service_fn(|request| {
        let answer = answer(&request, &data_dir);
        async move { Ok::<_, Infallible>(answer) }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection ended early");
    }
}

fn answer(request: &Request<Incoming>, data_dir: &Path) -> Response<Full<Bytes>> {
    let (status, kind, text) = match request.uri().path() {
        _ if is_grpc(request) => return refused_grpc(),
        "/health" => (StatusCode::OK, "application/json", r#"{"health":"true","reason":""}"#.to_owned()),
        "/livez" | "/readyz" => (StatusCode::OK, "text/plain", "ok\n".to_owned()),
        "/version" => (
            StatusCode::OK,
            "application/json",
            format!(r#"{{"etcdserver":"{ETCD}","etcdcluster":"{ETCD}","storage":"{ETCD}"}}"#),
        ),
        etcd_client::DATA_PATH => (StatusCode::OK, "text/plain", data_dir.display().to_string()),
        _ => (StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "404 page not found\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

fn is_grpc(request: &Request<Incoming>) -> bool {
    let kind = request.headers().get(http::header::CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.starts_with("application/grpc"))
}

/// gRPC's UNIMPLEMENTED, without a body.
fn refused_grpc() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/grpc"));
    headers.insert("grpc-status", http::HeaderValue::from_static("12"));
    let why = "this etcd is pilothouse's: kube-apiserver keeps its objects itself, and no keys can be read or written here";
    headers.insert("grpc-message", http::HeaderValue::from_static(why));
    response
}
