//! Claims, volumes, storage classes.

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Quantity, Value, names};

use super::super::go;
use super::{At, Errors, IMMUTABLE, label_selector, scheduling, sources, storage_drivers, volumes};

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
    claim_spec(&spec, old, errors);
    if let Some(old) = old {
        claim_update(at, old, errors);
    }
}

/// Checks the specification of a claim, whose `old` one may have kept names that are refused now.
pub(super) fn claim_spec(spec: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
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
    let (source, reference) = (spec.find("dataSource"), spec.find("dataSourceRef"));
    let had_group = old.is_some_and(|old| {
        ["dataSource", "dataSourceRef"].iter().any(|data| old.at(&["spec", data, "apiGroup"]).is_some())
    });
    for data in [&source, &reference].into_iter().flatten() {
        data_source(data, had_group, errors);
    }
    if let Some(name) = reference.as_ref().and_then(|data| data.find("namespace")) {
        let text = name.value.as_str().unwrap_or_default();
        if !text.is_empty() {
            errors.complaints(&name.path, text, names::dns1123_label(text));
        }
    }
    let namespace = reference.as_ref().map(|data| data.text("namespace")).unwrap_or_default();
    if source.is_some() && !namespace.is_empty() {
        let detail = "may not be specified when dataSourceRef.namespace is specified";
        errors.0.push(Error::invalid(&spec.path, Value::Null, detail).showing("{}"));
    } else if let (Some(source), Some(reference)) = (source, reference)
        && ["apiGroup", "kind", "name"].iter().any(|field| source.text(field) != reference.text(field))
    {
        errors.0.push(Error::invalid(&spec.path, Value::Null, "must match dataSourceRef").showing("{}"));
    }
}

/// What a claim is filled from. A claim that `had_group` before may name any.
fn data_source(at: &At<'_>, had_group: bool, errors: &mut Errors) {
    let (group, kind) = (at.text("apiGroup"), at.text("kind"));
    for field in ["name", "kind"] {
        if at.text(field).is_empty() {
            errors.required(&at.path.child(field), "");
        }
    }
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.invalid(&at.path, kind, detail);
    }
    if !group.is_empty() && !had_group {
        errors.complaints(&at.path.child("apiGroup"), group, names::dns1123_subdomain(group));
    }
}

/// An amount is not negative. Upstream shows it as a whole number.
fn basic(path: &Path, value: &Value, errors: &mut Errors) {
    // What fits in no 64 bits is looked at all the same.
    let size = Quantity::wrapped_value(value.as_str().unwrap_or_default());
    if size < 0 {
        errors.invalid(path, size, "must be a valid resource quantity");
    }
}

/// What a volume provider says of a claim.
pub(super) fn claim_status(status: &At<'_>, errors: &mut Errors) {
    for (name, value) in status.map("capacity") {
        basic(&status.path.child("capacity").key(name), value, errors);
    }
    let path = status.path.child("allocatedResourceStatuses");
    let states = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    for (name, value) in status.map("allocatedResourceStatuses") {
        claim_resource(&path, name, errors);
        if !states.contains(&value.as_str().unwrap_or_default()) {
            errors.unsupported(&path, name, &states);
        }
    }
    let path = status.path.child("allocatedResources");
    for (name, value) in status.map("allocatedResources") {
        let before = errors.0.len();
        claim_resource(&path, name, errors);
        if errors.0.len() == before {
            basic(&path.key(name), value, errors);
        }
    }
}

/// What can be told of a claim's growth: its storage, or what a vendor names.
fn claim_resource(path: &Path, name: &str, errors: &mut Errors) {
    let complaints = names::qualified_name(name);
    if !complaints.is_empty() {
        errors.complaints(path, name, complaints);
    } else if !name.contains('/') && name != "storage" {
        errors.unsupported(path, name, &["storage"]);
    }
}

fn claim_update(at: &At<'_>, old: &Value, errors: &mut Errors) {
    const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let annotation = |claim: &Value| claim.str_at(&["metadata", "annotations", CLASS]).map(str::to_owned);
    let (given, had) = (annotation(at.value).unwrap_or_default(), annotation(old).unwrap_or_default());
    if given != had {
        let path = at.path.child("metadata").child("annotations").child(CLASS);
        errors.invalid(&path, given, IMMUTABLE);
    }
    let bound = at.value.str_at(&["status", "phase"]) == Some("Bound");
    let spec = at.child("spec");
    let before = old.get("spec").unwrap_or(&Value::Null);
    // What may change is put into both before they are compared; differences are shown of the whole.
    let mut kept = spec.value.clone();
    let mut fixed = before.clone();
    let mut same = |path: &[&str]| match before.at(path) {
        Some(value) => kept.set(path, value.clone()),
        None => {
            kept.take(path);
        }
    };
    if bound {
        if spec.value.at(&["resources", "requests"]).is_some() {
            same(&["resources", "requests", "storage"]);
        }
        same(&["volumeAttributesClassName"]);
    }
    // The volume is filled in once, when the claim is bound; a class may be given to a claim that has none.
    if before.str_at(&["volumeName"]).is_none_or(str::is_empty) {
        same(&["volumeName"]);
    }
    if before.get("storageClassName").is_none() {
        same(&["storageClassName"]);
    }
    for document in [&mut kept, &mut fixed] {
        if document.str_at(&["volumeName"]) == Some("") {
            document.take(&["volumeName"]);
        }
    }
    if kept != fixed {
        if let Some(given) = errors.as_given(&spec.path) {
            super::put_back_empty(&mut kept, given);
        }
        let show = |value: &Value| go::show_pretty("core.PersistentVolumeClaimSpec", value);
        let difference = go::unified_diff(&show(before), &show(&kept));
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.forbidden(&spec.path, format!("{detail}\n{difference}"));
    }
    let size = |object: &Value, path: &[&str]| quantity(object.at(path));
    let size = |object: &Value, path: &[&str]| size(object, path).unwrap_or(Quantity::from_i64(0));
    let (new, old_size) = (size(at.value, REQUEST), size(old, REQUEST));
    if new < old_size && new <= size(old, &["status", "capacity", "storage"]) {
        let path = spec.path.child("resources").child("requests").child("storage");
        errors.forbidden(&path, "field can not be less than status.capacity");
    }
    if spec.value.get("volumeMode") != before.get("volumeMode") {
        errors.invalid(&Path::new("volumeMode"), spec.child("volumeMode").value.clone(), IMMUTABLE);
    }
    let class = spec.find("volumeAttributesClassName");
    if old.at(&["status", "currentVolumeAttributesClassName"]).is_some() {
        let word = match class.as_ref().and_then(|class| class.value.as_str()) {
            None => "nil",
            Some("") => "empty string",
            Some(_) => return,
        };
        if spec.value.get("volumeAttributesClassName") != before.get("volumeAttributesClassName") {
            let detail = format!(
                "update to {word} is forbidden when status.currentVolumeAttributesClassName is not nil"
            );
            errors.forbidden(&spec.path.child("volumeAttributesClassName"), detail);
        }
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
    volume_spec(&spec, false, errors);
    mount_options(at, errors);
    let Some(old) = old.and_then(|old| old.get("spec")) else { return };
    let of = |spec: &Value| -> Value {
        let found = SOURCES.iter().filter_map(|source| Some((*source, spec.get(source)?.clone())));
        let mut sources = Value::object();
        found.for_each(|(name, source)| sources.set(&[name], source));
        sources
    };
    let (new_source, old_source) = (of(spec.value), of(old));
    if new_source != old_source {
        let show = |value: &Value| go::show_pretty("core.PersistentVolumeSource", value);
        let difference = go::unified_diff(&show(&old_source), &show(&new_source));
        let detail = "spec.persistentvolumesource is immutable after creation";
        errors.forbidden(&spec.path.child("persistentvolumesource"), format!("{detail}\n{difference}"));
    }
    if spec.value.get("volumeMode") != old.get("volumeMode") {
        errors.invalid(&Path::new("volumeMode"), spec.child("volumeMode").value.clone(), IMMUTABLE);
    }
    affinity_unchanged(&spec, old, errors);
    if old.get("volumeAttributesClassName").is_some() && spec.find("volumeAttributesClassName").is_none() {
        let detail = "update from non-nil value to nil is forbidden";
        errors.forbidden(&spec.path.child("volumeAttributesClassName"), detail);
    }
}

/// The nodes of a volume stay, but for labels that have other names now.
fn affinity_unchanged(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    const RENAMED: [(&str, &str); 5] = [
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
    ];
    let Some(before) = old.get("nodeAffinity").filter(|affinity| !affinity.is_null()) else { return };
    let affinity = spec.child("nodeAffinity");
    let mut renamed = before.clone();
    let new_terms = affinity.value.items_at(&["required", "nodeSelectorTerms"]);
    let terms = renamed.at_mut(&["required", "nodeSelectorTerms"]).and_then(Value::as_array_mut);
    for (term, new) in terms.into_iter().flatten().zip(new_terms) {
        let expressions = term.get_mut("matchExpressions").and_then(Value::as_array_mut);
        for (expression, new) in expressions.into_iter().flatten().zip(new.items_at(&["matchExpressions"])) {
            let key = expression.str_at(&["key"]).unwrap_or_default();
            let now = RENAMED.iter().find(|(beta, _)| *beta == key).map(|(_, now)| *now);
            if let Some(now) = now.filter(|now| new.str_at(&["key"]) == Some(*now)) {
                expression.set(&["key"], now);
            }
        }
    }
    if *affinity.value == renamed {
        return;
    }
    let path = Path::new("nodeAffinity");
    let detail = format!("{IMMUTABLE}, except for updating from beta label to GA");
    if affinity.value.is_null() {
        errors.invalid(&path, Value::Null, detail);
    } else {
        let shown =
            go::show("core.VolumeNodeAffinity", errors.struct_as_given(&affinity.path, affinity.value));
        errors.0.push(Error::invalid(&path, Value::Null, detail).showing(shown));
    }
}

/// Some drivers take options of the mount from an annotation.
fn mount_options(at: &At<'_>, errors: &mut Errors) {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/mount-options";
    const DRIVERS: [&str; 13] = [
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    ];
    let given = at.value.at(&["metadata", "annotations", ANNOTATION]).is_some();
    if given && !DRIVERS.iter().any(|driver| at.child("spec").find(driver).is_some()) {
        let path = at.path.child("metadata").child("annotations").child(ANNOTATION);
        errors.forbidden(&path, "may not specify mount options for this volume type");
    }
}

/// The spec of a volume, or of one that is described where it is used (`inline`).
pub(super) fn volume_spec(spec: &At<'_>, inline: bool, errors: &mut Errors) {
    if inline {
        not_inline(spec, errors);
    }
    if spec.items("accessModes").is_empty() {
        errors.required(&spec.path.child("accessModes"), "");
    }
    access_modes(spec, errors);
    if !inline {
        volume_capacity(spec, errors);
        errors.one_of(spec, "persistentVolumeReclaimPolicy", &["Delete", "Recycle", "Retain"], false);
        node_affinity(spec, errors);
    }
    let mut given = SOURCES.iter().filter_map(|kind| spec.find(kind).map(|at| (*kind, at)));
    match given.next() {
        None => errors.required(&spec.path, "must specify a volume type"),
        Some((kind, at)) => {
            if kind == "csi" {
                csi_volume(&at, errors);
            } else {
                sources::check(kind, &at, errors);
            }
            if kind == "local" && spec.find("nodeAffinity").is_none() {
                errors.required(&spec.path.child("nodeAffinity"), "Local volume requires node affinity");
            }
        }
    }
    for (kind, more) in given {
        // Upstream does not ask whether this one is too many.
        match kind {
            "flexVolume" => sources::check(kind, &more, errors),
            kind => volumes::too_many(spec, kind, errors),
        }
    }
    let recycled = spec.text("persistentVolumeReclaimPolicy") == "Recycle";
    let root = spec.child("hostPath").find("path").is_some_and(|path| {
        path.value.as_str().is_some_and(|text| {
            !text.is_empty() && text.split('/').all(|part| part.is_empty() || part == ".")
        })
    });
    if recycled && root {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.forbidden(&spec.path.child("persistentVolumeReclaimPolicy"), detail);
    }
    if !inline {
        let class = spec.text("storageClassName");
        if !class.is_empty() {
            errors.complaints(&spec.path.child("storageClassName"), class, names::dns1123_subdomain(class));
        }
        errors.one_of(spec, "volumeMode", &["Block", "Filesystem"], false);
    }
    if let Some(class) = spec.find("volumeAttributesClassName") {
        match class.value.as_str().unwrap_or_default() {
            "" => errors.required(&class.path, "an empty string is disallowed"),
            text => errors.complaints(&class.path, text, names::dns1123_subdomain(text)),
        }
        if spec.find("csi").is_none() {
            let detail = "has to be specified when using volumeAttributesClassName";
            errors.required(&spec.path.child("csi"), detail);
        }
    }
}

/// What a volume that is described where it is used may not have.
fn not_inline(spec: &At<'_>, errors: &mut Errors) {
    let inline = |what: &str| format!("{what} in the context of inline volumes");
    let specified = |field: &str| match spec.child(field).value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => field != "capacity" || !map.is_empty(),
        _ => true,
    };
    for field in ["claimRef", "capacity", "nodeAffinity", "storageClassName"] {
        if specified(field) {
            errors.forbidden(&spec.path.child(field), inline("may not be specified"));
        }
    }
    if spec.find("csi").is_none() {
        errors.required(&spec.path.child("csi"), &inline("has to be specified"));
    }
    let policy = spec.text("persistentVolumeReclaimPolicy");
    if !policy.is_empty() && policy != "Retain" {
        errors.forbidden(&spec.path.child("persistentVolumeReclaimPolicy"), inline("may only be Retain"));
    }
    if spec.find("volumeMode").is_some_and(|mode| mode.value.as_str() != Some("Filesystem")) {
        let detail = inline("may not specify volumeMode other than Filesystem");
        errors.forbidden(&spec.path.child("volumeMode"), detail);
    }
}

fn volume_capacity(spec: &At<'_>, errors: &mut Errors) {
    let capacity = spec.child("capacity");
    let size = capacity.value.get("storage");
    if spec.map("capacity").next().is_none() {
        errors.required(&capacity.path, "");
    }
    if size.is_none() || spec.map("capacity").count() > 1 {
        // A map that is empty is not one that is not there.
        let shown = errors.as_given(&capacity.path).unwrap_or(capacity.value).clone();
        errors.unsupported(&capacity.path, shown, &["storage"]);
    }
    for (name, value) in spec.map("capacity") {
        basic(&capacity.path.key(name), value, errors);
        if quantity(Some(value)).is_some_and(|size| size.nano() <= 0) {
            errors.invalid(&capacity.path.key(name), value.clone(), "must be greater than zero");
        }
    }
}

fn node_affinity(spec: &At<'_>, errors: &mut Errors) {
    let Some(affinity) = spec.find("nodeAffinity") else { return };
    match affinity.find("required") {
        None => errors.required(&affinity.path.child("required"), "must specify required node constraints"),
        Some(required) => scheduling::node_selector(&required, errors),
    }
}

fn csi_volume(at: &At<'_>, errors: &mut Errors) {
    let driver = at.text("driver");
    match driver {
        "" => errors.required(&at.path.child("driver"), ""),
        name => sources::csi_driver(&at.path.child("driver"), name, errors),
    }
    if at.text("volumeHandle").is_empty() {
        errors.required(&at.path.child("volumeHandle"), "");
    }
    let secrets = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for secret in secrets.iter().filter_map(|field| at.find(field)) {
        for field in ["name", "namespace"] {
            match secret.text(field) {
                "" => errors.required(&secret.path.child(field), ""),
                name if field == "name" => {
                    errors.complaints(&secret.path.child(field), name, names::dns1123_subdomain(name));
                }
                name => errors.complaints(&secret.path.child(field), name, names::dns1123_label(name)),
            }
        }
    }
}

pub(super) fn class(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let provisioner = at.text("provisioner");
    match provisioner {
        "" => errors.required(&at.path.child("provisioner"), ""),
        name => {
            let name = name.to_lowercase();
            errors.complaints(&at.path.child("provisioner"), &name, names::qualified_name(&name));
        }
    }
    parameters(at, true, errors);
    if !at.text("reclaimPolicy").is_empty() {
        errors.one_of_all(at, "reclaimPolicy", &["Delete", "Retain"]);
    }
    match at.find("volumeBindingMode") {
        None => errors.required(&at.path.child("volumeBindingMode"), ""),
        Some(_) => errors.one_of_all(at, "volumeBindingMode", &["Immediate", "WaitForFirstConsumer"]),
    }
    storage_drivers::class_topologies(at, errors);
    if let Some(old) = old {
        storage_drivers::class_update(at, old, errors);
    }
}

/// Parameters for a driver; `may_be_none` unless they are all there is.
pub(super) fn parameters(at: &At<'_>, may_be_none: bool, errors: &mut Errors) {
    let path = at.path.child("parameters");
    let (mut count, mut size) = (0, 0);
    for (key, value) in at.map("parameters") {
        if key.is_empty() {
            errors.invalid(&path, key, "field can not be empty.");
        }
        count += 1;
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if count == 0 && !may_be_none {
        errors.required(&path, "must contain at least one key/value pair");
    }
    if count > 512 {
        errors.0.push(Error::too_long(&path, 512));
    } else if size > 256 * 1024 {
        errors.0.push(Error::too_long(&path, 256 * 1024));
    }
}
