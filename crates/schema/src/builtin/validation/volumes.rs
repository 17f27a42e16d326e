//! The volumes of a pod, and the files that they show.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::names;

use super::{At, Errors, descending_path, environment, no_backsteps, sources};

pub(super) fn volumes(spec: &At<'_>, pod: &str, errors: &mut Errors) {
    let _good = sorted_out(spec, pod, errors);
}

/// The volumes that containers may mount: those without a fault.
pub(super) fn good<'v>(spec: &At<'v>) -> Vec<At<'v>> {
    sorted_out(spec, "", &mut Errors::default())
}

/// `pod` names the pod that the volumes are of, if it has a name yet.
fn sorted_out<'v>(spec: &At<'v>, pod: &str, errors: &mut Errors) -> Vec<At<'v>> {
    let mut seen = BTreeSet::new();
    let mut good = Vec::new();
    for volume in spec.items("volumes") {
        let before = errors.0.len();
        let kind = source(&volume, errors);
        let name = volume.text("name");
        let path = volume.path.child("name");
        if kind == "ephemeral" && !pod.is_empty() && !name.is_empty() {
            let claim = format!("{pod}-{name}");
            let quoted = pilothouse_value::field::quote(&claim);
            for complaint in names::dns1123_subdomain(&claim) {
                errors.invalid(&path, name, format!("PVC name {quoted}: {complaint}"));
            }
        }
        if name.is_empty() {
            errors.required(&path, "");
        } else {
            errors.complaints(&path, name, names::dns1123_label(name));
        }
        if seen.contains(name) {
            errors.0.push(Error::duplicate(&path, name));
        }
        if errors.0.len() == before {
            seen.insert(name);
            good.push(volume);
        }
    }
    good
}

/// Checks what a volume is made of; answers what it is.
fn source(volume: &At<'_>, errors: &mut Errors) -> &'static str {
    // In the order in which upstream looks: the first one counts, the others are too many.
    const ORDER: [&str; 30] = [
        "emptyDir",
        "hostPath",
        "gitRepo",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "secret",
        "nfs",
        "iscsi",
        "glusterfs",
        "flocker",
        "persistentVolumeClaim",
        "rbd",
        "cinder",
        "cephfs",
        "quobyte",
        "downwardAPI",
        "fc",
        "flexVolume",
        "configMap",
        "azureFile",
        "vsphereVolume",
        "photonPersistentDisk",
        "portworxVolume",
        "azureDisk",
        "storageos",
        "projected",
        "scaleIO",
        "csi",
        "ephemeral",
        "image",
    ];
    let mut given = ORDER.iter().filter_map(|kind| volume.find(kind).map(|at| (*kind, at)));
    let Some((kind, at)) = given.next() else {
        errors.required(&volume.path, "must specify a volume type");
        return "";
    };
    sources::check(kind, &at, errors);
    for (more, _) in given {
        too_many(volume, more, errors);
    }
    kind
}

/// Refuses a second kind of source, whose path has upstream's spelling.
pub(super) fn too_many(at: &At<'_>, kind: &str, errors: &mut Errors) {
    let spelled = match kind {
        "cephfs" => "cephFS",
        "downwardAPI" => "downwarAPI",
        kind => kind,
    };
    errors.forbidden(&at.path.child(spelled), "may not specify more than 1 volume type");
}

pub(super) fn host_path(at: &At<'_>, errors: &mut Errors) {
    let path = at.text("path");
    match path {
        "" => return errors.required(&at.path.child("path"), ""),
        _ => no_backsteps(&at.path.child("path"), path, errors),
    }
    let types =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if !types.contains(&at.text("type")) {
        errors.unsupported(&at.path.child("type"), at.text("type"), &types);
    }
}

pub(super) fn mode(at: &At<'_>, field: &str, errors: &mut Errors) {
    if let Some(mode) = at.int(field).filter(|mode| !(0..=0o777).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(&at.path.child(field), mode, detail);
    }
}

/// The files of a secret or a config map.
pub(super) fn items(at: &At<'_>, errors: &mut Errors) {
    mode(at, "defaultMode", errors);
    at.items("items").iter().for_each(|item| self::item(item, errors));
}

/// One file of a secret or a config map.
pub(super) fn item(item: &At<'_>, errors: &mut Errors) {
    if item.text("key").is_empty() {
        errors.required(&item.path.child("key"), "");
    }
    file_path(&item.path.child("path"), item.text("path"), errors);
    mode(item, "mode", errors);
}

pub(super) fn file_path(path: &pilothouse_value::field::Path, text: &str, errors: &mut Errors) {
    if text.is_empty() {
        errors.required(path, "");
        return;
    }
    descending_path(path, text, errors);
    if text.starts_with("..") && !text.starts_with("../") && text != ".." {
        errors.invalid(path, text, "must not start with '..'");
    }
}

/// A file that shows a field; upstream names the volume in errors, not the file.
pub(super) fn downward_file(at: &At<'_>, item: &At<'_>, errors: &mut Errors) {
    file_path(&at.path.child("path"), item.text("path"), errors);
    let moved = |field: &str| item.find(field).map(|found| At { path: at.path.child(field), ..found });
    match (moved("fieldRef"), moved("resourceFieldRef")) {
        (Some(reference), resource) => {
            environment::object_field(&reference, &environment::FILE_FIELDS, errors);
            if resource.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.invalid(&at.path, "resource", detail);
            }
        }
        (None, Some(resource)) => environment::resource_field(&resource, true, errors),
        (None, None) => errors.required(&at.path, "one of fieldRef and resourceFieldRef is required"),
    }
    mode(&At { value: item.value, path: at.path.clone() }, "mode", errors);
}
