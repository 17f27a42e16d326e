//! The rules of `spec.conversion` and of the webhook it may name.
//! Source: apiextensions validation, apiserver `pkg/util/webhook/validation.go`.

use base64::Engine as _;
use pilothouse_value::field::{self, Path};
use pilothouse_value::{Value, names};

use crate::structural::props::Props;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// What depends on the stored CRD.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    /// A version of reviews that the server knows must be named.
    known_review: bool,
    /// The bundle of certificates must be readable.
    readable_bundle: bool,
}

impl Rules {
    /// The rules for a new CRD, or for an update of a stored conversion.
    pub(super) fn new(old: Option<Props<'_>>, is_established: bool) -> Self {
        Self {
            known_review: old.is_none_or(names_known_review),
            readable_bundle: is_established && old.and_then(bundle).is_none_or(is_readable_bundle),
        }
    }
}

/// Adds what is wrong.
pub(super) fn validate(props: Props<'_>, path: &Path, rules: Rules, errors: &mut Vec<field::Error>) {
    let strategy = props.text("strategy");
    match strategy {
        "" => errors.push(field::Error::required(&path.child("strategy"), "")),
        "None" | "Webhook" => {}
        other => errors.push(field::Error::unsupported(&path.child("strategy"), other, ["None", "Webhook"])),
    }
    let webhook = props.child("webhook");
    let client = webhook.and_then(|webhook| webhook.child("clientConfig"));
    let reviews = webhook.map(|webhook| webhook.values("conversionReviewVersions")).unwrap_or_default();
    let (at_client, at_reviews) = (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    if strategy != "Webhook" {
        if client.is_some() {
            let detail = "should not be set when strategy is not set to Webhook";
            errors.push(field::Error::forbidden(&at_client, detail));
        }
        if !reviews.is_empty() {
            let detail = "should not be set when strategy is not set to Webhook";
            errors.push(field::Error::forbidden(&at_reviews, detail));
        }
        return;
    }
    match client {
        None => errors.push(field::Error::required(&at_client, "required when strategy is set to Webhook")),
        Some(client) => match (client.value("url").and_then(Value::as_str), client.child("service")) {
            (Some(url), None) => validate_url(url, &at_client.child("url"), errors),
            (None, Some(service)) => validate_service(service, &at_client.child("service"), errors),
            _ => errors.push(field::Error::required(&at_client, "exactly one of url or service is required")),
        },
    }
    if let Some(bundle) = bundle(props).filter(|bundle| rules.readable_bundle && !is_readable_bundle(bundle))
    {
        let detail = "unable to load root certificates: unable to parse bytes as PEM block";
        errors.push(field::Error::invalid(&at_client.child("caBundle"), bundle, detail));
    }
    validate_reviews(reviews, &at_reviews, rules.known_review, errors);
}

fn bundle(conversion: Props<'_>) -> Option<&str> {
    conversion.child("webhook")?.child("clientConfig")?.some_text("caBundle")
}

/// Whether the webhook of a CRD, if it has one with a bundle of certificates, has one that can be read.
pub(super) fn has_readable_bundle(crd: &Value) -> bool {
    let conversion = crd.at(&["spec", "conversion"]).map(Props);
    conversion.and_then(bundle).is_none_or(is_readable_bundle)
}

/// Whether a bundle, in Base64, has a certificate in PEM form. What the certificate says is not looked at.
fn is_readable_bundle(bundle: &str) -> bool {
    let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(bundle) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    text.split_once("-----BEGIN CERTIFICATE-----")
        .is_some_and(|(_, rest)| rest.contains("-----END CERTIFICATE-----"))
}

/// Whether a CRD may be held to name a known review version: it does already, or it names none.
fn names_known_review(conversion: Props<'_>) -> bool {
    let reviews = conversion
        .child("webhook")
        .map(|webhook| webhook.values("conversionReviewVersions"))
        .unwrap_or_default();
    reviews.is_empty() || reviews.iter().any(is_known)
}

fn is_known(version: &Value) -> bool {
    version.as_str().is_some_and(|version| REVIEW_VERSIONS.contains(&version))
}

fn validate_reviews(versions: &[Value], path: &Path, require_known: bool, errors: &mut Vec<field::Error>) {
    if versions.is_empty() {
        errors.push(field::Error::required(path, ""));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let name = version.as_str().unwrap_or_default();
        let at = path.index(index);
        if versions.iter().take(index).any(|earlier| earlier == version) {
            errors.push(field::Error::invalid(&at, name, "duplicate version"));
            continue;
        }
        errors.extend(
            names::dns1035_label(name).into_iter().map(|detail| field::Error::invalid(&at, name, detail)),
        );
    }
    if require_known && !versions.iter().any(is_known) {
        let detail = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        errors.push(field::Error::invalid(path, versions.to_vec(), detail));
    }
}

fn validate_url(url: &str, path: &Path, errors: &mut Vec<field::Error>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (before_fragment, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (address, query) = before_fragment.split_once('?').unwrap_or((before_fragment, ""));
    let Some((scheme, rest)) = address.split_once("://") else {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(field::Error::invalid(path, "", detail));
        errors.push(field::Error::invalid(path, "", format!("host must be specified{FORM}")));
        return;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if scheme != "https" {
        errors.push(field::Error::invalid(
            path,
            scheme,
            format!("'https' is the only allowed URL scheme{FORM}"),
        ));
    }
    if host.is_empty() {
        errors.push(field::Error::invalid(path, "", format!("host must be specified{FORM}")));
    }
    if !user.is_empty() {
        errors.push(field::Error::invalid(path, user, "user information is not permitted in the URL"));
    }
    if !fragment.is_empty() {
        errors.push(field::Error::invalid(path, fragment, "fragments are not permitted in the URL"));
    }
    if !query.is_empty() {
        errors.push(field::Error::invalid(path, query, "query parameters are not permitted in the URL"));
    }
}

fn validate_service(service: Props<'_>, path: &Path, errors: &mut Vec<field::Error>) {
    for key in ["name", "namespace"] {
        if service.text(key).is_empty() {
            errors.push(field::Error::required(&path.child(key), ""));
        }
    }
    let port = service.integer("port").unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(field::Error::invalid(&path.child("port"), port, detail));
    }
    let Some(url_path) = service.value("path").and_then(Value::as_str) else { return };
    let at = path.child("path");
    let mut invalid = |detail: String| errors.push(field::Error::invalid(&at, url_path, detail));
    if url_path == "/" {
        return;
    }
    if url_path == "//" {
        invalid("segment[0] may not be empty".to_owned());
        return;
    }
    if !url_path.starts_with('/') {
        invalid("must start with a '/'".to_owned());
    }
    // Upstream cuts off the first character whatever it is, and one slash at the end.
    let mut rest = url_path.chars();
    rest.next();
    let segments = rest.as_str();
    let segments = segments.strip_suffix('/').unwrap_or(segments);
    for (index, segment) in segments.split('/').enumerate() {
        if segment.is_empty() {
            invalid(format!("segment[{index}] may not be empty"));
            continue;
        }
        for problem in names::dns1123_subdomain(segment) {
            invalid(format!("segment[{index}]: {problem}"));
        }
    }
}
