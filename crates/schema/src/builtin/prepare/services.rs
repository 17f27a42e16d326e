//! What a Service gives up when it becomes one of another type.

use pilothouse_value::Value;

fn kind(service: &Value) -> &str {
    service.str_at(&["spec", "type"]).unwrap_or_default()
}

fn needs_node_ports(service: &Value) -> bool {
    matches!(kind(service), "NodePort" | "LoadBalancer")
}

fn needs_health_check(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && service.str_at(&["spec", "externalTrafficPolicy"]) == Some("Local")
}

/// Whether anyone outside the cluster may call the Service.
fn is_external(service: &Value) -> bool {
    match kind(service) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !service.items_at(&["spec", "externalIPs"]).is_empty(),
        _ => false,
    }
}

fn node_ports(service: &Value) -> Vec<i64> {
    let ports = service.items_at(&["spec", "ports"]).iter().filter_map(|port| port.i64_at(&["nodePort"]));
    ports.filter(|port| *port != 0).collect()
}

/// What a service of another type had does not outlive the change of its type, unless the client changed it itself.
pub(super) fn drop_of_old_type(old: &Value, service: &mut Value) {
    let drop_same = |service: &mut Value, fields: &[&str]| {
        for field in fields {
            if service.at(&["spec", field]) == old.at(&["spec", field]) {
                service.take(&["spec", field]);
            }
        }
    };
    if kind(old) != "ExternalName" && kind(service) == "ExternalName" {
        if service.at(&["spec", "clusterIPs"]) == old.at(&["spec", "clusterIPs"]) {
            service.take(&["spec", "clusterIP"]);
            service.take(&["spec", "clusterIPs"]);
        }
        drop_same(service, &["ipFamilies", "ipFamilyPolicy"]);
    }
    // Ports may come and go, as long as none is asked for that was not there.
    let known = node_ports(old);
    let asks_for_none = node_ports(service).iter().all(|port| known.contains(port));
    if needs_node_ports(old) && !needs_node_ports(service) && asks_for_none {
        for port in service.at_mut(&["spec", "ports"]).and_then(Value::as_array_mut).into_iter().flatten() {
            port.take(&["nodePort"]);
        }
    }
    if needs_health_check(old) && !needs_health_check(service) {
        drop_same(service, &["healthCheckNodePort"]);
    }
    if kind(old) == "LoadBalancer" && kind(service) != "LoadBalancer" {
        drop_same(service, &["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if is_external(old) && !is_external(service) {
        drop_same(service, &["externalTrafficPolicy"]);
    }
    if kind(service) != "LoadBalancer" && service.at(&["status", "loadBalancer"]).is_some() {
        service.set(&["status", "loadBalancer"], Value::object());
    }
}
