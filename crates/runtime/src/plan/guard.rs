//! The guards that a plan must pass before it acts.

use thiserror::Error;

use crate::object::Kind;

/// Why a plan was held back. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The object exists and somebody else controls it, or nobody does.
    #[error(
        "refused to change {object}: it exists and {owner}\n\
         hint: choose another name, or remove the other object first"
    )]
    NotOurs {
        /// Resource, namespace and name.
        object: String,
        /// Who controls it.
        owner: String,
    },
}

impl Refusal {
    /// A CamelCase word for the refusal.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotOurs { .. } => "NotOurs",
        }
    }
}

/// True for kinds that hold data or on which others depend: they are never removed by implication.
pub(crate) fn is_protected(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.plural.as_str()),
        ("", "persistentvolumeclaims" | "persistentvolumes" | "secrets" | "namespaces")
            | ("apiextensions.k8s.io", "customresourcedefinitions")
    )
}
