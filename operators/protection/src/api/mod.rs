//! The kinds of `cr.kanister.io/v1alpha1`, in the form in which Kanister reads and writes them.
//!
//! Nothing is required and `null` stands for nothing: Kanister's own clients write `podLabels: null` and empty strings.

mod actionset;
mod blueprint;
mod crd;
mod profile;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

pub use actionset::{
    ActionProgress, ActionSet, ActionSetSpec, ActionSetStatus, ActionSpec, ActionStatus, ErrorStatus, Phase,
    PhaseProgress, State,
};
pub use blueprint::{Blueprint, BlueprintAction, BlueprintPhase};
pub use crd::crds;
pub use profile::{Credential, KeyPair, Location, LocationType, Profile};

/// The API group.
pub const GROUP: &str = "cr.kanister.io";
/// The only version.
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of the three kinds.
pub const API_VERSION: &str = "cr.kanister.io/v1alpha1";

/// A reference to an object. Here `apiVersion` is the version alone (`v1`), and the group stands by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// The version, without the group.
    #[serde(default, deserialize_with = "null_is_default")]
    pub api_version: String,
    /// The group; kanctl writes a slash behind it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub group: String,
    /// The plural name of the resource.
    #[serde(default, deserialize_with = "null_is_default")]
    pub resource: String,
    /// The kind.
    #[serde(default, deserialize_with = "null_is_default")]
    pub kind: String,
    /// The name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub name: String,
    /// The namespace; empty for an object of the cluster.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// What an action makes and another one takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Keys and values; in a Blueprint, the values are templates.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub key_value: BTreeMap<String, String>,
    /// The id of a snapshot in a Kopia repository.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub kopia_snapshot: String,
}

/// Reads `null` as the default.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// `kube::Resource` for a namespaced kind of this group.
macro_rules! resource {
    ($type:ident, $kind:literal, $plural:literal) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = k8s_openapi::NamespaceResourceScope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }
            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $crate::api::GROUP.into()
            }
            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $crate::api::VERSION.into()
            }
            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
use resource;

#[cfg(test)]
mod tests;
