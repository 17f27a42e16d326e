//! Who sends a request.

use std::collections::BTreeMap;

/// The group that passes every authorization check.
pub const MASTERS: &str = "system:masters";
/// The group of everyone whose identity was established.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone whose identity was not established.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The key under which authenticators say which credential was shown.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// The group of the nodes.
pub const NODES: &str = "system:nodes";
/// The name of a caller who gave no credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// The identity of a caller, as Kubernetes' `user.Info`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's name, for instance `system:serviceaccount:default:builder`.
    pub name: String,
    /// An identifier that does not change when the name is used again; often empty.
    pub uid: String,
    /// The groups the user is a member of.
    pub groups: Vec<String>,
    /// What the authenticator adds, by lower-case key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user of this name in these groups. [`AUTHENTICATED`] is added.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> User {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.into());
        }
        User { name: name.into(), uid: String::new(), groups, extra: BTreeMap::new() }
    }

    /// The administrator: a member of `system:masters`, who may do everything.
    pub fn admin() -> User {
        User::new("system:admin", [MASTERS])
    }

    /// The caller who showed no credentials.
    pub fn anonymous() -> User {
        User {
            name: ANONYMOUS.into(),
            uid: String::new(),
            groups: vec![UNAUTHENTICATED.into()],
            extra: BTreeMap::new(),
        }
    }

    /// The user that a service account's token stands for.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> User {
        let mut user = User::new(
            format!("system:serviceaccount:{namespace}:{name}"),
            ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")],
        );
        user.uid = uid.into();
        user
    }

    /// The name of the node that the user is, if it is one: `system:node:NAME` in the group [`NODES`].
    pub fn node_name(&self) -> Option<&str> {
        self.name.strip_prefix("system:node:").filter(|_| self.is_in(NODES))
    }

    /// Whether the user is a member of the group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
