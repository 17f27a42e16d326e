//! LimitRanger: what a container gets if it asks for nothing, and what containers, pods and claims must ask for at least
//! and at most, as the LimitRanges of the namespace say.

use std::fmt::Display;

use pilothouse_value::{Quantity, Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::objects::resources::{self, Amounts, Part};
use crate::registry::resource;

/// Says on a pod which amounts were filled in.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// The largest number that is still compared in thousandths.
const MAX_MILLI: i64 = i64::MAX / 1000;

/// See the module.
pub(super) struct LimitRanger;

impl Plugin for LimitRanger {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if attributes.operation != Operation::Create || !attributes.is("", "pods") {
            return Ok(());
        }
        let ranges = ranges(attributes);
        if let Some(pod) = attributes.object.as_mut() {
            ranges.iter().for_each(|range| fill(range, pod));
        }
        Ok(())
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let created = attributes.operation == Operation::Create;
        let is_pod = attributes.resource().is("", "pods");
        let is_claim = attributes.is("", "persistentvolumeclaims");
        let looked_at = match attributes.subresource() {
            "" => is_claim || (is_pod && created),
            "resize" => is_pod && !created,
            _ => false,
        };
        let Some(object) = attributes.object.as_ref().filter(|_| looked_at) else { return Ok(()) };
        // Who goes is not in anybody's way.
        if !created && attributes.old.as_ref().is_some_and(|old| object::deletion_timestamp(old).is_some()) {
            return Ok(());
        }
        for range in ranges(attributes) {
            let mut errors = Vec::new();
            for limit in range.items_at(&["spec", "limits"]) {
                match limit.str_at(&["type"]) {
                    Some("Container") if is_pod => check_containers(limit, object, &mut errors),
                    Some("Pod") if is_pod => {
                        let (requests, limits) = (
                            resources::of_pod(object, Part::Requests),
                            resources::of_pod(object, Part::Limits),
                        );
                        check(limit, "Pod", &requests, &limits, &mut errors);
                    }
                    Some("PersistentVolumeClaim") if is_claim => check_claim(limit, object, &mut errors),
                    _ => {}
                }
            }
            match errors.as_slice() {
                [] => {}
                [one] => return Err(attributes.forbidden(one)),
                many => return Err(attributes.forbidden(&format!("[{}]", many.join(", ")))),
            }
        }
        Ok(())
    }
}

/// The LimitRanges of the namespace. Most have none.
fn ranges(attributes: &Attributes<'_>) -> Vec<std::sync::Arc<Value>> {
    let snapshot = attributes.state().store.snapshot();
    let key = resource::key("", "limitranges");
    let list = snapshot.list(&key, Some(attributes.namespace()), None);
    list.map(|entry| entry.object.value().clone()).collect()
}

/// Fills in what containers do not ask for.
fn fill(range: &Value, pod: &mut Value) {
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    for limit in range.items_at(&["spec", "limits"]) {
        if limit.str_at(&["type"]) == Some("Container") {
            requests.extend(resources::read(limit.get("defaultRequest")));
            limits.extend(resources::read(limit.get("default")));
        }
    }
    if requests.is_empty() && limits.is_empty() {
        return;
    }
    let mut told = Vec::new();
    for (list, word) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.at_mut(&["spec", list]).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            for (part, defaults, what) in [("requests", &requests, "request"), ("limits", &limits, "limit")] {
                let missing: Vec<(&String, &Quantity)> = defaults
                    .iter()
                    .filter(|(name, _)| container.at(&["resources", part, name]).is_none())
                    .collect();
                if missing.is_empty() {
                    continue;
                }
                let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
                let name = object_name(container);
                told.push(format!("{} {what} for {word} {name}", names.join(", ")));
                for (name, amount) in missing {
                    container.set(&["resources", part, name], amount.to_string());
                }
            }
        }
    }
    if !told.is_empty() {
        let text = format!("LimitRanger plugin set: {}", told.join("; "));
        pod.set(&["metadata", "annotations", ANNOTATION], text);
    }
}

fn object_name(container: &Value) -> String {
    container.str_at(&["name"]).unwrap_or_default().to_owned()
}

fn check_containers(limit: &Value, pod: &Value, errors: &mut Vec<String>) {
    for list in ["containers", "initContainers"] {
        for container in pod.items_at(&["spec", list]) {
            let of = |part: Part| resources::read(container.at(&["resources", part.field()]));
            check(limit, "Container", &of(Part::Requests), &of(Part::Limits), errors);
        }
    }
}

fn check_claim(limit: &Value, claim: &Value, errors: &mut Vec<String>) {
    const KIND: &str = "PersistentVolumeClaim";
    let requests = resources::read(claim.at(&["spec", "resources", "requests"]));
    for (name, enforced) in resources::read(limit.get("min")) {
        errors.extend(below(KIND, &name, enforced, requests.get(&name), None));
    }
    for (name, enforced) in resources::read(limit.get("max")) {
        errors.extend(match requests.get(&name) {
            None => Some(format!("{}.  No request is specified", usage("maximum", KIND, &name, enforced))),
            Some(request) if is_more(*request, enforced, enforced) => {
                Some(format!("{}, but request is {request}", usage("maximum", KIND, &name, enforced)))
            }
            Some(_) => None,
        });
    }
}

fn check(limit: &Value, kind: &str, requests: &Amounts, limits: &Amounts, errors: &mut Vec<String>) {
    for (name, enforced) in resources::read(limit.get("min")) {
        errors.extend(below(kind, &name, enforced, requests.get(&name), limits.get(&name)));
    }
    for (name, enforced) in resources::read(limit.get("max")) {
        errors.extend(above(kind, &name, enforced, requests.get(&name), limits.get(&name)));
    }
    for (name, enforced) in resources::read(limit.get("maxLimitRequestRatio")) {
        errors.extend(too_far_apart(kind, &name, enforced, requests.get(&name), limits.get(&name)));
    }
}

fn usage(bound: &str, kind: &str, name: &str, enforced: impl Display) -> String {
    format!("{bound} {name} usage per {kind} is {enforced}")
}

/// Compares in thousandths, unless one of the numbers is too large for that. `other` is what else would be compared.
fn is_more(a: Quantity, b: Quantity, other: Quantity) -> bool {
    if [a, b, other].iter().all(|amount| amount.value() <= MAX_MILLI) {
        a.milli_value() > b.milli_value()
    } else {
        a.value() > b.value()
    }
}

fn below(
    kind: &str,
    name: &str,
    enforced: Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let text = usage("minimum", kind, name, enforced);
    let Some(request) = request else { return Some(format!("{text}.  No request is specified")) };
    let other = limit.copied().unwrap_or(enforced);
    if is_more(enforced, *request, other) {
        return Some(format!("{text}, but request is {request}"));
    }
    let limit = limit.filter(|limit| is_more(enforced, **limit, *request))?;
    Some(format!("{text}, but limit is {limit}"))
}

fn above(
    kind: &str,
    name: &str,
    enforced: Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let text = usage("maximum", kind, name, enforced);
    let Some(limit) = limit else { return Some(format!("{text}.  No limit is specified")) };
    if is_more(*limit, enforced, request.copied().unwrap_or(enforced)) {
        return Some(format!("{text}, but limit is {limit}"));
    }
    let request = request.filter(|request| is_more(**request, enforced, *limit))?;
    Some(format!("{text}, but request is {request}"))
}

fn too_far_apart(
    kind: &str,
    name: &str,
    enforced: Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let text = format!("{name} max limit to request ratio per {kind} is {enforced}");
    let given = |amount: Option<&Quantity>| amount.copied().filter(|amount| !amount.is_zero());
    let Some(request) = given(request) else {
        return Some(format!("{text}, but no request is specified or request is 0"));
    };
    let Some(limit) = given(limit) else {
        return Some(format!("{text}, but no limit is specified or limit is 0"));
    };
    // Billionths fit: the ratio is only printed with six digits.
    let ratio = limit.nano() as f64 / request.nano() as f64;
    let most = enforced.nano() as f64 / 1e9;
    (ratio > most).then(|| format!("{text}, but provided ratio is {ratio:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn what_is_filled_in_is_said() {
        let range = json!({"spec": {"limits": [{
            "type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"},
        }]}});
        let mut pod = json!({"spec": {"containers": [
            {"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}},
        ]}});
        fill(&range, &mut pod);
        assert_eq!(
            pod.str_at(&["metadata", "annotations", ANNOTATION]),
            Some(
                "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for container b"
            )
        );
    }

    #[test]
    fn bounds_are_worded_as_upstream_words_them() {
        let limit =
            json!({"min": {"cpu": "200m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}});
        let amounts = |text: &str| Amounts::from([("cpu".to_owned(), text.parse().unwrap())]);
        let said = |request: &str, limit_: &str| {
            let mut errors = Vec::new();
            check(&limit, "Container", &amounts(request), &amounts(limit_), &mut errors);
            errors
        };
        assert!(said("500m", "1").is_empty());
        assert_eq!(
            said("100m", "2"),
            [
                "minimum cpu usage per Container is 200m, but request is 100m",
                "maximum cpu usage per Container is 1, but limit is 2",
                "cpu max limit to request ratio per Container is 2, but provided ratio is 20.000000",
            ]
        );
    }
}
