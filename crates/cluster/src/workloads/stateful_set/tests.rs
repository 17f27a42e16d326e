use super::*;
use crate::workloads::simulate::{World, running};
use pilothouse_value::json;

fn now() -> Timestamp {
    Timestamp::parse("2026-01-01T01:00:00Z").unwrap()
}

fn set(replicas: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "ns", "uid": "s", "generation": 1},
        "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "v1"}]}}}})
}

fn step(world: &mut World) -> bool {
    let set = world.get("StatefulSet", "db").unwrap().clone();
    let plan = reconcile(
        &set,
        &world.of_kind("Pod"),
        &world.of_kind("PersistentVolumeClaim"),
        &world.of_kind("ControllerRevision"),
        now(),
    );
    world.act(plan)
}

fn settle(world: &mut World) {
    for _ in 0..100 {
        let moved = step(world);
        if !(world.run_pods() || moved) {
            return;
        }
    }
    panic!("never at rest: {:#?}", world.log);
}

fn started(set: Value) -> World {
    let mut world = World::default();
    world.put(set);
    settle(&mut world);
    world
}

fn change(world: &mut World, path: &[&str], value: Value) {
    let mut set = world.get("StatefulSet", "db").unwrap().clone();
    set.set(path, value);
    world.put(set);
}

fn set_image(world: &mut World, image: &str) {
    change(world, &["spec", "template", "spec", "containers"], json!([{"name": "c", "image": image}]));
}

fn image(world: &World, pod: &str) -> String {
    world.get("Pod", pod).unwrap().items_at(&["spec", "containers"])[0].str_at(&["image"]).unwrap().to_owned()
}

fn about_pods(world: &World) -> Vec<&str> {
    world.log.iter().map(String::as_str).filter(|l| l.contains(" Pod ") || l.contains(" pods ")).collect()
}

#[test]
fn pods_come_one_after_the_other_each_with_its_claim() {
    let mut world = World::default();
    world.put(set(3));
    for _ in 0..5 {
        step(&mut world);
    }
    assert_eq!(world.names("Pod"), ["db-0"], "the second waits for the first to be ready");
    settle(&mut world);
    assert_eq!(world.names("Pod"), ["db-0", "db-1", "db-2"]);
    assert_eq!(world.names("PersistentVolumeClaim"), ["data-db-0", "data-db-1", "data-db-2"]);
    let pod = world.get("Pod", "db-1").unwrap();
    assert_eq!(object::label(pod, "apps.kubernetes.io/pod-index"), Some("1"));
    assert_eq!(object::label(pod, "statefulset.kubernetes.io/pod-name"), Some("db-1"));
    assert_eq!(pod.str_at(&["spec", "hostname"]), Some("db-1"));
    assert_eq!(pod.str_at(&["spec", "subdomain"]), Some("db"));
    let volume = &pod.items_at(&["spec", "volumes"])[0];
    assert_eq!(volume.str_at(&["persistentVolumeClaim", "claimName"]), Some("data-db-1"));
    let status = world.get("StatefulSet", "db").unwrap().get("status").unwrap();
    assert_eq!(status.i64_at(&["readyReplicas"]), Some(3));
    assert_eq!(status.str_at(&["currentRevision"]), status.str_at(&["updateRevision"]));
    assert_eq!(Some(revisions::of_pod(pod)), status.str_at(&["updateRevision"]));
}

#[test]
fn parallel_pods_come_all_at_once() {
    let mut set = set(3);
    set.set(&["spec", "podManagementPolicy"], "Parallel");
    let mut world = World::default();
    world.put(set);
    step(&mut world);
    assert_eq!(world.names("Pod").len(), 3);
}

#[test]
fn scaling_down_takes_the_highest_first_and_keeps_claims() {
    let mut world = started(set(3));
    world.log.clear();
    change(&mut world, &["spec", "replicas"], json!(1));
    settle(&mut world);
    assert_eq!(about_pods(&world), ["delete pods db-2", "delete pods db-1"]);
    assert_eq!(world.names("PersistentVolumeClaim").len(), 3);
}

#[test]
fn scaling_down_waits_for_an_unhealthy_pod() {
    let mut world = started(set(3));
    let mut pod = world.get("Pod", "db-0").unwrap().clone();
    pod.set(&["status", "conditions"], json!([{"type": "Ready", "status": "False"}]));
    world.put(pod);
    change(&mut world, &["spec", "replicas"], json!(1));
    settle(&mut world);
    assert_eq!(world.names("Pod"), ["db-0", "db-1", "db-2"], "none may go while db-0 is sick");
}

#[test]
fn claims_go_with_scaled_pods_where_the_policy_says_so() {
    let mut set = set(2);
    set.set(
        &["spec", "persistentVolumeClaimRetentionPolicy"],
        json!({"whenScaled": "Delete", "whenDeleted": "Delete"}),
    );
    let mut world = started(set);
    let claim = world.get("PersistentVolumeClaim", "data-db-1").unwrap();
    assert_eq!(object::owner_references(claim)[0].str_at(&["kind"]), Some("StatefulSet"));
    change(&mut world, &["spec", "replicas"], json!(1));
    step(&mut world);
    let claim = world.get("PersistentVolumeClaim", "data-db-1").unwrap();
    assert_eq!(object::owner_references(claim)[0].str_at(&["kind"]), Some("Pod"));
}

#[test]
fn an_update_rolls_down_one_pod_at_a_time() {
    let mut world = started(set(3));
    world.log.clear();
    set_image(&mut world, "v2");
    settle(&mut world);
    assert_eq!(
        about_pods(&world),
        [
            "delete pods db-2",
            "create Pod db-2",
            "delete pods db-1",
            "create Pod db-1",
            "delete pods db-0",
            "create Pod db-0"
        ]
    );
    assert_eq!(image(&world, "db-0"), "v2");
    let status = world.get("StatefulSet", "db").unwrap().get("status").unwrap();
    assert_eq!(status.str_at(&["currentRevision"]), status.str_at(&["updateRevision"]));
    assert_eq!(world.names("ControllerRevision").len(), 2);
}

#[test]
fn pods_below_the_partition_keep_their_revision_even_when_replaced() {
    let mut set = set(3);
    set.set(&["spec", "updateStrategy", "rollingUpdate", "partition"], 2);
    let mut world = started(set);
    set_image(&mut world, "v2");
    settle(&mut world);
    world.objects.retain(|o| object::name(o) != "db-0");
    settle(&mut world);
    let images: Vec<String> = ["db-0", "db-1", "db-2"].iter().map(|pod| image(&world, pod)).collect();
    assert_eq!(images, ["v1", "v1", "v2"]);
    let status = world.get("StatefulSet", "db").unwrap().get("status").unwrap();
    assert_ne!(status.str_at(&["currentRevision"]), status.str_at(&["updateRevision"]));
}

#[test]
fn on_delete_leaves_pods_to_their_keeper() {
    let mut set = set(2);
    set.set(&["spec", "updateStrategy"], json!({"type": "OnDelete"}));
    let mut world = started(set);
    set_image(&mut world, "v2");
    settle(&mut world);
    assert_eq!(image(&world, "db-1"), "v1");
    world.objects.retain(|o| object::name(o) != "db-1");
    settle(&mut world);
    assert_eq!((image(&world, "db-0").as_str(), image(&world, "db-1").as_str()), ("v1", "v2"));
}

#[test]
fn a_finished_pod_is_replaced_and_a_stranger_ignored() {
    let mut world = started(set(1));
    let mut pod = world.get("Pod", "db-0").unwrap().clone();
    pod.set(&["status", "phase"], "Failed");
    world.put(pod);
    let mut stranger = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-x", "uid": "x"}});
    stranger.set(&["metadata", "labels"], json!({"app": "db"}));
    stranger.set(&["status"], running());
    world.put(stranger);
    settle(&mut world);
    assert_eq!(world.names("Pod"), ["db-0", "db-x"]);
    assert_eq!(pods::phase(world.get("Pod", "db-0").unwrap()), "Running");
    assert_eq!(object::owner_references(world.get("Pod", "db-x").unwrap()).len(), 0);
}
