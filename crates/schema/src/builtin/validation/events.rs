//! Events of both groups. They are one kind: the fields of `events.k8s.io` have other names.

use pilothouse_value::field::Path;
use pilothouse_value::{Value, names};

use super::{At, Errors, IMMUTABLE};

/// The fields of one group under the names of the other, with the Go struct that shows them, in the order of checks.
const FIXED: [(&str, &str, &str); 8] = [
    ("regarding", "involvedObject", "core.ObjectReference"),
    ("reason", "reason", ""),
    ("note", "message", ""),
    ("deprecatedSource", "source", "core.EventSource"),
    ("deprecatedFirstTimestamp", "firstTimestamp", ""),
    ("deprecatedLastTimestamp", "lastTimestamp", ""),
    ("deprecatedCount", "count", ""),
    ("type", "type", ""),
];

pub(super) fn event(at: &At<'_>, new_group: bool, old: Option<&Value>, errors: &mut Errors) {
    common(at, new_group, errors);
    if !new_group {
        return;
    }
    if let Some(old) = old {
        return update(at, old, errors);
    }
    series(at, errors);
    if at.find("eventTime").is_none() {
        errors.required(&Path::new("eventTime"), "");
    }
    let kind = at.text("type");
    if !["Normal", "Warning"].contains(&kind) {
        errors.invalid(&Path::new("type"), "", format!("has invalid value: {kind}"));
    }
    for (own, shown) in
        [("deprecatedFirstTimestamp", "firstTimestamp"), ("deprecatedLastTimestamp", "lastTimestamp")]
    {
        if at.find(own).is_some() {
            errors.invalid(&Path::new(shown), "", "needs to be unset");
        }
    }
    if at.int("deprecatedCount").unwrap_or_default() != 0 {
        errors.invalid(&Path::new("count"), "", "needs to be unset");
    }
    let source = at.child("deprecatedSource");
    if !source.text("component").is_empty() || !source.text("host").is_empty() {
        errors.invalid(&Path::new("source"), "", "needs to be unset");
    }
}

fn common(at: &At<'_>, new_group: bool, errors: &mut Errors) {
    let involved = at.child(if new_group { "regarding" } else { "involvedObject" });
    let (namespace, of) = (at.child("metadata").text("namespace"), involved.text("namespace"));
    let path = Path::new("involvedObject").child("namespace");
    const ELSEWHERE: &str = "does not match event.namespace";
    if at.find("eventTime").is_none() {
        // Events on objects without a namespace stand in the namespace `default`.
        let fits = if of.is_empty() { matches!(namespace, "" | "default") } else { of == namespace };
        if !fits {
            errors.invalid(&path, of, ELSEWHERE);
        }
        return;
    }
    if of.is_empty() && !matches!(namespace, "default" | "kube-system") {
        errors.invalid(&path, of, ELSEWHERE);
    }
    let field = if new_group { "reportingController" } else { "reportingComponent" };
    let controller = at.text(field);
    if controller.is_empty() {
        errors.required(&Path::new(field), "");
    }
    errors.complaints(&Path::new(field), controller, names::qualified_name(controller));
    for field in ["reportingInstance", "action", "reason"] {
        let text = at.text(field);
        if text.is_empty() {
            errors.required(&Path::new(field), "");
        }
        if text.len() > 128 {
            errors.invalid(&Path::new(field), "", "can have at most 128 characters");
        }
    }
    if at.text(if new_group { "note" } else { "message" }).len() > 1024 {
        errors.invalid(&Path::new("message"), "", "can have at most 1024 characters");
    }
}

fn series(at: &At<'_>, errors: &mut Errors) {
    let Some(series) = at.find("series") else { return };
    if series.int("count").unwrap_or_default() < 2 {
        errors.invalid(&Path::new("series.count"), "", "should be at least 2");
    }
    if series.find("lastObservedTime").is_none() {
        errors.required(&Path::new("series.lastObservedTime"), "");
    }
}

fn update(at: &At<'_>, old: &Value, errors: &mut Errors) {
    if at.value.get("series") != old.get("series") {
        series(at, errors);
    }
    let mut fixed = |own: &str, shown: &str, form: &str| {
        let new = at.child(own);
        if Some(new.value).filter(|value| !value.is_null()) == old.get(own).filter(|value| !value.is_null()) {
            return;
        }
        let path = Path::new(shown);
        // What is not there is the zero of its type upstream, unless that is a pointer.
        let zero = match own {
            "reason" | "note" | "type" | "action" | "reportingController" | "reportingInstance" => "".into(),
            "deprecatedCount" => 0.into(),
            _ => Value::Null,
        };
        if new.value.is_null() && !zero.is_null() {
            errors.invalid(&path, zero, IMMUTABLE);
        } else if form.is_empty() || new.value.is_null() {
            errors.invalid(&path, new.value.clone(), IMMUTABLE);
        } else {
            errors.shown(&path, form, new.value, IMMUTABLE);
        }
    };
    for (own, shown, form) in FIXED {
        fixed(own, shown, form);
    }
    fixed("eventTime", "eventTime", "");
    fixed("action", "action", "");
    fixed("related", "related", "core.ObjectReference");
    fixed("reportingController", "reportingController", "");
    fixed("reportingInstance", "reportingInstance", "");
}
