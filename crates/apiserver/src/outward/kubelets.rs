//! How kubelets are reached through a network: what they are shown, whose certificates they must have, and which of a node's
//! addresses is taken.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::webhook::trust;

/// The port of a kubelet whose node does not say another.
const PORT: u16 = 10250;

/// What keeps a [`KubeletClient`] from being made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeletClientError {
    /// The authority's PEM.
    #[error("reading the authority of kubelets: {0}")]
    Authority(String),
    /// The certificate that kubelets are shown, or its key.
    #[error("reading the certificate that kubelets are shown: {0}")]
    Certificate(String),
}

/// How kubelets are reached; the flags `--kubelet-*` of kube-apiserver. The default shows them no certificate, takes
/// whatever certificate they show, and looks at the types of addresses in kube-apiserver's order.
#[derive(Clone)]
pub struct KubeletClient {
    authority: Option<String>,
    own: Option<Arc<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>>,
    address_types: Vec<String>,
}

impl std::fmt::Debug for KubeletClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeletClient").field("address_types", &self.address_types).finish_non_exhaustive()
    }
}

impl Default for KubeletClient {
    fn default() -> KubeletClient {
        let types = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
        KubeletClient { authority: None, own: None, address_types: types.map(str::to_owned).into() }
    }
}

impl KubeletClient {
    /// Believes only kubelets whose certificates these authorities (PEM) have signed.
    ///
    /// # Errors
    /// When there is no certificate in the text.
    pub fn authority(mut self, pem: &str) -> Result<KubeletClient, KubeletClientError> {
        self.authority = Some(STANDARD.encode(pem));
        self.config(true).map_err(KubeletClientError::Authority)?;
        Ok(self)
    }

    /// Shows kubelets this certificate, with its key; both are PEM.
    ///
    /// # Errors
    /// When there is no certificate or no key, or one does not fit the other.
    pub fn certificate(mut self, certificate: &str, key: &str) -> Result<KubeletClient, KubeletClientError> {
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(certificate.as_bytes()).filter_map(Result::ok).collect();
        let fail = |why: String| KubeletClientError::Certificate(why);
        if chain.is_empty() {
            return Err(fail("there is no certificate in it".to_owned()));
        }
        // What the reader says of a key could show some of it.
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|_| fail("there is no private key in it".to_owned()))?;
        self.own = Some(Arc::new((chain, key)));
        self.config(true).map_err(fail)?;
        Ok(self)
    }

    /// Takes the first address of a node that is of the first of these types.
    #[must_use]
    pub fn address_types(mut self, types: impl IntoIterator<Item = impl Into<String>>) -> KubeletClient {
        self.address_types = types.into_iter().map(Into::into).collect();
        self
    }

    /// The TLS side; `checks` says whether certificates of kubelets are looked at, if there is an authority.
    fn config(&self, checks: bool) -> Result<Arc<ClientConfig>, String> {
        let own = self.own.as_deref();
        match &self.authority {
            Some(bundle) if checks => trust::client_config(bundle, own, false),
            _ => trust::trusting_config(own, false),
        }
        .map_err(|error| error.0)
    }
}

/// Whose certificates are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Everybody's: pods and Services are known by their addresses alone.
    Anyone,
    /// Those that the authority of kubelets has signed.
    Kubelet,
    /// Any kubelet's, because the caller says so.
    AnyKubelet,
}

/// The TLS sides of what goes out, each made when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Kubelets {
    client: KubeletClient,
    anyone: OnceLock<Result<Arc<ClientConfig>, String>>,
    kubelet: OnceLock<Result<Arc<ClientConfig>, String>>,
    any_kubelet: OnceLock<Result<Arc<ClientConfig>, String>>,
}

impl Kubelets {
    pub(crate) fn new(client: KubeletClient) -> Kubelets {
        Kubelets { client, ..Kubelets::default() }
    }

    /// The types of addresses, the first that is there first.
    pub(super) fn address_types(&self) -> &[String] {
        &self.client.address_types
    }

    /// The port of a kubelet whose node says none.
    pub(super) fn port() -> u16 {
        PORT
    }

    /// The TLS side for somebody who is trusted so.
    pub(super) fn config(&self, trust: Trust) -> Result<Arc<ClientConfig>, String> {
        match trust {
            Trust::Anyone => self.anyone.get_or_init(|| KubeletClient::default().config(false)),
            Trust::Kubelet => self.kubelet.get_or_init(|| self.client.config(true)),
            Trust::AnyKubelet => self.any_kubelet.get_or_init(|| self.client.config(false)),
        }
        .clone()
    }
}
