//! The volumes of a pod.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::names;

use super::{At, Errors, descending_path, no_backsteps};

pub(super) fn volumes(spec: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for volume in spec.items("volumes") {
        source(&volume, spec, errors);
        let name = volume.text("name");
        let path = volume.path.child("name");
        if name.is_empty() {
            errors.required(&path, "");
            continue;
        }
        errors.complaints(&path, name, names::dns1123_label(name));
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&path, name));
        }
    }
}

fn source(volume: &At<'_>, spec: &At<'_>, errors: &mut Errors) {
    // In the order in which upstream looks: the first one counts, the others are too many.
    let order = [
        "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
        "glusterfs",
        "persistentVolumeClaim",
        "rbd",
        "cinder",
        "cephfs",
        "flocker",
        "downwardAPI",
        "fc",
        "flexVolume",
        "configMap",
        "azureFile",
        "vsphereVolume",
        "quobyte",
        "azureDisk",
        "storageos",
        "photonPersistentDisk",
        "portworxVolume",
        "scaleIO",
        "projected",
        "csi",
        "ephemeral",
        "image",
    ];
    let mut given = order.iter().filter_map(|kind| volume.find(kind).map(|at| (*kind, at)));
    let Some((kind, at)) = given.next() else {
        errors.required(&volume.path, "must specify a volume type");
        return;
    };
    let need = |field: &str, errors: &mut Errors| {
        if at.text(field).is_empty() {
            errors.required(&at.path.child(field), "");
        }
    };
    match kind {
        "hostPath" => host_path(&at, errors),
        "secret" => {
            need("secretName", errors);
            items(&at, errors);
        }
        "configMap" => {
            need("name", errors);
            items(&at, errors);
        }
        "persistentVolumeClaim" => need("claimName", errors),
        "nfs" => {
            need("server", errors);
            need("path", errors);
        }
        "csi" => need("driver", errors),
        "downwardAPI" => {
            mode(&at, "defaultMode", errors);
            at.items("items").iter().for_each(|item| downward_item(&at, item, errors));
        }
        "projected" => projected(&at, spec, errors),
        _ => {}
    }
    for (_, more) in given {
        errors.forbidden(&more.path, "may not specify more than 1 volume type");
    }
}

pub(super) fn host_path(at: &At<'_>, errors: &mut Errors) {
    let path = at.text("path");
    match path {
        "" => errors.required(&at.path.child("path"), ""),
        _ => no_backsteps(&at.path.child("path"), path, errors),
    }
    let types =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if !types.contains(&at.text("type")) {
        errors.unsupported(&at.path.child("type"), at.text("type"), &types);
    }
}

fn mode(at: &At<'_>, field: &str, errors: &mut Errors) {
    if let Some(mode) = at.int(field).filter(|mode| !(0..=0o777).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(&at.path.child(field), mode, detail);
    }
}

/// The files of a secret or a config map.
fn items(at: &At<'_>, errors: &mut Errors) {
    mode(at, "defaultMode", errors);
    for item in at.items("items") {
        if item.text("key").is_empty() {
            errors.required(&item.path.child("key"), "");
        }
        file_path(&item.path.child("path"), item.text("path"), errors);
        mode(&item, "mode", errors);
    }
}

fn file_path(path: &pilothouse_value::field::Path, text: &str, errors: &mut Errors) {
    if text.is_empty() {
        errors.required(path, "");
        return;
    }
    descending_path(path, text, errors);
    if text.starts_with("..") && !text.starts_with("../") && text != ".." {
        errors.invalid(path, text, "must not start with '..'");
    }
}

fn downward_item(at: &At<'_>, item: &At<'_>, errors: &mut Errors) {
    file_path(&item.path.child("path"), item.text("path"), errors);
    match (item.find("fieldRef"), item.find("resourceFieldRef")) {
        // Upstream names the volume, not the file.
        (None, None) => errors.required(&at.path, "one of fieldRef and resourceFieldRef is required"),
        (Some(_), Some(_)) => errors.invalid(
            &at.path,
            "resource",
            "fieldRef and resourceFieldRef can not be specified simultaneously",
        ),
        _ => {}
    }
    mode(item, "mode", errors);
}

fn projected(at: &At<'_>, spec: &At<'_>, errors: &mut Errors) {
    mode(at, "defaultMode", errors);
    for source in at.items("sources") {
        for kind in ["secret", "configMap"] {
            let Some(one) = source.find(kind) else { continue };
            if one.text("name").is_empty() {
                errors.required(&one.path.child("name"), "");
            }
            items(&one, errors);
        }
        if let Some(downward) = source.find("downwardAPI") {
            downward.items("items").iter().for_each(|item| downward_item(&downward, item, errors));
        }
        if let Some(token) = source.find("serviceAccountToken") {
            let seconds = token.int("expirationSeconds").unwrap_or_default();
            let path = token.path.child("expirationSeconds");
            if seconds < 600 {
                errors.invalid(&path, seconds, "may not specify a duration less than 10 minutes");
            } else if seconds > 1 << 32 {
                errors.invalid(&path, seconds, "may not specify a duration larger than 2^32 seconds");
            }
            if token.text("path").is_empty() {
                errors.required(&at.path.child("path"), "");
            }
            if spec.text("serviceAccountName").is_empty() && is_pod(spec) {
                errors.forbidden(&token.path, "must not be specified when serviceAccountName is not set");
            }
        }
    }
}

/// Whether this is the spec of a pod, not of a template: only there an account must be known.
fn is_pod(spec: &At<'_>) -> bool {
    spec.path.as_str() == "spec"
}
