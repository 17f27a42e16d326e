//! Services become Endpoints and EndpointSlices: the addresses of the pods that the selector matches
//! (`pkg/controller/endpoint`, `k8s.io/endpointslice`).
//!
//! Left out: dual stack (addresses are IPv4, or IPv6 where the Service says so first), topology hints, mirroring of
//! Endpoints that users write for Services without selector.

mod endpoints;
mod slices;
pub(crate) mod wiring;

use pilothouse_value::{Value, json, object};

use crate::harness::plan::Plan;
use crate::workloads::pods;

/// Publishes pods that are not ready, as an older annotation said it.
const TOLERATE_UNREADY: &str = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/// A pod as an endpoint of a Service.
struct Endpoint<'a> {
    pod: &'a Value,
    address: &'a str,
    ready: bool,
    serving: bool,
    terminating: bool,
    /// The ports in the order of the Service, `None` where the pod has no port of the wanted name.
    ports: Vec<Option<Value>>,
}

/// What to do for a Service, given the pods of its namespace, its Endpoints and its EndpointSlices.
pub(crate) fn reconcile(
    service: &Value,
    all_pods: &[&Value],
    existing: Option<&Value>,
    existing_slices: &[&Value],
) -> Plan {
    let mut plan = Plan::default();
    let selects = service.at(&["spec", "selector"]).and_then(Value::as_object).filter(|s| !s.is_empty());
    let external = service.str_at(&["spec", "type"]) == Some("ExternalName");
    let Some(selector) = selects.filter(|_| !external && object::deletion_timestamp(service).is_none())
    else {
        return plan;
    };
    let publish = service.at(&["spec", "publishNotReadyAddresses"]).and_then(Value::as_bool) == Some(true)
        || object::annotation(service, TOLERATE_UNREADY) == Some("true");
    let mut chosen: Vec<Endpoint<'_>> = all_pods
        .iter()
        .filter(|pod| {
            let labels = object::labels(pod);
            selector.iter().all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value))
        })
        .filter_map(|pod| endpoint(service, pod, publish))
        .collect();
    chosen.sort_by(|a, b| (a.address, object::name(a.pod)).cmp(&(b.address, object::name(b.pod))));
    endpoints::write(service, &chosen, publish, existing, &mut plan);
    slices::write(service, &chosen, existing_slices, &mut plan);
    plan
}

fn endpoint<'a>(service: &Value, pod: &'a Value, publish: bool) -> Option<Endpoint<'a>> {
    let address = pod.str_at(&["status", "podIP"]).filter(|ip| !ip.is_empty())?;
    if pods::is_finished(pod) {
        return None;
    }
    let (terminating, serving) = (pods::is_terminating(pod), pods::is_ready(pod));
    Some(Endpoint {
        pod,
        address,
        ready: publish || serving && !terminating,
        serving,
        terminating,
        ports: service.items_at(&["spec", "ports"]).iter().map(|port| resolve(port, pod)).collect(),
    })
}

/// A port of a Service as a pod serves it: `targetPort` may name a port of one of its containers.
fn resolve(port: &Value, pod: &Value) -> Option<Value> {
    let protocol = port.str_at(&["protocol"]).unwrap_or("TCP");
    let number = match port.get("targetPort") {
        Some(Value::String(name)) => {
            let containers = pod.items_at(&["spec", "containers"]).iter();
            // Sidecars are init containers that keep running; their ports count too.
            let sidecars = pod.items_at(&["spec", "initContainers"]).iter();
            let sidecars = sidecars.filter(|c| c.str_at(&["restartPolicy"]) == Some("Always"));
            let mut ports = containers.chain(sidecars).flat_map(|c| c.items_at(&["ports"]));
            let matches = |p: &&Value| {
                p.str_at(&["name"]) == Some(name) && p.str_at(&["protocol"]).unwrap_or("TCP") == protocol
            };
            ports.find(matches)?.i64_at(&["containerPort"])?
        }
        Some(target) => target.as_i64()?,
        None => port.i64_at(&["port"])?,
    };
    let mut resolved = json!({"port": number, "protocol": protocol});
    for field in ["name", "appProtocol"] {
        if let Some(value) = port.get(field) {
            resolved.set(&[field], value.clone());
        }
    }
    Some(resolved)
}

/// A reference to the pod behind an endpoint.
fn target(pod: &Value) -> Value {
    json!({"kind": "Pod", "name": object::name(pod), "namespace": object::namespace(pod).unwrap_or_default(),
        "uid": object::uid(pod)})
}

/// The host name that DNS gives the endpoint: the pod's, if the pod's subdomain is this Service.
fn hostname<'a>(service: &Value, pod: &'a Value) -> Option<&'a str> {
    let subdomain = pod.str_at(&["spec", "subdomain"])?;
    pod.str_at(&["spec", "hostname"]).filter(|host| !host.is_empty() && subdomain == object::name(service))
}

fn is_headless(service: &Value) -> bool {
    service.str_at(&["spec", "clusterIP"]) == Some("None")
}

#[cfg(test)]
mod tests;
