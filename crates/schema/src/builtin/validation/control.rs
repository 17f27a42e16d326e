//! How the server itself is configured: flow control, aggregated services, bindings of admission policies, and the
//! devices that claims ask for.

use pilothouse_value::field::Error;
use pilothouse_value::{Value, json, names};

use super::{At, Errors, IMMUTABLE, label_selector};

pub(super) fn flow_schema(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let precedence = spec.int("matchingPrecedence").unwrap_or_default();
    let path = spec.path.child("matchingPrecedence");
    if precedence <= 0 {
        errors.invalid(&path, precedence, "must be a positive value");
    }
    if precedence > 10_000 {
        errors.invalid(&path, precedence, "must not be greater than 10000");
    }
    let exempt = at.child("metadata").text("name") == "exempt";
    if precedence == 1 && !exempt {
        errors.invalid(&path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    if let Some(method) = spec.find("distinguisherMethod") {
        let known = ["ByNamespace", "ByUser"];
        if !known.contains(&method.text("type")) {
            let at = At { value: method.value, path: method.path.child("type") };
            errors.unsupported_struct(&at, "flowcontrol.FlowDistinguisherMethod", &known);
        }
    }
    let level = spec.child("priorityLevelConfiguration");
    let name = level.text("name");
    match name {
        "" => errors.required(&level.path.child("name"), "must reference a priority level"),
        _ => errors.complaints(&level.path.child("name"), name, names::dns1123_subdomain(name)),
    }
    for rule in spec.items("rules") {
        flow_rule(&rule, errors);
    }
}

fn flow_rule(at: &At<'_>, errors: &mut Errors) {
    let subjects = at.items("subjects");
    if subjects.is_empty() {
        errors.required(&at.path.child("subjects"), "subjects must contain at least one value");
    }
    for subject in subjects {
        let kind = subject.text("kind");
        let field = match kind {
            "ServiceAccount" => "serviceAccount",
            "User" => "user",
            "Group" => "group",
            _ => {
                errors.unsupported(&subject.path.child("kind"), kind, &["Group", "ServiceAccount", "User"]);
                continue;
            }
        };
        match subject.find(field) {
            None => {
                let word = if field == "serviceAccount" { "serviceAccount" } else { field };
                let detail = format!("{word} is required when subject kind is '{kind}'");
                errors.required(&subject.path.child(field), detail.as_str());
            }
            Some(one) if one.text("name").is_empty() => errors.required(&one.path.child("name"), ""),
            Some(_) => {}
        }
    }
    let (resources, others) = (at.items("resourceRules"), at.items("nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.required(&at.path, detail);
    }
    let need = |rule: &At<'_>, list: &str, detail: &str, errors: &mut Errors| {
        if rule.items(list).is_empty() {
            errors.required(&rule.path.child(list), detail);
        }
    };
    for rule in &resources {
        need(rule, "verbs", "verbs must contain at least one value", errors);
        need(rule, "apiGroups", "resource rules must supply at least one api group", errors);
        need(rule, "resources", "resource rules must supply at least one resource", errors);
        if rule.items("namespaces").is_empty() && !rule.flag("clusterScope") {
            let detail = "resource rules that are not cluster scoped must supply at least one namespace";
            errors.required(&rule.path.child("namespaces"), detail);
        }
    }
    for rule in &others {
        need(rule, "verbs", "verbs must contain at least one value", errors);
        need(rule, "nonResourceURLs", "nonResourceURLs must contain at least one value", errors);
    }
}

pub(super) fn priority_level(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let kind = spec.text("type");
    let name = at.child("metadata").text("name");
    let path = spec.path.child("type");
    if kind.is_empty() {
        errors.required(&path, "");
        return;
    }
    if (kind == "Exempt") != (name == "exempt") && matches!(kind, "Exempt" | "Limited") {
        errors.invalid(&path, kind, "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    let limited = spec.child("limited");
    match kind {
        "Exempt" => {
            if !limited.value.is_null() {
                errors.forbidden(&limited.path, "");
            }
        }
        "Limited" if limited.value.is_null() => errors.required(&limited.path, ""),
        "Limited" => {
            if let Some(shares) = limited.int("nominalConcurrencyShares").filter(|shares| *shares < 0) {
                let detail = "must be a non-negative integer";
                errors.invalid(&limited.path.child("nominalConcurrencyShares"), shares, detail);
            }
            let response = limited.child("limitResponse");
            match response.text("type") {
                "Queue" if response.find("queuing").is_none() => {
                    errors.required(&response.path.child("queuing"), "");
                }
                "Reject" if response.find("queuing").is_some() => {
                    errors.forbidden(&response.path.child("queuing"), "");
                }
                _ => errors.one_of(&response, "type", &["Queue", "Reject"], true),
            }
        }
        _ => {
            errors.unsupported(&path, kind, &["Exempt", "Limited"]);
            if !limited.value.is_null() {
                errors.forbidden(&limited.path, "");
            }
        }
    }
}

pub(super) fn api_service(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (group, version) = (spec.text("group"), spec.text("version"));
    let (name, expected) = (at.child("metadata").text("name"), format!("{version}.{group}"));
    if name != expected {
        let detail =
            format!("must be `spec.version+\".\"+spec.group`: {}", pilothouse_value::field::quote(&expected));
        errors.invalid(&at.path.child("metadata").child("name"), name, detail);
    }
    let path = spec.path.child("group");
    if group.is_empty() {
        if version != "v1" {
            errors.required(&path, "only v1 may have an empty group and it better be legacy kube");
        }
    } else {
        errors.complaints(&path, group, names::dns1123_subdomain(group));
    }
    errors.complaints(&spec.path.child("version"), version, names::dns1035_label(version));
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let number = spec.int(field).unwrap_or_default();
        if number <= 0 || number > most {
            let detail = format!("must be positive and less than {most}");
            errors.invalid(&spec.path.child(field), number, detail);
        }
    }
    let insecure = spec.flag("insecureSkipTLSVerify");
    let path = spec.path.child("insecureSkipTLSVerify");
    let Some(service) = spec.find("service") else {
        if !spec.text("caBundle").is_empty() {
            let detail = "local APIServices may not have a caBundle";
            errors.invalid(&spec.path.child("caBundle"), spec.text("caBundle"), detail);
        }
        if insecure {
            errors.invalid(&path, true, "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    };
    for field in ["namespace", "name"] {
        if service.text(field).is_empty() {
            errors.required(&service.path.child(field), "");
        }
    }
    if let Some(port) = service.int("port").filter(|port| !(1..=65_535).contains(port)) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(&service.path.child("port"), port, detail);
    }
    if insecure && !spec.text("caBundle").is_empty() {
        errors.invalid(&path, true, "may not be true if caBundle is present");
    }
}

pub(super) fn policy_binding(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let name = spec.text("policyName");
    match name {
        "" => errors.required(&spec.path.child("policyName"), ""),
        _ => errors.complaints(&spec.path.child("policyName"), name, names::dns1123_subdomain(name)),
    }
    if let Some(resources) = spec.find("matchResources") {
        for selector in
            ["namespaceSelector", "objectSelector"].iter().filter_map(|field| resources.find(field))
        {
            label_selector(&selector, errors);
        }
    }
    let list = spec.child("validationActions");
    let actions = spec.items("validationActions");
    if actions.is_empty() {
        errors.required(&list.path, "");
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for action in &actions {
        let text = action.value.as_str().unwrap_or_default();
        if !["Audit", "Deny", "Warn"].contains(&text) {
            errors.unsupported(&action.path, text, &["Audit", "Deny", "Warn"]);
        }
        if seen.contains(&text) {
            errors.0.push(Error::duplicate(&action.path, text));
        }
        seen.push(text);
    }
    if seen.contains(&"Deny") && seen.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
                      and headers serves no purpose)";
        errors.invalid(&list.path, json!(["Deny", "Warn"]), detail);
    }
}

/// The failure policy of an admission policy.
pub(super) fn admission_policy(at: &At<'_>, errors: &mut Errors) {
    errors.one_of(&at.child("spec"), "failurePolicy", &["Fail", "Ignore"], false);
}

pub(super) fn device_class(at: &At<'_>, errors: &mut Errors) {
    for config in at.child("spec").items("config") {
        if config.find("opaque").is_none() {
            errors.required(&config.path.child("opaque"), "");
        }
    }
}

/// A claim of devices; `template` if it is one that claims are made from.
pub(super) fn resource_claim(at: &At<'_>, template: bool, old: Option<&Value>, errors: &mut Errors) {
    let outer = at.child("spec");
    let spec = if template { outer.child("spec") } else { outer.clone() };
    let mut seen: Vec<&str> = Vec::new();
    for request in spec.child("devices").items("requests") {
        let name = request.text("name");
        errors.complaints(&request.path.child("name"), name, names::dns1123_label(name));
        if seen.contains(&name) {
            errors.0.push(Error::duplicate(&request.path.child("name"), name));
        }
        seen.push(name);
        let Some(exactly) = request.find("exactly") else {
            if request.items("firstAvailable").is_empty() {
                errors.required(&request.path, "exactly one of `exactly` or `firstAvailable` is required");
            }
            continue;
        };
        let class = exactly.text("deviceClassName");
        match class {
            "" => errors.required(&exactly.path.child("deviceClassName"), ""),
            _ => errors.complaints(
                &exactly.path.child("deviceClassName"),
                class,
                names::dns1123_subdomain(class),
            ),
        }
        errors.one_of(&exactly, "allocationMode", &["All", "ExactCount"], false);
    }
    if old.is_some_and(|old| old.get("spec") != at.value.get("spec")) {
        if template {
            errors.shown(&outer.path, "resource.ResourceClaimTemplateSpec", outer.value, IMMUTABLE);
        } else {
            errors.invalid(&outer.path, Value::Null, IMMUTABLE);
        }
    }
}

pub(super) fn resource_slice(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let driver = spec.text("driver");
    match driver {
        "" => errors.required(&spec.path.child("driver"), ""),
        _ => errors.complaints(&spec.path.child("driver"), driver, names::dns1123_subdomain(driver)),
    }
    let pool = spec.child("pool");
    if pool.text("name").is_empty() {
        errors.required(&pool.path.child("name"), "");
    }
    let count = pool.int("resourceSliceCount").unwrap_or_default();
    if count <= 0 {
        errors.invalid(&pool.path.child("resourceSliceCount"), count, "must be greater than zero");
    }
    let given = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"]
        .iter()
        .filter(|field| spec.find(field).is_some());
    if given.count() == 0 {
        let detail =
            "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
        errors.required(&spec.path, detail);
    }
    let Some(old) = old.and_then(|old| old.get("spec")) else { return };
    for field in ["driver", "nodeName"] {
        errors.immutable(&spec, old, field);
    }
}
