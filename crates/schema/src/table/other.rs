//! Networking, access, storage, extension, scheduling, coordination.

use pilothouse_value::{Timestamp, Value, object};

use super::Cells;
use super::cells::{
    age, count, flag, human_duration, int, joined, labels, name, selector, since, some_of, text, text_or,
};

pub(super) fn printer(key: &str) -> Option<Cells> {
    Some(match key {
        "networking.Ingress" => ingress,
        "networking.IngressClass" => ingress_class,
        "networking.NetworkPolicy" => |object, now| {
            vec![name(object), selector(object, &["spec", "podSelector"], "<none>").into(), age(object, now)]
        },
        "networking.ServiceCIDR" => {
            |object, now| vec![name(object), joined(object, &["spec", "cidrs"]).into(), age(object, now)]
        }
        "networking.IPAddress" => ip_address,
        "discovery.EndpointSlice" => endpoint_slice,
        "rbac.RoleBinding" | "rbac.ClusterRoleBinding" => role_binding,
        "coordination.Lease" => |object, now| {
            vec![name(object), text(object, &["spec", "holderIdentity"]).into(), age(object, now)]
        },
        "storage.StorageClass" => storage_class,
        "storage.VolumeAttributesClass" => {
            |object, now| vec![name(object), text(object, &["driverName"]).into(), age(object, now)]
        }
        "storage.CSINode" => {
            |object, now| vec![name(object), count(object, &["spec", "drivers"]).into(), age(object, now)]
        }
        "storage.CSIDriver" => csi_driver,
        "storage.VolumeAttachment" => volume_attachment,
        "admissionregistration.MutatingWebhookConfiguration"
        | "admissionregistration.ValidatingWebhookConfiguration" => {
            |object, now| vec![name(object), count(object, &["webhooks"]).into(), age(object, now)]
        }
        "admissionregistration.ValidatingAdmissionPolicy" => |object, now| policy(object, "validations", now),
        "admissionregistration.MutatingAdmissionPolicy" => |object, now| policy(object, "mutations", now),
        "admissionregistration.ValidatingAdmissionPolicyBinding"
        | "admissionregistration.MutatingAdmissionPolicyBinding" => policy_binding,
        "certificates.CertificateSigningRequest" => signing_request,
        "certificates.ClusterTrustBundle" => {
            |object, _| vec![name(object), text_or(object, &["spec", "signerName"], "<none>").into()]
        }
        "certificates.PodCertificateRequest" => pod_certificate_request,
        "scheduling.PriorityClass" => |object, now| {
            let (value, default) = (int(object, &["value"]), flag(object, &["globalDefault"], false));
            vec![
                name(object),
                value.into(),
                default.into(),
                age(object, now),
                text(object, &["preemptionPolicy"]).into(),
            ]
        },
        "node.RuntimeClass" => {
            |object, now| vec![name(object), text(object, &["handler"]).into(), age(object, now)]
        }
        "flowcontrol.FlowSchema" => flow_schema,
        "flowcontrol.PriorityLevelConfiguration" => priority_level,
        "resource.DeviceClass" | "resource.ResourceClaimTemplate" => {
            |object, now| vec![name(object), age(object, now)]
        }
        "resource.ResourceClaim" => resource_claim,
        "resource.ResourceSlice" => |object, now| {
            let spec = |path: &[&str]| Value::from(object.at(&["spec"]).map_or("", |spec| text(spec, path)));
            vec![
                name(object),
                spec(&["nodeName"]),
                spec(&["driver"]),
                spec(&["pool", "name"]),
                age(object, now),
            ]
        },
        "resource.DeviceTaintRule" => device_taint_rule,
        "storagemigration.StorageVersionMigration" => storage_version_migration,
        _ => return None,
    })
}

/// How many hosts of an ingress are shown.
const MOST_HOSTS: usize = 3;

fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let rules = object.items_at(&["spec", "rules"]);
    let mut hosts: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= hosts.len() == MOST_HOSTS;
        let host = text(rule, &["host"]);
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    let hosts = match hosts.is_empty() {
        true => "*".to_owned(),
        false if more => format!("{} + {} more...", hosts.join(","), rules.len() - MOST_HOSTS),
        false => hosts.join(","),
    };
    let ports = if object.items_at(&["spec", "tls"]).is_empty() { "80" } else { "80, 443" };
    vec![
        name(object),
        text_or(object, &["spec", "ingressClassName"], "<none>").into(),
        hosts.into(),
        super::core::load_balancer(object).into(),
        ports.into(),
        age(object, now),
    ]
}

fn ingress_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut title = object::name(object).to_owned();
    if object::annotation(object, "ingressclass.kubernetes.io/is-default-class") == Some("true") {
        title.push_str(" (default)");
    }
    let parameters = object.at(&["spec", "parameters"]).map(|parameters| {
        let kind = text(parameters, &["kind"]);
        let group = parameters.str_at(&["apiGroup"]).map(|group| format!(".{group}")).unwrap_or_default();
        format!("{kind}{group}/{}", text(parameters, &["name"]))
    });
    let parameters = parameters.unwrap_or_else(|| "<none>".to_owned());
    vec![title.into(), text(object, &["spec", "controller"]).into(), parameters.into(), age(object, now)]
}

fn ip_address(object: &Value, now: Timestamp) -> Vec<Value> {
    let parent = object.at(&["spec", "parentRef"]).map(|parent| {
        let mut resource = text(parent, &["resource"]).to_lowercase();
        if !text(parent, &["group"]).is_empty() {
            resource = format!("{resource}.{}", text(parent, &["group"]).to_lowercase());
        }
        match text(parent, &["namespace"]) {
            "" => format!("{resource}/{}", text(parent, &["name"])),
            namespace => format!("{resource}/{namespace}/{}", text(parent, &["name"])),
        }
    });
    // Upstream writes an age too, for which there is no column.
    vec![name(object), parent.unwrap_or_else(|| "<none>".to_owned()).into(), age(object, now)]
}

fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let port = |port: &Value| match port.i64_at(&["port"]) {
        Some(number) => number.to_string(),
        None => port.str_at(&["name"]).unwrap_or("*").to_owned(),
    };
    let ports: Vec<String> = object.items_at(&["ports"]).iter().map(port).collect();
    let addresses =
        object.items_at(&["endpoints"]).iter().flat_map(|endpoint| endpoint.items_at(&["addresses"]));
    let addresses: Vec<String> = addresses.filter_map(Value::as_str).map(str::to_owned).collect();
    vec![
        name(object),
        text(object, &["addressType"]).into(),
        some_of(&ports, 3, "<unset>").into(),
        some_of(&addresses, 3, "<unset>").into(),
        age(object, now),
    ]
}

fn role_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let subjects = |kind: &str| {
        let of_kind =
            object.items_at(&["subjects"]).iter().filter(|subject| text(subject, &["kind"]) == kind);
        let title = |subject: &Value| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, &["namespace"]), text(subject, &["name"])),
            _ => text(subject, &["name"]).to_owned(),
        };
        Value::from(of_kind.map(title).collect::<Vec<_>>().join(", "))
    };
    let role = format!("{}/{}", text(object, &["roleRef", "kind"]), text(object, &["roleRef", "name"]));
    vec![
        name(object),
        role.into(),
        age(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

fn storage_class(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        text(object, &["provisioner"]).into(),
        text_or(object, &["reclaimPolicy"], "Delete").into(),
        text_or(object, &["volumeBindingMode"], "Immediate").into(),
        flag(object, &["allowVolumeExpansion"], false).into(),
        age(object, now),
    ]
}

/// Where the class stands that claims without a class get: the youngest that is marked, or of several the first by name.
pub(super) fn default_class(classes: &[&Value]) -> Option<usize> {
    let is_default = |class: &Value| {
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"]
            .iter()
            .any(|key| object::annotation(class, key) == Some("true"))
    };
    let key = |class: &Value| {
        (
            text(class, &["metadata", "creationTimestamp"]).to_owned(),
            std::cmp::Reverse(object::name(class).to_owned()),
        )
    };
    let marked = classes.iter().enumerate().filter(|(_, class)| is_default(class));
    marked.max_by_key(|(_, class)| key(class)).map(|(at, _)| at)
}

fn csi_driver(object: &Value, now: Timestamp) -> Vec<Value> {
    let spec = |field, other| Value::from(flag(object, &["spec", field], other));
    let modes = joined(object, &["spec", "volumeLifecycleModes"]);
    let audiences: Vec<&str> =
        object.items_at(&["spec", "tokenRequests"]).iter().map(|t| text(t, &["audience"])).collect();
    let tokens = if audiences.is_empty() { "<unset>".to_owned() } else { audiences.join(",") };
    vec![
        name(object),
        spec("attachRequired", true),
        spec("podInfoOnMount", false),
        spec("storageCapacity", false),
        tokens.into(),
        spec("requiresRepublish", false),
        if modes.is_empty() { "<none>".to_owned() } else { modes }.into(),
        age(object, now),
    ]
}

fn volume_attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    vec![
        name(object),
        text(object, &["spec", "attacher"]).into(),
        text(object, &["spec", "source", "persistentVolumeName"]).into(),
        text(object, &["spec", "nodeName"]).into(),
        flag(object, &["status", "attached"], false).into(),
        age(object, now),
    ]
}

fn policy(object: &Value, rules: &str, now: Timestamp) -> Vec<Value> {
    let kind = object.at(&["spec", "paramKind"]);
    let kind = kind.map(|kind| format!("{}/{}", text(kind, &["apiVersion"]), text(kind, &["kind"])));
    let kind = kind.unwrap_or_else(|| "<unset>".to_owned());
    vec![name(object), count(object, &["spec", rules]).into(), kind.into(), age(object, now)]
}

fn policy_binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let parameter = object.at(&["spec", "paramRef"]).map(|parameter| match text(parameter, &["name"]) {
        "" => selector(parameter, &["selector"], "<unset>"),
        title => format!("{}/{title}", text_or(parameter, &["namespace"], "*")),
    });
    let parameter = parameter.unwrap_or_else(|| "<unset>".to_owned());
    vec![name(object), text(object, &["spec", "policyName"]).into(), parameter.into(), age(object, now)]
}

fn signing_request(object: &Value, now: Timestamp) -> Vec<Value> {
    let has = |kind: &str| object::condition(object, kind).is_some();
    let mut status = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !text(object, &["status", "certificate"]).is_empty() {
        status.push_str(",Issued");
    }
    let duration =
        object.i64_at(&["spec", "expirationSeconds"]).map_or_else(|| "<none>".to_owned(), human_duration);
    vec![
        name(object),
        age(object, now),
        text_or(object, &["spec", "signerName"], "<none>").into(),
        text(object, &["spec", "username"]).into(),
        duration.into(),
        status.into(),
    ]
}

fn pod_certificate_request(object: &Value, _: Timestamp) -> Vec<Value> {
    let states = ["Issued", "Denied", "Failed"];
    let mut kinds =
        object.items_at(&["status", "conditions"]).iter().map(|condition| text(condition, &["type"]));
    let state = kinds.rfind(|kind| states.contains(kind)).unwrap_or("Pending");
    let spec = |field| Value::from(text(object, &["spec", field]));
    vec![
        name(object),
        spec("podName"),
        spec("serviceAccountName"),
        spec("nodeName"),
        spec("signerName"),
        state.into(),
        labels(object, &["spec", "unverifiedUserAnnotations"]).into(),
    ]
}

fn flow_schema(object: &Value, now: Timestamp) -> Vec<Value> {
    let dangling =
        object::condition(object, "Dangling").map_or("?", |condition| text(condition, &["status"]));
    vec![
        name(object),
        text(object, &["spec", "priorityLevelConfiguration", "name"]).into(),
        int(object, &["spec", "matchingPrecedence"]).into(),
        text_or(object, &["spec", "distinguisherMethod", "type"], "<none>").into(),
        age(object, now),
        dangling.into(),
    ]
}

fn priority_level(object: &Value, now: Timestamp) -> Vec<Value> {
    let limited = object.at(&["spec", "limited"]);
    let number = |path: &[&str]| {
        limited.and_then(|limited| limited.at(path)).cloned().unwrap_or_else(|| "<none>".into())
    };
    vec![
        name(object),
        text(object, &["spec", "type"]).into(),
        number(&["nominalConcurrencyShares"]),
        number(&["limitResponse", "queuing", "queues"]),
        number(&["limitResponse", "queuing", "handSize"]),
        number(&["limitResponse", "queuing", "queueLengthLimit"]),
        age(object, now),
    ]
}

fn resource_claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let deleted = object::deletion_timestamp(object).is_some();
    let mut states = Vec::new();
    if deleted {
        states.push("deleted");
    }
    match object.at(&["status", "allocation"]) {
        None if !deleted => states.push("pending"),
        None => {}
        Some(_) => {
            states.push("allocated");
            if !object.items_at(&["status", "reservedFor"]).is_empty() {
                states.push("reserved");
            }
        }
    }
    vec![name(object), states.join(",").into(), age(object, now)]
}

fn device_taint_rule(object: &Value, now: Timestamp) -> Vec<Value> {
    let taint = |field| text(object, &["spec", "taint", field]);
    let added = taint("timeAdded");
    let added = if added.is_empty() { String::new() } else { since(Some(added), now) };
    vec![
        name(object),
        taint("key").into(),
        taint("value").into(),
        taint("effect").into(),
        added.into(),
        age(object, now),
    ]
}

fn storage_version_migration(object: &Value, _: Timestamp) -> Vec<Value> {
    let resource =
        match (text(object, &["spec", "resource", "resource"]), text(object, &["spec", "resource", "group"]))
        {
            (resource, "") => resource.to_owned(),
            (resource, group) => format!("{resource}.{group}"),
        };
    let known = ["Running", "Failed", "Succeeded"];
    let status =
        known.iter().rev().find(|kind| object::condition_is_true(object, kind)).copied().unwrap_or("Unknown");
    vec![name(object), resource.into(), status.into()]
}
