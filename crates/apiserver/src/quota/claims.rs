//! What claims of storage use.

use pilothouse_value::{Quantity, Value, object};

use crate::objects::resources::{self, Amounts};

const BY_CLASS: &str = ".storageclass.storage.k8s.io/";
const NAMES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];

pub(super) fn uses(name: &str) -> bool {
    let by_class = || name.split_once(BY_CLASS).is_some_and(|(_, what)| NAMES.contains(&what));
    name == "count/persistentvolumeclaims" || NAMES.contains(&name) || by_class()
}

pub(super) fn usage(claim: &Value) -> Amounts {
    let class = object::annotation(claim, "volume.beta.kubernetes.io/storage-class")
        .or_else(|| claim.str_at(&["spec", "storageClassName"]))
        .unwrap_or_default();
    let one = Quantity::from_i64(1);
    let mut used = Amounts::from([("count/persistentvolumeclaims".to_owned(), one)]);
    let mut add = |name: &str, amount: Quantity| {
        if !class.is_empty() {
            used.insert(format!("{class}{BY_CLASS}{name}"), amount);
        }
        used.insert(name.to_owned(), amount);
    };
    add("persistentvolumeclaims", one);
    let amount = |path: &[&str]| claim.at(path).and_then(resources::quantity).map(Quantity::rounded_up);
    if let Some(asked) = amount(&["spec", "resources", "requests", "storage"]) {
        // A volume that grew further than is asked for now counts as it is.
        let grown = amount(&["status", "allocatedResources", "storage"]).filter(|grown| *grown > asked);
        add("requests.storage", grown.unwrap_or(asked));
    }
    used
}

/// The classes of volume attributes that a claim names.
pub(super) fn attribute_classes(claim: &Value) -> Vec<&str> {
    let paths: [&[&str]; 3] = [
        &["spec", "volumeAttributesClassName"],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    let mut names: Vec<&str> =
        paths.iter().filter_map(|path| claim.str_at(path)).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
