//! Tokens that somebody outside knows: a `TokenReview` is sent there, and the answer counts for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use pilothouse_value::{Map, Value, json};

use crate::authentication::tokens::Verified;
use crate::authentication::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User};
use crate::authorization::WebhookError;
use crate::webhook::{Kept, Remote, typed};

/// How long upstream knows tokens of any kind once it has seen them.
const KNOWN_FOR: Duration = Duration::from_secs(10);
/// Answers that are kept.
const ANSWERS: usize = 4096;

/// Somebody outside who knows tokens.
#[derive(Debug)]
pub struct TokenWebhook {
    remote: Remote,
    version: &'static str,
    keep_for: Duration,
    answers: Kept<Option<Verified>>,
}

impl TokenWebhook {
    /// The server of a kubeconfig, asked in a version of the review (`v1` or `v1beta1`); how long an answer counts.
    ///
    /// # Errors
    /// For another version, and a kubeconfig that cannot be used.
    pub fn new(kubeconfig: &str, version: &str, keep_for: Duration) -> Result<TokenWebhook, WebhookError> {
        let version = match version {
            "v1" => "authentication.k8s.io/v1",
            "v1beta1" => "authentication.k8s.io/v1beta1",
            _ => return Err(WebhookError::Version { what: "authentication", given: version.to_owned() }),
        };
        Ok(TokenWebhook {
            remote: Remote::of_file(kubeconfig).map_err(WebhookError::Kubeconfig)?,
            version,
            keep_for,
            answers: Kept::new(ANSWERS),
        })
    }

    /// Whom a token stands for, if it is for one of the audiences. `own` are the audiences of this server, which count if the
    /// answer names none.
    ///
    /// # Errors
    /// What was said of a token that stands for nobody; empty if nothing was.
    pub(super) async fn user(
        &self,
        token: &str,
        audiences: &[&str],
        own: &[&str],
    ) -> Result<Verified, String> {
        // The token itself is kept nowhere.
        let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
        let key = format!("{:?} {audiences:?}", digest.as_ref());
        if let Some(known) = self.answers.get(&key) {
            return known.ok_or_else(String::new);
        }
        let mut review = json!({"kind": "TokenReview", "apiVersion": self.version});
        review.set(&["metadata"], Value::object());
        review.set(&["spec", "token"], token);
        review.set(&["spec", "audiences"], audiences.to_vec());
        review.set(&["status", "user"], Value::object());
        let answer = self.remote.post(review.to_json().into()).await?;
        let answer = typed::review(&answer, self.version, "TokenReview")?;
        let empty = Value::object();
        let status = answer.get("status").unwrap_or(&empty);
        let named: Vec<&str> = status.items_at(&["audiences"]).iter().filter_map(Value::as_str).collect();
        let theirs = if named.is_empty() { own } else { &named };
        let shared: Vec<String> = audiences
            .iter()
            .filter(|audience| theirs.contains(audience))
            .map(|audience| (*audience).to_owned())
            .collect();
        let good = status.get("authenticated").and_then(Value::as_bool) == Some(true) && !shared.is_empty();
        let user = good.then(|| read(status.get("user").unwrap_or(&empty)));
        let known = user.map(|user| Verified { user, audiences: shared });
        // Whom a token stands for is known for a while, however short others have it.
        let keep_for = if known.is_some() { self.keep_for.max(KNOWN_FOR) } else { self.keep_for };
        self.answers.put(key, known.clone(), keep_for);
        match known {
            Some(known) => Ok(known),
            None => Err(status.str_at(&["error"]).unwrap_or_default().to_owned()),
        }
    }
}

fn read(info: &Value) -> User {
    let text = |field: &str| info.str_at(&[field]).unwrap_or_default().to_owned();
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = info.get("extra").and_then(Value::as_object);
    let extra: BTreeMap<String, Vec<String>> = extra
        .into_iter()
        .flat_map(Map::iter)
        .map(|(key, values)| (key.to_owned(), strings(values)))
        .collect();
    let mut groups = info.get("groups").map(strings).unwrap_or_default();
    let name = text("username");
    let is_grouped = groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if !is_grouped && name != ANONYMOUS {
        groups.push(AUTHENTICATED.to_owned());
    }
    User { name, uid: text("uid"), groups, extra }
}
