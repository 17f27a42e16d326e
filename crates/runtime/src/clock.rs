//! The time of day, as the controllers of an operator see it.

use std::time::Instant as MachineInstant;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The machine's time of day, moved by what tokio's clock was moved: in a test that holds the clock and lets it jump, the
/// time of day jumps with it; else it is the machine's time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tokio: Instant,
    machine: MachineInstant,
}

impl Default for Clock {
    fn default() -> Self {
        Self { tokio: Instant::now(), machine: MachineInstant::now() }
    }
}

impl Clock {
    /// The time of day now.
    pub fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        let tokio = SignedDuration::try_from(self.tokio.elapsed()).unwrap_or(SignedDuration::MAX);
        let machine = SignedDuration::try_from(self.machine.elapsed()).unwrap_or(SignedDuration::MAX);
        match tokio.checked_sub(machine) {
            // Reading two clocks takes a moment.
            Some(moved) if moved.abs() > SignedDuration::from_millis(100) => {
                now.checked_add(moved).unwrap_or(now)
            }
            _ => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_time_of_day_jumps_with_a_clock_that_is_held() {
        let clock = Clock::default();
        let before = clock.now();
        tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
        let passed = clock.now().duration_since(before);
        // Whoever reads two clocks may be kept waiting between them.
        assert!((3540..=3660).contains(&passed.as_secs()), "{passed:?}");
    }
}
