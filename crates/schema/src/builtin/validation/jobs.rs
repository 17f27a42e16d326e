//! Jobs and cron jobs.

use pilothouse_value::Value;
use pilothouse_value::selector::LabelSelector;

use super::{At, Errors, label_selector, pod, workloads};

pub(super) fn job(at: &At<'_>, old: Option<&Value>, errors: &mut Errors) {
    let spec = at.child("spec");
    job_spec(&spec, errors);
    if spec.child("selector").value.is_null() {
        errors.required(&spec.path.child("selector"), "");
    } else {
        let template = spec.child("template");
        let labels = template.value.at(&["metadata", "labels"]).and_then(Value::as_object);
        if !spec.flag("manualSelector") && old.is_none() {
            let uid = at.child("metadata").text("uid");
            let generated =
                pilothouse_value::json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
            let selector = spec.child("selector");
            if *selector.value != generated {
                errors.invalid(&selector.path, selector.value.clone(), "`selector` not auto-generated");
            }
        }
        match LabelSelector::from_object(spec.child("selector").value) {
            Ok(selector) if !selector.matches(labels) => workloads::mismatch(&template, errors),
            _ => {}
        }
    }
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        update(&spec, old, errors);
    }
}

fn update(spec: &At<'_>, old: &Value, errors: &mut Errors) {
    // An indexed job may grow and shrink with its parallelism.
    let elastic =
        spec.text("completionMode") == "Indexed" && spec.int("completions") == spec.int("parallelism");
    if !elastic {
        errors.immutable(spec, old, "completions");
    }
    // The template of a job that never started may still be steered.
    let suspended = old.get("suspend") == Some(&Value::Bool(true));
    if !suspended {
        errors.immutable(spec, old, "template");
    }
    for field in [
        "selector",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        errors.immutable(spec, old, field);
    }
}

fn job_spec(spec: &At<'_>, errors: &mut Errors) {
    errors.not_negative(spec, &["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"]);
    errors.not_negative(spec, &["ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"]);
    errors.one_of(spec, "completionMode", &["NonIndexed", "Indexed"], false);
    if spec.text("completionMode") == "Indexed" && spec.find("completions").is_none() {
        errors.required(&spec.path.child("completions"), "when completion mode is Indexed");
    }
    if let Some(selector) = spec.find("selector") {
        label_selector(&selector, errors);
    }
    let template = spec.child("template");
    pod::template(&template, errors);
    let pod = template.child("spec");
    let known = ["OnFailure", "Never"].contains(&pod.text("restartPolicy"));
    match pod.text("restartPolicy") {
        _ if known => {}
        "Always" | "" => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.required(&pod.path.child("restartPolicy"), detail);
        }
        policy => errors.unsupported(&pod.path.child("restartPolicy"), policy, &["OnFailure", "Never"]),
    }
}

pub(super) fn cron_job(at: &At<'_>, errors: &mut Errors) {
    let spec = at.child("spec");
    let schedule = spec.text("schedule");
    let path = spec.path.child("schedule");
    if schedule.is_empty() {
        errors.required(&path, "");
    } else if schedule.contains("TZ") {
        errors.invalid(&path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    } else if let Err(why) = parse_schedule(schedule) {
        errors.invalid(&path, schedule, why);
    }
    errors.not_negative(
        &spec,
        &["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
    );
    errors.one_of(&spec, "concurrencyPolicy", &["Allow", "Forbid", "Replace"], true);
    let zone = spec.child("timeZone");
    if zone.value.as_str() == Some("") {
        errors.invalid(&zone.path, "", "timeZone must be nil or non-empty string");
    }
    let job = spec.child("jobTemplate").child("spec");
    job_spec(&job, errors);
    if job.flag("manualSelector") {
        errors.unsupported(&job.path.child("manualSelector"), true, &["nil", "false"]);
    }
    if let Some(selector) = job.find("selector") {
        errors.invalid(&selector.path, selector.value.clone(), "`selector` will be auto-generated");
    }
}

/// Checks a schedule as robfig/cron reads it: five fields, or a word such as `@daily`.
fn parse_schedule(schedule: &str) -> Result<(), String> {
    if let Some(word) = schedule.strip_prefix('@') {
        return match word {
            "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => Ok(()),
            _ if word.starts_with("every ") => Ok(()),
            _ => Err(format!("unrecognized descriptor: {schedule}")),
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let bounds: [(u32, u32, &[&str]); 5] =
        [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, &months), (0, 6, &days)];
    if fields.len() != bounds.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(bounds) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            parse_part(part, bounds)?;
        }
    }
    Ok(())
}

fn parse_part(part: &str, (low, high, words): (u32, u32, &[&str])) -> Result<(), String> {
    let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
    if step.is_some_and(|step| step.contains('/')) {
        return Err(format!("too many slashes: {part}"));
    }
    let number = |text: &str| match words.iter().position(|word| word.eq_ignore_ascii_case(text)) {
        Some(at) => Ok(u32::try_from(at).unwrap_or_default() + low),
        None => text.parse::<u32>().map_err(|_| {
            format!("failed to parse int from {text}: strconv.Atoi: parsing \"{text}\": invalid syntax")
        }),
    };
    if let Some(step) = step
        && number(step)? == 0
    {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    if range == "*" || range == "?" {
        return Ok(());
    }
    let (from, to) = match range.split_once('-') {
        None => (number(range)?, number(range)?),
        Some((_, to)) if to.contains('-') => return Err(format!("too many hyphens: {part}")),
        Some((from, to)) => (number(from)?, number(to)?),
    };
    if from < low {
        return Err(format!("beginning of range ({from}) below minimum ({low}): {part}"));
    }
    if to > high {
        return Err(format!("end of range ({to}) above maximum ({high}): {part}"));
    }
    if from > to {
        return Err(format!("beginning of range ({from}) beyond end of range ({to}): {part}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for good in ["* * * * *", "*/5 0-6 1,15 jan-mar mon-fri", "@daily", "@every 5m", "0 0 ? * 0"] {
            assert_eq!(parse_schedule(good), Ok(()), "{good}");
        }
        for bad in ["* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *", "@often", "* * * * 7"]
        {
            assert!(parse_schedule(bad).is_err(), "{bad}");
        }
    }
}
