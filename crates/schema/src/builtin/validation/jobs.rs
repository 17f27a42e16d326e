//! Jobs and cron jobs.

use std::collections::BTreeSet;

use pilothouse_value::field::{Error, Path};
use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Value, json, names};

use super::schedule::{is_zone, parse_schedule};
use super::{At, Errors, label_selector, pod, workloads};

/// The labels by which a job knows its pods, as they are named now and as they were.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

pub(super) fn job(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    if old.is_none() {
        generated_selector(at, errors);
    }
    job_spec(&spec, errors);
    let selector = spec.child("selector");
    if selector.value.is_null() {
        errors.required(&selector.path, "");
    } else {
        label_selector(&selector, errors);
    }
    let template = spec.child("template");
    let labels = template.value.at(&["metadata", "labels"]).and_then(Value::as_object);
    let parsed = LabelSelector::from_object(selector.value);
    if selector.value.is_null() || parsed.is_ok_and(|parsed| !parsed.matches(labels)) {
        workloads::mismatch(&template, errors);
    }
    if let Some(old) = old {
        update(&spec, old, errors);
    }
    if old.is_none() && spec.text("completionMode") == "Indexed" {
        let last = spec.int("completions").unwrap_or(1) - 1;
        let name = at.child("metadata").text("name");
        if last >= 0 {
            let path = at.path.child("metadata").child("name");
            // The name of the last pod is its host name, too.
            if !names::dns1123_label(&format!("{name}-{last}")).is_empty() {
                let detail = format!("will not able to create pod with invalid DNS label: {name}-{last}");
                errors.invalid(&path, name, detail);
            }
        }
    }
}

/// A job that did not take charge of its selector has the one that is made for it.
fn generated_selector(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    if spec.flag("manualSelector") || spec.find("selector").is_none() {
        return;
    }
    let (uid, name) = (at.child("metadata").text("uid"), at.child("metadata").text("name"));
    let labels = spec.child("template").child("metadata").child("labels");
    for (keys, expected) in [(UID_LABELS, uid), (NAME_LABELS, name)] {
        for key in keys {
            match labels.value.get(key).and_then(Value::as_str) {
                None => errors.required(&labels.path.key(key), format!("must be '{expected}'").as_str()),
                Some(found) if found != expected => {
                    errors.invalid(
                        &labels.path.key(key),
                        labels.value.clone(),
                        format!("must be '{expected}'"),
                    );
                }
                Some(_) => {}
            }
        }
    }
    let selector = spec.child("selector");
    if *selector.value != json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}) {
        errors.invalid(&selector.path, selector.value.clone(), "`selector` not auto-generated");
    }
}

fn update(spec: &At<'_>, old_job: &Value, errors: &mut Errors) {
    let Some(old) = old_job.get("spec") else { return };
    // An indexed job may grow and shrink with its parallelism.
    if spec.text("completionMode") != "Indexed" {
        errors.immutable(spec, old, "completions");
    } else if let Some(completions) =
        spec.int("completions").filter(|new| old.i64_at(&["completions"]) != Some(*new))
        && spec.int("parallelism") != Some(completions)
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.invalid(&spec.path.child("completions"), completions, detail);
    }
    errors.immutable(spec, old, "selector");
    template_update(spec, old_job, errors);
    errors.immutable(spec, old, "completionMode");
    errors.immutable_struct(spec, old, "podFailurePolicy", "batch.PodFailurePolicy");
    errors.immutable(spec, old, "backoffLimitPerIndex");
    errors.immutable(spec, old, "managedBy");
    errors.immutable_struct(spec, old, "successPolicy", "batch.SuccessPolicy");
}

/// The template stays; that of a suspended job may be steered, and its containers may get other resources.
fn template_update(spec: &At<'_>, old_job: &Value, errors: &mut Errors) {
    let template = spec.child("template");
    let Some(old) = old_job.get("spec") else { return };
    let rests = old_job.at(&["status", "startTime"]).is_none()
        || pilothouse_value::object::condition_is_true(old_job, "Suspended");
    let active = old_job.i64_at(&["status", "active"]).unwrap_or_default();
    if old.get("suspend").and_then(Value::as_bool) != Some(true) || !rests || active != 0 {
        return errors.immutable_struct(spec, old, "template", "core.PodTemplateSpec");
    }
    let fixed = |template: &Value| {
        let mut spec = template.get("spec").cloned().unwrap_or_default();
        for field in ["nodeSelector", "tolerations", "schedulingGates"] {
            spec.take(&[field]);
        }
        spec.take(&["affinity", "nodeAffinity"]);
        if spec.get("affinity").and_then(Value::as_object).is_some_and(|map| map.is_empty()) {
            spec.take(&["affinity"]);
        }
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                container.take(&["resources"]);
            }
        }
        spec
    };
    if fixed(template.value) != fixed(old.get("template").unwrap_or(&Value::Null)) {
        let of_pods = template.child("spec");
        errors.shown(&of_pods.path, "core.PodSpec", of_pods.value, super::IMMUTABLE);
    }
}

fn job_spec(spec: &At<'_>, errors: &mut Errors) {
    errors.not_negative(
        spec,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
    );
    let (completions, parallelism) = (spec.int("completions"), spec.int("parallelism"));
    let (per_index, failed) = (spec.int("backoffLimitPerIndex"), spec.int("maxFailedIndexes"));
    let path = |field: &str| spec.path.child(field);
    if failed.is_some() && per_index.is_none() {
        errors.required(&path("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    if let Some(manager) = spec.find("managedBy") {
        domain_prefixed(&manager, errors);
    }
    errors.one_of(spec, "completionMode", &["NonIndexed", "Indexed"], false);
    match spec.text("completionMode") {
        "Indexed" => {
            if completions.is_none() {
                errors.required(&path("completions"), "when completion mode is Indexed");
            }
            if let Some(parallelism) = parallelism.filter(|n| *n > 100_000) {
                let detail = "must be less than or equal to 100000 when completion mode is Indexed";
                errors.invalid(&path("parallelism"), parallelism, detail);
            }
            if let (Some(completions), Some(failed)) = (completions, failed)
                && failed > completions
            {
                errors.invalid(
                    &path("maxFailedIndexes"),
                    failed,
                    "must be less than or equal to completions",
                );
            }
            if let Some(failed) = failed.filter(|n| *n > 100_000) {
                errors.invalid(&path("maxFailedIndexes"), failed, "must be less than or equal to 100000");
            }
            many_indexes(spec, errors);
        }
        "NonIndexed" => {
            for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(number) = spec.int(field) {
                    errors.invalid(&path(field), number, "requires indexed completion mode");
                }
            }
        }
        _ => {}
    }
    failure_policy(spec, errors);
    success_policy(spec, errors);
    match (spec.find("podFailurePolicy"), spec.find("podReplacementPolicy")) {
        (_, None) => {}
        (Some(_), Some(_)) => errors.one_of_all(spec, "podReplacementPolicy", &["Failed"]),
        (None, Some(_)) => {
            errors.one_of_all(spec, "podReplacementPolicy", &["Failed", "TerminatingOrFailed"])
        }
    }
    let template = spec.child("template");
    pod::template(&template, errors);
    let pod = template.child("spec");
    let policy = pod.text("restartPolicy");
    let path = pod.path.child("restartPolicy");
    match policy {
        "Always" | "" => errors.required(&path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.find("podFailurePolicy").is_some() => {
            errors.invalid(&path, policy, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" | "Never" => {}
        _ => errors.unsupported(&path, policy, &["OnFailure", "Never"]),
    }
}

/// Jobs of more than a hundred thousand indexes that fail by index.
fn many_indexes(spec: &At<'_>, errors: &mut Errors) {
    if spec.int("completions").unwrap_or_default() <= 100_000 || spec.int("backoffLimitPerIndex").is_none() {
        return;
    }
    let path = |field: &str| spec.path.child(field);
    if spec.int("maxFailedIndexes").is_none() {
        errors.required(&path("maxFailedIndexes"), "must be specified when completions is above 100000");
    }
    for field in ["parallelism", "maxFailedIndexes"] {
        if let Some(number) = spec.int(field).filter(|n| *n > 10_000) {
            let detail = "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index";
            errors.invalid(&path(field), number, detail);
        }
    }
}

fn domain_prefixed(at: &At<'_>, errors: &mut Errors) {
    let text = at.value.as_str().unwrap_or_default();
    domain_prefixed_path(&at.path, text, errors);
    if text.len() > 63 {
        errors.0.push(Error::too_long(&at.path, 63));
    }
}

/// `DOMAIN/PATH`: the names of controllers.
pub(super) fn domain_prefixed_path(at: &Path, text: &str, errors: &mut Errors) {
    if text.is_empty() {
        return errors.required(at, "");
    }
    let parts = text.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty());
    let Some((domain, path)) = parts else {
        return errors.invalid(at, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    };
    errors.complaints(at, domain, names::dns1123_subdomain(domain));
    let good = |c: char| c.is_ascii_alphanumeric() || "/%-._~!$&'()*+,;=:".contains(c);
    if !path.chars().all(good) {
        let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        errors.invalid(at, path, detail);
    }
}

fn failure_policy(spec: &At<'_>, errors: &mut Errors) {
    let Some(policy) = spec.find("podFailurePolicy") else { return };
    let rules = policy.items("rules");
    if rules.len() > 20 {
        errors.0.push(Error::too_many(&policy.path.child("rules"), rules.len(), 20));
    }
    let pod = spec.child("template").child("spec");
    let containers: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.items(list))
        .map(|c| c.text("name"))
        .collect();
    for rule in rules {
        let path = rule.path.child("action");
        match rule.text("action") {
            "" => errors.required(&path, "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"),
            "FailIndex" if spec.int("backoffLimitPerIndex").is_none() => {
                errors.invalid(&path, "FailIndex", "requires the backoffLimitPerIndex to be set");
            }
            "FailIndex" => {}
            _ => errors.one_of_all(&rule, "action", &["Count", "FailIndex", "FailJob", "Ignore"]),
        }
        let codes = rule.find("onExitCodes");
        if let Some(codes) = &codes {
            exit_codes(codes, &containers, errors);
        }
        let conditions = rule.items("onPodConditions");
        if conditions.len() > 20 {
            errors.0.push(Error::too_many(&rule.path.child("onPodConditions"), conditions.len(), 20));
        }
        for condition in &conditions {
            let kind = condition.text("type");
            errors.complaints(&condition.path.child("type"), kind, names::qualified_name(kind));
            match condition.text("status") {
                "" => {
                    let detail = "valid values: [\"False\" \"True\" \"Unknown\"]";
                    errors.required(&condition.path.child("status"), detail);
                }
                _ => errors.one_of_all(condition, "status", &["False", "True", "Unknown"]),
            }
        }
        match (codes.is_some(), conditions.is_empty()) {
            (true, false) => {
                let detail = "specifying both OnExitCodes and OnPodConditions is not supported";
                errors.invalid_without_value(&rule.path, detail);
            }
            (false, true) => {
                let detail = "specifying one of OnExitCodes and OnPodConditions is required";
                errors.invalid_without_value(&rule.path, detail);
            }
            _ => {}
        }
    }
}

fn exit_codes(at: &At<'_>, containers: &[&str], errors: &mut Errors) {
    let operator = at.text("operator");
    match operator {
        "" => errors.required(&at.path.child("operator"), "valid values: [\"In\" \"NotIn\"]"),
        _ => errors.one_of_all(at, "operator", &["In", "NotIn"]),
    }
    if at.find("containerName").is_some() && !containers.contains(&at.text("containerName")) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.invalid(&at.path.child("containerName"), at.text("containerName"), detail);
    }
    let (path, values) = (at.path.child("values"), at.items("values"));
    let shown = || Value::Array(values.iter().map(|value| value.value.clone()).collect());
    if values.is_empty() {
        errors.invalid(&path, at.child("values").value.clone(), "at least one value is required");
    } else if values.len() > 255 {
        errors.0.push(Error::too_many(&path, values.len(), 255));
    }
    let (mut seen, mut ordered, mut before) = (BTreeSet::new(), true, None);
    for value in &values {
        let number = value.value.as_i64().unwrap_or_default();
        if operator == "In" && number == 0 {
            errors.invalid(&value.path, 0, "must not be 0 for the In operator");
        }
        if !seen.insert(number) {
            errors.0.push(Error::duplicate(&value.path, number));
        }
        ordered &= before.is_none_or(|before| before <= number);
        before = Some(number);
    }
    if !ordered {
        errors.invalid(&path, shown(), "must be ordered");
    }
}

fn success_policy(spec: &At<'_>, errors: &mut Errors) {
    let Some(policy) = spec.find("successPolicy") else { return };
    if spec.text("completionMode") != "Indexed" {
        errors.shown(&policy.path, "batch.SuccessPolicy", policy.value, "requires indexed completion mode");
        return;
    }
    let rules = policy.items("rules");
    let completions = spec.int("completions").unwrap_or_default();
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.required(&policy.path.child("rules"), detail);
    }
    if rules.len() > 20 {
        errors.0.push(Error::too_many(&policy.path.child("rules"), rules.len(), 20));
    }
    for rule in rules {
        let (indexes, count) = (rule.find("succeededIndexes"), rule.int("succeededCount"));
        if indexes.is_none() && count.is_none() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            errors.required(&rule.path, detail);
        }
        let mut total = 0;
        if let Some(indexes) = &indexes {
            let text = indexes.value.as_str().unwrap_or_default();
            if text.len() > 64 * 1024 {
                errors.0.push(Error::too_long(&indexes.path, 64 * 1024));
            }
            match count_indexes(text, completions) {
                Ok(count) => total = count,
                Err(why) => {
                    errors.invalid(&indexes.path, text, format!("error parsing succeededIndexes: {why}"))
                }
            }
        }
        let Some(count) = count else { continue };
        errors.not_negative(&rule, &["succeededCount"]);
        let path = rule.path.child("succeededCount");
        if count > completions {
            let detail =
                format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.invalid(&path, count, detail);
        }
        if indexes.is_some() && count > total {
            let detail = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.invalid(&path, count, detail);
        }
    }
}

/// How many indexes a text such as `0-3,7` names.
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for interval in text.split(',') {
        let parts: Vec<&str> = interval.split('-').collect();
        let index = |text: &str| {
            let quoted = pilothouse_value::field::quote(text);
            let number = text
                .parse::<i64>()
                .map_err(|_| format!("cannot convert string to integer for index: {quoted}"))?;
            if number >= completions { Err(format!("too large index: {quoted}")) } else { Ok(number) }
        };
        let (from, to) = match parts[..] {
            [one] => (index(one)?, index(one)?),
            [from, to] => {
                let (from, to) = (index(from)?, index(to)?);
                if from >= to {
                    return Err(format!("non-increasing order, previous: {from}, current: {to}"));
                }
                (from, to)
            }
            _ => {
                let quoted = pilothouse_value::field::quote(interval);
                return Err(format!(
                    "the fragment {quoted} violates the requirement that an index interval can have at most two parts separated by '-'"
                ));
            }
        };
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

pub(super) fn cron_job(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    let job = spec.child("jobTemplate").child("spec");
    job_spec(&job, errors);
    if job.flag("manualSelector") {
        errors.unsupported(&job.path.child("manualSelector"), true, &["nil", "false"]);
    }
    if let Some(selector) = job.find("selector") {
        errors.invalid(&selector.path, selector.value.clone(), "`selector` will be auto-generated");
    }
    let schedule = spec.text("schedule");
    let path = spec.path.child("schedule");
    if schedule.is_empty() {
        errors.required(&path, "");
    } else if schedule.contains("TZ") {
        errors.invalid(&path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    } else if let Err(why) = parse_schedule(schedule) {
        errors.invalid(&path, schedule, why);
    }
    errors.not_negative(&spec, &["startingDeadlineSeconds"]);
    let zone = spec.child("timeZone");
    match zone.value.as_str() {
        None => {}
        Some("") => errors.invalid(&zone.path, "", "timeZone must be nil or non-empty string"),
        Some(name) if name.eq_ignore_ascii_case("local") => {
            let detail =
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
            errors.invalid(&zone.path, name, detail);
            if name != "Local" {
                errors.invalid(&zone.path, name, format!("unknown time zone {name}"));
            }
        }
        Some(name) if !is_zone(name) => errors.invalid(&zone.path, name, format!("unknown time zone {name}")),
        Some(_) => {}
    }
    errors.one_of(&spec, "concurrencyPolicy", &["Allow", "Forbid", "Replace"], true);
    errors.not_negative(&spec, &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"]);
    let name = at.child("metadata").text("name");
    if old.is_none() && name.len() > 52 {
        errors.invalid(&at.path.child("metadata").child("name"), name, "must be no more than 52 characters");
    }
}
