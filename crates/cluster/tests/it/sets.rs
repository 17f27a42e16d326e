use pilothouse_cluster::PHASE_ANNOTATION;
use pilothouse_value::{Value, json, object};

use crate::house::*;

fn database(replicas: i64) -> Value {
    workload(
        "StatefulSet",
        "db",
        json!({"replicas": replicas, "serviceName": "db", "volumeClaimTemplates": [{"metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}),
    )
}

async fn ready(house: &House, replicas: i64) -> Value {
    house
        .until_one(&STATEFUL_SETS, "db", |set| {
            let status = |field: &str| set.i64_at(&["status", field]).unwrap_or_default();
            status("observedGeneration") >= object::generation(set)
                && status("readyReplicas") == replicas
                && status("replicas") == replicas
                && set.str_at(&["status", "currentRevision"]) == set.str_at(&["status", "updateRevision"])
        })
        .await
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_keeps_its_number_of_pods() {
    let house = House::start().await;
    house.create(&REPLICA_SETS, workload("ReplicaSet", "web", json!({"replicas": 3}))).await;
    house
        .until_one(&REPLICA_SETS, "web", |set| set.i64_at(&["status", "availableReplicas"]) == Some(3))
        .await;
    house.patch(&REPLICA_SETS, "web", json!({"spec": {"replicas": 1}})).await;
    house.until_one(&REPLICA_SETS, "web", |set| set.i64_at(&["status", "replicas"]) == Some(1)).await;
    assert_eq!(house.names(&PODS).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_replica_set_adopts_orphans_and_releases_what_it_no_longer_selects() {
    let house = House::start().await;
    let mut orphan = template("web");
    orphan.set(&["metadata", "name"], "orphan");
    house.create(&PODS, orphan).await;
    house.create(&REPLICA_SETS, workload("ReplicaSet", "web", json!({"replicas": 1}))).await;
    house.until_one(&PODS, "orphan", |pod| object::controller_of(pod).is_some()).await;
    house.at_rest().await;
    assert_eq!(house.names(&PODS).await, ["orphan"]);
    house.patch(&PODS, "orphan", json!({"metadata": {"labels": {"app": "other"}}})).await;
    house.until_one(&PODS, "orphan", |pod| object::controller_of(pod).is_none()).await;
    house.until_count(&PODS, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_has_pods_in_order_each_with_a_bound_claim() {
    let house = House::start().await;
    house.create(&STATEFUL_SETS, database(3)).await;
    ready(&house, 3).await;
    assert_eq!(house.names(&PODS).await, ["db-0", "db-1", "db-2"]);
    let claims = house.list(&CLAIMS).await;
    assert_eq!(claims.len(), 3);
    assert!(claims.iter().all(|claim| claim.str_at(&["status", "phase"]) == Some("Bound")));
    let pods = house.list(&PODS).await;
    let created: Vec<u64> = pods.iter().map(|pod| object::resource_version(pod).parse().unwrap()).collect();
    assert!(created.is_sorted(), "{created:?}");
    let events = house.list(&EVENTS).await;
    let told = |text: &str| events.iter().any(|event| event.str_at(&["message"]) == Some(text));
    assert!(told("Create Pod db-0 in StatefulSet db successful"));
    assert!(told("Create Claim data-db-0 Pod db-0 in StatefulSet db success"));
}

#[tokio::test(start_paused = true)]
async fn an_ordered_set_waits_for_each_pod_and_a_parallel_one_does_not() {
    let house = House::start().await;
    for (policy, expected) in [("OrderedReady", 1), ("Parallel", 3)] {
        let mut set = workload("StatefulSet", "s", json!({"replicas": 3, "podManagementPolicy": policy}));
        set.set(&["spec", "template", "metadata", "annotations", PHASE_ANNOTATION], "Unready");
        house.create(&STATEFUL_SETS, set).await;
        house.at_rest().await;
        assert_eq!(house.names(&PODS).await.len(), expected, "{policy}");
        house.delete(&STATEFUL_SETS, "s", None).await;
        house.until_count(&PODS, 0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_scaled_down_set_keeps_its_claims_for_the_next_time() {
    let house = House::start().await;
    house.create(&STATEFUL_SETS, database(2)).await;
    ready(&house, 2).await;
    let volume = |claim: Option<Value>| claim.unwrap().str_at(&["spec", "volumeName"]).unwrap().to_owned();
    let before = volume(house.get(&CLAIMS, "data-db-1").await);
    house.patch(&STATEFUL_SETS, "db", json!({"spec": {"replicas": 0}})).await;
    house.until_count(&PODS, 0).await;
    house.patch(&STATEFUL_SETS, "db", json!({"spec": {"replicas": 2}})).await;
    ready(&house, 2).await;
    assert_eq!(volume(house.get(&CLAIMS, "data-db-1").await), before);
}

#[tokio::test(start_paused = true)]
async fn claims_go_with_the_set_where_the_policy_says_so() {
    let house = House::start().await;
    let mut set = database(2);
    set.set(
        &["spec", "persistentVolumeClaimRetentionPolicy"],
        json!({"whenDeleted": "Delete", "whenScaled": "Delete"}),
    );
    house.create(&STATEFUL_SETS, set).await;
    ready(&house, 2).await;
    house.patch(&STATEFUL_SETS, "db", json!({"spec": {"replicas": 1}})).await;
    house.until_gone(&CLAIMS, "data-db-1").await;
    house.delete(&STATEFUL_SETS, "db", None).await;
    house.until_gone(&CLAIMS, "data-db-0").await;
}

#[tokio::test(start_paused = true)]
async fn a_set_rolls_from_the_highest_to_the_partition() {
    let house = House::start().await;
    let mut set = database(3);
    set.set(&["spec", "updateStrategy"], json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}));
    house.create(&STATEFUL_SETS, set).await;
    ready(&house, 3).await;
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/c:v2"}]}}}});
    house.patch(&STATEFUL_SETS, "db", patch).await;
    house
        .until_one(&STATEFUL_SETS, "db", |set| {
            set.i64_at(&["status", "updatedReplicas"]) == Some(2)
                && set.i64_at(&["status", "readyReplicas"]) == Some(3)
        })
        .await;
    house.at_rest().await;
    let pods = house.list(&PODS).await;
    let images: Vec<_> =
        pods.iter().map(|p| p.items_at(&["spec", "containers"])[0].str_at(&["image"]).unwrap()).collect();
    assert_eq!(images, ["registry.example/c:v1", "registry.example/c:v2", "registry.example/c:v2"]);
    house
        .patch(&STATEFUL_SETS, "db", json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}))
        .await;
    ready(&house, 3).await;
    assert_eq!(house.names(&CONTROLLER_REVISIONS).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_each_node_that_it_fits() {
    let house = House::start().await;
    let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    for (name, taints) in [("plain", json!([])), ("tainted", json!([{"key": "k", "effect": "NoSchedule"}]))] {
        let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
        node.set(&["spec", "taints"], taints);
        let mut node = house.create(&NODES, node).await;
        node.set(&["status"], ready.clone());
        house.client.update_status(&NODES, None, node).await.unwrap();
    }
    house.create(&DAEMON_SETS, workload("DaemonSet", "agent", json!({}))).await;
    house
        .until(&PODS, |pods| {
            let mut nodes: Vec<_> = pods.iter().filter_map(|pod| pod.str_at(&["spec", "nodeName"])).collect();
            nodes.sort_unstable();
            (nodes == ["instant", "plain"]).then_some(())
        })
        .await;
    let set =
        house.until_one(&DAEMON_SETS, "agent", |set| set.i64_at(&["status", "numberReady"]) == Some(1)).await;
    assert_eq!(set.i64_at(&["status", "desiredNumberScheduled"]), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_rolls_out_a_new_template() {
    let house = House::start().await;
    house.create(&DAEMON_SETS, workload("DaemonSet", "agent", json!({}))).await;
    house.until_one(&DAEMON_SETS, "agent", |set| set.i64_at(&["status", "numberReady"]) == Some(1)).await;
    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "registry.example/c:v2"}]}}}});
    house.patch(&DAEMON_SETS, "agent", patch).await;
    house
        .until(&PODS, |pods| {
            let new = |pod: &Value| {
                pod.items_at(&["spec", "containers"])[0].str_at(&["image"]) == Some("registry.example/c:v2")
            };
            (pods.len() == 1 && new(&pods[0])).then_some(())
        })
        .await;
    house
        .until_one(&DAEMON_SETS, "agent", |set| {
            set.i64_at(&["status", "updatedNumberScheduled"]) == Some(1)
                && set.i64_at(&["status", "numberAvailable"]) == Some(1)
        })
        .await;
}
