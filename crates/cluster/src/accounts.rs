//! What every namespace has: the service account `default`, and the ConfigMap `kube-root-ca.crt` with which pods check
//! the API server (`pkg/controller/serviceaccount`, `pkg/controller/certificates/rootcacertpublisher`).

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::{Value, json, object};

use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::plan::Plan;
use crate::harness::queue::Queue;
use crate::resources::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};

const ACCOUNT: &str = "default";
const ROOT_CA: &str = "kube-root-ca.crt";

struct Accounts {
    api: Api,
    ca_pem: String,
}

impl Reconcile for Accounts {
    /// The namespace.
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(namespace) = self.api.of(&NAMESPACES).get("", &key.name) else { return Ok(None) };
        let account = self.api.of(&SERVICE_ACCOUNTS).get(&key.name, ACCOUNT);
        let ca = self.api.of(&CONFIG_MAPS).get(&key.name, ROOT_CA);
        self.api.act(plan(&namespace, account.as_deref(), ca.as_deref(), &self.ca_pem)).await
    }
}

/// What to make for a namespace.
fn plan(namespace: &Value, account: Option<&Value>, ca: Option<&Value>, pem: &str) -> Plan {
    let mut plan = Plan::default();
    if object::deletion_timestamp(namespace).is_some() {
        return plan;
    }
    let namespace = object::name(namespace);
    if account.is_none() {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": ACCOUNT, "namespace": namespace}});
        plan.create(&SERVICE_ACCOUNTS, account, None);
    }
    match ca {
        None => {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": pem},
                "metadata": {"name": ROOT_CA, "namespace": namespace, "annotations": {
                    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver \
                        when using internal endpoints such as the internal service IP or kubernetes.default.svc. No \
                        other usage is guaranteed across distributions of Kubernetes clusters."}}});
            plan.create(&CONFIG_MAPS, map, None);
        }
        Some(map) if map.at(&["data"]) != Some(&json!({"ca.crt": pem})) => {
            let mut map = map.clone();
            map.set(&["data"], json!({"ca.crt": pem}));
            plan.update(&CONFIG_MAPS, map);
        }
        Some(_) => {}
    }
    plan
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner, ca_pem: String) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let reads: Vec<_> = [&*NAMESPACES, &*SERVICE_ACCOUNTS, &*CONFIG_MAPS].map(|r| api.of(r)).into();
    let keys = queue.clone();
    api.of(&NAMESPACES).on_change(move |change| {
        change.new.iter().for_each(|namespace| keys.add(Key::of(namespace)));
    });
    for (resource, name) in [(&SERVICE_ACCOUNTS, ACCOUNT), (&CONFIG_MAPS, ROOT_CA)] {
        let keys = queue.clone();
        api.of(resource).on_change(move |change| {
            if let Some(object) = change.latest().filter(|object| object::name(object) == name) {
                keys.add(Key::new("", object::namespace(object).unwrap_or_default()));
            }
        });
    }
    let accounts = Accounts { api: api.named("serviceaccount-controller"), ca_pem };
    runner.run("serviceaccount-controller", accounts, queue, reads);
}

/// Waits until every namespace that is there now has its account.
pub(crate) async fn ready(api: &Api) -> Result<(), Failure> {
    for namespace in api.list(&NAMESPACES, None).await? {
        if object::deletion_timestamp(&namespace).is_none() {
            api.seen_to_exist(&SERVICE_ACCOUNTS, object::name(&namespace), ACCOUNT).await;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::plan::Intent;

    fn made(plan: &Plan) -> Vec<&str> {
        plan.intents
            .iter()
            .map(|intent| match intent {
                Intent::Create { object, .. } => object::kind(object),
                Intent::Update { object, .. } => object::name(object),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn what_is_missing_is_made_and_what_was_changed_put_right() {
        let namespace = json!({"metadata": {"name": "ns"}});
        let account = json!({"metadata": {"name": "default"}});
        let right = json!({"metadata": {"name": ROOT_CA}, "data": {"ca.crt": "PEM"}});
        let wrong = json!({"metadata": {"name": ROOT_CA}, "data": {"ca.crt": "OTHER"}});
        for (account, ca, expected) in [
            (None, None, vec!["ServiceAccount", "ConfigMap"]),
            (Some(&account), Some(&right), vec![]),
            (Some(&account), Some(&wrong), vec![ROOT_CA]),
        ] {
            assert_eq!(made(&plan(&namespace, account, ca, "PEM")), expected);
        }
        let going = json!({"metadata": {"name": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(made(&plan(&going, None, None, "PEM")), Vec::<&str>::new());
    }
}
