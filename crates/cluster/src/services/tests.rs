use super::*;
use crate::harness::plan::Intent;

fn service(spec: Value) -> Value {
    let mut service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "ns", "uid": "svc", "labels": {"team": "a"}}});
    service.set(&["spec"], spec);
    service.set(&["spec", "selector"], json!({"app": "web"}));
    service
}

fn pod(name: &str, ip: &str, ready: bool) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": "web", "x": "y"}},
        "spec": {"nodeName": "n", "hostname": name, "subdomain": "web",
            "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}]},
        "status": {"phase": "Running", "podIP": ip,
            "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]}})
}

fn made(plan: &Plan) -> (Value, Value) {
    let find = |kind: &str| {
        plan.intents
            .iter()
            .find_map(|intent| match intent {
                Intent::Create { object, .. } | Intent::Update { object, .. }
                    if object::kind(object) == kind =>
                {
                    Some(object.clone())
                }
                _ => None,
            })
            .unwrap_or_else(|| panic!("no {kind} in {plan:?}"))
    };
    (find("Endpoints"), find("EndpointSlice"))
}

fn run(service: &Value, pods: &[Value]) -> (Value, Value) {
    made(&reconcile(service, &pods.iter().collect::<Vec<_>>(), None, &[]))
}

fn ips(endpoints: &Value, list: &str) -> Vec<String> {
    let addresses = endpoints.items_at(&["subsets"]).iter().flat_map(|s| s.items_at(&[list]));
    addresses.filter_map(|a| a.str_at(&["ip"]).map(str::to_owned)).collect()
}

#[test]
fn ready_and_not_ready_pods_are_told_apart() {
    let service = service(json!({"ports": [{"port": 80, "targetPort": "http", "protocol": "TCP"}]}));
    let (endpoints, slice) = run(&service, &[pod("a", "10.0.0.1", true), pod("b", "10.0.0.2", false)]);
    assert_eq!(ips(&endpoints, "addresses"), ["10.0.0.1"]);
    assert_eq!(ips(&endpoints, "notReadyAddresses"), ["10.0.0.2"]);
    let ports = endpoints.items_at(&["subsets"])[0].items_at(&["ports"]);
    assert_eq!(ports[0].i64_at(&["port"]), Some(8080), "the named port of the container");
    let ready: Vec<Option<bool>> = slice
        .items_at(&["endpoints"])
        .iter()
        .map(|e| e.at(&["conditions", "ready"]).and_then(Value::as_bool))
        .collect();
    assert_eq!(ready, [Some(true), Some(false)]);
    assert_eq!(slice.str_at(&["metadata", "labels", "kubernetes.io/service-name"]), Some("web"));
}

#[test]
fn publish_not_ready_addresses_makes_all_pods_ready() {
    let service = service(json!({"publishNotReadyAddresses": true, "clusterIP": "None",
        "ports": [{"port": 80}]}));
    let (endpoints, slice) = run(&service, &[pod("a", "10.0.0.1", false)]);
    assert_eq!(ips(&endpoints, "addresses"), ["10.0.0.1"]);
    let endpoint = &slice.items_at(&["endpoints"])[0];
    assert_eq!(endpoint.at(&["conditions", "ready"]), Some(&json!(true)));
    assert_eq!(endpoint.at(&["conditions", "serving"]), Some(&json!(false)));
    assert_eq!(endpoint.str_at(&["hostname"]), Some("a"));
    assert!(object::label(&slice, "service.kubernetes.io/headless").is_some());
}

#[test]
fn a_terminating_pod_stays_in_the_slice_as_not_ready() {
    let service = service(json!({"ports": [{"port": 80}]}));
    let mut going = pod("a", "10.0.0.1", true);
    going.set(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
    let (endpoints, slice) = run(&service, &[going]);
    assert_eq!(endpoints.items_at(&["subsets"]).len(), 0);
    let conditions = slice.items_at(&["endpoints"])[0].get("conditions").cloned().unwrap();
    assert_eq!(conditions, json!({"ready": false, "serving": true, "terminating": true}));
}

#[test]
fn pods_that_have_no_address_have_finished_or_do_not_match_are_left_out() {
    let service = service(json!({"ports": [{"port": 80}]}));
    let mut finished = pod("a", "10.0.0.1", false);
    finished.set(&["status", "phase"], "Succeeded");
    let mut other = pod("b", "10.0.0.2", true);
    other.set(&["metadata", "labels"], json!({"app": "db"}));
    let (endpoints, slice) = run(&service, &[finished, other, pod("c", "", true)]);
    assert_eq!(endpoints.get("subsets"), None);
    assert_eq!(slice.items_at(&["endpoints"]).len(), 0);
}

#[test]
fn a_service_without_selector_is_its_users_own() {
    let mut service = service(json!({"ports": [{"port": 80}]}));
    service.take(&["spec", "selector"]);
    assert_eq!(reconcile(&service, &[], None, &[]).intents, []);
}

#[test]
fn more_than_a_hundred_endpoints_take_another_slice_and_nothing_is_written_twice() {
    let service = service(json!({"ports": [{"port": 80}]}));
    let pods: Vec<Value> = (0..150).map(|i| pod(&format!("p{i:03}"), &format!("10.0.1.{i}"), true)).collect();
    let seen: Vec<&Value> = pods.iter().collect();
    let plan = reconcile(&service, &seen, None, &[]);
    let (endpoints, _) = made(&plan);
    let slices: Vec<Value> = plan
        .intents
        .iter()
        .filter_map(|intent| match intent {
            Intent::Create { object, .. } if object::kind(object) == "EndpointSlice" => Some(object.clone()),
            _ => None,
        })
        .collect();
    let sizes: Vec<usize> = slices.iter().map(|s| s.items_at(&["endpoints"]).len()).collect();
    assert_eq!(sizes, [100, 50]);
    let again = reconcile(&service, &seen, Some(&endpoints), &slices.iter().collect::<Vec<_>>());
    assert_eq!(again.intents, []);
}
