//! A queue of keys: each key is in it at most once, is never worked on twice at the same time, and comes back after a
//! delay of its own. It is bounded by the number of objects, since a key that waits is not queued again.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The first delay after a failure; it doubles with each further failure of the same key.
const FIRST_BACKOFF: Duration = Duration::from_millis(5);
/// The longest delay after a failure.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Debug)]
pub(crate) struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    /// Keys in `ready`, and keys that became dirty while being worked on.
    dirty: HashSet<K>,
    active: HashSet<K>,
    /// When a delayed key is due; the number keeps keys of the same instant in order.
    later: BTreeMap<(Instant, u64), K>,
    due: HashMap<K, (Instant, u64)>,
    failures: HashMap<K, u32>,
    ticket: u64,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                ready: VecDeque::new(),
                dirty: HashSet::new(),
                active: HashSet::new(),
                later: BTreeMap::new(),
                due: HashMap::new(),
                failures: HashMap::new(),
                ticket: 0,
            }),
            wake: Notify::new(),
        }
    }

    /// Queues a key, unless it waits already.
    pub(crate) fn add(&self, key: K) {
        if self.state.lock().add(key) {
            self.wake.notify_one();
        }
    }

    /// Queues a key after a delay; of several delays of one key the shortest counts.
    pub(crate) fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        self.state.lock().add_at(key, Instant::now() + delay);
        self.wake.notify_one();
    }

    /// Queues a key that failed, after a delay that doubles each time.
    pub(crate) fn retry(&self, key: K) {
        let delay = {
            let mut state = self.state.lock();
            let failures = state.failures.entry(key.clone()).or_default();
            let delay = FIRST_BACKOFF.saturating_mul(1 << (*failures).min(16)).min(LONGEST_BACKOFF);
            *failures += 1;
            delay
        };
        self.add_after(key, delay);
    }

    /// Forgets the failures of a key.
    pub(crate) fn forget(&self, key: &K) {
        self.state.lock().failures.remove(key);
    }

    /// The next key, when there is one. The caller must call [`Queue::done`] with it.
    pub(crate) async fn next(&self) -> K {
        loop {
            let wait = {
                let mut state = self.state.lock();
                state.promote(Instant::now());
                if let Some(key) = state.ready.pop_front() {
                    state.dirty.remove(&key);
                    state.active.insert(key.clone());
                    return key;
                }
                state.later.keys().next().map(|(at, _)| *at)
            };
            match wait {
                Some(at) => tokio::select! {
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => self.wake.notified().await,
            }
        }
    }

    /// Says that the work on a key has ended; if it became dirty meanwhile it is queued again.
    pub(crate) fn done(&self, key: &K) {
        let mut state = self.state.lock();
        state.active.remove(key);
        if state.dirty.contains(key) {
            state.ready.push_back(key.clone());
            self.wake.notify_one();
        }
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn add(&mut self, key: K) -> bool {
        if !self.dirty.insert(key.clone()) {
            return false;
        }
        let idle = !self.active.contains(&key);
        if idle {
            self.ready.push_back(key);
        }
        idle
    }

    fn add_at(&mut self, key: K, at: Instant) {
        if let Some(due) = self.due.get(&key) {
            if due.0 <= at {
                return;
            }
            self.later.remove(&due.clone());
        }
        self.ticket += 1;
        self.due.insert(key.clone(), (at, self.ticket));
        self.later.insert((at, self.ticket), key);
    }

    fn promote(&mut self, now: Instant) {
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.add(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_and_is_worked_on_once() {
        let queue = Queue::new();
        queue.add("a");
        queue.add("b");
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        queue.add("a");
        assert_eq!(queue.next().await, "b");
        queue.done(&"b");
        let early = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
        assert!(early.is_err(), "`a` is still being worked on");
        queue.done(&"a");
        assert_eq!(queue.next().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_key_comes_back_later_each_time_and_holds_no_other_up() {
        let queue = Queue::new();
        let start = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..4 {
            queue.retry("bad");
            queue.add("good");
            assert_eq!(queue.next().await, "good");
            queue.done(&"good");
            let before = Instant::now();
            assert_eq!(queue.next().await, "bad");
            queue.done(&"bad");
            waits.push(before.elapsed().as_millis());
        }
        assert!(waits.windows(2).all(|w| w[1] >= 2 * w[0] - 1), "{waits:?}");
        queue.forget(&"bad");
        queue.retry("bad");
        let before = Instant::now();
        queue.next().await;
        assert!(before.elapsed() < Duration::from_millis(10));
        assert!(start.elapsed() < Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_delays_the_shorter_counts() {
        let queue = Queue::new();
        let start = Instant::now();
        queue.add_after("a", Duration::from_secs(60));
        queue.add_after("a", Duration::from_secs(5));
        queue.add_after("a", Duration::from_secs(90));
        queue.next().await;
        queue.done(&"a");
        assert_eq!(start.elapsed().as_secs(), 5);
        assert!(tokio::time::timeout(Duration::from_secs(600), queue.next()).await.is_err());
    }
}
