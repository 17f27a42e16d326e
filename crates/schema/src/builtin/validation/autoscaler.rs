//! Horizontal pod autoscalers in their second version; the first is checked as the second that it stands for.

use pilothouse_value::{Quantity, names};

use super::{At, Errors, NOT_NEGATIVE, resources};

pub(super) fn autoscaler(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let (low, high) = (spec.int("minReplicas"), spec.int("maxReplicas").unwrap_or_default());
    let path = spec.path.child("maxReplicas");
    if let Some(low) = low.filter(|low| *low < 0) {
        errors.invalid(&spec.path.child("minReplicas"), low, NOT_NEGATIVE);
    }
    if low.is_some_and(|low| high < low) {
        errors.invalid(&path, high, "must be greater than or equal to `minReplicas`");
    }
    let target = spec.child("scaleTargetRef");
    reference(&target, errors);
    let api_version = target.text("apiVersion");
    let path_of_version = target.path.child("apiVersion");
    if api_version.matches('/').count() > 1 {
        let detail = format!("unexpected GroupVersion string: {api_version}");
        errors.invalid(&path_of_version, api_version, detail);
    } else if !api_version.contains('/') && target.text("kind") != "ReplicationController" {
        // Only replication controllers are scaled without a group.
        errors.invalid(&path_of_version, api_version, "apiVersion must specify API group");
    }
    metrics(&spec, errors);
    let outside =
        spec.items("metrics").iter().any(|metric| matches!(metric.text("type"), "Object" | "External"));
    if low == Some(0) && !outside {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&spec.path.child("metrics"), detail);
    }
    behavior(&spec.child("behavior"), errors);
    if high < 0 {
        errors.invalid(&path, high, "must be greater than or equal to 1");
    }
    if high == 0 {
        errors.required(&path, "");
    }
}

fn reference(at: &At<'_>, errors: &mut Errors) {
    for field in ["kind", "name"] {
        let text = at.text(field);
        match text {
            "" => errors.required(&at.path.child(field), ""),
            _ => errors.complaints(&at.path.child(field), text, names::path_segment(text)),
        }
    }
}

/// The sources in the order in which upstream looks: the first one is checked.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

fn metrics(spec: &At<'_>, errors: &mut Errors) {
    for metric in spec.items("metrics") {
        let kind = metric.text("type");
        let path = metric.path.child("type");
        if kind.is_empty() {
            errors.required(&path, "must specify a metric source type");
        }
        if !SOURCES.iter().any(|(known, _)| *known == kind) {
            let known = ["ContainerResource", "External", "Object", "Pods", "Resource"];
            errors.unsupported(&path, kind, &known);
        }
        let present: Vec<&str> =
            SOURCES.iter().map(|(_, field)| *field).filter(|field| metric.find(field).is_some()).collect();
        if let Some(first) = present.first() {
            source(first, &metric.child(first), errors);
        }
        let expected = SOURCES.iter().find(|(known, _)| *known == kind).map(|(_, field)| *field);
        if let Some(expected) = expected.filter(|field| !present.contains(field)) {
            let detail = "must populate information for the given metric source";
            errors.required(&metric.path.child(expected), detail);
        }
        if present.len() > 1 {
            for field in present.iter().filter(|field| expected != Some(**field)) {
                errors.forbidden(&metric.path.child(field), "must populate the given metric source only");
            }
        }
    }
}

fn positive(at: &At<'_>, field: &str) -> Option<bool> {
    let text = at.find(field)?.value.as_str()?.to_owned();
    text.parse::<Quantity>().ok().map(|quantity| quantity.nano() > 0)
}

fn source(field: &str, at: &At<'_>, errors: &mut Errors) {
    let target = at.child("target");
    let set = |name: &str| target.find(name).is_some();
    let path = |name: &str| target.path.child(name);
    match field {
        "object" => {
            reference(&at.child("describedObject"), errors);
            identifier(&at.child("metric"), errors);
            self::target(&target, errors);
            if !set("value") && !set("averageValue") {
                errors.required(&path("averageValue"), "must set either a target value or averageValue");
            }
        }
        "external" => {
            identifier(&at.child("metric"), errors);
            self::target(&target, errors);
            match (set("value"), set("averageValue")) {
                (false, false) => {
                    let detail = "must set either a target value for metric or a per-pod target";
                    errors.required(&path("averageValue"), detail);
                }
                (true, true) => {
                    let detail = "may not set both a target value for metric and a per-pod target";
                    errors.forbidden(&path("value"), detail);
                }
                _ => {}
            }
        }
        "pods" => {
            identifier(&at.child("metric"), errors);
            self::target(&target, errors);
            if !set("averageValue") {
                errors.required(&path("averageValue"), "must specify a positive target averageValue");
            }
        }
        _ => {
            match at.text("name") {
                "" => errors.required(&at.path.child("name"), "must specify a resource name"),
                name if field == "containerResource" => {
                    resources::container_name(&at.path.child("name"), name, errors);
                }
                _ => {}
            }
            if field == "containerResource" {
                match at.text("container") {
                    "" => errors.required(&at.path.child("container"), "must specify a container"),
                    name => errors.complaints(&at.path.child("container"), name, names::dns1123_label(name)),
                }
            }
            self::target(&target, errors);
            match (set("averageUtilization"), set("averageValue")) {
                (false, false) => {
                    let detail = "must set either a target raw value or a target utilization";
                    errors.required(&path("averageUtilization"), detail);
                }
                (true, true) => {
                    let detail = "may not set both a target raw value and a target utilization";
                    errors.forbidden(&path("averageValue"), detail);
                }
                _ => {}
            }
        }
    }
}

fn identifier(at: &At<'_>, errors: &mut Errors) {
    let name = at.text("name");
    match name {
        "" => errors.required(&at.path.child("name"), "must specify a metric name"),
        _ => errors.complaints(&at.path.child("name"), name, names::path_segment(name)),
    }
}

fn target(at: &At<'_>, errors: &mut Errors) {
    let kind = at.text("type");
    if kind.is_empty() {
        errors.required(&at.path.child("type"), "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        errors.invalid(&at.path.child("type"), kind, "must be either Utilization, Value, or AverageValue");
    }
    let value = |field: &str, errors: &mut Errors| {
        if positive(at, field) == Some(false) {
            errors.invalid(&at.path.child(field), at.text(field), "must be positive");
        }
    };
    value("value", errors);
    value("averageValue", errors);
    if let Some(percent) = at.int("averageUtilization").filter(|percent| *percent < 1) {
        errors.invalid(&at.path.child("averageUtilization"), percent, "must be greater than 0");
    }
}

fn behavior(at: &At<'_>, errors: &mut Errors) {
    for direction in ["scaleUp", "scaleDown"] {
        let Some(rules) = at.find(direction) else { continue };
        let path = rules.path.child("stabilizationWindowSeconds");
        match rules.int("stabilizationWindowSeconds") {
            Some(seconds) if seconds < 0 => {
                errors.invalid(&path, seconds, "must be greater than or equal to zero");
            }
            Some(seconds) if seconds > 3600 => {
                errors.invalid(&path, seconds, "must be less than or equal to 3600");
            }
            _ => {}
        }
        errors.one_of(&rules, "selectPolicy", &["Disabled", "Max", "Min"], false);
        let policies = rules.items("policies");
        if policies.is_empty() {
            errors.required(&rules.path.child("policies"), "must specify at least one Policy");
        }
        for policy in policies {
            errors.one_of_all(&policy, "type", &["Percent", "Pods"]);
            for field in ["value", "periodSeconds"] {
                let number = policy.int(field).unwrap_or_default();
                if number <= 0 {
                    errors.invalid(&policy.path.child(field), number, "must be greater than zero");
                }
            }
            if let Some(seconds) = policy.int("periodSeconds").filter(|seconds| *seconds > 1800) {
                errors.invalid(
                    &policy.path.child("periodSeconds"),
                    seconds,
                    "must be less than or equal to 1800",
                );
            }
        }
        if let Some(tolerance) = rules.find("tolerance") {
            let negative = tolerance
                .value
                .as_str()
                .and_then(|text| text.parse::<Quantity>().ok())
                .is_some_and(|q| q.nano() < 0);
            if negative {
                errors.invalid(&tolerance.path, tolerance.value.clone(), NOT_NEGATIVE);
            }
        }
    }
}
