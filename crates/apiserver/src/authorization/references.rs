//! What a pod refers to in the API: secrets, config maps, claims, accounts. The node authorizer lets a node read what its
//! pods refer to, and admission lets it make no pods that refer to anything.

use std::collections::BTreeSet;

use pilothouse_value::{Value, object};

/// The lists of containers.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
/// Volumes that need nothing of the API.
const PLAIN_VOLUMES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];
/// Where volumes of pods name a secret.
const VOLUME_SECRETS: [&[&str]; 10] = [
    &["azureFile", "secretName"],
    &["cephfs", "secretRef", "name"],
    &["cinder", "secretRef", "name"],
    &["flexVolume", "secretRef", "name"],
    &["rbd", "secretRef", "name"],
    &["secret", "secretName"],
    &["scaleIO", "secretRef", "name"],
    &["iscsi", "secretRef", "name"],
    &["storageos", "secretRef", "name"],
    &["csi", "nodePublishSecretRef", "name"],
];
/// Where persistent volumes name a secret that a kubelet reads.
const PERSISTENT_SECRETS: [&[&str]; 10] = [
    &["cephfs", "secretRef"],
    &["cinder", "secretRef"],
    &["flexVolume", "secretRef"],
    &["rbd", "secretRef"],
    &["scaleIO", "secretRef"],
    &["iscsi", "secretRef"],
    &["storageos", "secretRef"],
    &["csi", "nodePublishSecretRef"],
    &["csi", "nodeStageSecretRef"],
    &["csi", "nodeExpandSecretRef"],
];

/// The names of the secrets that a pod refers to.
pub(crate) fn secrets(pod: &Value) -> BTreeSet<&str> {
    let pull = pod.items_at(&["spec", "imagePullSecrets"]).iter().filter_map(|one| one.str_at(&["name"]));
    let volumes = pod.items_at(&["spec", "volumes"]).iter();
    let of_volume = |volume| {
        let own = VOLUME_SECRETS.iter().filter_map(move |path| Value::str_at(volume, path));
        own.chain(projected(volume, "secret"))
    };
    let names = environment(pod, "secretKeyRef", "secretRef").chain(pull).chain(volumes.flat_map(of_volume));
    names.filter(|name| !name.is_empty()).collect()
}

/// The names of the config maps that a pod refers to.
pub(crate) fn config_maps(pod: &Value) -> BTreeSet<&str> {
    let volumes = pod.items_at(&["spec", "volumes"]).iter();
    let of_volume =
        |volume| projected(volume, "configMap").chain(Value::str_at(volume, &["configMap", "name"]));
    let names = environment(pod, "configMapKeyRef", "configMapRef").chain(volumes.flat_map(of_volume));
    names.filter(|name| !name.is_empty()).collect()
}

fn environment<'a>(pod: &'a Value, key: &'a str, whole: &'a str) -> impl Iterator<Item = &'a str> {
    let containers = LISTS.into_iter().flat_map(|list| pod.items_at(&["spec", list]));
    containers.flat_map(move |container| {
        let single = container.items_at(&["env"]).iter();
        let single = single.filter_map(move |one| one.str_at(&["valueFrom", key, "name"]));
        single.chain(
            container.items_at(&["envFrom"]).iter().filter_map(move |one| one.str_at(&[whole, "name"])),
        )
    })
}

fn projected<'a>(volume: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a str> {
    volume.items_at(&["projected", "sources"]).iter().filter_map(move |source| source.str_at(&[kind, "name"]))
}

/// The names of the claims that a pod mounts, also of those that are made for it.
pub(crate) fn claims(pod: &Value) -> BTreeSet<String> {
    let volumes = pod.items_at(&["spec", "volumes"]).iter();
    let name = |volume: &Value| match volume.str_at(&["persistentVolumeClaim", "claimName"]) {
        Some(name) => Some(name.to_owned()),
        None => volume
            .get("ephemeral")
            .map(|_| format!("{}-{}", object::name(pod), volume.str_at(&["name"]).unwrap_or_default())),
    };
    volumes.filter_map(name).collect()
}

/// The names of the resource claims of a pod.
pub(crate) fn resource_claims(pod: &Value) -> BTreeSet<&str> {
    let named = pod.items_at(&["spec", "resourceClaims"]).iter();
    let named = named.filter_map(|claim| claim.str_at(&["resourceClaimName"]));
    let made = pod.items_at(&["status", "resourceClaimStatuses"]).iter();
    let made = made.filter_map(|claim| claim.str_at(&["resourceClaimName"]));
    let extended = pod.str_at(&["status", "extendedResourceClaimStatus", "resourceClaimName"]);
    named.chain(made).chain(extended).collect()
}

/// The secrets of a persistent volume that a kubelet reads, with their namespaces.
pub(crate) fn of_persistent_volume(volume: &Value) -> BTreeSet<(&str, &str)> {
    let spec = volume.get("spec");
    let claim = volume.str_at(&["spec", "claimRef", "namespace"]).unwrap_or_default();
    let of = |path: &&[&str]| {
        let reference = spec?.at(path)?;
        Some((reference.str_at(&["namespace"]).unwrap_or(claim), reference.str_at(&["name"])?))
    };
    let azure = spec.and_then(|spec| spec.get("azureFile")).and_then(|file| {
        Some((file.str_at(&["secretNamespace"]).unwrap_or(claim), file.str_at(&["secretName"])?))
    });
    PERSISTENT_SECRETS.iter().filter_map(of).chain(azure).collect()
}

/// What of the API a pod needs, as upstream's messages name it; `None` for nothing.
///
/// # Errors
/// For a volume of a kind that is not known.
pub(crate) fn needs_api(pod: &Value) -> Result<Option<&'static str>, String> {
    if pod.str_at(&["spec", "serviceAccountName"]).is_some_and(|name| !name.is_empty()) {
        return Ok(Some("serviceaccounts"));
    }
    if !secrets(pod).is_empty() {
        return Ok(Some("secrets"));
    }
    if !config_maps(pod).is_empty() {
        return Ok(Some("configmaps"));
    }
    if !pod.items_at(&["spec", "resourceClaims"]).is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in pod.items_at(&["spec", "volumes"]) {
        let has = |kind: &str| volume.get(kind).is_some_and(|source| !source.is_null());
        if PLAIN_VOLUMES.iter().any(|kind| has(kind)) {
            continue;
        }
        let needs = [
            ("configMap", "configmaps (via configmap volumes)"),
            ("secret", "secrets (via secret volumes)"),
            ("csi", "csidrivers (via CSI volumes)"),
            ("glusterfs", "endpoints (via glusterFS volumes)"),
            ("persistentVolumeClaim", "persistentvolumeclaims"),
            ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
            ("azureFile", "secrets (via azureFile volumes)"),
        ];
        if let Some((_, what)) = needs.into_iter().find(|(kind, _)| has(kind)) {
            return Ok(Some(what));
        }
        let name = volume.str_at(&["name"]).unwrap_or_default();
        if !has("projected") {
            return Err(format!("unknown volume type for volume  {name:?}"));
        }
        for source in volume.items_at(&["projected", "sources"]) {
            let has = |kind: &str| source.get(kind).is_some_and(|source| !source.is_null());
            let needs = [
                ("configMap", "configmaps (via projected volumes)"),
                ("secret", "secrets (via projected volumes)"),
                ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
                ("clusterTrustBundle", "clustertrustbundles"),
                ("podCertificate", "podcertificates"),
            ];
            if let Some((_, what)) = needs.into_iter().find(|(kind, _)| has(kind)) {
                return Ok(Some(what));
            }
            if !has("downwardAPI") {
                return Err(format!("unknown source for projected volume {name:?}"));
            }
        }
    }
    Ok(None)
}
