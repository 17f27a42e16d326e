//! The wiring of the Services controller.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_value::{Value, object};

use super::slices::SERVICE;
use crate::harness::api::{Api, Failure};
use crate::harness::controller::{Key, Reconcile, Runner};
use crate::harness::informer::Object;
use crate::harness::queue::Queue;
use crate::resources::{ENDPOINT_SLICES, ENDPOINTS, PODS, SERVICES};

struct Services {
    api: Api,
}

impl Reconcile for Services {
    type Key = Key;

    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let endpoints = self.api.of(&ENDPOINTS).get(&key.namespace, &key.name);
        let Some(service) = self.api.of(&SERVICES).get(&key.namespace, &key.name) else {
            // Slices go with their owner; Endpoints have none, as upstream, and are known by who manages them.
            if let Some(orphan) = endpoints.filter(|e| is_ours(e)) {
                self.api.delete(&ENDPOINTS, &key.namespace, &key.name, object::uid(&orphan), None).await?;
            }
            return Ok(None);
        };
        let plan = {
            let pods = self.api.of(&PODS).list(Some(&key.namespace));
            let slices = self.api.of(&ENDPOINT_SLICES).list(Some(&key.namespace));
            super::reconcile(&service, &refs(&pods), endpoints.as_deref(), &refs(&slices))
        };
        self.api.act(plan).await
    }
}

fn is_ours(endpoints: &Value) -> bool {
    object::label(endpoints, "endpoints.kubernetes.io/managed-by") == Some("endpoint-controller")
}

fn refs(objects: &[Object]) -> Vec<&Value> {
    objects.iter().map(|object| &**object).collect()
}

/// Starts the controller.
pub(crate) fn start(api: &Api, runner: &Runner) {
    let queue: Arc<Queue<Key>> = Arc::new(Queue::new());
    let reads: Vec<_> = [&*SERVICES, &*PODS, &*ENDPOINTS, &*ENDPOINT_SLICES].map(|r| api.of(r)).into();
    let services = api.of(&SERVICES);
    let keys = queue.clone();
    services.on_change(move |change| {
        change.latest().into_iter().for_each(|service| keys.add(Key::of(service)));
    });
    let keys = queue.clone();
    api.of(&PODS).on_change(move |change| {
        for pod in change.both() {
            let selects = |service: &&Object| {
                let selector = service.at(&["spec", "selector"]).and_then(Value::as_object);
                let labels = object::labels(pod);
                selector.is_some_and(|s| s.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v)))
            };
            let all = services.list(object::namespace(pod));
            all.iter().filter(selects).for_each(|service| keys.add(Key::of(service)));
        }
    });
    let keys = queue.clone();
    api.of(&ENDPOINTS).on_change(move |change| {
        change.latest().into_iter().for_each(|endpoints| keys.add(Key::of(endpoints)));
    });
    let keys = queue.clone();
    api.of(&ENDPOINT_SLICES).on_change(move |change| {
        if let Some(slice) = change.latest()
            && let (Some(namespace), Some(service)) =
                (object::namespace(slice), object::label(slice, SERVICE))
        {
            keys.add(Key::new(namespace, service));
        }
    });
    runner.run("endpoints-controller", Services { api: api.named("endpoints-controller") }, queue, reads);
}
