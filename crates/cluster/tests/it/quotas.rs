use pilothouse_value::json;

use crate::house::*;

fn quota(hard: pilothouse_value::Value) -> pilothouse_value::Value {
    json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_charged_refuses_what_is_too_much_and_is_freed_again() {
    let house = House::without_node().await;
    let map = |name: &str| json!({"metadata": {"name": name}});
    house.create(&CONFIG_MAPS, map("before")).await;
    house.create(&QUOTAS, quota(json!({"configmaps": "3", "count/configmaps": "3"}))).await;
    let used = |o: &pilothouse_value::Value, count: &str| {
        o.at(&["status", "used"]) == Some(&json!({"configmaps": count, "count/configmaps": count}))
    };
    // The namespace has the certificates of the cluster too.
    house.until_one(&QUOTAS, "q", |o| used(o, "2")).await;
    house.create(&CONFIG_MAPS, map("third")).await;
    let charged = house.get(&QUOTAS, "q").await.unwrap();
    assert!(used(&charged, "3"), "charged before the object is there: {charged}");
    let refused = house.client.create(&CONFIG_MAPS, Some("default"), map("fourth")).await.unwrap_err();
    assert_eq!(
        refused.message,
        "configmaps \"fourth\" is forbidden: exceeded quota: q, requested: configmaps=1,count/configmaps=1, used: \
         configmaps=3,count/configmaps=3, limited: configmaps=3,count/configmaps=3"
    );
    house.delete(&CONFIG_MAPS, "before", None).await;
    house.until_one(&QUOTAS, "q", |o| used(o, "2")).await;
    house.create(&CONFIG_MAPS, map("fourth")).await;
}

#[tokio::test(start_paused = true)]
async fn custom_resources_are_counted_too() {
    let house = House::without_node().await;
    let definition = json!({"metadata": {"name": "webs.demo.dev"}, "spec": {"group": "demo.dev", "scope": "Namespaced",
        "names": {"plural": "webs", "kind": "Web"}, "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    house.client.create(&CRDS, None, definition).await.unwrap();
    house.create(&QUOTAS, quota(json!({"count/webs.demo.dev": "1"}))).await;
    let used = |o: &pilothouse_value::Value, count: &str| {
        o.at(&["status", "used"]) == Some(&json!({"count/webs.demo.dev": count}))
    };
    house.until_one(&QUOTAS, "q", |o| used(o, "0")).await;
    let web = |name: &str| json!({"apiVersion": "demo.dev/v1", "kind": "Web", "metadata": {"name": name}});
    house.create(&WEBS, web("a")).await;
    assert_eq!(house.client.create(&WEBS, Some("default"), web("b")).await.unwrap_err().code, 403);
    house.delete(&WEBS, "a", None).await;
    house.until_one(&QUOTAS, "q", |o| used(o, "0")).await;
}

#[tokio::test(start_paused = true)]
async fn aggregated_roles_are_filled() {
    let house = House::without_node().await;
    house
        .until(&CLUSTER_ROLES, |all| {
            let role = |name: &str| all.iter().find(|o| pilothouse_value::object::name(o) == name);
            let rules = |name: &str| role(name).map_or(0, |role| role.items_at(&["rules"]).len());
            (rules("view") > 10 && rules("edit") > rules("view") && rules("admin") > rules("edit"))
                .then_some(())
        })
        .await;
}
