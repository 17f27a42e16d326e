//! Admission policies and their bindings, without what is compiled of them, the expressions. Source:
//! pkg/apis/admissionregistration/validation.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::names;

use super::webhooks::rule;
use super::{At, Errors, label_selector};

/// Most conditions of one policy.
const MOST_CONDITIONS: usize = 64;
/// Most audit annotations of one policy.
const MOST_ANNOTATIONS: usize = 20;
/// Most bytes of the expression of an audit annotation.
const LONGEST_ANNOTATION: usize = 5 * 1024;
/// What a mutating policy can be asked about.
const MUTATED: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

pub(super) fn validating(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    common(&spec, false, errors);
    let (validations, annotations) = (spec.items("validations"), spec.items("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.required(&spec.path.child("validations"), detail);
        errors.required(&spec.path.child("auditAnnotations"), detail);
        return;
    }
    validations.iter().for_each(|one| validation(one, errors));
    if annotations.len() > MOST_ANNOTATIONS {
        let list = spec.child("auditAnnotations");
        let detail = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
        errors.invalid(&list.path, list.value.clone(), detail);
    }
    let name = at.child("metadata").text("name");
    let mut seen = BTreeSet::new();
    for one in &annotations {
        let (path, key) = (one.path.child("key"), one.text("key"));
        if name.is_empty() {
            errors.invalid(&path, key, "requires metadata.name be non-empty");
        } else {
            let whole = format!("{name}/{key}");
            errors.complaints(&path, &whole, names::qualified_name(&whole));
        }
        let (path, expression) = (one.path.child("valueExpression"), one.text("valueExpression").trim());
        if expression.is_empty() {
            errors.required(&path, "valueExpression is not specified");
        } else if expression.len() > LONGEST_ANNOTATION {
            errors.required(&path, &format!("must not exceed {LONGEST_ANNOTATION} bytes in length"));
        }
        if !seen.insert(key) {
            errors.0.push(Error::duplicate(&one.path.child("key"), key));
        }
    }
}

pub(super) fn mutating(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    common(&spec, true, errors);
    let mutations = spec.items("mutations");
    if mutations.is_empty() {
        errors.required(&spec.path.child("mutations"), "mutations must contain at least one item");
    }
    mutations.iter().for_each(|one| mutation(one, errors));
    errors.one_of(&spec, "reinvocationPolicy", &["IfNeeded", "Never"], true);
}

/// What both kinds of policies have.
fn common(spec: &At<'_>, mutates: bool, errors: &mut Errors) {
    pointer(spec, "failurePolicy", &["Fail", "Ignore"], errors);
    if let Some(kind) = spec.find("paramKind") {
        param_kind(&kind, errors);
    }
    match spec.find("matchConstraints") {
        None => errors.required(&spec.path.child("matchConstraints"), ""),
        Some(constraints) => {
            match_resources(&constraints, errors);
            if constraints.items("resourceRules").is_empty() {
                errors.required(&constraints.path.child("resourceRules"), "");
            }
            if mutates {
                operations(&constraints, errors);
            }
        }
    }
    conditions(spec, errors);
    for variable in spec.items("variables") {
        let (path, name) = (variable.path.child("name"), variable.text("name"));
        if name.trim().is_empty() {
            errors.required(&path, "name is not specified");
        } else if !is_identifier(name) {
            errors.invalid(&path, name, "must be a valid CEL identifier");
        }
        if variable.text("expression").trim().is_empty() {
            errors.required(&variable.path.child("expression"), "expression is not specified");
        }
    }
}

pub(super) fn binding(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    bound(&spec, errors);
    let list = spec.child("validationActions");
    let mut seen = BTreeSet::new();
    for action in spec.items("validationActions") {
        let text = action.value.as_str().unwrap_or_default();
        if !["Audit", "Deny", "Warn"].contains(&text) {
            errors.unsupported(&action.path, text, &["Audit", "Deny", "Warn"]);
        }
        if !seen.insert(text) {
            errors.0.push(Error::duplicate(&action.path, text));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
                      and headers serves no purpose)";
        errors.invalid(&list.path, list.value.clone(), detail);
    }
    if seen.is_empty() {
        errors.required(&list.path, "");
    }
}

pub(super) fn mutating_binding(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    bound(&spec, errors);
    if let Some(resources) = spec.find("matchResources") {
        operations(&resources, errors);
    }
}

/// What both kinds of bindings have.
fn bound(spec: &At<'_>, errors: &mut Errors) {
    let (path, name) = (spec.path.child("policyName"), spec.text("policyName"));
    match name {
        "" => errors.required(&path, ""),
        _ => errors.complaints(&path, name, names::dns1123_subdomain(name)),
    }
    if let Some(reference) = spec.find("paramRef") {
        param_ref(&reference, errors);
    }
    if let Some(resources) = spec.find("matchResources") {
        match_resources(&resources, errors);
    }
}

fn param_ref(at: &At<'_>, errors: &mut Errors) {
    const BOTH: &str = "name and selector are mutually exclusive";
    let (path, name) = (at.path.child("name"), at.text("name"));
    let selector = at.find("selector");
    if !name.is_empty() {
        errors.complaints(&path, name, names::path_segment(name));
        if selector.is_some() {
            errors.forbidden(&path, BOTH);
        }
    }
    if let Some(selector) = &selector {
        label_selector(selector, errors);
        if !name.is_empty() {
            errors.forbidden(&selector.path, BOTH);
        }
    } else if name.is_empty() {
        errors.required(&at.path, "one of name or selector must be specified");
    }
    match at.text("parameterNotFoundAction") {
        "" => errors.required(&at.path.child("parameterNotFoundAction"), ""),
        "Allow" | "Deny" => {}
        other => errors.unsupported(&at.path.child("parameterNotFoundAction"), other, &["Deny", "Allow"]),
    }
}

fn param_kind(at: &At<'_>, errors: &mut Errors) {
    let (path, version) = (at.path.child("apiVersion"), at.text("apiVersion"));
    let mut whole = |text: &str, complaints: Vec<String>| {
        if !complaints.is_empty() {
            errors.invalid(&path, text, complaints.join(","));
        }
    };
    match version.matches('/').count() {
        _ if version.is_empty() => errors.required(&path, ""),
        0 => whole(version, names::dns1035_label(version)),
        1 => {
            let (group, number) = version.split_once('/').unwrap_or_default();
            if !group.is_empty() {
                whole(group, names::dns1123_subdomain(group));
            }
            if number.is_empty() {
                errors.invalid(&path, version, "version must be specified");
            } else {
                whole(number, names::dns1035_label(number));
            }
        }
        _ => errors.invalid(&path, version, format!("unexpected GroupVersion string: {version}")),
    }
    let (path, kind) = (at.path.child("kind"), at.text("kind"));
    if kind.is_empty() {
        return errors.required(&path, "");
    }
    let complaints = names::dns1035_label(&kind.to_lowercase());
    if !complaints.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", complaints.join(","));
        errors.invalid(&path, kind, detail);
    }
}

fn match_resources(at: &At<'_>, errors: &mut Errors) {
    pointer(at, "matchPolicy", &["Equivalent", "Exact"], errors);
    for field in ["namespaceSelector", "objectSelector"] {
        match at.find(field) {
            None => errors.required(&at.path.child(field), ""),
            Some(selector) => label_selector(&selector, errors),
        }
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        for one in at.items(list) {
            let mut seen = BTreeSet::new();
            for name in one.items("resourceNames") {
                let text = name.value.as_str().unwrap_or_default();
                errors.complaints(&name.path, text, names::path_segment(text));
                if !seen.insert(text) {
                    errors.0.push(Error::duplicate(&name.path, text));
                }
            }
            rule(&one, errors);
        }
    }
}

/// What deletes cannot be changed.
fn operations(at: &At<'_>, errors: &mut Errors) {
    for rule in at.items("resourceRules") {
        for operation in rule.items("operations") {
            let word = operation.value.as_str().unwrap_or_default();
            if !MUTATED.contains(&word) {
                errors.unsupported(&at.path.child("resourceRules").child("operations"), word, &MUTATED);
            }
        }
    }
}

fn conditions(spec: &At<'_>, errors: &mut Errors) {
    let (path, conditions) = (spec.path.child("matchConditions"), spec.items("matchConditions"));
    if conditions.len() > MOST_CONDITIONS {
        errors.0.push(Error::too_many(&path, conditions.len(), MOST_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for condition in &conditions {
        if condition.text("expression").trim().is_empty() {
            errors.required(&condition.path.child("expression"), "");
        }
        let (path, name) = (condition.path.child("name"), condition.text("name"));
        if name.is_empty() {
            errors.required(&path, "");
            continue;
        }
        errors.complaints(&path, name, names::qualified_name(name));
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&path, name));
        }
    }
}

fn validation(at: &At<'_>, errors: &mut Errors) {
    const BLANK: &str = "must be non-empty if specified";
    if at.text("expression").trim().is_empty() {
        errors.required(&at.path.child("expression"), "expression is not specified");
    }
    for field in ["messageExpression", "message"] {
        let text = at.text(field);
        if !text.is_empty() && text.trim().is_empty() {
            errors.invalid(&at.path.child(field), text, BLANK);
        } else if field == "message" && text.trim().contains(['\n', '\r']) {
            errors.invalid(&at.path.child(field), text, "must not contain line breaks");
        }
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    if at.find("reason").is_some() {
        errors.one_of_all(at, "reason", &reasons);
    }
}

fn mutation(at: &At<'_>, errors: &mut Errors) {
    let forms = [("ApplyConfiguration", "applyConfiguration"), ("JSONPatch", "jsonPatch")];
    let kind = at.text("patchType");
    let Some((_, own)) = forms.iter().find(|(name, _)| *name == kind) else {
        return errors.one_of(at, "patchType", &["ApplyConfiguration", "JSONPatch"], true);
    };
    for (_, field) in forms {
        let path = at.path.child(field);
        match at.find(field) {
            None if field == *own => {
                errors.required(&path, &format!("must be specified when patchType is {kind}"));
            }
            Some(patch) if field == *own && patch.text("expression").trim().is_empty() => {
                errors.required(&path.child("expression"), "");
            }
            Some(_) if field != *own => {
                let shown = format!("{{{field}}}");
                errors.invalid(&path, shown, format!("must not be specified when patchType is {kind}"));
            }
            _ => {}
        }
    }
}

/// A word that must be there; an empty one is none of them.
fn pointer(at: &At<'_>, field: &str, words: &[&str], errors: &mut Errors) {
    match at.find(field) {
        None => errors.required(&at.path.child(field), ""),
        Some(_) => errors.one_of_all(at, field, words),
    }
}

/// Whether an expression can call something by this name.
fn is_identifier(name: &str) -> bool {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    let starts = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    starts && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) && !RESERVED.contains(&name)
}
