//! Who asks, and what they may: the flags of authentication and authorization.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::authenticator::{RequestHeader, TokenWebhook, read_token_file};
use pilothouse_apiserver::authorization::{Mode, NamedMode, Policies, WebhookAuthorizer, read_configuration};
use pilothouse_apiserver::tokens::TokenOptions;
use pilothouse_apiserver::{Builder, Value};
use pilothouse_value::{object, parse};

use crate::flags::{FlagError, Parsed};
use crate::{Error, serving};

const MODES: [&str; 6] = ["AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"];
const TOKEN_WEBHOOK: &str = "authentication-token-webhook-config-file";
const WEBHOOK: &str = "authorization-webhook-config-file";
const POLICIES: &str = "authorization-policy-file";
const STRUCTURED: &str = "authorization-config";
const AUTHENTICATION: &str = "authentication-config";
const PROXIES: &str = "requestheader-client-ca-file";

/// Tells a builder what the flags of authentication and authorization say.
///
/// # Errors
/// If they contradict each other, or a file makes no sense.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    let modes = modes(flags)?;
    let everything = matches!(modes.as_slice(), [NamedMode { mode: Mode::AlwaysAllow, .. }]);
    let builder = builder
        .authorization_modes(modes)
        .service_account_tokens(tokens(flags)?)
        .bootstrap_tokens(flags.boolean("enable-bootstrap-token-auth", false)?);
    let builder = anonymous(builder, flags, everything)?;
    certificates(token_users(builder, flags)?, flags)
}

/// The flag's value, if it was given and is not empty.
fn given<'a>(flags: &'a Parsed, flag: &str) -> Option<&'a str> {
    flags.last(flag).filter(|text| !text.is_empty())
}

fn file_error(flag: &'static str, path: &str, why: impl ToString) -> Error {
    Error::File { flag, path: path.into(), why: why.to_string() }
}

fn modes(flags: &Parsed) -> Result<Vec<NamedMode>, Error> {
    let names = flags.list("authorization-mode");
    if let Some(path) = given(flags, STRUCTURED) {
        let legacy = ["authorization-mode", WEBHOOK, "authorization-webhook-version"];
        if legacy.iter().any(|flag| flags.is_set(flag)) {
            return Err(FlagError::Conflict(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* \
                 flags are defined"
                    .to_owned(),
            )
            .into());
        }
        let text = serving::read(STRUCTURED, path.as_ref())?;
        return read_configuration(&text).map_err(|error| file_error(STRUCTURED, path, error));
    }
    let conflict = |text: String| Err(FlagError::Conflict(text).into());
    if let Some(unknown) = names.iter().find(|name| !MODES.contains(name)) {
        return conflict(format!("authorization-mode {unknown:?} is not a valid mode"));
    }
    let has = |mode: &str| names.contains(&mode);
    for (mode, flag, what) in [("ABAC", POLICIES, "policy"), ("Webhook", WEBHOOK, "config")] {
        match (has(mode), given(flags, flag)) {
            (true, None) => {
                return conflict(format!("authorization-mode {mode}'s authorization {what} file not passed"));
            }
            (false, Some(_)) => return conflict(format!("cannot specify --{flag} without mode {mode}")),
            _ => {}
        }
    }
    if names.iter().enumerate().any(|(at, name)| names.iter().take(at).any(|before| before == name)) {
        let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        return conflict(format!(
            "authorization-mode [{}] has mode specified more than once",
            quoted.join(" ")
        ));
    }
    if names.is_empty() {
        return Ok(vec![Mode::AlwaysAllow.into()]);
    }
    let mut modes = Vec::new();
    for name in names {
        modes.push(NamedMode::from(match name {
            "AlwaysAllow" => Mode::AlwaysAllow,
            "AlwaysDeny" => Mode::AlwaysDeny,
            "Node" => Mode::Node,
            "ABAC" => {
                let path = given(flags, POLICIES).unwrap_or_default();
                let policies = Policies::read(&serving::read(POLICIES, path.as_ref())?);
                Mode::Abac(Arc::new(policies.map_err(|error| file_error(POLICIES, path, error))?))
            }
            "Webhook" => {
                let path = given(flags, WEBHOOK).unwrap_or_default();
                let version = given(flags, "authorization-webhook-version").unwrap_or("v1beta1");
                let allow = flags
                    .duration("authorization-webhook-cache-authorized-ttl")?
                    .unwrap_or(Duration::from_secs(300));
                let deny = flags
                    .duration("authorization-webhook-cache-unauthorized-ttl")?
                    .unwrap_or(Duration::from_secs(30));
                let webhook = WebhookAuthorizer::new(path, version, allow, deny);
                Mode::Webhook(Arc::new(webhook.map_err(|error| file_error(WEBHOOK, path, error))?))
            }
            _ => Mode::Rbac,
        }));
    }
    Ok(modes)
}

/// What becomes of requests without credentials.
fn anonymous(builder: Builder, flags: &Parsed, everything: bool) -> Result<Builder, Error> {
    let mut serves = flags.boolean("anonymous-auth", true)?;
    if let Some(path) = given(flags, AUTHENTICATION) {
        let text = serving::read(AUTHENTICATION, path.as_ref())?;
        let wrong = |why: String| file_error(AUTHENTICATION, path, why);
        let document = parse::yaml(&text).map_err(|error| wrong(error.to_string()))?.value;
        if object::kind(&document) != "AuthenticationConfiguration" {
            let hint = "hint: kind: AuthenticationConfiguration, apiVersion: apiserver.config.k8s.io/v1";
            return Err(wrong(format!("the kind is {:?}; {hint}", object::kind(&document))));
        }
        if !document.items_at(&["jwt"]).is_empty() {
            return Err(wrong("tokens of OpenID Connect are not there; hint: leave jwt out".to_owned()));
        }
        if let Some(anonymous) = document.get("anonymous").filter(|anonymous| !anonymous.is_null()) {
            if flags.is_set("anonymous-auth") {
                let why = "anonymous: Forbidden: cannot be specified when --anonymous-auth is set";
                return Err(wrong(why.to_owned()));
            }
            let conditions = anonymous.items_at(&["conditions"]);
            serves = anonymous.get("enabled").and_then(Value::as_bool).unwrap_or_default();
            if !serves && !conditions.is_empty() {
                let why = "anonymous.conditions: Invalid value: enabled should be set to true when conditions are defined";
                return Err(wrong(why.to_owned()));
            }
            if !conditions.is_empty() {
                let paths: Vec<&str> =
                    conditions.iter().filter_map(|condition| condition.str_at(&["path"])).collect();
                return Ok(builder.anonymous_on(paths));
            }
        }
    }
    if serves && everything {
        tracing::info!("anonymous requests are not served when everything is allowed, as upstream has it");
        serves = false;
    }
    Ok(builder.anonymous(serves))
}

/// Users by their tokens.
fn token_users(mut builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    if let Some(path) = given(flags, "token-auth-file") {
        let text = serving::read("token-auth-file", path.as_ref())?;
        builder = builder
            .tokens(read_token_file(&text).map_err(|error| file_error("token-auth-file", path, error))?);
    }
    if let Some(path) = given(flags, TOKEN_WEBHOOK) {
        let version = given(flags, "authentication-token-webhook-version").unwrap_or("v1beta1");
        let keep = flags.duration("authentication-token-webhook-cache-ttl")?;
        let webhook = TokenWebhook::new(path, version, keep.unwrap_or(Duration::from_secs(120)));
        builder = builder.token_webhook(webhook.map_err(|error| file_error(TOKEN_WEBHOOK, path, error))?);
    }
    Ok(builder)
}

/// Users by their certificates, and proxies that name users.
fn certificates(mut builder: Builder, flags: &Parsed) -> Result<Builder, Error> {
    builder = match given(flags, "client-ca-file") {
        Some(path) => builder.client_authorities(serving::read("client-ca-file", path.as_ref())?),
        None => builder.client_authorities(""),
    };
    let Some(path) = given(flags, PROXIES) else { return Ok(builder) };
    let authorities = serving::read(PROXIES, path.as_ref())?;
    let mut proxies = RequestHeader::new(&authorities).map_err(|error| file_error(PROXIES, path, error))?;
    let list = |flag: &str| -> Vec<String> { flags.list(flag).into_iter().map(str::to_owned).collect() };
    proxies.allowed_names = list("requestheader-allowed-names");
    proxies.username_headers = list("requestheader-username-headers");
    proxies.uid_headers = list("requestheader-uid-headers");
    proxies.group_headers = list("requestheader-group-headers");
    proxies.extra_prefixes = list("requestheader-extra-headers-prefix");
    Ok(builder.request_header(proxies))
}

/// The keys of service account tokens, and who issues them for whom.
fn tokens(flags: &Parsed) -> Result<TokenOptions, Error> {
    let text = |flag: &'static str, path: &str| serving::read(flag, path.as_ref());
    let signing = "service-account-signing-key-file";
    let verifying = "service-account-key-file";
    Ok(TokenOptions {
        signing_key: given(flags, signing).map(|path| text(signing, path)).transpose()?,
        verifying_keys: flags
            .all(verifying)
            .iter()
            .map(|path| text(verifying, path))
            .collect::<Result<_, _>>()?,
        issuers: flags.all("service-account-issuer").to_vec(),
        audiences: flags.list("api-audiences").into_iter().map(str::to_owned).collect(),
        key_set_url: given(flags, "service-account-jwks-uri").map(str::to_owned),
    })
}
