//! The groups around the workloads: policy, networking, access, extension, storage, scheduling.

use pilothouse_value::{Map, Value, json};

use super::{Rule, fill, fill_pointer, fill_zero, is_empty, is_unset, object, text};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "rbac.v1.RoleBinding" | "rbac.v1.ClusterRoleBinding" => {
            |map| fill(object(map, "roleRef"), "apiGroup", RBAC)
        }
        "rbac.v1.Subject" => subject,
        "networking.v1.NetworkPolicyPort" => |map| fill_pointer(map, "protocol", "TCP"),
        "networking.v1.NetworkPolicySpec" => network_policy_spec,
        "networking.v1.IngressClassParametersReference" => |map| fill_pointer(map, "scope", "Cluster"),
        "discovery.v1.EndpointPort" => endpoint_port,
        "autoscaling.v1.HorizontalPodAutoscalerSpec" => |map| fill(map, "minReplicas", 1),
        "autoscaling.v2.HorizontalPodAutoscalerSpec" => autoscaler_spec,
        "admissionregistration.v1.ValidatingWebhook" => webhook,
        "admissionregistration.v1.MutatingWebhook" => mutating_webhook,
        "admissionregistration.v1.RuleWithOperations"
        | "admissionregistration.v1.NamedRuleWithOperations" => |map| fill_pointer(map, "scope", "*"),
        "admissionregistration.v1.ServiceReference"
        | "apiextensions.v1.ServiceReference"
        | "apiregistration.v1.ServiceReference" => |map| fill(map, "port", 443),
        "admissionregistration.v1.ValidatingAdmissionPolicySpec"
        | "admissionregistration.v1.MutatingAdmissionPolicySpec" => {
            |map| fill_pointer(map, "failurePolicy", "Fail")
        }
        "admissionregistration.v1.MatchResources" => match_resources,
        "apiextensions.v1.CustomResourceDefinition" => custom_resource_definition,
        "storage.v1.StorageClass" => storage_class,
        "storage.v1.CSIDriverSpec" => csi_driver_spec,
        "scheduling.v1.PriorityClass" => |map| fill_pointer(map, "preemptionPolicy", "PreemptLowerPriority"),
        "resource.v1.ExactDeviceRequest" | "resource.v1.DeviceSubRequest" => device_request,
        "flowcontrol.v1.FlowSchemaSpec" => |map| fill_zero(map, "matchingPrecedence", 1000),
        "flowcontrol.v1.ExemptPriorityLevelConfiguration" => |map| {
            fill(map, "nominalConcurrencyShares", 0);
            fill(map, "lendablePercent", 0);
        },
        "flowcontrol.v1.LimitedPriorityLevelConfiguration" => |map| {
            fill(map, "nominalConcurrencyShares", 30);
            fill(map, "lendablePercent", 0);
        },
        "flowcontrol.v1.QueuingConfiguration" => |map| {
            fill_zero(map, "handSize", 8);
            fill_zero(map, "queues", 64);
            fill_zero(map, "queueLengthLimit", 50);
        },
        _ => return None,
    })
}

fn subject(map: &mut Map) {
    if matches!(text(map, "kind"), "User" | "Group") {
        fill(map, "apiGroup", RBAC);
    }
}

fn network_policy_spec(map: &mut Map) {
    if is_empty(map, "policyTypes") {
        let types = if is_empty(map, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        map.insert("policyTypes", types);
    }
}

fn endpoint_port(map: &mut Map) {
    if !map.contains_key("name") {
        map.insert("name", "");
    }
    fill_pointer(map, "protocol", "TCP");
}

fn autoscaler_spec(map: &mut Map) {
    fill(map, "minReplicas", 1);
    if is_empty(map, "metrics") {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        map.insert("metrics", json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]));
    }
    if let Some(Value::Object(behavior)) = map.get_mut("behavior") {
        let up = object(behavior, "scaleUp");
        fill(up, "stabilizationWindowSeconds", 0);
        fill_pointer(up, "selectPolicy", "Max");
        let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
        fill(up, "policies", json!([pods, percent]));
        let down = object(behavior, "scaleDown");
        fill_pointer(down, "selectPolicy", "Max");
        fill(down, "policies", json!([percent]));
    }
}

fn match_resources(map: &mut Map) {
    fill_pointer(map, "matchPolicy", "Equivalent");
    fill(map, "namespaceSelector", Value::object());
    fill(map, "objectSelector", Value::object());
}

fn webhook(map: &mut Map) {
    fill_pointer(map, "failurePolicy", "Fail");
    match_resources(map);
    fill(map, "timeoutSeconds", 10);
}

fn mutating_webhook(map: &mut Map) {
    webhook(map);
    fill_pointer(map, "reinvocationPolicy", "Never");
}

fn custom_resource_definition(map: &mut Map) {
    let spec = object(map, "spec");
    let names = object(spec, "names");
    let kind = text(names, "kind").to_owned();
    if !kind.is_empty() {
        fill(names, "singular", kind.to_lowercase());
        fill(names, "listKind", format!("{kind}List"));
    }
    fill(spec, "conversion", json!({"strategy": "None"}));
    let versions = spec.get("versions").and_then(Value::as_array);
    let stored =
        versions.into_iter().flatten().find(|version| version.get("storage") == Some(&Value::Bool(true)));
    let stored = stored.and_then(|version| version.get("name")).cloned();
    let status = object(map, "status");
    if let (Some(stored), true) = (stored, is_empty(status, "storedVersions")) {
        status.insert("storedVersions", Value::Array(vec![stored].into()));
    }
}

fn storage_class(map: &mut Map) {
    fill_pointer(map, "reclaimPolicy", "Delete");
    fill_pointer(map, "volumeBindingMode", "Immediate");
}

fn csi_driver_spec(map: &mut Map) {
    fill(map, "attachRequired", true);
    fill(map, "podInfoOnMount", false);
    fill(map, "storageCapacity", false);
    fill_pointer(map, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    if is_empty(map, "volumeLifecycleModes") {
        map.insert("volumeLifecycleModes", json!(["Persistent"]));
    }
    fill(map, "requiresRepublish", false);
    fill(map, "seLinuxMount", false);
    fill(map, "preventPodSchedulingIfMissing", false);
}

fn device_request(map: &mut Map) {
    fill(map, "allocationMode", "ExactCount");
    if text(map, "allocationMode") == "ExactCount" && is_unset(map, "count") {
        map.insert("count", 1);
    }
}
