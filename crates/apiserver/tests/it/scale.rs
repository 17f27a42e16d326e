//! The scale subresource.

use pilothouse_value::json;

use crate::support::{Api, cache, caches, deployment, deployments, with_caches};

const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/d/scale";

#[tokio::test]
async fn a_deployment_is_scaled() {
    let api = Api::start();
    api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    let mut scale = api.get(SCALE).await.json();
    assert_eq!((scale.str_at(&["kind"]), scale.i64_at(&["spec", "replicas"])), (Some("Scale"), Some(2)));
    assert_eq!(scale.str_at(&["status", "selector"]), Some("app=d"));
    scale.set(&["spec", "replicas"], 4);
    let answer = api.put(SCALE, &scale).await;
    assert_eq!((answer.code, answer.json().i64_at(&["spec", "replicas"])), (200, Some(4)));
    let deployment = api.client.get(&deployments(), Some("default"), "d").await.unwrap();
    assert_eq!(deployment.i64_at(&["spec", "replicas"]), Some(4));
    assert_eq!(api.put(SCALE, &scale).await.code, 409, "the version is an old one now");
    let answer = api.patch("application/merge-patch+json", SCALE, &json!({"spec": {"replicas": 1}})).await;
    assert_eq!((answer.code, answer.json().i64_at(&["spec", "replicas"])), (200, Some(1)));
}

#[tokio::test]
async fn a_negative_scale_is_invalid() {
    let api = Api::start();
    api.client.create(&deployments(), Some("default"), deployment("d")).await.unwrap();
    let answer = api.patch("application/merge-patch+json", SCALE, &json!({"spec": {"replicas": -1}})).await;
    assert_eq!(answer.code, 422);
}

#[tokio::test]
async fn a_custom_resource_is_scaled_by_its_paths() {
    let api = with_caches().await;
    api.client.create(&caches(), Some("default"), cache("c")).await.unwrap();
    let mut scale = api.client.get_subresource(&caches(), Some("default"), "c", "scale").await.unwrap();
    assert_eq!(scale.i64_at(&["spec", "replicas"]), Some(1));
    scale.set(&["spec", "replicas"], 3);
    api.client.update_subresource(&caches(), Some("default"), Some("scale"), scale).await.unwrap();
    let cache = api.client.get(&caches(), Some("default"), "c").await.unwrap();
    assert_eq!(cache.i64_at(&["spec", "replicas"]), Some(3));
}
