//! ActionSets from their creation to their end.

use k8s_openapi::api::core::v1::{Event as CoreEvent, Pod};
use kube::api::{Api, ListParams};
use pilothouse::prelude::*;
use pilothouse::serde_json::json;
use pilothouse_protection::api::{ActionSet, State};
use pilothouse_testkit::Cluster;

use crate::stage::{Stage, output, task};

fn message(set: &ActionSet) -> String {
    set.status.as_ref().map(|s| s.error.message.clone()).unwrap_or_default()
}

fn states(set: &ActionSet) -> Vec<(String, State)> {
    let actions = set.status.iter().flat_map(|s| &s.actions);
    actions.flat_map(|a| a.phases.iter().chain([&a.defer_phase])).map(|p| (p.name.clone(), p.state)).collect()
}

#[pilothouse::test]
async fn phases_run_in_order_and_leave_their_artifacts(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {
        "outputArtifacts": {"o": {"keyValue": {"path": "{{ .Phases.dump.Output.path }}-{{ .Phases.check.Output.sum }}"}}},
        "phases": [task("dump", "dump {{ .Time }}"), task("check", "check {{ .Phases.dump.Output.path }}")],
    }})).await?;
    stage.action_set("b", json!({})).await?;
    let dump = stage.pod("b", "dump").await?;
    let set: ActionSet = cluster.get("b").await?;
    assert_eq!(
        states(&set)[..2],
        [("dump".to_owned(), State::Running), ("check".to_owned(), State::Pending)]
    );
    let status = set.status.unwrap();
    assert_eq!(
        (status.progress.running_phase.as_str(), status.progress.percent_completed.as_str()),
        ("dump", "0")
    );
    assert_eq!(dump.labels()["createdBy"], "kanister");
    stage.end_pod(&dump, &format!("noise\n{}", output("path", "/a")), 0).await?;
    let check = stage.pod("b", "check").await?;
    assert_eq!(check.spec.as_ref().unwrap().containers[0].command.as_ref().unwrap()[2], "check /a");
    stage.end_pod(&check, &output("sum", "42"), 0).await?;
    let set = stage.ended("b").await?;
    assert_eq!(set.state(), Some(State::Complete), "{}", message(&set));
    let status = set.status.unwrap();
    assert_eq!(status.actions[0].artifacts["o"].key_value["path"], "/a-42");
    assert_eq!(status.progress.percent_completed, "100");
    assert!(stage.pods().await?.is_empty(), "no pod is left");
    Ok(())
}

#[pilothouse::test]
async fn a_failure_runs_the_deferred_phase_and_tells_why(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "Q0FOQVJZLTdmM2E="}});
    cluster.create::<Secret>(pilothouse::serde_json::from_value(secret)?).await?;
    let mut first = task("dump", "dump {{ .Phases.dump.Secrets.s.Data.password | toString }}");
    first["objects"] = json!({"s": {"kind": "Secret", "name": "s", "namespace": "{{ .Namespace.Name }}"}});
    stage
        .blueprint(
            "bp",
            json!({"backup": {
                "phases": [first, task("never", "true")],
                "deferPhase": task("cleanUp", "unlock"),
            }}),
        )
        .await?;
    stage.action_set("b", json!({})).await?;
    let pod = stage.pod("b", "dump").await?;
    assert_eq!(pod.spec.as_ref().unwrap().containers[0].command.as_ref().unwrap()[2], "dump CANARY-7f3a");
    stage.end_pod(&pod, "cannot log in with CANARY-7f3a\n", 3).await?;
    let deferred = stage.pod("b", "cleanUp").await?;
    stage.end_pod(&deferred, "", 0).await?;
    let set = stage.ended("b").await?;
    assert_eq!(
        states(&set),
        [
            ("dump".to_owned(), State::Failed),
            ("never".to_owned(), State::Pending),
            ("cleanUp".to_owned(), State::Complete),
        ]
    );
    let text = message(&set);
    for part in
        ["blueprint \"bp\", action \"backup\", phase \"dump\"", "exit code 3", "cannot log in with ***"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let all = pilothouse::serde_json::to_string(&set)?;
    assert!(!all.contains("CANARY"), "{all}");
    for event in Api::<CoreEvent>::namespaced(cluster.client(), cluster.namespace())
        .list(&ListParams::default())
        .await?
    {
        assert!(!event.message.unwrap_or_default().contains("CANARY"));
    }
    assert!(stage.pods().await?.is_empty());
    Ok(())
}

#[pilothouse::test]
async fn what_is_wrong_is_told_before_anything_runs(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    let copy = json!({"func": "CopyVolumeData", "name": "copy", "args": {"namespace": "n", "volume": "v", "dataArtifactPrefix": "p"}});
    stage.blueprint("bp", json!({
        "backup": {"phases": [task("a", "true"), copy]},
        "restore": {"inputArtifactNames": ["o"], "phases": [task("a", "{{ .ArtifactsIn.o.KeyValue.path }}")]},
        "paths": {"phases": [task("a", "{{ .Phases.later.Output.x }} {{ .Options.y }}"), task("later", "{{ .StatefulSet.Name }}")]},
    })).await?;
    for (name, action, parts) in [
        ("no-blueprint", json!({"blueprint": "none"}), &["Blueprint \"none\" not found"][..]),
        ("no-action", json!({"name": "none"}), &["Action none not found"]),
        (
            "not-built",
            json!({}),
            &["phase \"copy\": function CopyVolumeData cannot be run by this operator yet"],
        ),
        ("no-artifact", json!({"name": "restore"}), &["the action needs the artifact \"o\""]),
        (
            "no-object",
            json!({"object": {"kind": "Deployment", "name": "none", "namespace": "default"}}),
            &["deployments default/none", "not found"],
        ),
        (
            "no-profile",
            json!({"profile": {"name": "none", "namespace": "default"}}),
            &["Profile default/none"],
        ),
        (
            "paths",
            json!({"name": "paths"}),
            &[
                "\"later\" not found",
                "only phases that come before",
                "phase \"later\"",
                "nil pointer evaluating",
            ],
        ),
    ] {
        stage.action_set(name, action).await?;
        let set = stage.ended(name).await?;
        assert_eq!(set.state(), Some(State::Failed), "{name}");
        for part in parts {
            assert!(message(&set).contains(part), "{name}: {part} in {}", message(&set));
        }
    }
    assert!(stage.pods().await?.is_empty(), "nothing ran");
    Ok(())
}

#[pilothouse::test]
async fn an_empty_action_set_is_complete(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    cluster.create(ActionSet::new("empty", Vec::new())).await?;
    assert_eq!(stage.ended("empty").await?.state(), Some(State::Complete));
    Ok(())
}

#[pilothouse::test]
async fn a_deletion_cancels_and_cleans_up(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    stage
        .blueprint(
            "bp",
            json!({"backup": {"phases": [task("dump", "true")], "deferPhase": task("unlock", "true")}}),
        )
        .await?;
    stage.action_set("b", json!({})).await?;
    stage.pod("b", "dump").await?;
    cluster.delete::<ActionSet>("b").await?;
    let deferred = stage.pod("b", "unlock").await?;
    assert_eq!(stage.pods().await?.len(), 1, "the pod of the phase is gone before the deferred phase runs");
    stage.end_pod(&deferred, "", 0).await?;
    cluster.gone::<ActionSet>("b").await?;
    assert!(stage.pods().await?.is_empty());
    Ok(())
}

#[pilothouse::test]
async fn one_object_is_acted_on_by_one_action_set_at_a_time(cluster: Cluster) -> Result {
    let (stage, operator) = Stage::open(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {"phases": [task("dump", "true")]}})).await?;
    stage.action_set("first", json!({})).await?;
    stage.pod("first", "dump").await?;
    stage.action_set("second", json!({})).await?;
    cluster.eventually::<ActionSet>("second", |set| set.state() == Some(State::Pending)).await?;
    operator.idle().await;
    assert_eq!(stage.pods().await?.len(), 1);
    cluster.delete::<ActionSet>("first").await?;
    let pod = stage.pod("second", "dump").await?;
    stage.end_pod(&pod, "", 0).await?;
    assert_eq!(stage.ended("second").await?.state(), Some(State::Complete));
    Ok(())
}

#[pilothouse::test]
async fn an_edited_blueprint_does_not_change_what_runs(cluster: Cluster) -> Result {
    use pilothouse_protection::api::Blueprint;
    let (stage, _operator) = Stage::open(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {"phases": [task("a", "true"), task("b", "old")]}})).await?;
    stage.action_set("s", json!({})).await?;
    let pod = stage.pod("s", "a").await?;
    let edited =
        json!({"actions": {"backup": {"phases": [task("a", "true"), task("b", "new"), task("c", "new")]}}});
    cluster.patch::<Blueprint>("bp", None, edited).await?;
    stage.end_pod(&pod, "", 0).await?;
    let pod = stage.pod("s", "b").await?;
    assert_eq!(pod.spec.as_ref().unwrap().containers[0].command.as_ref().unwrap()[2], "old");
    stage.end_pod(&pod, "", 0).await?;
    assert_eq!(stage.ended("s").await?.state(), Some(State::Complete));
    Ok(())
}

// The cluster's own node would start the pod.
#[pilothouse::test(controllers = false)]
async fn a_pod_that_cannot_start_is_told_early_and_ends_the_phase(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {"phases": [task("dump", "true")]}})).await?;
    stage.action_set("b", json!({})).await?;
    let pod = stage.pod("b", "dump").await?;
    let waiting = json!({"phase": "Pending", "containerStatuses": [{"name": "container", "image": "busybox", "imageID": "",
        "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]});
    stage.pod_status(&pod.name_any(), waiting).await?;
    cluster
        .eventually::<ActionSet>("b", |set| {
            set.status
                .as_ref()
                .is_some_and(|s| s.actions[0].phases[0].reason.contains("ImagePullBackOff: no such image"))
        })
        .await?;
    let started = tokio::time::Instant::now();
    let set = stage
        .cluster
        .patience(Duration::from_secs(600))
        .eventually::<ActionSet>("b", |s| s.state() == Some(State::Failed))
        .await?;
    assert!(message(&set).contains("did not start within 120 s: ImagePullBackOff"), "{}", message(&set));
    assert!(started.elapsed() < Duration::from_secs(300));
    stage.ended("b").await?;
    assert!(stage.pods().await?.is_empty());
    Ok(())
}

#[pilothouse::test]
async fn objects_are_made_waited_for_and_deleted(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    let reference = |name: &str| json!({"apiVersion": "v1", "resource": "configmaps", "name": name, "namespace": "{{ .Namespace.Name }}"});
    let made = "{{ .Phases.make.Output.name }}";
    let condition = |text: &str| json!({"anyOf": [{"condition": text, "objectReference": reference(made)}]});
    stage.blueprint("bp", json!({"backup": {
        "outputArtifacts": {"o": {"keyValue": {"name": made}}},
        "phases": [
            {"func": "KubeOps", "name": "make", "args": {"operation": "create", "namespace": "{{ .Namespace.Name }}",
                "spec": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: made-\ndata: {state: 'new'}\n"}},
            {"func": "Wait", "name": "wait", "args": {"timeout": "5m",
                "conditions": condition("{{ if eq \"{$.data.state}\" \"ready\" }}true{{ end }}")}},
            {"func": "WaitV2", "name": "waitV2", "args": {"timeout": "5m",
                "conditions": condition("{{ eq .data.state \"ready\" }}")}},
            {"func": "KubeOps", "name": "drop", "args": {"operation": "delete", "objectReference": reference(made)}},
        ],
    }})).await?;
    stage.action_set("b", json!({})).await?;
    let set = cluster
        .eventually::<ActionSet>("b", |set| states(set).contains(&("wait".to_owned(), State::Running)))
        .await?;
    let name =
        set.status.unwrap().actions[0].phases[0].output.clone().unwrap()["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("made-"));
    cluster.patch::<ConfigMap>(&name, None, json!({"data": {"state": "ready"}})).await?;
    let set = stage.ended("b").await?;
    assert_eq!(set.state(), Some(State::Complete), "{}", message(&set));
    cluster.gone::<ConfigMap>(&name).await?;
    Ok(())
}

#[pilothouse::test]
async fn a_wait_ends_with_its_timeout(cluster: Cluster) -> Result {
    let (stage, _operator) = Stage::open(&cluster).await?;
    stage.blueprint("bp", json!({"backup": {"phases": [{"func": "WaitV2", "name": "w", "args": {"timeout": "90s", "conditions": {"allOf": [
        {"condition": "{{ eq .status.phase \"Gone\" }}",
         "objectReference": {"apiVersion": "v1", "resource": "namespaces", "name": "{{ .Namespace.Name }}"}}]}}}]}})).await?;
    stage.action_set("b", json!({})).await?;
    let patient = stage.cluster.patience(Duration::from_secs(300));
    let set = patient.eventually::<ActionSet>("b", |s| s.state() == Some(State::Failed)).await?;
    assert!(message(&set).contains("Timed out after 90 s"), "{}", message(&set));
    Ok(())
}

#[pilothouse::test]
async fn it_needs_no_more_than_it_declares_and_rests_when_done(cluster: Cluster) -> Result {
    let stage = Stage::closed(&cluster).await?;
    let operator = cluster
        .operate(|manager| manager.reconciler(pilothouse_protection::controller::Protection::default()))
        .await?;
    stage
        .blueprint(
            "bp",
            json!({"backup": {"phases": [
        {"func": "ScaleWorkload", "name": "down", "args": {"replicas": 0, "waitForReady": false}}]}}),
        )
        .await?;
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {
        "replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    cluster.create::<StatefulSet>(pilothouse::serde_json::from_value(set)?).await?;
    let object = json!({"kind": "StatefulSet", "name": "db", "namespace": cluster.namespace()});
    stage.action_set("b", json!({"object": object})).await?;
    let set = stage.ended("b").await?;
    assert_eq!(set.state(), Some(State::Complete), "{}", message(&set));
    let output = set.status.unwrap().actions[0].phases[0].output.clone().unwrap();
    assert_eq!(output["originalReplicaCount"], 2);
    assert_eq!(cluster.get::<StatefulSet>("db").await?.spec.replicas, Some(0));
    operator.is_quiet().await?;
    let pods: Api<Pod> = cluster.api();
    assert!(pods.list(&ListParams::default().labels("createdBy=kanister")).await?.items.is_empty());
    Ok(())
}
