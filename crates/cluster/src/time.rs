//! Times in documents against the clock of the server.

use std::time::Duration;

use pilothouse_value::Timestamp;

/// How long it is at `now` until `seconds` after `since`; zero once that has passed. `None` if `since` is no time.
pub(crate) fn until(since: &str, seconds: i64, now: Timestamp) -> Option<Duration> {
    let due =
        Timestamp::parse(since).ok()?.plus(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
    Some(due.since(now))
}

/// Whether `seconds` have passed since `since` at `now`. What is no time never passes.
pub(crate) fn has_passed(since: &str, seconds: i64, now: Timestamp) -> bool {
    until(since, seconds, now).is_some_and(|left| left.is_zero())
}
