//! Points in time as metadata spells them: RFC 3339 in UTC with whole seconds, or with microseconds.

use std::fmt;
use std::time::Duration;

/// The text is no RFC 3339 time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {text:?}: {why}")]
pub struct ParseTimestampError {
    text: String,
    why: String,
}

/// A point in time. Its `Display` is `metav1.Time`: `2026-11-30T08:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The time that the machine's clock shows.
    pub fn of_machine() -> Self {
        Self(jiff::Timestamp::now())
    }

    /// Reads RFC 3339.
    ///
    /// # Errors
    /// When the text is not a time with a date and an offset.
    pub fn parse(text: &str) -> Result<Self, ParseTimestampError> {
        text.parse()
            .map(Self)
            .map_err(|why: jiff::Error| ParseTimestampError { text: text.to_owned(), why: why.to_string() })
    }

    /// From seconds since 1970; what cannot be represented becomes the nearest time that can.
    pub fn from_unix_seconds(seconds: i64) -> Self {
        Self(jiff::Timestamp::from_second(seconds).unwrap_or(if seconds < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        }))
    }

    /// Seconds since 1970, rounded towards the past.
    pub fn unix_seconds(self) -> i64 {
        self.0.as_second() - i64::from(self.0.subsec_nanosecond() < 0)
    }

    /// Nanoseconds since the last whole second.
    pub fn subsecond_nanos(self) -> u32 {
        u32::try_from(self.0.subsec_nanosecond().rem_euclid(1_000_000_000)).unwrap_or_default()
    }

    /// This time plus a duration, or the last time there is.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.checked_add(duration).unwrap_or(jiff::Timestamp::MAX))
    }

    /// How long after `earlier` this is; zero if it is before.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from(self.0.duration_since(earlier.0)).unwrap_or_default()
    }

    /// `metav1.MicroTime`: `2026-11-30T08:00:00.000000Z`.
    pub fn micro(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }

    /// With nanoseconds, trailing zeros left out, as container logs carry it.
    pub fn nano(self) -> String {
        self.0.to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

impl From<Timestamp> for crate::Value {
    fn from(time: Timestamp) -> Self {
        Self::String(time.to_string())
    }
}
