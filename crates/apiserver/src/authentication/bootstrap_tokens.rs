//! Bootstrap tokens: `ID.SECRET`, known by a Secret in `kube-system` whose type is `bootstrap.kubernetes.io/token`. A new
//! node shows one to ask for its certificate.

use crate::authentication::user::User;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_store::{ResourceKey, Store};
use pilothouse_value::{Timestamp, Value, object};

const NAMESPACE: &str = "kube-system";
const TYPE: &str = "bootstrap.kubernetes.io/token";
/// The group of everyone with such a token.
const GROUP: &str = "system:bootstrappers";

/// Knows bootstrap tokens by the secrets of a store.
pub struct BootstrapTokens {
    store: Store,
    secrets: ResourceKey,
}

impl std::fmt::Debug for BootstrapTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BootstrapTokens").finish_non_exhaustive()
    }
}

impl BootstrapTokens {
    /// The tokens whose secrets are in this store, whenever they are asked for.
    pub fn new(store: Store) -> Self {
        Self { store, secrets: ResourceKey::new("", "secrets") }
    }

    /// Whom a token stands for at this time; `None` if it is no bootstrap token, or no good one.
    pub fn user(&self, token: &str, now: Timestamp) -> Option<User> {
        let (id, secret) = token.split_once('.')?;
        let is_word = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if !is_word(id, 6) || !is_word(secret, 16) {
            return None;
        }
        let stored = self.store.get(&self.secrets, NAMESPACE, &format!("bootstrap-token-{id}"))?;
        let stored = stored.value();
        if object::deletion_timestamp(stored).is_some() || stored.str_at(&["type"]) != Some(TYPE) {
            return None;
        }
        let expected = data(stored, "token-secret")?;
        // Digests take the same time to compare however much of the secret is right.
        let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let is_good = digest(&expected).as_ref() == digest(secret).as_ref()
            && data(stored, "token-id").as_deref() == Some(id)
            && data(stored, "usage-bootstrap-authentication").as_deref() == Some("true");
        if !is_good {
            return None;
        }
        if let Some(end) = data(stored, "expiration").filter(|end| !end.is_empty())
            && Timestamp::parse(&end).map_or(true, |end| end.unix_seconds() <= now.unix_seconds())
        {
            return None;
        }
        let mut groups = vec![GROUP.to_owned()];
        for group in data(stored, "auth-extra-groups").unwrap_or_default().split(',') {
            let group = group.trim();
            if group.is_empty() {
                continue;
            }
            if !is_bootstrap_group(group) {
                return None;
            }
            groups.push(group.to_owned());
        }
        groups.sort();
        groups.dedup();
        Some(User::new(format!("system:bootstrap:{id}"), groups))
    }
}

/// A field of a secret as text.
fn data(secret: &Value, key: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(secret.str_at(&["data", key])?).ok()?).ok()
}

/// Groups that a token may bring: `system:bootstrappers:…`.
fn is_bootstrap_group(group: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    group.strip_prefix("system:bootstrappers:").is_some_and(|name| {
        name.len() <= 256 && name.chars().all(|c| edge(c) || c == ':' || c == '-') && name.ends_with(edge)
    })
}
