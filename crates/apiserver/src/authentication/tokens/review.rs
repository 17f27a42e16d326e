//! `TokenRequest` and `TokenReview`: tokens asked for, and asked about, through the API. Nothing is stored.

use super::{Bound, Claims, Signer};
use crate::authentication::authenticator::Authenticator;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Status, Timestamp, Value, json, object, parse};

const GROUP: &str = "authentication.k8s.io";
/// Seconds that a token is good for if its request says nothing.
pub(crate) const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;
/// What the admission plugin ServiceAccount asks for: an hour, and seven seconds by which it is known.
pub(crate) const INJECTED_SECONDS: i64 = 60 * 60 + 7;
/// How long such a token is good for where tokens are extended.
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

/// Answers a `TokenRequest` for a service account. `extends` says whether tokens that were injected into pods are good for a year
/// (`--service-account-extend-token-expiration`).
///
/// # Errors
/// 404 without such an account (or pod, secret, node), 400 and 422 for what cannot be asked for, 409 for another uid.
pub fn token_request(
    signer: &Signer,
    objects: &dyn Bound,
    now: Timestamp,
    namespace: &str,
    name: &str,
    request: &Value,
    extends: bool,
) -> Result<Value, Status> {
    let given = object::name(request);
    if !given.is_empty() && given != name {
        let text = "must match the service account name if specified";
        let error = Error::invalid(&Path::new("metadata").child("name"), given, text);
        return Err(Status::invalid(GROUP, "TokenRequest", name, &[error]));
    }
    if object::namespace(request).is_some_and(|given| !given.is_empty() && given != namespace) {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let account = objects
        .object("serviceaccounts", namespace, name)
        .ok_or_else(|| Status::not_found("", "serviceaccounts", name))?;
    let account_uid = object::uid(&account);
    let given = object::uid(request);
    if !given.is_empty() && given != account_uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({account_uid})"
        );
        return Err(Status::conflict(GROUP, "TokenRequest", name, &why));
    }

    let seconds = request.i64_at(&["spec", "expirationSeconds"]).unwrap_or(DEFAULT_SECONDS);
    let limit = match seconds {
        ..MIN_SECONDS => Some("may not specify a duration less than 10 minutes"),
        MIN_SECONDS..=MAX_SECONDS => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    };
    if let Some(text) = limit {
        let error = Error::invalid(&Path::new("spec").child("expirationSeconds"), seconds, text);
        return Err(Status::invalid(GROUP, "TokenRequest", "", &[error]));
    }
    let mut audiences: Vec<String> = request
        .items_at(&["spec", "audiences"])
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if audiences.is_empty() {
        audiences.extend(signer.audiences().into_iter().map(str::to_owned));
    }
    let reference = request.at(&["spec", "boundObjectRef"]).filter(|reference| !reference.is_null());
    let bound = match reference {
        Some(reference) => bind(objects, namespace, name, reference)?,
        None => Vec::new(),
    };
    // Those that were injected into a pod and are for this server, as upstream tells them.
    let extends = extends
        && seconds == INJECTED_SECONDS
        && bound.first().is_some_and(|(word, ..)| *word == "pod")
        && audiences.iter().all(|one| signer.audiences().contains(&one.as_str()));
    let claims = Claims {
        namespace,
        account: name,
        account_uid,
        audiences: &audiences,
        issued: now,
        seconds: if extends { EXTENDED_SECONDS } else { seconds },
        warn_after: extends.then_some(seconds),
        bound: &bound,
    };
    let token =
        signer.sign(&claims).map_err(|why| Status::internal(format!("failed to generate token: {why}")))?;

    let mut answer = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"});
    answer.set(&["metadata"], request.get("metadata").cloned().unwrap_or_else(Value::object));
    for (field, value) in [("name", name), ("namespace", namespace), ("uid", account_uid)] {
        answer.set(&["metadata", field], value);
    }
    answer.set(&["metadata", "creationTimestamp"], now);
    answer.set(&["spec", "audiences"], audiences);
    answer.set(&["spec", "expirationSeconds"], seconds);
    answer.set(&["spec", "boundObjectRef"], reference.cloned());
    answer.set(&["status", "token"], token);
    let end = now.plus(std::time::Duration::from_secs(seconds.unsigned_abs()));
    answer.set(&["status", "expirationTimestamp"], end);
    Ok(answer)
}

/// What tells a token that this server has issued from others, as the audit log has it.
pub(crate) fn credential_id(token: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let payload = parse::json(&payload).ok()?.value;
    Some(format!("JTI={}", payload.str_at(&["jti"])?))
}

/// What a token for this account is bound to, besides the account.
fn bind(
    objects: &dyn Bound,
    namespace: &str,
    account: &str,
    reference: &Value,
) -> Result<Vec<(&'static str, String, String)>, Status> {
    let text = |field: &str| reference.str_at(&[field]).unwrap_or_default();
    let (name, kind, version) = (text("name"), text("kind"), text("apiVersion"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let (word, plural, place) = match (group, kind) {
        ("", "Pod") => ("pod", "pods", namespace),
        ("", "Secret") => ("secret", "secrets", namespace),
        ("", "Node") => ("node", "nodes", ""),
        _ => {
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(why));
        }
    };
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let found = objects.object(plural, place, name).ok_or_else(|| Status::not_found("", plural, name))?;
    let uid = object::uid(&found);
    let given = text("uid");
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the bound object reference ({given}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict("", kind, name, &why));
    }
    let mut bound = vec![(word, name.to_owned(), uid.to_owned())];
    if word == "pod" {
        let own = found.str_at(&["spec", "serviceAccountName"]).unwrap_or_default();
        if own != account {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        if let Some(node) = found.str_at(&["spec", "nodeName"]).filter(|node| !node.is_empty()) {
            let uid = objects.object("nodes", "", node).map(|node| object::uid(&node).to_owned());
            bound.push(("node", node.to_owned(), uid.unwrap_or_default()));
        }
    }
    Ok(bound)
}

/// Answers a `TokenReview`: whom does this token stand for?
///
/// # Errors
/// 400 without a token.
pub async fn token_review(authenticator: &Authenticator, review: &Value) -> Result<Value, Status> {
    let token = review.str_at(&["spec", "token"]).unwrap_or_default();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences =
        review.items_at(&["spec", "audiences"]).iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let audiences = if audiences.is_empty() { authenticator.signer.audiences() } else { audiences };
    let mut answer = review.clone();
    let status = match authenticator.token(token, &audiences).await {
        Ok(verified) => {
            let mut user = Value::object();
            if !verified.user.name.is_empty() {
                user.set(&["username"], verified.user.name.as_str());
            }
            if !verified.user.groups.is_empty() {
                user.set(&["groups"], verified.user.groups.clone());
            }
            if !verified.user.uid.is_empty() {
                user.set(&["uid"], &verified.user.uid);
            }
            if !verified.user.extra.is_empty() {
                user.set(&["extra"], extra(&verified.user));
            }
            let mut status = json!({"authenticated": true});
            status.set(&["user"], user);
            status.set(&["audiences"], verified.audiences);
            status
        }
        Err(why) => json!({"user": {}, "error": why.to_string()}),
    };
    answer.set(&["status"], status);
    Ok(answer)
}

pub(crate) fn extra(user: &crate::authentication::user::User) -> Value {
    let extra = user.extra.iter().map(|(key, values)| (key.as_str(), Value::from(values.clone())));
    Value::Object(extra.collect())
}
