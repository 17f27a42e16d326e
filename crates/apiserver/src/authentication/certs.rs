//! Certificates: the cluster's own authority, what it issues, and the TLS side of who a client is.
//!
//! Keys are ECDSA P-256: a new one takes microseconds, and every client of Kubernetes accepts it.

use crate::authentication::user::{AUTHENTICATED, CREDENTIAL_ID, User};
use crate::doors::network::Network;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{
    DigitallySignedStruct, DistinguishedName as TlsName, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};
use std::sync::Arc;
use x509_parser::prelude::{FromDer, X509Certificate};

/// What cannot be done with certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    /// A key or certificate could not be made, or what was given is none.
    #[error("making a certificate for {subject}: {source}")]
    Issue {
        /// Whose it would have been.
        subject: String,
        /// What the library says.
        source: rcgen::Error,
    },
    /// Text that should be PEM is not.
    #[error("reading {what}: {why}; hint: it must be PEM, as openssl writes it")]
    Pem {
        /// What was read.
        what: &'static str,
        /// Why it is none.
        why: String,
    },
    /// A user with several groups, of which the library can write only one into a certificate.
    #[error(
        "making a certificate for {user}: it can carry one group, and there are {groups}; hint: use a token"
    )]
    Groups {
        /// Whose it would have been.
        user: String,
        /// How many groups the user has.
        groups: usize,
    },
    /// rustls does not take them.
    #[error("setting up TLS: {0}")]
    Tls(String),
}

impl CertError {
    /// The reason as a word, for logs and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            CertError::Issue { .. } | CertError::Groups { .. } => "CertificateNotIssued",
            CertError::Pem { .. } => "InvalidPEM",
            CertError::Tls(_) => "InvalidTLSConfiguration",
        }
    }
}

/// A certificate with its key, both in PEM.
#[derive(Clone)]
pub struct CertifiedKey {
    /// The certificate.
    pub certificate: String,
    /// The private key, in PKCS #8.
    pub key: String,
}

impl std::fmt::Debug for CertifiedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertifiedKey").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A certificate authority that signs for servers and clients.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: CertifiedKey,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("certificate", &self.pem.certificate).finish_non_exhaustive()
    }
}

const AUTHORITY: &str = "pilothouse";

impl Authority {
    /// A new authority. Its certificate is valid for as long as anyone will ask: clusters like this one are short-lived.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub fn generate() -> Result<Self, CertError> {
        let issue = |source| CertError::Issue { subject: AUTHORITY.to_owned(), source };
        let key = KeyPair::generate().map_err(issue)?;
        let params = authority_params();
        let certificate = params.self_signed(&key).map_err(issue)?.pem();
        let pem = CertifiedKey { certificate, key: key.serialize_pem() };
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// The authority that [`Authority::generate`] made in an earlier life.
    ///
    /// # Errors
    /// When the key is no PEM key.
    pub fn from_pem(pem: CertifiedKey) -> Result<Self, CertError> {
        let key = KeyPair::from_pem(&pem.key).map_err(|why| CertError::Pem {
            what: "the key of the certificate authority",
            why: why.to_string(),
        })?;
        Ok(Self { issuer: Issuer::new(authority_params(), key), pem })
    }

    /// Its own certificate and key, to be kept.
    pub fn pem(&self) -> &CertifiedKey {
        &self.pem
    }

    /// A certificate for a server that is reached under these DNS names and IP addresses.
    ///
    /// # Errors
    /// When a name cannot be in a certificate.
    pub fn issue_server(&self, names: &[String]) -> Result<CertifiedKey, CertError> {
        let mut params = CertificateParams::new(names)
            .map_err(|source| CertError::Issue { subject: names.join(", "), source })?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params, "kube-apiserver", "", None)
    }

    /// A certificate that authenticates a client as this user: the name is the common name, the group is the
    /// organization, the uid (if there is one) has an attribute of its own. [`AUTHENTICATED`] does not count as a group, since everyone gets it.
    ///
    /// # Errors
    /// When the user has more than one group, or the name cannot be in a certificate.
    pub fn issue_client(&self, user: &User) -> Result<CertifiedKey, CertError> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let groups: Vec<&String> = user.groups.iter().filter(|group| *group != AUTHENTICATED).collect();
        match groups.as_slice() {
            [] => self.issue(params, &user.name, &user.uid, None),
            [group] => self.issue(params, &user.name, &user.uid, Some(group)),
            groups => Err(CertError::Groups { user: user.name.clone(), groups: groups.len() }),
        }
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        name: &str,
        uid: &str,
        organization: Option<&str>,
    ) -> Result<CertifiedKey, CertError> {
        let issue = |source| CertError::Issue { subject: name.to_owned(), source };
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, name);
        if let Some(organization) = organization {
            subject.push(DnType::OrganizationName, organization);
        }
        if !uid.is_empty() {
            subject.push(DnType::CustomDnType(USER_ID_ARCS.to_vec()), uid);
        }
        params.distinguished_name = subject;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(issue)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(issue)?.pem();
        Ok(CertifiedKey { certificate, key: key.serialize_pem() })
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, AUTHORITY);
    params.distinguished_name = subject;
    params
}

/// Tells users by their certificates, which must be signed by the client authority.
#[derive(Clone, Debug)]
pub struct ClientCertificates {
    verifier: Arc<dyn ClientCertVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl ClientCertificates {
    /// Trusts the certificates in this PEM text.
    ///
    /// # Errors
    /// When there is none in it.
    pub fn new(authority_pem: &str) -> Result<Self, CertError> {
        let mut roots = RootCertStore::empty();
        let trusted = read_certificates("the client certificate authority", authority_pem)?;
        for certificate in &trusted {
            roots.add(certificate.clone()).map_err(|why| CertError::Tls(why.to_string()))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider());
        let verifier = verifier.build().map_err(|why| CertError::Tls(why.to_string()))?;
        Ok(Self { verifier, trusted })
    }

    /// Whom a certificate chain names; `None` if it is not trusted. The name may be empty.
    pub(crate) fn common_name(&self, chain: &[CertificateDer<'_>]) -> Option<String> {
        self.verify(chain)?;
        let (_, certificate) = X509Certificate::from_der(chain.first()?).ok()?;
        let name = certificate.subject().iter_common_name().next();
        Some(name.and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned())
    }

    fn verify(&self, chain: &[CertificateDer<'_>]) -> Option<()> {
        let (own, intermediates) = chain.split_first()?;
        let (_, certificate) = X509Certificate::from_der(own).ok()?;
        if self.trusted.iter().any(|trusted| trusted == own) {
            // Go lets a certificate stand that is itself trusted, be it an authority's or not; webpki does not.
            is_for_clients(&certificate).then_some(())?;
        } else {
            self.verifier.verify_client_cert(own, intermediates, UnixTime::now()).ok()?;
        }
        Some(())
    }

    /// The user that a certificate chain stands for; `None` if it is not trusted, or names nobody.
    pub fn user(&self, chain: &[CertificateDer<'_>]) -> Option<User> {
        self.verify(chain)?;
        let own = chain.first()?;
        let (_, certificate) = X509Certificate::from_der(own).ok()?;
        let subject = certificate.subject();
        let name = subject.iter_common_name().next()?.as_str().ok()?;
        let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
        if name.is_empty() {
            return None;
        }
        let mut user = User::new(name, groups);
        let mut uids = subject.iter_attributes().filter(|part| part.attr_type().as_bytes() == USER_ID);
        if let Some(uid) = uids.next() {
            user.uid = uid.as_str().ok()?.to_owned();
            // More than one is no certificate of anybody, and neither is an empty one.
            if user.uid.is_empty() || uids.next().is_some() {
                return None;
            }
        }
        let fingerprint = ring::digest::digest(&ring::digest::SHA256, own);
        let fingerprint: String = fingerprint.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={fingerprint}")]);
        Some(user)
    }
}

/// [`USER_ID`] as numbers.
const USER_ID_ARCS: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];
/// The attribute of a subject that says the user's uid: 1.3.6.1.4.1.57683.2, in DER.
const USER_ID: &[u8] = &[0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2];

/// Whether the certificate is valid now, and not kept to other uses.
fn is_for_clients(certificate: &X509Certificate<'_>) -> bool {
    let uses = certificate.extended_key_usage().ok().flatten();
    certificate.validity().is_valid() && uses.is_none_or(|uses| uses.value.client_auth || uses.value.any)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What a server needs to speak TLS. Clients may show a certificate; whether it is trusted is decided by
/// [`ClientCertificates`] when a request comes, so that a client with a wrong one reads 401 and not a broken connection.
///
/// # Errors
/// When certificate and key are not PEM, or do not fit.
pub fn server_config(identity: &CertifiedKey, network: &Network) -> Result<ServerConfig, CertError> {
    let tls = |why: rustls::Error| CertError::Tls(why.to_string());
    let chain = read_certificates("the server's certificate", &identity.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())
        .map_err(|why| CertError::Pem { what: "the server's key", why: why.to_string() })?;
    let provider = provider();
    let all: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
    let versions = if network.tls12 { &all[..] } else { &all[..1] };
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(tls)?
        .with_client_cert_verifier(Arc::new(AnyCertificate { provider }))
        .with_single_cert(chain, key)
        .map_err(tls)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if network.http2 {
        config.alpn_protocols.insert(0, b"h2".to_vec());
    }
    Ok(config)
}

fn read_certificates(what: &'static str, pem: &str) -> Result<Vec<CertificateDer<'static>>, CertError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(CertError::Pem { what, why: "there is no certificate in it".to_owned() }),
        Err(why) => Err(CertError::Pem { what, why: why.to_string() }),
    }
}

/// Takes any certificate whose key the client proves to have.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<rustls::crypto::CryptoProvider>,
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[TlsName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A kubeconfig that reaches `server` (a URL), trusts `authority_pem`, and is authenticated by a client certificate.
pub fn kubeconfig(server: &str, authority_pem: &str, client: &CertifiedKey) -> String {
    use base64::Engine;
    let data = |pem: &str| base64::engine::general_purpose::STANDARD.encode(pem);
    format!(
        "apiVersion: v1
kind: Config
current-context: pilothouse
clusters:
- name: pilothouse
  cluster:
    server: {server}
    certificate-authority-data: {}
contexts:
- name: pilothouse
  context:
    cluster: pilothouse
    user: admin
users:
- name: admin
  user:
    client-certificate-data: {}
    client-key-data: {}
",
        data(authority_pem),
        data(&client.certificate),
        data(&client.key)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::ServerName;
    use std::io::{Read, Write};

    fn chain(key: &CertifiedKey) -> Vec<CertificateDer<'static>> {
        read_certificates("test", &key.certificate).unwrap()
    }

    #[test]
    fn a_client_is_who_its_certificate_says() {
        let authority = Authority::generate().unwrap();
        let client = authority.issue_client(&User::new("ann", ["dev"])).unwrap();
        let trusted = ClientCertificates::new(&authority.pem().certificate).unwrap();
        let user = trusted.user(&chain(&client)).unwrap();
        assert_eq!((user.name, user.groups), ("ann".to_owned(), User::new("", ["dev"]).groups));
        assert!(user.extra[CREDENTIAL_ID][0].starts_with("X509SHA256="));
        let server = authority.issue_server(&["localhost".to_owned()]).unwrap();
        assert_eq!(trusted.user(&chain(&server)), None, "a server's certificate is not for clients");
        let stranger = Authority::generate().unwrap().issue_client(&User::admin()).unwrap();
        assert_eq!(trusted.user(&chain(&stranger)), None);
        assert_eq!(trusted.user(&[]), None);
        let several = authority.issue_client(&User::new("ann", ["dev", "ops"])).unwrap_err();
        assert_eq!(several.reason(), "CertificateNotIssued");
        let known = User { uid: "u-1".into(), ..User::new("ann", ["dev"]) };
        let known = authority.issue_client(&known).unwrap();
        assert_eq!(trusted.user(&chain(&known)).unwrap().uid, "u-1");
    }

    #[test]
    fn a_certificate_that_is_itself_trusted_stands_for_its_user() {
        for is_authority in [false, true] {
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, "ann");
            params.distinguished_name.push(DnType::OrganizationName, "system:masters");
            if is_authority {
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }
            let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let trusted = ClientCertificates::new(&certificate.pem()).unwrap();
            assert_eq!(trusted.user(&[certificate.der().clone()]).unwrap().name, "ann");
        }
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let trusted = ClientCertificates::new(&server.pem()).unwrap();
        assert_eq!(trusted.user(&[server.der().clone()]), None, "a server's certificate is not for clients");
    }

    #[test]
    fn an_authority_that_was_kept_signs_on() {
        let authority = Authority::generate().unwrap();
        let trusted = ClientCertificates::new(&authority.pem().certificate).unwrap();
        let again = Authority::from_pem(authority.pem().clone()).unwrap();
        let client = again.issue_client(&User::new("ann", ["dev"])).unwrap();
        assert!(trusted.user(&chain(&client)).is_some());
    }

    #[test]
    fn tls_is_spoken_with_and_without_a_client_certificate() {
        let authority = Authority::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let server =
            Arc::new(server_config(&authority.issue_server(&names).unwrap(), &Network::default()).unwrap());
        // A client that the server does not trust gets through the handshake too: 401 is for the request.
        let stranger = Authority::generate().unwrap().issue_client(&User::admin()).unwrap();
        for (client, certificates) in [(None, 0), (Some(stranger), 1)] {
            let mut roots = RootCertStore::empty();
            chain(authority.pem()).into_iter().for_each(|root| roots.add(root).unwrap());
            let config = rustls::ClientConfig::builder_with_provider(provider())
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots);
            let config = match &client {
                Some(client) => {
                    let key = PrivateKeyDer::from_pem_slice(client.key.as_bytes()).unwrap();
                    config.with_client_auth_cert(chain(client), key).unwrap()
                }
                None => config.with_no_client_auth(),
            };
            let name = ServerName::try_from("127.0.0.1").unwrap();
            let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
            let mut server = rustls::ServerConnection::new(server.clone()).unwrap();
            client.writer().write_all(b"hello").unwrap();
            for _ in 0..4 {
                let mut wire = Vec::new();
                client.write_tls(&mut wire).unwrap();
                server.read_tls(&mut wire.as_slice()).unwrap();
                server.process_new_packets().unwrap();
                let mut wire = Vec::new();
                server.write_tls(&mut wire).unwrap();
                client.read_tls(&mut wire.as_slice()).unwrap();
                client.process_new_packets().unwrap();
            }
            let mut heard = [0; 5];
            server.reader().read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"hello");
            assert_eq!(server.peer_certificates().map_or(0, <[_]>::len), certificates);
        }
    }

    #[test]
    fn text_that_is_no_pem_is_refused_with_what_it_should_have_been() {
        let refused = ClientCertificates::new("nonsense").unwrap_err().to_string();
        assert!(refused.starts_with("reading the client certificate authority: "), "{refused}");
    }
}
