//! Which objects a quota is about: its scopes.

use pilothouse_value::Value;

use super::claims;

/// A requirement on objects, from `spec.scopes` or `spec.scopeSelector`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope<'a> {
    /// Its name, such as `BestEffort`.
    pub(crate) name: &'a str,
    operator: &'a str,
    values: Vec<&'a str>,
}

/// The scopes of a quota. All must hold.
pub(crate) fn of(quota: &Value) -> Vec<Scope<'_>> {
    let named = quota.items_at(&["spec", "scopes"]).iter().filter_map(Value::as_str);
    let named = named.map(|name| Scope { name, operator: "Exists", values: Vec::new() });
    let selected = quota.items_at(&["spec", "scopeSelector", "matchExpressions"]).iter().map(Scope::read);
    named.chain(selected).collect()
}

impl<'a> Scope<'a> {
    /// Reads a requirement of a selector.
    pub(crate) fn read(requirement: &'a Value) -> Scope<'a> {
        let text = |field: &str| requirement.str_at(&[field]).unwrap_or_default();
        Scope {
            name: text("scopeName"),
            operator: text("operator"),
            values: requirement.items_at(&["values"]).iter().filter_map(Value::as_str).collect(),
        }
    }

    pub(super) fn holds_pod(&self, pod: &Value) -> bool {
        match self.name {
            "Terminating" => is_terminating(pod),
            "NotTerminating" => !is_terminating(pod),
            "BestEffort" => is_best_effort(pod),
            "NotBestEffort" => !is_best_effort(pod),
            "PriorityClass" => {
                let class = pod.str_at(&["spec", "priorityClassName"]).filter(|name| !name.is_empty());
                self.matches(class)
            }
            "CrossNamespacePodAffinity" => reaches_other_namespaces(pod),
            _ => false,
        }
    }

    pub(super) fn holds_claim(&self, claim: &Value) -> bool {
        if self.name != "VolumeAttributesClass" {
            return false;
        }
        match claims::attribute_classes(claim).as_slice() {
            [] => self.matches(None),
            names => names.iter().any(|name| self.matches(Some(name))),
        }
    }

    /// As a requirement on a label does.
    fn matches(&self, value: Option<&str>) -> bool {
        match self.operator {
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "In" => value.is_some_and(|value| self.values.contains(&value)),
            "NotIn" => value.is_none_or(|value| !self.values.contains(&value)),
            _ => false,
        }
    }
}

/// Whether a pod ends by itself. Quotas may tell such pods from others.
pub(crate) fn is_terminating(pod: &Value) -> bool {
    pod.i64_at(&["spec", "activeDeadlineSeconds"]).is_some_and(|seconds| seconds >= 0)
}

fn is_best_effort(pod: &Value) -> bool {
    if let Some(class) = pod.str_at(&["status", "qosClass"]).filter(|class| !class.is_empty()) {
        return class == "BestEffort";
    }
    let asks = |resources: Option<&Value>| {
        let parts = ["requests", "limits"].iter().filter_map(|part| resources?.at(&[part])?.as_object());
        parts.flat_map(|part| part.keys()).any(|name| matches!(name, "cpu" | "memory"))
    };
    let mut containers =
        ["containers", "initContainers"].iter().flat_map(|list| pod.items_at(&["spec", list]));
    !asks(pod.at(&["spec", "resources"])) && !containers.any(|container| asks(container.get("resources")))
}

fn reaches_other_namespaces(pod: &Value) -> bool {
    let reaches = |term: &Value| {
        !term.items_at(&["namespaces"]).is_empty()
            || term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = |list: &str| pod.items_at(&["spec", "affinity", kind, list]);
        terms("requiredDuringSchedulingIgnoredDuringExecution").iter().any(reaches)
            || terms("preferredDuringSchedulingIgnoredDuringExecution")
                .iter()
                .any(|term| term.get("podAffinityTerm").is_some_and(reaches))
    })
}
