//! What storage drivers say of themselves: drivers, their nodes, capacities, attachments, classes of attributes.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::{Quantity, Value, names};

use super::{At, Errors, IMMUTABLE, NOT_NEGATIVE, label_selector, sources, storage};

/// Upstream shows null in place of some values that may not change.
fn fixed(at: &At<'_>, old: &Value, field: &str, errors: &mut Errors) {
    if at.value.get(field) != old.get(field) {
        errors.invalid(&at.path.child(field), Value::Null, IMMUTABLE);
    }
}

pub(super) fn attachment(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let source = spec.child("source");
    let (inline, name) = (source.find("inlineVolumeSpec"), source.find("persistentVolumeName"));
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (&inline, &name) {
        (None, None) => errors.required(&source.path, detail),
        (Some(_), Some(_)) => errors.forbidden(&source.path, detail),
        (None, Some(name)) => {
            let text = name.value.as_str().unwrap_or_default();
            if text.is_empty() {
                errors.required(&name.path, "must specify non empty persistentVolumeName");
            }
            errors.complaints(&name.path, text, names::dns1123_subdomain(text));
        }
        (Some(inline), None) => storage::volume_spec(inline, true, errors),
    }
    let node = spec.text("nodeName");
    errors.complaints(&spec.path.child("nodeName"), node, names::dns1123_subdomain(node));
    let attacher = spec.text("attacher");
    driver_name(&spec.path.child("attacher"), attacher, errors);
    if old.is_some_and(|old| old.get("spec") != at.value.get("spec")) {
        errors.invalid(&spec.path, Value::Null, IMMUTABLE);
    }
}

/// A name of a driver in an attachment, which may have upper-case letters.
fn driver_name(path: &pilothouse_value::field::Path, name: &str, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(path, "");
    }
    if name.len() > 63 {
        errors.0.push(Error::too_long(path, 63));
    }
    if !names::dns1123_subdomain(&name.to_lowercase()).is_empty() {
        let detail = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an \
                      alphanumeric character (e.g. 'Example.com', regex used for validation is \
                      '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        errors.invalid(path, name, detail);
    }
}

pub(super) fn driver(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let name = at.child("metadata").text("name");
    sources::csi_driver_length(&at.path.child("metadata").child("name"), name, errors);
    for field in ["attachRequired", "podInfoOnMount", "storageCapacity"] {
        if spec.find(field).is_none() {
            errors.required(&spec.path.child(field), "");
        }
    }
    errors.one_of(&spec, "fsGroupPolicy", &["File", "None", "ReadWriteOnceWithFSType"], false);
    let mut audiences = BTreeSet::new();
    for request in spec.items("tokenRequests") {
        let audience = request.text("audience");
        if !audiences.insert(audience) {
            errors.0.push(Error::duplicate(&request.path.child("audience"), audience));
        }
        let path = request.path.child("expirationSeconds");
        match request.int("expirationSeconds") {
            Some(seconds) if seconds < 600 => {
                errors.invalid(&path, seconds, "may not specify a duration less than 10 minutes");
            }
            Some(seconds) if seconds > 1 << 32 => {
                errors.invalid(&path, seconds, "may not specify a duration larger than 2^32 seconds");
            }
            _ => {}
        }
    }
    for mode in spec.items("volumeLifecycleModes") {
        let text = mode.value.as_str().unwrap_or_default();
        if !["Persistent", "Ephemeral"].contains(&text) {
            errors.unsupported(&spec.path.child("volumeLifecycleModes"), text, &["Persistent", "Ephemeral"]);
        }
    }
    if let Some(seconds) = spec.int("nodeAllocatableUpdatePeriodSeconds").filter(|seconds| *seconds < 10) {
        let detail = "must be greater than or equal to 10 seconds";
        errors.invalid(&spec.path.child("nodeAllocatableUpdatePeriodSeconds"), seconds, detail);
    }
    if let Some(in_secrets) = spec.find("serviceAccountTokenInSecrets")
        && spec.items("tokenRequests").is_empty()
    {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid(&in_secrets.path, in_secrets.value.clone(), detail);
    }
    let Some(old) = old.and_then(|old| old.get("spec")) else { return };
    if spec.value.get("attachRequired") != old.get("attachRequired") {
        // The path has another name upstream.
        errors.invalid(
            &spec.path.child("attachedRequired"),
            spec.child("attachRequired").value.clone(),
            IMMUTABLE,
        );
    }
    errors.immutable(&spec, old, "volumeLifecycleModes");
}

pub(super) fn node(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let mut seen = BTreeSet::new();
    for driver in spec.items("drivers") {
        let name = driver.text("name");
        let path = driver.path.child("name");
        match name {
            "" => errors.required(&path, ""),
            name => sources::csi_driver(&path, name, errors),
        }
        let id = driver.text("nodeID");
        if id.is_empty() {
            errors.required(&driver.path.child("nodeID"), "");
        } else if id.len() > 256 {
            errors.invalid(&driver.path.child("nodeID"), id, "must be 256 characters or less");
        }
        let mut keys = BTreeSet::new();
        for key in driver.items("topologyKeys") {
            let text = key.value.as_str().unwrap_or_default();
            if !keys.insert(text) {
                errors.0.push(Error::duplicate(&driver.path, text));
            }
            if text.is_empty() {
                errors.required(&driver.path, "");
            }
            errors.complaints(&driver.path, text, names::qualified_name(text));
        }
        if let Some(count) = driver.child("allocatable").int("count").filter(|count| *count < 0) {
            errors.invalid(&driver.path.child("allocatable").child("count"), count, NOT_NEGATIVE);
        }
        if !seen.insert(name) {
            errors.0.push(Error::duplicate(&path, name));
        }
    }
    let Some(old) = old else { return };
    // A driver may come and go; it does not change while it is there.
    for driver in spec.items("drivers") {
        let before = old
            .items_at(&["spec", "drivers"])
            .iter()
            .find(|one| one.str_at(&["name"]) == Some(driver.text("name")));
        let identity = |driver: &Value| (driver.get("nodeID").cloned(), driver.get("topologyKeys").cloned());
        if before.is_some_and(|before| identity(before) != identity(driver.value)) {
            let mut shown = errors.struct_as_given(&driver.path, driver.value).clone();
            shown.take(&["allocatable"]);
            errors.shown(&spec.path.child("drivers"), "storage.CSINodeDriver", &shown, IMMUTABLE);
        }
    }
}

pub(super) fn capacity(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let class = at.text("storageClassName");
    errors.complaints(&at.path.child("storageClassName"), class, names::dns1123_subdomain(class));
    if let Some(topology) = at.find("nodeTopology") {
        label_selector(&topology, errors);
    }
    let size = at.text("capacity");
    if size.parse::<Quantity>().is_ok_and(|quantity| quantity.nano() < 0) {
        errors.invalid(&at.path.child("capacity"), size, NOT_NEGATIVE);
    }
    let Some(old) = old else { return };
    errors.immutable(at, old, "nodeTopology");
    errors.immutable(at, old, "storageClassName");
}

pub(super) fn attributes_class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let name = at.text("driverName");
    match name {
        "" => errors.required(&at.path.child("driverName"), ""),
        name => {
            let name = name.to_lowercase();
            errors.complaints(&at.path.child("driverName"), &name, names::qualified_name(&name));
        }
    }
    storage::parameters(at, false, errors);
    let Some(old) = old else { return };
    for field in ["driverName", "parameters"] {
        if at.value.get(field) != old.get(field) {
            errors.forbidden(&at.path.child(field), format!("updates to {field} are forbidden."));
        }
    }
}

pub(super) fn class_topologies(at: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for term in at.items("allowedTopologies") {
        let mut keys = BTreeSet::new();
        let expressions = term.items("matchLabelExpressions");
        for expression in &expressions {
            let values = expression.items("values");
            if values.is_empty() {
                errors.required(&expression.path.child("values"), "");
            }
            let mut words = BTreeSet::new();
            for value in &values {
                let text = value.value.as_str().unwrap_or_default();
                if !words.insert(text) {
                    errors.0.push(Error::duplicate(&value.path, text));
                }
            }
            let key = expression.text("key");
            errors.complaints(&expression.path.child("key"), key, names::qualified_name(key));
            if !keys.insert(key) {
                errors.0.push(Error::duplicate(&expression.path.child("key"), key));
            }
        }
        if !seen.insert(term.value.to_json()) || expressions.is_empty() {
            errors.0.push(Error::duplicate(&term.path.child("matchLabelExpressions"), ""));
        }
    }
}

/// What may not change of a storage class.
pub(super) fn class_update(at: &At<'_>, old: &Value, errors: &mut Errors) {
    for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        fixed(at, old, field, errors);
    }
}
