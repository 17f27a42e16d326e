//! Admission policies and their bindings. Their expressions are compiled by who calls. Source:
//! pkg/apis/admissionregistration/validation.

use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names};

use super::webhooks::{ConditionProblem, rule};
use super::{At, Errors, label_selector};

/// An expression of an admission policy. They come in the order in which they stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyExpression<'a> {
    /// What is compiled; never blank.
    pub text: &'a str,
    /// What it is for.
    pub role: PolicyRole<'a>,
    /// Whether the policy has a `paramKind`, so that there is `params`.
    pub has_params: bool,
    /// Whether the policy had the expression before: then it may use what new ones may not.
    pub is_stored: bool,
    /// Whether other expressions of the policy may use its variables: if it validates and has none, there is no `variables` at
    /// all.
    pub has_variables: bool,
}

/// What an expression of an admission policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyRole<'a> {
    /// Whether the policy has to do with a request. It sees no variables.
    Condition,
    /// The value of the variable of this name.
    Variable(&'a str),
    /// Whether a request is let in.
    Validation,
    /// The text for a request that is not.
    Message,
    /// The value of an audit annotation.
    Annotation,
    /// A configuration that is applied.
    Configuration,
    /// A JSON patch.
    Patch,
}

/// Compiles an expression: what is wrong with it, or nothing.
pub type CompilePolicy<'a> = &'a mut dyn FnMut(&PolicyExpression<'_>) -> Option<ConditionProblem>;

/// Finds what is wrong with a ValidatingAdmissionPolicy or, if it `mutates`, a MutatingAdmissionPolicy, that is created (`old` is
/// `None`) or replaced. `given` is the document before it was read, if errors are to show values as they were given.
pub fn validate_policy(
    object: &Value,
    mutates: bool,
    old: Option<&Value>,
    given: Option<&Value>,
    compile: CompilePolicy<'_>,
) -> Vec<Error> {
    let mut errors = Errors::default();
    if let Some(given) = given {
        errors = errors.showing(object, given);
    }
    let at = At::root(object);
    let mut expressions = Expressions::of(&at, mutates, old, compile);
    if mutates {
        mutating(&at, &mut expressions, &mut errors);
    } else {
        validating(&at, &mut expressions, &mut errors);
    }
    errors.0.errors
}

/// The expressions of one policy.
struct Expressions<'a> {
    compile: CompilePolicy<'a>,
    has_params: bool,
    has_variables: bool,
    /// Whether the conditions are what they were before. Then nothing about them is looked at.
    same_conditions: bool,
    stored: Stored<'a>,
}

/// The expressions that the policy had before.
#[derive(Default)]
struct Stored<'a> {
    conditions: BTreeSet<&'a str>,
    validations: BTreeSet<&'a str>,
    messages: BTreeSet<&'a str>,
    annotations: BTreeSet<&'a str>,
    configurations: BTreeSet<&'a str>,
}

impl<'a> Stored<'a> {
    fn of(old: &'a Value) -> Stored<'a> {
        let all = |list: &str, field: &[&str]| {
            let items = old.items_at(&["spec", list]).iter();
            items.filter_map(|item| item.str_at(field)).collect()
        };
        Stored {
            conditions: all("matchConditions", &["expression"]),
            validations: all("validations", &["expression"]),
            messages: all("validations", &["messageExpression"]),
            annotations: all("auditAnnotations", &["valueExpression"]),
            configurations: all("mutations", &["applyConfiguration", "expression"]),
        }
    }
}

impl<'a> Expressions<'a> {
    fn of(at: &At<'_>, mutates: bool, old: Option<&'a Value>, compile: CompilePolicy<'a>) -> Self {
        let spec = at.child("spec");
        let is_same = |old: &Value| {
            ["paramKind", "matchConditions"]
                .iter()
                .all(|name| old.at(&["spec", name]) == spec.value.get(name))
        };
        Expressions {
            compile,
            has_params: spec.find("paramKind").is_some(),
            has_variables: mutates || !spec.items("variables").is_empty(),
            same_conditions: old.is_some_and(is_same),
            stored: old.map(Stored::of).unwrap_or_default(),
        }
    }

    /// Compiles an expression that is not blank and takes note of what is wrong with it.
    fn check(&mut self, path: &Path, given: &str, role: PolicyRole<'_>, errors: &mut Errors) {
        let (stored, trimmed) = (&self.stored, given.trim());
        let (is_stored, text, shown) = match role {
            PolicyRole::Condition => (stored.conditions.contains(trimmed), trimmed, trimmed),
            PolicyRole::Variable(_) | PolicyRole::Validation => {
                (stored.validations.contains(given), given, given)
            }
            PolicyRole::Message => (stored.messages.contains(given), given, given),
            PolicyRole::Annotation => (stored.annotations.contains(given), trimmed, given),
            // Upstream looks for patches among the configurations too.
            PolicyRole::Configuration | PolicyRole::Patch => {
                (stored.configurations.contains(given), trimmed, trimmed)
            }
        };
        let (has_params, has_variables) = (self.has_params, self.has_variables);
        let expression = PolicyExpression { text, role, has_params, is_stored, has_variables };
        match (self.compile)(&expression) {
            Some(ConditionProblem::Invalid(why)) => errors.invalid(path, shown, why),
            Some(ConditionProblem::Internal(why)) => errors.0.push(Error::internal(path, why)),
            None => {}
        }
    }
}

/// Most conditions of one policy.
const MOST_CONDITIONS: usize = 64;
/// Most audit annotations of one policy.
const MOST_ANNOTATIONS: usize = 20;
/// Most bytes of the expression of an audit annotation.
const LONGEST_ANNOTATION: usize = 5 * 1024;
/// What a mutating policy can be asked about.
const MUTATED: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

fn validating(at: &At<'_>, expressions: &mut Expressions<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    common(&spec, false, expressions, errors);
    let (validations, annotations) = (spec.items("validations"), spec.items("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.required(&spec.path.child("validations"), detail);
        errors.required(&spec.path.child("auditAnnotations"), detail);
        return;
    }
    validations.iter().for_each(|one| validation(one, expressions, errors));
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
        let (path, expression) = (one.path.child("valueExpression"), one.text("valueExpression"));
        match expression.trim().len() {
            0 => errors.required(&path, "valueExpression is not specified"),
            length if length > LONGEST_ANNOTATION => {
                errors.required(&path, &format!("must not exceed {LONGEST_ANNOTATION} bytes in length"));
            }
            _ => expressions.check(&path, expression, PolicyRole::Annotation, errors),
        }
        if !seen.insert(key) {
            errors.0.push(Error::duplicate(&one.path.child("key"), key));
        }
    }
}

fn mutating(at: &At<'_>, expressions: &mut Expressions<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    common(&spec, true, expressions, errors);
    let mutations = spec.items("mutations");
    if mutations.is_empty() {
        errors.required(&spec.path.child("mutations"), "mutations must contain at least one item");
    }
    mutations.iter().for_each(|one| mutation(one, expressions, errors));
    errors.one_of(&spec, "reinvocationPolicy", &["IfNeeded", "Never"], true);
}

/// What both kinds of policies have.
fn common(spec: &At<'_>, mutates: bool, expressions: &mut Expressions<'_>, errors: &mut Errors) {
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
    if !expressions.same_conditions {
        conditions(spec, expressions, errors);
    }
    for variable in spec.items("variables") {
        let (path, name) = (variable.path.child("name"), variable.text("name"));
        if name.trim().is_empty() {
            errors.required(&path, "name is not specified");
        } else if !is_identifier(name) {
            errors.invalid(&path, name, "must be a valid CEL identifier");
        }
        let (path, expression) = (variable.path.child("expression"), variable.text("expression"));
        if expression.trim().is_empty() {
            errors.required(&path, "expression is not specified");
        } else {
            expressions.check(&path, expression, PolicyRole::Variable(name), errors);
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

fn conditions(spec: &At<'_>, expressions: &mut Expressions<'_>, errors: &mut Errors) {
    let (path, conditions) = (spec.path.child("matchConditions"), spec.items("matchConditions"));
    if conditions.len() > MOST_CONDITIONS {
        errors.0.push(Error::too_many(&path, conditions.len(), MOST_CONDITIONS));
    }
    let mut seen = BTreeSet::new();
    for condition in &conditions {
        let (path, expression) = (condition.path.child("expression"), condition.text("expression"));
        if expression.trim().is_empty() {
            errors.required(&path, "");
        } else {
            expressions.check(&path, expression, PolicyRole::Condition, errors);
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

fn validation(at: &At<'_>, expressions: &mut Expressions<'_>, errors: &mut Errors) {
    const BLANK: &str = "must be non-empty if specified";
    let (path, expression) = (at.path.child("expression"), at.text("expression"));
    if expression.trim().is_empty() {
        errors.required(&path, "expression is not specified");
    } else {
        expressions.check(&path, expression, PolicyRole::Validation, errors);
    }
    let (path, text) = (at.path.child("messageExpression"), at.text("messageExpression"));
    if !text.trim().is_empty() {
        expressions.check(&path, text, PolicyRole::Message, errors);
    } else if !text.is_empty() {
        errors.invalid(&path, text, BLANK);
    }
    let (path, text) = (at.path.child("message"), at.text("message"));
    if text.trim().contains(['\n', '\r']) {
        errors.invalid(&path, text, "must not contain line breaks");
    } else if !text.is_empty() && text.trim().is_empty() {
        errors.invalid(&path, text, BLANK);
    }
    let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    if at.find("reason").is_some() {
        errors.one_of_all(at, "reason", &reasons);
    }
}

fn mutation(at: &At<'_>, expressions: &mut Expressions<'_>, errors: &mut Errors) {
    let forms = [
        ("ApplyConfiguration", "applyConfiguration", PolicyRole::Configuration),
        ("JSONPatch", "jsonPatch", PolicyRole::Patch),
    ];
    let kind = at.text("patchType");
    let (own, other) = match forms {
        [own, other] if own.0 == kind => (own, other),
        [other, own] if own.0 == kind => (own, other),
        _ => return errors.one_of(at, "patchType", &["ApplyConfiguration", "JSONPatch"], true),
    };
    let path = at.path.child(own.1);
    match at.find(own.1) {
        None => errors.required(&path, &format!("must be specified when patchType is {kind}")),
        Some(patch) => {
            let (path, expression) = (path.child("expression"), patch.text("expression"));
            if expression.trim().is_empty() {
                errors.required(&path, "");
            } else {
                expressions.check(&path, expression, own.2, errors);
            }
        }
    }
    if at.find(other.1).is_some() {
        let detail = format!("must not be specified when patchType is {kind}");
        errors.invalid(&at.path.child(other.1), format!("{{{}}}", other.1), detail);
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
