//! What the server proves itself with, and what it recognizes others by: its certificate authority and the key that signs
//! service account tokens. They live in memory, or in a folder so that credentials stay good across restarts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pilothouse_store::{Clock, Store};

use crate::authentication::authenticator::{Anonymous, Authenticator, RequestHeader, TokenWebhook};
use crate::authentication::bootstrap_tokens::BootstrapTokens;
use crate::authentication::certs::{Authority, CertError, CertifiedKey, ClientCertificates};
use crate::authentication::tokens::{KeyError, Signer, StoreBound, TokenOptions};
use crate::authentication::user::User;

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Certificates.
    #[error(transparent)]
    Certificate(#[from] CertError),
    /// The key that signs tokens.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The folder.
    #[error("keeping the server's keys in {path}: {source}; hint: the folder must be writable by this user")]
    Folder {
        /// The file that could not be read or written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What a server is told of its identity; the rest it makes itself.
pub(crate) struct Given<'a> {
    /// Where keys are kept across restarts.
    pub(crate) folder: Option<&'a Path>,
    /// Users by their static tokens.
    pub(crate) tokens: HashMap<String, User>,
    /// The keys and names of service account tokens.
    pub(crate) service_accounts: &'a TokenOptions,
    /// What sockets show.
    pub(crate) serving: Option<CertifiedKey>,
    /// Whose client certificates count (PEM), instead of those of the server's own authority; empty for nobody's.
    pub(crate) client_authorities: Option<&'a str>,
    /// What becomes of requests without credentials.
    pub(crate) anonymous: Anonymous,
    /// Which proxies say who sends a request.
    pub(crate) request_header: Option<RequestHeader>,
    /// Who else is asked about tokens.
    pub(crate) token_webhook: Option<Arc<TokenWebhook>>,
    /// Whether secrets may hold bootstrap tokens.
    pub(crate) bootstrap_tokens: bool,
}

/// The server's keys, and the authenticator that trusts them.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) authority: Authority,
    /// Whose client certificates count, as PEM; empty for nobody's.
    pub(crate) client_authorities: String,
    /// What sockets show; `None` for what the authority issues for their address.
    pub(crate) serving: Option<CertifiedKey>,
    pub(crate) signer: Arc<Signer>,
    pub(crate) authenticator: Authenticator,
}

impl Identity {
    /// New keys, or those in the folder if it has some.
    ///
    /// # Errors
    /// If keys cannot be made, read or kept.
    pub(crate) fn new(given: Given<'_>, store: &Store, clock: Clock) -> Result<Identity, IdentityError> {
        let folder = given.folder;
        let authority = match folder {
            Some(folder) => kept_authority(folder)?,
            None => Authority::generate()?,
        };
        let signer = Arc::new(Signer::new(given.service_accounts, || match folder {
            Some(folder) => kept_key(folder),
            None => Ok(Signer::generate_pkcs8()?),
        })?);
        let trusted = given.client_authorities.unwrap_or(&authority.pem().certificate);
        let certificates = match trusted {
            "" => None,
            pem => Some(ClientCertificates::new(pem)?),
        };
        let authenticator = Authenticator {
            certificates,
            static_tokens: given.tokens,
            signer: signer.clone(),
            objects: Box::new(StoreBound(store.clone())),
            bootstrap: given.bootstrap_tokens.then(|| BootstrapTokens::new(store.clone())),
            request_header: given.request_header,
            webhook: given.token_webhook,
            clock,
            anonymous: given.anonymous,
        };
        let client_authorities = trusted.to_owned();
        Ok(Identity { authority, client_authorities, serving: given.serving, signer, authenticator })
    }
}

fn kept_authority(folder: &Path) -> Result<Authority, IdentityError> {
    let (certificate, key) = (folder.join("ca.crt"), folder.join("ca.key"));
    if let (Some(certificate), Some(key)) = (read(&certificate)?, read(&key)?) {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let pem = CertifiedKey { certificate: text(certificate), key: text(key) };
        return Ok(Authority::from_pem(pem)?);
    }
    let authority = Authority::generate()?;
    write(&key, authority.pem().key.as_bytes())?;
    write(&certificate, authority.pem().certificate.as_bytes())?;
    Ok(authority)
}

fn kept_key(folder: &Path) -> Result<Vec<u8>, IdentityError> {
    let path = folder.join("service-accounts.key");
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    let key = Signer::generate_pkcs8()?;
    write(&path, &key)?;
    Ok(key)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, IdentityError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(IdentityError::Folder { path: path.to_owned(), source }),
    }
}

/// Writes a file that only its owner may read.
fn write(path: &Path, bytes: &[u8]) -> Result<(), IdentityError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let fail = |source| IdentityError::Folder { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .map_err(fail)?;
    file.write_all(bytes).map_err(fail)
}
