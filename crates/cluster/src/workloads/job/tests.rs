use super::*;
use crate::workloads::simulate::World;

fn at(minute: u32) -> Timestamp {
    Timestamp::parse(&format!("2026-01-01T01:{minute:02}:00Z")).unwrap()
}

fn job(spec: Value) -> Value {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "j", "namespace": "ns", "uid": "job"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}}});
    for (key, value) in spec.as_object().unwrap().iter() {
        job.set(&["spec", key], value.clone());
    }
    job
}

fn step(world: &mut World, now: Timestamp) -> Option<Duration> {
    let job = world.get("Job", "j").unwrap().clone();
    let plan = reconcile(&job, &world.of_kind("Pod"), now);
    let again = plan.again;
    world.act(plan);
    again
}

fn started(spec: Value) -> World {
    let mut world = World::default();
    world.put(job(spec));
    step(&mut world, at(0));
    world
}

/// Ends the first `number` pods that have not ended.
fn end(world: &mut World, number: usize, phase: &str, minute: u32) {
    let running = |o: &&mut Value| object::kind(o) == "Pod" && !pods::is_finished(o);
    for pod in world.objects.iter_mut().filter(running).take(number) {
        pod.set(&["status", "phase"], phase);
        let ended = json!({"terminated": {"finishedAt": at(minute).to_string()}});
        let mut status = json!({});
        status.set(&["state"], ended);
        pod.set(&["status", "containerStatuses"], vec![status]);
    }
}

fn is(world: &World, kind: &str) -> bool {
    object::condition_is_true(world.get("Job", "j").unwrap(), kind)
}

fn status(world: &World, field: &str) -> Option<i64> {
    world.get("Job", "j").unwrap().i64_at(&["status", field])
}

#[test]
fn runs_as_many_at_once_as_it_may_until_enough_have_succeeded() {
    let mut world = started(json!({"completions": 3, "parallelism": 2}));
    assert_eq!(world.names("Pod").len(), 2);
    end(&mut world, 1, "Succeeded", 1);
    step(&mut world, at(1));
    assert_eq!(world.names("Pod").len(), 3);
    end(&mut world, 2, "Succeeded", 2);
    step(&mut world, at(2));
    assert_eq!(world.names("Pod").len(), 3);
    assert!(is(&world, "Complete") && is(&world, "SuccessCriteriaMet"));
    assert_eq!((status(&world, "succeeded"), status(&world, "active")), (Some(3), None));
    assert!(world.log.contains(&"Job completed".to_owned()));
    let seen = world.log.len();
    assert_eq!(step(&mut world, at(3)), None);
    assert_eq!(world.log.len(), seen, "a finished job is left alone");
}

#[test]
fn a_work_queue_is_complete_when_one_has_succeeded_and_all_have_ended() {
    let mut world = started(json!({"parallelism": 3}));
    end(&mut world, 1, "Succeeded", 1);
    step(&mut world, at(1));
    assert_eq!(world.names("Pod").len(), 3);
    assert!(!is(&world, "Complete"));
    end(&mut world, 2, "Failed", 1);
    step(&mut world, at(1));
    assert!(is(&world, "Complete"));
}

#[test]
fn a_failed_pod_is_replaced_later_each_time_until_the_limit() {
    let mut world = started(json!({"completions": 1, "backoffLimit": 1}));
    end(&mut world, 1, "Failed", 0);
    assert_eq!(step(&mut world, at(0)), Some(Duration::from_secs(10)));
    assert_eq!(world.names("Pod").len(), 1);
    step(&mut world, at(1));
    assert_eq!(world.names("Pod").len(), 2);
    end(&mut world, 1, "Failed", 1);
    step(&mut world, at(1));
    assert!(is(&world, "Failed") && is(&world, "FailureTarget"));
    let job = world.get("Job", "j").unwrap();
    assert_eq!(
        object::condition(job, "Failed").and_then(|c| c.str_at(&["reason"])),
        Some("BackoffLimitExceeded")
    );
    assert_eq!(status(&world, "failed"), Some(2));
}

#[test]
fn the_deadline_ends_the_job_and_its_pods() {
    let mut world = started(json!({"completions": 1, "activeDeadlineSeconds": 60}));
    assert_eq!(step(&mut world, at(0)), Some(Duration::from_secs(60)));
    step(&mut world, at(1));
    assert_eq!(world.names("Pod").len(), 0);
    assert!(is(&world, "FailureTarget") && !is(&world, "Failed"), "failed when its pods are gone");
    step(&mut world, at(1));
    assert!(is(&world, "Failed"));
}

#[test]
fn a_finished_job_goes_after_its_time_to_live() {
    let mut world = started(json!({"completions": 1, "ttlSecondsAfterFinished": 60}));
    end(&mut world, 1, "Succeeded", 1);
    step(&mut world, at(1));
    assert_eq!(step(&mut world, at(1)), Some(Duration::from_secs(60)));
    step(&mut world, at(2));
    assert!(world.get("Job", "j").is_none());
}

#[test]
fn a_suspended_job_has_no_pods_until_it_is_resumed() {
    let mut world = started(json!({"completions": 1, "suspend": true}));
    assert_eq!(world.names("Pod").len(), 0);
    assert!(is(&world, "Suspended"));
    let mut job = world.get("Job", "j").unwrap().clone();
    job.set(&["spec", "suspend"], false);
    world.put(job);
    step(&mut world, at(1));
    assert_eq!(world.names("Pod").len(), 1);
    assert!(!is(&world, "Suspended"));
}

#[test]
fn indexed_pods_have_a_number_each_and_a_failed_one_gets_it_again() {
    let mut world = started(json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"}));
    let index =
        |pod: &Value| object::annotation(pod, "batch.kubernetes.io/job-completion-index").map(str::to_owned);
    let mut indexes: Vec<_> = world.of_kind("Pod").iter().filter_map(|pod| index(pod)).collect();
    indexes.sort();
    assert_eq!(indexes, ["0", "1", "2"]);
    end(&mut world, 1, "Failed", 0);
    end(&mut world, 2, "Succeeded", 0);
    step(&mut world, at(1));
    let job = world.get("Job", "j").unwrap();
    assert_eq!(job.str_at(&["status", "completedIndexes"]), Some("1,2"));
    let again = world.of_kind("Pod").into_iter().find(|pod| !pods::is_finished(pod)).unwrap();
    assert_eq!(index(again).as_deref(), Some("0"));
}

#[test]
fn restarts_in_place_count_against_the_limit() {
    let mut template = json!({"metadata": {}, "spec": {"containers": [{"name": "c"}]}});
    template.set(&["spec", "restartPolicy"], "OnFailure");
    let mut spec = json!({"completions": 1, "backoffLimit": 2});
    spec.set(&["template"], template);
    let mut world = started(spec);
    for (restarts, failed) in [(2, false), (3, true)] {
        let pod = world.objects.iter_mut().find(|o| object::kind(o) == "Pod").unwrap();
        pod.set(&["status"], json!({"phase": "Running", "containerStatuses": [{"restartCount": restarts}]}));
        step(&mut world, at(1));
        assert_eq!(is(&world, "FailureTarget"), failed, "{restarts}");
    }
}
