//! What an object gets that leaves the choice to the cluster: DefaultStorageClass and DefaultIngressClass.

use std::cmp::Reverse;

use pilothouse_value::{Status, object};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;
use crate::state::State;

/// DefaultStorageClass: a claim that names no class gets the default one.
pub(super) struct DefaultStorageClass;

impl Plugin for DefaultStorageClass {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        const MARKS: [&str; 2] = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        if !attributes.is("", "persistentvolumeclaims") {
            return Ok(());
        }
        let state = attributes.state();
        let Some(claim) = attributes.object.as_mut() else { return Ok(()) };
        let named = claim.at(&["spec", "storageClassName"]).is_some_and(|name| !name.is_null())
            || object::annotation(claim, "volume.beta.kubernetes.io/storage-class").is_some();
        if !named && let Some(name) = newest_default(state, "storage.k8s.io", "storageclasses", &MARKS) {
            claim.set(&["spec", "storageClassName"], name);
        }
        Ok(())
    }
}

/// DefaultIngressClass: an ingress that names no class gets the default one.
pub(super) struct DefaultIngressClass;

impl Plugin for DefaultIngressClass {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        const GROUP: &str = "networking.k8s.io";
        if !attributes.is(GROUP, "ingresses") {
            return Ok(());
        }
        let state = attributes.state();
        let Some(ingress) = attributes.object.as_mut() else { return Ok(()) };
        let named = ingress.at(&["spec", "ingressClassName"]).is_some_and(|name| !name.is_null())
            || object::annotation(ingress, "kubernetes.io/ingress.class").is_some();
        let marks = ["ingressclass.kubernetes.io/is-default-class"];
        if !named && let Some(name) = newest_default(state, GROUP, "ingressclasses", &marks) {
            ingress.set(&["spec", "ingressClassName"], name);
        }
        Ok(())
    }
}

/// The name of the class with such an annotation; of several the newest, and of those the first by name.
fn newest_default(state: &State, group: &str, plural: &str, marks: &[&str]) -> Option<String> {
    let snapshot = state.store.snapshot();
    let classes = snapshot.list(&resource::key(group, plural), None, None);
    let marked = classes
        .map(|entry| entry.object.value().clone())
        .filter(|class| marks.iter().any(|mark| object::annotation(class, mark) == Some("true")));
    let born = |class: &pilothouse_value::Value| {
        class.str_at(&["metadata", "creationTimestamp"]).unwrap_or_default().to_owned()
    };
    let newest = marked.min_by_key(|class| (Reverse(born(class)), object::name(class).to_owned()))?;
    Some(object::name(&newest).to_owned())
}
