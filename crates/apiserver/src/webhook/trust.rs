//! Whom a webhook's certificate must be from, and what is said when it is not.
//!
//! The rules are those of Go's `crypto/x509`: unlike webpki it lets a certificate stand that is itself among the trusted
//! ones, be it an authority's or not.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::CallError;
use crate::authentication::certs::CertifiedKey;

/// What HTTP/2 is called while TLS is set up.
pub(super) const HTTP_2: &[u8] = b"h2";
const HTTP_1: &[u8] = b"http/1.1";

/// The TLS side of calls to a server whose certificate is from this bundle, which is base64 of PEM; an empty one stands for
/// the roots of the machine. `own` is the certificate that is shown, with its key; `both` says that HTTP/2 may be spoken.
///
/// # Errors
/// If the bundle holds no certificate, or the own one does not fit its key.
pub(crate) fn client_config(
    bundle: &str,
    own: Option<&(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    both: bool,
) -> Result<Arc<ClientConfig>, CallError> {
    let bundle = STANDARD.decode(bundle).map_err(|error| CallError(error.to_string()))?;
    let roots = if bundle.is_empty() { system_roots() } else { certificates(&bundle)? };
    with_verifier(Verifier::new(roots, Arc::new(rustls::crypto::ring::default_provider())), own, both)
}

/// As [`client_config`], for a kubeconfig that says that the server's certificate is not to be looked at.
///
/// # Errors
/// If the own certificate does not fit its key.
pub(crate) fn trusting_config(
    own: Option<&(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    both: bool,
) -> Result<Arc<ClientConfig>, CallError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    with_verifier(Verifier { trusted: Vec::new(), chains: None, provider, all: true }, own, both)
}

/// A certificate with its key, as they are shown.
///
/// # Errors
/// If they cannot be read.
pub(crate) fn own_certificate(
    pair: &CertifiedKey,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), CallError> {
    let chain = certificates(pair.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes());
    Ok((chain, key.map_err(|error| CallError(format!("tls: {error}")))?))
}

fn with_verifier(
    verifier: Verifier,
    own: Option<&(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    both: bool,
) -> Result<Arc<ClientConfig>, CallError> {
    let provider = verifier.provider.clone();
    let verifier = Arc::new(verifier);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| CallError(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match own {
        Some((chain, key)) => config
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| CallError(error.to_string()))?,
        None => config.with_no_client_auth(),
    };
    let protocols: &[&[u8]] = if both { &[HTTP_2, HTTP_1] } else { &[HTTP_1] };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The certificates of a bundle in PEM.
///
/// # Errors
/// If there is none.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CallError> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect();
    if found.is_empty() {
        return Err(CallError("unable to load root certificates: unable to parse bytes as PEM block".into()));
    }
    Ok(found)
}

/// The roots of the machine, read once.
fn system_roots() -> Vec<CertificateDer<'static>> {
    static ROOTS: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    ROOTS.get_or_init(|| rustls_native_certs::load_native_certs().certs).clone()
}

/// Verifies as Go does.
#[derive(Debug)]
struct Verifier {
    trusted: Vec<CertificateDer<'static>>,
    /// None if no certificate of the bundle can be an authority's.
    chains: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
    /// Whether every certificate is taken.
    all: bool,
}

impl Verifier {
    fn new(trusted: Vec<CertificateDer<'static>>, provider: Arc<CryptoProvider>) -> Verifier {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        let chains =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().ok();
        Verifier { trusted, chains, provider, all: false }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if self.all {
            return Ok(ServerCertVerified::assertion());
        }
        check_dates(certificate, now)?;
        // Go looks at the names before it looks for who has signed.
        check_name(certificate, name)?;
        if self.trusted.iter().any(|own| own == certificate) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.chains {
            Some(chains) => chains.verify_server_cert(certificate, intermediates, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, TlsError> {
    let (_, parsed) = X509Certificate::from_der(certificate)
        .map_err(|_| TlsError::InvalidCertificate(CertificateError::BadEncoding))?;
    Ok(parsed)
}

fn check_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), TlsError> {
    let parsed = parse(certificate)?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let unix =
        |seconds: i64| UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds.max(0) as u64));
    let (from, to) = (parsed.validity().not_before.timestamp(), parsed.validity().not_after.timestamp());
    if seconds < from {
        return Err(CertificateError::NotValidYetContext { time: now, not_before: unix(from) }.into());
    }
    if seconds > to {
        return Err(CertificateError::ExpiredContext { time: now, not_after: unix(to) }.into());
    }
    Ok(())
}

fn check_name(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), TlsError> {
    let parsed = parse(certificate)?;
    let names = parsed.subject_alternative_name().ok().flatten();
    let names = names.map(|names| names.value.general_names.as_slice()).unwrap_or_default();
    let wanted = name.to_str();
    let fits = names.iter().any(|own| match own {
        GeneralName::DNSName(own) => matches!(name, ServerName::DnsName(_)) && dns_fits(own, &wanted),
        GeneralName::IPAddress(bytes) => address(bytes).is_some_and(|own| own == *wanted),
        _ => false,
    });
    if fits {
        return Ok(());
    }
    let presented = names.iter().filter_map(|own| match own {
        GeneralName::DNSName(own) => Some(format!("DnsName({own:?})")),
        GeneralName::IPAddress(bytes) => address(bytes).map(|own| format!("IpAddress({own})")),
        _ => None,
    });
    let presented = presented.collect();
    Err(CertificateError::NotValidForNameContext { expected: name.to_owned(), presented }.into())
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(four).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| std::net::Ipv6Addr::from(sixteen).to_string())
}

/// Whether a name of a certificate, whose first label may be `*`, covers a host.
fn dns_fits(own: &str, host: &str) -> bool {
    match own.strip_prefix("*.") {
        Some(rest) => host.split_once('.').is_some_and(|(_, parent)| parent.eq_ignore_ascii_case(rest)),
        None => own.eq_ignore_ascii_case(host),
    }
}

/// What Go says of a TLS error; `None` if it is none. `beginning` is what the server said first.
pub(crate) fn go_text(error: &std::io::Error, server_name: &str, beginning: &[u8]) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<TlsError>()?;
    let TlsError::InvalidCertificate(why) = error else {
        return Some(match error {
            TlsError::InvalidMessage(_) if beginning.starts_with(b"HTTP/") => {
                "http: server gave HTTP response to HTTPS client".to_owned()
            }
            TlsError::InvalidMessage(_) => "tls: first record does not look like a TLS handshake".to_owned(),
            TlsError::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
            other => format!("tls: {other}"),
        });
    };
    let why = match why {
        CertificateError::NotValidForNameContext { presented, .. } => wrong_name(presented, server_name),
        CertificateError::ExpiredContext { time, not_after } => format!(
            "certificate has expired or is not yet valid: current time {} is after {}",
            at(*time),
            at(*not_after)
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "certificate has expired or is not yet valid: current time {} is before {}",
            at(*time),
            at(*not_before)
        ),
        CertificateError::BadEncoding => "malformed certificate".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        _ => "certificate signed by unknown authority".to_owned(),
    };
    Some(format!("tls: failed to verify certificate: x509: {why}"))
}

fn at(time: UnixTime) -> String {
    Timestamp::from_unix_seconds(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)).to_string()
}

/// What Go says of a certificate for others; `presented` are rustls' texts of its names.
fn wrong_name(presented: &[String], server_name: &str) -> String {
    let inside = |text: &str, kind: &str| {
        let text = text.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')')?;
        Some(text.trim_matches('"').to_owned())
    };
    let is_address = server_name.parse::<std::net::IpAddr>().is_ok();
    let kind = if is_address { "IpAddress" } else { "DnsName" };
    let names: Vec<String> = presented.iter().filter_map(|text| inside(text, kind)).collect();
    if !names.is_empty() {
        return format!("certificate is valid for {}, not {server_name}", names.join(", "));
    }
    if is_address {
        return format!(
            "cannot validate certificate for {server_name} because it doesn't contain any IP SANs"
        );
    }
    if presented.is_empty() {
        return "certificate relies on legacy Common Name field, use SANs instead".to_owned();
    }
    format!("certificate is not valid for any names, but wanted to match {server_name}")
}

/// Go's names of the alerts that a server sends instead of going on.
fn alert_text(alert: rustls::AlertDescription) -> String {
    use rustls::AlertDescription as Alert;
    match alert {
        Alert::HandshakeFailure => "handshake failure".into(),
        Alert::BadCertificate => "bad certificate".into(),
        Alert::CertificateRequired => "certificate required".into(),
        Alert::UnknownCA => "unknown certificate authority".into(),
        Alert::InternalError => "internal error".into(),
        Alert::ProtocolVersion => "protocol version not supported".into(),
        Alert::UnrecognisedName => "unrecognized name".into(),
        other => format!("{other:?}"),
    }
}
