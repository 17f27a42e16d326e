//! Who is it? Front proxies, client certificates, bearer tokens, and nobody.

mod request_header;
mod webhook;

use crate::authentication::bootstrap_tokens::BootstrapTokens;
use crate::authentication::certs::ClientCertificates;
use crate::authentication::tokens::{Bound, Signer, TokenError, Verified};
use crate::authentication::user::User;
use crate::request;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use pilothouse_store::Clock;
use pilothouse_value::{Status, Value, json};
use rustls::pki_types::CertificateDer;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

pub use request_header::RequestHeader;
pub use webhook::TokenWebhook;

/// What becomes of requests without credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// They are requests of [`User::anonymous`].
    #[default]
    Served,
    /// They are, on these paths, and refused on others.
    ServedOn(Vec<String>),
    /// They are refused with 401.
    Refused,
}

impl Anonymous {
    fn serves(&self, path: &str) -> bool {
        match self {
            Anonymous::Served => true,
            Anonymous::ServedOn(paths) => paths.iter().any(|own| own == path),
            Anonymous::Refused => false,
        }
    }
}

/// Tells users by what their requests show.
pub struct Authenticator {
    /// Trusts no certificate if `None`.
    pub certificates: Option<ClientCertificates>,
    /// Users by their static tokens.
    pub static_tokens: HashMap<String, User>,
    /// Verifies the tokens of service accounts.
    pub signer: std::sync::Arc<Signer>,
    /// What tokens are bound to.
    pub objects: Box<dyn Bound>,
    /// When tokens expire.
    pub clock: Clock,
    /// The secrets of bootstrap tokens; none are known if `None`.
    pub bootstrap: Option<BootstrapTokens>,
    /// Which proxies say who sends a request; none if `None`.
    pub request_header: Option<RequestHeader>,
    /// Who else is asked about tokens; nobody if `None`.
    pub webhook: Option<Arc<TokenWebhook>>,
    /// What becomes of requests without credentials.
    pub anonymous: Anonymous,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").field("anonymous", &self.anonymous).finish_non_exhaustive()
    }
}

impl Authenticator {
    /// The user of a request to a path, from its headers and the certificates that the client showed in the TLS handshake.
    ///
    /// # Errors
    /// 401 for credentials that are not good, also where requests without any are served.
    pub async fn authenticate(
        &self,
        headers: &HeaderMap,
        certificates: Option<&[CertificateDer<'_>]>,
        path: &str,
    ) -> Result<User, Status> {
        let certificates = certificates.filter(|chain| !chain.is_empty());
        if let Some(chain) = certificates {
            let proxied = || self.request_header.as_ref()?.user(headers, chain);
            if let Some(user) = proxied().or_else(|| self.certificates.as_ref()?.user(chain)) {
                return Ok(user);
            }
        }
        if let Some(token) = bearer_token(headers).map(Cow::Borrowed).or_else(|| socket_token(headers)) {
            return match self.token(&token, &self.signer.audiences()).await {
                Ok(verified) => Ok(verified.user),
                Err(_) => Err(Status::unauthorized()),
            };
        }
        if certificates.is_some() || !self.anonymous.serves(path) {
            return Err(Status::unauthorized());
        }
        Ok(User::anonymous())
    }

    /// Whom a bearer token stands for, if it is for one of the audiences.
    ///
    /// # Errors
    /// When the token is not good.
    pub async fn token(&self, token: &str, audiences: &[&str]) -> Result<Verified, TokenError> {
        let known = self.known_token(token, audiences);
        let (Err(error), Some(webhook)) = (&known, &self.webhook) else { return known };
        match webhook.user(token, audiences, &self.signer.audiences()).await {
            Ok(verified) => Ok(verified),
            Err(why) if why.is_empty() => Err(error.clone()),
            Err(why) => {
                tracing::warn!(error = why, "the authentication webhook");
                Err(TokenError::Refused(why))
            }
        }
    }

    /// As [`token`](Self::token), by what this server knows itself.
    fn known_token(&self, token: &str, audiences: &[&str]) -> Result<Verified, TokenError> {
        let bootstrap = || self.bootstrap.as_ref()?.user(token, self.clock.now());
        if let Some(user) = self.static_tokens.get(token).cloned().or_else(bootstrap) {
            // They say nothing of audiences, so they are for this server and for nobody else.
            let own = self.signer.audiences();
            let shared = audiences.iter().filter(|audience| own.contains(audience));
            let audiences: Vec<String> = shared.map(|audience| (*audience).to_owned()).collect();
            if audiences.is_empty() {
                return Err(TokenError::Invalid);
            }
            return Ok(Verified { user, audiences });
        }
        self.signer.verify(token, audiences, self.clock.now(), &*self.objects)
    }
}

/// The token in `Authorization: Bearer …`.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let value = request::header_text(headers.get(http::header::AUTHORIZATION)?)?.trim();
    let mut words = value.split(' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The token that a browser shows as one of the protocols of a WebSocket, since it cannot send other headers.
fn socket_token(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";
    let protocols = headers.get_all(http::header::SEC_WEBSOCKET_PROTOCOL).iter();
    let mut protocols = protocols.filter_map(request::header_text).flat_map(|value| value.split(','));
    let token = protocols.find_map(|protocol| protocol.trim().strip_prefix(PREFIX))?;
    let token = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    (!token.is_empty()).then_some(Cow::Owned(token))
}

/// A line of a static token file that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "reading the token file: line {line} has no token, user and uid; hint: token,user,uid,\"group1,group2\""
)]
pub struct TokenFileError {
    line: usize,
}

/// Reads a static token file: `token,user,uid` and optionally `"group1,group2"` on each line.
///
/// # Errors
/// At the first line that has fewer columns.
pub fn read_token_file(text: &str) -> Result<HashMap<String, User>, TokenFileError> {
    let mut users = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let mut columns = line.splitn(4, ',').map(str::trim);
        let mut next = || columns.next().filter(|column| !column.is_empty());
        let (Some(token), Some(name)) = (next(), next()) else {
            return Err(TokenFileError { line: index + 1 });
        };
        let uid = columns.next().ok_or(TokenFileError { line: index + 1 })?;
        let groups = columns.next().unwrap_or_default().trim_matches('"').split(',');
        let groups = groups.map(str::trim).filter(|group| !group.is_empty());
        let mut user = User::new(name, groups);
        user.uid = uid.to_owned();
        users.insert(token.to_owned(), user);
    }
    Ok(users)
}

/// Answers a `SelfSubjectReview`: who am I? (`kubectl auth whoami`)
pub fn self_subject_review(user: &User, now: pilothouse_value::Timestamp) -> Value {
    let mut info = Value::object();
    if !user.name.is_empty() {
        info.set(&["username"], user.name.as_str());
    }
    if !user.groups.is_empty() {
        info.set(&["groups"], user.groups.clone());
    }
    if !user.uid.is_empty() {
        info.set(&["uid"], &user.uid);
    }
    if !user.extra.is_empty() {
        info.set(&["extra"], crate::authentication::tokens::extra(user));
    }
    let mut answer = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    answer.set(&["metadata", "creationTimestamp"], now);
    answer.set(&["status", "userInfo"], info);
    answer
}
