//! PodTolerationRestriction: the pods of a namespace get its default tolerations, and tolerate nothing that its whitelist
//! does not have. Both stand in annotations of the namespace, or else in the configuration.

use pilothouse_value::{Status, Value, json, object, parse};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;

/// See the module.
pub(super) struct PodTolerationRestriction;

/// What counts for namespaces without annotations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restriction {
    /// What pods get.
    pub(crate) default: Vec<Value>,
    /// What pods may tolerate; empty: everything.
    pub(crate) whitelist: Vec<Value>,
}

const DEFAULT: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const WHITELIST: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const TOLERATIONS: &[&str] = &["spec", "tolerations"];

impl Plugin for PodTolerationRestriction {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") {
            return Ok(());
        }
        let mut more = Vec::new();
        if attributes.operation == Operation::Create {
            let own = annotated(attributes, DEFAULT)?;
            more = own.unwrap_or_else(|| attributes.state().plugins.settings.tolerations.default.clone());
        }
        let Some(pod) = attributes.object.as_mut() else { return Ok(()) };
        if !is_best_effort(pod) {
            let key = "node.kubernetes.io/memory-pressure";
            more.push(json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}));
        }
        if !more.is_empty() {
            let merged = merge(pod.items_at(TOLERATIONS), &more);
            pod.set(TOLERATIONS, merged);
        }
        self.validate(attributes)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(pod) = attributes.object.as_ref().filter(|_| attributes.is("", "pods")) else {
            return Ok(());
        };
        let tolerations = pod.items_at(TOLERATIONS);
        if tolerations.is_empty() {
            return Ok(());
        }
        let own = annotated(attributes, WHITELIST)?;
        let (whitelist, scope) = match &own {
            Some(own) => (own, "namespace"),
            None => (&attributes.state().plugins.settings.tolerations.whitelist, "cluster"),
        };
        let allowed = |toleration: &Value| whitelist.iter().any(|wide| covers(wide, toleration));
        if whitelist.is_empty() || tolerations.iter().all(allowed) {
            return Ok(());
        }
        // Upstream does not make a Status of it.
        Err(Status::new(
            500,
            "",
            format!(
                "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
            ),
        ))
    }
}

/// The tolerations in an annotation of the namespace; `None` without it.
fn annotated(attributes: &Attributes<'_>, key: &str) -> Result<Option<Vec<Value>>, Status> {
    let name = attributes.namespace();
    let Some(namespace) = attributes.state().store.get(&resource::key("", "namespaces"), "", name) else {
        return Err(Status::not_found("", "namespaces", name));
    };
    match object::annotation(namespace.value(), key) {
        None => Ok(None),
        Some("") => Ok(Some(Vec::new())),
        Some(text) => {
            let parsed = parse::json(text.as_bytes()).map(|parsed| parsed.value);
            let parsed = parsed.map_err(|error| Status::new(500, "", error.to_string()))?;
            match parsed {
                Value::Array(list) => Ok(Some(list.into_vec())),
                Value::Null => Ok(None),
                _ => Err(Status::new(
                    500,
                    "",
                    "json: cannot unmarshal object into Go value of type []v1.Toleration",
                )),
            }
        }
    }
}

fn is_best_effort(pod: &Value) -> bool {
    let lists = ["containers", "initContainers"].into_iter();
    let whole = pod.at(&["spec", "resources"]).into_iter();
    let resources = lists
        .flat_map(|list| pod.items_at(&["spec", list]))
        .filter_map(|container| container.get("resources"))
        .chain(whole);
    let mut amounts = resources
        .flat_map(|own| ["requests", "limits"].map(|part| crate::objects::resources::read(own.get(part))))
        .flatten();
    !amounts.any(|(name, amount)| matches!(name.as_str(), "cpu" | "memory") && !amount.is_zero())
}

/// Both lists, without what another one covers.
fn merge(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<&Value> = first.iter().chain(second).collect();
    let mut merged: Vec<Value> = Vec::new();
    for (at, toleration) in all.iter().enumerate() {
        let mut later = all.iter().skip(at + 1);
        let redundant = merged.iter().any(|kept| covers(kept, toleration))
            || later.any(|other| other != toleration && covers(other, toleration));
        if !redundant {
            merged.push((*toleration).clone());
        }
    }
    merged
}

/// Whether everything that `narrow` tolerates is tolerated by `wide`.
fn covers(wide: &Value, narrow: &Value) -> bool {
    fn text<'a>(toleration: &'a Value, field: &str) -> &'a str {
        toleration.str_at(&[field]).unwrap_or_default()
    }
    let same = |field: &str| text(wide, field) == text(narrow, field);
    let seconds = |toleration: &Value| toleration.i64_at(&["tolerationSeconds"]);
    if ["key", "operator", "value", "effect"].iter().all(|field| same(field))
        && seconds(wide) == seconds(narrow)
    {
        return true;
    }
    let any_key = text(wide, "key").is_empty() && text(wide, "operator") == "Exists";
    if !same("key") && !any_key {
        return false;
    }
    if !same("effect") && !text(wide, "effect").is_empty() {
        return false;
    }
    if text(wide, "effect") == "NoExecute"
        && let Some(most) = seconds(wide)
        && seconds(narrow).is_none_or(|own| own > most)
    {
        return false;
    }
    match text(wide, "operator") {
        "Equal" | "" => text(narrow, "operator") == "Equal" && same("value"),
        operator => operator == "Exists",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wider_toleration_stays() {
        let exists = json!({"operator": "Exists"});
        let key = json!({"key": "a", "operator": "Exists"});
        let equal = json!({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"});
        let short = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        assert!(covers(&exists, &key) && covers(&key, &equal) && !covers(&equal, &key));
        assert!(covers(&key, &short) && !covers(&short, &key));
        let merged = |first: &Value, second: &Value| {
            merge(std::slice::from_ref(first), std::slice::from_ref(second)) == std::slice::from_ref(&key)
        };
        assert!(merged(&equal, &key) && merged(&key, &equal) && merged(&key, &key));
    }
}
