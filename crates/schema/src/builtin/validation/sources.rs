//! What a volume is made of, kind by kind.

use std::collections::BTreeSet;

use pilothouse_value::names;

use super::{At, Errors, no_backsteps, storage, volumes};

const PARTITION: &str = "must be between 1 and 255, inclusive";
const LUN: &str = "must be between 0 and 255, inclusive";

/// Checks the source of a pod's volume or of a persistent volume.
pub(super) fn check(kind: &str, at: &At<'_>, errors: &mut Errors) {
    let need = |fields: &[&str], errors: &mut Errors| {
        for field in fields.iter().filter(|field| at.text(field).is_empty()) {
            errors.required(&at.path.child(field), "");
        }
    };
    match kind {
        "hostPath" => volumes::host_path(at, errors),
        "secret" => {
            need(&["secretName"], errors);
            volumes::items(at, errors);
        }
        "configMap" => {
            need(&["name"], errors);
            volumes::items(at, errors);
        }
        "persistentVolumeClaim" => need(&["claimName"], errors),
        "nfs" => {
            need(&["server", "path"], errors);
            if !at.text("path").starts_with('/') {
                errors.invalid(&at.path.child("path"), at.text("path"), "must be an absolute path");
            }
        }
        "downwardAPI" => {
            volumes::mode(at, "defaultMode", errors);
            at.items("items").iter().for_each(|item| volumes::downward_file(at, item, errors));
        }
        "projected" => projected(at, errors),
        "emptyDir" => {
            let negative =
                at.text("sizeLimit").parse::<pilothouse_value::Quantity>().is_ok_and(|q| q.nano() < 0);
            if negative {
                let detail = "SizeLimit field must be a valid resource quantity";
                errors.forbidden(&at.path.child("sizeLimit"), detail);
            }
        }
        "iscsi" => iscsi(at, errors),
        "rbd" => {
            if at.items("monitors").is_empty() {
                errors.required(&at.path.child("monitors"), "");
            }
            need(&["image"], errors);
        }
        "cephfs" if at.items("monitors").is_empty() => errors.required(&at.path.child("monitors"), ""),
        "awsElasticBlockStore" => {
            need(&["volumeID"], errors);
            partition(at, errors);
        }
        "gcePersistentDisk" => {
            // Upstream's path has another name.
            let at = At { path: renamed(&at.path, "gcePersistentDisk", "persistentDisk"), ..at.clone() };
            if at.text("pdName").is_empty() {
                errors.required(&at.path.child("pdName"), "");
            }
            partition(&at, errors);
        }
        "azureDisk" => azure_disk(at, errors),
        "azureFile" => {
            need(&["secretName", "shareName"], errors);
            if at.find("secretNamespace").is_some_and(|at| at.value.as_str() == Some("")) {
                errors.required(&at.path.child("secretNamespace"), "");
            }
        }
        "fc" => fibre_channel(at, errors),
        "glusterfs" => {
            need(&["endpoints", "path"], errors);
            if let Some(namespace) = at.find("endpointsNamespace") {
                match namespace.value.as_str().unwrap_or_default() {
                    "" => {
                        let detail = "if the endpointnamespace is set, it must be a valid namespace name";
                        errors.invalid(&namespace.path, "", detail);
                    }
                    name => errors.complaints(&namespace.path, name, names::dns1123_label(name)),
                }
            }
        }
        "flexVolume" => {
            need(&["driver"], errors);
            for (key, _) in at.map("options") {
                let domain = key.split_once('/').map_or(key, |(domain, _)| domain).to_lowercase();
                let own = ["kubernetes.io", "k8s.io"];
                if own.iter().any(|own| format!(".{domain}").ends_with(&format!(".{own}"))) {
                    let detail = "kubernetes.io and k8s.io namespaces are reserved";
                    errors.invalid(&at.path.child("options").key(key), key, detail);
                }
            }
        }
        "flocker" => flocker(at, errors),
        "portworxVolume" => need(&["volumeID"], errors),
        "cinder" => {
            need(&["volumeID"], errors);
            secret(at, errors);
        }
        "storageos" => {
            match at.text("volumeName") {
                "" => errors.required(&at.path.child("volumeName"), ""),
                name => errors.complaints(&at.path.child("volumeName"), name, names::dns1123_label(name)),
            }
            let namespace = at.text("volumeNamespace");
            if !namespace.is_empty() {
                let path = at.path.child("volumeNamespace");
                errors.complaints(&path, namespace, names::dns1123_label(namespace));
            }
            secret(at, errors);
        }
        "vsphereVolume" => need(&["volumePath"], errors),
        "photonPersistentDisk" => need(&["pdID"], errors),
        "quobyte" => {
            let detail = "must be a host:port pair or multiple pairs separated by commas";
            if at.text("registry").is_empty() {
                errors.required(&at.path.child("registry"), detail);
            } else if at.text("tenant").len() >= 65 {
                let detail = "must be a UUID and may not exceed a length of 64 characters";
                errors.required(&at.path.child("tenant"), detail);
            } else {
                let registry = at.text("registry");
                for _ in registry.split(',').filter(|pair| !pair.contains(':')) {
                    errors.invalid(&at.path.child("registry"), registry, detail);
                }
            }
            need(&["volume"], errors);
        }
        "scaleIO" => need(&["gateway", "system", "volumeName"], errors),
        "gitRepo" => {
            need(&["repository"], errors);
            let directory = at.text("directory");
            super::descending_path(&at.path.child("directory"), directory, errors);
        }
        "csi" => csi(at, errors),
        "image" => {
            need(&["reference"], errors);
            errors.one_of(at, "pullPolicy", &["Always", "IfNotPresent", "Never"], true);
        }
        "ephemeral" => ephemeral(at, errors),
        "local" => match at.text("path") {
            "" => errors.required(&at.path.child("path"), ""),
            path => no_backsteps(&at.path.child("path"), path, errors),
        },
        _ => {}
    }
}

fn renamed(path: &pilothouse_value::field::Path, from: &str, to: &str) -> pilothouse_value::field::Path {
    let text = path.as_str();
    pilothouse_value::field::Path::new(&format!("{}{to}", text.strip_suffix(from).unwrap_or(text)))
}

fn partition(at: &At<'_>, errors: &mut Errors) {
    let partition = at.int("partition").unwrap_or_default();
    if !(0..=255).contains(&partition) {
        errors.invalid(&at.path.child("partition"), partition, PARTITION);
    }
}

/// The secret of a driver: of a pod's volume in the pod's namespace, of a persistent volume in the one that it names.
fn secret(at: &At<'_>, errors: &mut Errors) {
    let Some(secret) = at.find("secretRef") else { return };
    let fields: &[&str] = if is_persistent(at) { &["name", "namespace"] } else { &["name"] };
    for field in fields.iter().filter(|field| secret.text(field).is_empty()) {
        errors.required(&secret.path.child(field), "");
    }
}

/// Whether this is the source of a persistent volume, and not one of the volumes of a pod.
fn is_persistent(at: &At<'_>) -> bool {
    !at.path.as_str().contains("volumes[")
}

fn iscsi(at: &At<'_>, errors: &mut Errors) {
    let known = if is_persistent(at) { "" } else { " starting with iqn, eui, or naa" };
    let name = |field: &str, path: &str, errors: &mut Errors| {
        let text = at.text(field);
        let path = at.path.child(path);
        if !["iqn", "eui", "naa"].iter().any(|start| text.starts_with(start)) {
            errors.invalid(&path, text, format!("must be valid format{known}"));
        } else if !is_initiator(text) {
            errors.invalid(&path, text, "must be valid format");
        }
    };
    if at.text("targetPortal").is_empty() {
        errors.required(&at.path.child("targetPortal"), "");
    }
    if at.text("iqn").is_empty() {
        errors.required(&at.path.child("iqn"), "");
    } else {
        name("iqn", "iqn", errors);
    }
    let lun = at.int("lun").unwrap_or_default();
    if !(0..=255).contains(&lun) {
        errors.invalid(&at.path.child("lun"), lun, LUN);
    }
    if (at.flag("chapAuthDiscovery") || at.flag("chapAuthSession")) && at.find("secretRef").is_none() {
        errors.required(&at.path.child("secretRef"), "");
    }
    if is_persistent(at)
        && let Some(secret) = at.find("secretRef").filter(|secret| secret.text("name").is_empty())
    {
        errors.required(&secret.path.child("name"), "");
    }
    if at.find("initiatorName").is_some() {
        name("initiatorName", "initiatorname", errors);
    }
}

/// A name of an iSCSI node: `iqn.YYYY-MM.NAME:REST`, `eui.` and 16 or `naa.` and 32 letters.
fn is_initiator(name: &str) -> bool {
    let rest = |length: usize| {
        let rest = name.get(4..).unwrap_or_default();
        rest.len() == length && rest.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    if name.starts_with("eui") {
        return rest(16);
    }
    if name.starts_with("naa") {
        return rest(32);
    }
    let Some((head, tail)) = name.split_once(':') else { return false };
    let parts: Vec<&str> = head.splitn(3, '.').collect();
    let date = |text: &str| {
        text.len() == 7
            && text.bytes().enumerate().all(|(at, b)| if at == 4 { b == b'-' } else { b.is_ascii_digit() })
    };
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    matches!(parts[..], [_, when, authority] if date(when) && !authority.is_empty() && authority.chars().all(good))
        && !tail.is_empty()
        && !tail.contains([',', ';', '*', '&', '$', '|'])
        && !tail.contains(char::is_whitespace)
}

fn azure_disk(at: &At<'_>, errors: &mut Errors) {
    let (name, uri) = (at.text("diskName"), at.text("diskURI"));
    if name.is_empty() {
        errors.required(&at.path.child("diskName"), "");
    }
    if uri.is_empty() {
        errors.required(&at.path.child("diskURI"), "");
    }
    errors.one_of(at, "cachingMode", &["None", "ReadOnly", "ReadWrite"], false);
    errors.one_of(at, "kind", &["Dedicated", "Managed", "Shared"], false);
    let path = at.path.child("diskURI");
    match at.text("kind") {
        "Managed" if !uri.starts_with("/subscriptions/") => {
            let form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
            errors.unsupported(&path, uri, &[form]);
        }
        "Managed" => {}
        _ if !uri.starts_with("https://") => {
            let form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
            errors.unsupported(&path, uri, &[form]);
        }
        _ => {}
    }
}

fn fibre_channel(at: &At<'_>, errors: &mut Errors) {
    let path = at.path.child("targetWWNs");
    let (targets, ids) = (at.items("targetWWNs"), at.items("wwids"));
    if targets.is_empty() && ids.is_empty() {
        errors.required(&path, "must specify either targetWWNs or wwids, but not both");
    }
    if targets.is_empty() {
        return;
    }
    if !ids.is_empty() {
        let value = at.child("targetWWNs").value.clone();
        errors.invalid(&path, value, "targetWWNs and wwids can not be specified simultaneously");
    }
    match at.int("lun") {
        None => errors.required(&at.path.child("lun"), "lun is required if targetWWNs is specified"),
        Some(lun) if !(0..=255).contains(&lun) => errors.invalid(&at.path.child("lun"), lun, LUN),
        Some(_) => {}
    }
}

fn flocker(at: &At<'_>, errors: &mut Errors) {
    let (name, id) = (at.text("datasetName"), at.text("datasetUUID"));
    match (name.is_empty(), id.is_empty()) {
        (true, true) => errors.required(&at.path, "one of datasetName and datasetUUID is required"),
        (false, false) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            errors.invalid(&at.path, "resource", detail);
        }
        _ => {}
    }
    if name.contains('/') {
        errors.invalid(&at.path.child("datasetName"), name, "must not contain '/'");
    }
}

/// A driver's own name is not longer than a label.
pub(super) fn csi_driver_length(path: &pilothouse_value::field::Path, name: &str, errors: &mut Errors) {
    if name.len() > 63 {
        errors.0.push(pilothouse_value::field::Error::too_long(path, 63));
    }
}

/// The name of a storage driver.
pub(super) fn csi_driver(path: &pilothouse_value::field::Path, name: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path, "");
    }
    if name.len() > 63 {
        errors.0.push(pilothouse_value::field::Error::too_long(path, 63));
    }
    errors.complaints(path, name, names::dns1123_subdomain(&name.to_lowercase()));
}

fn csi(at: &At<'_>, errors: &mut Errors) {
    let name = at.text("driver");
    match name {
        "" => errors.required(&at.path.child("driver"), ""),
        name => csi_driver(&at.path.child("driver"), name, errors),
    }
    if let Some(secret) = at.find("nodePublishSecretRef") {
        match secret.text("name") {
            "" => errors.required(&secret.path.child("name"), ""),
            name => errors.complaints(&at.path.child("name"), name, names::dns1123_subdomain(name)),
        }
    }
}

fn ephemeral(at: &At<'_>, errors: &mut Errors) {
    let Some(template) = at.find("volumeClaimTemplate") else {
        return errors.required(&at.path.child("volumeClaimTemplate"), "");
    };
    let metadata = template.child("metadata");
    for (key, _) in metadata.map("annotations") {
        errors.complaints(
            &metadata.path.child("annotations"),
            key,
            names::qualified_name(&key.to_lowercase()),
        );
    }
    super::labels(&metadata, "labels", errors);
    for (key, value) in metadata.value.as_object().into_iter().flat_map(|map| map.iter()) {
        if !matches!(key, "annotations" | "labels") && !value.is_null() {
            errors.forbidden(&metadata.path.child(key), "cannot be set");
        }
    }
    storage::claim_spec(&template.child("spec"), None, errors);
}

fn projected(at: &At<'_>, errors: &mut Errors) {
    volumes::mode(at, "defaultMode", errors);
    let mut paths: BTreeSet<String> = BTreeSet::new();
    for source in at.items("sources") {
        let mut given = 0;
        for kind in ["secret", "configMap"] {
            let Some(one) = source.find(kind) else { continue };
            given += 1;
            if one.text("name").is_empty() {
                errors.required(&one.path.child("name"), "");
            }
            for item in one.items("items") {
                volumes::item(&item, errors);
                let path = item.text("path");
                if !path.is_empty() && !paths.insert(path.to_owned()) {
                    errors.invalid(&at.path, one.text("name"), "conflicting duplicate paths");
                }
            }
        }
        if let Some(downward) = source.find("downwardAPI") {
            given += 1;
            for item in downward.items("items") {
                volumes::downward_file(&downward, &item, errors);
                taken(at, item.text("path"), &mut paths, errors);
            }
        }
        if let Some(token) = source.find("serviceAccountToken") {
            given += 1;
            let seconds = token.int("expirationSeconds").unwrap_or_default();
            let path = token.path.child("expirationSeconds");
            if seconds < 600 {
                errors.invalid(&path, seconds, "may not specify a duration less than 10 minutes");
            } else if seconds > 1 << 32 {
                errors.invalid(&path, seconds, "may not specify a duration larger than 2^32 seconds");
            }
            volumes::file_path(&at.path.child("path"), token.text("path"), errors);
        }
        if let Some(bundle) = source.find("clusterTrustBundle") {
            given += 1;
            trust_bundle(&bundle, errors);
            taken(at, bundle.text("path"), &mut paths, errors);
        }
        if let Some(certificate) = source.find("podCertificate") {
            given += 1;
            pod_certificate(at, &certificate, &mut paths, errors);
        }
        if given > 1 {
            errors.forbidden(&source.path, "may not specify more than 1 volume type per source");
        }
    }
}

/// A certificate that is made for the pod.
fn pod_certificate(volume: &At<'_>, at: &At<'_>, paths: &mut BTreeSet<String>, errors: &mut Errors) {
    const KEYS: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
    let signer = at.text("signerName");
    super::certificates::signer_name(&at.path.child("signerName"), signer, errors);
    let key = at.text("keyType");
    if !KEYS.contains(&key) {
        errors.unsupported(&at.path.child("keyType"), key, &KEYS);
    }
    if let Some(seconds) = at.int("maxExpirationSeconds") {
        let path = at.path.child("maxExpirationSeconds");
        let most = if signer.starts_with("kubernetes.io/") { 86_400 } else { 91 * 86_400 };
        if seconds < 3600 {
            errors.invalid(&path, seconds, "if provided, maxExpirationSeconds must be >= 3600");
        }
        if seconds > most {
            errors.invalid(&path, seconds, format!("if provided, maxExpirationSeconds must be <= {most}"));
        }
    }
    let mut given = false;
    for field in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let path = at.text(field);
        if !path.is_empty() {
            given = true;
            volumes::file_path(&at.path.child(field), path, errors);
            taken(volume, path, paths, errors);
        }
    }
    if !given {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.required(&at.path, detail);
    }
}

fn taken(at: &At<'_>, path: &str, paths: &mut BTreeSet<String>, errors: &mut Errors) {
    if !path.is_empty() && !paths.insert(path.to_owned()) {
        errors.invalid(&at.path, path, "conflicting duplicate paths");
    }
}

fn trust_bundle(at: &At<'_>, errors: &mut Errors) {
    match (at.find("name"), at.find("signerName")) {
        (Some(_), Some(_)) => {
            errors.shown(
                &at.path,
                "core.ClusterTrustBundleProjection",
                at.value,
                "only one of name and signerName may be used",
            );
        }
        (Some(name), None) => {
            if name.value.as_str() == Some("") {
                errors.required(&name.path, "must be a valid object name");
            }
            if let Some(selector) = at.find("labelSelector") {
                let detail = "labelSelector must be unset if name is specified";
                errors.invalid(&selector.path, selector.value.clone(), detail);
            }
        }
        (None, Some(signer)) => {
            if signer.value.as_str() == Some("") {
                errors.required(&signer.path, "must be a valid signer name");
            }
            super::certificates::signer_name(&signer.path, signer.value.as_str().unwrap_or_default(), errors);
            if let Some(selector) = at.find("labelSelector") {
                super::label_selector(&selector, errors);
            }
        }
        (None, None) => errors.required(&at.path, "either name or signerName must be specified"),
    }
    volumes::file_path(&at.path.child("path"), at.text("path"), errors);
}
