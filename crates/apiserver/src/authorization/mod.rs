//! The ways to decide who may do what, besides roles: kube-apiserver's authorization modes.
//!
//! [`Mode`] is one of them, as it is configured; [`rbac::Authorizer`] asks them in their order, until one
//! has an opinion. Source of behaviour: `pkg/kubeapiserver/authorizer` and `plugin/pkg/auth/authorizer` of Kubernetes.

mod abac;
pub(crate) mod authz;
pub mod bootstrap_rbac;
mod matching;
mod node;
pub mod rbac;
pub(crate) mod references;
mod structured;
mod webhook;

use std::sync::Arc;

pub use abac::{Policies, PolicyError};
pub(crate) use node::NodeAuthorizer;
pub use structured::{ConfigurationError, read_configuration};
pub(crate) use webhook::Asked;
pub use webhook::{WebhookAuthorizer, WebhookError};

/// A way to decide who may do what.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Everyone may do everything.
    AlwaysAllow,
    /// Nobody may do anything.
    AlwaysDeny,
    /// Roles and bindings say.
    Rbac,
    /// Nodes may do what belongs to their pods.
    Node,
    /// A file of policies says.
    Abac(Arc<Policies>),
    /// Somebody outside is asked.
    Webhook(Arc<WebhookAuthorizer>),
}

impl Mode {
    /// The name as a part of messages, if nothing else is said: kube-apiserver's.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::AlwaysAllow => "alwaysallow",
            Mode::AlwaysDeny => "alwaysdeny",
            Mode::Rbac => "rbac",
            Mode::Node => "node",
            Mode::Abac(_) => "abac",
            Mode::Webhook(_) => "default",
        }
    }
}

/// A mode with the name that it has in messages.
#[derive(Clone, Debug)]
pub struct NamedMode {
    /// The name.
    pub name: String,
    /// The mode.
    pub mode: Mode,
}

impl From<Mode> for NamedMode {
    fn from(mode: Mode) -> NamedMode {
        NamedMode { name: mode.name().to_owned(), mode }
    }
}

/// What one authorizer thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opinion {
    /// They may.
    Allow,
    /// They may not, whatever others think.
    Deny,
    /// Others are to say.
    None,
}

/// An opinion, why, and what went wrong on the way to it.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) opinion: Opinion,
    pub(crate) reason: Arc<str>,
    pub(crate) error: Option<Arc<str>>,
}

impl Verdict {
    /// An opinion without an error.
    pub(crate) fn new(opinion: Opinion, reason: impl Into<Arc<str>>) -> Verdict {
        Verdict { opinion, reason: reason.into(), error: None }
    }
}
