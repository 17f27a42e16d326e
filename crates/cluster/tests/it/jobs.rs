use pilothouse_cluster::PHASE_ANNOTATION;
use pilothouse_value::{Value, json, object};

use crate::house::*;

fn job(name: &str, spec: Value, phase: Option<&str>) -> Value {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}});
    job.set(&["spec"], spec);
    job.set(
        &["spec", "template"],
        json!({"spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "registry.example/c:v1"}]}}),
    );
    if let Some(phase) = phase {
        job.set(&["spec", "template", "metadata", "annotations", PHASE_ANNOTATION], phase);
    }
    job
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_when_enough_pods_have_succeeded() {
    let house = House::start().await;
    house.create(&JOBS, job("j", json!({"completions": 3, "parallelism": 2}), None)).await;
    let done = house.until_condition(&JOBS, "j", "Complete", "True").await;
    assert_eq!(done.i64_at(&["status", "succeeded"]), Some(3));
    assert!(done.str_at(&["status", "completionTime"]).is_some());
    assert_eq!(house.names(&PODS).await.len(), 3);
    assert_eq!(house.until_event("Completed").await, "Job completed");
    let pod = &house.list(&PODS).await[0];
    assert_eq!(object::label(pod, "batch.kubernetes.io/job-name"), Some("j"));
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_pods_fail_gives_up_after_its_limit_and_backs_off_before() {
    let house = House::start().await;
    let started = tokio::time::Instant::now();
    house.create(&JOBS, job("j", json!({"backoffLimit": 2}), Some("Failed"))).await;
    let failed = house.until_condition(&JOBS, "j", "Failed", "True").await;
    let condition = object::condition(&failed, "Failed").unwrap();
    assert_eq!(condition.str_at(&["reason"]), Some("BackoffLimitExceeded"));
    assert_eq!(failed.i64_at(&["status", "failed"]), Some(3));
    let waited = started.elapsed().as_secs();
    assert!((28..=32).contains(&waited), "10 s and 20 s: {waited}");
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_at_its_deadline_and_its_pods_with_it() {
    let house = House::start().await;
    house.create(&JOBS, job("j", json!({"activeDeadlineSeconds": 60}), Some("Running"))).await;
    let failed = house.until_condition(&JOBS, "j", "Failed", "True").await;
    assert_eq!(object::condition(&failed, "Failed").unwrap().str_at(&["reason"]), Some("DeadlineExceeded"));
    house.until_count(&PODS, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_goes_after_its_time_to_live_with_its_pods() {
    let house = House::start().await;
    house.create(&JOBS, job("j", json!({"ttlSecondsAfterFinished": 30}), None)).await;
    house.until_condition(&JOBS, "j", "Complete", "True").await;
    house.until_gone(&JOBS, "j").await;
    house.until_count(&PODS, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_job_can_be_suspended_and_resumed() {
    let house = House::start().await;
    house.create(&JOBS, job("j", json!({}), Some("Running"))).await;
    house.until_count(&PODS, 1).await;
    house.patch(&JOBS, "j", json!({"spec": {"suspend": true}})).await;
    house.until_condition(&JOBS, "j", "Suspended", "True").await;
    house.until_count(&PODS, 0).await;
    house.patch(&JOBS, "j", json!({"spec": {"suspend": false}})).await;
    house.until_condition(&JOBS, "j", "Suspended", "False").await;
    house.until_count(&PODS, 1).await;
}

#[tokio::test(start_paused = true)]
async fn indexed_pods_complete_each_their_own_index() {
    let house = House::start().await;
    let spec = json!({"completions": 4, "parallelism": 4, "completionMode": "Indexed"});
    house.create(&JOBS, job("j", spec, None)).await;
    let done = house.until_condition(&JOBS, "j", "Complete", "True").await;
    assert_eq!(done.str_at(&["status", "completedIndexes"]), Some("0-3"));
}
