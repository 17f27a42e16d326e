//! Mode ABAC: a file with a policy on each line says who may do what.

use pilothouse_value::{Value, parse};

use super::{Opinion, Verdict};
use crate::authentication::user::{AUTHENTICATED, User};
use crate::authorization::rbac::{Attributes, Rule};

const VERSION: &str = "abac.authorization.kubernetes.io/v1beta1";

/// The policies of a file.
#[derive(Clone, Debug, Default)]
pub struct Policies(Vec<Policy>);

/// A line that is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}: {why}")]
pub struct PolicyError {
    line: usize,
    text: String,
    why: String,
}

#[derive(Clone, Debug, Default)]
struct Policy {
    user: String,
    group: String,
    read_only: bool,
    api_group: String,
    resource: String,
    namespace: String,
    path: String,
}

impl Policies {
    /// Reads a file: a JSON document on each line, of the kind `Policy` or in the older form without a kind. Empty lines and
    /// those that begin with `#` say nothing.
    ///
    /// # Errors
    /// At the first line that is none.
    pub fn read(text: &str) -> Result<Policies, PolicyError> {
        let mut policies = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.trim().starts_with('#') {
                continue;
            }
            let fail = |why: String| PolicyError { line: index + 1, text: line.to_owned(), why };
            let document = parse::json(line.as_bytes()).map_err(|error| fail(error.to_string()))?.value;
            if document.as_object().is_none() {
                return Err(fail("it is no object".to_owned()));
            }
            let text = |field: &str| document.str_at(&[field]).unwrap_or_default();
            policies.push(match (text("apiVersion"), text("kind")) {
                (VERSION, "Policy") => Policy::read(document.get("spec").unwrap_or(&Value::Null)),
                ("", _) | (_, "") => Policy::read_old(&document),
                (version, kind) => {
                    return Err(fail(format!("no kind {kind:?} is registered for version {version:?}")));
                }
            });
        }
        Ok(Policies(policies))
    }

    pub(crate) fn authorize(&self, asked: &Attributes<'_>) -> Verdict {
        match self.0.iter().any(|policy| policy.allows(asked)) {
            true => Verdict::new(Opinion::Allow, ""),
            false => Verdict::new(Opinion::None, "No policy matched."),
        }
    }

    /// What a user may do in a namespace, as rules.
    pub(crate) fn rules_for(&self, user: &User, namespace: &str) -> Vec<Rule> {
        let mut rules = Vec::new();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let here = |policy: &&Policy| {
            policy.is_for(user) && (policy.namespace == "*" || policy.namespace == namespace)
        };
        for policy in self.0.iter().filter(here) {
            let verbs = if policy.read_only { words(&["get", "list", "watch"]) } else { words(&["*"]) };
            if !policy.resource.is_empty() {
                rules.push(Rule {
                    verbs: verbs.clone(),
                    groups: vec![policy.api_group.clone()],
                    resources: vec![policy.resource.clone()],
                    ..Rule::default()
                });
            }
            if !policy.path.is_empty() {
                rules.push(Rule { verbs, urls: vec![policy.path.clone()], ..Rule::default() });
            }
        }
        rules
    }
}

impl Policy {
    fn read(spec: &Value) -> Policy {
        let text = |field: &str| spec.str_at(&[field]).unwrap_or_default().to_owned();
        let policy = Policy {
            user: text("user"),
            group: text("group"),
            read_only: spec.get("readonly").and_then(Value::as_bool).unwrap_or_default(),
            api_group: text("apiGroup"),
            resource: text("resource"),
            namespace: text("namespace"),
            path: text("nonResourcePath"),
        };
        policy.for_everyone()
    }

    /// The older form: what is left out is everything.
    fn read_old(spec: &Value) -> Policy {
        let mut policy = Policy::read(spec);
        let everything = policy.namespace.is_empty() && policy.resource.is_empty();
        if policy.user.is_empty() && policy.group.is_empty() {
            policy.group = AUTHENTICATED.to_owned();
        }
        policy.path = if everything { "*".to_owned() } else { String::new() };
        policy.api_group = "*".to_owned();
        for field in [&mut policy.namespace, &mut policy.resource] {
            if field.is_empty() {
                "*".clone_into(field);
            }
        }
        policy
    }

    /// `*` stands for all whose identity is known.
    fn for_everyone(mut self) -> Policy {
        if self.user == "*" || self.group == "*" {
            self.user = String::new();
            self.group = AUTHENTICATED.to_owned();
        }
        self
    }

    fn is_for(&self, user: &User) -> bool {
        let named = self.user.is_empty() || self.user == user.name;
        let grouped = self.group.is_empty() || user.is_in(&self.group);
        named && grouped && !(self.user.is_empty() && self.group.is_empty())
    }

    fn allows(&self, asked: &Attributes<'_>) -> bool {
        if !self.is_for(asked.user) || (self.read_only && !matches!(asked.verb, "get" | "list" | "watch")) {
            return false;
        }
        let fits = |own: &str, wanted: &str| own == "*" || own == wanted;
        if asked.is_resource {
            return fits(&self.namespace, asked.namespace)
                && fits(&self.resource, asked.resource)
                && fits(&self.api_group, asked.group);
        }
        let begins = self.path.ends_with('*') && asked.path.starts_with(self.path.trim_end_matches('*'));
        fits(&self.path, asked.path) || begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_policy_is_told() {
        let error = Policies::read("\n{\"apiVersion\": \"v1\", \"kind\": \"Policy\"}").unwrap_err();
        assert!(error.to_string().starts_with("line 2: "), "{error}");
        assert!(Policies::read("[]").is_err() && Policies::read("{").is_err());
    }
}
