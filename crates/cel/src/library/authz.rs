//! Questions to the authorizer. The host provides it; the library builds the question.
//! Source: `k8s.io/apiserver/pkg/cel/library/authz.go`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use pilothouse_value::names;

use super::{Outcome, hosts, no_such_overload};
use crate::error::EvalError;
use crate::types::HostType;
use crate::val::{Opaque, Val};

/// Decides on what expressions ask. It speaks for one user.
pub trait Authorizer: Send + Sync {
    /// Whether the user, or the service account that the question names, may do this.
    fn authorize(&self, question: &Question) -> Decision;
}

/// What an expression asks of the authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// Namespace and name of the service account to ask for instead of the user.
    pub service_account: Option<(String, String)>,
    /// The verb.
    pub verb: String,
    /// What it is about.
    pub subject: Subject,
}

/// What a [`Question`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A path that is no resource.
    Path(String),
    /// A resource of any version.
    Resource(ResourceSubject),
}

/// The resource that a [`Question`] is about; what is empty is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceSubject {
    /// API group.
    pub group: String,
    /// Plural name.
    pub resource: String,
    /// Subresource.
    pub subresource: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Field selector as it was written, not parsed.
    pub field_selector: String,
    /// Label selector as it was written, not parsed.
    pub label_selector: String,
}

impl Default for Subject {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

/// The answer of an [`Authorizer`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why, if the authorizer says so.
    pub reason: String,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

/// An authorizer as a value.
#[derive(Clone)]
struct AuthorizerVal {
    authorizer: Arc<dyn Authorizer>,
    service_account: Option<(String, String)>,
}

impl fmt::Debug for AuthorizerVal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("authorizer")
    }
}

#[derive(Debug)]
struct PathCheck {
    authorizer: AuthorizerVal,
    path: String,
}

#[derive(Debug)]
struct GroupCheck {
    authorizer: AuthorizerVal,
    group: String,
}

#[derive(Clone, Debug)]
struct ResourceCheck {
    authorizer: AuthorizerVal,
    subject: ResourceSubject,
}

/// Values of the authorizer are never equal, as upstream cannot compare them.
macro_rules! opaque {
    ($($type:ty => $host:expr),*) => {$(
        impl Opaque for $type {
            fn host_type(&self) -> HostType {
                $host
            }

            fn equals(&self, _other: &dyn Opaque) -> bool {
                false
            }
        }
    )*};
}

opaque! {
    AuthorizerVal => hosts::AUTHORIZER,
    PathCheck => hosts::PATH_CHECK,
    GroupCheck => hosts::GROUP_CHECK,
    ResourceCheck => hosts::RESOURCE_CHECK
}

impl Opaque for Decision {
    fn host_type(&self) -> HostType {
        hosts::DECISION
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// The value of the variable `authorizer`.
pub(crate) fn authorizer<'a>(authorizer: Arc<dyn Authorizer>) -> Val<'a> {
    Val::Opaque(Arc::new(AuthorizerVal { authorizer, service_account: None }))
}

/// The value of the variable `authorizer.requestResource`.
pub(crate) fn request_resource<'a>(authorizer: Arc<dyn Authorizer>, subject: ResourceSubject) -> Val<'a> {
    let authorizer = AuthorizerVal { authorizer, service_account: None };
    Val::Opaque(Arc::new(ResourceCheck { authorizer, subject }))
}

/// The target, and the one argument that is a string.
fn target<'v, T: Opaque>(args: &'v [Val<'_>]) -> Result<(&'v T, &'v str), EvalError> {
    let [target, Val::String(text)] = args else { return no_such_overload() };
    Ok((target.downcast().ok_or_else(EvalError::no_such_overload)?, text))
}

pub(super) fn path<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (authorizer, path) = target::<AuthorizerVal>(args)?;
    if path.trim().is_empty() {
        return Err(EvalError::new("path must not be empty"));
    }
    Ok(Val::Opaque(Arc::new(PathCheck { authorizer: authorizer.clone(), path: path.to_owned() })))
}

pub(super) fn group<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (authorizer, group) = target::<AuthorizerVal>(args)?;
    Ok(Val::Opaque(Arc::new(GroupCheck { authorizer: authorizer.clone(), group: group.to_owned() })))
}

pub(super) fn service_account<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let [target, Val::String(namespace), Val::String(name)] = args else { return no_such_overload() };
    let authorizer = target.downcast::<AuthorizerVal>().ok_or_else(EvalError::no_such_overload)?;
    if !names::dns1123_subdomain(name).is_empty() {
        return Err(EvalError::new("Invalid service account name"));
    }
    if !names::dns1123_label(namespace).is_empty() {
        return Err(EvalError::new("Invalid service account namespace"));
    }
    let service_account = Some((namespace.to_string(), name.to_string()));
    Ok(Val::Opaque(Arc::new(AuthorizerVal {
        authorizer: Arc::clone(&authorizer.authorizer),
        service_account,
    })))
}

pub(super) fn resource<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (check, resource) = target::<GroupCheck>(args)?;
    if resource.trim().is_empty() {
        return Err(EvalError::new("resource must not be empty"));
    }
    let subject = ResourceSubject {
        group: check.group.clone(),
        resource: resource.to_owned(),
        ..ResourceSubject::default()
    };
    Ok(Val::Opaque(Arc::new(ResourceCheck { authorizer: check.authorizer.clone(), subject })))
}

fn restricted<'a>(args: &[Val<'a>], restrict: fn(&mut ResourceSubject, String)) -> Outcome<'a> {
    let (check, text) = target::<ResourceCheck>(args)?;
    let mut check = check.clone();
    restrict(&mut check.subject, text.to_owned());
    Ok(Val::Opaque(Arc::new(check)))
}

pub(super) fn subresource<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    restricted(args, |subject, text| subject.subresource = text)
}

pub(super) fn namespace<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    restricted(args, |subject, text| subject.namespace = text)
}

pub(super) fn name<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    restricted(args, |subject, text| subject.name = text)
}

pub(super) fn field_selector<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    restricted(args, |subject, text| subject.field_selector = text)
}

pub(super) fn label_selector<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    restricted(args, |subject, text| subject.label_selector = text)
}

pub(super) fn check<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    let (authorizer, verb, subject) = match target::<PathCheck>(args) {
        Ok((check, verb)) => (&check.authorizer, verb, Subject::Path(check.path.clone())),
        Err(_) => {
            let (check, verb) = target::<ResourceCheck>(args)?;
            (&check.authorizer, verb, Subject::Resource(check.subject.clone()))
        }
    };
    let question =
        Question { service_account: authorizer.service_account.clone(), verb: verb.to_owned(), subject };
    Ok(Val::Opaque(Arc::new(authorizer.authorizer.authorize(&question))))
}

fn decision<'v>(args: &'v [Val<'_>]) -> Result<&'v Decision, EvalError> {
    args.first().and_then(Val::downcast).ok_or_else(EvalError::no_such_overload)
}

pub(super) fn errored<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    decision(args).map(|decision| Val::Bool(decision.error.is_some()))
}

pub(super) fn error<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    decision(args).map(|decision| Val::text(decision.error.as_deref().unwrap_or_default()))
}

pub(super) fn allowed<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    decision(args).map(|decision| Val::Bool(decision.allowed))
}

pub(super) fn reason<'a>(args: &[Val<'a>]) -> Outcome<'a> {
    decision(args).map(|decision| Val::text(&*decision.reason))
}
