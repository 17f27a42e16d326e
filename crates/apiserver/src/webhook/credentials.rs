//! What the server shows webhooks that want to know who calls: the users of a kubeconfig, by the hosts that they are for.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use pilothouse_value::{Value, object};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why a kubeconfig for webhooks cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// It is something else.
    #[error("reading the kubeconfig of webhooks: the kind is {0:?}; hint: it must be Config")]
    Kind(String),
    /// What one user has cannot be read.
    #[error("reading the kubeconfig of webhooks: user {user:?}: {why}")]
    User {
        /// The name of the user, which is a host.
        user: String,
        /// What is wrong.
        why: String,
    },
}

/// One user: a header, or a certificate, or both, or neither.
#[derive(Clone, Default)]
pub(super) struct Credential {
    /// The value of `Authorization`.
    pub(super) header: Option<HeaderValue>,
    /// What is shown when a connection is opened.
    pub(super) certificate: Option<Arc<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>>,
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential").finish_non_exhaustive()
    }
}

/// The users by their names: `host:port`, `*.domain`, `*`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials(HashMap<String, Credential>);

impl Credentials {
    /// Reads a kubeconfig. Files that it names are read now, and not again.
    ///
    /// # Errors
    /// If it is none, or names a file that cannot be read.
    pub(crate) fn read(kubeconfig: &Value) -> Result<Credentials, CredentialsError> {
        let kind = object::kind(kubeconfig);
        if kind != "Config" {
            return Err(CredentialsError::Kind(kind.to_owned()));
        }
        let mut users = HashMap::new();
        for entry in kubeconfig.items_at(&["users"]) {
            let name = entry.str_at(&["name"]).unwrap_or_default().to_owned();
            let empty = Value::object();
            let credential = credential(entry.get("user").unwrap_or(&empty))
                .map_err(|why| CredentialsError::User { user: name.clone(), why })?;
            users.insert(name, credential);
        }
        Ok(Credentials(users))
    }

    /// The user for a host and port. The most exact name wins.
    pub(super) fn of(&self, host: &str, port: u16) -> Credential {
        if self.0.is_empty() {
            return Credential::default();
        }
        let found = self.find(&format!("{host}:{port}"));
        let found = found.or_else(|| (port == 443).then(|| self.find(host)).flatten());
        found.or_else(|| self.0.get("*")).cloned().unwrap_or_default()
    }

    fn find(&self, target: &str) -> Option<&Credential> {
        let rest = target.match_indices('.').filter_map(|(dot, _)| target.get(dot..));
        let mut wider = rest.map(|rest| format!("*{rest}"));
        self.0.get(target).or_else(|| wider.find_map(|name| self.0.get(&name)))
    }
}

/// Reads a user of a kubeconfig.
///
/// # Errors
/// If a file cannot be read, or what is in it cannot be used.
pub(super) fn credential(user: &Value) -> Result<Credential, String> {
    let text = |key: &str| user.str_at(&[key]).filter(|text| !text.is_empty());
    let file = |key: &str| match text(key) {
        Some(path) => {
            std::fs::read_to_string(path).map(Some).map_err(|error| format!("reading {path}: {error}"))
        }
        None => Ok(None),
    };
    let data = |key: &str, path: &str| match text(key) {
        Some(data) => {
            let bytes = STANDARD.decode(data).map_err(|error| format!("{key}: {error}"))?;
            String::from_utf8(bytes).map(Some).map_err(|error| format!("{key}: {error}"))
        }
        None => file(path),
    };
    let token = match text("token") {
        Some(token) => Some(token.to_owned()),
        None => file("tokenFile")?.map(|token| token.trim().to_owned()),
    };
    let header = match (token, text("username")) {
        (Some(token), _) => Some(format!("Bearer {token}")),
        (None, Some(name)) => {
            let password = text("password").unwrap_or_default();
            Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
        }
        (None, None) => None,
    };
    // What is wrong with a secret is not shown with it.
    let header = header.map(|text| {
        let mut value = HeaderValue::from_str(&text).map_err(|_| "it cannot be in a header".to_owned())?;
        value.set_sensitive(true);
        Ok::<_, String>(value)
    });
    let certificate = data("client-certificate-data", "client-certificate")?;
    let key = data("client-key-data", "client-key")?;
    let certificate = match (certificate, key) {
        (Some(certificate), Some(key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
            let chain = chain.map_err(|error| format!("the certificate: {error}"))?;
            let key =
                PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| format!("the key: {error}"))?;
            Some(Arc::new((chain, key)))
        }
        (None, None) => None,
        _ => return Err("a certificate needs its key, and a key its certificate".to_owned()),
    };
    Ok(Credential { header: header.transpose()?, certificate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn the_most_exact_name_wins() {
        let user = |name: &str, token: &str| json!({"name": name, "user": {"token": token}});
        let config = json!({"kind": "Config", "users": [
            user("127.0.0.1:8443", "exact"), user("127.0.0.1", "without-port"), user("*.svc", "services"),
            user("*.n.svc", "of-n"), user("*", "others"),
        ]});
        let credentials = Credentials::read(&config).unwrap_or_else(|error| panic!("{error}"));
        let token = |host: &str, port| {
            let header = credentials.of(host, port).header;
            header.and_then(|value| value.to_str().ok().map(str::to_owned)).unwrap_or_default()
        };
        assert_eq!(token("127.0.0.1", 8443), "Bearer exact");
        assert_eq!(token("127.0.0.1", 443), "Bearer without-port");
        assert_eq!(token("127.0.0.1", 444), "Bearer others");
        assert_eq!(token("a.n.svc", 443), "Bearer of-n");
        assert_eq!(token("a.m.svc", 443), "Bearer services");
        assert!(Credentials::default().of("a", 1).header.is_none());
    }

    #[test]
    fn half_a_certificate_is_refused() {
        let config = json!({"kind": "Config", "users": [{"name": "a", "user": {"client-key-data": "YQ=="}}]});
        assert!(Credentials::read(&config).is_err());
        assert!(Credentials::read(&json!({"kind": "Pod"})).is_err());
    }
}
