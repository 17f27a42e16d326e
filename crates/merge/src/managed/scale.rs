//! Who owns the number of replicas, told of a `Scale` and of the object that it is the scale of.
//!
//! Behaviour is that of apimachinery's `ScaleHandler`, with all that follows from it: an owner who comes by the scale has
//! no time.

use super::entries::Entries;
use crate::fieldset::{FieldSet, PathElement};
use crate::updater::Owned;
use pilothouse_value::Value;

const SCALE_VERSION: &str = "autoscaling/v1";

fn replicas_in_scale() -> FieldSet {
    FieldSet::of_fields(&[&["spec", "replicas"]])
}

fn path(keys: &[String]) -> Vec<PathElement> {
    keys.iter().map(|key| PathElement::field(key.as_str())).collect()
}

/// The entries of the scale of an object with these entries. `replicas` says where the number of replicas stands in a
/// version of the object; `None` for a version that the kind does not have, an empty path for one without a scale.
///
/// # Errors
/// What is wrong with the entries.
pub fn scale_to_subresource(
    parent: Option<&Value>,
    replicas: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<Option<Value>, String> {
    let parent = Entries::read(parent)?;
    let mut scale = Entries::default();
    for (identity, owned) in parent.managers {
        let Some(place) = replicas(&owned.version).filter(|place| !place.is_empty()) else { continue };
        if owned.fields.has(&path(&place)) {
            if let Some(time) = parent.times.get(&identity) {
                scale.times.insert(identity.clone(), *time);
            }
            let owned = Owned {
                fields: replicas_in_scale(),
                version: SCALE_VERSION.to_owned(),
                applied: owned.applied,
            };
            scale.managers.insert(identity, owned);
        }
    }
    Ok(scale.into_value())
}

/// The entries of an object with the entries `parent`, after its scale got the entries `scale`. `version` is the one that
/// the object is written in.
///
/// # Errors
/// What is wrong with the entries.
pub fn scale_to_parent(
    parent: Option<&Value>,
    scale: Option<&Value>,
    version: &str,
    replicas: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<Option<Value>, String> {
    let (parent, mut scale) = (Entries::read(parent)?, Entries::read(scale)?);
    let mut settled = Entries::default();
    let times = parent.times;
    for (identity, mut owned) in parent.managers {
        let Some(place) = replicas(&owned.version) else { continue };
        let place = path(&place);
        if owned.fields.has(&place) && scale.managers.remove(&identity).is_none() {
            // Someone else has it now.
            let mut taken = FieldSet::new();
            taken.insert_path(&place);
            owned.fields.remove(&taken, false);
            if owned.fields.is_empty() {
                continue;
            }
        }
        settled.times.insert(identity.clone(), times.get(&identity).copied().flatten());
        settled.managers.insert(identity, owned);
    }
    let place = path(&replicas(version).unwrap_or_default());
    for (identity, owned) in scale.managers {
        if !owned.fields.has(&[PathElement::field("spec"), PathElement::field("replicas")]) {
            continue;
        }
        let mut fields = FieldSet::new();
        fields.insert_path(&place);
        settled.times.insert(identity.clone(), times.get(&identity).copied().flatten());
        settled
            .managers
            .insert(identity, Owned { fields, version: version.to_owned(), applied: owned.applied });
    }
    Ok(settled.into_value())
}
