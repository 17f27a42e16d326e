//! Webhook configurations. What old objects may keep although new ones may not have it stays as it is on an update.
//! Source: pkg/apis/admissionregistration/validation.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Value, field, names};

use super::{At, Errors, label_selector, port_number};

/// Most conditions of one webhook.
const MOST_CONDITIONS: usize = 64;
/// Names that only files which are read at the start of a server may have.
const STATIC_SUFFIX: &str = ".static.k8s.io";

/// What is wrong with the expression of a match condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionProblem {
    /// It does not compile, or is no boolean.
    Invalid(String),
    /// It compiles, and no program can be made of it: upstream takes that for its own mistake.
    Internal(String),
}

/// Compiles a match condition: what is wrong with the expression, or nothing. Expressions that are stored already may use
/// what new ones may not: then the second argument is true.
pub type CompileCondition<'a> = &'a dyn Fn(&str, bool) -> Option<ConditionProblem>;

/// Finds what is wrong with a webhook configuration that is created (`old` is `None`) or replaced.
pub fn validate_webhooks(object: &Value, old: Option<&Value>, compile: CompileCondition<'_>) -> Vec<Error> {
    let mut errors = Errors::default();
    let at = At::root(object);
    let rules = Rules::of(object, old, compile);
    let mut seen = BTreeSet::new();
    for hook in at.items("webhooks") {
        webhook(&hook, &rules, &mut errors);
        review_versions(&hook, rules.known_versions, &mut errors);
        let name = hook.text("name");
        if rules.unique_names && !name.is_empty() && !seen.insert(name) {
            errors.0.push(Error::duplicate(&hook.path.child("name"), name));
        }
    }
    let name = at.child("metadata").text("name");
    if old.is_none() && name.ends_with(STATIC_SUFFIX) {
        let detail = format!(
            "names ending with {} are reserved for static manifest-based configurations and cannot be managed via the API",
            field::quote(STATIC_SUFFIX)
        );
        errors.invalid(&at.child("metadata").path.child("name"), name, detail);
    }
    errors.0.errors
}

/// What is asked of a configuration: of a new one everything, of one that is there not what it breaks already.
struct Rules<'a> {
    no_side_effects: bool,
    known_versions: bool,
    unique_names: bool,
    label_values: bool,
    conditions: bool,
    /// Expressions that the configuration had before.
    stored: BTreeSet<&'a str>,
    compile: CompileCondition<'a>,
}

impl<'a> Rules<'a> {
    fn of(new: &Value, old: Option<&'a Value>, compile: CompileCondition<'a>) -> Rules<'a> {
        let mut rules = Rules {
            no_side_effects: true,
            known_versions: true,
            unique_names: true,
            label_values: true,
            conditions: true,
            stored: BTreeSet::new(),
            compile,
        };
        let Some(old) = old else { return rules };
        let hooks = old.items_at(&["webhooks"]);
        let new_hooks = new.items_at(&["webhooks"]);
        let mut names = BTreeSet::new();
        for hook in hooks {
            let side_effects = hook.str_at(&["sideEffects"]);
            rules.no_side_effects &= matches!(side_effects, Some("None" | "NoneOnDryRun"));
            let versions = hook.items_at(&["admissionReviewVersions"]);
            rules.known_versions &= versions.is_empty()
                || versions.iter().any(|version| matches!(version.as_str(), Some("v1" | "v1beta1")));
            rules.unique_names &= names.insert(hook.str_at(&["name"]));
            let mut broken = Errors::default();
            let at = At::root(hook);
            for selector in SELECTORS.iter().filter_map(|selector| at.find(selector)) {
                label_selector(&selector, &mut broken);
            }
            rules.label_values &= broken.0.is_empty();
            let conditions = hook.items_at(&["matchConditions"]).iter();
            rules.stored.extend(conditions.filter_map(|condition| condition.str_at(&["expression"])));
        }
        let conditions = |hook: &Value| hook.items_at(&["matchConditions"]).to_vec();
        rules.conditions = hooks.len() != new_hooks.len()
            || hooks.iter().zip(new_hooks).any(|(old, new)| conditions(old) != conditions(new));
        rules
    }
}

const SELECTORS: [&str; 2] = ["namespaceSelector", "objectSelector"];

fn webhook(at: &At<'_>, rules: &Rules<'_>, errors: &mut Errors) {
    qualified_name(at, errors);
    at.items("rules").iter().for_each(|rule| self::rule(rule, errors));
    errors.one_of(at, "failurePolicy", &["Fail", "Ignore"], false);
    errors.one_of(at, "matchPolicy", &["Equivalent", "Exact"], false);
    let allowed: &[&str] = if rules.no_side_effects {
        &["None", "NoneOnDryRun"]
    } else {
        &["None", "NoneOnDryRun", "Some", "Unknown"]
    };
    match at.text("sideEffects") {
        "" if at.find("sideEffects").is_none() => {
            let detail = format!("must specify one of {}", allowed.join(", "));
            errors.required(&at.path.child("sideEffects"), &detail);
        }
        _ => errors.one_of_all(at, "sideEffects", allowed),
    }
    if let Some(seconds) = at.int("timeoutSeconds").filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&at.path.child("timeoutSeconds"), seconds, detail);
    }
    for selector in SELECTORS.iter().filter_map(|selector| at.find(selector)) {
        let before = errors.0.len();
        label_selector(&selector, errors);
        if !rules.label_values {
            // Values that were let in before are let in again; everything else is still looked at.
            let mut index = 0;
            errors.0.retain(|error| {
                index += 1;
                index <= before || !error.path.as_str().contains(".values[")
            });
        }
    }
    // Only mutating ones have it.
    errors.one_of(at, "reinvocationPolicy", &["IfNeeded", "Never"], false);
    client(&at.child("clientConfig"), errors);
    if rules.conditions {
        conditions(at, rules, errors);
    }
}

fn qualified_name(at: &At<'_>, errors: &mut Errors) {
    let (path, name) = (at.path.child("name"), at.text("name"));
    if name.is_empty() {
        errors.required(&path, "");
        return;
    }
    let complaints = names::dns1123_subdomain(name);
    if !complaints.is_empty() {
        errors.invalid(&path, name, complaints.join(","));
    } else if name.split('.').count() < 3 {
        errors.invalid(&path, name, "should be a domain with at least three segments separated by dots");
    }
}

fn client(at: &At<'_>, errors: &mut Errors) {
    match (at.find("url"), at.find("service")) {
        (None, None) | (Some(_), Some(_)) => {
            errors.required(&at.path, "exactly one of url or service is required")
        }
        (Some(url), None) => self::url(&url, errors),
        (None, Some(service)) => self::service(&service, errors),
    }
}

fn service(at: &At<'_>, errors: &mut Errors) {
    // Upstream mixes the two up: a missing namespace is told as a missing name, and the other way round.
    if at.text("namespace").is_empty() {
        errors.required(&at.path.child("name"), "");
    }
    if at.text("name").is_empty() {
        errors.required(&at.path.child("namespace"), "");
    }
    if let Some(number) = at.int("port").filter(|number| !(1..=65535).contains(number)) {
        let mut complaint = Errors::default();
        port_number(&at.path.child("port"), number, &mut complaint);
        let why = complaint.0.first().map(|error| error.detail.clone()).unwrap_or_default();
        errors.invalid(&at.path.child("port"), number, format!("port is not valid: {why}"));
    }
    let (path, text) = (at.path.child("path"), at.text("path"));
    if text.is_empty() || text == "/" {
        return;
    }
    if text == "//" {
        errors.invalid(&path, text, "segment[0] may not be empty");
        return;
    }
    if !text.starts_with('/') {
        errors.invalid(&path, text, "must start with a '/'");
    }
    // As upstream: the first character is left out, whatever it is.
    let rest = text.get(1..).unwrap_or_default();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(&path, text, format!("segment[{index}] may not be empty"));
            continue;
        }
        for complaint in names::dns1123_subdomain(step) {
            errors.invalid(&path, text, format!("segment[{index}]: {complaint}"));
        }
    }
}

fn url(at: &At<'_>, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let text = at.value.as_str().unwrap_or_default();
    let quoted = field::quote(text);
    let unreadable = if text.chars().any(|c| c.is_ascii_control()) {
        Some("net/url: invalid control character in URL")
    } else if text.starts_with(':') {
        Some("missing protocol scheme")
    } else {
        None
    };
    if let Some(why) = unreadable {
        errors.required(&at.path, &format!("url must be a valid URL: parse {quoted}: {why}{FORM}"));
        return;
    }
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => (scheme, rest),
        _ => ("", text),
    };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.strip_prefix("//").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if scheme != "https" {
        errors.invalid(&at.path, scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        errors.invalid(&at.path, host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        errors.invalid(&at.path, user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        errors.invalid(&at.path, fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        errors.invalid(&at.path, query, "query parameters are not permitted in the URL");
    }
}

fn conditions(at: &At<'_>, rules: &Rules<'_>, errors: &mut Errors) {
    let path = at.path.child("matchConditions");
    let conditions = at.items("matchConditions");
    if conditions.len() > MOST_CONDITIONS {
        errors.0.push(Error::too_many(&path, conditions.len(), MOST_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for condition in &conditions {
        let expression = condition.text("expression").trim();
        let path = condition.path.child("expression");
        if expression.is_empty() {
            errors.required(&path, "");
        } else {
            match (rules.compile)(expression, rules.stored.contains(expression)) {
                Some(ConditionProblem::Invalid(why)) => errors.invalid(&path, expression, why),
                Some(ConditionProblem::Internal(why)) => errors.0.push(Error::internal(&path, why)),
                None => {}
            }
        }
        let (path, name) = (condition.path.child("name"), condition.text("name"));
        if name.is_empty() {
            errors.required(&path, "");
        } else {
            errors.complaints(&path, name, names::qualified_name(name));
            if !seen.insert(name) {
                errors.0.push(Error::duplicate(&path, name));
            }
        }
    }
}

fn review_versions(at: &At<'_>, known: bool, errors: &mut Errors) {
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
            continue;
        }
        errors.complaints(&version.path, text, names::dns1035_label(text));
    }
    if known && !seen.contains("v1") && !seen.contains("v1beta1") {
        let value = at.child("admissionReviewVersions").value.clone();
        errors.invalid(&path, value, "must include at least one of v1, v1beta1");
    }
}

/// A rule of which requests are meant, of a webhook or of a policy.
pub(super) fn rule(at: &At<'_>, errors: &mut Errors) {
    let words = |list: &str| at.items(list).iter().filter_map(|one| one.value.as_str()).collect::<Vec<_>>();
    let some = |list: &str, errors: &mut Errors| {
        if words(list).is_empty() {
            errors.required(&at.path.child(list), "");
        }
    };
    let alone = |list: &str, what: &str, errors: &mut Errors| {
        let words = words(list);
        if words.len() > 1 && words.contains(&"*") {
            let detail = format!("if '*' is present, must not specify other {what}");
            errors.invalid(&at.path.child(list), at.child(list).value.clone(), detail);
        }
    };
    some("operations", errors);
    alone("operations", "operations", errors);
    for operation in at.items("operations") {
        let word = operation.value.as_str().unwrap_or_default();
        let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        if !known.contains(&word) {
            errors.unsupported(&operation.path, word, &known);
        }
    }
    some("apiGroups", errors);
    alone("apiGroups", "API groups", errors);
    some("apiVersions", errors);
    alone("apiVersions", "API versions", errors);
    for version in at.items("apiVersions").iter().filter(|version| version.value.as_str() == Some("")) {
        errors.required(&version.path, "");
    }
    resources(at, errors);
    errors.one_of(at, "scope", &["*", "Cluster", "Namespaced"], false);
}

fn resources(at: &At<'_>, errors: &mut Errors) {
    let (path, list) = (at.path.child("resources"), at.items("resources"));
    if list.is_empty() {
        errors.required(&path, "");
    }
    let (mut all_subresources, mut of_all_resources) = (BTreeSet::new(), BTreeSet::new());
    let (mut double, mut single, mut plain) = (false, false, false);
    for one in &list {
        let text = one.value.as_str().unwrap_or_default();
        if text.is_empty() {
            errors.required(&one.path, "");
            continue;
        }
        double |= text == "*/*";
        single |= text == "*";
        let Some((resource, sub)) = text.split_once('/') else {
            // The last one counts, as upstream has it.
            plain = text != "*";
            continue;
        };
        if all_subresources.contains(resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {text}");
            errors.invalid(&one.path, text, detail);
        }
        if of_all_resources.contains(sub) {
            let detail = format!("if '*/{sub}' is present, must not specify {text}");
            errors.invalid(&one.path, text, detail);
        }
        if sub == "*" {
            all_subresources.insert(resource);
        }
        if resource == "*" {
            of_all_resources.insert(sub);
        }
    }
    let whole = || at.child("resources").value.clone();
    if list.len() > 1 && double {
        errors.invalid(&path, whole(), "if '*/*' is present, must not specify other resources");
    }
    if single && plain {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(&path, whole(), detail);
    }
}
