//! Where kube-apiserver keeps its objects: a journal for each `--etcd-prefix` in the folder of the etcd of
//! `--etcd-servers`, so that a kube-apiserver that is started again finds what another one has written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pilothouse_store::{Config, Store};
use tokio::time::Instant;

use crate::etcd_rpc::Etcd;
use crate::flags::Parsed;
use crate::{Error, etcd_client};

/// How long the kube-apiserver that had the journal before may take to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// Upstream's default of `--etcd-prefix`.
const PREFIX: &str = "/registry";

/// The store that the flags name; one that lives as long as this process if they name no etcd of ours.
///
/// # Errors
/// If nobody answers for `--etcd-servers`, or the journal cannot be had.
pub(crate) async fn store(flags: &Parsed) -> Result<Store, Error> {
    let servers = flags.list("etcd-servers");
    let Some(server) = servers.first() else { return Ok(Store::memory(Config::default())) };
    let Some(folder) = folder(server).await? else {
        tracing::warn!(server, "this etcd is not pilothouse's: objects live as long as this kube-apiserver");
        return Ok(Store::memory(Config::default()));
    };
    let path = folder.join(file_name(flags.last("etcd-prefix").unwrap_or(PREFIX)));
    let deadline = Instant::now() + PATIENCE;
    loop {
        let error = match Store::open_journal(&path, Config::default()) {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        if !error.is_in_use() || Instant::now() >= deadline {
            let hint =
                "one kube-apiserver at a time can use an etcd and a prefix; --etcd-prefix names another";
            return Err(Error::machine("opening what etcd keeps", error, hint));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The folder for objects: that of our etcd, or of the socket of another one, which ends with it.
async fn folder(server: &str) -> Result<Option<PathBuf>, Error> {
    let own = etcd_client::data_dir(server).await?;
    let beside = || server.strip_prefix("unix://").and_then(|socket| Path::new(socket).parent());
    Ok(own.or_else(|| beside().map(Path::to_owned)))
}

/// What others have written into an etcd that is not ours.
///
/// # Errors
/// If nobody answers for `--etcd-servers`.
pub(crate) async fn written_by_others(flags: &Parsed) -> Result<Option<Etcd>, Error> {
    let servers = flags.list("etcd-servers");
    let Some(server) = servers.first() else { return Ok(None) };
    let ours = etcd_client::data_dir(server).await?.is_some();
    Ok((!ours).then(|| Etcd::new(server, flags.last("etcd-prefix").unwrap_or(PREFIX))))
}

/// The name of a prefix's journal. Slashes at its ends make no difference, as upstream.
fn file_name(prefix: &str) -> PathBuf {
    let mut name = String::new();
    for byte in prefix.trim_matches('/').bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    PathBuf::from(format!("objects-{name}.journal"))
}
