//! What is still in a namespace that is on its way out, and how its conditions say so
//! (`pkg/controller/namespace/deletion/status_condition_utils.go`).

use std::collections::BTreeMap;

use pilothouse_value::{Gvr, Timestamp, Value, object};

use crate::workloads::conditions::Conditions;

/// What is still there.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    by_resource: BTreeMap<String, usize>,
    by_finalizer: BTreeMap<String, usize>,
}

impl Remaining {
    /// Counts one object.
    pub(super) fn add(&mut self, resource: &Gvr, object: &Value) {
        let name = format!("{}.{}", resource.resource, resource.group);
        *self.by_resource.entry(name).or_default() += 1;
        for finalizer in object::finalizers(object) {
            *self.by_finalizer.entry(finalizer.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_resource.is_empty()
    }
}

/// The status of the namespace.
pub(super) fn status(namespace: &Value, remaining: &Remaining, now: Timestamp) -> Value {
    let list = |counts: &BTreeMap<String, usize>, link: &str, end: &str| {
        let parts: Vec<String> =
            counts.iter().map(|(what, count)| format!("{what} {link} {count} {end}")).collect();
        parts.join(", ")
    };
    let content = format!(
        "Some resources are remaining: {}",
        list(&remaining.by_resource, "has", "resource instances")
    );
    let finalizers = format!(
        "Some content in the namespace has finalizers remaining: {}",
        list(&remaining.by_finalizer, "in", "resource instances")
    );
    let mut conditions = Conditions::of(namespace);
    for (kind, reason, message) in [
        ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
    ] {
        conditions.set(kind, "False", reason, message, now);
    }
    if remaining.by_resource.is_empty() {
        let message = "All content successfully removed";
        conditions.set("NamespaceContentRemaining", "False", "ContentRemoved", message, now);
    } else {
        conditions.set("NamespaceContentRemaining", "True", "SomeResourcesRemain", &content, now);
    }
    if remaining.by_finalizer.is_empty() {
        let message = "All content-preserving finalizers finished";
        conditions.set("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", message, now);
    } else {
        conditions.set("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", &finalizers, now);
    }
    let mut status = namespace.get("status").cloned().unwrap_or_else(Value::object);
    status.set(&["phase"], "Terminating");
    conditions.write(&mut status);
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::PODS;
    use pilothouse_value::json;

    #[test]
    fn conditions_say_what_is_still_there() {
        let namespace = json!({"metadata": {"name": "ns"}, "status": {"phase": "Active"}});
        let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let mut remaining = Remaining::default();
        let held = json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
        remaining.add(&PODS, &held);
        remaining.add(&Gvr::new("demo.dev", "v1", "webs"), &held);
        let text = |remaining: &Remaining, kind: &str| {
            let mut object = json!({});
            object.set(&["status"], status(&namespace, remaining, now));
            let condition = object::condition(&object, kind).unwrap();
            format!("{} {}", condition.str_at(&["status"]).unwrap(), condition.str_at(&["message"]).unwrap())
        };
        assert_eq!(
            text(&remaining, "NamespaceContentRemaining"),
            "True Some resources are remaining: pods. has 1 resource instances, webs.demo.dev has 1 resource instances"
        );
        assert_eq!(
            text(&remaining, "NamespaceFinalizersRemaining"),
            "True Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances"
        );
        let nothing = Remaining::default();
        assert_eq!(text(&nothing, "NamespaceContentRemaining"), "False All content successfully removed");
    }
}
