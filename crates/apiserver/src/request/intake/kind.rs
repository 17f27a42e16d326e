//! Whether a document is of the kind that its endpoint is for.

use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, Status, Value, field, object};

/// Checks that a document is of this kind; one that does not say is taken to be.
///
/// # Errors
/// 400 otherwise.
pub(crate) fn check_kind(gvk: &Gvk, value: &mut Value) -> Result<(), Status> {
    if value.as_object().is_none() {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: \
             json: cannot unmarshal into Go value of type struct {{ APIVersion string; Kind string }}",
            gvk.kind
        )));
    }
    let kind = object::kind(value).to_owned();
    let built_in = builtin::type_name(gvk).is_some();
    let expected = gvk.api_version();
    let api_version = match object::api_version(value) {
        "" => String::new(),
        given if built_in => completed(gvk, given).ok_or_else(|| {
            let kind = if kind.is_empty() { &gvk.kind } else { &kind };
            Status::bad_request(format!(
                "{kind} in version \"\" cannot be handled as a {}: Object 'apiVersion' is missing in '{}'",
                gvk.kind,
                value.to_json()
            ))
        })?,
        given => given.to_owned(),
    };
    if kind.is_empty() {
        value.set(&["kind"], gvk.kind.as_str());
    }
    if api_version.is_empty() {
        value.set(&["apiVersion"], gvk.api_version());
    } else if api_version != object::api_version(value) {
        value.set(&["apiVersion"], api_version.as_str());
    }
    let given = Gvk::of(value).unwrap_or_default();
    let registered = || builtin::type_name(&given).is_some() || was_served(&given);
    if built_in && (api_version != expected || kind != gvk.kind) && !registered() {
        return Err(Status::bad_request(format!(
            "{} in version {} cannot be handled as a {}: no kind {} is registered for version {} in scheme \
             \"pkg/runtime/scheme.go:111\"",
            given.kind,
            field::quote(&given.version),
            gvk.kind,
            field::quote(&given.kind),
            field::quote(&given.api_version()),
        )));
    }
    if !kind.is_empty() && kind != gvk.kind && built_in {
        // It is read as what it says it is before it turns out to be something else.
        builtin::decode(&given, &mut value.clone()).map_err(|error| {
            let text = error.to_string();
            let why = text.split_once(" cannot be handled as a ").and_then(|(_, why)| why.split_once(": "));
            Status::bad_request(format!(
                "{kind} in version {} cannot be handled as a {}: {}",
                field::quote(&given.version),
                gvk.kind,
                why.map_or(text.as_str(), |(_, why)| why)
            ))
        })?;
        return Err(Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {}: converting ({}.{kind}) to ({}.{}): unknown conversion",
            field::quote(&given.version),
            gvk.kind,
            given.version,
            internal_package(&gvk.group),
            gvk.kind
        )));
    }
    if !api_version.is_empty() {
        check_version(gvk, value)?;
    }
    if !kind.is_empty() && kind != gvk.kind {
        let why = format!("must be {}", gvk.kind);
        let error = field::Error::invalid(&field::Path::new("kind"), kind.as_str(), why);
        return Err(Status::invalid(&given.group, &kind, object::name(value), &[error]));
    }
    Ok(())
}

/// A version as it is meant where a part of it is empty; `None` if it says a group and no version.
fn completed(gvk: &Gvk, given: &str) -> Option<String> {
    match given.split_once('/') {
        Some(("", "")) => Some(gvk.api_version()),
        Some(("", version)) if !version.contains('/') => Some(version.to_owned()),
        Some((group, "")) if group == gvk.group => Some(gvk.api_version()),
        Some((_, "")) => None,
        _ => Some(given.to_owned()),
    }
}

/// A document must be in the version of the path.
///
/// # Errors
/// 400 otherwise.
pub(super) fn check_version(gvk: &Gvk, value: &Value) -> Result<(), Status> {
    let (given, expected) = (object::api_version(value), gvk.api_version());
    if given == expected {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the API version in the data ({given}) does not match the expected API version ({expected})"
    )))
}

/// Whether a kind can still be read in a version that is no longer served.
fn was_served(given: &Gvk) -> bool {
    const GONE: [(&str, &[&str]); 14] = [
        ("admissionregistration.k8s.io", &["v1beta1"]),
        ("apiextensions.k8s.io", &["v1beta1"]),
        ("apiregistration.k8s.io", &["v1beta1"]),
        ("apps", &["v1beta1", "v1beta2"]),
        ("batch", &["v1beta1"]),
        ("certificates.k8s.io", &["v1beta1"]),
        ("coordination.k8s.io", &["v1beta1"]),
        ("discovery.k8s.io", &["v1beta1"]),
        ("events.k8s.io", &["v1beta1"]),
        ("networking.k8s.io", &["v1beta1"]),
        ("policy", &["v1beta1"]),
        ("rbac.authorization.k8s.io", &["v1alpha1", "v1beta1"]),
        ("scheduling.k8s.io", &["v1alpha1", "v1beta1"]),
        ("storage.k8s.io", &["v1alpha1", "v1beta1"]),
    ];
    let current = Gvk::new(&given.group, "v1", &given.kind);
    builtin::type_name(&current).is_some()
        && GONE
            .iter()
            .any(|(group, versions)| *group == given.group && versions.contains(&given.version.as_str()))
}

/// The name of the Go package that messages name a group by.
pub(crate) fn internal_package(group: &str) -> &str {
    group.split('.').next().filter(|name| !name.is_empty()).unwrap_or("core")
}
