//! May they? Role-based access control over the documents of `rbac.authorization.k8s.io`.
//!
//! Rules are compiled once for each state of those documents and looked up by subject, so a decision costs a few table
//! look-ups. Semantics and texts are those of kube-apiserver's RBAC authorizer; `system:masters` pass before any rule.
//! [`Authorizer`] also asks the other [modes](crate::authorization) that a server has.

pub mod escalation;
pub mod reviews;
mod rules;
mod selectors;
mod source;

pub use rules::Rule;
pub use source::StoreRules;

use crate::authentication::user::{MASTERS, User};
use crate::authorization::{Asked, Mode, NamedMode, NodeAuthorizer, Opinion, Verdict, WebhookAuthorizer};
use parking_lot::Mutex;
use pilothouse_store::Store;
use pilothouse_value::field::quote;
use pilothouse_value::{Status, Value, status::Details};
use rules::{Grant, Index};
use std::sync::Arc;

/// The kinds of documents that rules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// `roles`
    Role,
    /// `rolebindings`
    RoleBinding,
    /// `clusterroles`
    ClusterRole,
    /// `clusterrolebindings`
    ClusterRoleBinding,
}

/// Where the documents are.
pub trait RuleSource: Send + Sync {
    /// A number that is another one whenever a document may have changed.
    fn stamp(&self) -> u64;
    /// All documents of a kind.
    fn documents(&self, kind: RuleKind) -> Vec<Arc<Value>>;
}

/// What is asked for. For a path that is no resource only `user`, `verb` and `path` count.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The verb: `get`, `list`, … or for other paths the method in lower case.
    pub verb: &'a str,
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The version. Rules do not look at it.
    pub version: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
    /// The name of the object; empty for all of them, and for a create.
    pub name: &'a str,
    /// The namespace; empty for the whole cluster.
    pub namespace: &'a str,
    /// The path, if this is no resource.
    pub path: &'a str,
    /// Which of a list are meant, by their fields; empty for all. Roles do not look at it.
    pub field_selector: &'a str,
    /// Which of a list are meant, by their labels; empty for all. Roles do not look at it.
    pub label_selector: &'a str,
    /// Whether a resource is asked for.
    pub is_resource: bool,
}

impl<'a> Attributes<'a> {
    /// A path that is no resource.
    pub fn of_path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Attributes { path, is_resource: false, ..Self::of_resource(user, verb, "", "") }
    }

    /// A resource in the whole cluster; fill in the rest with struct update syntax.
    pub fn of_resource(user: &'a User, verb: &'a str, group: &'a str, resource: &'a str) -> Self {
        Attributes {
            user,
            verb,
            group,
            version: "*",
            resource,
            subresource: "",
            name: "",
            namespace: "",
            path: "",
            field_selector: "",
            label_selector: "",
            is_resource: true,
        }
    }
}

/// The answer, with the reason where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether they may.
    pub allowed: bool,
    /// Whether somebody said that they may not, and not only nobody that they may.
    pub denied: bool,
    /// Why, or what kept a rule from being found. Empty more often than not.
    pub reason: Arc<str>,
    /// What kept an authorizer from an opinion.
    pub error: Option<Arc<str>>,
}

/// Decides over the rules of a source, and asks others too if there are more modes than roles.
pub struct Authorizer {
    source: Box<dyn RuleSource>,
    compiled: Mutex<Option<(u64, Arc<Index>)>>,
    chain: Vec<Link>,
    no_reason: Arc<str>,
}

/// One of those who are asked, in their order.
struct Link {
    name: String,
    judge: Judge,
}

enum Judge {
    AllowAll,
    DenyAll,
    Rules,
    Node(NodeAuthorizer),
    Policies(Arc<crate::authorization::Policies>),
    Webhook(Arc<WebhookAuthorizer>),
}

/// How far a question has come.
enum Step {
    /// It is decided.
    Done(Decision),
    /// The webhook at this place of the chain must be asked.
    Ask(usize, Asked),
}

/// What those said who had no opinion.
#[derive(Default)]
struct Said {
    reasons: Vec<String>,
    errors: Vec<Arc<str>>,
}

impl std::fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorizer").finish_non_exhaustive()
    }
}

impl Authorizer {
    /// An authorizer over these documents.
    pub fn new(source: impl RuleSource + 'static) -> Self {
        let chain = vec![Link { name: Mode::Rbac.name().to_owned(), judge: Judge::Rules }];
        Self { source: Box::new(source), compiled: Mutex::new(None), chain, no_reason: Arc::from("") }
    }

    /// An authorizer that asks these modes in their order; objects are those of the store.
    pub(crate) fn of_modes(modes: Vec<NamedMode>, store: &Store) -> Self {
        let judge = |mode: Mode| match mode {
            Mode::AlwaysAllow => Judge::AllowAll,
            Mode::AlwaysDeny => Judge::DenyAll,
            Mode::Rbac => Judge::Rules,
            Mode::Node => Judge::Node(NodeAuthorizer::new(store.clone())),
            Mode::Abac(policies) => Judge::Policies(policies),
            Mode::Webhook(webhook) => Judge::Webhook(webhook),
        };
        let chain = modes.into_iter().map(|named| Link { name: named.name, judge: judge(named.mode) });
        Self { chain: chain.collect(), ..Self::new(StoreRules::new(store.clone())) }
    }

    fn index(&self) -> Arc<Index> {
        // The stamp is read before the documents: what changes in between is compiled again next time.
        let stamp = self.source.stamp();
        let mut compiled = self.compiled.lock();
        match &*compiled {
            Some((of, index)) if *of == stamp => index.clone(),
            _ => {
                let index = Arc::new(Index::compile(&*self.source));
                *compiled = Some((stamp, index.clone()));
                index
            }
        }
    }

    /// Whether somebody allows it. Without an opinion the answer is no. A webhook is waited for, which holds up the thread:
    /// where that can be helped, [`authorize_async`](Self::authorize_async) is for.
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let (mut said, mut from) = (Said::default(), 0);
        loop {
            match self.walk(attributes, from, &mut said) {
                Step::Done(decision) => return decision,
                Step::Ask(at, asked) => {
                    let Some(webhook) = self.webhook(at) else { return self.undecided(said) };
                    if let Some(decision) = self.heard(at, webhook.ask_blocking(asked), &mut said) {
                        return decision;
                    }
                    from = at + 1;
                }
            }
        }
    }

    /// As [`authorize`](Self::authorize), without holding up the thread.
    pub async fn authorize_async(&self, attributes: &Attributes<'_>) -> Decision {
        let (mut said, mut from) = (Said::default(), 0);
        loop {
            match self.walk(attributes, from, &mut said) {
                Step::Done(decision) => return decision,
                Step::Ask(at, asked) => {
                    let Some(webhook) = self.webhook(at) else { return self.undecided(said) };
                    if let Some(decision) = self.heard(at, webhook.ask(asked).await, &mut said) {
                        return decision;
                    }
                    from = at + 1;
                }
            }
        }
    }

    fn webhook(&self, at: usize) -> Option<&WebhookAuthorizer> {
        match &self.chain.get(at)?.judge {
            Judge::Webhook(webhook) => Some(webhook),
            _ => None,
        }
    }

    /// Asks the chain from a place on, until it is decided or somebody outside must be asked.
    fn walk(&self, attributes: &Attributes<'_>, from: usize, said: &mut Said) -> Step {
        if attributes.user.is_in(MASTERS) {
            let reason = self.no_reason.clone();
            return Step::Done(Decision { allowed: true, denied: false, reason, error: None });
        }
        for (at, link) in self.chain.iter().enumerate().skip(from) {
            let verdict = match &link.judge {
                Judge::AllowAll => Verdict::new(Opinion::Allow, self.no_reason.clone()),
                Judge::DenyAll => Verdict::new(Opinion::None, "Everything is forbidden."),
                Judge::Rules => self.by_rules(attributes),
                Judge::Node(node) => node.authorize(attributes),
                Judge::Policies(policies) => policies.authorize(attributes),
                Judge::Webhook(webhook) => match webhook.prepare(attributes) {
                    Ok(verdict) => verdict,
                    Err(asked) => return Step::Ask(at, asked),
                },
            };
            if let Some(decision) = self.heard(at, verdict, said) {
                return Step::Done(decision);
            }
        }
        Step::Done(self.undecided(std::mem::take(said)))
    }

    /// The decision, if the verdict is one.
    fn heard(&self, at: usize, verdict: Verdict, said: &mut Said) -> Option<Decision> {
        let Verdict { opinion, reason, error } = verdict;
        if opinion != Opinion::None {
            let allowed = opinion == Opinion::Allow;
            return Some(Decision { allowed, denied: !allowed, reason, error });
        }
        said.errors.extend(error);
        if !reason.is_empty() {
            let name = self.chain.get(at).map_or("", |link| &link.name);
            said.reasons.push(format!("{name}: {reason}"));
        }
        None
    }

    fn undecided(&self, said: Said) -> Decision {
        let reason = match said.reasons.as_slice() {
            [] => self.no_reason.clone(),
            reasons => Arc::from(reasons.join("\n")),
        };
        let error = match said.errors.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(Arc::from(format!("[{}]", many.join(", ")))),
        };
        Decision { allowed: false, denied: false, reason, error }
    }

    fn by_rules(&self, attributes: &Attributes<'_>) -> Verdict {
        let index = self.index();
        let namespace = if attributes.is_resource { attributes.namespace } else { "" };
        let mut missing: Vec<&str> = Vec::new();
        for grant in index.grants(attributes.user, namespace) {
            match &grant.rules {
                Some(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return Verdict::new(Opinion::Allow, grant.reason.clone());
                }
                Some(_) => {}
                None if missing.contains(&&*grant.reason) => {}
                None => missing.push(&grant.reason),
            }
        }
        Verdict::new(
            Opinion::None,
            match missing.as_slice() {
                [] => self.no_reason.clone(),
                [one] => Arc::from(format!("RBAC: {one}")),
                many => Arc::from(format!("RBAC: [{}]", many.join(", "))),
            },
        )
    }

    /// As [`Authorizer::authorize`], with the answer that a refused client gets.
    ///
    /// # Errors
    /// 403 with upstream's text.
    pub fn require(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let decision = self.authorize(attributes);
        if decision.allowed { Ok(()) } else { Err(forbidden(attributes, &decision.reason)) }
    }

    /// What a user may do in a namespace, as far as those who decide can say it in rules: the rules, what kept more of them
    /// from being found, and whether somebody could not say it at all.
    pub(crate) fn permissions(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>, bool) {
        let (mut rules, mut errors, mut incomplete) = (Vec::new(), Vec::new(), false);
        for link in &self.chain {
            match &link.judge {
                Judge::AllowAll => {
                    let all = || vec!["*".to_owned()];
                    rules.push(Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() });
                    rules.push(Rule { verbs: all(), urls: all(), ..Rule::default() });
                }
                Judge::DenyAll => {}
                Judge::Rules => {
                    let (own, missing) = self.rules_for(user, namespace);
                    rules.extend(own);
                    errors.extend(missing);
                }
                Judge::Node(_) if user.node_name().is_some() => {
                    errors.push("node authorizer does not support user rule resolution".to_owned());
                    incomplete = true;
                }
                Judge::Node(_) => {}
                Judge::Policies(policies) => rules.extend(policies.rules_for(user, namespace)),
                Judge::Webhook(_) => {
                    errors.push("webhook authorizer does not support user rule resolution".to_owned());
                    incomplete = true;
                }
            }
        }
        (rules, errors, incomplete)
    }

    /// All rules that apply to a user in a namespace, and what kept more of them from being found.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let index = self.index();
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        for Grant { rules: granted, reason } in index.grants(user, namespace) {
            match granted {
                Some(granted) => rules.extend(granted.iter().cloned()),
                None => missing.push(reason.to_string()),
            }
        }
        (rules, missing)
    }

    /// The rules of a role, for what binds it. Those of an aggregated role are put together.
    pub(crate) fn rules_of(&self, role_ref: &Value, namespace: &str) -> Option<Vec<Rule>> {
        self.index().role(role_ref, namespace).map(|rules| rules.to_vec())
    }
}

/// 403 as kube-apiserver words it: `pods "a" is forbidden: User "u" cannot get resource "pods" in API group "" in the
/// namespace "n"`.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let Attributes { user, verb, group, resource, subresource, name, namespace, path, .. } = *attributes;
    let user = quote(&user.name);
    let mut text = if attributes.is_resource {
        let resource = match subresource {
            "" => resource.to_owned(),
            subresource => format!("{resource}/{subresource}"),
        };
        let scope = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {}", quote(namespace)),
        };
        let (resource, group) = (quote(&resource), quote(group));
        format!("User {user} cannot {verb} resource {resource} in API group {group} {scope}")
    } else {
        format!("User {user} cannot {verb} path {}", quote(path))
    };
    // Browsers may show the text.
    text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    if attributes.is_resource {
        Status::forbidden(group, resource, name, &text)
    } else {
        Status::new(403, "Forbidden", format!("forbidden: {text}")).with_details(Details::default())
    }
}

/// A list of strings as Go's `%q` prints it.
pub(crate) fn quote_all(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    format!("[{}]", words.join(" "))
}

#[cfg(test)]
mod tests;
