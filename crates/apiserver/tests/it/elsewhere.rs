//! Objects that somebody else keeps.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use pilothouse_apiserver::ObjectsElsewhere;

use crate::support::Api;

/// Has one configuration, in a version that is not served any more.
struct Old;

impl ObjectsElsewhere for Old {
    fn find<'a>(&'a self, path: &'a str) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + 'a>> {
        let document = match path {
            "mutatingwebhookconfigurations/old" => {
                r#"{"apiVersion": "admissionregistration.k8s.io/v1beta1", "kind": "MutatingWebhookConfiguration",
                    "metadata": {"name": "old"}, "webhooks": [{"name": "a", "clientConfig": {}}]}"#
            }
            "configmaps/default/other" => r#"{"kind": "Secret", "metadata": {"name": "other"}}"#,
            _ => return Box::pin(async { None }),
        };
        Box::pin(async move { Some(Bytes::from(document)) })
    }
}

#[tokio::test]
async fn what_is_not_in_the_store_is_looked_for_elsewhere_and_kept() {
    let api = Api::start();
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    assert_eq!(api.get(&format!("{path}/old")).await.code, 404);
    api.server.set_objects_elsewhere(Arc::new(Old));
    let found = api.get(&format!("{path}/old")).await;
    assert_eq!(found.code, 200, "{}", found.text);
    assert_eq!(found.json().str_at(&["apiVersion"]), Some("admissionregistration.k8s.io/v1"));
    assert_eq!(found.json().items_at(&["webhooks"])[0].str_at(&["failurePolicy"]), Some("Fail"));
    assert_eq!(api.get(path).await.json().items_at(&["items"]).len(), 1);
    assert_eq!(api.delete(&format!("{path}/old")).await.code, 200);
    // What is of another kind is not what was asked for.
    assert_eq!(api.get("/api/v1/namespaces/default/configmaps/other").await.code, 404);
    assert_eq!(api.get("/api/v1/namespaces/default/configmaps/none").await.code, 404);
}
