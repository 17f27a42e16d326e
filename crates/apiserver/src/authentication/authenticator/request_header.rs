//! Front proxies: somebody with a certificate of their own authority says who sends a request, in its headers.
//!
//! Source of behaviour: `pkg/authentication/request/headerrequest` of k8s.io/apiserver.

use std::collections::BTreeMap;

use http::HeaderMap;
use rustls::pki_types::CertificateDer;

use crate::authentication::certs::{CertError, ClientCertificates};
use crate::authentication::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User};
use crate::request::{self, decode};

/// Which proxies are believed, and in which headers they say it.
#[derive(Clone, Debug)]
pub struct RequestHeader {
    certificates: ClientCertificates,
    authorities: String,
    /// Common names of proxies; empty for all that the authority has signed.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name, of which the first counts that is there.
    pub username_headers: Vec<String>,
    /// Headers with the user's uid, of which the first counts that is there.
    pub uid_headers: Vec<String>,
    /// Headers with groups, one in each.
    pub group_headers: Vec<String>,
    /// Beginnings of headers whose rest is the key of something else that is known of the user.
    pub extra_prefixes: Vec<String>,
}

impl RequestHeader {
    /// Believes proxies whose certificates these authorities (PEM) have signed. No header is looked at yet.
    ///
    /// # Errors
    /// When there is no certificate in the text.
    pub fn new(authorities: &str) -> Result<RequestHeader, CertError> {
        Ok(RequestHeader {
            certificates: ClientCertificates::new(authorities)?,
            authorities: authorities.to_owned(),
            allowed_names: Vec::new(),
            username_headers: Vec::new(),
            uid_headers: Vec::new(),
            group_headers: Vec::new(),
            extra_prefixes: Vec::new(),
        })
    }

    /// The authorities of proxies, as PEM.
    pub(crate) fn authorities(&self) -> &str {
        &self.authorities
    }

    /// The user that a proxy names; `None` if this is no proxy, or it names nobody.
    pub(super) fn user(&self, headers: &HeaderMap, chain: &[CertificateDer<'_>]) -> Option<User> {
        let proxy = self.certificates.common_name(chain)?;
        if !self.allowed_names.is_empty() && !self.allowed_names.contains(&proxy) {
            return None;
        }
        let text = |name: &String| headers.get(name.as_str()).and_then(request::header_text);
        let first = |names: &[String]| names.iter().filter_map(text).find(|text| !text.is_empty());
        let name = first(&self.username_headers)?;
        let groups = self.group_headers.iter().flat_map(|name| headers.get_all(name.as_str()));
        let groups = groups.filter_map(request::header_text).filter(|group| !group.is_empty());
        let mut user = User {
            name: name.to_owned(),
            uid: first(&self.uid_headers).unwrap_or_default().to_owned(),
            groups: groups.map(str::to_owned).collect(),
            extra: BTreeMap::new(),
        };
        for prefix in self.extra_prefixes.iter().map(|prefix| prefix.to_lowercase()) {
            for (name, value) in headers {
                let (Some(key), Some(value)) =
                    (name.as_str().strip_prefix(&prefix), request::header_text(value))
                else {
                    continue;
                };
                user.extra.entry(decode(key).into_owned()).or_default().push(value.to_owned());
            }
        }
        if !user.is_in(AUTHENTICATED) && !user.is_in(UNAUTHENTICATED) && user.name != ANONYMOUS {
            user.groups.push(AUTHENTICATED.to_owned());
        }
        Some(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::certs::Authority;
    use rustls::pki_types::pem::PemObject as _;

    fn chain(authority: &Authority, name: &str) -> Vec<CertificateDer<'static>> {
        let pair = authority.issue_client(&User::new(name, [""; 0])).unwrap();
        CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).map(Result::unwrap).collect()
    }

    #[test]
    fn only_a_proxy_of_the_authority_names_users() {
        let (own, other) = (Authority::generate().unwrap(), Authority::generate().unwrap());
        let mut proxies = RequestHeader::new(&own.pem().certificate).unwrap();
        proxies.username_headers = vec!["X-Remote-User".into(), "X-User".into()];
        proxies.uid_headers = vec!["X-Remote-Uid".into()];
        proxies.group_headers = vec!["X-Remote-Group".into()];
        proxies.extra_prefixes = vec!["X-Remote-Extra-".into()];
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-user", "ann"),
            ("x-remote-uid", "7"),
            ("x-remote-group", "dev"),
            ("x-remote-group", "ops"),
            ("x-remote-extra-example.com%2Fscopes", "a"),
            ("x-remote-extra-example.com%2Fscopes", "b"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let user = proxies.user(&headers, &chain(&own, "proxy")).unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", "7"));
        assert_eq!(user.groups, ["dev", "ops", AUTHENTICATED]);
        assert_eq!(user.extra["example.com/scopes"], ["a", "b"]);
        assert_eq!(proxies.user(&headers, &chain(&other, "proxy")), None);
        assert_eq!(proxies.user(&HeaderMap::new(), &chain(&own, "proxy")), None);
        proxies.allowed_names = vec!["front".into()];
        assert_eq!(proxies.user(&headers, &chain(&own, "proxy")), None);
        assert!(proxies.user(&headers, &chain(&own, "front")).is_some());
    }
}
