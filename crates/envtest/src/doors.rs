//! How the server behaves towards the network: `--cors-allowed-origins`, `--strict-transport-security-directives`, HTTP/2, TLS,
//! and the name that clients are told.

use http::HeaderValue;
use pilothouse_apiserver::{Builder, Network, Pattern};

use crate::flags::{FlagError, Parsed};

const ORIGINS: &str = "cors-allowed-origins";
const SECURITY: &str = "strict-transport-security-directives";
/// What upstream says of origins that it refuses.
const ORIGINS_HELP: &str = "List of allowed origins for CORS, comma separated. An allowed origin can be a regular expression to \
                            support subdomain matching. If this list is empty CORS will not be enabled. Please ensure each \
                            expression matches the entire hostname by anchoring to the start with '^' or including the '//' \
                            prefix, and by anchoring to the end with '$' or including the ':' port separator suffix. Examples \
                            of valid expressions are '//example\\.com(:|$)' and '^https://example\\.com(:|$)'";
/// The cipher suites of Go's TLS: the names that `--tls-cipher-suites` takes.
const SUITES: &str = include_str!("flags/suites.txt");

/// Tells a builder what these flags say.
///
/// # Errors
/// If a value makes no sense.
pub(crate) fn configure(builder: Builder, flags: &Parsed) -> Result<Builder, FlagError> {
    let defaults = Network::default();
    for suite in flags.list("tls-cipher-suites") {
        if !SUITES.lines().any(|own| own == suite) {
            return conflict(format!("Cipher suite {suite} not supported or doesn't exist"));
        }
    }
    let streams = flags.parsed::<i64>("http2-max-streams-per-connection")?.filter(|most| *most > 0);
    Ok(builder.network(Network {
        allowed_origins: origins(flags)?,
        transport_security: security(flags)?,
        external_address: flags.last("external-hostname").filter(|name| !name.is_empty()).map(str::to_owned),
        http2: !flags.boolean("disable-http2-serving", false)?,
        http2_streams: streams.map_or(defaults.http2_streams, |most| u32::try_from(most).unwrap_or(u32::MAX)),
        // What is older than 1.2 is spoken by no client that is left.
        tls12: match flags.last("tls-min-version") {
            Some("VersionTLS13") => false,
            None | Some("" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12") => true,
            Some(other) => return conflict(format!("unknown tls version {other:?}")),
        },
    }))
}

fn conflict<T>(text: String) -> Result<T, FlagError> {
    Err(FlagError::Conflict(text))
}

/// The values of a list, empty ones among them, which upstream refuses here.
fn values<'f>(flags: &'f Parsed, flag: &str) -> impl Iterator<Item = &'f str> {
    flags.all(flag).iter().filter(|list| !list.is_empty()).flat_map(|list| list.split(','))
}

fn origins(flags: &Parsed) -> Result<Vec<Pattern>, FlagError> {
    let read = |text: &str| {
        if text.is_empty() {
            return conflict(format!("empty value in --{ORIGINS}, help: {ORIGINS_HELP}"));
        }
        let why = match Pattern::new(text) {
            Err(error) => error.to_string(),
            // A pattern that fits parts of a host lets strangers in (CVE-2022-1996).
            Ok(_) if !is_pinned(text) => {
                "regular expression does not pin to start/end of host in the origin header".to_owned()
            }
            Ok(pattern) => return Ok(pattern),
        };
        conflict(format!("--{ORIGINS} has an invalid regular expression: {why}, help: {ORIGINS_HELP}"))
    };
    values(flags, ORIGINS).map(read).collect()
}

fn is_pinned(pattern: &str) -> bool {
    ["^", "//"].iter().any(|start| pattern.contains(start)) && pattern.contains(['$', ':'])
}

fn security(flags: &Parsed) -> Result<Option<HeaderValue>, FlagError> {
    let directives: Vec<&str> = values(flags, SECURITY).collect();
    for directive in &directives {
        if directive.trim().is_empty() {
            return conflict(format!("empty value in {SECURITY}"));
        }
        let is_age =
            directive.split_once('=').is_some_and(|(key, age)| key == "max-age" && !age.contains('='));
        if !matches!(*directive, "includeSubDomains" | "preload") && !is_age {
            return conflict(format!(
                "--{SECURITY} invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see \
                 https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
            ));
        }
    }
    if directives.is_empty() {
        return Ok(None);
    }
    let text = directives.join("; ");
    let invalid = |why: http::header::InvalidHeaderValue| FlagError::Invalid {
        flag: SECURITY,
        value: text.clone(),
        why: why.to_string(),
    };
    HeaderValue::from_str(&text).map(Some).map_err(invalid)
}
