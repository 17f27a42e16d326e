//! Which requests a flow schema is for (upstream: apiserver/pkg/util/flowcontrol/rule.go).

use pilothouse_value::Value;

use crate::authentication::user::User;
use crate::authorization::rbac::Attributes;

/// The rules of a flow schema.
#[derive(Debug)]
pub(super) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

#[derive(Debug)]
enum Subject {
    User(String),
    Group(String),
    /// The namespace and the name.
    Account(String, String),
    Nobody,
}

#[derive(Debug)]
struct ResourceRule {
    verbs: Vec<String>,
    groups: Vec<String>,
    resources: Vec<String>,
    namespaces: Vec<String>,
    cluster: bool,
}

#[derive(Debug)]
struct PathRule {
    verbs: Vec<String>,
    paths: Vec<String>,
}

fn words(value: &Value, key: &'static str) -> Vec<String> {
    value.items_at(&[key]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A list has a word, or is `*` alone.
fn has(words: &[String], wanted: &str) -> bool {
    matches!(words, [all] if all == "*") || words.iter().any(|word| word == wanted)
}

impl Rules {
    /// Reads them from the schema's document.
    pub(super) fn read(schema: &Value) -> Rules {
        let rules = schema.items_at(&["spec", "rules"]).iter().map(|rule| Rule {
            subjects: rule.items_at(&["subjects"]).iter().map(Subject::read).collect(),
            resources: rule.items_at(&["resourceRules"]).iter().map(ResourceRule::read).collect(),
            paths: rule.items_at(&["nonResourceRules"]).iter().map(PathRule::read).collect(),
        });
        Rules(rules.collect())
    }

    /// Whether the schema is for a request.
    pub(super) fn are_for(&self, asked: &Attributes<'_>) -> bool {
        self.0.iter().any(|rule| {
            rule.subjects.iter().any(|subject| subject.is(asked.user))
                && if asked.is_resource {
                    rule.resources.iter().any(|rule| rule.is_for(asked))
                } else {
                    rule.paths.iter().any(|rule| rule.is_for(asked))
                }
        })
    }
}

impl Subject {
    fn read(subject: &Value) -> Subject {
        let of = |path: &[&str]| subject.str_at(path).unwrap_or_default().to_owned();
        match subject.str_at(&["kind"]) {
            Some("User") => Subject::User(of(&["user", "name"])),
            Some("Group") => Subject::Group(of(&["group", "name"])),
            Some("ServiceAccount") => {
                Subject::Account(of(&["serviceAccount", "namespace"]), of(&["serviceAccount", "name"]))
            }
            _ => Subject::Nobody,
        }
    }

    fn is(&self, user: &User) -> bool {
        match self {
            Subject::User(name) => name == "*" || *name == user.name,
            Subject::Group(name) => name == "*" || user.is_in(name),
            Subject::Account(namespace, name) => {
                let account = user.name.strip_prefix("system:serviceaccount:");
                let own = account.and_then(|own| own.strip_prefix(namespace.as_str()));
                own.and_then(|own| own.strip_prefix(':')).is_some_and(|own| name == "*" || own == name)
            }
            Subject::Nobody => false,
        }
    }
}

impl ResourceRule {
    fn read(rule: &Value) -> ResourceRule {
        ResourceRule {
            verbs: words(rule, "verbs"),
            groups: words(rule, "apiGroups"),
            resources: words(rule, "resources"),
            namespaces: words(rule, "namespaces"),
            cluster: rule.get("clusterScope").and_then(Value::as_bool) == Some(true),
        }
    }

    fn is_for(&self, asked: &Attributes<'_>) -> bool {
        let is_resource = |word: &String| match word.split_once('/') {
            None => asked.subresource.is_empty() && word == asked.resource,
            Some((resource, part)) => resource == asked.resource && part == asked.subresource,
        };
        has(&self.verbs, asked.verb)
            && (matches!(self.resources.as_slice(), [all] if all == "*")
                || self.resources.iter().any(is_resource))
            && has(&self.groups, asked.group)
            && match asked.namespace {
                "" => self.cluster,
                namespace => has(&self.namespaces, namespace),
            }
    }
}

impl PathRule {
    fn read(rule: &Value) -> PathRule {
        PathRule { verbs: words(rule, "verbs"), paths: words(rule, "nonResourceURLs") }
    }

    fn is_for(&self, asked: &Attributes<'_>) -> bool {
        let covers = |path: &String| {
            let prefix = path.strip_suffix('*').unwrap_or(path);
            let below = asked.path.strip_prefix(prefix);
            path == "*"
                || path == asked.path
                || below.is_some_and(|rest| prefix.ends_with('/') || rest.starts_with('/'))
        };
        has(&self.verbs, asked.verb) && self.paths.iter().any(covers)
    }
}
