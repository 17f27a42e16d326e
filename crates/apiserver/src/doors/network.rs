//! How the server behaves towards those who come over the network: what browsers are told, which protocols are spoken.

use std::net::SocketAddr;

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ORIGIN, STRICT_TRANSPORT_SECURITY,
};
use http::{HeaderMap, HeaderValue};
use pilothouse_cel::Pattern;

/// What scripts of an allowed origin may ask for, by which headers, and which of an answer they may read: upstream's
/// `server/filters/cors.go`.
const METHODS: &str = "POST, GET, OPTIONS, PUT, DELETE, PATCH";
const HEADERS: &str = "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, \
                       If-Modified-Since";
const EXPOSED: &str = "Date";

/// See the module. The defaults are kube-apiserver's.
#[derive(Clone, Debug)]
pub struct Network {
    /// Origins whose scripts may read answers, by patterns in Go's syntax (`--cors-allowed-origins`). Default: none.
    pub allowed_origins: Vec<Pattern>,
    /// What the header `Strict-Transport-Security` of each answer says. Default: it is not sent.
    pub transport_security: Option<HeaderValue>,
    /// The name or address, and perhaps the port, that clients are told the server has (`--external-hostname`). Default: where
    /// it listens.
    pub external_address: Option<String>,
    /// Whether HTTP/2 is spoken. Default: yes.
    pub http2: bool,
    /// Most requests at once on one HTTP/2 connection. Default: 1000.
    pub http2_streams: u32,
    /// Whether TLS 1.2 is spoken besides 1.3. Default: yes.
    pub tls12: bool,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            allowed_origins: Vec::new(),
            transport_security: None,
            external_address: None,
            http2: true,
            http2_streams: 1000,
            tls12: true,
        }
    }
}

impl Network {
    /// The origin of a request, if its scripts may read the answer.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.allowed_origins.is_empty() {
            return None;
        }
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok().filter(|text| !text.is_empty())?;
        self.allowed_origins.iter().any(|pattern| pattern.is_match(text)).then(|| origin.clone())
    }

    /// The address that clients are told, where the server listens at `own`.
    pub(crate) fn shown(&self, own: Option<SocketAddr>) -> String {
        let own_port = own.map_or(443, |own| own.port());
        match &self.external_address {
            None => own.map(|own| own.to_string()).unwrap_or_default(),
            Some(name) if name.rsplit_once(':').is_some_and(|(host, _)| !host.contains(':')) => name.clone(),
            Some(name) if name.contains(':') && !name.starts_with('[') => format!("[{name}]:{own_port}"),
            Some(name) => format!("{name}:{own_port}"),
        }
    }

    /// Writes what every answer says, and what it says to an allowed origin.
    pub(crate) fn write(&self, headers: &mut HeaderMap, origin: Option<HeaderValue>) {
        if let Some(security) = &self.transport_security {
            headers.insert(STRICT_TRANSPORT_SECURITY, security.clone());
        }
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS));
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
            headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }
}
