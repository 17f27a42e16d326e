//! Claims, volumes, storage classes.

use pilothouse_value::{Quantity, Value, names};

use super::{At, Errors, IMMUTABLE, label_selector, volumes};

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

fn access_modes(spec: &At<'_>, errors: &mut Errors) {
    let path = spec.path.child("accessModes");
    let modes: Vec<&str> = spec.value.items_at(&["accessModes"]).iter().filter_map(Value::as_str).collect();
    for mode in modes.iter().filter(|mode| !MODES.contains(mode)) {
        errors.unsupported(&path, *mode, &MODES);
    }
    let once_pod = modes.contains(&"ReadWriteOncePod");
    if once_pod && modes.iter().any(|mode| *mode != "ReadWriteOncePod" && MODES.contains(mode)) {
        errors.forbidden(&path, "may not use ReadWriteOncePod with other access modes");
    }
}

fn quantity(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str).and_then(|text| text.parse().ok())
}

pub(super) fn claim(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    claim_spec(&spec, errors);
    if let Some(old) = old {
        claim_update(at, old, errors);
    }
}

fn claim_spec(spec: &At<'_>, errors: &mut Errors) {
    if spec.items("accessModes").is_empty() {
        errors.required(&spec.path.child("accessModes"), "at least 1 access mode is required");
    }
    if let Some(selector) = spec.find("selector") {
        label_selector(&selector, errors);
    }
    access_modes(spec, errors);
    let path = spec.path.child("resources").key("storage");
    let storage = spec.value.at(&["resources", "requests", "storage"]);
    match quantity(storage) {
        None => errors.required(&path, ""),
        Some(size) if size.nano() <= 0 => {
            errors.invalid(&path, storage.cloned().unwrap_or_default(), "must be greater than zero");
        }
        Some(_) => {}
    }
    for field in ["storageClassName", "volumeAttributesClassName"] {
        let name = spec.text(field);
        if !name.is_empty() {
            errors.complaints(&spec.path.child(field), name, names::dns1123_subdomain(name));
        }
    }
    errors.one_of(spec, "volumeMode", &["Block", "Filesystem"], false);
}

fn claim_update(at: &At<'_>, old: &Value, errors: &mut Errors) {
    let bound = at.value.str_at(&["status", "phase"]) == Some("Bound");
    let kept = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        if bound {
            spec.take(&["resources", "requests", "storage"]);
            spec.take(&["volumeAttributesClassName"]);
        }
        // The volume is filled in once, when the claim is bound; a class may be given to a claim that has none.
        if old.str_at(&["spec", "volumeName"]).is_none_or(str::is_empty) {
            spec.take(&["volumeName"]);
        }
        if old.at(&["spec", "storageClassName"]).is_none() {
            spec.take(&["storageClassName"]);
        }
        spec
    };
    let spec = at.child("spec");
    if kept(at.value) != kept(old) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.forbidden(&spec.path, format!("{detail}\n"));
    }
    let size = |object: &Value, path: &[&str]| quantity(object.at(path));
    let (new, before) = (size(at.value, REQUEST), size(old, REQUEST));
    let capacity = size(old, &["status", "capacity", "storage"]).unwrap_or(Quantity::from_i64(0));
    if let (Some(new), Some(before)) = (new, before)
        && new < before
        && new <= capacity
    {
        let path = spec.path.child("resources").child("requests").child("storage");
        errors.forbidden(&path, "field can not be less than status.capacity");
    }
}

const REQUEST: &[&str] = &["spec", "resources", "requests", "storage"];

/// What a volume can be made of, in the order in which upstream looks.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(super) fn volume(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    if spec.items("accessModes").is_empty() {
        errors.required(&spec.path.child("accessModes"), "");
    }
    access_modes(&spec, errors);
    let capacity = spec.child("capacity");
    let size = capacity.value.get("storage");
    if spec.map("capacity").next().is_none() {
        errors.required(&capacity.path, "");
    }
    if size.is_none() || spec.map("capacity").count() > 1 {
        errors.unsupported(&capacity.path, capacity.value.clone(), &["storage"]);
    } else if quantity(size).is_some_and(|size| size.nano() <= 0) {
        let path = capacity.path.key("storage");
        errors.invalid(&path, size.cloned().unwrap_or_default(), "must be greater than zero");
    }
    errors.one_of(&spec, "persistentVolumeReclaimPolicy", &["Delete", "Recycle", "Retain"], false);
    errors.one_of(&spec, "volumeMode", &["Block", "Filesystem"], false);
    let mut sources = SOURCES.iter().filter_map(|kind| spec.find(kind));
    match sources.next() {
        None => errors.required(&spec.path, "must specify a volume type"),
        Some(first) if first.path.as_str().ends_with("hostPath") => volumes::host_path(&first, errors),
        Some(first) => {
            if first.path.as_str().ends_with("local") && spec.find("nodeAffinity").is_none() {
                errors.required(&spec.path.child("nodeAffinity"), "Local volume requires node affinity");
            }
        }
    }
    for more in sources {
        errors.forbidden(&more.path, "may not specify more than 1 volume type");
    }
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        if SOURCES.iter().any(|source| spec.value.get(source) != old.get(source)) {
            let detail = "spec.persistentvolumesource is immutable after creation";
            errors.forbidden(&spec.path.child("persistentvolumesource"), format!("{detail}\n"));
        }
        errors.immutable(&spec, old, "volumeMode");
    }
}

pub(super) fn class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    if at.text("provisioner").is_empty() {
        errors.required(&at.path.child("provisioner"), "");
    }
    errors.one_of(at, "reclaimPolicy", &["Delete", "Retain"], false);
    errors.one_of(at, "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"], true);
    let Some(old) = old else { return };
    // Upstream shows the old value of these as null.
    for field in ["parameters", "provisioner"] {
        if at.value.get(field) != old.get(field) {
            errors.invalid(&at.path.child(field), Value::Null, IMMUTABLE);
        }
    }
    for field in ["reclaimPolicy", "volumeBindingMode"] {
        errors.immutable(at, old, field);
    }
}
