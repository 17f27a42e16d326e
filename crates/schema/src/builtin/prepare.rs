//! What a server sets itself when an object is created or replaced, whatever the client said (upstream: the
//! strategies under pkg/registry, `PrepareForCreate` and `PrepareForUpdate`): status, generation, and what a kind
//! generates.

use pilothouse_value::{Gvk, Map, Quantity, Value, json, object};

use super::{decode, resources, types};

/// Whether the kind counts its generations; of all others `metadata.generation` is never set.
pub fn has_generation(gvk: &Gvk) -> bool {
    match gvk.group.as_str() {
        "apps" => gvk.kind != "ControllerRevision",
        "" => matches!(gvk.kind.as_str(), "Pod" | "PodTemplate" | "ReplicationController"),
        "batch"
        | "autoscaling"
        | "policy"
        | "discovery.k8s.io"
        | "scheduling.k8s.io"
        | "apiextensions.k8s.io" => true,
        "admissionregistration.k8s.io" | "flowcontrol.apiserver.k8s.io" => true,
        "networking.k8s.io" => matches!(gvk.kind.as_str(), "Ingress" | "IngressClass" | "NetworkPolicy"),
        "resource.k8s.io" => matches!(gvk.kind.as_str(), "DeviceClass" | "DeviceTaintRule" | "ResourceSlice"),
        _ => false,
    }
}

/// Whether the kind's status is written through its subresource only. A node brings its status when it registers.
fn resets_status(gvk: &Gvk) -> bool {
    gvk.kind != "Node"
        && resources()
            .iter()
            .any(|r| r.kind == gvk.kind && r.group == gvk.group && r.version == gvk.version && r.has_status())
}

/// Prepares an object that is about to be created. It must have been read and defaulted, and must have its name and
/// its uid.
pub fn prepare_create(gvk: &Gvk, object: &mut Value) {
    if has_generation(gvk) {
        object.set(&["metadata", "generation"], 1);
    }
    if resets_status(gvk) {
        let zero =
            types::kind(gvk).and_then(|def| def.field("status")).map(|field| decode::zero(&field.form));
        match zero {
            Some(status) if !status.is_null() => object.set(&["status"], status),
            _ => {
                object.take(&["status"]);
            }
        }
    }
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => {
            let qos = pod_qos(object);
            object.set(&["status"], json!({"phase": "Pending", "qosClass": qos}));
            if !object.items_at(&["spec", "schedulingGates"]).is_empty() {
                let gated = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates", "lastProbeTime": null, "lastTransitionTime": null});
                object.set(&["status", "conditions"], vec![gated]);
            }
        }
        ("", "PersistentVolumeClaim" | "PersistentVolume") => object.set(&["status", "phase"], "Pending"),
        ("", "Namespace") => {
            object.set(&["status"], json!({"phase": "Active"}));
            let finalizers = object.entry(&["spec", "finalizers"]);
            match finalizers {
                Value::Array(list) if list.iter().any(|f| f.as_str() == Some("kubernetes")) => {}
                Value::Array(list) => list.push("kubernetes".into()),
                other => *other = json!(["kubernetes"]),
            }
        }
        ("batch", "Job") => generate_job_selector(object),
        ("apps", "DaemonSet") => object.set(&["metadata", "annotations", TEMPLATE_GENERATION], "1"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let versions = object.items_at(&["spec", "versions"]);
            let stored = versions.iter().find(|v| v.get("storage") == Some(&Value::Bool(true)));
            let stored: Value = stored.and_then(|v| v.get("name")).cloned().into_iter().collect();
            object.set(&["status", "storedVersions"], stored);
        }
        _ => {}
    }
}

/// Prepares an object that is about to replace `old` through its main resource: the status stays, and the generation
/// is counted up if anything but metadata and status changed.
pub fn prepare_update(gvk: &Gvk, old: &Value, object: &mut Value) {
    if resets_status(gvk) {
        match old.get("status") {
            Some(status) => object.set(&["status"], status.clone()),
            None => {
                object.take(&["status"]);
            }
        }
    }
    if (gvk.group.as_str(), gvk.kind.as_str()) == ("apps", "DaemonSet") {
        count_template_generation(old, object);
    }
    let changed = || {
        let is_desired =
            |(name, _): &(&str, &Value)| !matches!(*name, "metadata" | "status" | "kind" | "apiVersion");
        let desired = |object: &Value| -> Map {
            object
                .as_object()
                .into_iter()
                .flat_map(Map::iter)
                .filter(is_desired)
                .map(|(k, v)| (k, v.clone()))
                .collect()
        };
        desired(old) != desired(object)
    };
    let generation = match has_generation(gvk) && changed() {
        true => object::generation(old) + 1,
        false => object::generation(old),
    };
    if generation > 0 {
        object.set(&["metadata", "generation"], generation);
    } else {
        object.take(&["metadata", "generation"]);
    }
}

/// How often the template of a daemon set has changed, which stood in its spec before apps/v1.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn count_template_generation(old: &Value, object: &mut Value) {
    let template = |object: &Value| object.at(&["spec", "template"]).cloned();
    let generation =
        object::annotation(old, TEMPLATE_GENERATION).and_then(|text| text.parse::<i64>().ok()).unwrap_or(1);
    let generation = generation + i64::from(template(old) != template(object));
    object.set(&["metadata", "annotations", TEMPLATE_GENERATION], generation.to_string());
}

/// A job selects its pods by its own uid, unless its author took charge of the selector.
fn generate_job_selector(job: &mut Value) {
    if job.at(&["spec", "manualSelector"]).and_then(Value::as_bool) == Some(true) {
        return;
    }
    let (name, uid) = (object::name(job).to_owned(), object::uid(job).to_owned());
    let labels = job.entry(&["spec", "template", "metadata", "labels"]).make_object();
    for (key, value) in [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
    ] {
        labels.or_insert_with(key, || value.into());
    }
    let labels = Value::Object(labels.clone());
    let selector = job.entry(&["spec", "selector", "matchLabels"]).make_object();
    selector.or_insert_with("batch.kubernetes.io/controller-uid", || uid.into());
    // A job without labels has those of its pods.
    if object::labels(job).is_none_or(Map::is_empty) {
        job.set(&["metadata", "labels"], labels);
    }
}

/// The quality-of-service class that follows from the resources of a pod's containers.
pub(super) fn pod_qos(pod: &Value) -> &'static str {
    let spec = |list| pod.items_at(&["spec", list]).iter();
    let mut classes = match pod.at(&["spec", "resources"]) {
        Some(resources) => vec![requirements_qos(resources)],
        None => spec("initContainers")
            .chain(spec("containers"))
            .map(|container| requirements_qos(container.get("resources").unwrap_or(&Value::Null)))
            .collect(),
    };
    classes.dedup();
    match classes[..] {
        [] => "BestEffort",
        [class] => class,
        _ => "Burstable",
    }
}

fn requirements_qos(resources: &Value) -> &'static str {
    let is_empty = |part| resources.get(part).and_then(Value::as_object).is_none_or(Map::is_empty);
    if is_empty("requests") && is_empty("limits") {
        return "BestEffort";
    }
    let quantity = |part, name| {
        let text = resources.str_at(&[part, name]);
        text.and_then(|text| text.parse::<Quantity>().ok()).map_or(0, Quantity::nano)
    };
    let class = |name| match (quantity("requests", name), quantity("limits", name)) {
        (request, limit) if request != limit => "Burstable",
        (0, _) => "BestEffort",
        _ => "Guaranteed",
    };
    match (class("cpu"), class("memory")) {
        (cpu, memory) if cpu == memory => cpu,
        _ => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_start_pending_with_the_class_of_their_resources() {
        let cases = [
            (json!([{}]), "BestEffort"),
            (
                json!([{"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}}]),
                "Guaranteed",
            ),
            (json!([{"resources": {"requests": {"cpu": "1"}}}]), "Burstable"),
            (
                json!([{}, {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}}]),
                "Burstable",
            ),
        ];
        for (containers, class) in cases {
            let mut pod = json!({"spec": {"containers": containers}, "status": {"phase": "Running"}});
            prepare_create(&Gvk::new("", "v1", "Pod"), &mut pod);
            assert_eq!(*pod.get("status").unwrap(), json!({"phase": "Pending", "qosClass": class}));
            assert_eq!(object::generation(&pod), 1);
        }
    }

    #[test]
    fn a_new_spec_is_a_new_generation_and_leaves_the_status() {
        let gvk = Gvk::new("apps", "v1", "Deployment");
        let old = json!({"metadata": {"generation": 3}, "spec": {"replicas": 1}, "status": {"replicas": 1}});
        let mut new =
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}, "status": {"replicas": 9}});
        prepare_update(&gvk, &old, &mut new);
        assert_eq!((object::generation(&new), new.get("status")), (3, old.get("status")));
        new.set(&["spec", "replicas"], 2);
        prepare_update(&gvk, &old, &mut new);
        assert_eq!(object::generation(&new), 4);
    }

    #[test]
    fn a_job_selects_its_pods_by_its_uid() {
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {}}});
        prepare_create(&Gvk::new("batch", "v1", "Job"), &mut job);
        assert_eq!(
            *job.at(&["spec", "selector"]).unwrap(),
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
        );
        assert_eq!(
            job.at(&["spec", "template", "metadata", "labels"]).and_then(Value::as_object).map(Map::len),
            Some(4)
        );
    }
}
