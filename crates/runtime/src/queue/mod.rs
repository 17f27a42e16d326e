//! The work queue of a controller: fair, without duplicates, with a backoff for each key.

mod fifo;

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use self::fifo::Fifo;
use crate::backoff::Backoff;
use crate::metrics::QueueMetrics;

/// How the work on a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done until the key is added again.
    Done,
    /// Done, and look again after this time.
    After(Duration),
    /// Failed: try again after this key's backoff.
    Retry,
}

/// How much a queue has to do at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Keys that wait for a worker.
    pub waiting: usize,
    /// Keys that are being worked on.
    pub active: usize,
    /// Keys that come back at a later time.
    pub delayed: usize,
    /// Keys whose last try failed (they are delayed, waiting or active too).
    pub retrying: usize,
}

impl Load {
    /// True when nothing is running, nothing waits, and nothing is to be tried again after a failure. Keys that
    /// asked to be looked at again later do not count.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.active == 0 && self.retrying == 0
    }
}

/// A queue of keys. A key waits in it at most once and runs at most once at a time; all share it by reference.
#[derive(Debug)]
pub struct Queue<K> {
    fifo: Mutex<Fifo<K>>,
    wake: Notify,
    load: watch::Sender<Load>,
    metrics: QueueMetrics,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff, metrics: QueueMetrics) -> Arc<Self> {
        Arc::new(Self {
            fifo: Mutex::new(Fifo::new(backoff)),
            wake: Notify::new(),
            load: watch::Sender::new(Load::default()),
            metrics,
        })
    }

    /// Puts the key at the end of the line, unless it waits there already.
    pub fn add(&self, key: &K) {
        let mut fifo = self.fifo.lock();
        if fifo.add(key, Instant::now()) {
            self.metrics.added();
        }
        self.publish(&fifo);
        drop(fifo);
        self.wake.notify_one();
    }

    /// Puts the key into the line after `wait`.
    pub fn add_after(&self, key: &K, wait: Duration) {
        let Some(at) = Instant::now().checked_add(wait) else { return };
        let mut fifo = self.fifo.lock();
        fifo.add_at(key, at);
        self.publish(&fifo);
        drop(fifo);
        self.wake.notify_one();
    }

    /// Waits for a key and takes it. [`Queue::finish`] must follow. Nothing is lost when the future is dropped.
    pub async fn next(&self) -> K {
        loop {
            let due = {
                let now = Instant::now();
                let mut fifo = self.fifo.lock();
                if let Some((key, since)) = fifo.take(now) {
                    self.metrics.waited(now.saturating_duration_since(since));
                    self.publish(&fifo);
                    return key;
                }
                fifo.next_due()
            };
            match due {
                None => self.wake.notified().await,
                Some(due) => {
                    // Either way the loop looks again.
                    let _ = tokio::time::timeout_at(due, self.wake.notified()).await;
                }
            }
        }
    }

    /// Ends the work on a key that took `spent`.
    pub fn finish(&self, key: &K, outcome: Outcome, spent: Duration) {
        let mut fifo = self.fifo.lock();
        fifo.finish(key, outcome, Instant::now());
        self.metrics.finished(spent, outcome == Outcome::Retry);
        self.publish(&fifo);
        drop(fifo);
        self.wake.notify_one();
    }

    /// How many times in a row the key failed.
    pub fn failures(&self, key: &K) -> u32 {
        self.fifo.lock().failures(key)
    }

    /// Brings the metrics of unfinished work up to date, which change with nothing but time.
    pub(crate) fn measure(&self) {
        let fifo = self.fifo.lock();
        let times = fifo.unfinished(Instant::now()).map(|time| time.as_secs_f64());
        let (sum, longest) =
            times.fold((0.0, 0.0f64), |(sum, longest), time| (sum + time, longest.max(time)));
        self.metrics.unfinished(sum, longest);
    }

    /// The load as it changes.
    pub fn load(&self) -> watch::Receiver<Load> {
        self.load.subscribe()
    }

    fn publish(&self, fifo: &Fifo<K>) {
        let load = fifo.load();
        self.metrics.depth(load.waiting);
        self.load.send_if_modified(|current| std::mem::replace(current, load) != load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    fn queue() -> Arc<Queue<&'static str>> {
        Queue::new(Backoff::KEYS, Metrics::new().queue("test"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_delayed_key_comes_when_it_is_due() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after(&"a", Duration::from_secs(30));
        queue.add_after(&"b", Duration::from_secs(10));
        assert_eq!(queue.next().await, "b");
        assert_eq!(start.elapsed().as_secs(), 10);
        assert_eq!(queue.next().await, "a");
        assert_eq!(start.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_worker_is_woken() {
        let queue = queue();
        let worker = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await }
        });
        tokio::task::yield_now().await;
        queue.add(&"a");
        assert_eq!(worker.await.unwrap(), "a");
    }

    #[tokio::test(start_paused = true)]
    async fn the_load_tells_when_there_is_nothing_to_do() {
        let queue = queue();
        let mut load = queue.load();
        queue.add(&"a");
        queue.next().await;
        assert!(!load.borrow_and_update().is_idle());
        queue.finish(&"a", Outcome::Retry, Duration::ZERO);
        assert!(!load.borrow_and_update().is_idle(), "a failed key is still work");
        queue.next().await;
        queue.finish(&"a", Outcome::After(Duration::from_secs(3600)), Duration::ZERO);
        assert!(load.borrow_and_update().is_idle(), "a key that only looks again later is not");
    }
}
