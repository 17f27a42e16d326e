//! Looks up what the templates of an action see.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::tz::TimeZone;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};

use super::journal::request_text;
use crate::api::{ActionSpec, LocationType, ObjectReference, Profile};
use crate::params::{CredentialParams, Params, Pinned, ProfileParams, Subject, Workload, WorkloadPod};
use crate::plan::Lookup;
use crate::template::time::RFC3339_NANO;

/// Why something cannot be seen.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// It is not there, or not as it must be: trying again does not help before somebody changes it.
    #[error("{0}")]
    Invalid(String),
    /// The API server gave no answer.
    #[error("cannot read {what}: {source}")]
    Request {
        /// What was read.
        what: String,
        /// Why not.
        source: kube::Error,
    },
}

fn invalid(message: impl Into<String>) -> ObserveError {
    ObserveError::Invalid(message.into())
}

fn failed(what: String, source: kube::Error) -> ObserveError {
    match &source {
        kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
            ObserveError::Invalid(format!("cannot read {what}: {}", request_text(&source)))
        }
        _ => ObserveError::Request { what, source },
    }
}

/// Everything that does not change while the action runs.
///
/// # Errors
/// When the object cannot be seen.
pub async fn pin(client: &Client, spec: &ActionSpec) -> Result<Pinned, ObserveError> {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let (object, subject) = object(client, &spec.object).await?;
    Ok(Pinned { time: crate::template::time::format(&now, RFC3339_NANO), object, subject })
}

/// The parameters of an action, without its phases.
///
/// # Errors
/// When a Secret, a ConfigMap or the Profile cannot be seen.
pub async fn params(
    client: &Client,
    namespace: &str,
    spec: &ActionSpec,
    pinned: Pinned,
) -> Result<Params, ObserveError> {
    let mut params = Params {
        pinned,
        artifacts_in: spec.artifacts.clone(),
        options: spec.options.clone(),
        pod_override: spec.pod_override.clone().unwrap_or_default(),
        pod_labels: spec.pod_labels.clone(),
        pod_annotations: spec.pod_annotations.clone(),
        ..Params::default()
    };
    for (name, reference) in &spec.secrets {
        params.secrets.insert(name.clone(), secret(client, reference).await?);
    }
    for (name, reference) in &spec.config_maps {
        params.config_maps.insert(name.clone(), config_map(client, reference).await?);
    }
    if let Some(reference) = spec.profile.as_ref().filter(|r| !r.name.is_empty()) {
        params.profile = Some(profile(client, namespace, reference).await?);
    }
    Ok(params)
}

/// A Secret.
///
/// # Errors
/// When it cannot be seen.
pub async fn secret(client: &Client, reference: &ObjectReference) -> Result<Secret, ObserveError> {
    let what = || format!("Secret {}/{}", reference.namespace, reference.name);
    named(reference, "Secret")?;
    let api: Api<Secret> = Api::namespaced(client.clone(), &reference.namespace);
    api.get(&reference.name).await.map_err(|e| failed(what(), e))
}

/// A ConfigMap.
///
/// # Errors
/// When it cannot be seen.
pub async fn config_map(client: &Client, reference: &ObjectReference) -> Result<ConfigMap, ObserveError> {
    let what = || format!("ConfigMap {}/{}", reference.namespace, reference.name);
    named(reference, "ConfigMap")?;
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &reference.namespace);
    api.get(&reference.name).await.map_err(|e| failed(what(), e))
}

fn named(reference: &ObjectReference, kind: &str) -> Result<(), ObserveError> {
    if reference.name.is_empty() || reference.namespace.is_empty() {
        return Err(invalid(format!("the reference to a {kind} needs a name and a namespace")));
    }
    Ok(())
}

/// The Secrets and ConfigMaps among the objects of phases. One that is not there is left out: an earlier phase may make
/// it.
///
/// # Errors
/// When one cannot be read for another reason.
pub async fn lookup(client: &Client, objects: &[ObjectReference]) -> Result<Lookup, ObserveError> {
    let mut lookup = Lookup::default();
    for reference in objects {
        if reference.name.is_empty() || reference.namespace.is_empty() {
            continue;
        }
        let key = (reference.namespace.clone(), reference.name.clone());
        match reference.kind.to_lowercase().as_str() {
            "secret" if !lookup.secrets.contains_key(&key) => {
                let api: Api<Secret> = Api::namespaced(client.clone(), &key.0);
                let found = api
                    .get_opt(&key.1)
                    .await
                    .map_err(|e| failed(format!("Secret {}/{}", key.0, key.1), e))?;
                lookup.secrets.extend(found.map(|secret| (key, secret)));
            }
            "configmap" if !lookup.config_maps.contains_key(&key) => {
                let api: Api<ConfigMap> = Api::namespaced(client.clone(), &key.0);
                let found = api
                    .get_opt(&key.1)
                    .await
                    .map_err(|e| failed(format!("ConfigMap {}/{}", key.0, key.1), e))?;
                lookup.config_maps.extend(found.map(|map| (key, map)));
            }
            _ => {}
        }
    }
    Ok(lookup)
}

async fn profile(
    client: &Client,
    namespace: &str,
    reference: &ObjectReference,
) -> Result<ProfileParams, ObserveError> {
    let namespace = if reference.namespace.is_empty() { namespace } else { &reference.namespace };
    let api: Api<Profile> = Api::namespaced(client.clone(), namespace);
    let name = format!("Profile {namespace}/{}", reference.name);
    let profile = api.get(&reference.name).await.map_err(|e| failed(name.clone(), e))?;
    let Some(kind) = LocationType::parse(&profile.location.kind) else {
        return Err(invalid(format!(
            "{name}: unknown location type {:?}\nhint: use s3Compliant or filestore",
            profile.location.kind
        )));
    };
    let credential = match (profile.credential.kind.as_str(), kind) {
        ("", LocationType::FileStore) => CredentialParams::None,
        ("keyPair", _) => {
            let Some(pair) = &profile.credential.key_pair else {
                return Err(invalid(format!("{name}: credential.keyPair is missing")));
            };
            let mut reference = pair.secret.clone();
            if reference.namespace.is_empty() {
                reference.namespace = namespace.to_owned();
            }
            let secret = secret(client, &reference).await?;
            let value = |key: &str| {
                let data = secret.data.as_ref().and_then(|d| d.get(key));
                data.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).ok_or_else(|| {
                    invalid(format!(
                        "{name}: Secret {}/{} has no key {key:?}",
                        reference.namespace, reference.name
                    ))
                })
            };
            CredentialParams::KeyPair { id: value(&pair.id_field)?, secret: value(&pair.secret_field)? }
        }
        ("secret", _) => {
            let Some(reference) = &profile.credential.secret else {
                return Err(invalid(format!("{name}: credential.secret is missing")));
            };
            CredentialParams::Secret(Box::new(secret(client, reference).await?))
        }
        (other, _) => {
            return Err(invalid(format!(
                "{name}: credential type {other:?} is not supported\nhint: use keyPair or secret"
            )));
        }
    };
    Ok(ProfileParams { location: profile.location, credential, skip_ssl_verify: profile.skip_ssl_verify })
}

/// The API of the resource that a reference names by group, version and plural.
pub fn resource_of(reference: &ObjectReference) -> ApiResource {
    let group = reference.group.trim_end_matches('/');
    // Some write group and version together, as in every other place of Kubernetes.
    let (group, version) = match reference.api_version.split_once('/') {
        Some((group, version)) => (group, version),
        None => (group, reference.api_version.as_str()),
    };
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, version, &reference.kind),
        &reference.resource,
    )
}

/// The API of a resource in a namespace, or of the cluster when the namespace is empty.
pub fn dynamic(client: &Client, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
    if namespace.is_empty() {
        Api::all_with(client.clone(), resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, resource)
    }
}

async fn object(
    client: &Client,
    reference: &ObjectReference,
) -> Result<(serde_json::Value, Subject), ObserveError> {
    let builtin = |group: &str, kind: &str, plural: &str| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural)
    };
    let kind = reference.kind.to_lowercase();
    let (mut name, mut namespace) = (reference.name.as_str(), reference.namespace.as_str());
    let resource = match kind.as_str() {
        "statefulset" => builtin("apps", "StatefulSet", "statefulsets"),
        "deployment" => builtin("apps", "Deployment", "deployments"),
        "deploymentconfig" => builtin("apps.openshift.io", "DeploymentConfig", "deploymentconfigs"),
        "pvc" => builtin("", "PersistentVolumeClaim", "persistentvolumeclaims"),
        "namespace" => {
            name = if name.is_empty() { namespace } else { name };
            builtin("", "Namespace", "namespaces")
        }
        _ if reference.api_version.is_empty() || reference.resource.is_empty() => {
            return Err(invalid(format!(
                "Not a known object Kind {:?}. Action needs apiVersion and resource",
                reference.kind
            )));
        }
        _ => resource_of(reference),
    };
    if name.is_empty() {
        return Err(invalid("the object of the action has no name"));
    }
    let subject_namespace = if namespace.is_empty() { name } else { namespace }.to_owned();
    if kind == "namespace" {
        namespace = "";
    }
    let what = format!("{} {namespace}/{name}", resource.plural);
    let found = dynamic(client, &resource, namespace).get(name).await.map_err(|e| failed(what.clone(), e))?;
    let subject = match kind.as_str() {
        "statefulset" => Subject::StatefulSet(workload(client, &found, &what).await?),
        "deployment" => Subject::Deployment(workload(client, &found, &what).await?),
        "deploymentconfig" => Subject::DeploymentConfig(workload(client, &found, &what).await?),
        "pvc" => Subject::Pvc { name: name.to_owned(), namespace: namespace.to_owned() },
        "namespace" => Subject::Namespace(subject_namespace),
        _ => Subject::Other,
    };
    let mut object = serde_json::to_value(&found).map_err(|source| ObserveError::Request {
        what: what.clone(),
        source: kube::Error::SerdeError(source),
    })?;
    if let Some(metadata) = object.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Ok((object, subject))
}

/// The label selector of a workload, as text; `None` when it selects nothing.
pub fn selector_of(object: &serde_json::Value) -> Option<String> {
    let selector = object.pointer("/spec/selector")?;
    // A DeploymentConfig has a plain map.
    let labels = selector.get("matchLabels").or(Some(selector))?.as_object()?;
    let mut parts: Vec<String> =
        labels.iter().filter_map(|(k, v)| Some(format!("{k}={}", v.as_str()?))).collect();
    for expression in selector.get("matchExpressions").and_then(|e| e.as_array()).into_iter().flatten() {
        let key = expression.get("key")?.as_str()?;
        let values: Vec<_> = expression
            .get("values")
            .and_then(|v| v.as_array())
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str())
            .collect();
        parts.push(match expression.get("operator")?.as_str()? {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    (!parts.is_empty()).then(|| parts.join(","))
}

async fn workload(client: &Client, object: &DynamicObject, what: &str) -> Result<Workload, ObserveError> {
    let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
    let Some(selector) = selector_of(&object.data) else {
        return Err(invalid(format!("{what} has no selector for its pods")));
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let list = api
        .list(&ListParams::default().labels(&selector))
        .await
        .map_err(|e| failed(format!("the pods of {what}"), e))?;
    let running = |pod: &Pod| {
        pod.metadata.deletion_timestamp.is_none()
            && pod.status.as_ref().is_some_and(|s| s.phase.as_deref() == Some("Running"))
    };
    Ok(Workload {
        name,
        namespace,
        pods: list.items.iter().filter(|p| running(p)).map(workload_pod).collect(),
    })
}

fn workload_pod(pod: &Pod) -> WorkloadPod {
    let mut seen = WorkloadPod { name: pod.name_any(), ..WorkloadPod::default() };
    let Some(spec) = &pod.spec else { return seen };
    seen.containers = spec.containers.iter().map(|c| c.name.clone()).collect();
    let claims: BTreeMap<&str, &str> = spec
        .volumes
        .iter()
        .flatten()
        .filter_map(|v| Some((v.name.as_str(), v.persistent_volume_claim.as_ref()?.claim_name.as_str())))
        .collect();
    for mount in spec.containers.iter().flat_map(|c| c.volume_mounts.iter().flatten()) {
        if let Some(claim) = claims.get(mount.name.as_str()) {
            seen.claims.insert((*claim).to_owned(), mount.mount_path.clone());
        }
    }
    seen
}
