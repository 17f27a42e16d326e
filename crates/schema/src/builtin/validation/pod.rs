//! Pods and their templates.

use pilothouse_value::field::Error;
use pilothouse_value::{Value, names};

use super::{At, Errors, NOT_NEGATIVE, containers, labels, volumes};

const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
                         (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                         it was previously negative)";
const DEADLINE: &str = "must be between 1 and 2147483647, inclusive";

pub(super) fn pod(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    pod_spec(&spec, errors);
    match old {
        None => {
            if !spec.items("ephemeralContainers").is_empty() {
                errors.forbidden(&spec.path.child("ephemeralContainers"), "cannot be set on create");
            }
        }
        Some(old) => update(&spec, old.get("spec").unwrap_or(&Value::Null), errors),
    }
}

pub(super) fn template(at: &At<'_>, errors: &mut Errors) {
    let metadata = at.child("metadata");
    // Upstream leaves `metadata` out of these paths.
    labels(&At { value: metadata.value, path: at.path.clone() }, "labels", errors);
    let spec = at.child("spec");
    pod_spec(&spec, errors);
    if !spec.items("ephemeralContainers").is_empty() {
        errors.forbidden(
            &spec.path.child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

fn pod_spec(spec: &At<'_>, errors: &mut Errors) {
    if spec.find("terminationGracePeriodSeconds").is_none() {
        errors.required(&spec.path.child("terminationGracePeriodSeconds"), "");
    }
    volumes::volumes(spec, errors);
    containers::all(spec, errors);
    errors.one_of(spec, "restartPolicy", &["Always", "OnFailure", "Never"], true);
    errors.one_of(spec, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], true);
    labels(spec, "nodeSelector", errors);
    if let Some(context) = spec.find("securityContext") {
        for field in ["fsGroup", "runAsUser", "runAsGroup"] {
            containers::user_id(&context, field, errors);
        }
    }
    for (field, rule) in [
        ("serviceAccountName", names::dns1123_subdomain as fn(&str) -> Vec<String>),
        ("nodeName", names::dns1123_subdomain),
        ("hostname", names::dns1123_label),
        ("subdomain", names::dns1123_label),
        ("priorityClassName", names::dns1123_subdomain),
        ("runtimeClassName", names::dns1123_subdomain),
    ] {
        let name = spec.text(field);
        if !name.is_empty() {
            errors.complaints(&spec.path.child(field), name, rule(name));
        }
    }
    if let Some(seconds) =
        spec.int("activeDeadlineSeconds").filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds))
    {
        errors.invalid(&spec.path.child("activeDeadlineSeconds"), seconds, DEADLINE);
    }
    for toleration in spec.items("tolerations") {
        self::toleration(&toleration, errors);
    }
}

fn toleration(at: &At<'_>, errors: &mut Errors) {
    let (key, operator, effect) = (at.text("key"), at.text("operator"), at.text("effect"));
    if !key.is_empty() {
        errors.complaints(&at.path.child("key"), key, names::qualified_name(key));
    } else if operator != "Exists" {
        let detail =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(&at.path.child("operator"), operator, detail);
    }
    if at.int("tolerationSeconds").is_some() && effect != "NoExecute" {
        errors.invalid(
            &at.path.child("effect"),
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        );
    }
    match operator {
        "Equal" | "" => {
            let value = at.text("value");
            errors.complaints(&at.path.child("operator"), value, names::label_value(value));
        }
        "Exists" => {
            if !at.text("value").is_empty() {
                errors.invalid(
                    &at.path.child("operator"),
                    at.text("value"),
                    "value must be empty when `operator` is 'Exists'",
                );
            }
        }
        operator => errors.unsupported(&at.path.child("operator"), operator, &["Equal", "Exists"]),
    }
    errors.one_of(at, "effect", &["NoSchedule", "PreferNoSchedule", "NoExecute"], false);
}

/// A pod is what it was, but for images, deadlines, tolerations and gates.
fn update(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    for list in ["containers", "initContainers"] {
        if spec.items(list).len() != old.items_at(&[list]).len() {
            errors.forbidden(&spec.path.child(list), "pod updates may not add or remove containers");
            return;
        }
    }
    let deadline = spec.path.child("activeDeadlineSeconds");
    match (spec.int("activeDeadlineSeconds"), old.i64_at(&["activeDeadlineSeconds"])) {
        (Some(new), _) if new < 0 => errors.invalid(&deadline, new, NOT_NEGATIVE),
        (Some(new), Some(old)) if new > old => {
            errors.invalid(&deadline, new, "must be less than or equal to previous value");
            return;
        }
        (None, Some(_)) => {
            errors.invalid(&deadline, Value::Null, "must not update from a positive integer to nil value")
        }
        _ => {}
    }
    tolerations_only_added(spec, old, errors);
    let gates = old.items_at(&["schedulingGates"]);
    for gate in spec.items("schedulingGates").iter().filter(|gate| !gates.contains(gate.value)) {
        let detail = "only deletion is allowed, but found new scheduling gate";
        errors.forbidden(&gate.path, format!("{detail} '{}'", gate.text("name")));
    }
    if munged(spec.value, old) != *old {
        // Upstream shows the difference of Go structs here; the paths of what differs say as much.
        let changed = differences(&munged(spec.value, old), old);
        errors.forbidden(
            &spec.path,
            format!("pod updates may not change fields other than {UPDATABLE}\n{changed}"),
        );
    }
}

/// The new spec with everything that may change put back.
fn munged(new: &Value, old: &Value) -> Value {
    let mut spec = new.clone();
    for list in ["containers", "initContainers"] {
        let images: Vec<Value> =
            old.items_at(&[list]).iter().map(|c| c.get("image").cloned().unwrap_or_default()).collect();
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for (container, image) in containers.into_iter().flatten().zip(images) {
            container.set(&["image"], image);
        }
    }
    let mut back = |field: &str| match old.get(field) {
        Some(value) => spec.set(&[field], value.clone()),
        None => {
            spec.take(&[field]);
        }
    };
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations", "ephemeralContainers"] {
        back(field);
    }
    let grace = |spec: &Value| spec.i64_at(&["terminationGracePeriodSeconds"]);
    if grace(old).is_some_and(|grace| grace < 0) && grace(new) == Some(1) {
        back("terminationGracePeriodSeconds");
    }
    // A gated pod may still be steered to a node.
    if !old.items_at(&["schedulingGates"]).is_empty() {
        back("nodeSelector");
        back("affinity");
    }
    spec
}

fn differences(new: &Value, old: &Value) -> String {
    let keys = |spec: &Value| {
        spec.as_object()
            .into_iter()
            .flat_map(|map| map.keys().map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let mut keys: Vec<String> = keys(new).into_iter().chain(keys(old)).collect();
    keys.sort();
    keys.dedup();
    let changed =
        keys.iter().filter(|key| new.get(key) != old.get(key)).map(|key| format!("  spec.{key} differs\n"));
    changed.collect()
}

fn tolerations_only_added(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    let without_seconds = |toleration: &Value| {
        let mut toleration = toleration.clone();
        toleration.take(&["tolerationSeconds"]);
        toleration
    };
    let new: Vec<Value> = spec.items("tolerations").iter().map(|t| without_seconds(t.value)).collect();
    let kept =
        old.items_at(&["tolerations"]).iter().all(|toleration| new.contains(&without_seconds(toleration)));
    if !kept {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.0.push(Error::forbidden(&spec.path.child("tolerations"), detail));
    }
}
