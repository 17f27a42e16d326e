//! Connecting to a cluster with every kubeconfig that kubectl takes.
//!
//! rustls refuses to load a client certificate of X.509 version 1, which `openssl x509 -req` makes unless it is told
//! otherwise and which API servers accept. Such a certificate is presented as it is: whether it is good is for the
//! server to say.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use kube::config::AuthInfo;
use kube::{Client, Config};
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use secrecy::ExposeSecret;
use tower::{BoxError, ServiceBuilder};

/// Connects to the cluster that a configuration names.
///
/// # Errors
/// When kube cannot make a client of it, unless the reason is a client certificate of version 1.
pub fn connect(config: Config) -> Result<Client, kube::Error> {
    match Client::try_from(config.clone()) {
        Err(kube::Error::RustlsTls(refused)) => match identity(&config.auth_info) {
            Some(identity) => with_identity(config, identity),
            None => Err(kube::Error::RustlsTls(refused)),
        },
        other => other,
    }
}

/// A client that presents this certificate. Unlike kube's own it does not repeat refused requests by itself; the engine
/// does that with a backoff for each key.
fn with_identity(mut config: Config, identity: CertifiedKey) -> Result<Client, kube::Error> {
    let auth = &mut config.auth_info;
    (auth.client_certificate, auth.client_certificate_data) = (None, None);
    (auth.client_key, auth.client_key_data) = (None, None);
    let mut tls = config.rustls_client_config()?;
    tls.client_auth_cert_resolver = Arc::new(Presented(Arc::new(identity)));
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .build();
    let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}

/// The client certificate and key of a kubeconfig, unchecked; `None` if there are none that can be read.
fn identity(auth: &AuthInfo) -> Option<CertifiedKey> {
    let certificates = read(auth.client_certificate_data.as_deref(), auth.client_certificate.as_deref())?;
    let key =
        read(auth.client_key_data.as_ref().map(ExposeSecret::expose_secret), auth.client_key.as_deref())?;
    let chain = CertificateDer::pem_slice_iter(&certificates).collect::<Result<Vec<_>, _>>().ok()?;
    let key = PrivateKeyDer::from_pem_slice(&key).ok()?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key).ok()?;
    Some(CertifiedKey::new(chain, key))
}

/// Data given in base64, or else the content of a file.
fn read(data: Option<&str>, file: Option<&str>) -> Option<Vec<u8>> {
    match (data, file) {
        (Some(data), _) => STANDARD.decode(data.trim()).ok(),
        (None, Some(file)) => std::fs::read(file).ok(),
        (None, None) => None,
    }
}

/// Presents one certificate to every server that asks for one.
#[derive(Debug)]
struct Presented(Arc<CertifiedKey>);

impl ResolvesClientCert for Presented {
    fn resolve(&self, _authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.key.choose_scheme(schemes).map(|_| self.0.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
