//! Acting as someone else: the `Impersonate-*` headers.

use crate::rbac::{Attributes, Authorizer};
use crate::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User};
use http::HeaderMap;
use pilothouse_value::Status;
use std::collections::BTreeMap;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The user that a request is to be carried out as; `None` if it does not ask to be someone else. Each name, group, uid
/// and extra value must be allowed by itself, as the verb `impersonate`.
///
/// # Errors
/// 400 for headers without a user, 403 for what the caller may not be.
pub fn impersonated(
    authorizer: &Authorizer,
    caller: &User,
    headers: &HeaderMap,
) -> Result<Option<User>, Status> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = text(USER);
    let groups: Vec<&str> = headers.get_all(GROUP).iter().filter_map(|value| value.to_str().ok()).collect();
    let uid = text(UID);
    let extra = read_extra(headers);
    if name.is_empty() {
        if groups.is_empty() && uid.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        let asked = groups.iter().copied().chain((!uid.is_empty()).then_some(uid));
        let asked: Vec<&str> = asked.chain(extra.keys().map(String::as_str)).collect();
        return Err(Status::bad_request(format!("requested {asked:?} without impersonating a user")));
    }

    let ask = |group, resource, subresource, namespace, name| {
        let asked = Attributes::of_resource(caller, "impersonate", group, resource);
        authorizer.require(&Attributes { subresource, namespace, name, version: "", ..asked })
    };
    let account = name.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    match account {
        Some((namespace, account)) => ask("", "serviceaccounts", "", namespace, account)?,
        None => ask("", "users", "", "", name)?,
    }
    for group in &groups {
        ask("", "groups", "", "", group)?;
    }
    for (key, values) in &extra {
        for value in values {
            ask(AUTHENTICATION, "userextras", key, "", value)?;
        }
    }
    if !uid.is_empty() {
        ask(AUTHENTICATION, "uids", "", "", uid)?;
    }

    let mut groups: Vec<String> = match (groups.as_slice(), account) {
        ([], Some((namespace, account))) => User::service_account(namespace, account, "").groups,
        (groups, _) => groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    let is_in = |groups: &[String], group: &str| groups.iter().any(|own| own == group);
    if name == ANONYMOUS {
        if !is_in(&groups, UNAUTHENTICATED) {
            groups.push(UNAUTHENTICATED.to_owned());
        }
    } else if !is_in(&groups, AUTHENTICATED) && !is_in(&groups, UNAUTHENTICATED) {
        groups.push(AUTHENTICATED.to_owned());
    }
    Ok(Some(User { name: name.to_owned(), uid: uid.to_owned(), groups, extra }))
}

fn read_extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (header, value) in headers {
        // Header names are lower case already. A key that HTTP does not allow comes percent-encoded.
        if let Some(key) = header.as_str().strip_prefix(EXTRA)
            && let Ok(value) = value.to_str()
        {
            extra.entry(decode(key)).or_default().push(value.to_owned());
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
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rbac::{RuleKind, RuleSource};
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
        impersonated(&Authorizer::new(Rules), caller, &map).map_err(|status| status.message)
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
            "users \"eve\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API group \"\" at the \
             cluster scope"
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
