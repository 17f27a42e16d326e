//! The two versions of horizontal pod autoscalers. The first has fields for one target only, the use of the processor; the
//! rest of what the second says stands in annotations of its own (upstream: pkg/apis/autoscaling/v1/conversion.go).

use pilothouse_value::{Gvk, Map, Quantity, Value, json, object, parse};

use super::go;

const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";
/// The annotations that carry what the first version has no fields for.
const CARRIED: [&str; 6] =
    ["metrics", "behavior", "conditions", "current-metrics", "scale-down-tolerance", "scale-up-tolerance"];
/// The share of its request at which a processor is kept, in percent, if nothing else is asked for.
const DEFAULT_UTILIZATION: i64 = 80;

/// Whether this is the kind's first version.
pub(super) fn is_first(gvk: &Gvk) -> bool {
    gvk.group == "autoscaling" && gvk.version == "v1" && gvk.kind == "HorizontalPodAutoscaler"
}

/// The second version, in which autoscalers are stored and checked.
pub(super) fn second() -> Gvk {
    Gvk::new("autoscaling", "v2", "HorizontalPodAutoscaler")
}

/// Takes the annotations away that only the first version has.
pub(super) fn drop_carried(autoscaler: &mut Value) {
    let Some(annotations) = autoscaler.at_mut(&["metadata", "annotations"]).and_then(Value::as_object_mut)
    else {
        return;
    };
    let before = annotations.len();
    annotations.retain(|key, _| key.strip_prefix(PREFIX).is_none_or(|rest| !CARRIED.contains(&rest)));
    if annotations.is_empty() && before > 0 {
        autoscaler.take(&["metadata", "annotations"]);
    }
}

/// An autoscaler of either version in the version of `api_version`.
pub fn convert_autoscaler(autoscaler: &Value, api_version: &str) -> Value {
    match (object::api_version(autoscaler), api_version) {
        ("autoscaling/v1", "autoscaling/v2") => to_second(autoscaler),
        ("autoscaling/v2", "autoscaling/v1") => to_first(autoscaler),
        _ => autoscaler.clone(),
    }
}

fn carried(autoscaler: &Value, key: &str) -> Option<Value> {
    let key = format!("{PREFIX}{key}");
    let text = object::annotation(autoscaler, &key)?;
    parse::json(text.as_bytes()).ok().map(|parsed| parsed.value)
}

fn list_of_objects(value: Option<Value>) -> Option<Vec<Value>> {
    match value? {
        Value::Array(items) if items.iter().all(|item| item.as_object().is_some()) => Some(items.into_vec()),
        Value::Null => Some(Vec::new()),
        _ => None,
    }
}

/// Whether the members of a metric are of the types that Go's struct has.
fn fits(metric: &Value) -> bool {
    let member = |(key, value): (&str, &Value)| match key {
        _ if value.is_null() => true,
        "target" | "selector" | "metricSelector" => value.as_object().is_some(),
        "targetAverageUtilization" | "currentAverageUtilization" => value.as_i64().is_some(),
        _ if key.ends_with("Value") => match value {
            Value::String(text) => text.parse::<Quantity>().is_ok(),
            other => other.as_f64().is_some(),
        },
        _ => value.as_str().is_some(),
    };
    let source = |(_, source): (&str, &Value)| match source {
        Value::Object(members) => members.iter().all(member),
        other => other.as_str().is_some() || other.is_null(),
    };
    metric.as_object().is_some_and(|sources| sources.iter().all(source))
}

/// The first version as the second.
fn to_second(first: &Value) -> Value {
    let mut second = first.clone();
    second.set(&["apiVersion"], "autoscaling/v2");
    let target = second.take(&["spec", "targetCPUUtilizationPercentage"]).and_then(|value| value.as_i64());
    let others =
        list_of_objects(carried(first, "metrics")).filter(|all| all.iter().all(fits)).unwrap_or_default();
    let mut metrics: Vec<Value> = others.iter().map(metric_to_second).collect();
    metrics.extend(target.map(processor));
    if metrics.is_empty() {
        metrics.push(processor(DEFAULT_UTILIZATION));
    }
    second.set(&["spec", "metrics"], metrics);
    let rules = carried(first, "behavior").and_then(|behavior| behavior_to_second(&behavior));
    if let Some(behavior) = rules {
        second.set(&["spec", "behavior"], behavior);
    }
    let used = second.take(&["status", "currentCPUUtilizationPercentage"]).and_then(|value| value.as_i64());
    let statuses = list_of_objects(carried(first, "current-metrics"))
        .filter(|all| all.iter().all(fits))
        .map(|statuses| statuses.iter().map(status_to_second).collect::<Vec<_>>());
    let own = |used: i64| {
        let current = json!({"averageUtilization": used});
        vec![json!({"type": "Resource", "resource": {"name": "cpu", "current": current}})]
    };
    match statuses.or(used.map(own)) {
        Some(statuses) if !statuses.is_empty() => second.set(&["status", "currentMetrics"], statuses),
        _ => second.set(&["status", "currentMetrics"], Value::Null),
    }
    if let Some(conditions) = list_of_objects(carried(first, "conditions")) {
        let filled = |mut condition: Value| {
            for key in ["status", "type"] {
                if condition.get(key).is_none() {
                    condition.set(&[key], "");
                }
            }
            if condition.get("lastTransitionTime").is_none() {
                condition.set(&["lastTransitionTime"], Value::Null);
            }
            condition
        };
        second.set(&["status", "conditions"], conditions.into_iter().map(filled).collect::<Vec<_>>());
    }
    if second.i64_at(&["status", "currentReplicas"]) == Some(0) {
        second.take(&["status", "currentReplicas"]);
    }
    if second.at(&["status", "desiredReplicas"]).is_none() {
        second.set(&["status", "desiredReplicas"], 0);
    }
    drop_carried(&mut second);
    second
}

fn processor(percent: i64) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

/// A struct of Go without what is not set.
fn fields<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Value {
    let set = pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(set.collect::<Map>())
}

fn get(value: &Value, key: &str) -> Option<Value> {
    value.get(key).filter(|value| !value.is_null()).cloned()
}

fn text(value: &Value, key: &str) -> Option<Value> {
    Some(value.get(key).cloned().unwrap_or_else(|| "".into()))
}

/// What an autoscaler looks at, and which fields say so: the name of the source, and of the values in both versions.
fn metric_to_second(metric: &Value) -> Value {
    let object = metric.get("object").map(|source| {
        let (value, average) = (get(source, "targetValue"), get(source, "averageValue"));
        let is_zero = value.as_ref().and_then(Value::as_str).is_none_or(|text| text == "0");
        let target = match &average {
            None => fields([("type", Some("Value".into())), ("value", value.or_else(|| Some("0".into())))]),
            Some(_) => fields([
                ("type", Some("AverageValue".into())),
                ("value", value.filter(|_| !is_zero)),
                ("averageValue", average),
            ]),
        };
        fields([
            ("describedObject", Some(reference(source.get("target")))),
            ("metric", Some(identifier(source, "selector"))),
            ("target", Some(target)),
        ])
    });
    let pods = metric.get("pods").map(|source| {
        let average = get(source, "targetAverageValue").or_else(|| Some("0".into()));
        let target = fields([("type", Some("AverageValue".into())), ("averageValue", average)]);
        fields([("metric", Some(identifier(source, "selector"))), ("target", Some(target))])
    });
    let usage = |source: &Value| {
        let (percent, average) = (get(source, "targetAverageUtilization"), get(source, "targetAverageValue"));
        let kind = if percent.is_some() { "Utilization" } else { "AverageValue" };
        let target =
            fields([("type", Some(kind.into())), ("averageUtilization", percent), ("averageValue", average)]);
        fields([
            ("name", text(source, "name")),
            ("container", get(source, "container")),
            ("target", Some(target)),
        ])
    };
    let external = metric.get("external").map(|source| {
        let (value, average) = (get(source, "targetValue"), get(source, "targetAverageValue"));
        let kind = if value.is_some() { "Value" } else { "AverageValue" };
        let target = fields([("type", Some(kind.into())), ("value", value), ("averageValue", average)]);
        fields([("metric", Some(identifier(source, "metricSelector"))), ("target", Some(target))])
    });
    fields([
        ("type", text(metric, "type")),
        ("object", object),
        ("pods", pods),
        ("resource", metric.get("resource").map(usage)),
        ("containerResource", metric.get("containerResource").map(usage)),
        ("external", external),
    ])
}

fn status_to_second(metric: &Value) -> Value {
    let zero = |value: Option<Value>| value.or_else(|| Some("0".into()));
    let object = metric.get("object").map(|source| {
        let current = value_and_average(source, "averageValue");
        fields([
            ("describedObject", Some(reference(source.get("target")))),
            ("metric", Some(identifier(source, "selector"))),
            ("current", Some(current)),
        ])
    });
    let pods = metric.get("pods").map(|source| {
        let current = fields([("averageValue", zero(get(source, "currentAverageValue")))]);
        fields([("metric", Some(identifier(source, "selector"))), ("current", Some(current))])
    });
    let usage = |source: &Value| {
        let current = fields([
            ("averageUtilization", get(source, "currentAverageUtilization")),
            ("averageValue", zero(get(source, "currentAverageValue"))),
        ]);
        fields([
            ("name", text(source, "name")),
            ("container", get(source, "container")),
            ("current", Some(current)),
        ])
    };
    let external = metric.get("external").map(|source| {
        let current = value_and_average(source, "currentAverageValue");
        fields([("metric", Some(identifier(source, "metricSelector"))), ("current", Some(current))])
    });
    fields([
        ("type", text(metric, "type")),
        ("object", object),
        ("pods", pods),
        ("resource", metric.get("resource").map(usage)),
        ("containerResource", metric.get("containerResource").map(usage)),
        ("external", external),
    ])
}

/// The first version always has a value.
fn value_and_average(source: &Value, average: &str) -> Value {
    let value = get(source, "currentValue").unwrap_or_else(|| "0".into());
    fields([("value", Some(value)), ("averageValue", get(source, average))])
}

fn identifier(source: &Value, selector: &str) -> Value {
    fields([("name", text(source, "metricName")), ("selector", get(source, selector))])
}

fn reference(target: Option<&Value>) -> Value {
    let target = target.unwrap_or(&Value::Null);
    fields([
        ("kind", text(target, "kind")),
        ("name", text(target, "name")),
        ("apiVersion", get(target, "apiVersion")),
    ])
}

/// The rules of scaling stand in their annotation as Go's own struct, whose names begin with capitals; Go reads them in any
/// case. `None` if they are no such struct, or an empty one.
fn behavior_to_second(behavior: &Value) -> Option<Value> {
    let lowered = lower(behavior, 0)?;
    let fits = lowered.as_object()?.iter().all(|(key, rules)| {
        matches!(key, "scaleUp" | "scaleDown") && (rules.as_object().is_some() || rules.is_null())
    });
    let set = fields([("scaleUp", get(&lowered, "scaleUp")), ("scaleDown", get(&lowered, "scaleDown"))]);
    (fits && set.as_object().is_some_and(|map| !map.is_empty())).then_some(set)
}

const NAMES: [&str; 9] = [
    "scaleUp",
    "scaleDown",
    "stabilizationWindowSeconds",
    "selectPolicy",
    "policies",
    "tolerance",
    "type",
    "value",
    "periodSeconds",
];

/// The document with the names of the second version; members of other names and nulls go. `None` below any sane depth.
fn lower(value: &Value, depth: usize) -> Option<Value> {
    if depth > 8 {
        return None;
    }
    Some(match value {
        Value::Object(map) => {
            let mut lowered = Map::new();
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                if let Some(name) = NAMES.iter().find(|name| name.eq_ignore_ascii_case(key)) {
                    lowered.insert(*name, lower(value, depth + 1)?);
                }
            }
            Value::Object(lowered)
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| lower(item, depth + 1)).collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

fn is_processor(metric: &Value) -> bool {
    metric.str_at(&["type"]) == Some("Resource") && metric.str_at(&["resource", "name"]) == Some("cpu")
}

/// The second version as the first.
fn to_first(second: &Value) -> Value {
    let mut first = second.clone();
    first.set(&["apiVersion"], "autoscaling/v1");
    drop_carried(&mut first);
    for path in
        [["spec", "metrics"], ["spec", "behavior"], ["status", "currentMetrics"], ["status", "conditions"]]
    {
        first.take(&path);
    }
    let percent = |metric: &Value| metric.i64_at(&["resource", "target", "averageUtilization"]);
    let metrics = second.items_at(&["spec", "metrics"]);
    let (own, others): (Vec<&Value>, Vec<&Value>) =
        metrics.iter().partition(|metric| is_processor(metric) && percent(metric).is_some());
    if let Some(percent) = own.first().copied().and_then(percent) {
        first.set(&["spec", "targetCPUUtilizationPercentage"], percent);
    }
    let mut carry = |key: &str, text: String| {
        first.set(&["metadata", "annotations", &format!("{PREFIX}{key}")], text);
    };
    if !others.is_empty() {
        let metrics =
            Value::Array(others.into_iter().map(|metric| metric_to_first(metric, "target")).collect());
        carry("metrics", go::show_form("[]@v1.MetricSpec", &metrics));
    }
    let statuses = second.items_at(&["status", "currentMetrics"]);
    if !statuses.is_empty() {
        let shown = Value::Array(statuses.iter().map(|metric| metric_to_first(metric, "current")).collect());
        carry("current-metrics", go::show_form("[]@v1.MetricStatus", &shown));
    }
    if let Some(behavior) = second.at(&["spec", "behavior"]).filter(|behavior| !behavior.is_null()) {
        carry("behavior", go::show("autoscaling.HorizontalPodAutoscalerBehavior", behavior));
    }
    let conditions = second.items_at(&["status", "conditions"]);
    if !conditions.is_empty() {
        let shown = Value::Array(conditions.to_vec().into());
        carry("conditions", go::show_form("[]@v1.HorizontalPodAutoscalerCondition", &shown));
    }
    let used = statuses.iter().rfind(|status| {
        is_processor(status) && status.at(&["resource", "current", "averageUtilization"]).is_some()
    });
    if let Some(used) = used.and_then(|status| status.at(&["resource", "current", "averageUtilization"])) {
        first.set(&["status", "currentCPUUtilizationPercentage"], used.clone());
    }
    for field in ["currentReplicas", "desiredReplicas"] {
        if first.at(&["status", field]).is_none() {
            first.set(&["status", field], 0);
        }
    }
    first
}

/// A metric of the second version in the first. `of` is which of its values are told, `target` or `current`; of the latter
/// the first version leaves fewer out.
fn metric_to_first(metric: &Value, of: &str) -> Value {
    let told = |source: &Value, key: &str| source.at(&[of, key]).filter(|v| !v.is_null()).cloned();
    let zero = |value: Option<Value>| value.or_else(|| Some("0".into()));
    let zero_if_current = |value: Option<Value>| if of == "current" { zero(value) } else { value };
    let (value, average) = (format!("{of}Value"), format!("{of}AverageValue"));
    let utilization = format!("{of}AverageUtilization");
    let object = metric.get("object").map(|source| {
        fields([
            ("target", Some(reference(source.get("describedObject")))),
            ("metricName", source.at(&["metric", "name"]).cloned()),
            (&value, zero(told(source, "value"))),
            ("selector", source.at(&["metric", "selector"]).cloned()),
            ("averageValue", told(source, "averageValue")),
        ])
    });
    let pods = metric.get("pods").map(|source| {
        fields([
            ("metricName", source.at(&["metric", "name"]).cloned()),
            (&average, zero(told(source, "averageValue"))),
            ("selector", source.at(&["metric", "selector"]).cloned()),
        ])
    });
    let usage = |source: &Value| {
        fields([
            ("name", text(source, "name")),
            ("container", get(source, "container")),
            (&utilization, told(source, "averageUtilization")),
            (&average, zero_if_current(told(source, "averageValue"))),
        ])
    };
    let external = metric.get("external").map(|source| {
        fields([
            ("metricName", source.at(&["metric", "name"]).cloned()),
            ("metricSelector", source.at(&["metric", "selector"]).cloned()),
            (&value, zero_if_current(told(source, "value"))),
            (&average, told(source, "averageValue")),
        ])
    });
    fields([
        ("type", text(metric, "type")),
        ("object", object),
        ("pods", pods),
        ("resource", metric.get("resource").map(usage)),
        ("containerResource", metric.get("containerResource").map(usage)),
        ("external", external),
    ])
}
