//! The clock of a server. It follows tokio's clock, so that a paused tokio runtime holds it: then nothing expires,
//! backs off or ages until the runtime is idle and moves on to the next timer, and a test needs no sleeps.

use pilothouse_value::Timestamp;
use tokio::time::Instant;

/// Wall-clock time that advances with tokio's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    origin: Instant,
}

impl Clock {
    /// A clock that shows the machine's time now.
    pub fn new() -> Self {
        Self::starting_at(Timestamp::of_machine())
    }

    /// A clock that shows `start` now.
    pub fn starting_at(start: Timestamp) -> Self {
        Self { start, origin: Instant::now() }
    }

    /// The time it shows.
    pub fn now(&self) -> Timestamp {
        self.start.plus(self.origin.elapsed())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}
