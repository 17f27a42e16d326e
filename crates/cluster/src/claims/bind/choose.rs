//! Which of the volumes that exist serves a claim.

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Quantity, Value, object};

use super::REQUEST;
use crate::claims::IS_DEFAULT;

const CAPACITY: [&str; 3] = ["spec", "capacity", "storage"];

/// The class that a claim or a volume says; `None` if it says nothing, `""` if it wants none.
pub(super) fn class_name(of: &Value) -> Option<&str> {
    let annotated = object::annotation(of, "volume.beta.kubernetes.io/storage-class");
    annotated.or_else(|| of.str_at(&["spec", "storageClassName"]))
}

/// The class of claims that say nothing; the newest, if several are made so.
pub(super) fn default_class<'a>(classes: &[&'a Value]) -> Option<&'a Value> {
    let defaults = classes.iter().filter(|class| object::annotation(class, IS_DEFAULT) == Some("true"));
    defaults.max_by_key(|class| class.str_at(&["metadata", "creationTimestamp"])).copied()
}

/// The smallest volume that serves the claim; one that was made for this very claim comes first.
pub(super) fn best<'a>(claim: &Value, volumes: &[&'a Value]) -> Option<&'a Value> {
    if let Some(reserved) = volumes.iter().find(|volume| is_for(volume, claim)) {
        return Some(reserved);
    }
    let wanted = storage(claim, &REQUEST)?;
    let selector = claim.at(&["spec", "selector"]).and_then(|s| LabelSelector::from_object(s).ok());
    let fits = |volume: &&&Value| {
        let modes = volume.items_at(&["spec", "accessModes"]);
        claim_ref(volume).is_none()
            && object::deletion_timestamp(volume).is_none()
            && matches!(volume.str_at(&["status", "phase"]), None | Some("Available" | "Pending"))
            && class_name(volume).unwrap_or_default() == class_name(claim).unwrap_or_default()
            && mode(volume) == mode(claim)
            && storage(volume, &CAPACITY).is_some_and(|has| has >= wanted)
            && claim.items_at(&["spec", "accessModes"]).iter().all(|mode| modes.contains(mode))
            && selector.as_ref().is_none_or(|s| s.matches(object::labels(volume)))
    };
    volumes.iter().filter(fits).min_by_key(|volume| storage(volume, &CAPACITY)).copied()
}

/// `Filesystem` or `Block`.
pub(super) fn mode(of: &Value) -> &str {
    of.str_at(&["spec", "volumeMode"]).unwrap_or("Filesystem")
}

/// A size.
pub(super) fn storage(of: &Value, path: &[&str]) -> Option<Quantity> {
    match of.at(path)? {
        Value::String(text) => text.parse().ok(),
        number => number.as_i64().map(Quantity::from_i64),
    }
}

/// The claim that a volume is bound to or was made for.
pub(in crate::claims) fn claim_ref(volume: &Value) -> Option<&Value> {
    volume.at(&["spec", "claimRef"]).filter(|r| r.as_object().is_some_and(|r| !r.is_empty()))
}

/// Whether a volume is bound to, or was made for, this claim.
pub(in crate::claims) fn is_for(volume: &Value, claim: &Value) -> bool {
    claim_ref(volume).is_some_and(|reference| {
        reference.str_at(&["name"]) == Some(object::name(claim))
            && reference.str_at(&["namespace"]) == object::namespace(claim)
            && reference.str_at(&["uid"]).is_none_or(|uid| uid.is_empty() || uid == object::uid(claim))
    })
}
