//! Limit ranges and quotas.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_value::field::{Error, Path};
use pilothouse_value::{Quantity, Value, names};

use super::{At, Errors, IMMUTABLE, resources};

pub(super) fn limit_range(at: &At<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for limit in at.child("spec").items("limits") {
        let kind = limit.text("type");
        let path = limit.path.child("type");
        let complaints = names::qualified_name(kind);
        let good = complaints.is_empty();
        errors.complaints(&path, kind, complaints);
        if good && !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
            errors.invalid(&path, kind, "must be a standard limit type or fully qualified");
        }
        if !seen.insert(kind) {
            errors.0.push(Error::duplicate(&path, kind));
        }
        limits(&limit, kind, errors);
    }
}

fn amounts(at: &At<'_>, part: &str) -> BTreeMap<String, Quantity> {
    let parse = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
    at.map(part).filter_map(|(name, value)| Some((name.to_owned(), parse(value)?))).collect()
}

fn limits(at: &At<'_>, kind: &str, errors: &mut Errors) {
    let names = |part: &str, errors: &mut Errors| {
        for (name, _) in at.map(part) {
            let path = at.path.child(part).key(name);
            if kind == "Pod" || kind == "Container" {
                resources::container_name(&path, name, errors);
            } else {
                resources::resource_name(&path, name, errors);
            }
        }
        amounts(at, part)
    };
    let (max, min) = (names("max", errors), names("min", errors));
    let (mut given, mut requested) = (BTreeMap::new(), BTreeMap::new());
    if kind == "Pod" {
        for part in ["default", "defaultRequest"] {
            if at.map(part).next().is_some() {
                errors.forbidden(&at.path.child(part), "may not be specified when `type` is 'Pod'");
            }
        }
    } else {
        given = names("default", errors);
        requested = names("defaultRequest", errors);
    }
    if kind == "PersistentVolumeClaim" && !min.contains_key("storage") && !max.contains_key("storage") {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(&at.path.child("limits"), detail);
    }
    let ratios = names("maxLimitRequestRatio", errors);
    let all: BTreeSet<&String> =
        [&max, &min, &given, &requested, &ratios].iter().flat_map(|map| map.keys()).collect();
    for key in all {
        let path = |part: &str| at.path.child(part).key(key);
        let of = |map: &BTreeMap<String, Quantity>| map.get(key).copied();
        let mut order = |low: Option<Quantity>,
                         high: Option<Quantity>,
                         part: &str,
                         shown_low: bool,
                         words: (&str, &str)| {
            if let (Some(low), Some(high)) = (low, high)
                && low > high
            {
                let shown = if shown_low { low } else { high };
                let detail = format!("{} value {low} is greater than {} value {high}", words.0, words.1);
                errors.invalid(&path(part), shown.to_string(), detail);
            }
        };
        let (min, max, given, requested) = (of(&min), of(&max), of(&given), of(&requested));
        order(min, max, "min", true, ("min", "max"));
        order(min, requested, "defaultRequest", false, ("min", "default request"));
        order(requested, max, "defaultRequest", true, ("default request", "max"));
        order(requested, given, "defaultRequest", true, ("default request", "default limit"));
        order(min, given, "default", true, ("min", "default"));
        order(given, max, "default", false, ("default", "max"));
        let Some(ratio) = of(&ratios) else { continue };
        let path = path("maxLimitRequestRatio");
        if ratio.nano() < 1_000_000_000 {
            errors.invalid(&path, ratio.to_string(), format!("ratio {ratio} is less than 1"));
        }
        if let (Some(min), Some(max)) = (min, max) {
            #[expect(clippy::cast_precision_loss, reason = "the ratio is shown with six digits")]
            let most = max.milli_value() as f64 / min.milli_value() as f64;
            #[expect(clippy::cast_precision_loss, reason = "as above")]
            let ratio_value = ratio.milli_value() as f64 / 1000.0;
            if ratio_value > most {
                let detail = format!("ratio {ratio} is greater than max/min = {most:.6}");
                errors.invalid(&path, ratio.to_string(), detail);
            }
        }
    }
}

const SCOPES: [&str; 6] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
];
/// Scopes of which one object cannot be in both.
const CONFLICTS: [(&str, &str); 2] = [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")];

pub(super) fn quota(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    for (name, value) in spec.map("hard") {
        let path = spec.path.child("hard").key(name);
        resources::quota_name(&path, name, errors);
        resources::amount(&path, name, value, errors);
    }
    scopes(&spec, errors);
    selector(&spec, errors);
    if let Some(old) = old {
        let set = |value: &Value| {
            value
                .items_at(&["spec", "scopes"])
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect::<BTreeSet<_>>()
        };
        if set(at.value) != set(old) {
            let scopes = spec.child("scopes");
            errors.invalid(&scopes.path, scopes.value.clone(), IMMUTABLE);
        }
    }
}

/// Whether a resource of a quota is one that every cluster has.
fn is_standard(name: &str) -> bool {
    name != "storage" && resources::is_known(name)
}

fn fits(scope: &str, resource: &str) -> bool {
    let of_pods = matches!(
        resource,
        "pods"
            | "cpu"
            | "memory"
            | "requests.cpu"
            | "requests.memory"
            | "limits.cpu"
            | "limits.memory"
            | "ephemeral-storage"
            | "requests.ephemeral-storage"
            | "limits.ephemeral-storage"
    );
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => of_pods,
        "BestEffort" => resource == "pods",
        _ => true,
    }
}

fn scopes(spec: &At<'_>, errors: &mut Errors) {
    let list = spec.child("scopes");
    let scopes: Vec<&str> = spec.items("scopes").iter().filter_map(|scope| scope.value.as_str()).collect();
    let complain = |detail: &str, errors: &mut Errors| errors.invalid(&list.path, list.value.clone(), detail);
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            complain("unsupported scope", errors);
        }
        for (name, _) in spec.map("hard") {
            if is_standard(name) && !fits(scope, name) {
                complain("unsupported scope applied to resource", errors);
            }
        }
    }
    for (one, other) in CONFLICTS {
        if scopes.contains(&one) && scopes.contains(&other) {
            complain("conflicting scopes", errors);
        }
    }
}

fn selector(spec: &At<'_>, errors: &mut Errors) {
    let selector = spec.child("scopeSelector");
    let path: Path = selector.path.child("matchExpressions");
    let mut seen = Vec::new();
    for requirement in selector.items("matchExpressions") {
        let (scope, operator) = (requirement.text("scopeName"), requirement.text("operator"));
        if !SCOPES.contains(&scope) {
            errors.invalid(&path.child("scopeName"), scope, "unsupported scope");
        }
        for (name, _) in spec.map("hard") {
            if is_standard(name) && !fits(scope, name) {
                errors.shown(
                    &path,
                    "core.ScopeSelector",
                    selector.value,
                    "unsupported scope applied to resource",
                );
            }
        }
        if !matches!(scope, "PriorityClass") && SCOPES.contains(&scope) && operator != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                          ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.invalid(&path.child("operator"), operator, detail);
        }
        let values = requirement.items("values");
        match operator {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let detail =
                        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                    errors.required(&path.child("values"), detail);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail =
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                    errors.invalid(&path.child("values"), requirement.child("values").value.clone(), detail);
                }
            }
            other => errors.invalid(&path.child("operator"), other, "not a valid selector operator"),
        }
        seen.push(scope);
    }
    for (one, other) in CONFLICTS {
        if seen.contains(&one) && seen.contains(&other) {
            let scopes = spec.child("scopes");
            errors.invalid(&scopes.path, scopes.value.clone(), "conflicting scopes");
        }
    }
}
