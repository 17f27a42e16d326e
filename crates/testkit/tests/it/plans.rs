//! Plans: what is written, what is held back.

use std::sync::atomic::Ordering;

use pilothouse::prelude::*;
use pilothouse::serde_json::{from_value, json};
use pilothouse_testkit::Cluster;

use crate::fixture::{Widget, Widgets, config_map, keep, ready_reason, widget};

#[pilothouse::test]
async fn a_plan_is_carried_out_once_and_then_it_is_quiet(cluster: Cluster) -> Result {
    let operator = cluster.run(Widgets::new(keep)).await?;
    cluster.apply(widget("a", "hello")).await?;
    let widget = ready_reason(&cluster, "a", "AsExpected").await?;
    let status = widget.status.clone().unwrap_or_default();
    assert_eq!(status.length, 5);
    assert_eq!(status.observed.observed_generation, widget.metadata.generation);
    let owned = cluster.get::<ConfigMap>("a").await?;
    let owner = pilothouse::runtime::controller_of(&owned.metadata).unwrap();
    assert_eq!((owner.kind.as_str(), Some(&owner.uid)), ("Widget", widget.metadata.uid.as_ref()));
    operator.is_quiet().await?;
    assert_eq!(operator.written(), 2, "one apply, one status");
    Ok(())
}

#[pilothouse::test]
async fn a_field_that_is_no_longer_wanted_is_removed(cluster: Cluster) -> Result {
    let operator = cluster
        .run(Widgets::new(|widget, _| {
            let mut owned = config_map("a", "kept");
            if !widget.spec.text.is_empty() {
                owned.metadata.labels = Some([("text".to_owned(), widget.spec.text.clone())].into());
            }
            Ok(Plan::new().ensure(owned))
        }))
        .await?;
    cluster.apply(widget("a", "x")).await?;
    cluster.eventually::<ConfigMap>("a", |owned| owned.metadata.labels.is_some()).await?;
    cluster.apply(widget("a", "")).await?;
    cluster.eventually::<ConfigMap>("a", |owned| owned.metadata.labels.is_none()).await?;
    operator.is_quiet().await?;
    Ok(())
}

#[pilothouse::test]
async fn fields_of_others_are_left_alone(cluster: Cluster) -> Result {
    let operator = cluster.run(Widgets::new(keep)).await?;
    cluster.apply(widget("a", "hello")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    cluster.patch::<ConfigMap>("a", None, json!({"data": {"theirs": "x"}})).await?;
    operator.is_quiet().await?;
    let data = cluster.get::<ConfigMap>("a").await?.data.unwrap_or_default();
    assert_eq!(data.get("theirs").map(String::as_str), Some("x"));
    Ok(())
}

#[pilothouse::test]
async fn what_is_removed_and_was_owned_goes_away(cluster: Cluster) -> Result {
    let operator = cluster
        .run(Widgets::new(|widget, _| {
            let plan = Plan::new().ready_when(true);
            let owned = config_map("a", "x");
            Ok(if widget.spec.text == "gone" { plan.remove(&owned) } else { plan.ensure(owned) })
        }))
        .await?;
    cluster.apply(widget("a", "here")).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    cluster.apply(widget("a", "gone")).await?;
    cluster.gone::<ConfigMap>("a").await?;
    operator.is_quiet().await?;
    Ok(())
}

#[pilothouse::test]
async fn what_another_owns_is_refused_and_nothing_of_the_plan_is_done(cluster: Cluster) -> Result {
    let operator = cluster
        .run(Widgets::new(|_, _| {
            Ok(Plan::new()
                .ensure(config_map("first", "x"))
                .ensure(config_map("theirs", "x"))
                .ready_when(true))
        }))
        .await?;
    cluster.create(config_map("theirs", "precious")).await?;
    operator.rests().await?;
    cluster.apply(widget("a", "x")).await?;
    ready_reason(&cluster, "a", "NotOurs").await?;
    assert!(cluster.get::<ConfigMap>("first").await.is_err());
    let data = cluster.get::<ConfigMap>("theirs").await?.data.unwrap_or_default();
    assert_eq!(data["text"], "precious");
    Ok(())
}

#[pilothouse::test]
async fn removals_over_the_budget_ask_first(cluster: Cluster) -> Result {
    cluster
        .run(Widgets::new(|widget, _| {
            let owned = ["a", "b", "c"].map(|name| config_map(name, "x"));
            Ok(owned.iter().fold(Plan::new().ready_when(true), |plan, owned| {
                match widget.spec.text.as_str() {
                    "gone" => plan.remove(owned),
                    _ => plan.ensure(owned.clone()),
                }
            }))
        }))
        .await?;
    cluster.apply(widget("a", "here")).await?;
    ready_reason(&cluster, "a", "AsExpected").await?;
    cluster.apply(widget("a", "gone")).await?;
    ready_reason(&cluster, "a", "OverBudget").await?;
    cluster.get::<ConfigMap>("a").await?;
    let allow = json!({"metadata": {"annotations": {"pilothouse.dev/removal-budget": "3"}}});
    cluster.patch::<Widget>("a", None, allow).await?;
    cluster.gone::<ConfigMap>("a").await?;
    Ok(())
}

#[pilothouse::test]
async fn a_claim_is_never_removed_by_implication(cluster: Cluster) -> Result {
    let claim = || -> PersistentVolumeClaim {
        from_value(json!({"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
        .unwrap()
    };
    cluster
        .run(Widgets::new(move |widget, _| {
            let plan = Plan::new().ready_when(true);
            Ok(if widget.spec.text == "gone" { plan.remove(&claim()) } else { plan.ensure(claim()) })
        }))
        .await?;
    cluster.apply(widget("a", "here")).await?;
    cluster.eventually::<PersistentVolumeClaim>("data", |_| true).await?;
    cluster.apply(widget("a", "gone")).await?;
    ready_reason(&cluster, "a", "HoldsData").await?;
    cluster.get::<PersistentVolumeClaim>("data").await?;
    Ok(())
}

#[pilothouse::test]
async fn a_paused_object_is_left_alone(cluster: Cluster) -> Result {
    let operator = cluster.run(Widgets::new(keep)).await?;
    let mut paused = widget("a", "hello");
    paused.annotations_mut().insert("pilothouse.dev/paused".to_owned(), "true".to_owned());
    cluster.apply(paused).await?;
    operator.is_quiet().await?;
    assert_eq!(operator.written(), 0);
    let resume = json!({"metadata": {"annotations": {"pilothouse.dev/paused": null}}});
    cluster.patch::<Widget>("a", None, resume).await?;
    cluster.eventually::<ConfigMap>("a", |_| true).await?;
    Ok(())
}

#[pilothouse::test]
async fn reading_what_is_not_declared_refuses_the_plan(cluster: Cluster) -> Result {
    cluster
        .run(Widgets::new(|widget, seen| {
            let absent = seen.get::<Service>("x").is_none();
            keep(widget, seen).map(|plan| plan.ready_when(absent))
        }))
        .await?;
    cluster.apply(widget("a", "x")).await?;
    ready_reason(&cluster, "a", "Undeclared").await?;
    assert!(cluster.get::<ConfigMap>("a").await.is_err(), "what is not watched must not count as absent");
    Ok(())
}

#[pilothouse::test]
async fn a_change_of_what_was_read_brings_exactly_its_readers_back(cluster: Cluster) -> Result {
    let controller = Widgets::new(|widget, seen| {
        let secret = seen.get::<Secret>(&widget.spec.text);
        Ok(Plan::new().ready_when(secret.is_some()))
    });
    let calls = controller.calls.clone();
    let operator = cluster.run(controller).await?;
    cluster.apply(widget("reader", "token")).await?;
    cluster.apply(widget("other", "another")).await?;
    operator.rests().await?;
    let before = calls.load(Ordering::SeqCst);
    let mut secret = Secret::default();
    secret.metadata.name = Some("token".to_owned());
    cluster.create(secret).await?;
    ready_reason(&cluster, "reader", "AsExpected").await?;
    operator.rests().await?;
    assert_eq!(calls.load(Ordering::SeqCst), before + 1);
    Ok(())
}

#[pilothouse::test]
async fn a_conflict_is_tried_again_and_is_no_failure(cluster: Cluster) -> Result {
    use pilothouse_testkit::Fault;
    let operator = cluster.run(Widgets::new(keep)).await?;
    let patch = "PATCH".parse().unwrap();
    cluster.inject(Fault::on(patch, "/widgets/a/status").answer(409, "Conflict").times(3));
    cluster.apply(widget("a", "hello")).await?;
    ready_reason(&cluster, "a", "AsExpected").await?;
    operator.is_quiet().await?;
    let text = operator.metrics().encode();
    assert!(text.contains("controller_runtime_reconcile_errors_total{controller=\"widget\"} 0"), "{text}");
    Ok(())
}
