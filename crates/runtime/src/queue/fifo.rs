//! The queue's rules, free of clocks and tasks: the time is an argument.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

use super::{Load, Outcome};
use crate::backoff::Backoff;

/// Keys that wait their turn, keys that are being worked on, and keys that come back later. A key is in the
/// line at most once and is worked on by one worker at a time; the line is strictly first in, first out, so
/// that every ready key runs once before any key runs twice.
#[derive(Debug)]
pub(crate) struct Fifo<K> {
    line: VecDeque<(K, Instant)>,
    later: BTreeMap<(Instant, u64), K>,
    entries: HashMap<K, Entry>,
    sequence: u64,
    active: usize,
    retrying: usize,
    backoff: Backoff,
}

#[derive(Debug, Default)]
struct Entry {
    in_line: bool,
    /// Since when it is being worked on.
    active: Option<Instant>,
    /// Asked for while it was being worked on: goes to the end of the line when that is done.
    again: bool,
    due: Option<(Instant, u64)>,
    failures: u32,
}

impl<K: Clone + Eq + Hash> Fifo<K> {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self {
            line: VecDeque::new(),
            later: BTreeMap::new(),
            entries: HashMap::new(),
            sequence: 0,
            active: 0,
            retrying: 0,
            backoff,
        }
    }

    /// Puts the key at the end of the line. True when it was not there already.
    pub(crate) fn add(&mut self, key: &K, now: Instant) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.active.is_some() {
            return !std::mem::replace(&mut entry.again, true);
        }
        if std::mem::replace(&mut entry.in_line, true) {
            return false;
        }
        self.line.push_back((key.clone(), now));
        true
    }

    /// Puts the key into the line at the given time, or earlier if it was due earlier.
    pub(crate) fn add_at(&mut self, key: &K, at: Instant) {
        let entry = self.entries.entry(key.clone()).or_default();
        if let Some(due) = entry.due {
            if due.0 <= at {
                return;
            }
            self.later.remove(&due);
        }
        self.sequence += 1;
        let due = (at, self.sequence);
        entry.due = Some(due);
        self.later.insert(due, key.clone());
    }

    /// Takes the first key of the line, with the time since when it waited there.
    pub(crate) fn take(&mut self, now: Instant) -> Option<(K, Instant)> {
        self.promote(now);
        let (key, since) = self.line.pop_front()?;
        let entry = self.entries.entry(key.clone()).or_default();
        entry.in_line = false;
        entry.active = Some(now);
        self.active += 1;
        // The coming reconcile decides anew when to look again.
        if let Some(due) = entry.due.take() {
            self.later.remove(&due);
        }
        Some((key, since))
    }

    /// Ends the work on a key that was taken.
    pub(crate) fn finish(&mut self, key: &K, outcome: Outcome, now: Instant) {
        let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.active.is_some()) else { return };
        entry.active = None;
        self.active -= 1;
        let failed_before = entry.failures > 0;
        let wait = match outcome {
            Outcome::Done => None,
            Outcome::After(wait) => Some(wait),
            Outcome::Retry => Some(self.backoff.delay(entry.failures.saturating_add(1))),
        };
        entry.failures = if outcome == Outcome::Retry { entry.failures.saturating_add(1) } else { 0 };
        match (failed_before, entry.failures > 0) {
            (false, true) => self.retrying += 1,
            (true, false) => self.retrying -= 1,
            _ => {}
        }
        let again = std::mem::take(&mut entry.again);
        if let Some(wait) = wait {
            // A wait that the clock cannot express is one that never ends.
            if let Some(at) = now.checked_add(wait) {
                self.add_at(key, at);
            }
        }
        if again {
            self.add(key, now);
        }
        if let Some(entry) = self.entries.get(key)
            && !entry.in_line
            && entry.due.is_none()
            && entry.failures == 0
        {
            self.entries.remove(key);
        }
    }

    /// When the next delayed key is due, if the line is empty till then.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.later.first_key_value().map(|((at, _), _)| *at)
    }

    /// Moves the keys that are due into the line.
    fn promote(&mut self, now: Instant) {
        while let Some(first) = self.later.first_entry() {
            if first.key().0 > now {
                break;
            }
            let (due, key) = first.remove_entry();
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.due = None;
            }
            self.add(&key, due.0);
        }
    }

    /// How long the keys that are being worked on have taken so far.
    pub(crate) fn unfinished(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let active = self.entries.values().filter_map(|entry| entry.active);
        active.map(move |since| now.saturating_duration_since(since))
    }

    pub(crate) fn load(&self) -> Load {
        Load {
            waiting: self.line.len(),
            active: self.active,
            delayed: self.later.len(),
            retrying: self.retrying,
        }
    }

    /// How many times in a row the key failed.
    pub(crate) fn failures(&self, key: &K) -> u32 {
        self.entries.get(key).map_or(0, |entry| entry.failures)
    }
}

/// A clock's instant that only tests use.
#[cfg(test)]
pub(crate) fn at(start: Instant, milliseconds: u64) -> Instant {
    start + Duration::from_millis(milliseconds)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn fifo() -> (Fifo<u32>, Instant) {
        (Fifo::new(Backoff::KEYS), Instant::now())
    }

    #[test]
    fn a_key_is_in_the_line_once() {
        let (mut queue, now) = fifo();
        assert!(queue.add(&1, now));
        assert!(!queue.add(&1, now));
        assert_eq!(queue.take(now).map(|taken| taken.0), Some(1));
        assert_eq!(queue.take(now), None);
    }

    #[test]
    fn a_key_added_while_active_runs_again_after_the_others() {
        let (mut queue, now) = fifo();
        queue.add(&1, now);
        queue.take(now);
        queue.add(&2, now);
        queue.add(&1, now);
        assert_eq!(queue.take(now).map(|taken| taken.0), Some(2), "key 1 must not run twice at a time");
        assert_eq!(queue.take(now), None);
        queue.finish(&1, Outcome::Done, now);
        assert_eq!(queue.take(now).map(|taken| taken.0), Some(1));
    }

    #[test]
    fn failures_back_off_for_their_key_alone_and_success_forgets_them() {
        let (mut queue, start) = fifo();
        queue.add(&1, start);
        queue.take(start);
        queue.finish(&1, Outcome::Retry, start);
        assert_eq!(queue.next_due(), Some(at(start, 5)));
        queue.add(&2, start);
        assert_eq!(queue.take(start).map(|taken| taken.0), Some(2));
        queue.finish(&2, Outcome::Done, start);
        assert_eq!(queue.take(at(start, 5)).map(|taken| taken.0), Some(1));
        queue.finish(&1, Outcome::Retry, at(start, 5));
        assert_eq!(queue.next_due(), Some(at(start, 15)));
        assert_eq!(queue.load().retrying, 1);
        queue.take(at(start, 15));
        queue.finish(&1, Outcome::Done, at(start, 15));
        assert_eq!(queue.load(), Load::default());
        assert!(queue.entries.is_empty(), "nothing is kept of a key that is done");
    }

    #[test]
    fn a_new_event_does_not_wait_for_the_backoff_and_cancels_it() {
        let (mut queue, start) = fifo();
        queue.add(&1, start);
        queue.take(start);
        queue.finish(&1, Outcome::After(Duration::from_secs(60)), start);
        queue.add(&1, start);
        assert!(queue.take(start).is_some());
        assert_eq!(queue.next_due(), None);
    }

    proptest! {
        /// Every ready key once before any key twice, whatever keys come back while others wait.
        #[test]
        fn every_ready_key_runs_once_before_any_key_runs_twice(
            keys in 1u32..60, workers in 1usize..8, hot in proptest::collection::vec(0u32..60, 0..40),
        ) {
            let (mut queue, now) = fifo();
            for key in 0..keys {
                queue.add(&key, now);
            }
            let mut seen = HashSet::new();
            let mut active = VecDeque::new();
            let mut hot = hot.into_iter().cycle();
            while seen.len() < keys as usize {
                while active.len() < workers {
                    let Some((key, _)) = queue.take(now) else { break };
                    prop_assert!(seen.insert(key), "key {} ran twice before all had run once", key);
                    active.push_back(key);
                }
                let Some(done) = active.pop_front() else { break };
                // The object changes as soon as it was reconciled, and so do some others.
                queue.add(&done, now);
                if let Some(other) = hot.next().filter(|other| *other < keys) {
                    queue.add(&other, now);
                }
                queue.finish(&done, Outcome::Done, now);
            }
        }

        /// No key is lost and none is active twice, over any sequence of calls.
        #[test]
        fn no_key_is_lost(steps in proptest::collection::vec((0u8..5, 0u32..6), 1..200)) {
            let (mut queue, start) = fifo();
            let mut active = HashSet::new();
            let mut asked = HashSet::new();
            let mut now = start;
            for (step, key) in steps {
                match step {
                    0 => { queue.add(&key, now); asked.insert(key); }
                    1 => { queue.add_at(&key, at(now, 10)); asked.insert(key); }
                    2 => if let Some((key, _)) = queue.take(now) {
                        prop_assert!(active.insert(key));
                        asked.remove(&key);
                    },
                    3 => if active.remove(&key) { queue.finish(&key, Outcome::Done, now); },
                    _ => now = at(now, 7),
                }
            }
            for key in active.drain() {
                queue.finish(&key, Outcome::Done, now);
            }
            now = at(now, 60_000);
            while let Some((key, _)) = queue.take(now) {
                asked.remove(&key);
                queue.finish(&key, Outcome::Done, now);
            }
            prop_assert!(asked.is_empty(), "lost: {:?}", asked);
            prop_assert_eq!(queue.load(), Load::default());
        }
    }
}
