//! OwnerReferencesPermissionEnforcement: who sets an owner must be allowed to delete the object, and who makes an owner wait
//! for it must be allowed to set the owner's finalizers.

use std::collections::HashMap;

use pilothouse_value::{GroupVersion, Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::authorization::rbac;

/// See the module.
pub(super) struct OwnerReferencesPermissionEnforcement;

impl Plugin for OwnerReferencesPermissionEnforcement {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let target = attributes.target;
        // A binding does not change what the pod is owned by.
        if target.resource.is("", "pods") && matches!(attributes.subresource(), "binding" | "status") {
            return Ok(());
        }
        let Some(new) = &attributes.object else { return Ok(()) };
        let (owners, had) = (
            object::owner_references(new),
            attributes.old.as_ref().map(|old| object::owner_references(old)).unwrap_or_default(),
        );
        if owners == had {
            return Ok(());
        }
        let authorizer = &attributes.state().authorizer;
        if attributes.operation != Operation::Create {
            let asked = rbac::Attributes {
                version: &target.resource.version,
                subresource: attributes.subresource(),
                name: &attributes.name,
                namespace: &target.namespace,
                ..rbac::Attributes::of_resource(
                    attributes.user(),
                    "delete",
                    &target.resource.group,
                    &target.resource.plural,
                )
            };
            let decision = authorizer.authorize(&asked);
            if !decision.allowed {
                let why = format!(
                    "cannot set an ownerRef on a resource you can't delete: {}, <nil>",
                    decision.reason
                );
                return Err(attributes.forbidden(&why));
            }
        }
        // Of several with one uid the first counts.
        let mut blocked: HashMap<Option<&str>, bool> = HashMap::new();
        for owner in had {
            blocked.entry(owner.str_at(&["uid"])).or_insert_with(|| blocks(owner));
        }
        let newly = |owner: &&Value| blocks(owner) && blocked.get(&owner.str_at(&["uid"])) != Some(&true);
        let blocking: Vec<&Value> = owners.iter().filter(newly).collect();
        if blocking.is_empty() {
            return Ok(());
        }
        let any = rbac::Attributes {
            subresource: "finalizers",
            name: "*",
            ..rbac::Attributes::of_resource(attributes.user(), "update", "*", "*")
        };
        if authorizer.authorize(&any).allowed {
            return Ok(());
        }
        blocking.into_iter().try_for_each(|owner| check_owner(attributes, owner))
    }
}

fn blocks(owner: &Value) -> bool {
    owner.at(&["blockOwnerDeletion"]).and_then(Value::as_bool) == Some(true)
}

fn check_owner(attributes: &Attributes<'_>, owner: &Value) -> Result<(), Status> {
    let text = |field: &str| owner.str_at(&[field]).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let parsed: GroupVersion = version.parse().unwrap_or_default();
    let table = attributes.state().registry.table();
    let Some(resource) = table.of_kind(&parsed.group, Some(&parsed.version), kind) else {
        let why = format!(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind \
             {kind}: no matches for kind {kind:?} in version {version:?}"
        );
        return Err(attributes.forbidden(&why));
    };
    let asked = rbac::Attributes {
        version: &resource.version,
        subresource: "finalizers",
        name: text("name"),
        namespace: if resource.namespaced { &attributes.target.namespace } else { "" },
        ..rbac::Attributes::of_resource(attributes.user(), "update", &resource.group, &resource.plural)
    };
    let decision = attributes.state().authorizer.authorize(&asked);
    if decision.allowed {
        return Ok(());
    }
    Err(attributes.forbidden(&format!(
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: {}, <nil>",
        decision.reason
    )))
}
