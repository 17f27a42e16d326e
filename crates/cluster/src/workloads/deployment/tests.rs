use super::*;
use crate::workloads::replica_set;
use crate::workloads::simulate::World;
use pilothouse_value::json;

fn now() -> Timestamp {
    Timestamp::parse("2026-01-01T01:00:00Z").unwrap()
}

fn deployment(replicas: i64, strategy: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ns", "uid": "d", "generation": 1},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "revisionHistoryLimit": 2,
            "progressDeadlineSeconds": 600, "strategy": {"type": strategy},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "v1"}]}}}})
}

/// The world with this Deployment, at rest.
fn started(deployment: Value) -> World {
    let mut world = World::default();
    world.put(deployment);
    settle(&mut world);
    world
}

/// One look of both controllers; says whether something changed.
fn step(world: &mut World) -> bool {
    let deployment = world.get("Deployment", "web").unwrap().clone();
    let plan = reconcile(&deployment, &world.of_kind("ReplicaSet"), &world.of_kind("Pod"), now());
    let mut changed = world.act(plan);
    let sets: Vec<Value> = world.of_kind("ReplicaSet").into_iter().cloned().collect();
    for set in sets {
        let plan = replica_set::reconcile(&set, &world.of_kind("Pod"), now());
        changed |= world.act(plan);
    }
    changed
}

fn settle(world: &mut World) {
    for _ in 0..200 {
        let moved = step(world);
        if !(world.run_pods() || moved) {
            return;
        }
    }
    panic!("never at rest: {:#?}", world.log);
}

fn change(world: &mut World, path: &[&str], value: Value) {
    let mut deployment = world.get("Deployment", "web").unwrap().clone();
    deployment.set(path, value);
    let generation = object::generation(&deployment);
    deployment.set(&["metadata", "generation"], generation + 1);
    world.put(deployment);
}

fn set_image(world: &mut World, image: &str) {
    change(world, &["spec", "template", "spec", "containers"], json!([{"name": "c", "image": image}]));
}

fn images(world: &World) -> Vec<String> {
    world
        .of_kind("Pod")
        .iter()
        .map(|pod| pod.items_at(&["spec", "containers"])[0].str_at(&["image"]).unwrap().to_owned())
        .collect()
}

fn status(world: &World) -> Value {
    world.get("Deployment", "web").unwrap().get("status").cloned().unwrap()
}

fn reason(world: &World, kind: &str) -> String {
    let deployment = world.get("Deployment", "web").unwrap();
    object::condition(deployment, kind).and_then(|c| c.str_at(&["reason"])).unwrap_or_default().to_owned()
}

#[test]
fn a_new_deployment_gets_a_set_and_its_pods() {
    let world = started(deployment(3, "RollingUpdate"));
    assert_eq!(world.names("ReplicaSet").len(), 1);
    let set = world.of_kind("ReplicaSet")[0];
    let hash = object::label(set, TEMPLATE_HASH).unwrap();
    assert_eq!(object::name(set), format!("web-{hash}"));
    assert_eq!(set.str_at(&["spec", "selector", "matchLabels", TEMPLATE_HASH]), Some(hash));
    assert_eq!(object::annotation(set, REVISION), Some("1"));
    assert_eq!(world.names("Pod").len(), 3);
    let status = status(&world);
    for field in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        assert_eq!(status.i64_at(&[field]), Some(3), "{field}");
    }
    assert_eq!(status.get("unavailableReplicas"), None);
    assert_eq!(reason(&world, "Available"), "MinimumReplicasAvailable");
    assert_eq!(reason(&world, "Progressing"), "NewReplicaSetAvailable");
    assert_eq!(world.log.iter().filter(|l| l.starts_with("Scaled")).count(), 1, "{:?}", world.log);
}

#[test]
fn a_rolling_update_stays_within_surge_and_unavailable() {
    let mut world = started(deployment(4, "RollingUpdate"));
    set_image(&mut world, "v2");
    for _ in 0..100 {
        let moved = step(&mut world);
        let pods = world.of_kind("Pod");
        let ready = pods.iter().filter(|pod| pods::is_ready(pod)).count();
        assert!(pods.len() <= 5, "maxSurge 25% of 4 is one: {}", pods.len());
        assert!(ready >= 3, "maxUnavailable 25% of 4 is one: {ready}");
        if !(world.run_pods() || moved) {
            break;
        }
    }
    assert_eq!(images(&world), ["v2"; 4]);
    assert_eq!(world.names("ReplicaSet").len(), 2, "the old set stays, for undo");
    let deployment = world.get("Deployment", "web").unwrap();
    assert_eq!(object::annotation(deployment, REVISION), Some("2"));
    assert_eq!(reason(&world, "Progressing"), "NewReplicaSetAvailable");
}

#[test]
fn a_rollout_whose_pods_do_not_become_ready_keeps_the_old_ones() {
    let mut world = started(deployment(4, "RollingUpdate"));
    set_image(&mut world, "broken");
    for _ in 0..50 {
        step(&mut world);
    }
    let old = images(&world).iter().filter(|image| *image == "v1").count();
    assert_eq!((old, world.names("Pod").len()), (3, 5));
    assert_eq!(reason(&world, "Progressing"), "ReplicaSetUpdated");
}

#[test]
fn recreate_removes_all_old_pods_before_it_makes_new_ones() {
    let mut world = started(deployment(2, "Recreate"));
    set_image(&mut world, "v2");
    world.log.clear();
    settle(&mut world);
    assert_eq!(images(&world), ["v2"; 2]);
    let last_delete = world.log.iter().rposition(|l| l.starts_with("delete pods")).unwrap();
    let first_create = world.log.iter().position(|l| l.starts_with("create Pod")).unwrap();
    assert!(last_delete < first_create, "{:?}", world.log);
}

#[test]
fn going_back_to_an_old_template_takes_its_set_and_a_new_number() {
    let mut world = started(deployment(1, "RollingUpdate"));
    set_image(&mut world, "v2");
    settle(&mut world);
    set_image(&mut world, "v1");
    settle(&mut world);
    assert_eq!(images(&world), ["v1"]);
    assert_eq!(world.names("ReplicaSet").len(), 2);
    let deployment = world.get("Deployment", "web").unwrap();
    assert_eq!(object::annotation(deployment, REVISION), Some("3"));
    let set = world.of_kind("ReplicaSet").into_iter().find(|set| scale_of(set) == 1).unwrap();
    assert_eq!(object::annotation(set, REVISION), Some("3"));
    assert_eq!(object::annotation(set, "deployment.kubernetes.io/revision-history"), Some("1"));
}

fn scale_of(set: &Value) -> i64 {
    set.i64_at(&["spec", "replicas"]).unwrap()
}

#[test]
fn old_sets_beyond_the_history_limit_are_removed() {
    let mut world = started(deployment(1, "RollingUpdate"));
    for image in ["v2", "v3", "v4", "v5"] {
        set_image(&mut world, image);
        settle(&mut world);
    }
    assert_eq!(world.names("ReplicaSet").len(), 3, "the new one and two old ones");
}

#[test]
fn scaling_keeps_the_set_and_a_paused_deployment_makes_no_new_one() {
    let mut world = started(deployment(1, "RollingUpdate"));
    change(&mut world, &["spec", "replicas"], json!(5));
    settle(&mut world);
    assert_eq!((world.names("ReplicaSet").len(), world.names("Pod").len()), (1, 5));
    change(&mut world, &["spec", "paused"], json!(true));
    set_image(&mut world, "v2");
    change(&mut world, &["spec", "replicas"], json!(2));
    settle(&mut world);
    assert_eq!(images(&world), ["v1"; 2]);
    assert_eq!(reason(&world, "Progressing"), "DeploymentPaused");
    change(&mut world, &["spec", "paused"], json!(false));
    settle(&mut world);
    assert_eq!(images(&world), ["v2"; 2]);
}

#[test]
fn scaling_in_the_middle_of_a_rollout_is_shared_in_proportion() {
    let mut world = started(deployment(10, "RollingUpdate"));
    set_image(&mut world, "broken");
    for _ in 0..20 {
        step(&mut world);
    }
    let before: Vec<i64> = world.of_kind("ReplicaSet").iter().map(|set| scale_of(set)).collect();
    assert_eq!(before, [8, 5], "surge 3 and unavailable 2 of 10");
    change(&mut world, &["spec", "replicas"], json!(20));
    step(&mut world);
    let mut after: Vec<i64> = world.of_kind("ReplicaSet").iter().map(|set| scale_of(set)).collect();
    after.sort_unstable();
    assert_eq!(after.iter().sum::<i64>(), 25, "20 and surge of 5");
    assert_eq!(after, [10, 15]);
}

#[test]
fn a_rollout_without_progress_exceeds_its_deadline() {
    let mut world = started(deployment(1, "RollingUpdate"));
    set_image(&mut world, "broken");
    for _ in 0..10 {
        step(&mut world);
    }
    let deployment = world.get("Deployment", "web").unwrap().clone();
    let (sets, pods) = (world.of_kind("ReplicaSet"), world.of_kind("Pod"));
    let early = reconcile(&deployment, &sets, &pods, now());
    assert_eq!(early.again, Some(std::time::Duration::from_secs(600)));
    let late = reconcile(&deployment, &sets, &pods, Timestamp::parse("2026-01-01T01:10:00Z").unwrap());
    world.act(late);
    assert_eq!(reason(&world, "Progressing"), "ProgressDeadlineExceeded");
}

#[test]
fn a_name_that_is_taken_makes_another_hash() {
    let deployment = deployment(1, "RollingUpdate");
    let mut world = started(deployment.clone());
    let mut taken = world.of_kind("ReplicaSet")[0].clone();
    taken.set(&["metadata", "ownerReferences"], json!([{"uid": "other", "controller": true}]));
    taken.set(&["spec", "template", "spec"], json!({"containers": [{"name": "c", "image": "theirs"}]}));
    world.objects.clear();
    world.put(taken);
    world.put(deployment);
    settle(&mut world);
    assert_eq!(world.names("ReplicaSet").len(), 2);
    assert_eq!(status(&world).i64_at(&["collisionCount"]), Some(1));
}
