//! Events: what they are beyond other objects.

use std::time::Duration;

use pilothouse_value::json;

use crate::support::Api;

#[tokio::test(start_paused = true)]
async fn an_event_goes_after_its_hour() {
    let api = Api::start();
    let events = "/api/v1/namespaces/default/events";
    let event = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
            "involvedObject": {"namespace": "default"},
        })
    };
    assert_eq!(api.post(events, &event("once")).await.code, 201);
    assert_eq!(api.post(events, &event("again")).await.code, 201);
    tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    let mut counted = event("again");
    counted.set(&["count"], 2);
    assert_eq!(api.put(&format!("{events}/again"), &counted).await.code, 200);

    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    assert_eq!(api.get(&format!("{events}/once")).await.code, 404, "its hour is over");
    assert_eq!(api.get(&format!("{events}/again")).await.code, 200, "it was written half an hour ago");
    tokio::time::sleep(Duration::from_secs(30 * 60)).await;
    assert_eq!(api.get(&format!("{events}/again")).await.code, 404);
}
