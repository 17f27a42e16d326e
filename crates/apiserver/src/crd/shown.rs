//! Objects as a version shows them, kept for a while: many watchers and lists ask for the same object, and a webhook need
//! be asked only once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use pilothouse_store::Object;
use pilothouse_value::{Status, Value};
use tokio::sync::OnceCell;

/// Most bytes of stored objects whose other faces are kept, for each version of a resource.
const LIMIT: usize = 16 * 1024 * 1024;

type Cell = Arc<OnceCell<Arc<Value>>>;

/// What is kept, by the revision of the stored object: a revision never shows anything else. The oldest go first.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_revision: BTreeMap<u64, (Cell, usize)>,
    bytes: usize,
    /// What was kept before something could not be made: changes are still based on it, and nobody is shown it.
    stale: BTreeMap<u64, (Cell, usize)>,
}

impl Shown {
    fn cell(&self, stored: &Object) -> Cell {
        let mut kept = self.0.lock();
        if let Some((cell, _)) = kept.by_revision.get(&stored.revision()) {
            return cell.clone();
        }
        let cell = Cell::default();
        let size = stored.bytes().len();
        kept.by_revision.insert(stored.revision(), (cell.clone(), size));
        kept.bytes += size;
        while kept.bytes > LIMIT && kept.by_revision.len() > 1 {
            let Some((_, (_, size))) = kept.by_revision.pop_first() else { break };
            kept.bytes -= size;
        }
        cell
    }

    /// What is kept of a stored object.
    pub(crate) fn get(&self, stored: &Object) -> Option<Arc<Value>> {
        self.0.lock().by_revision.get(&stored.revision())?.0.get().cloned()
    }

    /// Shows nobody what is kept any more, as upstream's cache does once it cannot follow.
    pub(crate) fn forget(&self) {
        let mut kept = self.0.lock();
        if !kept.by_revision.is_empty() {
            kept.stale = std::mem::take(&mut kept.by_revision);
            kept.bytes = 0;
        }
    }

    /// What is kept of a stored object, or was before everything was forgotten.
    pub(crate) fn get_even_stale(&self, stored: &Object) -> Option<Arc<Value>> {
        self.get(stored).or_else(|| self.0.lock().stale.get(&stored.revision())?.0.get().cloned())
    }

    /// Keeps what a stored object is shown as.
    pub(crate) fn keep(&self, stored: &Object, value: &Arc<Value>) {
        // Whoever was faster kept the same.
        let _kept = self.cell(stored).set(value.clone());
    }

    /// What a stored object is shown as; `make` runs if nobody has made it before. Those who ask meanwhile wait for it.
    ///
    /// # Errors
    /// What `make` says. A failure is not kept.
    pub(crate) async fn get_or_make<F>(
        &self,
        stored: &Object,
        make: impl FnOnce() -> F + Send,
    ) -> Result<Arc<Value>, Status>
    where
        F: Future<Output = Result<Arc<Value>, Status>> + Send,
    {
        self.cell(stored).get_or_try_init(make).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_store::{Change, ResourceKey, Store};

    fn object(name: &str) -> Arc<Object> {
        let key = ResourceKey::new("demo.io", "widgets");
        let mut build = |_: u64| bytes::Bytes::from(format!("{{\"name\":\"{name}\"}}"));
        Store::memory(Default::default()).commit(&key, "", name, None, Change::Put(&mut build)).unwrap()
    }

    #[tokio::test]
    async fn an_object_is_made_once_and_a_failure_is_not_kept() {
        let (shown, object) = (Shown::default(), object("a"));
        let failed = shown.get_or_make(&object, || async { Err(Status::internal("no")) }).await;
        assert!(failed.is_err());
        let made = shown.get_or_make(&object, || async { Ok(Arc::new(Value::from(1))) }).await.unwrap();
        let again =
            shown.get_or_make(&object, || async { Err(Status::internal("asked again")) }).await.unwrap();
        assert_eq!(made, again);
        assert_eq!(shown.get(&object), Some(made));
    }
}
