//! Fills aggregated cluster roles with the rules of the roles that their selectors match, as the controller
//! `clusterrole-aggregation-controller` of upstream does (`pkg/controller/clusterroleaggregation`).

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Value, json, object};

use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::informer::Object;
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::CLUSTER_ROLES;

struct Roles {
    api: Api,
}

impl Reconcile for Roles {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let roles = self.api.of(&CLUSTER_ROLES);
        let Some(role) = roles.get("", &key.name).filter(|role| aggregates(role)) else { return Ok(None) };
        self.api.act(plan(&role, &roles.list(None))).await
    }
}

fn aggregates(role: &Value) -> bool {
    role.at(&["aggregationRule"]).is_some_and(|rule| !rule.is_null())
}

/// What has to change about an aggregated role.
fn plan(role: &Value, all: &[Object]) -> Plan {
    let mut plan = Plan::default();
    let mut others: Vec<&Object> =
        all.iter().filter(|other| object::name(other) != object::name(role)).collect();
    others.sort_by_key(|other| object::name(other).to_owned());
    let mut rules: Vec<Value> = Vec::new();
    for selector in role.items_at(&["aggregationRule", "clusterRoleSelectors"]) {
        let Ok(selector) = LabelSelector::from_object(selector) else { continue };
        for other in others.iter().filter(|other| selector.matches(object::labels(other))) {
            for rule in other.items_at(&["rules"]) {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    if role.items_at(&["rules"]) != rules {
        plan.patch(&CLUSTER_ROLES, role, json!({"rules": rules}));
    }
    plan
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let (keys, roles) = (queue.clone(), Arc::downgrade(&api.of(&CLUSTER_ROLES)));
    api.of(&CLUSTER_ROLES).on_change(move |change| {
        // Whatever changes may be part of any of them, and there are few.
        let all = roles.upgrade().map(|roles| roles.list(None)).unwrap_or_default();
        all.iter()
            .chain(&change.new)
            .filter(|role| aggregates(role))
            .for_each(|role| keys.add(Key::of(role)));
    });
    let reads = vec![api.of(&CLUSTER_ROLES)];
    let roles = Roles { api: api.named("clusterrole-aggregation-controller") };
    runner.run("clusterrole-aggregation-controller", roles, queue, reads);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::plan::Intent;

    #[test]
    fn a_role_has_the_rules_of_its_parts_once_each() {
        let part = |name: &str, resource: &str| -> Object {
            Arc::new(json!({"metadata": {"name": name, "labels": {"part": "yes"}},
                "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]}))
        };
        let role = json!({"metadata": {"name": "whole", "labels": {"part": "yes"}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}, "rules": null});
        let all = [part("b", "pods"), part("a", "nodes"), part("c", "pods"), Arc::new(role.clone())];
        let Some(Intent::Patch { patch, .. }) = plan(&role, &all).intents.pop() else { panic!("no patch") };
        let resources: Vec<&Value> =
            patch.items_at(&["rules"]).iter().flat_map(|rule| rule.items_at(&["resources"])).collect();
        assert_eq!(resources, [&Value::from("nodes"), &Value::from("pods")]);
        let mut filled = role;
        filled.set(&["rules"], patch.get("rules").cloned());
        assert!(plan(&filled, &all).intents.is_empty());
    }
}
