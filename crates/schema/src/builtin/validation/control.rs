//! How the server itself is configured: flow control, aggregated services, bindings of admission policies, and the
//! devices that claims ask for.

use base64::Engine as _;
use pilothouse_value::field::Error;
use pilothouse_value::{Value, json, names};

use super::super::go;
use super::{At, Errors};

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
    let groups: (&str, Value, i64, &[&str]) = match at.child("metadata").text("name") {
        "exempt" => ("exempt", Value::Null, 1, &["system:masters"]),
        "catch-all" => {
            let method = json!({"type": "ByUser"});
            ("catch-all", method, 10_000, &["system:unauthenticated", "system:authenticated"])
        }
        _ => return,
    };
    let (name, method, precedence, groups) = groups;
    let subjects: Vec<Value> =
        groups.iter().map(|group| json!({"kind": "Group", "group": {"name": *group}})).collect();
    let fixed = json!({
        "priorityLevelConfiguration": {"name": name}, "matchingPrecedence": precedence, "distinguisherMethod": method,
        "rules": [{
            "subjects": subjects,
            "resourceRules": [{
                "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
            }],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }],
    });
    must_be(&spec, "flowcontrol.FlowSchemaSpec", (&fixed, spec.value), &format!("'{name}'"), errors);
}

/// The specification of what every server needs is as it is: `seen` is what of it may not be otherwise.
fn must_be(spec: &At<'_>, of: &str, (fixed, seen): (&Value, &Value), what: &str, errors: &mut Errors) {
    if go::show(of, fixed) != go::show(of, seen) {
        let detail = format!("spec of {what} must equal the fixed value");
        errors.0.push(Error::invalid(&spec.path, Value::Null, detail).showing(go::show(of, spec.value)));
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
            Some(one) => subject_names(&one, kind, errors),
        }
        for (other, kind, field) in [
            ("User", "User", "user"),
            ("Group", "Group", "group"),
            ("ServiceAccount", "ServiceAccount", "serviceAccount"),
        ] {
            if other != subject.text("kind") && subject.find(field).is_some() {
                let detail = format!("{field} is forbidden when subject kind is not '{kind}'");
                errors.forbidden(&subject.path.child(field), detail);
            }
        }
    }
    let (resources, others) = (at.items("resourceRules"), at.items("nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.required(&at.path, detail);
    }
    resources.iter().for_each(|rule| resource_rule(rule, errors));
    others.iter().for_each(|rule| path_rule(rule, errors));
}

fn subject_names(at: &At<'_>, kind: &str, errors: &mut Errors) {
    let (name, path) = (at.text("name"), at.path.child("name"));
    if name.is_empty() {
        errors.required(&path, "");
    } else if kind == "ServiceAccount" && name != "*" {
        errors.complaints(&path, name, names::dns1123_subdomain(name));
    }
    if kind == "ServiceAccount" {
        let (namespace, path) = (at.text("namespace"), at.path.child("namespace"));
        match namespace {
            "" => errors.required(&path, "must specify namespace for service account"),
            _ => errors.complaints(&path, namespace, names::dns1123_label(namespace)),
        }
    }
}

const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

fn words<'v>(rule: &At<'v>, list: &str) -> Vec<&'v str> {
    rule.items(list).iter().filter_map(|one| one.value.as_str()).collect()
}

/// A list that must say something, and nothing beside `*`. Whether it names things one by one.
fn wildcard_or_words(rule: &At<'_>, list: &str, missing: &str, others: &str, errors: &mut Errors) -> bool {
    let words = words(rule, list);
    let path = rule.path.child(list);
    if words.is_empty() {
        errors.required(&path, missing);
        return false;
    }
    if !words.contains(&"*") {
        return true;
    }
    if words.len() > 1 {
        let detail = format!("if '*' is present, must not specify other {others}");
        errors.invalid(&path, rule.child(list).value.clone(), detail);
    }
    false
}

fn verbs(rule: &At<'_>, errors: &mut Errors) {
    let named = wildcard_or_words(rule, "verbs", "verbs must contain at least one value", "verbs", errors);
    if named && words(rule, "verbs").iter().any(|verb| !VERBS.contains(verb)) {
        errors.unsupported(&rule.path.child("verbs"), rule.child("verbs").value.clone(), &VERBS);
    }
}

fn resource_rule(rule: &At<'_>, errors: &mut Errors) {
    verbs(rule, errors);
    let missing = "resource rules must supply at least one api group";
    wildcard_or_words(rule, "apiGroups", missing, "api groups", errors);
    let missing = "resource rules must supply at least one resource";
    wildcard_or_words(rule, "resources", missing, "resources", errors);
    if rule.items("namespaces").is_empty() && rule.flag("clusterScope") {
        return;
    }
    let missing = "resource rules that are not cluster scoped must supply at least one namespace";
    if wildcard_or_words(rule, "namespaces", missing, "namespaces", errors) {
        for namespace in rule.items("namespaces") {
            let text = namespace.value.as_str().unwrap_or_default();
            for complaint in names::dns1123_label(text) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                errors.invalid(&namespace.path, text, detail);
            }
        }
    }
}

fn path_rule(rule: &At<'_>, errors: &mut Errors) {
    verbs(rule, errors);
    let missing = "nonResourceURLs must contain at least one value";
    if !wildcard_or_words(rule, "nonResourceURLs", missing, "non-resource URLs", errors) {
        return;
    }
    for url in rule.items("nonResourceURLs") {
        let text = url.value.as_str().unwrap_or_default();
        let stars = text.matches('*').count();
        let why = match text {
            "" => "must not be empty",
            "/" => continue,
            _ if !text.starts_with('/') => "must start with slash",
            _ if text.contains(' ') => "must not contain white-space",
            _ if text.contains("//") => "must not contain double slash",
            _ if stars > 1 || stars == 1 && !text.ends_with("/*") => "wildcard can only do suffix matching",
            _ => continue,
        };
        errors.invalid(&url.path, text, why);
    }
}

pub(super) fn priority_level(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let kind = spec.text("type");
    let name = at.child("metadata").text("name");
    let path = spec.path.child("type");
    if (kind == "Exempt") != (name == "exempt") {
        errors.invalid(&path, kind, "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    let (limited, exempt) = (spec.child("limited"), spec.child("exempt"));
    // What the declaration of the type demands is told behind the rest.
    let mut declared = Errors::default();
    match kind {
        "Exempt" => {
            errors.not_negative_integers(&exempt, &["nominalConcurrencyShares"]);
            percentage(&exempt, errors);
        }
        "Limited" if limited.value.is_null() => declared.required(&limited.path, ""),
        "Limited" => self::limited(&limited, errors, &mut declared),
        "" => {}
        _ => errors.unsupported(&path, kind, &["Exempt", "Limited"]),
    }
    const SPEC: &str = "flowcontrol.PriorityLevelConfigurationSpec";
    match name {
        "exempt" => {
            let mut rest = spec.value.clone();
            rest.take(&["exempt"]);
            let what = "'exempt' except the 'spec.exempt' field";
            must_be(&spec, SPEC, (&json!({"type": "Exempt"}), &rest), what, errors);
        }
        "catch-all" => {
            let fixed = json!({"type": "Limited", "limited": {
                "nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"},
            }});
            must_be(&spec, SPEC, (&fixed, spec.value), "'catch-all'", errors);
        }
        _ => {}
    }
    for (member, of) in [(&exempt, "Exempt"), (&limited, "Limited")] {
        if kind != of && !member.value.is_null() {
            declared.forbidden(&member.path, "");
        }
    }
    if kind.is_empty() {
        declared.required(&path, "");
    }
    errors.0.append(&mut declared.0);
}

fn percentage(at: &At<'_>, errors: &mut Errors) {
    if let Some(percent) = at.int("lendablePercent").filter(|percent| !(0..=100).contains(percent)) {
        errors.invalid(&at.path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive");
    }
}

fn limited(at: &At<'_>, errors: &mut Errors, declared: &mut Errors) {
    errors.not_negative_integers(at, &["nominalConcurrencyShares"]);
    let response = at.child("limitResponse");
    let (kind, queuing) = (response.text("type"), response.child("queuing"));
    match kind {
        "Queue" if queuing.value.is_null() => declared.required(&queuing.path, ""),
        "Queue" => queues(&queuing, errors),
        "Reject" => {}
        "" => {}
        _ => errors.unsupported(&response.path.child("type"), kind, &["Queue", "Reject"]),
    }
    if kind != "Queue" && !queuing.value.is_null() {
        declared.forbidden(&queuing.path, "");
    }
    if kind.is_empty() {
        declared.required(&response.path.child("type"), "");
    }
    percentage(at, errors);
    if let Some(percent) = at.int("borrowingLimitPercent").filter(|percent| *percent < 0) {
        let detail = "if specified, must be a non-negative integer";
        errors.invalid(&at.path.child("borrowingLimitPercent"), percent, detail);
    }
}

/// The most queues that one level may have.
const MOST_QUEUES: i64 = 10_000_000;
/// How many bits of a hash choose a hand of queues.
const HASH_BITS: f64 = 60.0;

fn queues(at: &At<'_>, errors: &mut Errors) {
    let number = |field: &str| at.int(field).unwrap_or_default();
    let (length, queues, hand) = (number("queueLengthLimit"), number("queues"), number("handSize"));
    if length <= 0 {
        errors.invalid(&at.path.child("queueLengthLimit"), length, "must be positive");
    }
    let path = at.path.child("queues");
    if queues <= 0 {
        errors.invalid(&path, queues, "must be positive");
    } else if queues > MOST_QUEUES {
        errors.invalid(&path, queues, format!("must not be greater than {MOST_QUEUES}"));
    }
    let path = at.path.child("handSize");
    let bits = ((queues.max(1) as f64).log2() * hand as f64).ceil();
    if hand <= 0 {
        errors.invalid(&path, hand, "must be positive");
    } else if hand > queues {
        errors.invalid(&path, hand, format!("should not be greater than queues ({queues})"));
    } else if bits > HASH_BITS {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        );
        errors.invalid(&path, hand, detail);
    }
}

pub(super) fn api_service(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (group, version) = (spec.text("group"), spec.text("version"));
    let (metadata, expected) = (at.child("metadata"), format!("{version}.{group}"));
    for field in ["generateName", "name"] {
        let name = metadata.text(field);
        // What no path allows is told by the rules of metadata.
        if !name.is_empty() && name != expected && names::path_segment(name).is_empty() {
            let detail = format!(
                "must be `spec.version+\".\"+spec.group`: {}",
                pilothouse_value::field::quote(&expected)
            );
            errors.invalid(&metadata.path.child(field), name, detail);
        }
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
            let bundle = spec.text("caBundle");
            let length =
                base64::engine::general_purpose::STANDARD.decode(bundle).map_or(0, |bytes| bytes.len());
            errors.invalid(&spec.path.child("caBundle"), format!("{length} bytes"), detail);
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
