use super::*;
use crate::harness::plan::Intent;

fn claim(spec: Value) -> Value {
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "ns", "uid": "u", "finalizers": ["kubernetes.io/pvc-protection"]},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    for (key, value) in spec.as_object().unwrap().iter() {
        claim.set(&["spec", key], value.clone());
    }
    claim
}

fn volume(name: &str, size: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"phase": "Available"}, "spec": {
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "capacity": {"storage": size}, "storageClassName": "fast"}})
}

fn class(name: &str, mode: &str) -> Value {
    let mut class =
        json!({"metadata": {"name": name}, "provisioner": PROVISIONER, "volumeBindingMode": mode});
    class.set(&["metadata", "annotations", crate::claims::IS_DEFAULT], (name == "standard").to_string());
    class
}

fn run(claim: &Value, volumes: &[Value], pods: &[Value]) -> (Plan, Option<String>) {
    let folders = Folders::new(Some(std::path::Path::new("/data"))).unwrap();
    let classes = [class("standard", "Immediate"), class("late", "WaitForFirstConsumer")];
    reconcile(
        claim,
        &World {
            volumes: &volumes.iter().collect::<Vec<_>>(),
            classes: &classes.iter().collect::<Vec<_>>(),
            pods: &pods.iter().collect::<Vec<_>>(),
            folders: &folders,
        },
    )
}

/// The names of the volumes that a plan ties to the claim.
fn bound_to(plan: &Plan) -> Vec<&str> {
    plan.intents
        .iter()
        .filter_map(|intent| match intent {
            Intent::Patch { resource, patch, .. } if *resource == *CLAIMS => {
                patch.str_at(&["spec", "volumeName"])
            }
            _ => None,
        })
        .collect()
}

#[test]
fn the_smallest_volume_that_fits_is_taken() {
    let fast = |spec: Value| {
        let mut claim = claim(spec);
        claim.set(&["spec", "storageClassName"], "fast");
        claim
    };
    let mut taken = volume("taken", "1Gi");
    taken.set(&["spec", "claimRef"], json!({"name": "other", "namespace": "ns", "uid": "x"}));
    let mut other_class = volume("other-class", "1Gi");
    other_class.set(&["spec", "storageClassName"], "slow");
    let mut labelled = volume("labelled", "8Gi");
    labelled.set(&["metadata", "labels"], json!({"a": "b"}));
    let volumes = [
        volume("small", "500Mi"),
        volume("large", "5Gi"),
        volume("fits", "2Gi"),
        taken,
        other_class,
        labelled,
    ];
    for (claim, expected) in [
        (fast(json!({})), vec!["fits"]),
        (fast(json!({"selector": {"matchLabels": {"a": "b"}}})), vec!["labelled"]),
        (fast(json!({"accessModes": ["ReadWriteMany"]})), vec![]),
        (fast(json!({"volumeName": "large"})), vec!["large"]),
        (fast(json!({"volumeName": "taken"})), vec![]),
        (fast(json!({"volumeMode": "Block"})), vec![]),
    ] {
        let (plan, make) = run(&claim, &volumes, &[]);
        assert_eq!((bound_to(&plan), make), (expected, None), "{}", claim.to_json());
    }
}

#[test]
fn a_volume_reserved_for_the_claim_comes_first() {
    let mut reserved = volume("reserved", "9Gi");
    reserved.set(&["spec", "claimRef"], json!({"name": "data", "namespace": "ns"}));
    let claim = claim(json!({"storageClassName": "fast"}));
    assert_eq!(bound_to(&run(&claim, &[volume("small", "1Gi"), reserved], &[]).0), ["reserved"]);
}

#[test]
fn a_claim_that_says_nothing_gets_the_default_class() {
    let (plan, _) = run(&claim(json!({})), &[], &[]);
    let [Intent::Patch { patch, .. }] = plan.intents.as_slice() else { panic!("{plan:?}") };
    assert_eq!(patch.str_at(&["spec", "storageClassName"]), Some("standard"));
}

#[test]
fn a_folder_is_provisioned_below_the_data_folder() {
    let (plan, make) = run(&claim(json!({"storageClassName": "standard"})), &[], &[]);
    assert_eq!(make.as_deref(), Some("pvc-u"));
    let Intent::Create { object: volume, .. } = &plan.intents[0] else { panic!("{plan:?}") };
    assert_eq!(volume.str_at(&["spec", "hostPath", "path"]), Some("/data/volumes/pvc-u"));
    assert_eq!(volume.str_at(&["spec", "claimRef", "uid"]), Some("u"));
    assert_eq!(volume.str_at(&["spec", "persistentVolumeReclaimPolicy"]), Some("Delete"));
}

#[test]
fn late_binding_waits_for_a_pod() {
    let claim = claim(json!({"storageClassName": "late"}));
    assert_eq!(run(&claim, &[], &[]).1, None);
    let pod = json!({"metadata": {"name": "p"}, "spec": {
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}});
    assert_eq!(run(&claim, &[], &[pod]).1.as_deref(), Some("pvc-u"));
}

#[test]
fn a_bound_claim_whose_volume_is_gone_is_lost() {
    let mut claim = claim(json!({"volumeName": "gone"}));
    claim.set(&["metadata", "annotations", BIND_COMPLETED], "yes");
    let (plan, _) = run(&claim, &[], &[]);
    let Intent::UpdateStatus { object, .. } = &plan.intents[0] else { panic!("{plan:?}") };
    assert_eq!(object.str_at(&["status", "phase"]), Some("Lost"));
}

#[test]
fn a_claim_in_use_stays_until_its_pod_has_ended() {
    let mut claim = claim(json!({}));
    claim.set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
    let mut pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n",
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}});
    assert_eq!(run(&claim, &[], &[pod.clone()]).0.intents, []);
    pod.set(&["status", "phase"], "Succeeded");
    let (plan, _) = run(&claim, &[], &[pod]);
    let [Intent::Patch { patch, .. }] = plan.intents.as_slice() else { panic!("{plan:?}") };
    assert_eq!(object::finalizers(patch).count(), 0);
}
