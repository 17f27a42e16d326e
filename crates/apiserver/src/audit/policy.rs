//! The policy of the audit log: how much is written of which request.

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Value, names, object, parse};

use crate::authorization::rbac::Attributes;

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing.
    None,
    /// Who asked for what, and what became of it.
    Metadata,
    /// That, and the object that was sent.
    Request,
    /// That, and the object of the answer.
    RequestResponse,
}

/// When something is written of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It has come.
    RequestReceived,
    /// Its answer has begun, and goes on for a while.
    ResponseStarted,
    /// It has been answered.
    ResponseComplete,
    /// A handler panicked.
    Panic,
}

impl Level {
    const NAMES: [(&'static str, Level); 4] = [
        ("None", Level::None),
        ("Metadata", Level::Metadata),
        ("Request", Level::Request),
        ("RequestResponse", Level::RequestResponse),
    ];

    pub(super) fn name(self) -> &'static str {
        Level::NAMES.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

impl Stage {
    const NAMES: [(&'static str, Stage); 4] = [
        ("RequestReceived", Stage::RequestReceived),
        ("ResponseStarted", Stage::ResponseStarted),
        ("ResponseComplete", Stage::ResponseComplete),
        ("Panic", Stage::Panic),
    ];

    pub(super) fn name(self) -> &'static str {
        Stage::NAMES.iter().find(|(_, stage)| *stage == self).map_or("", |(name, _)| name)
    }
}

/// The rules of a policy, of which the first that fits a request counts.
#[derive(Clone, Debug)]
pub struct AuditPolicy {
    rules: Vec<Rule>,
    omitted: Vec<Stage>,
    without_managers: bool,
}

/// A policy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("loading audit policy: {0}")]
pub struct AuditPolicyError(String);

#[derive(Clone, Debug)]
struct Rule {
    level: Level,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    namespaces: Vec<String>,
    resources: Vec<Resources>,
    paths: Vec<String>,
    omitted: Vec<Stage>,
    without_managers: bool,
}

#[derive(Clone, Debug)]
struct Resources {
    group: String,
    resources: Vec<String>,
    names: Vec<String>,
}

/// What is written of one request.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) level: Level,
    pub(super) omitted: Vec<Stage>,
    pub(super) without_managers: bool,
}

fn words(value: &Value, field: &str) -> Vec<String> {
    value.items_at(&[field]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl AuditPolicy {
    /// Reads a document of the kind `Policy` of `audit.k8s.io/v1`, in YAML or JSON.
    ///
    /// # Errors
    /// For another kind, for a policy without rules, and with everything in it that makes no sense.
    pub fn read(text: &str) -> Result<AuditPolicy, AuditPolicyError> {
        let document = parse::yaml(text).map_err(|error| AuditPolicyError(error.to_string()))?.value;
        let (version, kind) = (object::api_version(&document), object::kind(&document));
        if (version, kind) != ("audit.k8s.io/v1", "Policy") {
            return Err(AuditPolicyError(format!(
                "unknown group version field {version}, Kind={kind} in policy; hint: audit.k8s.io/v1, kind: Policy"
            )));
        }
        let mut errors = Vec::new();
        let omitted = stages(&document, &Path::new("omitStages"), &mut errors);
        let without_managers = document.get("omitManagedFields").and_then(Value::as_bool).unwrap_or_default();
        let mut rules = Vec::new();
        for (index, rule) in document.items_at(&["rules"]).iter().enumerate() {
            let path = Path::new("rules").index(index);
            let mut own = stages(rule, &path.child("omitStages"), &mut errors);
            own.extend(&omitted);
            rules.extend(read_rule(rule, &path, own, without_managers, &mut errors));
        }
        match errors.as_slice() {
            [] if rules.is_empty() => Err(AuditPolicyError("loaded illegal policy with 0 rules".to_owned())),
            [] => Ok(AuditPolicy { rules, omitted, without_managers }),
            [one] => Err(AuditPolicyError(one.to_string())),
            many => {
                let texts: Vec<String> = many.iter().map(ToString::to_string).collect();
                Err(AuditPolicyError(format!("[{}]", texts.join(", "))))
            }
        }
    }

    /// What is written of a request.
    pub(super) fn of(&self, asked: &Attributes<'_>) -> Wanted {
        match self.rules.iter().find(|rule| rule.fits(asked)) {
            Some(rule) => Wanted {
                level: rule.level,
                omitted: rule.omitted.clone(),
                without_managers: rule.without_managers,
            },
            None => Wanted {
                level: Level::None,
                omitted: self.omitted.clone(),
                without_managers: self.without_managers,
            },
        }
    }
}

fn stages(value: &Value, path: &Path, errors: &mut Vec<Error>) -> Vec<Stage> {
    let mut found = Vec::new();
    for (index, name) in words(value, "omitStages").into_iter().enumerate() {
        match Stage::NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, stage)) => found.push(*stage),
            None => {
                let why = "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic";
                errors.push(Error::invalid(&path.index(index), name, why));
            }
        }
    }
    found
}

fn read_rule(
    rule: &Value,
    path: &Path,
    omitted: Vec<Stage>,
    without_managers: bool,
    errors: &mut Vec<Error>,
) -> Option<Rule> {
    let name = rule.str_at(&["level"]).unwrap_or_default();
    let level = Level::NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| *level);
    match level {
        Some(_) => {}
        None if name.is_empty() => errors.push(Error::required(&path.child("level"), "")),
        None => {
            let known = Level::NAMES.map(|(known, _)| known);
            errors.push(Error::unsupported(&path.child("level"), name, known));
        }
    }
    let paths = words(rule, "nonResourceURLs");
    for (index, url) in paths.iter().enumerate().filter(|(_, url)| *url != "*") {
        let at = path.child("nonResourceURLs").index(index);
        if !url.starts_with('/') {
            let why = "non-resource URL rules must begin with a '/' character";
            errors.push(Error::invalid(&at, url.as_str(), why));
        }
        if url.find('*').is_some_and(|star| star + 1 < url.len()) {
            let why = "non-resource URL wildcards '*' must be the final character of the rule";
            errors.push(Error::invalid(&at, url.as_str(), why));
        }
    }
    let mut resources = Vec::new();
    for one in rule.items_at(&["resources"]) {
        let at = path.child("resources");
        let group = one.str_at(&["group"]).unwrap_or_default().to_owned();
        let one = Resources { resources: words(one, "resources"), names: words(one, "resourceNames"), group };
        let wrong = names::dns1123_subdomain(&one.group);
        if !one.group.is_empty() && one.group != "*" && !wrong.is_empty() {
            errors.push(Error::invalid(&at.child("group"), one.group.as_str(), wrong.join(",")));
        }
        if !one.names.is_empty() && one.resources.is_empty() {
            let why = "using resourceNames requires at least one resource";
            errors.push(Error::invalid(&at.child("resourceNames"), one.names.clone(), why));
        }
        resources.push(one);
    }
    let namespaces = words(rule, "namespaces");
    let of_resources = !resources.is_empty() || !namespaces.is_empty();
    if !paths.is_empty() && of_resources {
        let why = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(Error::invalid(&path.child("nonResourceURLs"), paths.clone(), why));
    }
    Some(Rule {
        level: level?,
        users: words(rule, "users"),
        groups: words(rule, "userGroups"),
        verbs: words(rule, "verbs"),
        namespaces,
        resources,
        paths,
        omitted,
        without_managers: rule.get("omitManagedFields").and_then(Value::as_bool).unwrap_or(without_managers),
    })
}

fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|own| own == word)
}

impl Rule {
    fn fits(&self, asked: &Attributes<'_>) -> bool {
        if !self.users.is_empty() && !has(&self.users, &asked.user.name) {
            return false;
        }
        if !self.groups.is_empty() && !asked.user.groups.iter().any(|group| has(&self.groups, group)) {
            return false;
        }
        if !self.verbs.is_empty() && !has(&self.verbs, asked.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return asked.is_resource
                && (self.namespaces.is_empty() || has(&self.namespaces, asked.namespace))
                && (self.resources.is_empty() || self.resources.iter().any(|one| one.fits(asked)));
        }
        if !self.paths.is_empty() {
            let fits = |own: &String| {
                own == "*" || own == asked.path || {
                    own.ends_with('*') && asked.path.starts_with(own.trim_end_matches('*'))
                }
            };
            return !asked.is_resource && self.paths.iter().any(fits);
        }
        true
    }
}

impl Resources {
    fn fits(&self, asked: &Attributes<'_>) -> bool {
        if self.group != "*" && self.group != asked.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        let (resource, sub) = (asked.resource, asked.subresource);
        let fits = |own: &String| match own.split_once('/') {
            _ if own == "*" => true,
            None => sub.is_empty() && own == resource,
            Some(("*", own)) if !sub.is_empty() && own == sub => true,
            Some((own, "*")) if own == resource => true,
            Some((own, of)) => !sub.is_empty() && own == resource && of == sub,
        };
        (self.names.is_empty() || has(&self.names, asked.name)) && self.resources.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::user::User;

    #[test]
    fn the_first_rule_that_fits_counts() {
        let policy = AuditPolicy::read(
            "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [
               {level: None, users: [quiet]}, {level: Request, resources: [{group: '', resources: ['pods/*', secrets]}]},
               {level: RequestResponse, namespaces: [a], omitStages: [Panic]}, {level: Metadata, nonResourceURLs: ['/api*']}]}",
        )
        .unwrap();
        let (ann, quiet) = (User::new("ann", [""; 0]), User::new("quiet", [""; 0]));
        let of = |user, resource, subresource, namespace| {
            let asked = Attributes::of_resource(user, "get", "", resource);
            policy.of(&Attributes { subresource, namespace, ..asked }).level
        };
        assert_eq!(of(&quiet, "pods", "", "a"), Level::None);
        assert_eq!(of(&ann, "pods", "", "a"), Level::Request);
        assert_eq!(of(&ann, "pods", "log", "a"), Level::Request);
        assert_eq!(of(&ann, "secrets", "status", "b"), Level::None);
        assert_eq!(of(&ann, "configmaps", "", "a"), Level::RequestResponse);
        assert_eq!(policy.of(&Attributes::of_path(&ann, "get", "/apis")).level, Level::Metadata);
        assert_eq!(policy.of(&Attributes::of_path(&ann, "get", "/healthz")).level, Level::None);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let told = |rules: &str| {
            let text = format!("{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: {rules}}}");
            AuditPolicy::read(&text).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(told("[]"), "loading audit policy: loaded illegal policy with 0 rules");
        assert!(
            told("[{level: Some}]")
                .contains(r#"rules[0].level: Unsupported value: "Some": supported values: "None""#)
        );
        assert!(
            told("[{level: None, nonResourceURLs: [a], namespaces: [b]}]").contains("must begin with a '/'")
        );
        assert!(AuditPolicy::read("{kind: Policy}").is_err());
    }
}
