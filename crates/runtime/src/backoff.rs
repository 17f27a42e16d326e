//! How long to wait after a failure.

use std::time::Duration;

/// Waits that double with each failure in a row, between a shortest and a longest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    max: Duration,
}

impl Backoff {
    /// For keys of a queue: 5 ms to 1000 s, as client-go's default controller rate limiter.
    pub const KEYS: Self = Self::new(Duration::from_millis(5), Duration::from_secs(1000));
    /// For watches: 800 ms to 30 s, as client-go's reflector.
    pub const WATCHES: Self = Self::new(Duration::from_millis(800), Duration::from_secs(30));

    /// Waits from `base` up to `max`.
    pub const fn new(base: Duration, max: Duration) -> Self {
        Self { base, max }
    }

    /// The wait after the given number of failures in a row; no wait after none.
    pub fn delay(&self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => {
                let factor = 1u32.checked_shl(doublings).unwrap_or(u32::MAX);
                self.base.saturating_mul(factor).min(self.max)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_from_five_milliseconds_up_to_a_thousand_seconds() {
        let delays: Vec<_> = (0..=20).map(|n| Backoff::KEYS.delay(n).as_millis()).collect();
        assert_eq!(delays[..5], [0, 5, 10, 20, 40]);
        assert_eq!(delays[18], 655_360);
        assert_eq!(delays[19], 1_000_000);
        assert_eq!(Backoff::KEYS.delay(u32::MAX).as_secs(), 1000);
    }
}
