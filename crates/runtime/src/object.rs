//! What the engine needs to know of a kind, and how one object of it is named.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whether a kind lives in namespaces, known when compiling.
pub trait Scope {
    /// True for kinds whose objects live in a namespace.
    const NAMESPACED: bool;
}

impl Scope for NamespaceResourceScope {
    const NAMESPACED: bool = true;
}

impl Scope for ClusterResourceScope {
    const NAMESPACED: bool = false;
}

/// A Kubernetes kind that controllers can watch, own and write: each type of `k8s_openapi` and each
/// `#[derive(CustomResource)]` is one.
pub trait Object:
    Resource<DynamicType = (), Scope: Scope>
    + Clone
    + fmt::Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
    + 'static
{
}

impl<K> Object for K where
    K: Resource<DynamicType = (), Scope: Scope>
        + Clone
        + fmt::Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static
{
}

/// Names one object among those of its kind. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Key {
    /// The object `name` in `namespace`; an empty namespace means a cluster-scoped object.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The name of `object`.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::from_meta(object.meta())
    }

    pub(crate) fn from_meta(meta: &ObjectMeta) -> Self {
        Self::new(meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default())
    }

    /// The namespace; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        (!self.namespace.is_empty()).then_some(&*self.namespace)
    }

    /// The name within the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A kind at run time: what [`Object`] says when compiling.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The version within the group, for example `v1`.
    pub version: String,
    /// The kind, for example `Deployment`.
    pub kind: String,
    /// The resource's name in URLs and in RBAC, for example `deployments`.
    pub plural: String,
    /// True when its objects live in namespaces.
    pub namespaced: bool,
}

impl Kind {
    /// The kind of the type `K`.
    pub fn of<K: Object>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            plural: K::plural(&()).into_owned(),
            namespaced: <K::Scope as Scope>::NAMESPACED,
        }
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of the collection, in one namespace or over all.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => {
                format!("/{root}/{}/namespaces/{namespace}/{}", self.api_version(), self.plural)
            }
            None => format!("/{root}/{}/{}", self.api_version(), self.plural),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.plural)
        } else {
            write!(f, "{}.{}", self.plural, self.group)
        }
    }
}

/// The owner reference that is marked as the controller, if there is one.
pub fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.as_ref()?.iter().find(|owner| owner.controller == Some(true))
}

/// The group part of an `apiVersion`: empty for `v1`.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
