//! PersistentVolumeClaimResize: a claim grows only if its class can make the volume grow. StorageObjectInUseProtection: what
//! is in use stays.

use pilothouse_value::{Quantity, Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::objects::resources;
use crate::registry::resource;

/// See the module.
pub(super) struct PersistentVolumeClaimResize;

impl Plugin for PersistentVolumeClaimResize {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "persistentvolumeclaims") {
            return Ok(());
        }
        let (Some(new), Some(old)) = (&attributes.object, &attributes.old) else { return Ok(()) };
        if size(new) <= size(old) {
            return Ok(());
        }
        if old.str_at(&["status", "phase"]) != Some("Bound") {
            return Err(attributes.forbidden("Only bound persistent volume claims can be expanded"));
        }
        let class = class(new);
        let key = resource::key("storage.k8s.io", "storageclasses");
        let grows = !class.is_empty()
            && class == self::class(old)
            && attributes.state().store.get(&key, "", class).is_some_and(|class| {
                class.value().at(&["allowVolumeExpansion"]).and_then(Value::as_bool) == Some(true)
            });
        if grows {
            return Ok(());
        }
        Err(attributes.forbidden(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
             resize",
        ))
    }
}

fn size(claim: &Value) -> Quantity {
    let size = claim.at(&["spec", "resources", "requests", "storage"]);
    size.and_then(resources::quantity).unwrap_or_else(|| Quantity::from_i64(0))
}

/// The name of a claim's class; empty if it has none.
fn class(claim: &Value) -> &str {
    object::annotation(claim, "volume.beta.kubernetes.io/storage-class")
        .or_else(|| claim.str_at(&["spec", "storageClassName"]))
        .unwrap_or_default()
}

/// StorageObjectInUseProtection: what is in use stays until it no longer is.
pub(super) struct StorageObjectInUseProtection;

impl Plugin for StorageObjectInUseProtection {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let own = if attributes.is("", "persistentvolumeclaims") {
            "kubernetes.io/pvc-protection"
        } else if attributes.is("", "persistentvolumes") {
            "kubernetes.io/pv-protection"
        } else if attributes.is("storage.k8s.io", "volumeattributesclasses") {
            "kubernetes.io/vac-protection"
        } else {
            return Ok(());
        };
        if let Some(object) = &mut attributes.object {
            finalizer(object, own);
        }
        Ok(())
    }
}

fn finalizer(value: &mut Value, finalizer: &str) {
    if object::has_finalizer(value, finalizer) {
        return;
    }
    let mut finalizers: Vec<String> = object::finalizers(value).map(str::to_owned).collect();
    finalizers.push(finalizer.to_owned());
    value.set(&["metadata", "finalizers"], finalizers);
}
