//! Signed requests over HTTP, tried again where that is safe.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::jiff::Timestamp;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::super::Error;
use super::{Keys, sign, xml};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// How long an answer may take, from the end of the request to its headers. The body of a part counts in.
const ANSWER: Duration = Duration::from_secs(300);
/// How long a download may give nothing.
pub(super) const IDLE: Duration = Duration::from_secs(60);
/// How often a request is tried.
const TRIES: u32 = 5;
/// The longest answer that is not a download.
const ANSWER_SIZE: usize = 4 << 20;

/// A request for the bucket and key `path`.
#[derive(Clone)]
pub(super) struct Request {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Request {
    fn new(method: Method, path: &str) -> Self {
        Self { method, path: path.to_owned(), query: Vec::new(), headers: Vec::new(), body: Bytes::new() }
    }
    pub(super) fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }
    pub(super) fn put(path: &str) -> Self {
        Self::new(Method::PUT, path)
    }
    pub(super) fn post(path: &str) -> Self {
        Self::new(Method::POST, path)
    }
    pub(super) fn delete(path: &str) -> Self {
        Self::new(Method::DELETE, path)
    }
    pub(super) fn query(mut self, name: &str, value: &str) -> Self {
        self.query.push((name.to_owned(), value.to_owned()));
        self
    }
    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
    pub(super) fn body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }
}

/// An answer that was read whole.
pub(super) struct Answer {
    headers: http::HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.headers.get(name)?.to_str().ok().map(str::to_owned)
    }
}

/// The client of one endpoint.
pub(super) struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    scheme: String,
    authority: String,
    base: String,
    region: String,
    keys: Keys,
}

impl Http {
    pub(super) fn new(endpoint: &str, region: &str, keys: Keys, skip_verify: bool) -> Result<Self, Error> {
        let bad = |why: &str| Error::Profile(format!("the endpoint {endpoint:?} is no URL: {why}"));
        let full = if endpoint.contains("://") { endpoint.to_owned() } else { format!("https://{endpoint}") };
        let uri: Uri = full.parse().map_err(|e: http::uri::InvalidUri| bad(&e.to_string()))?;
        let scheme = uri.scheme_str().unwrap_or_default().to_owned();
        if scheme != "http" && scheme != "https" {
            return Err(bad("it must begin with http:// or https://"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("keys do not belong there"));
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(skip_verify)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            scheme,
            authority: authority.to_string(),
            base: uri.path().trim_end_matches('/').to_owned(),
            region: region.to_owned(),
            keys,
        })
    }

    /// The URL of a path, for errors.
    pub(super) fn shown(&self, path: &str) -> String {
        format!("{}://{}{}/{path}", self.scheme, self.authority, self.base)
    }

    /// Sends a request and reads the whole answer. All requests that are sent so may be repeated.
    pub(super) async fn send(&self, request: Request, action: &'static str) -> Result<Answer, Error> {
        let shown = self.shown(&request.path);
        let response = self.stream(request, action).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_SIZE);
        match tokio::time::timeout(IDLE, body.collect()).await {
            Ok(Ok(body)) => Ok(Answer { headers: parts.headers, body: body.to_bytes() }),
            Ok(Err(error)) => Err(Error::Service { action, what: shown, why: error.to_string() }),
            Err(_) => Err(Error::Service { action, what: shown, why: "the answer broke off".to_owned() }),
        }
    }

    /// Sends a request; the body of the answer is still to be read.
    pub(super) async fn stream(
        &self,
        request: Request,
        action: &'static str,
    ) -> Result<Response<hyper::body::Incoming>, Error> {
        let what = self.shown(&request.path);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let why = match tokio::time::timeout(ANSWER, self.once(&request)).await {
                Ok(Ok(response)) if response.status().is_success() => return Ok(response),
                Ok(Ok(response)) => {
                    let status = response.status();
                    let body = Limited::new(response.into_body(), ANSWER_SIZE).collect();
                    let body = match tokio::time::timeout(IDLE, body).await {
                        Ok(Ok(body)) => body.to_bytes(),
                        _ => Bytes::new(),
                    };
                    let code = xml::text(&body, "Code").unwrap_or_default();
                    if status.as_u16() == 404 && code != "NoSuchBucket" {
                        return Err(Error::NotFound(what));
                    }
                    let message = xml::text(&body, "Message").unwrap_or_default();
                    let why = format!("{status} {code}: {message}");
                    if !(status.is_server_error() || matches!(status.as_u16(), 408 | 429)) {
                        return Err(Error::Service { action, what, why });
                    }
                    why
                }
                Ok(Err(why)) => why,
                Err(_) => format!("no answer within {} s", ANSWER.as_secs()),
            };
            if attempt >= TRIES {
                return Err(Error::Service { action, what, why });
            }
            tokio::time::sleep(Duration::from_millis(200 << attempt)).await;
        }
    }

    async fn once(&self, request: &Request) -> Result<Response<hyper::body::Incoming>, String> {
        let path = format!("{}/{}", self.base, sign::encode(&request.path, true));
        let mut query: Vec<_> = request
            .query
            .iter()
            .map(|(name, value)| format!("{}={}", sign::encode(name, false), sign::encode(value, false)))
            .collect();
        query.sort();
        let query = query.join("&");
        let hash = sign::hash(&request.body);
        let stamp = sign::stamp(Timestamp::now());
        let mut headers = request.headers.clone();
        headers.extend([
            ("host".to_owned(), self.authority.clone()),
            ("x-amz-content-sha256".to_owned(), hash.clone()),
            ("x-amz-date".to_owned(), stamp.clone()),
        ]);
        if let Some(token) = &self.keys.token {
            headers.push(("x-amz-security-token".to_owned(), token.clone()));
        }
        headers.sort();
        let signed = sign::Signed {
            method: request.method.as_str(),
            path: &path,
            query: &query,
            headers: &headers,
            hash: &hash,
        };
        let authorization = sign::authorization(&self.keys, &self.region, &stamp, &signed);
        let separator = if query.is_empty() { "" } else { "?" };
        let uri = format!("{}://{}{path}{separator}{query}", self.scheme, self.authority);
        let mut builder = http::Request::builder().method(request.method.clone()).uri(uri);
        for (name, value) in &headers {
            builder = builder.header(name, value);
        }
        let built = builder
            .header("authorization", authorization)
            .body(Full::new(request.body.clone()))
            .map_err(|e| e.to_string())?;
        self.client.request(built).await.map_err(|error| {
            let mut text = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                text = format!("{text}: {cause}");
                source = cause.source();
            }
            text
        })
    }
}

fn tls(skip_verify: bool) -> Result<rustls::ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::Profile(e.to_string()))?;
    if skip_verify {
        let verifier = Arc::new(NotVerified(provider));
        return Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth());
    }
    let mut roots = rustls::RootCertStore::empty();
    // What the machine trusts that cannot be read is left out; a connection will tell if it was needed.
    let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Takes every certificate: for `skipSSLVerify`.
#[derive(Debug)]
struct NotVerified(Arc<CryptoProvider>);

impl ServerCertVerifier for NotVerified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
