//! Webhook configurations.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::{At, Errors, label_selector, port_number};

pub(super) fn configuration(at: &At<'_>, mutating: bool, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for hook in at.items("webhooks") {
        webhook(&hook, errors);
        if mutating {
            errors.one_of(&hook, "reinvocationPolicy", &["IfNeeded", "Never"], false);
        }
        if !seen.insert(hook.text("name")) {
            errors.0.push(Error::duplicate(&hook.path.child("name"), hook.text("name")));
        }
    }
}

fn webhook(at: &At<'_>, errors: &mut Errors) {
    qualified_name(at, errors);
    at.items("rules").iter().for_each(|rule| self::rule(rule, errors));
    errors.one_of(at, "failurePolicy", &["Fail", "Ignore"], false);
    errors.one_of(at, "matchPolicy", &["Equivalent", "Exact"], false);
    match at.text("sideEffects") {
        "" => errors.required(&at.path.child("sideEffects"), "must specify one of None, NoneOnDryRun"),
        _ => errors.one_of(at, "sideEffects", &["None", "NoneOnDryRun"], true),
    }
    if let Some(seconds) = at.int("timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&at.path.child("timeoutSeconds"), seconds, detail);
    }
    for selector in ["namespaceSelector", "objectSelector"].iter().filter_map(|field| at.find(field)) {
        label_selector(&selector, errors);
    }
    client(&at.child("clientConfig"), errors);
    review_versions(at, errors);
}

fn qualified_name(at: &At<'_>, errors: &mut Errors) {
    let (path, name) = (at.path.child("name"), at.text("name"));
    if name.is_empty() {
        errors.required(&path, "");
        return;
    }
    let complaints = names::dns1123_subdomain(name);
    let good = complaints.is_empty();
    errors.complaints(&path, name, complaints);
    if good && name.split('.').count() < 3 {
        errors.invalid(&path, name, "should be a domain with at least three segments separated by dots");
    }
}

fn client(at: &At<'_>, errors: &mut Errors) {
    match (at.find("url"), at.find("service")) {
        (None, None) | (Some(_), Some(_)) => {
            errors.required(&at.path, "exactly one of url or service is required")
        }
        (Some(url), None) => self::url(&url, errors),
        (None, Some(service)) => {
            for field in ["name", "namespace"] {
                if service.text(field).is_empty() {
                    errors.required(
                        &service.path.child(field),
                        format!("service {field} is required").as_str(),
                    );
                }
            }
            if let Some(number) = service.int("port") {
                port_number(&service.path.child("port"), number, errors);
            }
            let path = service.text("path");
            if !path.is_empty() && !path.starts_with('/') {
                errors.invalid(&service.path.child("path"), path, "must start with a '/'");
            }
        }
    }
}

fn url(at: &At<'_>, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let text = at.value.as_str().unwrap_or_default();
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    if scheme != "https" {
        errors.invalid(&at.path, scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() {
        errors.invalid(&at.path, host, format!("host must be specified{FORM}"));
    }
    if let Some((user, _)) = host.split_once('@') {
        errors.invalid(&at.path, user, format!("user information is not permitted in the URL{FORM}"));
    }
    for (mark, what) in [('#', "fragments"), ('?', "query parameters")] {
        if let Some((_, part)) = rest.split_once(mark) {
            errors.invalid(&at.path, part, format!("{what} are not permitted in the URL{FORM}"));
        }
    }
}

fn review_versions(at: &At<'_>, errors: &mut Errors) {
    let path = at.path.child("admissionReviewVersions");
    let versions = at.items("admissionReviewVersions");
    if versions.is_empty() {
        errors.required(&path, "must specify one of v1, v1beta1");
        return;
    }
    let mut seen = BTreeSet::new();
    for version in &versions {
        let text = version.value.as_str().unwrap_or_default();
        if !seen.insert(text) {
            errors.invalid(&version.path, text, "duplicate version");
        }
        errors.complaints(&version.path, text, names::dns1035_label(text));
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        let value = at.child("admissionReviewVersions").value.clone();
        errors.invalid(&path, value, "must include at least one of v1, v1beta1");
    }
}

fn rule(at: &At<'_>, errors: &mut Errors) {
    for list in ["operations", "apiGroups", "apiVersions", "resources"] {
        if at.items(list).is_empty() {
            errors.required(&at.path.child(list), "");
        }
    }
    let many = |list: &str| at.items(list).iter().filter_map(|one| one.value.as_str()).collect::<Vec<_>>();
    let alone = |list: &str, what: &str, errors: &mut Errors| {
        let words = many(list);
        if words.len() > 1 && words.contains(&"*") {
            let value = Value::from(words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>());
            errors.invalid(
                &at.path.child(list),
                value,
                format!("if '*' is present, must not specify other {what}"),
            );
        }
    };
    alone("operations", "operations", errors);
    alone("apiGroups", "API groups", errors);
    alone("apiVersions", "API versions", errors);
    for operation in at.items("operations") {
        let word = operation.value.as_str().unwrap_or_default();
        let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        if !known.contains(&word) {
            errors.unsupported(&operation.path, word, &known);
        }
    }
    let resources = many("resources");
    let plain = resources.iter().filter(|resource| !resource.contains('/')).count();
    if resources.contains(&"*") && plain > 1 {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(&at.path.child("resources"), at.child("resources").value.clone(), detail);
    }
    errors.one_of(at, "scope", &["*", "Cluster", "Namespaced"], false);
}
