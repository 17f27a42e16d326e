//! Acting as someone else: the `Impersonate-*` headers.
//!
//! There are two kinds: whoever may `impersonate` a user may do everything as that user; whoever has the constrained verbs
//! (`impersonate:user-info`, `impersonate-on:user-info:list`) may do as that user what these say. Upstream's
//! `pkg/endpoints/filters/impersonation` is the source of verbs, order and texts.

use crate::authentication::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
use crate::authorization::rbac::{Attributes, Authorizer, forbidden};
use crate::request;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use pilothouse_value::field::{Error, Path, quote};
use pilothouse_value::{Status, names, octets};
use std::collections::{BTreeMap, HashMap};

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const NODE_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";

/// Which way of acting as someone else worked last, for each caller: it is tried first, and its refusal is the one that
/// the caller reads.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<String, usize>>);

/// Callers that are remembered. Upstream remembers as many.
const REMEMBERED: usize = 10_000;
/// From so many groups or extra values on, one question for all of them goes before one for each.
const MANY: usize = 4;
/// The ways of acting as someone else, in the order in which they are tried.
const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

/// A way of acting as someone else. All but the last are constrained: the caller must also be allowed to make this very
/// request as such a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

/// Whom the headers ask for, as they say it.
#[derive(Debug, Default)]
struct Wanted {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// The user that a request is to be carried out as; `None` if it does not ask to be someone else. Each name, group, uid
/// and extra value must be allowed by itself. `asked` is the request, by the caller; `constrained` says whether the
/// constrained verbs count.
///
/// # Errors
/// 400 for headers without a user, 403 for what the caller may not be.
pub fn impersonated(
    authorizer: &Authorizer,
    memory: &Memory,
    constrained: bool,
    asked: &Attributes<'_>,
    headers: &HeaderMap,
) -> Result<Option<User>, Status> {
    // Nearly no request has such headers.
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(None);
    }
    let text = |name: &str| headers.get(name).map(text_of).unwrap_or_default();
    let wanted = Wanted {
        name: text(USER),
        uid: text(UID),
        groups: headers.get_all(GROUP).iter().map(text_of).collect(),
        extra: read_extra(headers),
    };
    if wanted.name.is_empty() {
        if wanted.groups.is_empty() && wanted.uid.is_empty() && wanted.extra.is_empty() {
            return Ok(None);
        }
        return Err(Status::bad_request(format!(
            "requested {} without impersonating a user name",
            print(&wanted)
        )));
    }
    let caller = &asked.user.name;
    let last = memory.0.lock().get(caller).copied();
    let mut refusal: Option<Status> = None;
    for at in last.into_iter().chain((0..MODES.len()).filter(|at| Some(*at) != last)) {
        let counts = |mode: &&Mode| constrained || **mode == Mode::Legacy;
        let mode = MODES.get(at).filter(counts).filter(|mode| mode.fits(&wanted, asked.user));
        let Some(mode) = mode else { continue };
        match check(authorizer, *mode, &wanted, asked) {
            Ok(user) => {
                let mut memory = memory.0.lock();
                if memory.len() >= REMEMBERED {
                    memory.clear();
                }
                if last != Some(at) {
                    memory.insert(caller.clone(), at);
                }
                return Ok(Some(user));
            }
            Err(status) => refusal = refusal.or(Some(status)),
        }
    }
    Err(refusal.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
}

impl Mode {
    /// The word in verbs; empty for the one that was there first.
    fn word(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
            Mode::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Mode::Legacy => "impersonate".into(),
            mode => format!("impersonate:{}", mode.word()),
        }
    }

    /// Whether such a user can be had in this way at all.
    fn fits(self, wanted: &Wanted, caller: &User) -> bool {
        let name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match self {
            Mode::AssociatedNode => {
                let own = caller.extra.get(NODE_NAME).map(Vec::as_slice);
                let node = node(&wanted.name);
                name_only
                    && service_account(&caller.name).is_some()
                    && node.is_some_and(|node| matches!(own, Some([own]) if own == node))
            }
            Mode::ArbitraryNode => name_only && node(&wanted.name).is_some(),
            Mode::ServiceAccount => name_only && service_account(&wanted.name).is_some(),
            Mode::UserInfo => node(&wanted.name).is_none() && service_account(&wanted.name).is_none(),
            Mode::Legacy => true,
        }
    }
}

/// The user, if the caller may be that user in this way.
fn check(
    authorizer: &Authorizer,
    mode: Mode,
    wanted: &Wanted,
    asked: &Attributes<'_>,
) -> Result<User, Status> {
    let mut caller = asked.user.clone();
    if mode == Mode::AssociatedNode {
        let keys: Vec<String> = caller.extra.keys().cloned().collect();
        caller.extra = BTreeMap::from([(NODE_KEYS.to_owned(), keys)]);
    }
    if mode != Mode::Legacy {
        let verb = format!("impersonate-on:{}:{}", mode.word(), asked.verb);
        authorizer.require(&Attributes { user: &caller, verb: &verb, ..*asked })?;
    }
    let verb = mode.verb();
    let constrained = mode != Mode::Legacy;
    let group = if constrained { AUTHENTICATION } else { "" };
    let ask = |group, resource, subresource, namespace, name| {
        let asked = Attributes::of_resource(&caller, &verb, group, resource);
        Attributes { subresource, namespace, name, version: "v1", ..asked }
    };
    let require = |attributes: Attributes<'_>| authorizer.require(&attributes);
    let mut groups = wanted.groups.clone();
    match (node(&wanted.name).filter(|_| constrained), service_account(&wanted.name)) {
        (Some(node), _) => {
            groups = vec!["system:nodes".to_owned()];
            let name = if mode == Mode::AssociatedNode { "*" } else { node };
            require(ask(group, "nodes", "", "", name))?;
        }
        (None, Some((namespace, account))) => {
            if groups.is_empty() {
                groups = vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")];
            }
            require(ask(group, "serviceaccounts", "", namespace, account))?;
        }
        (None, None) => require(ask(group, "users", "", "", &wanted.name))?,
    }
    if !wanted.uid.is_empty() {
        require(ask(AUTHENTICATION, "uids", "", "", &wanted.uid))?;
    }
    check_groups(authorizer, constrained, &wanted.groups, |name| ask(group, "groups", "", "", name))?;
    check_extra(authorizer, constrained, &wanted.extra, |key, value| {
        ask(AUTHENTICATION, "userextras", key, "", value)
    })?;
    let is_in = |groups: &[String], group: &str| groups.iter().any(|own| own == group);
    if wanted.name == ANONYMOUS {
        if !is_in(&groups, UNAUTHENTICATED) {
            groups.push(UNAUTHENTICATED.to_owned());
        }
    } else if !is_in(&groups, AUTHENTICATED) && !is_in(&groups, UNAUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    Ok(User { name: wanted.name.clone(), uid: wanted.uid.clone(), groups, extra: wanted.extra.clone() })
}

fn check_groups<'a>(
    authorizer: &Authorizer,
    constrained: bool,
    groups: &'a [String],
    ask: impl Fn(&'a str) -> Attributes<'a>,
) -> Result<(), Status> {
    if constrained {
        if groups.iter().any(String::is_empty) {
            return Err(forbidden(&ask(""), "impersonating the empty string group is not allowed"));
        }
        if groups.iter().any(|group| group == MASTERS) {
            return Err(forbidden(&ask(MASTERS), "impersonating the system:masters group is not allowed"));
        }
        if groups.len() >= MANY && authorizer.require(&ask("*")).is_ok() {
            return Ok(());
        }
    }
    groups.iter().try_for_each(|group| authorizer.require(&ask(group)))
}

fn check_extra<'a>(
    authorizer: &Authorizer,
    constrained: bool,
    extra: &'a BTreeMap<String, Vec<String>>,
    ask: impl Fn(&'a str, &'a str) -> Attributes<'a>,
) -> Result<(), Status> {
    if constrained && !extra.is_empty() {
        if let Some(why) = extra.iter().find_map(|(key, values)| wrong_extra(key, values)) {
            return Err(forbidden(&ask("", ""), &why));
        }
        let values: usize = extra.values().map(Vec::len).sum();
        if extra.len().max(values) >= MANY && authorizer.require(&ask("*", "*")).is_ok() {
            return Ok(());
        }
    }
    let all = extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
    all.into_iter().try_for_each(|(key, value)| authorizer.require(&ask(key, value)))
}

/// What is wrong with an extra field of a user that is asked for in a constrained way.
fn wrong_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".into());
    }
    if let Some(why) = wrong_key(key) {
        return Some(format!("impersonating an invalid key in extra is not allowed: {why}"));
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".into())
}

/// Why a key is no path with a domain before it, such as `example.com/scopes`.
fn wrong_key(key: &str) -> Option<String> {
    const PATH: &str = "/-._~%!$&'()*+,;=:";
    let path = Path::new("extra").child("key");
    let Some((domain, rest)) =
        key.split_once('/').filter(|(domain, rest)| !domain.is_empty() && !rest.is_empty())
    else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return Some(Error::invalid(&path, key, detail).to_string());
    };
    if let Some(why) = names::dns1123_subdomain(domain).into_iter().next() {
        return Some(Error::invalid(&path, domain, why).to_string());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || PATH.contains(c);
    let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
    (!rest.chars().all(allowed)).then(|| Error::invalid(&path, rest, detail).to_string())
}

/// The node that a user name is of.
fn node(name: &str) -> Option<&str> {
    name.strip_prefix("system:node:").filter(|node| names::dns1123_subdomain(node).is_empty())
}

/// The namespace and name of the service account that a user name is of.
fn service_account(name: &str) -> Option<(&str, &str)> {
    let (namespace, account) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_good = !account.contains(':')
        && names::dns1123_label(namespace).is_empty()
        && names::dns1123_subdomain(account).is_empty();
    is_good.then_some((namespace, account))
}

fn text_of(value: &HeaderValue) -> String {
    request::header_text(value).unwrap_or_default().to_owned()
}

/// Whom the headers ask for, in the way in which upstream prints it.
fn print(wanted: &Wanted) -> String {
    let list = |words: &[String]| match words {
        [] => "[]string(nil)".to_owned(),
        words => {
            format!("[]string{{{}}}", words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(", "))
        }
    };
    let extra = match wanted.extra.len() {
        0 => "map[string][]string(nil)".to_owned(),
        _ => {
            let fields = wanted.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values)));
            format!("map[string][]string{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "&user.DefaultInfo{{Name:\"\", UID:{}, Groups:{}, Extra:{extra}}}",
        quote(&wanted.uid),
        list(&wanted.groups)
    )
}

fn read_extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        // Header names are lower case already. A key that HTTP does not allow comes percent-encoded.
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            extra.entry(decode(key)).or_default().push(text_of(value));
        }
    }
    extra
}

/// Decodes `%2f`; a key with an escape that is none stays as it is.
fn decode(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (b'%', None) => return key.to_owned(),
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    octets::text(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorization::rbac::{RuleKind, RuleSource};
    use pilothouse_value::{Value, json};
    use std::sync::Arc;

    /// `ann` may be `bob`, the group `dev`, and any extra `scopes`.
    struct Rules;

    impl RuleSource for Rules {
        fn stamp(&self) -> u64 {
            0
        }

        fn documents(&self, kind: RuleKind) -> Vec<Arc<Value>> {
            let document = match kind {
                RuleKind::ClusterRole => json!({"metadata": {"name": "r"}, "rules": [
                    {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]},
                    {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["groups"], "resourceNames": ["dev"]},
                    {"verbs": ["impersonate"], "apiGroups": ["authentication.k8s.io"], "resources": ["userextras/a/b"]},
                ]}),
                RuleKind::ClusterRoleBinding => json!({
                    "metadata": {"name": "b"},
                    "roleRef": {"kind": "ClusterRole", "name": "r"},
                    "subjects": [{"kind": "User", "name": "ann"}],
                }),
                _ => return Vec::new(),
            };
            vec![Arc::new(document)]
        }
    }

    fn act(caller: &User, headers: &[(&'static str, &'static str)]) -> Result<Option<User>, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let asked = Attributes::of_resource(caller, "list", "", "pods");
        impersonated(&Authorizer::new(Rules), &Memory::default(), true, &asked, &map)
            .map_err(|status| status.message)
    }

    #[test]
    fn one_acts_as_whom_one_is_allowed_to_be() {
        let ann = User::new("ann", ["x"]);
        assert_eq!(act(&ann, &[]), Ok(None));
        let bob =
            act(&ann, &[(USER, "bob"), (GROUP, "dev"), ("impersonate-extra-a%2fb", "v")]).unwrap().unwrap();
        assert_eq!(
            (bob.name.as_str(), bob.groups.as_slice()),
            ("bob", &["dev".to_owned(), AUTHENTICATED.to_owned()][..])
        );
        assert_eq!(bob.extra.get("a/b"), Some(&vec!["v".to_owned()]));
        assert_eq!(
            act(&ann, &[(USER, "eve")]).unwrap_err(),
            "pods is forbidden: User \"ann\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" at \
             the cluster scope"
        );
        assert!(act(&ann, &[(USER, "bob"), (GROUP, "ops")]).is_err());
        assert!(act(&ann, &[(GROUP, "dev")]).unwrap_err().contains("without impersonating a user"));
    }

    #[test]
    fn service_accounts_and_nobody_have_their_groups() {
        let account = act(&User::admin(), &[(USER, "system:serviceaccount:n:sa")]).unwrap().unwrap();
        assert_eq!(account.groups, User::service_account("n", "sa", "").groups);
        let nobody = act(&User::admin(), &[(USER, ANONYMOUS)]).unwrap().unwrap();
        assert_eq!(nobody.groups, [UNAUTHENTICATED]);
    }
}
