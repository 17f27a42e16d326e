//! Schedules of cron jobs and the names of time zones.

use std::sync::LazyLock;

/// The zones of the IANA database, sorted, one a line.
static ZONES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| include_str!("../../tables/zones.txt").lines().collect());

/// Whether there is such a time zone.
pub(super) fn is_zone(name: &str) -> bool {
    ZONES.binary_search(&name).is_ok()
}

/// Checks a schedule as robfig/cron reads it: five fields, or a word such as `@daily`.
pub(super) fn parse_schedule(schedule: &str) -> Result<(), String> {
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
