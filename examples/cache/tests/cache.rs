//! Each test has a Kubernetes API of its own, in this process. Nothing sleeps: tests wait for a state.

use pilothouse::prelude::*;
use pilothouse::serde_json::json;
use pilothouse_example_cache::{Cache, CacheController, CacheSpec};
use pilothouse_testkit::{Cluster, assert_manifests, cluster_role};

fn cache(name: &str, replicas: i32) -> Cache {
    Cache::new(name, CacheSpec { replicas, image: "memcached:1.6".to_owned() })
}

#[pilothouse::test]
async fn keeps_the_replicas(cluster: Cluster) -> Result {
    let operator = cluster.run(CacheController).await?;
    cluster.apply(cache("a", 3)).await?;
    cluster.eventually::<Deployment>("a", |d| d.spec.replicas == Some(3)).await?;
    cluster.apply(cache("a", 5)).await?;
    cluster.eventually::<Deployment>("a", |d| d.spec.replicas == Some(5)).await?;
    cluster
        .eventually::<Cache>("a", |c| c.status.as_ref().is_some_and(|status| status.is_true("Ready")))
        .await?;
    operator.is_quiet().await?; // nothing more is written once the state is reached
    cluster.delete::<Cache>("a").await?;
    cluster.gone::<Deployment>("a").await?;
    Ok(())
}

#[pilothouse::test]
async fn repairs_what_others_change(cluster: Cluster) -> Result {
    let operator = cluster.run(CacheController).await?;
    cluster.apply(cache("a", 2)).await?;
    cluster.eventually::<Service>("a", |_| true).await?;
    cluster.delete::<Service>("a").await?;
    cluster.patch::<Deployment>("a", None, json!({"spec": {"replicas": 0}})).await?;
    cluster.eventually::<Service>("a", |_| true).await?;
    cluster.becomes::<Deployment>("a", json!({"spec": {"replicas": 2}})).await?;
    operator.is_quiet().await?;
    Ok(())
}

#[pilothouse::test]
async fn does_not_take_what_belongs_to_others(cluster: Cluster) -> Result {
    let operator = cluster.run(CacheController).await?;
    let mut theirs = Service::default();
    theirs.metadata.name = Some("a".to_owned());
    theirs.spec = Some(pilothouse::serde_json::from_value(json!({"ports": [{"port": 80}]}))?);
    cluster.create(theirs).await?;
    operator.rests().await?;
    cluster.apply(cache("a", 1)).await?;
    let ready =
        json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "NotOurs"}]}});
    cluster.becomes::<Cache>("a", ready).await?;
    Ok(())
}

#[test]
fn manifests_are_current() {
    let role = cluster_role("cache", &Declaration::of::<CacheController>().rules());
    assert_manifests("deploy/cache.yaml", &[&Cache::crd(), &role]);
}
