//! Tokens of the older kind: they do not expire, and are good for as long as the secret that they are in.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_value::{Value, json, object};

use super::{Bound, KeyError, Signer, TokenError, Verified};
use crate::authentication::user::User;

/// Who issues them.
pub(super) const ISSUER: &str = "kubernetes/serviceaccount";
const NAMESPACE: &str = "kubernetes.io/serviceaccount/namespace";
const SECRET: &str = "kubernetes.io/serviceaccount/secret.name";
const ACCOUNT: &str = "kubernetes.io/serviceaccount/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/serviceaccount/service-account.uid";

/// Makes tokens for secrets of the type `kubernetes.io/service-account-token`.
#[derive(Clone, Debug)]
pub struct TokenIssuer(pub(crate) std::sync::Arc<Signer>);

impl TokenIssuer {
    /// A token of this account for this secret.
    ///
    /// # Errors
    /// When the machine gives no random numbers.
    pub fn issue(
        &self,
        namespace: &str,
        account: &str,
        account_uid: &str,
        secret: &str,
    ) -> Result<String, KeyError> {
        let mut payload = json!({
            "iss": ISSUER,
            "sub": format!("system:serviceaccount:{namespace}:{account}"),
        });
        for (claim, value) in
            [(NAMESPACE, namespace), (SECRET, secret), (ACCOUNT, account), (ACCOUNT_UID, account_uid)]
        {
            payload.set(&[claim], value);
        }
        self.0.seal(&payload)
    }
}

/// Whom such a token stands for, if its secret still has it. It is for this server (`own`), so one of the audiences that are
/// asked for must be this server's.
pub(super) fn verify(
    token: &str,
    payload: &Value,
    own: &[&str],
    audiences: &[&str],
    objects: &dyn Bound,
) -> Result<Verified, TokenError> {
    let refused = |why: String| Err(TokenError::Refused(why));
    let text = |claim: &str| payload.str_at(&[claim]).unwrap_or_default();
    let (namespace, account, uid) = (text(NAMESPACE), text(ACCOUNT), text(ACCOUNT_UID));
    let shared: Vec<String> =
        audiences.iter().filter(|audience| own.contains(audience)).map(|one| (*one).to_owned()).collect();
    if shared.is_empty() {
        return Err(TokenError::Invalid);
    }
    for (value, name) in [
        (text("sub"), "sub"),
        (namespace, "namespace"),
        (text(SECRET), "secretName"),
        (account, "serviceAccountName"),
        (uid, "serviceAccountUID"),
    ] {
        if value.is_empty() {
            return refused(format!("{name} claim is missing"));
        }
    }
    if text("sub") != format!("system:serviceaccount:{namespace}:{account}") {
        return refused("sub claim is invalid".into());
    }
    let secret = objects.object("secrets", namespace, text(SECRET));
    let Some(secret) = secret.filter(|secret| object::deletion_timestamp(secret).is_none()) else {
        return refused("Token has been invalidated".into());
    };
    if secret.str_at(&["data", "token"]) != Some(&STANDARD.encode(token)) {
        return refused("Token does not match server's copy".into());
    }
    let found = objects.object("serviceaccounts", namespace, account);
    match found {
        Some(found) if object::deletion_timestamp(&found).is_some() => {
            return refused(format!("ServiceAccount {namespace}/{account} has been deleted"));
        }
        Some(found) if object::uid(&found) == uid => {}
        Some(found) => {
            let found = object::uid(&found);
            return refused(format!("ServiceAccount UID ({found}) does not match claim ({uid})"));
        }
        None => return refused(format!("serviceaccounts {account:?} not found")),
    }
    Ok(Verified { user: User::service_account(namespace, account, uid), audiences: shared })
}
