//! The certificate that kube-apiserver shows: that of `--tls-cert-file`, that of `--cert-dir`, or a new one.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use pilothouse_apiserver::certs::{Authority, CertifiedKey};

use crate::Error;
use crate::flags::Parsed;

/// Where upstream keeps the pair that it makes, if no flag says.
const CERT_DIR: &str = "/var/run/kubernetes";

/// Reads the pair, or makes one that is good for `addresses` and keeps it in the folder.
///
/// # Errors
/// If a file that a flag names cannot be read, or a new pair cannot be kept.
pub(crate) fn pair(flags: &Parsed, addresses: &[IpAddr]) -> Result<CertifiedKey, Error> {
    let named = |flag| flags.last(flag).filter(|text| !text.is_empty());
    if let (Some(certificate), Some(key)) = (named("tls-cert-file"), named("tls-private-key-file")) {
        return Ok(CertifiedKey {
            certificate: read("tls-cert-file", certificate.as_ref())?,
            key: read("tls-private-key-file", key.as_ref())?,
        });
    }
    let folder = PathBuf::from(flags.last("cert-dir").unwrap_or(CERT_DIR));
    let (certificate, key) = (folder.join("apiserver.crt"), folder.join("apiserver.key"));
    if certificate.exists() && key.exists() {
        return Ok(CertifiedKey {
            certificate: read("cert-dir", &certificate)?,
            key: read("cert-dir", &key)?,
        });
    }
    let mut names: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let own = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    names.extend(own.map(str::to_owned));
    let hint = "do the flags name addresses that a certificate can have?";
    let pair = Authority::generate()
        .and_then(|authority| {
            let mut pair = authority.issue_server(&names)?;
            // Clients that trust the file trust the whole chain.
            pair.certificate.push_str(&authority.pem().certificate);
            Ok(pair)
        })
        .map_err(|e| Error::machine("making a serving certificate", e, hint))?;
    if flags.last("cert-dir") != Some("") {
        // Upstream's default folder is not there for most users; a pair that is not kept serves as well.
        let kept = keep(&folder, &certificate, &key, &pair);
        if flags.is_set("cert-dir") {
            let doing = format!("keeping a serving certificate in {}", folder.display());
            kept.map_err(|e| Error::machine(doing, e, "--cert-dir names another folder"))?;
        }
    }
    Ok(pair)
}

/// The text of a file that a flag names.
///
/// # Errors
/// If it cannot be read as text.
pub(crate) fn read(flag: &'static str, path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|e| Error::File { flag, path: path.to_owned(), why: e.to_string() })
}

fn keep(folder: &Path, certificate: &Path, key: &Path, pair: &CertifiedKey) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::create_dir_all(folder)?;
    for (path, text, mode) in [(key, &pair.key, 0o600), (certificate, &pair.certificate, 0o644)] {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode).open(path)?.write_all(text.as_bytes())?;
    }
    Ok(())
}
