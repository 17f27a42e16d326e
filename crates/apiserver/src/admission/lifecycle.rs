//! NamespaceLifecycle, NamespaceExists and NamespaceAutoProvision: what lives in a namespace needs one that is there.

use pilothouse_value::{Status, json, object};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;
use crate::start::bootstrap;

/// NamespaceLifecycle: objects are made only in namespaces that are there and not on their way out, and some namespaces
/// are for ever.
pub(super) struct NamespaceLifecycle;

impl Plugin for NamespaceLifecycle {
    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let resource = attributes.resource();
        if resource.is("", "namespaces") {
            let immortal = matches!(attributes.name.as_str(), "default" | "kube-system" | "kube-public");
            if attributes.operation == Operation::Delete && immortal {
                return Err(attributes.target.forbidden("this namespace may not be deleted"));
            }
            return Ok(());
        }
        let name = attributes.namespace();
        // What the namespace is like is nobody's business who only asks what they may do.
        let review = resource.is("authorization.k8s.io", "localsubjectaccessreviews");
        if name.is_empty() || attributes.operation == Operation::Delete || review {
            return Ok(());
        }
        let namespaces = resource::key("", "namespaces");
        let Some(namespace) = attributes.state().store.get(&namespaces, "", name) else {
            return Err(Status::not_found("", "namespaces", name));
        };
        if attributes.operation != Operation::Create
            || object::deletion_timestamp(namespace.value()).is_none()
        {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        Err(attributes.forbidden(&why).with_cause(
            "NamespaceTerminating",
            format!("namespace {name} is being terminated"),
            "metadata.namespace",
        ))
    }
}

/// NamespaceExists: the older of the two; also what is deleted must be in a namespace that is there.
pub(super) struct NamespaceExists;

impl Plugin for NamespaceExists {
    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let name = attributes.namespace();
        if name.is_empty() || attributes.resource().is("", "namespaces") {
            return Ok(());
        }
        match attributes.state().store.get(&resource::key("", "namespaces"), "", name) {
            Some(_) => Ok(()),
            None => Err(Status::not_found("", "namespaces", name)),
        }
    }
}

/// NamespaceAutoProvision: a namespace that is not there is made for the first object in it.
pub(super) struct NamespaceAutoProvision;

impl Plugin for NamespaceAutoProvision {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let name = attributes.namespace();
        let here = attributes.resource();
        let review = here.is("authorization.k8s.io", "localsubjectaccessreviews");
        // What is only tried out leaves no namespace behind.
        if name.is_empty() || attributes.dry_run() || here.is("", "namespaces") || review {
            return Ok(());
        }
        if attributes.state().store.get(&resource::key("", "namespaces"), "", name).is_some() {
            return Ok(());
        }
        let namespace = json!({"metadata": {"name": name}});
        bootstrap::ensure(attributes.state(), "", "v1", "namespaces", "", namespace)
            .map_err(|status| attributes.forbidden(&status.message))
    }
}
