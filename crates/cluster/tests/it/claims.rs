use pilothouse_cluster::{InstantNode, Options, PROVISIONER};
use pilothouse_value::{Value, json, object};

use crate::house::*;

fn claim(name: &str, class: Option<&str>) -> Value {
    let mut claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    if let Some(class) = class {
        claim.set(&["spec", "storageClassName"], class);
    }
    claim
}

async fn bound(house: &House, name: &str) -> Value {
    house.until_one(&CLAIMS, name, |claim| claim.str_at(&["status", "phase"]) == Some("Bound")).await
}

fn user_of(name: &str, claim: &str) -> Value {
    let mut pod = template("user");
    pod.set(&["metadata", "name"], name);
    pod.set(&["spec", "volumes"], json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]));
    pod
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_bound_to_a_folder_that_goes_with_it() {
    let data = tempfile::tempdir().unwrap();
    let house = House::with(Options { data_dir: Some(data.path().to_owned()), ..Options::default() }).await;
    house.create(&CLAIMS, claim("data", None)).await;
    let claim = bound(&house, "data").await;
    assert_eq!(claim.str_at(&["spec", "storageClassName"]), Some("standard"));
    assert_eq!(claim.str_at(&["status", "capacity", "storage"]), Some("1Gi"));
    let volumes = house.list(&VOLUMES).await;
    let path = volumes[0].str_at(&["spec", "hostPath", "path"]).unwrap().to_owned();
    assert!(std::path::Path::new(&path).starts_with(data.path()) && std::path::Path::new(&path).is_dir());
    std::fs::write(format!("{path}/file"), "content").unwrap();
    house.delete(&CLAIMS, "data", None).await;
    house.until_count(&VOLUMES, 0).await;
    assert!(!std::path::Path::new(&path).exists());
}

#[tokio::test(start_paused = true)]
async fn a_retained_volume_keeps_its_folder_and_says_released() {
    let data = tempfile::tempdir().unwrap();
    let house = House::with(Options { data_dir: Some(data.path().to_owned()), ..Options::default() }).await;
    house
        .create(
            &STORAGE_CLASSES,
            json!({"metadata": {"name": "keep"}, "provisioner": PROVISIONER, "reclaimPolicy": "Retain"}),
        )
        .await;
    house.create(&CLAIMS, claim("data", Some("keep"))).await;
    let name = bound(&house, "data").await.str_at(&["spec", "volumeName"]).unwrap().to_owned();
    house.delete(&CLAIMS, "data", None).await;
    house.until_gone(&CLAIMS, "data").await;
    let volume =
        house.until_one(&VOLUMES, &name, |v| v.str_at(&["status", "phase"]) == Some("Released")).await;
    house.at_rest().await;
    assert!(std::path::Path::new(volume.str_at(&["spec", "hostPath", "path"]).unwrap()).is_dir());
}

#[tokio::test(start_paused = true)]
async fn a_volume_made_beforehand_is_taken_by_class_and_size() {
    let house = House::without_node().await;
    for (name, size) in [("small", "500Mi"), ("large", "10Gi"), ("right", "2Gi")] {
        house
            .create(
                &VOLUMES,
                json!({"metadata": {"name": name}, "spec": {"storageClassName": "manual",
                    "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/nowhere"}}}),
            )
            .await;
        house.until_one(&VOLUMES, name, |v| v.str_at(&["status", "phase"]) == Some("Available")).await;
    }
    house.create(&CLAIMS, claim("data", Some("manual"))).await;
    assert_eq!(bound(&house, "data").await.str_at(&["spec", "volumeName"]), Some("right"));
    house.until_one(&VOLUMES, "right", |v| v.str_at(&["status", "phase"]) == Some("Bound")).await;
    house.create(&CLAIMS, claim("more", Some("manual"))).await;
    assert_eq!(bound(&house, "more").await.str_at(&["spec", "volumeName"]), Some("large"));
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_a_class_that_exists_waits_for_it() {
    let house = House::without_node().await;
    house.create(&CLAIMS, claim("data", Some("later"))).await;
    assert_eq!(
        house.until_event("ProvisioningFailed").await,
        "storageclass.storage.k8s.io \"later\" not found"
    );
    house.create(&STORAGE_CLASSES, json!({"metadata": {"name": "later"}, "provisioner": PROVISIONER})).await;
    bound(&house, "data").await;
}

#[tokio::test(start_paused = true)]
async fn late_binding_waits_for_the_first_pod() {
    let house = House::start().await;
    house
        .create(
            &STORAGE_CLASSES,
            json!({"metadata": {"name": "late"}, "provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"}),
        )
        .await;
    house.create(&CLAIMS, claim("data", Some("late"))).await;
    house.at_rest().await;
    assert_eq!(house.get(&CLAIMS, "data").await.unwrap().str_at(&["status", "phase"]), Some("Pending"));
    house.create(&PODS, user_of("p", "data")).await;
    house.until_condition(&PODS, "p", "Ready", "True").await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_in_use_goes_when_its_last_pod_does() {
    let house = House::start().await;
    house.create(&CLAIMS, claim("data", None)).await;
    house.create(&PODS, user_of("p", "data")).await;
    house.until_condition(&PODS, "p", "Ready", "True").await;
    house.delete(&CLAIMS, "data", None).await;
    house.at_rest().await;
    assert!(object::deletion_timestamp(&house.get(&CLAIMS, "data").await.unwrap()).is_some());
    house.delete(&PODS, "p", None).await;
    house.until_gone(&CLAIMS, "data").await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_grows() {
    let house = House::without_node().await;
    house.create(&CLAIMS, claim("data", None)).await;
    bound(&house, "data").await;
    house.patch(&CLAIMS, "data", json!({"spec": {"resources": {"requests": {"storage": "3Gi"}}}})).await;
    house.until_one(&CLAIMS, "data", |c| c.str_at(&["status", "capacity", "storage"]) == Some("3Gi")).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_after_a_shutdown() {
    let house =
        House::with(Options { instant_node: Some(InstantNode::default()), ..Options::default() }).await;
    house.create(&CLAIMS, claim("data", None)).await;
    bound(&house, "data").await;
    let volume = house.list(&VOLUMES).await.remove(0);
    let folder = std::path::PathBuf::from(volume.str_at(&["spec", "hostPath", "path"]).unwrap());
    assert!(folder.is_dir());
    house.cluster.shutdown().await;
    assert!(!folder.exists() && !folder.parent().unwrap().exists());
}
