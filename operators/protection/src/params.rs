//! What a Blueprint's templates see: Kanister's `TemplateParams`, with Go's names.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::api::{Artifact, Location};
use crate::template::{Field, Value, Zero};

/// Everything that the templates of one action see.
#[derive(Clone, Default)]
pub struct Params {
    /// What stays as it was when the action started.
    pub pinned: Pinned,
    /// `.ArtifactsIn`
    pub artifacts_in: BTreeMap<String, Artifact>,
    /// `.ConfigMaps`
    pub config_maps: BTreeMap<String, ConfigMap>,
    /// `.Secrets`
    pub secrets: BTreeMap<String, Secret>,
    /// `.Profile`
    pub profile: Option<ProfileParams>,
    /// `.Options`
    pub options: BTreeMap<String, String>,
    /// `.PodOverride`
    pub pod_override: Map<String, serde_json::Value>,
    /// `.PodLabels`
    pub pod_labels: BTreeMap<String, String>,
    /// `.PodAnnotations`
    pub pod_annotations: BTreeMap<String, String>,
    /// `.Phases`, from the start of each on.
    pub phases: BTreeMap<String, PhaseParams>,
    /// `.DeferPhase`
    pub defer_phase: Option<PhaseParams>,
}

/// What is seen once, when an action starts, and kept until it ends, also over a restart of the operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pinned {
    /// `.Time`: RFC 3339 in UTC.
    pub time: String,
    /// `.Object`
    pub object: serde_json::Value,
    /// `.StatefulSet` and the like.
    pub subject: Subject,
}

/// The object of an action, in the form in which templates see it beside `.Object`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Subject {
    /// `.StatefulSet`
    StatefulSet(Workload),
    /// `.Deployment`
    Deployment(Workload),
    /// `.DeploymentConfig`
    DeploymentConfig(Workload),
    /// `.PVC`
    Pvc {
        /// The name of the claim.
        name: String,
        /// The namespace of the claim.
        namespace: String,
    },
    /// `.Namespace`, whose name and namespace are one.
    Namespace(String),
    /// Only `.Object`.
    #[default]
    Other,
}

/// A workload and its running pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The name of the workload.
    pub name: String,
    /// The namespace of the workload.
    pub namespace: String,
    /// The running pods.
    pub pods: Vec<WorkloadPod>,
}

/// A running pod of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadPod {
    /// The name of the pod.
    pub name: String,
    /// The names of its containers.
    pub containers: Vec<String>,
    /// The claims that it mounts, and where.
    pub claims: BTreeMap<String, String>,
}

/// A Profile with the values of its credential.
#[derive(Clone)]
pub struct ProfileParams {
    /// The place.
    pub location: Location,
    /// The key to it.
    pub credential: CredentialParams,
    /// Whether the endpoint's certificate is not checked.
    pub skip_ssl_verify: bool,
}

/// The value of a credential. It has no `Debug`, so that it cannot get into a log by accident.
#[derive(Clone)]
pub enum CredentialParams {
    /// No credential: a `filestore`.
    None,
    /// An id and a secret.
    KeyPair {
        /// The id.
        id: String,
        /// The secret.
        secret: String,
    },
    /// A whole Secret.
    Secret(Box<Secret>),
}

/// What is seen of a phase.
#[derive(Clone, Default)]
pub struct PhaseParams {
    /// What it gave; `None` while that is not known.
    pub output: Option<Map<String, serde_json::Value>>,
    /// The Secrets among its objects; `None` for one that is not known.
    pub secrets: BTreeMap<String, Option<Secret>>,
    /// The ConfigMaps among its objects; `None` for one that is not known.
    pub config_maps: BTreeMap<String, Option<ConfigMap>>,
}

impl Params {
    /// The root value of the templates.
    pub fn to_value(&self) -> Value {
        let mut workloads = [
            ("StatefulSet", Value::NilPointer("*param.StatefulSetParams")),
            ("Deployment", Value::NilPointer("*param.DeploymentParams")),
            ("DeploymentConfig", Value::NilPointer("*param.DeploymentConfigParams")),
            ("PVC", Value::NilPointer("*param.PVCParams")),
            ("Namespace", Value::NilPointer("*param.NamespaceParams")),
        ];
        let (at, value) = match &self.pinned.subject {
            Subject::StatefulSet(w) => (0, workload("param.StatefulSetParams", w)),
            Subject::Deployment(w) => (1, workload("param.DeploymentParams", w)),
            Subject::DeploymentConfig(w) => (2, workload("param.DeploymentConfigParams", w)),
            Subject::Pvc { name, namespace } => (3, named("param.PVCParams", name, namespace)),
            Subject::Namespace(name) => (4, named("param.NamespaceParams", name, name)),
            Subject::Other => (usize::MAX, Value::Nil),
        };
        if let Some(slot) = workloads.get_mut(at) {
            slot.1 = value;
        }
        let mut fields: Vec<_> = workloads.into_iter().map(|(name, value)| Field::new(name, value)).collect();
        fields.extend([
            Field::new("ArtifactsIn", artifacts(&self.artifacts_in)),
            Field::new("ConfigMaps", all(&self.config_maps, config_map)),
            Field::new("Secrets", all(&self.secrets, secret)),
            Field::new("Time", self.pinned.time.as_str()),
            Field::new("Profile", self.profile.as_ref().map_or(Value::NilPointer("*param.Profile"), profile)),
            Field::new("Options", Value::strings(&self.options)),
            Field::new("Object", Value::from_json(&self.pinned.object)),
            Field::new(
                "Phases",
                Value::map(Zero::Nil, self.phases.iter().map(|(k, v)| (k.clone(), phase(k, v)))),
            ),
            Field::new(
                "DeferPhase",
                self.defer_phase
                    .as_ref()
                    .map_or(Value::NilPointer("*param.Phase"), |p| phase("DeferPhase", p)),
            ),
            Field::new(
                "PodOverride",
                Value::from_json(&serde_json::Value::Object(self.pod_override.clone())),
            ),
            Field::new("PodLabels", Value::strings(&self.pod_labels)),
            Field::new("PodAnnotations", Value::strings(&self.pod_annotations)),
        ]);
        Value::structure("param.TemplateParams", fields)
    }
}

fn all<T>(items: &BTreeMap<String, T>, make: impl Fn(&T) -> Value) -> Value {
    Value::map(Zero::Nil, items.iter().map(|(k, v)| (k.clone(), make(v))))
}

fn named(type_name: &'static str, name: &str, namespace: &str) -> Value {
    Value::structure(type_name, vec![Field::new("Name", name), Field::new("Namespace", namespace)])
}

fn workload(type_name: &'static str, w: &Workload) -> Value {
    let claims = w.pods.iter().filter(|p| !p.claims.is_empty());
    Value::structure(
        type_name,
        vec![
            Field::new("Name", w.name.as_str()),
            Field::new("Namespace", w.namespace.as_str()),
            Field::new("Pods", Value::list(w.pods.iter().map(|p| p.name.as_str().into()))),
            Field::new(
                "Containers",
                Value::list(w.pods.iter().map(|p| Value::list(p.containers.iter().map(Value::from)))),
            ),
            Field::new(
                "PersistentVolumeClaims",
                Value::map(Zero::Nil, claims.map(|p| (p.name.clone(), Value::strings(&p.claims)))),
            ),
        ],
    )
}

fn artifacts(items: &BTreeMap<String, Artifact>) -> Value {
    all(items, |artifact| {
        Value::structure(
            "v1alpha1.Artifact",
            vec![
                Field::omitted("KeyValue", "keyValue", Value::strings(&artifact.key_value)),
                Field::omitted("KopiaSnapshot", "kopiaSnapshot", artifact.kopia_snapshot.as_str()),
            ],
        )
    })
}

/// The metadata that Go promotes to the object itself, and the whole of it as JSON shows it.
fn metadata(meta: &kube::core::ObjectMeta) -> Vec<Field> {
    let hidden = |name, value: Value| Field::tagged(name, "", value);
    let none = BTreeMap::new();
    let mut whole = serde_json::to_value(meta).unwrap_or_default();
    if let Some(map) = whole.as_object_mut() {
        map.remove("managedFields");
    }
    vec![
        hidden("Name", meta.name.as_deref().unwrap_or_default().into()),
        hidden("Namespace", meta.namespace.as_deref().unwrap_or_default().into()),
        hidden("Labels", Value::strings(meta.labels.as_ref().unwrap_or(&none))),
        hidden("Annotations", Value::strings(meta.annotations.as_ref().unwrap_or(&none))),
        Field::tagged("ObjectMeta", "metadata", Value::from_json(&whole)),
    ]
}

fn bytes(data: Option<&BTreeMap<String, k8s_openapi::ByteString>>) -> Value {
    let entries = data.into_iter().flatten().map(|(k, v)| (k.clone(), Value::Bytes(v.0.as_slice().into())));
    Value::map(Zero::Bytes, entries)
}

fn secret(secret: &Secret) -> Value {
    let mut fields = metadata(&secret.metadata);
    fields.extend([
        Field::omitted("Data", "data", bytes(secret.data.as_ref())),
        Field::omitted("Type", "type", secret.type_.as_deref().unwrap_or_default()),
    ]);
    Value::structure("v1.Secret", fields)
}

fn config_map(map: &ConfigMap) -> Value {
    let mut fields = metadata(&map.metadata);
    let none = BTreeMap::new();
    fields.extend([
        Field::omitted("Data", "data", Value::strings(map.data.as_ref().unwrap_or(&none))),
        Field::omitted("BinaryData", "binaryData", bytes(map.binary_data.as_ref())),
    ]);
    Value::structure("v1.ConfigMap", fields)
}

fn phase(name: &str, phase: &PhaseParams) -> Value {
    let unknown = |what: &str| Value::Unknown(format!("<{name}.{what}>").into());
    let output = match &phase.output {
        Some(output) => Value::map(Zero::Nil, output.iter().map(|(k, v)| (k.clone(), Value::from_json(v)))),
        None => Value::Unknown(format!("<{name}>").into()),
    };
    Value::structure(
        "param.Phase",
        vec![
            Field::new("Output", output),
            Field::new("Secrets", all_known(&phase.secrets, secret, unknown)),
            Field::new("ConfigMaps", all_known(&phase.config_maps, config_map, unknown)),
        ],
    )
}

fn all_known<T>(
    items: &BTreeMap<String, Option<T>>,
    make: impl Fn(&T) -> Value,
    unknown: impl Fn(&str) -> Value,
) -> Value {
    let entries = items.iter().map(|(k, v)| (k.clone(), v.as_ref().map_or_else(|| unknown(k), &make)));
    Value::map(Zero::Nil, entries)
}

/// The profile: what `toJson .Profile` gives is what `kando --profile` takes.
fn profile(profile: &ProfileParams) -> Value {
    let location = Value::structure(
        "v1alpha1.Location",
        vec![
            Field::tagged("Type", "type", profile.location.kind.as_str()),
            Field::tagged("Bucket", "bucket", profile.location.bucket.as_str()),
            Field::tagged("Endpoint", "endpoint", profile.location.endpoint.as_str()),
            Field::tagged("Prefix", "prefix", profile.location.prefix.as_str()),
            Field::tagged("Region", "region", profile.location.region.as_str()),
        ],
    );
    let (kind, key_pair, whole) = match &profile.credential {
        CredentialParams::None => ("", None, None),
        CredentialParams::KeyPair { id, secret } => {
            let pair = vec![Field::new("ID", id.as_str()), Field::new("Secret", secret.as_str())];
            ("keyPair", Some(Value::structure("param.KeyPair", pair)), None)
        }
        CredentialParams::Secret(value) => ("secret", None, Some(secret(value))),
    };
    let credential = Value::structure(
        "param.Credential",
        vec![
            Field::new("Type", kind),
            Field::new("KeyPair", key_pair.unwrap_or(Value::NilPointer("*param.KeyPair"))),
            Field::new("Secret", whole.unwrap_or(Value::NilPointer("*v1.Secret"))),
            Field::new("KopiaServerSecret", Value::NilPointer("*param.KopiaServerCreds")),
        ],
    );
    Value::structure(
        "param.Profile",
        vec![
            Field::new("Location", location),
            Field::new("Credential", credential),
            Field::new("SkipSSLVerify", profile.skip_ssl_verify),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{Missing, Template};

    fn render(params: &Params, source: &str) -> String {
        Template::parse(source).unwrap().render(&params.to_value(), Missing::Error).unwrap()
    }

    #[test]
    fn the_profile_is_what_kando_reads() {
        let params = Params {
            profile: Some(ProfileParams {
                location: Location {
                    kind: "s3Compliant".into(),
                    bucket: "b".into(),
                    endpoint: "http://127.0.0.1:9".into(),
                    region: "r".into(),
                    prefix: String::new(),
                },
                credential: CredentialParams::KeyPair { id: "i".into(), secret: "s&".into() },
                skip_ssl_verify: false,
            }),
            ..Params::default()
        };
        assert_eq!(
            render(&params, "{{ toJson .Profile }}"),
            "{\"Location\":{\"type\":\"s3Compliant\",\"bucket\":\"b\",\"endpoint\":\"http://127.0.0.1:9\",\
             \"prefix\":\"\",\"region\":\"r\"},\"Credential\":{\"Type\":\"keyPair\",\"KeyPair\":{\"ID\":\"i\",\
             \"Secret\":\"s\\u0026\"},\"Secret\":null,\"KopiaServerSecret\":null},\"SkipSSLVerify\":false}"
        );
    }

    #[test]
    fn a_secret_shows_its_data_as_bytes() {
        let secret: Secret = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "s", "namespace": "n"}, "type": "Opaque", "data": {"p-w": "cHc="},
        }))
        .unwrap();
        let params = Params { secrets: [("s".to_owned(), secret)].into(), ..Params::default() };
        assert_eq!(
            render(&params, "{{ index .Secrets.s.Data \"p-w\" | toString }} {{ .Secrets.s.Name }}"),
            "pw s"
        );
        assert_eq!(
            render(&params, "{{ toJson .Secrets.s }}"),
            "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},\"data\":{\"p-w\":\"cHc=\"},\"type\":\"Opaque\"}"
        );
    }
}
