//! Profile: where artifacts are kept, and with which credential.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ObjectReference, null_is_default, resource};

/// Where artifacts are kept. It has no `spec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// Always [`super::API_VERSION`].
    #[serde(default)]
    pub api_version: String,
    /// Always `Profile`.
    #[serde(default)]
    pub kind: String,
    /// Standard metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The place.
    #[serde(default, deserialize_with = "null_is_default")]
    pub location: Location,
    /// The key to it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub credential: Credential,
    /// Whether the certificate of the endpoint is not checked.
    #[serde(default, rename = "skipSSLVerify", deserialize_with = "null_is_default")]
    pub skip_ssl_verify: bool,
}

resource!(Profile, "Profile", "profiles");

/// A place for artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// See [`LocationType`].
    #[serde(default, rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    /// The bucket; for `filestore` the folder, as the pod that runs `kando` sees it.
    #[serde(default, deserialize_with = "null_is_default")]
    pub bucket: String,
    /// The endpoint of the service, when it is not the provider's own.
    #[serde(default, deserialize_with = "null_is_default")]
    pub endpoint: String,
    /// Joined in front of every path.
    #[serde(default, deserialize_with = "null_is_default")]
    pub prefix: String,
    /// The region.
    #[serde(default, deserialize_with = "null_is_default")]
    pub region: String,
}

/// The kinds of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationType {
    /// `s3Compliant`: S3 and everything that speaks its protocol.
    S3Compliant,
    /// `filestore`: a folder. Kanister knows this type in its repository secrets; in a Profile it is ours.
    FileStore,
    /// `gcs`: known, not built.
    Gcs,
    /// `azure`: known, not built.
    Azure,
    /// `kopia`: known, not built.
    Kopia,
}

impl LocationType {
    /// Reads the type; the case matters, as in Kanister.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "s3Compliant" => Some(Self::S3Compliant),
            "filestore" | "file" => Some(Self::FileStore),
            "gcs" => Some(Self::Gcs),
            "azure" => Some(Self::Azure),
            "kopia" => Some(Self::Kopia),
            _ => None,
        }
    }
}

/// The key to a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credential {
    /// `keyPair`, `secret` or `kopia`; empty for a `filestore`.
    #[serde(default, rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    /// For `keyPair`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_pair: Option<KeyPair>,
    /// For `secret`: a Secret with one of Kanister's types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<ObjectReference>,
    /// For `kopia`; kept as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kopia_server_secret: Option<Map<String, Value>>,
}

/// An id and a secret, by the names of their keys in a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyPair {
    /// The key of the id in the Secret.
    #[serde(default, deserialize_with = "null_is_default")]
    pub id_field: String,
    /// The key of the secret in the Secret.
    #[serde(default, deserialize_with = "null_is_default")]
    pub secret_field: String,
    /// The Secret.
    #[serde(default, deserialize_with = "null_is_default")]
    pub secret: ObjectReference,
}
