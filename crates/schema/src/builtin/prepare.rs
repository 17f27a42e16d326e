//! What a server sets itself when an object is created or replaced, whatever the client said (upstream: the
//! strategies under pkg/registry, `PrepareForCreate` and `PrepareForUpdate`): status, generation, and what a kind
//! generates.

pub(super) mod disabled;
mod pods;
mod profiles;
mod services;

pub(super) use pods::{fill_pod_resources, pod_qos};
pub use profiles::sync_app_armor;

use pilothouse_value::{Gvk, Map, Value, json, object};

use super::autoscalers;
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

/// A claim names what it is filled from twice, for old and for new clients.
fn data_sources(claim: &mut Value) {
    let of = |claim: &Value, field: &str| claim.at(&["spec", field]).cloned();
    let (source, reference) = (of(claim, "dataSource"), of(claim, "dataSourceRef"));
    match (source, reference) {
        (Some(source), None) => {
            let known = match source.str_at(&["apiGroup"]).unwrap_or_default() {
                "" => source.str_at(&["kind"]) == Some("PersistentVolumeClaim"),
                "snapshot.storage.k8s.io" => source.str_at(&["kind"]) == Some("VolumeSnapshot"),
                _ => false,
            };
            if known {
                claim.set(&["spec", "dataSourceRef"], source);
            } else {
                claim.take(&["spec", "dataSource"]);
            }
        }
        (None, Some(reference)) if reference.str_at(&["namespace"]).is_none_or(str::is_empty) => {
            let mut source = json!({"apiGroup": null});
            for field in ["apiGroup", "kind", "name"] {
                if let Some(value) = reference.get(field) {
                    source.set(&[field], value.clone());
                }
            }
            claim.set(&["spec", "dataSource"], source);
        }
        _ => {}
    }
}

/// Pods that are spread, or kept together, by a label of their own: the label's value goes into the selectors.
fn match_label_keys(pod: &mut Value) {
    let labels = object::labels(pod).cloned().unwrap_or_default();
    let Some(spec) = pod.get_mut("spec") else { return };
    for constraint in
        spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut).into_iter().flatten()
    {
        select_labels(constraint, &labels);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let required = ["affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"];
        for term in spec.at_mut(&required).and_then(Value::as_array_mut).into_iter().flatten() {
            select_labels(term, &labels);
        }
        let preferred = ["affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"];
        for term in spec.at_mut(&preferred).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(term) = term.get_mut("podAffinityTerm") {
                select_labels(term, &labels);
            }
        }
    }
}

fn select_labels(term: &mut Value, labels: &Map) {
    if term.get("labelSelector").is_none_or(Value::is_null) {
        return;
    }
    for (list, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys: Vec<String> =
            term.items_at(&[list]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        for key in keys {
            let Some(value) = labels.get(&key) else { continue };
            let expression = json!({"key": key, "operator": operator, "values": [value.clone()]});
            match term.entry(&["labelSelector", "matchExpressions"]) {
                Value::Array(list) => list.push(expression),
                other => *other = Value::Array(vec![expression].into()),
            }
        }
    }
}

/// Prepares an object that is about to be created. It must have been read and defaulted, and must have its name and
/// its uid. `now` is the time as the server writes it.
pub fn prepare_create(gvk: &Gvk, object: &mut Value, now: &str) {
    if autoscalers::is_first(gvk) {
        *object = autoscalers::convert_autoscaler(object, "autoscaling/v2");
        prepare_create(&autoscalers::second(), object, now);
        *object = autoscalers::convert_autoscaler(object, "autoscaling/v1");
        return;
    }
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
    disabled::drop(gvk, None, object);
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => {
            match_label_keys(object);
            fill_pod_resources(object);
            let qos = pod_qos(object);
            object.set(&["status"], json!({"phase": "Pending", "qosClass": qos}));
            if !object.items_at(&["spec", "schedulingGates"]).is_empty() {
                let gated = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates", "lastProbeTime": null, "lastTransitionTime": now});
                object.set(&["status", "conditions"], vec![gated]);
            }
        }
        ("", "PersistentVolumeClaim") => {
            data_sources(object);
            object.set(&["status", "phase"], "Pending");
        }
        ("", "PersistentVolume") => object.set(&["status", "phase"], "Pending"),
        ("", "Namespace") => {
            object.set(&["status"], json!({"phase": "Active"}));
            let finalizers = object.entry(&["spec", "finalizers"]);
            match finalizers {
                Value::Array(list) if list.iter().any(|f| f.as_str() == Some("kubernetes")) => {}
                Value::Array(list) => list.push("kubernetes".into()),
                other => *other = json!(["kubernetes"]),
            }
        }
        ("", "ServiceAccount") => names_of_secrets(object),
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
    if autoscalers::is_first(gvk) {
        let old = autoscalers::convert_autoscaler(old, "autoscaling/v2");
        *object = autoscalers::convert_autoscaler(object, "autoscaling/v2");
        prepare_update(&autoscalers::second(), &old, object);
        *object = autoscalers::convert_autoscaler(object, "autoscaling/v1");
        return;
    }
    if resets_status(gvk) {
        match old.get("status") {
            Some(status) => object.set(&["status"], status.clone()),
            None => {
                object.take(&["status"]);
            }
        }
    }
    disabled::drop(gvk, Some(old), object);
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("apps", "DaemonSet") => count_template_generation(old, object),
        ("", "Node") => put(object, &["status"], old.get("status").cloned()),
        ("", "PersistentVolumeClaim") => data_sources(object),
        ("", "ServiceAccount") => names_of_secrets(object),
        ("", "Service") => services::drop_of_old_type(old, object),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            put(object, &["spec"], old.get("spec").cloned());
        }
        _ => {}
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
        let annotations = |object: &Value| object.at(&["metadata", "annotations"]).cloned();
        let labels = |object: &Value| object.at(&["metadata", "labels"]).cloned();
        match (gvk.group.as_str(), gvk.kind.as_str()) {
            // The annotations of a deployment go to its replica sets.
            ("apps", "Deployment") if annotations(old) != annotations(object) => true,
            ("discovery.k8s.io", "EndpointSlice") if labels(old) != labels(object) => true,
            ("scheduling.k8s.io", "PriorityClass") => false,
            _ => desired(old) != desired(object),
        }
    };
    let counts = has_generation(gvk) || (gvk.group == "storage.k8s.io" && gvk.kind == "CSIDriver");
    let generation = match counts && changed() {
        true => object::generation(old) + 1,
        false => object::generation(old),
    };
    if generation > 0 {
        object.set(&["metadata", "generation"], generation);
    } else {
        object.take(&["metadata", "generation"]);
    }
}

/// Of the secrets of an account their names alone are kept.
fn names_of_secrets(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(secret) = secret {
            secret.retain(|key, _| key == "name");
        }
    }
}

fn put(object: &mut Value, path: &[&str], part: Option<Value>) {
    match part {
        Some(part) => object.set(path, part),
        None => {
            object.take(path);
        }
    }
}

/// How often the template of a daemon set has changed, which stood in its spec before apps/v1.
pub(super) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Lets an object of such a kind say a generation of its template, which upstream is a number: 0 unless something is said.
pub fn say_template_generation(gvk: &Gvk, object: &mut Value) {
    if has_template_generation(gvk) && object::annotation(object, TEMPLATE_GENERATION).is_none() {
        object.set(&["metadata", "annotations", TEMPLATE_GENERATION], "0");
    }
}

/// Takes the generation of the template out of metadata that is shown alone: upstream it is then no annotation yet.
pub fn hide_template_generation(gvk: &Gvk, object: &mut Value) {
    if !has_template_generation(gvk) {
        return;
    }
    object.take(&["metadata", "annotations", TEMPLATE_GENERATION]);
    if object.at(&["metadata", "annotations"]).and_then(Value::as_object).is_some_and(Map::is_empty) {
        object.take(&["metadata", "annotations"]);
    }
}

fn has_template_generation(gvk: &Gvk) -> bool {
    gvk.group == "apps" && gvk.kind == "DaemonSet"
}

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
    let selector = job.entry(&["spec", "selector", "matchLabels"]).make_object();
    selector.or_insert_with("batch.kubernetes.io/controller-uid", || uid.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-30T08:00:00Z";

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
            prepare_create(&Gvk::new("", "v1", "Pod"), &mut pod, NOW);
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
        prepare_create(&Gvk::new("batch", "v1", "Job"), &mut job, NOW);
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
