//! Values of flags that kube-apiserver refuses to start with, whether or not the flag has an effect here: a suite that gives
//! one should hear of it before it meets a real server.

use std::path::Path;

use crate::Error;
use crate::flags::{FlagError, Parsed};
use crate::serving;

/// Versions of Kubernetes that 1.37 can behave as.
const VERSIONS: [&str; 4] = ["1.34", "1.35", "1.36", "1.37"];

/// Looks at what no other part of this program reads.
///
/// # Errors
/// If a value makes no sense, with upstream's text.
pub(crate) fn check(flags: &Parsed) -> Result<(), Error> {
    times(flags)?;
    let one_of = |flag: &str, allowed: &[&str], text: &dyn Fn(&str) -> String| match flags.last(flag) {
        Some(value) if !value.is_empty() && !allowed.contains(&value) => conflict(text(value)),
        _ => Ok(()),
    };
    one_of("storage-backend", &["etcd3"], &|_| {
        "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"
            .to_owned()
    })?;
    let media = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
    one_of("storage-media-type", &media, &|value| {
        format!("--storage-media-type {value:?} invalid, allowed values: {}", media.join(", "))
    })?;
    one_of("logging-format", &["text", "json"], &|value| {
        format!("format: Invalid value: {value:?}: Unsupported log format")
    })?;
    let version = |value: &str| value.rsplit_once('=').map_or(value, |(_, version)| version).to_owned();
    for (flag, name, last) in [
        ("emulated-version", "emulation version", "1.37.0"),
        ("min-compatibility-version", "minCompatibilityVersion version", "1.37"),
    ] {
        if let Some(odd) =
            flags.list(flag).into_iter().map(version).find(|one| !VERSIONS.contains(&one.as_str()))
        {
            return conflict(format!("{name} {odd} is not between [1.34, {last}]")).map_err(Error::from);
        }
    }
    if let Some(odd) = flags.list("watch-cache-sizes").into_iter().find(|size| !size.contains('#')) {
        return conflict(format!("invalid value of watch cache size: {odd}")).map_err(Error::from);
    }
    if ["oidc-issuer-url", "oidc-client-id"]
        .iter()
        .filter(|flag| flags.last(flag).is_some_and(is_filled))
        .count()
        == 1
    {
        let text =
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set";
        return conflict(text.to_owned()).map_err(Error::from);
    }
    let batched =
        flags.last("audit-log-mode") == Some("batch") && flags.last("audit-log-path").is_some_and(is_filled);
    if let Some(size) =
        flags.parsed::<i64>("audit-log-batch-buffer-size")?.filter(|size| batched && *size <= 0)
    {
        let text = format!("invalid audit batch log buffer size {size}, must be a positive number");
        return conflict(text).map_err(Error::from);
    }
    for flag in ["encryption-provider-config", "egress-selector-config-file", "tracing-config-file"] {
        if let Some(path) = flags.last(flag).filter(|path| is_filled(path)) {
            serving::read(flag, Path::new(path))?;
        }
    }
    for pair in flags.all("tls-sni-cert-key") {
        for file in pair.split(':').next().unwrap_or_default().split(',') {
            serving::read("tls-sni-cert-key", Path::new(file.trim()))?;
        }
    }
    if let Some(port) = flags.parsed::<i64>("secure-port")?.filter(|port| !(0..=65535).contains(port)) {
        let text = format!(
            "--secure-port {port} must be between 1 and 65535, inclusive. It cannot be turned off with 0"
        );
        return conflict(text).map_err(Error::from);
    }
    Ok(accounts(flags)?)
}

fn is_filled(text: &str) -> bool {
    !text.is_empty()
}

fn conflict(text: String) -> Result<(), FlagError> {
    Err(FlagError::Conflict(text))
}

fn times(flags: &Parsed) -> Result<(), FlagError> {
    for (flag, text) in [
        ("livez-grace-period", "--livez-grace-period can not be a negative value"),
        ("request-timeout", "--request-timeout can not be negative value"),
        ("storage-initialization-timeout", "--storage-initialization-timeout can not be negative value"),
        ("shutdown-delay-duration", "--shutdown-delay-duration can not be negative value"),
        (
            "shutdown-watch-termination-grace-period",
            "shutdown-watch-termination-grace-period, if provided, can not be a negative value",
        ),
        ("min-request-timeout", "--min-request-timeout can not be negative value"),
    ] {
        let value = flags.last(flag).unwrap_or_default();
        // Zero may have a sign as well.
        if value.starts_with('-') && value.contains(|digit| matches!(digit, '1'..='9')) {
            return conflict(text.to_owned());
        }
    }
    if flags
        .parsed::<f64>("goaway-chance")?
        .is_some_and(|chance| !(0.0..=0.02).contains(&chance) && !chance.is_nan())
    {
        return conflict("--goaway-chance can not be less than 0 or greater than 0.02".to_owned());
    }
    Ok(())
}

/// What is said of tokens of service accounts.
fn accounts(flags: &Parsed) -> Result<(), FlagError> {
    let longest = flags.duration("service-account-max-token-expiration")?.map_or(0, |time| time.as_secs());
    if longest > 0 && !(3600..=1 << 32).contains(&longest) {
        let text = "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds";
        return conflict(text.to_owned());
    }
    for issuer in flags.all("service-account-issuer").iter().filter(|issuer| issuer.contains(':')) {
        if issuer.starts_with(':') {
            return conflict(format!(
                "service-account-issuer {issuer:?} contained a ':' but was not a valid URL: parse {issuer:?}: missing protocol \
                 scheme"
            ));
        }
    }
    match flags.last("service-account-jwks-uri").filter(|uri| is_filled(uri)) {
        Some(uri) if !uri.starts_with("https:") => {
            conflict(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"))
        }
        _ => Ok(()),
    }
}
