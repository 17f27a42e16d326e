//! Deployments, replica sets, daemon sets, stateful sets.

use std::collections::BTreeSet;

use pilothouse_value::field::Error;
use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Map, Value, json, names};

use super::super::go;
use super::{At, Errors, SELECTOR_MISMATCH, at_most_all, int_or_percent, label_selector, pod};

/// The selector and the template it must match; `noun` names the kind in the texts. Whether the template was looked at: with a
/// selector that cannot be read it is not.
fn selector_and_template(spec: &At<'_>, noun: &str, errors: &mut Errors) -> bool {
    let selector = spec.child("selector");
    let before = errors.0.len();
    if selector.value.is_null() {
        errors.required(&selector.path, "");
    } else {
        label_selector(&selector, errors);
        if is_empty_selector(selector.value) {
            errors.invalid(
                &selector.path,
                selector.value.clone(),
                format!("empty selector is invalid for {noun}"),
            );
        }
    }
    let unreadable = if noun == "statefulset" { "" } else { "invalid label selector" };
    let template = spec.child("template");
    match LabelSelector::from_object(selector.value) {
        Err(_) => {
            errors.shown(&selector.path, "v1.LabelSelector", selector.value, unreadable);
            return false;
        }
        // Without a selector nothing matches; an empty one was told above.
        Ok(parsed) if errors.0.len() == before || selector.value.is_null() => {
            if selector.value.is_null() || !parsed.matches(template_labels(&template)) {
                mismatch(&template, errors);
            }
        }
        Ok(_) => {}
    }
    pod::template(&template, errors);
    true
}

fn is_empty_selector(selector: &Value) -> bool {
    let is_empty = |field| match selector.get(field) {
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

fn template_labels<'v>(template: &At<'v>) -> Option<&'v Map> {
    template.value.at(&["metadata", "labels"]).and_then(Value::as_object)
}

pub(super) fn mismatch(template: &At<'_>, errors: &mut Errors) {
    let labels = template.child("metadata").child("labels");
    errors.invalid(&labels.path, labels.value.clone(), SELECTOR_MISMATCH);
}

/// Pods of sets are restarted for ever.
fn always_restarted(spec: &At<'_>, noun: &str, errors: &mut Errors) {
    let pod = spec.child("template").child("spec");
    if pod.text("restartPolicy") != "Always" {
        errors.unsupported(&pod.path.child("restartPolicy"), pod.text("restartPolicy"), &["Always"]);
    }
    if pod.find("activeDeadlineSeconds").is_some() {
        let detail = format!("activeDeadlineSeconds in {noun} is not Supported");
        errors.forbidden(&pod.path.child("activeDeadlineSeconds"), detail);
    }
}

fn selector_unchanged(spec: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        errors.immutable(spec, old, "selector");
    }
}

pub(super) fn deployment(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    errors.not_negative(&spec, &["replicas"]);
    if selector_and_template(&spec, "deployment", errors) {
        always_restarted(&spec, "ReplicaSet", errors);
    }
    let strategy = spec.child("strategy");
    let rolling = strategy.child("rollingUpdate");
    match strategy.text("type") {
        "Recreate" if !rolling.value.is_null() => {
            errors.forbidden(&rolling.path, "may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" => rolling_update(&rolling, errors),
        _ => errors.unsupported_struct(&strategy, "apps.DeploymentStrategy", &["Recreate", "RollingUpdate"]),
    }
    errors.not_negative(&spec, &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]);
    let (ready, deadline) =
        (spec.int("minReadySeconds").unwrap_or_default(), spec.int("progressDeadlineSeconds"));
    if let Some(deadline) = deadline.filter(|deadline| *deadline <= ready) {
        let path = spec.path.child("progressDeadlineSeconds");
        errors.invalid(&path, deadline, "must be greater than minReadySeconds");
    }
    selector_unchanged(&spec, old, errors);
}

/// Whether a number or a percentage is nothing; what is neither counts as nothing, too.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number == 0,
        Value::String(text) => {
            text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok()).unwrap_or_default() == 0
        }
        _ => true,
    }
}

fn rolling_update(rolling: &At<'_>, errors: &mut Errors) {
    let (surge, unavailable) = (rolling.child("maxSurge"), rolling.child("maxUnavailable"));
    int_or_percent(&unavailable, errors);
    int_or_percent(&surge, errors);
    if is_zero(unavailable.value) && is_zero(surge.value) {
        errors.invalid(&unavailable.path, unavailable.value.clone(), "may not be 0 when `maxSurge` is 0");
    }
    at_most_all(&unavailable, errors);
}

pub(super) fn replica_set(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    errors.not_negative(&spec, &["replicas", "minReadySeconds"]);
    if selector_and_template(&spec, "deployment", errors) {
        always_restarted(&spec, "ReplicaSet", errors);
    }
    selector_unchanged(&spec, old, errors);
}

pub(super) fn replication_controller(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    errors.not_negative(&spec, &["replicas", "minReadySeconds"]);
    if spec.map("selector").next().is_none() {
        errors.required(&spec.path.child("selector"), "");
    }
    let Some(template) = spec.find("template") else {
        errors.required(&spec.path.child("template"), "");
        return;
    };
    let labels = template_labels(&template);
    if spec.map("selector").any(|(key, value)| labels.and_then(|labels| labels.get(key)) != Some(value)) {
        mismatch(&template, errors);
    }
    pod::template(&template, errors);
    always_restarted(&spec, "ReplicationController", errors);
}

pub(super) fn daemon_set(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    selector_unchanged(&spec, old, errors);
    let (selector, template) = (spec.child("selector"), spec.child("template"));
    if !selector.value.is_null() {
        label_selector(&selector, errors);
    }
    // Nothing is matched by no selector, everything by an empty one.
    let parsed = LabelSelector::from_object(selector.value);
    if selector.value.is_null() || parsed.is_ok_and(|parsed| !parsed.matches(template_labels(&template))) {
        mismatch(&template, errors);
    }
    if !selector.value.is_null() && is_empty_selector(selector.value) {
        errors.invalid(&selector.path, selector.value.clone(), "empty selector is invalid for daemonset");
    }
    pod::template(&template, errors);
    always_restarted(&spec, "DaemonSet", errors);
    errors.not_negative(&spec, &["minReadySeconds"]);
    let strategy = spec.child("updateStrategy");
    match strategy.text("type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = strategy.child("rollingUpdate");
            let (surge, unavailable) = (rolling.child("maxSurge"), rolling.child("maxUnavailable"));
            int_or_percent(&unavailable, errors);
            int_or_percent(&surge, errors);
            at_most_all(&unavailable, errors);
            at_most_all(&surge, errors);
            match (is_zero(unavailable.value), is_zero(surge.value)) {
                (true, true) => errors.required(&unavailable.path, "cannot be 0 when maxSurge is 0"),
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.invalid(&surge.path, surge.value.clone(), detail);
                }
                _ => {}
            }
        }
        _ => errors.unsupported_struct(
            &strategy,
            "apps.DaemonSetUpdateStrategy",
            &["RollingUpdate", "OnDelete"],
        ),
    }
    errors.not_negative(&spec, &["revisionHistoryLimit"]);
}

/// The set's pods have a volume for each claim template, so their template may mount it (`volumesToAddForTemplates`).
fn with_claim_volumes(spec: &Value) -> Value {
    let mut filled = spec.clone();
    let (mut claims, mut known): (Vec<&str>, BTreeSet<&str>) = Default::default();
    for claim in spec.items_at(&["volumeClaimTemplates"]) {
        let name = claim.str_at(&["metadata", "name"]).unwrap_or_default();
        if known.insert(name) {
            claims.push(name);
        }
    }
    let of_claim = |name: &&str| json!({"name": *name, "persistentVolumeClaim": {"claimName": *name}});
    let mut volumes: Vec<Value> = claims.iter().map(of_claim).collect();
    let own = spec.items_at(&["template", "spec", "volumes"]).iter();
    let own = own.filter(|volume| !known.contains(volume.str_at(&["name"]).unwrap_or_default()));
    volumes.extend(own.cloned());
    if !claims.is_empty() {
        filled.set(&["template", "spec", "volumes"], volumes);
    }
    filled
}

pub(super) fn controller_revision(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    errors.not_negative(at, &["revision"]);
    match old {
        None if at.child("data").value.is_null() => {
            errors.required(&at.path.child("data"), "data is mandatory");
        }
        None if at.child("data").value.as_object().is_none() => {
            errors.required(&at.path.child("data"), "data must be a valid JSON object");
        }
        None => {}
        Some(old) => errors.immutable(at, old, "data"),
    }
}

pub(super) fn stateful_set(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    match spec.text("podManagementPolicy") {
        "OrderedReady" | "Parallel" => {}
        "" => errors.required(&spec.path.child("podManagementPolicy"), ""),
        policy => {
            let path = spec.path.child("podManagementPolicy");
            errors.invalid(&path, policy, "must be 'OrderedReady' or 'Parallel'");
        }
    }
    let strategy = spec.child("updateStrategy");
    let rolling = strategy.child("rollingUpdate");
    match strategy.text("type") {
        "" => errors.required(&strategy.path, ""),
        "OnDelete" => {
            if !rolling.value.is_null() {
                let detail = "only allowed for updateStrategy 'RollingUpdate'";
                errors.shown(&rolling.path, "apps.RollingUpdateStatefulSetStrategy", rolling.value, detail);
            }
        }
        "RollingUpdate" => {
            errors.not_negative(&rolling, &["partition"]);
            if let Some(unavailable) = rolling.find("maxUnavailable") {
                int_or_percent(&unavailable, errors);
                if is_zero(unavailable.value) {
                    errors.invalid(&unavailable.path, unavailable.value.clone(), "cannot be 0");
                }
                at_most_all(&unavailable, errors);
            }
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.shown(&strategy.path, "apps.StatefulSetUpdateStrategy", strategy.value, detail);
        }
    }
    let policy = spec.child("persistentVolumeClaimRetentionPolicy");
    if !policy.value.is_null() {
        for field in ["whenDeleted", "whenScaled"] {
            errors.one_of_all(&policy, field, &["Retain", "Delete"]);
        }
    }
    errors.not_negative(&spec, &["replicas", "minReadySeconds"]);
    if let Some(start) = spec.child("ordinals").int("start").filter(|start| *start < 0) {
        errors.invalid(&spec.path.child("ordinals.start"), start, super::NOT_NEGATIVE);
    }
    let service = spec.text("serviceName");
    if !service.is_empty() {
        errors.complaints(&spec.path.child("serviceName"), service, names::dns1123_label(service));
    }
    if old.is_none() {
        for claim in spec.items("volumeClaimTemplates") {
            super::storage::claim_spec(&claim.child("spec"), None, errors);
        }
    }
    let filled = with_claim_volumes(spec.value);
    selector_and_template(&At { value: &filled, path: spec.path.clone() }, "statefulset", errors);
    always_restarted(&spec, "StatefulSet", errors);
    let Some(old) = old.and_then(|old| old.get("spec")) else { return };
    errors.immutable(&spec, old, "selector");
    let claims = |value: &Value| -> Vec<Value> {
        // What the server says of every claim is no part of a template.
        let plain = |claim: &Value| {
            let mut claim = claim.clone();
            claim.take(&["kind"]);
            claim.take(&["apiVersion"]);
            claim
        };
        value.items_at(&["volumeClaimTemplates"]).iter().map(plain).collect()
    };
    let (now, before) = (claims(spec.value), claims(old));
    if now != before {
        let path = spec.path.child("volumeClaimTemplates");
        let shown = claims(&json!({"volumeClaimTemplates": errors.as_given(&path).cloned()}));
        let shown = match (shown.is_empty(), now.is_empty()) {
            (false, _) => Value::Array(shown.into()),
            (true, false) => Value::Array(now.into()),
            (true, true) => errors.as_given(&path).cloned().unwrap_or_default(),
        };
        let error = Error::invalid(&path, Value::Null, super::IMMUTABLE);
        errors.0.push(error.showing(go::show_form("[]@core.PersistentVolumeClaim", &shown)));
    }
    for field in ["serviceName", "podManagementPolicy"] {
        errors.immutable(&spec, old, field);
    }
}
