//! Builds the pods of tasks, and merges overrides into them as Kubernetes' strategic merge does for a PodSpec.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

use super::args::PodTask;

/// Which list of a PodSpec is merged by which key of its items; other lists are replaced.
const MERGE_KEYS: &[(&str, &str)] = &[
    ("containers", "name"),
    ("initContainers", "name"),
    ("ephemeralContainers", "name"),
    ("env", "name"),
    ("envFrom", ""),
    ("ports", "containerPort"),
    ("volumes", "name"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("imagePullSecrets", "name"),
    ("hostAliases", "ip"),
    ("topologySpreadConstraints", "topologyKey"),
    ("resourceClaims", "name"),
];

/// Merges `patch` into `target`.
pub(super) fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match (target.get_mut(key), value) {
            (_, Value::Null) => {
                target.remove(key);
            }
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(Value::Array(old)), Value::Array(new)) => {
                match MERGE_KEYS.iter().find(|(name, by)| name == key && !by.is_empty()) {
                    Some((_, by)) => merge_list(old, new, by),
                    None => *old = new.clone(),
                }
            }
            _ => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

fn merge_list(old: &mut Vec<Value>, new: &[Value], by: &str) {
    for item in new {
        let same = old.iter_mut().find(|o| item.get(by).is_some() && o.get(by) == item.get(by));
        match (same, item) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => old.push(item.clone()),
        }
    }
}

/// What a pod of a task is made from, beside the arguments of its phase.
pub(super) struct PodParts<'a> {
    /// The name of the pod: the same whenever the same step is built.
    pub(super) name: &'a str,
    /// Where it runs.
    pub(super) namespace: &'a str,
    /// Labels by which the operator finds it again.
    pub(super) identity: &'a [(&'a str, String)],
    /// The override of the ActionSet; it wins over the Blueprint's.
    pub(super) pod_override: Option<&'a Map<String, Value>>,
    /// The labels of the ActionSet; the Blueprint's win over them.
    pub(super) labels: &'a std::collections::BTreeMap<String, String>,
    /// The annotations of the ActionSet; the Blueprint's win over them.
    pub(super) annotations: &'a std::collections::BTreeMap<String, String>,
    /// Claims and where they are mounted.
    pub(super) volumes: Vec<(String, String)>,
    /// The account; empty for the default.
    pub(super) service_account: &'a str,
    /// After how many seconds the pod is ended by Kubernetes, should the operator be away.
    pub(super) deadline_seconds: i64,
    /// The owner, where it is in the same namespace.
    pub(super) owner: Option<Value>,
}

/// The pod of a task.
///
/// # Errors
/// When the overrides leave something that is no pod.
pub(super) fn build(task: &PodTask, parts: &PodParts<'_>) -> Result<Pod, serde_json::Error> {
    let mut spec = json!({
        "restartPolicy": "Never",
        "activeDeadlineSeconds": parts.deadline_seconds,
        "containers": [{
            "name": "container",
            "image": task.image,
            "imagePullPolicy": "IfNotPresent",
            "command": task.command,
        }],
    });
    if !parts.service_account.is_empty() {
        spec["serviceAccountName"] = parts.service_account.into();
    }
    if !parts.volumes.is_empty() {
        let name = |i: usize| format!("vol-{i}");
        let volumes = parts.volumes.iter().enumerate();
        spec["volumes"] = volumes
            .clone()
            .map(|(i, (claim, _))| json!({"name": name(i), "persistentVolumeClaim": {"claimName": claim}}))
            .collect();
        spec["containers"][0]["volumeMounts"] =
            volumes.map(|(i, (_, path))| json!({"name": name(i), "mountPath": path})).collect();
    }
    if let Value::Object(spec) = &mut spec {
        merge(spec, &task.pod_override);
        if let Some(patch) = parts.pod_override {
            merge(spec, patch);
        }
        // What the journal relies on is not for an override to change.
        spec.insert("restartPolicy".to_owned(), "Never".into());
    }
    let mut labels = parts.labels.clone();
    labels.extend(task.labels.clone());
    labels.insert("createdBy".to_owned(), "kanister".to_owned());
    labels.extend(parts.identity.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
    let mut annotations = parts.annotations.clone();
    annotations.extend(task.annotations.clone());
    let mut pod = json!({
        "metadata": {
            "name": parts.name, "namespace": parts.namespace, "labels": labels, "annotations": annotations,
        },
        "spec": spec,
    });
    if let Some(owner) = &parts.owner {
        pod["metadata"]["ownerReferences"] = json!([owner]);
    }
    serde_json::from_value(pod)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn overrides_are_merged_in_the_order_of_kanister() {
        let blueprint = json!({
            "containers": [{"name": "container", "imagePullPolicy": "Always", "env": [{"name": "A", "value": "bp"}]}],
            "nodeSelector": {"a": "1"}, "restartPolicy": "Always",
        });
        let action_set = json!({
            "containers": [
                {"name": "container", "env": [{"name": "A", "value": "as"}, {"name": "B", "value": "as"}]},
                {"name": "sidecar", "image": "s"},
            ],
            "nodeSelector": {"b": "2"}, "tolerations": [{"operator": "Exists"}],
        });
        let labels: BTreeMap<_, _> =
            [("x".to_owned(), "as".to_owned()), ("y".to_owned(), "as".to_owned())].into();
        let task = PodTask {
            image: "i".into(),
            command: vec!["c".into()],
            pod_override: blueprint.as_object().unwrap().clone(),
            labels: [("x".to_owned(), "bp".to_owned())].into(),
            ..PodTask::default()
        };
        let pod = build(
            &task,
            &PodParts {
                name: "n",
                namespace: "ns",
                identity: &[],
                pod_override: action_set.as_object(),
                labels: &labels,
                annotations: &BTreeMap::new(),
                volumes: vec![("claim".into(), "/data".into())],
                service_account: "",
                deadline_seconds: 60,
                owner: None,
            },
        )
        .unwrap();
        let spec = pod.spec.unwrap();
        let container = &spec.containers[0];
        assert_eq!(container.image_pull_policy.as_deref(), Some("Always"));
        let env: Vec<_> =
            container.env.iter().flatten().map(|e| (e.name.as_str(), e.value.as_deref().unwrap())).collect();
        assert_eq!(env, [("A", "as"), ("B", "as")]);
        assert_eq!((spec.containers.len(), spec.restart_policy.as_deref()), (2, Some("Never")));
        assert_eq!(spec.node_selector.unwrap().len(), 2);
        let labels = pod.metadata.labels.unwrap();
        assert_eq!((labels["x"].as_str(), labels["y"].as_str()), ("bp", "as"));
        assert_eq!(container.volume_mounts.as_ref().unwrap()[0].mount_path, "/data");
    }
}
