//! Fields that a server of this release does not keep, because the features that own them are off by default (upstream:
//! `dropDisabledFields` of the strategies). Those of one feature stay if the object had one of them before.

use pilothouse_value::{Gvk, Map, Value};

/// The fields of one feature, `*` for each element of a list or map.
type Feature = &'static [&'static str];

/// Those below the spec of a pod.
const OF_PODS: [Feature; 7] = [
    &["schedulingGroup"],
    &["evictionResponders"],
    &["volumes.*.emptyDir.mode"],
    &[
        "containers.*.volumeMounts.*.bindMountOptions",
        "initContainers.*.volumeMounts.*.bindMountOptions",
        "ephemeralContainers.*.volumeMounts.*.bindMountOptions",
    ],
    &[
        "volumes.*.secret.defaultUser",
        "volumes.*.secret.items.*.user",
        "volumes.*.configMap.defaultUser",
        "volumes.*.configMap.items.*.user",
        "volumes.*.downwardAPI.defaultUser",
        "volumes.*.downwardAPI.items.*.user",
        "volumes.*.projected.defaultUser",
        "volumes.*.projected.sources.*.secret.items.*.user",
        "volumes.*.projected.sources.*.downwardAPI.items.*.user",
        "volumes.*.projected.sources.*.configMap.items.*.user",
        "volumes.*.projected.sources.*.serviceAccountToken.user",
        "volumes.*.projected.sources.*.clusterTrustBundle.user",
        "volumes.*.projected.sources.*.podCertificate.user",
    ],
    &[
        "containers.*.livenessProbe.grpc.mode",
        "containers.*.readinessProbe.grpc.mode",
        "containers.*.startupProbe.grpc.mode",
        "initContainers.*.livenessProbe.grpc.mode",
        "initContainers.*.readinessProbe.grpc.mode",
        "initContainers.*.startupProbe.grpc.mode",
        "ephemeralContainers.*.livenessProbe.grpc.mode",
        "ephemeralContainers.*.readinessProbe.grpc.mode",
        "ephemeralContainers.*.startupProbe.grpc.mode",
    ],
    &[
        "containers.*.livenessProbe.httpGet.protocol",
        "containers.*.readinessProbe.httpGet.protocol",
        "containers.*.startupProbe.httpGet.protocol",
        "containers.*.lifecycle.postStart.httpGet.protocol",
        "containers.*.lifecycle.preStop.httpGet.protocol",
        "initContainers.*.livenessProbe.httpGet.protocol",
        "initContainers.*.readinessProbe.httpGet.protocol",
        "initContainers.*.startupProbe.httpGet.protocol",
        "initContainers.*.lifecycle.postStart.httpGet.protocol",
        "initContainers.*.lifecycle.preStop.httpGet.protocol",
        "ephemeralContainers.*.livenessProbe.httpGet.protocol",
        "ephemeralContainers.*.readinessProbe.httpGet.protocol",
        "ephemeralContainers.*.startupProbe.httpGet.protocol",
        "ephemeralContainers.*.lifecycle.postStart.httpGet.protocol",
        "ephemeralContainers.*.lifecycle.preStop.httpGet.protocol",
    ],
];

/// Those of resource slices.
const OF_SLICES: [Feature; 5] = [
    &["spec.partitionTypeAttribute"],
    &["spec.skipNodeOperations"],
    &["spec.devices.*.consumesCounters.*.compatibilityGroups"],
    &["spec.devices.*.nodeAllocatableResources"],
    &[
        "spec.devices.*.attributes.*.bools",
        "spec.devices.*.attributes.*.ints",
        "spec.devices.*.attributes.*.strings",
        "spec.devices.*.attributes.*.versions",
    ],
];

/// Removes such fields from an object that is created, or replaces `old`.
pub(super) fn drop(gvk: &Gvk, old: Option<&Value>, object: &mut Value) {
    let is_elsewhere =
        object.str_at(&["spec", "dataSourceRef", "namespace"]).is_some_and(|namespace| !namespace.is_empty());
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("coordination.k8s.io", "Lease") => {
            all(&[&["spec.strategy"], &["spec.preferredHolder"]], old, object);
        }
        ("", "Node") => {
            all(&[&["spec.configSource"], &["spec.podPreemptionPolicy"]], old, object);
            if old.is_none() {
                object.take(&["status", "config"]);
            }
        }
        ("discovery.k8s.io", "EndpointSlice") => remove(object, "endpoints.*.deprecatedTopology"),
        ("resource.k8s.io", "ResourceSlice") => all(&OF_SLICES, old, object),
        ("", "PersistentVolumeClaim") if is_elsewhere => all(&[&["spec.dataSourceRef"]], old, object),
        ("", "Pod") => of_pod(&["spec"], old, object),
        ("", "PodTemplate") => of_pod(&["template", "spec"], old, object),
        ("batch", "CronJob") => {
            all(&[&["spec.jobTemplate.spec.scheduling"]], old, object);
            of_pod(&["spec", "jobTemplate", "spec", "template", "spec"], old, object);
        }
        ("batch", "Job") => {
            all(&[&["spec.scheduling"]], old, object);
            of_pod(&["spec", "template", "spec"], old, object);
        }
        ("apps", _) | ("", "ReplicationController") => of_pod(&["spec", "template", "spec"], old, object),
        _ => {}
    }
}

/// Removes such fields from a status that replaces that of `old`.
pub(in crate::builtin) fn drop_of_status(gvk: &Gvk, old: &Value, object: &mut Value) {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => {
            let features: [Feature; 2] =
                [&["status.volumeHealth"], &["status.nodeAllocatableResourceClaimStatuses"]];
            all(&features, Some(old), object);
        }
        ("", "PersistentVolumeClaim") => all(&[&["status.healthStatus"]], Some(old), object),
        _ => {}
    }
}

fn all(features: &[Feature], old: Option<&Value>, object: &mut Value) {
    for feature in features {
        // Few objects have them: what is not there needs no look at the old one.
        let is_new = |path: &&str| has(object, path);
        if feature.iter().any(is_new) && !old.is_some_and(|old| feature.iter().any(|path| has(old, path))) {
            feature.iter().for_each(|path| remove(object, path));
        }
    }
}

fn of_pod(place: &[&str], old: Option<&Value>, object: &mut Value) {
    let old = old.and_then(|old| old.at(place));
    let Some(spec) = object.at_mut(place) else { return };
    all(&OF_PODS, old, spec);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let had = container.take(&["lifecycle", "stopSignal"]).is_some();
            if had && container.get("lifecycle").and_then(Value::as_object).is_some_and(Map::is_empty) {
                container.take(&["lifecycle"]);
            }
        }
    }
}

fn has(value: &Value, path: &str) -> bool {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let below = |value: &Value| rest.is_none_or(|rest| has(value, rest));
    match value {
        Value::Array(items) if first == "*" => items.iter().any(below),
        Value::Object(map) if first == "*" => map.values().any(below),
        other => other.get(first).is_some_and(below),
    }
}

fn remove(value: &mut Value, path: &str) {
    let Some((first, rest)) = path.split_once('.') else {
        value.take(&[path]);
        return;
    };
    match value {
        Value::Array(items) if first == "*" => items.iter_mut().for_each(|item| remove(item, rest)),
        Value::Object(map) if first == "*" => map.values_mut().for_each(|item| remove(item, rest)),
        other => {
            if let Some(inner) = other.get_mut(first) {
                remove(inner, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn fields_of_features_that_are_off_are_dropped_unless_the_object_had_them() {
        let pod = json!({"spec": {"evictionResponders": [{"name": "a"}], "volumes": [
            {"secret": {"defaultUser": 1, "items": [{"key": "k", "user": 2}]}}, {"emptyDir": {"mode": 7}}]}});
        let kept = json!({"spec": {"volumes": [{"secret": {"items": [{"key": "k"}]}}, {"emptyDir": {}}]}});
        let gvk = Gvk::new("", "v1", "Pod");
        let mut new = pod.clone();
        drop(&gvk, None, &mut new);
        assert_eq!(new, kept);
        let mut same = pod.clone();
        drop(&gvk, Some(&pod), &mut same);
        assert_eq!(same, pod);
    }
}
