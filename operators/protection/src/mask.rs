//! Takes the values of secrets out of texts that people will read.

use base64::Engine as _;

use crate::params::{CredentialParams, Params};

/// What is shown in place of a secret.
const SHOWN: &str = "***";
/// Shorter values are words that occur by chance.
const SHORTEST: usize = 4;

/// The values that must not be shown. It has no `Debug`.
pub(crate) struct Mask(Vec<String>);

impl Mask {
    /// All secrets that the templates of an action see.
    pub(crate) fn of(params: &Params) -> Self {
        let of_phases =
            params.phases.values().chain(&params.defer_phase).flat_map(|p| p.secrets.values().flatten());
        let mut values: Vec<String> = params
            .secrets
            .values()
            .chain(of_phases)
            .flat_map(|s| s.data.iter().flatten())
            .map(|(_, bytes)| String::from_utf8_lossy(&bytes.0).into_owned())
            .collect();
        match params.profile.as_ref().map(|p| &p.credential) {
            Some(CredentialParams::KeyPair { secret, .. }) => values.push(secret.clone()),
            Some(CredentialParams::Secret(secret)) => values.extend(
                secret.data.iter().flatten().map(|(_, bytes)| String::from_utf8_lossy(&bytes.0).into_owned()),
            ),
            Some(CredentialParams::None) | None => {}
        }
        let mut all = Vec::new();
        for value in values {
            // Commands often see it trimmed, and errors show it encoded.
            let trimmed = value.trim();
            if trimmed.len() >= SHORTEST {
                all.push(base64::prelude::BASE64_STANDARD.encode(&value));
                all.push(trimmed.to_owned());
            }
        }
        // The longest first: one secret may be part of another.
        all.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(all)
    }

    /// The text without the secrets.
    pub(crate) fn apply(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), SHOWN) } else { text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let secret = serde_json::from_value(
            serde_json::json!({"data": {"password": "Q0FOQVJZLTdmM2EK", "short": "YWI="}}),
        )
        .unwrap();
        let params = Params { secrets: [("s".to_owned(), secret)].into(), ..Params::default() };
        let mask = Mask::of(&params);
        assert_eq!(mask.apply("dump -p CANARY-7f3a; ab; Q0FOQVJZLTdmM2EK"), "dump -p ***; ab; ***");
    }
}
