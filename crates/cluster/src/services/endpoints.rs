//! The Endpoints object of a Service: subsets of addresses that serve the same ports.

use pilothouse_value::{Value, json, object};

use super::{Endpoint, hostname, is_headless, target};
use crate::harness::plan::Plan;
use crate::resources::ENDPOINTS;

/// The most addresses in one Endpoints object; more are cut off, and an annotation says so.
const LIMIT: usize = 1000;

#[derive(Default)]
struct Subset {
    ports: Vec<Value>,
    ready: Vec<Value>,
    not_ready: Vec<Value>,
}

/// Plans to create or update the Endpoints.
pub(super) fn write(
    service: &Value,
    endpoints: &[Endpoint<'_>],
    publish: bool,
    existing: Option<&Value>,
    plan: &mut Plan,
) {
    let mut subsets: Vec<Subset> = Vec::new();
    // Pods that are on their way out are told of in slices only, unless all pods are published.
    let told = endpoints.iter().filter(|e| publish || !e.terminating);
    for endpoint in told.take(LIMIT) {
        let ports: Vec<Value> = endpoint.ports.iter().flatten().cloned().collect();
        if ports.is_empty() && !endpoint.ports.is_empty() {
            continue;
        }
        let at = subsets.iter().position(|subset| subset.ports == ports).unwrap_or_else(|| {
            subsets.push(Subset { ports, ..Subset::default() });
            subsets.len() - 1
        });
        if let Some(subset) = subsets.get_mut(at) {
            let list = if endpoint.ready { &mut subset.ready } else { &mut subset.not_ready };
            list.push(address(service, endpoint));
        }
    }
    let subsets: Vec<Value> = subsets.into_iter().map(Subset::into_value).collect();
    let mut labels = object::labels(service).cloned().unwrap_or_default();
    labels.insert("endpoints.kubernetes.io/managed-by", "endpoint-controller");
    if is_headless(service) {
        labels.insert("service.kubernetes.io/headless", "");
    }
    let Some(existing) = existing else {
        let mut new = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {
            "name": object::name(service), "namespace": object::namespace(service).unwrap_or_default()}});
        new.set(&["metadata", "labels"], labels);
        if !subsets.is_empty() {
            new.set(&["subsets"], subsets);
        }
        plan.create(&ENDPOINTS, new, None);
        return;
    };
    if existing.items_at(&["subsets"]) == subsets && object::labels(existing) == Some(&labels) {
        return;
    }
    let mut new = existing.clone();
    new.set(&["metadata", "labels"], labels);
    new.take(&["subsets"]);
    if !subsets.is_empty() {
        new.set(&["subsets"], subsets);
    }
    plan.update(&ENDPOINTS, new);
}

fn address(service: &Value, endpoint: &Endpoint<'_>) -> Value {
    let mut address = json!({"ip": endpoint.address, "targetRef": target(endpoint.pod)});
    if let Some(node) = endpoint.pod.str_at(&["spec", "nodeName"]) {
        address.set(&["nodeName"], node);
    }
    if let Some(host) = hostname(service, endpoint.pod) {
        address.set(&["hostname"], host);
    }
    address
}

impl Subset {
    fn into_value(self) -> Value {
        let mut subset = json!({});
        for (field, list) in
            [("addresses", self.ready), ("notReadyAddresses", self.not_ready), ("ports", self.ports)]
        {
            if !list.is_empty() {
                subset.set(&[field], list);
            }
        }
        subset
    }
}
