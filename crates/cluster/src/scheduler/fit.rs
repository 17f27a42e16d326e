//! Whether a pod may run on a node: selector, required affinity, taints, and whether the node takes pods at all.

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Value, json, object};

/// Why a pod does not fit a node, in upstream's words; `None` if it fits.
pub(crate) fn obstacle(pod: &Value, node: &Value) -> Option<String> {
    if node.at(&["spec", "unschedulable"]).and_then(Value::as_bool) == Some(true)
        && !tolerates(pod, &json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}))
    {
        return Some("node(s) were unschedulable".to_owned());
    }
    if !object::condition_is_true(node, "Ready") {
        return Some("node(s) were not ready".to_owned());
    }
    if !matches_affinity(pod, node) {
        return Some("node(s) didn't match Pod's node affinity/selector".to_owned());
    }
    let taint = taints(node).find(|taint| {
        matches!(taint.str_at(&["effect"]), Some("NoSchedule" | "NoExecute")) && !tolerates(pod, taint)
    })?;
    let text = |field: &str| taint.str_at(&[field]).unwrap_or_default();
    Some(format!("node(s) had untolerated taint {{{}: {}}}", text("key"), text("value")))
}

/// Whether a DaemonSet should have a pod on a node, which need not be ready.
pub(crate) fn daemon(pod: &Value, node: &Value) -> bool {
    matches_affinity(pod, node)
        && taints(node)
            .all(|taint| taint.str_at(&["effect"]) == Some("PreferNoSchedule") || tolerates(pod, taint))
}

fn taints(node: &Value) -> impl Iterator<Item = &Value> {
    node.items_at(&["spec", "taints"]).iter()
}

fn tolerates(pod: &Value, taint: &Value) -> bool {
    pod.items_at(&["spec", "tolerations"]).iter().any(|toleration| {
        let text = |field: &str| toleration.str_at(&[field]).unwrap_or_default();
        let effect = text("effect").is_empty() || Some(text("effect")) == taint.str_at(&["effect"]);
        let key = taint.str_at(&["key"]).unwrap_or_default();
        let value = taint.str_at(&["value"]).unwrap_or_default();
        effect
            && match text("operator") {
                "Exists" => text("key").is_empty() || text("key") == key,
                _ => text("key") == key && text("value") == value,
            }
    })
}

fn matches_affinity(pod: &Value, node: &Value) -> bool {
    let wanted = pod.at(&["spec", "nodeSelector"]).and_then(Value::as_object);
    let labels = object::labels(node);
    let selected = wanted.is_none_or(|w| w.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v)));
    let terms = pod.at(&[
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ]);
    let Some(terms) = terms.and_then(Value::as_array) else { return selected };
    selected && terms.iter().any(|term| matches_term(term, node))
}

fn matches_term(term: &Value, node: &Value) -> bool {
    let (expressions, fields) = (term.items_at(&["matchExpressions"]), term.items_at(&["matchFields"]));
    if expressions.is_empty() && fields.is_empty() {
        return false;
    }
    let by_field = fields.iter().all(|field| {
        let named = field.items_at(&["values"]).iter().any(|v| v.as_str() == Some(object::name(node)));
        named == (field.str_at(&["operator"]) != Some("NotIn"))
    });
    by_field && expressions.iter().all(|expression| matches_expression(expression, node))
}

fn matches_expression(expression: &Value, node: &Value) -> bool {
    let key = expression.str_at(&["key"]).unwrap_or_default();
    let operator = expression.str_at(&["operator"]).unwrap_or_default();
    if let "Gt" | "Lt" = operator {
        let bound = expression.items_at(&["values"]).first().and_then(Value::as_str);
        let bound = bound.and_then(|bound| bound.parse::<i64>().ok());
        let value = object::label(node, key).and_then(|value| value.parse::<i64>().ok());
        return match (value, bound) {
            (Some(value), Some(bound)) if operator == "Gt" => value > bound,
            (Some(value), Some(bound)) => value < bound,
            _ => false,
        };
    }
    let mut selector = json!({});
    selector.set(&["matchExpressions"], vec![expression.clone()]);
    LabelSelector::from_object(&selector).is_ok_and(|selector| selector.matches(object::labels(node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_fits_the_nodes_it_asks_for() {
        let node = json!({"metadata": {"name": "n", "labels": {"disk": "ssd", "cpus": "8"}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let required = |term: Value| {
            let mut pod = json!({});
            pod.set(
                &["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"],
                json!({"nodeSelectorTerms": [term]}),
            );
            pod
        };
        let field = |operator: &str| {
            required(
                json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": ["n"]}]}),
            )
        };
        for (pod, fits) in [
            (json!({"spec": {}}), true),
            (json!({"spec": {"nodeSelector": {"disk": "ssd"}}}), true),
            (json!({"spec": {"nodeSelector": {"disk": "hdd"}}}), false),
            (
                required(json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]})),
                true,
            ),
            (required(json!({"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]})), false),
            (
                required(json!({"matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["4"]}]})),
                true,
            ),
            (
                required(json!({"matchExpressions": [{"key": "cpus", "operator": "Lt", "values": ["4"]}]})),
                false,
            ),
            (required(json!({})), false),
            (field("In"), true),
            (field("NotIn"), false),
        ] {
            assert_eq!(obstacle(&pod, &node).is_none(), fits, "{}", pod.to_json());
        }
    }

    #[test]
    fn a_tainted_or_cordoned_node_takes_only_pods_that_tolerate_it() {
        let mut node = json!({"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let plain = json!({"spec": {}});
        let tolerant = json!({"spec": {"tolerations": [{"key": "k", "operator": "Equal", "value": "v"}]}});
        let reckless = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        assert_eq!(obstacle(&plain, &node).as_deref(), Some("node(s) had untolerated taint {k: v}"));
        assert_eq!(obstacle(&tolerant, &node), None);
        node.set(&["spec"], json!({"unschedulable": true}));
        assert_eq!(obstacle(&plain, &node).as_deref(), Some("node(s) were unschedulable"));
        assert_eq!(obstacle(&reckless, &node), None);
    }
}
