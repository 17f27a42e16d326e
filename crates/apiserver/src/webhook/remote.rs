//! Servers that a kubeconfig names: those that are asked who somebody is, what they may do, or which images may run.
//!
//! Source of behaviour: `pkg/util/webhook` of k8s.io/apiserver: what it waits for, and what it tries again.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pilothouse_value::{Value, json, object, parse};
use tokio::time::Instant;

use super::redirect::Sent;
use super::{Hook, connection, credentials, trust, url};

/// How long a server may take, if nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a server is asked that fails in a way that may pass.
const STEPS: usize = 5;
/// How much longer each wait is than the one before.
const FACTOR: f64 = 1.5;

/// A server that a kubeconfig names.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    hook: Arc<Hook>,
    timeout: Duration,
    backoff: Duration,
}

impl Remote {
    /// Reads the kubeconfig at a path.
    ///
    /// # Errors
    /// If it cannot be read, names no server, or names one that is not reached by HTTPS.
    pub(crate) fn of_file(path: &str) -> Result<Remote, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("reading {path}: {error}"))?;
        let document = parse::yaml(&text).map_err(|error| format!("reading {path}: {error}"))?.value;
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        Remote::of(&document, folder).map_err(|why| format!("reading {path}: {why}"))
    }

    /// Reads a kubeconfig; the files that it names are relative to a folder.
    ///
    /// # Errors
    /// As [`of_file`](Self::of_file).
    fn of(kubeconfig: &Value, folder: &Path) -> Result<Remote, String> {
        let kind = object::kind(kubeconfig);
        if !matches!(kind, "Config" | "") {
            return Err(format!("the kind is {kind:?}, not Config"));
        }
        let named = |list: &'static str, name: &str, part: &'static str| {
            let found = kubeconfig.items_at(&[list]).iter().find(|one| one.str_at(&["name"]) == Some(name));
            found.and_then(|one| one.get(part)).cloned()
        };
        let current = kubeconfig.str_at(&["current-context"]).unwrap_or_default();
        let context = named("contexts", current, "context")
            .ok_or_else(|| "invalid configuration: no context has the name of current-context".to_owned())?;
        let of = |field: &str| context.str_at(&[field]).unwrap_or_default();
        let cluster = named("clusters", of("cluster"), "cluster")
            .ok_or_else(|| format!("invalid configuration: there is no cluster {:?}", of("cluster")))?;
        let mut user = named("users", of("user"), "user").unwrap_or_else(Value::object);
        for field in ["client-certificate", "client-key", "tokenFile"] {
            if let Some(path) = user.str_at(&[field]).map(|path| folder.join(path)) {
                user.set(&[field], path.display().to_string());
            }
        }
        let credential = credentials::credential(&user)?;
        let bundle = match cluster.str_at(&["certificate-authority-data"]).filter(|data| !data.is_empty()) {
            Some(data) => data.to_owned(),
            None => match cluster.str_at(&["certificate-authority"]).filter(|path| !path.is_empty()) {
                Some(path) => {
                    let path = folder.join(path);
                    let pem = std::fs::read(&path);
                    STANDARD.encode(pem.map_err(|error| format!("reading {}: {error}", path.display()))?)
                }
                None => String::new(),
            },
        };
        let server = cluster.str_at(&["server"]).unwrap_or_default();
        let mut address = url::Address::of(&json!({"url": server})).map_err(|error| error.0)?;
        if let Some(name) = cluster.str_at(&["tls-server-name"]).filter(|name| !name.is_empty()) {
            address.dialled = Some(std::mem::replace(&mut address.server_name, name.to_owned()));
        }
        let trusting = cluster.get("insecure-skip-tls-verify").and_then(Value::as_bool) == Some(true);
        let own = credential.certificate.as_deref();
        let tls = if trusting {
            trust::trusting_config(own, true)
        } else {
            trust::client_config(&bundle, own, true)
        };
        let pool = connection::Pool::new(tls.map_err(|error| error.0)?);
        let hook = Arc::new(Hook { address, pool, credential, agent: super::NAMELESS });
        Ok(Remote { hook, timeout: TIMEOUT, backoff: Duration::from_millis(500) })
    }

    /// Waits so long before a server is asked for the second time, and longer each time after that.
    #[must_use]
    pub(crate) fn backoff(mut self, wait: Duration) -> Remote {
        self.backoff = wait;
        self
    }

    /// Waits no longer than this for an answer.
    #[must_use]
    pub(crate) fn timeout(mut self, timeout: Duration) -> Remote {
        self.timeout = timeout;
        self
    }

    /// Sends a document, and gives back the body of the answer. What may pass is tried again.
    ///
    /// # Errors
    /// If there is no answer in time, or one that is no success, in the words of Go.
    pub(crate) async fn post(&self, body: Bytes) -> Result<Bytes, String> {
        self.post_or_code(body).await.map_err(|(_, why)| why)
    }

    /// As [`post`](Self::post).
    ///
    /// # Errors
    /// As [`post`](Self::post), with the code of the answer; 0 if there is none.
    pub(crate) async fn post_or_code(&self, body: Bytes) -> Result<Bytes, (u16, String)> {
        let target =
            format!("{}?timeout={}", self.hook.address.path, super::go_seconds(self.timeout.as_secs()));
        let mut wait = self.backoff;
        for step in 1..=STEPS {
            let deadline = Instant::now() + self.timeout;
            let mut sent = Sent::first(&self.hook.address.host, target.clone(), body.clone());
            let asked = tokio::time::timeout_at(deadline, self.hook.follow(None, &mut sent)).await;
            let (code, why, passes) = match asked {
                Ok(Ok(answer)) => {
                    let code = answer.status.as_u16();
                    match answer.into_body() {
                        Ok(body) => return Ok(body),
                        Err(error) => (code, error.0, matches!(code, 429 | 500 | 504)),
                    }
                }
                Ok(Err(trouble)) => {
                    let closed = matches!(trouble, connection::Trouble::Closed);
                    (0, trouble.told(&sent.url()).0, closed)
                }
                Err(_elapsed) => (0, connection::Trouble::Deadline.told(&sent.url()).0, false),
            };
            if !passes || step == STEPS {
                return Err((code, why));
            }
            tokio::time::sleep(wait).await;
            wait = wait.mul_f64(FACTOR);
        }
        Err((0, "nobody was asked".to_owned()))
    }

    /// As [`post`](Self::post), for callers that cannot wait: a thread of its own does it for them.
    ///
    /// # Errors
    /// As [`post`](Self::post), and if there is no thread.
    pub(crate) fn post_blocking(&self, body: Bytes) -> Result<Bytes, String> {
        let remote = self.clone();
        let ask = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| error.to_string())?.block_on(remote.post(body))
        };
        let wait = || std::thread::spawn(ask).join().unwrap_or_else(|_| Err("the call failed".to_owned()));
        match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(wait),
            _ => wait(),
        }
    }
}
