//! Times in documents against the clock of the server.

use std::time::Duration;

use pilothouse_value::Timestamp;

/// How long it is at `now` until `seconds` after `since`; zero once that has passed. `None` if `since` is no time.
pub(crate) fn until(since: &str, seconds: i64, now: Timestamp) -> Option<Duration> {
    let due =
        Timestamp::parse(since).ok()?.plus(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
    Some(due.since(now))
}
