//! Service account tokens: JSON web tokens that the server signs, and that are good for as long as what they are bound
//! to exists.
//!
//! They are signed with ES256, or RS256 with a key that was given. That is one call into ring, which TLS needs anyway; the
//! rest of a token is base64 and JSON.

mod keys;
mod legacy;
mod review;

pub use legacy::TokenIssuer;
pub(crate) use review::{DEFAULT_SECONDS, INJECTED_SECONDS, credential_id, extra};
pub use review::{token_request, token_review};

use crate::authentication::user::{CREDENTIAL_ID, User};
use crate::authorization::rbac::quote_all;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use pilothouse_store::{ResourceKey, Store};
use pilothouse_value::{Timestamp, Value, json, object, parse};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use std::sync::Arc;

use self::keys::{PrivateKey, PublicKey};

/// The issuer, and the audience of a token that is meant for the API server.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Where the objects are that tokens are bound to.
pub trait Bound: Send + Sync {
    /// An object of the core group by its plural name; `namespace` is empty for nodes.
    fn object(&self, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
}

/// The objects of a store.
pub struct StoreBound(pub Store);

impl std::fmt::Debug for StoreBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreBound").finish_non_exhaustive()
    }
}

impl Bound for StoreBound {
    fn object(&self, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let object = self.0.get(&ResourceKey::new("", plural), namespace, name)?;
        Some(object.value().clone())
    }
}

/// What keeps the server from having a key.
#[derive(Debug, thiserror::Error)]
#[error(
    "setting up the keys of service account tokens: {why}; hint: they must be ECDSA P-256 or RSA keys of at least 2048 bits"
)]
pub struct KeyError {
    why: String,
}

/// Why a token is not good. The texts are kube-apiserver's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no token of this server, or it was changed.
    #[error("invalid bearer token")]
    Invalid,
    /// It is a token of this server, and not good any more, or not yet.
    #[error("[invalid bearer token, {0}]")]
    Refused(String),
}

/// The keys and names of tokens; what is empty gets its default.
#[derive(Clone, Default)]
pub struct TokenOptions {
    /// The private key that signs, as PEM. Default: the server's own.
    pub signing_key: Option<String>,
    /// PEM texts with the keys that verify, besides the one that signs: public keys, certificates or private keys.
    pub verifying_keys: Vec<String>,
    /// Who issues tokens: the first issues, all are trusted. Default: [`ISSUER`].
    pub issuers: Vec<String>,
    /// The audiences of this server. Default: its issuers.
    pub audiences: Vec<String>,
    /// Where verifiers of tokens find the keys. Default: at this server.
    pub key_set_url: Option<String>,
}

impl std::fmt::Debug for TokenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenOptions")
            .field("issuers", &self.issuers)
            .field("audiences", &self.audiences)
            .finish_non_exhaustive()
    }
}

/// Signs and verifies tokens.
pub struct Signer {
    key: PrivateKey,
    /// The key that signs first.
    verifying: Vec<PublicKey>,
    /// The first one is written into tokens.
    issuers: Vec<String>,
    audiences: Vec<String>,
    key_set_url: Option<String>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").finish_non_exhaustive()
    }
}

/// What a token says that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Whom it stands for.
    pub user: User,
    /// For whom it was issued.
    pub audiences: Vec<String>,
}

/// A service account's claim to be issued a token.
#[derive(Clone, Copy, Debug)]
pub struct Claims<'a> {
    /// The namespace of the account.
    pub namespace: &'a str,
    /// The name of the account.
    pub account: &'a str,
    /// The uid of the account.
    pub account_uid: &'a str,
    /// For whom.
    pub audiences: &'a [String],
    /// From when.
    pub issued: Timestamp,
    /// For how many seconds.
    pub seconds: i64,
    /// After how many seconds whoever still shows it should have had a new one; `None` if it is simply over then.
    pub warn_after: Option<i64>,
    /// What else the token is bound to: the word in the token (`pod`, `node`, `secret`), the name and the uid.
    pub bound: &'a [(&'a str, String, String)],
}

impl Signer {
    /// A new private key in PKCS #8.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub fn generate_pkcs8() -> Result<Vec<u8>, KeyError> {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Ok(document.map_err(|_| KeyError { why: "no random numbers".into() })?.as_ref().to_vec())
    }

    /// A signer with a new key.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        Self::new(&TokenOptions::default(), Self::generate_pkcs8)
    }

    /// A signer with the keys of the options; its own key, in PKCS #8, is asked for only if they name none that signs.
    ///
    /// # Errors
    /// When what should be a key is none, or is of a kind that is not known.
    pub fn new<E: From<KeyError>>(
        options: &TokenOptions,
        own: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let key = match &options.signing_key {
            Some(pem) => PrivateKey::from_pem(pem)?,
            None => PrivateKey::from_pkcs8(&own()?)?,
        };
        let mut verifying = vec![key.public()];
        for text in &options.verifying_keys {
            verifying.extend(PublicKey::all_from_pem(text)?);
        }
        let or = |given: &[String], default: &[String]| {
            if given.is_empty() { default.to_vec() } else { given.to_vec() }
        };
        let issuers = or(&options.issuers, &[ISSUER.to_owned()]);
        let audiences = or(&options.audiences, &issuers);
        let key_set_url = options.key_set_url.clone();
        Ok(Self { key, verifying, issuers, audiences, key_set_url })
    }

    /// The audiences of the server: tokens that are for one of them are good here.
    pub fn audiences(&self) -> Vec<&str> {
        self.audiences.iter().map(String::as_str).collect()
    }

    /// Who issues the tokens.
    pub fn issuer(&self) -> &str {
        self.issuers.first().map_or(ISSUER, String::as_str)
    }

    /// The public keys as a JSON web key set, by which others verify tokens (`/openid/v1/jwks`).
    pub fn key_set(&self) -> Value {
        let mut keys: Vec<Value> = Vec::new();
        for key in self.verifying.iter().map(PublicKey::web_key) {
            // The key that signs is often named among those that verify.
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut set = Value::object();
        set.set(&["keys"], keys);
        set
    }

    /// What a verifier of tokens is told about their issuer (`/.well-known/openid-configuration`); `server` is the URL
    /// that this server is reached under.
    pub fn openid_configuration(&self, server: &str) -> Value {
        let mut algorithms: Vec<&str> = self.verifying.iter().map(PublicKey::algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        json!({
            "issuer": self.issuer(),
            "jwks_uri": match &self.key_set_url {
                Some(url) => url.clone(),
                None => format!("{server}/openid/v1/jwks"),
            },
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        })
    }

    /// Issues a token.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub fn sign(&self, claims: &Claims<'_>) -> Result<String, KeyError> {
        let issued = claims.issued.unix_seconds();
        let account = [("name", claims.account), ("uid", claims.account_uid)];
        let mut payload = Value::object();
        payload.set(&["iss"], self.issuer());
        payload.set(&["sub"], format!("system:serviceaccount:{}:{}", claims.namespace, claims.account));
        payload.set(&["aud"], claims.audiences.to_vec());
        payload.set(&["iat"], issued);
        payload.set(&["nbf"], issued);
        payload.set(&["exp"], issued.saturating_add(claims.seconds));
        payload.set(&["jti"], uuid::Uuid::new_v4().to_string());
        payload.set(&["kubernetes.io", "namespace"], claims.namespace);
        for (key, value) in account {
            payload.set(&["kubernetes.io", "serviceaccount", key], value);
        }
        for (kind, name, uid) in claims.bound {
            payload.set(&["kubernetes.io", kind, "name"], name);
            if !uid.is_empty() {
                payload.set(&["kubernetes.io", kind, "uid"], uid);
            }
        }
        if let Some(seconds) = claims.warn_after {
            payload.set(&["kubernetes.io", "warnafter"], issued.saturating_add(seconds));
        }
        self.seal(&payload)
    }

    /// Signs what a token says.
    pub(crate) fn seal(&self, payload: &Value) -> Result<String, KeyError> {
        let public = self.verifying.first();
        let (algorithm, id) = public.map_or(("", ""), |key| (key.algorithm(), key.id.as_str()));
        let header = json!({"alg": algorithm, "kid": id});
        let mut token = format!("{}.{}", BASE64.encode(header.to_json()), BASE64.encode(payload.to_json()));
        let signature = self.key.sign(token.as_bytes())?;
        token.push('.');
        token.push_str(&BASE64.encode(signature));
        Ok(token)
    }

    /// Whom a token stands for at this time, if it is good for one of the audiences.
    ///
    /// # Errors
    /// When it is not.
    pub fn verify(
        &self,
        token: &str,
        audiences: &[&str],
        now: Timestamp,
        objects: &dyn Bound,
    ) -> Result<Verified, TokenError> {
        let payload = self.payload(token).ok_or(TokenError::Invalid)?;
        let refused = |why: &str| Err(TokenError::Refused(why.to_owned()));
        let issuer = payload.str_at(&["iss"]).unwrap_or_default();
        if issuer == legacy::ISSUER {
            return legacy::verify(token, &payload, &self.audiences(), audiences, objects);
        }
        if !self.issuers.iter().any(|own| own == issuer) {
            return Err(TokenError::Invalid);
        }
        let own: Vec<String> = match payload.get("aud") {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let shared: Vec<String> =
            own.iter().filter(|own| audiences.contains(&own.as_str())).cloned().collect();
        if shared.is_empty() {
            let wanted: Vec<String> = audiences.iter().map(|audience| (*audience).to_owned()).collect();
            let text = format!(
                "token audiences {} is invalid for the target audiences {}",
                quote_all(&own),
                quote_all(&wanted)
            );
            return refused(&text);
        }
        let time = |claim| payload.i64_at(&[claim]);
        let now = now.unix_seconds();
        if time("exp").is_none_or(|end| now >= end) {
            return refused("service account token has expired");
        }
        if time("nbf").is_some_and(|start| now < start) {
            return refused("service account token is not valid yet");
        }
        let user = bound_user(&payload, objects)?;
        Ok(Verified { user, audiences: shared })
    }

    /// The payload of a token that this server signed.
    fn payload(&self, token: &str) -> Option<Value> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        // Decoded and compared as a document: the algorithm must be ours, in whatever spelling.
        let header = parse::json(&BASE64.decode(header).ok()?).ok()?.value;
        let (algorithm, id) = (header.str_at(&["alg"])?, header.str_at(&["kid"]).unwrap_or_default());
        let signature = BASE64.decode(signature).ok()?;
        let fits = |key: &&PublicKey| key.algorithm() == algorithm && (id.is_empty() || key.id == id);
        let mut keys = self.verifying.iter().filter(fits);
        keys.find(|key| key.verifies(signed.as_bytes(), &signature))?;
        Some(parse::json(&BASE64.decode(payload).ok()?).ok()?.value)
    }
}

/// The user of a verified token, if all that it is bound to still is what it was.
fn bound_user(payload: &Value, objects: &dyn Bound) -> Result<User, TokenError> {
    let text = |path: &[&str]| payload.str_at(path).unwrap_or_default();
    let namespace = text(&["kubernetes.io", "namespace"]);
    let account = text(&["kubernetes.io", "serviceaccount", "name"]);
    let account_uid = text(&["kubernetes.io", "serviceaccount", "uid"]);
    let refused = |why: String| Err(TokenError::Refused(why));
    match objects.object("serviceaccounts", namespace, account) {
        None => return refused(format!("serviceaccounts {account:?} not found")),
        Some(found) if object::uid(&found) != account_uid => {
            let found = object::uid(&found);
            return refused(format!("service account UID ({found}) does not match claim ({account_uid})"));
        }
        Some(_) => {}
    }
    let mut user = User::service_account(namespace, account, account_uid);
    user.extra.insert(CREDENTIAL_ID.into(), vec![format!("JTI={}", text(&["jti"]))]);
    let is_pod_bound = payload.at(&["kubernetes.io", "pod"]).is_some();
    for (kind, plural, namespace) in
        [("pod", "pods", namespace), ("secret", "secrets", namespace), ("node", "nodes", "")]
    {
        let name = text(&["kubernetes.io", kind, "name"]);
        let uid = text(&["kubernetes.io", kind, "uid"]);
        if name.is_empty() {
            continue;
        }
        // A pod's token says on which node the pod is, and lives as long as the pod.
        if kind != "node" || !is_pod_bound {
            match objects.object(plural, namespace, name) {
                None => {
                    return refused("service account token has been invalidated".to_owned());
                }
                Some(found) if object::uid(&found) != uid => {
                    let found = object::uid(&found);
                    return refused(format!(
                        "{kind} UID ({found}) does not match service account {kind} ref claim ({uid})"
                    ));
                }
                Some(_) => {}
            }
        }
        if kind != "secret" {
            for (part, value) in [("name", name), ("uid", uid)] {
                let key = format!("authentication.kubernetes.io/{kind}-{part}");
                user.extra.insert(key, vec![value.to_owned()]);
            }
        }
    }
    Ok(user)
}

#[cfg(test)]
mod tests;
