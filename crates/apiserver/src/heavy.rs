//! Work that takes long enough to hold up other requests: it is done on a thread of its own, while the task of the request
//! waits. What is known to be quick, which is nearly everything, never comes here.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use pilothouse_value::Value;
use tokio::runtime::{Handle, RuntimeFlavor};

/// What the rules of one object may cost, in CEL's units, before they are moved to a thread of their own: about a
/// millisecond's work.
pub(crate) const BRIEF: u64 = 10_000;

/// How much a document must weigh to be large: about its bytes in JSON.
pub(crate) const LARGE: usize = 64 * 1024;

/// How many objects a list must have to be large.
pub(crate) const MANY: usize = 500;

/// How much is left to do for a request, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Whether the thread may be left to the request alone.
    apart: bool,
    heavy: AtomicBool,
}

impl Load {
    /// That of a request from the network. Its task was started here, so the thread can be left to it if there are others.
    pub(crate) fn of_network() -> Load {
        let threads = Handle::try_current().map(|runtime| runtime.runtime_flavor());
        Load { apart: matches!(threads, Ok(RuntimeFlavor::MultiThread)), heavy: AtomicBool::new(false) }
    }

    /// Notes that a document of so many bytes is about to be worked through. If that is much, it is done by [`Load::bear`].
    pub(crate) async fn put(&self, bytes: usize) {
        if self.apart && bytes >= LARGE && !self.heavy.swap(true, Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    }

    /// Does the work of a request. From when it is known to be much, the requests that wait for the same thread are left to others:
    /// a task that does not wait for anything would hold them up until it is done.
    pub(crate) async fn bear<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|context| {
            if self.heavy.load(Ordering::Relaxed) {
                return tokio::task::block_in_place(|| work.as_mut().poll(context));
            }
            work.as_mut().poll(context)
        })
        .await
    }
}

/// Does something on a thread that may be blocked.
pub(crate) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            // That goes on as if it had been done here.
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Whether working through a document may take long. It is looked at no further than that is known.
pub(crate) fn is_large(document: &Value) -> bool {
    let mut left = LARGE;
    !document.fits_into(&mut left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn a_document_is_large_by_its_texts_or_by_its_number_of_values() {
        assert!(!is_large(&json!({"a": [1, 2, {"b": "c"}]})));
        assert!(is_large(&json!({"a": "x".repeat(LARGE)})));
        assert!(is_large(&Value::Array(vec![Value::Null; LARGE / 3 + 1].into())));
    }

    #[test]
    fn a_large_document_does_not_hold_up_who_waits_for_the_same_thread() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let (done, other) = std::sync::mpsc::channel();
            let heavy = tokio::spawn(async move {
                let load = Load::of_network();
                let own = &load;
                let work = async move {
                    own.put(LARGE).await;
                    // Somebody else needs the only thread.
                    tokio::spawn(async move { done.send(()) });
                    other.recv()
                };
                load.bear(work).await
            });
            heavy.await.unwrap().unwrap();
        });
    }

    #[tokio::test]
    async fn a_large_document_is_no_trouble_where_there_is_one_thread() {
        let load = Load::of_network();
        let work = async {
            load.put(LARGE).await;
            1
        };
        assert_eq!(load.bear(work).await, 1);
    }

    #[tokio::test]
    async fn work_is_done_elsewhere() {
        let here = std::thread::current().id();
        assert_ne!(run(|| std::thread::current().id()).await, here);
    }
}
