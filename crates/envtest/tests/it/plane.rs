//! A control plane made of processes, and a client for it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pilothouse_apiserver::certs::{Authority, CertifiedKey};
use pilothouse_apiserver::{User, Value};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_pilothouse-envtest");

/// A tool that runs. It is killed if the test ends before it does.
pub(crate) struct Tool {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    /// What it has written to standard error, up to where it was waited for.
    pub(crate) said: String,
}

impl Tool {
    /// Starts a tool by its name in a folder.
    pub(crate) fn start(folder: &Path, name: &str, arguments: &[String]) -> Tool {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
        }
        let mut command = Command::new(link);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Tool { child, stderr, said: String::new() }
    }

    /// Reads standard error until a line begins with this, and returns the rest of that line.
    pub(crate) fn said(&mut self, begin: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "it ended after {:?}", self.said);
            self.said.push_str(&line);
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end(&mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
        self.child.wait().unwrap()
    }

    /// Waits for the end, and returns all that was said.
    pub(crate) fn output(mut self) -> (ExitStatus, String) {
        self.stderr.read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap(), std::mem::take(&mut self.said))
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A folder with an etcd that runs, and what kube-apiserver needs.
pub(crate) struct Plane {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) etcd: Tool,
    pub(crate) etcd_url: String,
    authority: Authority,
}

/// A kube-apiserver that runs.
pub(crate) struct Api {
    pub(crate) tool: Tool,
    pub(crate) address: SocketAddr,
    /// The certificate authority of the server's certificate.
    pub(crate) trusted: String,
}

impl Plane {
    pub(crate) fn start() -> Plane {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let arguments = [
            "--listen-client-urls=http://127.0.0.1:0".to_owned(),
            format!("--data-dir={}", data.display()),
            "--unsafe-no-fsync=true".to_owned(),
        ];
        let mut etcd = Tool::start(folder.path(), "etcd", &arguments);
        let etcd_url = etcd.said("Listening on ");
        Plane { folder, etcd, etcd_url, authority: Authority::generate().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate of the authority that kube-apiserver trusts.
    pub(crate) fn client(&self, user: &User) -> CertifiedKey {
        self.authority.issue_client(user).unwrap()
    }

    /// Starts a kube-apiserver as envtest does, with more flags.
    pub(crate) fn api(&self, more: &[&str]) -> Api {
        std::fs::write(self.path("client-ca.crt"), &self.authority.pem().certificate).unwrap();
        let mut arguments = vec![
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", self.path("certs").display()),
            format!("--client-ca-file={}", self.path("client-ca.crt").display()),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            format!("--etcd-servers={}", self.etcd_url),
            "--secure-port=0".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ];
        arguments.extend(more.iter().map(|&flag| flag.to_owned()));
        self.api_of(&arguments)
    }

    /// Starts a kube-apiserver with these flags alone.
    pub(crate) fn api_of(&self, arguments: &[String]) -> Api {
        let mut tool = Tool::start(self.folder.path(), "kube-apiserver", arguments);
        let address = tool.said("Serving securely on ").parse().unwrap();
        let trusted = std::fs::read_to_string(self.path("certs/apiserver.crt")).unwrap();
        Api { tool, address, trusted }
    }
}

impl Api {
    /// Sends a request and returns status and document.
    pub(crate) async fn call(
        &self,
        who: Option<&CertifiedKey>,
        method: &str,
        path: &str,
        body: &str,
    ) -> (u16, Value) {
        let (status, text) = self.text(who, method, path, body).await;
        let document = pilothouse_value::parse::json(&text).map(|parsed| parsed.value);
        (status, document.unwrap_or_default())
    }

    /// Reads a document as the user of a token.
    pub(crate) async fn with_token(&self, token: &str, path: &str) -> Value {
        let token = format!("Bearer {token}");
        let (status, text) =
            whole(self.ask(None, ("GET", path), &[("authorization", &token)], "").await).await;
        assert_eq!(status, 200, "{path}: {text:?}");
        pilothouse_value::parse::json(&text).unwrap().value
    }

    /// Sends a request and returns status and text.
    pub(crate) async fn text(
        &self,
        who: Option<&CertifiedKey>,
        method: &str,
        path: &str,
        body: &str,
    ) -> (u16, Bytes) {
        whole(self.open(who, method, path, body).await).await
    }

    /// Sends a request and returns the answer before its body has come.
    pub(crate) async fn open(
        &self,
        who: Option<&CertifiedKey>,
        method: &str,
        path: &str,
        body: &str,
    ) -> Response<Incoming> {
        self.ask(who, (method, path), &[], body).await
    }

    /// As [`open`](Self::open), with headers.
    pub(crate) async fn ask(
        &self,
        who: Option<&CertifiedKey>,
        what: (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<Incoming> {
        self.exchange(who, request_of(what, headers, body)).await
    }

    /// Sends a request as it is.
    pub(crate) async fn exchange(
        &self,
        who: Option<&CertifiedKey>,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        self.connect(who).await.send_request(request).await.unwrap()
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self, who: Option<&CertifiedKey>) -> SendRequest<Full<Bytes>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        let chain = CertificateDer::pem_slice_iter(self.trusted.as_bytes());
        roots.add_parsable_certificates(chain.map(Result::unwrap));
        let config = rustls::ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let config = match who {
            None => config.with_no_client_auth(),
            Some(pair) => {
                let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes());
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain.map(Result::unwrap).collect(), key).unwrap()
            }
        };
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        handshake(TokioIo::new(stream)).await
    }
}

/// Sends a request over a connection of its own and returns status and text.
pub(crate) async fn request(
    stream: impl hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    path: &str,
) -> (u16, Bytes) {
    whole(handshake(stream).await.send_request(request_of(("GET", path), &[], "")).await.unwrap()).await
}

fn request_of((method, path): (&str, &str), headers: &[(&str, &str)], body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
    if headers.iter().all(|(name, _)| *name != "Content-Type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap()
}

async fn handshake(
    stream: impl hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
) -> SendRequest<Full<Bytes>> {
    let (sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// Status and text of an answer, once all of it is there.
pub(crate) async fn whole(response: Response<Incoming>) -> (u16, Bytes) {
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.unwrap().to_bytes())
}
