//! What a container mounts, and the block devices it gets.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_value::field::Error;

use super::{At, Errors, descending_path, volumes};

pub(super) fn all(spec: &At<'_>, at: &At<'_>, errors: &mut Errors) {
    let volumes = volumes::good(spec);
    volume_mounts(at, &volumes, errors);
    volume_devices(at, &volumes, errors);
}

fn volume_mounts(at: &At<'_>, volumes: &[At<'_>], errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    let list = at.path.child("volumeMounts");
    let volumes: BTreeSet<&str> = volumes.iter().map(|volume| volume.text("name")).collect();
    let (devices, device_paths) = both(&at.items("volumeDevices"), "devicePath");
    for mount in at.items("volumeMounts") {
        let (name, path) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.required(&mount.path.child("name"), "");
        }
        if !volumes.contains(name) {
            errors.0.push(Error::not_found(&mount.path.child("name"), name));
        }
        if path.is_empty() {
            errors.required(&mount.path.child("mountPath"), "");
        }
        if !seen.insert(path) {
            errors.invalid(&mount.path.child("mountPath"), path, "must be unique");
        }
        if devices.contains(name) {
            errors.invalid(&mount.path.child("name"), name, "must not already exist in volumeDevices");
        }
        if device_paths.contains(path) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.invalid(&mount.path.child("mountPath"), path, detail);
        }
        // Upstream names the list here, not the mount.
        let (sub, expression) = (mount.text("subPath"), mount.text("subPathExpr"));
        descending_path(&list.child("subPath"), sub, errors);
        if !sub.is_empty() && !expression.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.invalid(&mount.path.child("subPathExpr"), expression, detail);
        }
        descending_path(&list.child("subPathExpr"), expression, errors);
        let propagation = mount.text("mountPropagation");
        let path = list.child("mountPropagation");
        if mount.find("mountPropagation").is_some() {
            let known = ["Bidirectional", "HostToContainer", "None"];
            if !known.contains(&propagation) {
                errors.unsupported(&path, propagation, &known);
            }
            if propagation == "Bidirectional" && !at.child("securityContext").flag("privileged") {
                let detail = "Bidirectional mount propagation is available only to privileged containers";
                errors.forbidden(&path, detail);
            }
        }
        let path = list.child("recursiveReadOnly");
        match mount.text("recursiveReadOnly") {
            "" if mount.find("recursiveReadOnly").is_none() => {}
            "Disabled" => {}
            "Enabled" | "IfPossible" => {
                if !mount.flag("readOnly") {
                    errors.forbidden(&path, "may only be specified when readOnly is true");
                }
                if !matches!(propagation, "" | "None") {
                    errors.forbidden(
                        &path,
                        "may only be specified when mountPropagation is None or not specified",
                    );
                }
            }
            other => errors.unsupported(&path, other, &["Disabled", "Enabled", "IfPossible"]),
        }
    }
}

fn volume_devices(at: &At<'_>, volumes: &[At<'_>], errors: &mut Errors) {
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let mut known: BTreeMap<&str, &At<'_>> = BTreeMap::new();
    for volume in volumes {
        known.entry(volume.text("name")).or_insert(volume);
    }
    let (mounts, mount_paths) = both(&at.items("volumeMounts"), "mountPath");
    for device in at.items("volumeDevices") {
        let (name, path) = (device.text("name"), device.text("devicePath"));
        let (name_path, device_path) = (device.path.child("name"), device.path.child("devicePath"));
        if name.is_empty() {
            errors.required(&name_path, "");
        }
        if names.contains(name) {
            errors.invalid(&name_path, name, "must be unique");
        }
        match known.get(name) {
            None => errors.0.push(Error::not_found(&name_path, name)),
            Some(volume) => {
                if volume.find("persistentVolumeClaim").is_none() && volume.find("ephemeral").is_none() {
                    let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                    errors.invalid(&name_path, name, detail);
                }
            }
        }
        if path.is_empty() {
            errors.required(&device_path, "");
        }
        if paths.contains(path) {
            errors.invalid(&device_path, path, "must be unique");
        }
        if path.split('/').any(|part| part == "..") {
            errors.invalid(&device_path, path, "can not contain backsteps ('..')");
        } else {
            paths.insert(path);
        }
        if mounts.contains(name) {
            errors.invalid(&name_path, name, "must not already exist in volumeMounts");
        }
        if mount_paths.contains(path) {
            errors.invalid(&device_path, path, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}

/// The names of items, and where they are put.
fn both<'v>(items: &[At<'v>], path: &str) -> (BTreeSet<&'v str>, BTreeSet<&'v str>) {
    items.iter().map(|item| (item.text("name"), item.text(path))).unzip()
}
