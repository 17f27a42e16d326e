//! How many replicas each ReplicaSet of a Deployment gets when their total changes.

use pilothouse_value::{Value, json, object};

use super::sets::Sets;
use crate::harness::plan::Plan;
use crate::resources::REPLICA_SETS;

/// The annotation with the number of replicas that the Deployment had when the set was last scaled.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The annotation with the most pods that the Deployment could have when the set was last scaled.
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";

/// `spec.replicas`.
pub(super) fn replicas(of: &Value) -> i64 {
    of.i64_at(&["spec", "replicas"]).unwrap_or(1)
}

/// A count in the status.
pub(super) fn reported(set: &Value, field: &str) -> i64 {
    set.i64_at(&["status", field]).unwrap_or_default()
}

/// An annotation that is a number.
pub(super) fn number_annotation(set: &Value, key: &str) -> Option<i64> {
    object::annotation(set, key)?.parse().ok()
}

/// How many pods there may be beyond, and may be missing from, the wanted number during a rollout.
pub(super) fn surge_and_unavailable(deployment: &Value) -> (i64, i64) {
    let wanted = replicas(deployment);
    let strategy = |field: &str| deployment.at(&["spec", "strategy", "rollingUpdate", field]);
    if deployment.str_at(&["spec", "strategy", "type"]) == Some("Recreate") {
        return (0, 0);
    }
    let surge = int_or_percent(strategy("maxSurge"), wanted, true);
    let unavailable = int_or_percent(strategy("maxUnavailable"), wanted, false);
    // Both may round to zero; then nothing could ever move.
    let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
    (surge, unavailable.min(wanted))
}

/// A number, or a percentage of `total`; 25 % where nothing is said.
pub(crate) fn int_or_percent(value: Option<&Value>, total: i64, round_up: bool) -> i64 {
    let percent = |percent: i64| {
        let product = total.saturating_mul(percent);
        if round_up { product.saturating_add(99) / 100 } else { product / 100 }
    };
    match value {
        Some(Value::String(text)) => {
            text.trim_end_matches('%').parse().map(percent).unwrap_or_default().max(0)
        }
        Some(value) => value.as_i64().unwrap_or_default().max(0),
        None => percent(25),
    }
}

/// Writes the annotations that say what a set was scaled for.
pub(super) fn annotate(deployment: &Value, annotations: &mut Value) {
    let wanted = replicas(deployment);
    annotations.set(&[DESIRED], wanted.to_string());
    annotations.set(&[MAX], (wanted + surge_and_unavailable(deployment).0).to_string());
}

/// Scales one set. Where the number is right already its annotations alone are kept right if `always`. Says whether
/// the number changed.
pub(super) fn scale(deployment: &Value, set: &Value, to: i64, always: bool, plan: &mut Plan) -> bool {
    let from = replicas(set);
    let mut annotations = json!({});
    annotate(deployment, &mut annotations);
    let told = annotations.as_object().is_some_and(|wanted| {
        wanted.iter().all(|(key, value)| object::annotations(set).and_then(|a| a.get(key)) == Some(value))
    });
    if from == to && (told || !always) {
        return false;
    }
    let mut patch = json!({"metadata": {}, "spec": {"replicas": to}});
    patch.set(&["metadata", "annotations"], annotations);
    plan.patch(&REPLICA_SETS, set, patch);
    if from != to {
        let direction = if from < to { "up" } else { "down" };
        plan.event(
            deployment,
            "ScalingReplicaSet",
            format!("Scaled {direction} replica set {} from {from} to {to}", object::name(set)),
        );
    }
    from != to
}

/// Spreads the wanted number of replicas over the sets in proportion to what they have, so that scaling in the middle
/// of a rollout does not hasten it.
pub(super) fn proportionally(view: &Sets<'_>, plan: &mut Plan) {
    let deployment = view.deployment;
    let wanted = replicas(deployment);
    let mut active: Vec<&Value> = view.all().filter(|set| replicas(set) > 0).collect();
    let only = match active.as_slice() {
        [] => view.new.or(view.old.last().copied()),
        [one] => Some(*one),
        _ => None,
    };
    if let Some(only) = only {
        scale(deployment, only, wanted, true, plan);
        return;
    }
    let total: i64 = active.iter().map(|set| replicas(set)).sum();
    if active.is_empty() {
        return;
    }
    let saturated = view.new.is_some_and(|new| {
        replicas(new) == wanted
            && number_annotation(new, DESIRED) == Some(wanted)
            && reported(new, "availableReplicas") == wanted
    });
    if saturated {
        for set in view.old_active() {
            scale(deployment, set, 0, false, plan);
        }
        return;
    }
    if deployment.str_at(&["spec", "strategy", "type"]) == Some("Recreate") {
        return;
    }
    let allowed = if wanted > 0 { wanted + surge_and_unavailable(deployment).0 } else { 0 };
    let to_add = allowed - total;
    // `all` has the newest last: the larger first, and of equal ones the newer when growing, the older when shrinking.
    if to_add > 0 {
        active.reverse();
    }
    active.sort_by_key(|set| -replicas(set));
    let mut added = 0;
    let mut sizes: Vec<i64> = Vec::new();
    for set in &active {
        let share = if to_add == 0 { 0 } else { share(deployment, set, to_add - added, to_add) };
        added += share;
        sizes.push(replicas(set) + share);
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    for (set, size) in active.iter().zip(sizes) {
        scale(deployment, set, size, true, plan);
    }
}

fn share(deployment: &Value, set: &Value, left: i64, to_add: i64) -> i64 {
    let (wanted, has) = (replicas(deployment), replicas(set));
    let fraction = if wanted == 0 {
        -has
    } else {
        let max = wanted + surge_and_unavailable(deployment).0;
        let before = number_annotation(set, MAX).filter(|max| *max > 0);
        match before.unwrap_or_else(|| reported(deployment, "replicas")) {
            0 => 0,
            before => (2 * has * max + before) / (2 * before) - has,
        }
    };
    if to_add > 0 { fraction.min(left) } else { fraction.max(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_as_upstream_rounds_them() {
        for (surge, unavailable, replicas, expected) in [
            (json!("25%"), json!("25%"), 10, (3, 2)),
            (json!("25%"), json!("25%"), 1, (1, 0)),
            (json!(0), json!("10%"), 5, (0, 1)),
            (json!(2), json!(7), 5, (2, 5)),
        ] {
            let mut deployment = json!({"spec": {}});
            deployment.set(&["spec", "replicas"], replicas);
            deployment.set(&["spec", "strategy", "rollingUpdate", "maxSurge"], surge);
            deployment.set(&["spec", "strategy", "rollingUpdate", "maxUnavailable"], unavailable);
            assert_eq!(surge_and_unavailable(&deployment), expected, "{}", deployment.to_json());
        }
    }
}
