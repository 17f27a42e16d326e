//! The store through its public door.

use std::sync::Arc;

use bytes::Bytes;
use pilothouse_store::{Change, Config, EventKind, Mismatch, Object, ResourceKey, Store};

mod durable;
mod history;
#[cfg(test)]
mod journal;
mod model;

fn pods() -> ResourceKey {
    ResourceKey::new("", "pods")
}

fn put(store: &Store, namespace: &str, name: &str, expected: Option<u64>) -> Result<Arc<Object>, Mismatch> {
    let mut build = |revision: u64| Bytes::from(format!("{{\"name\":\"{name}\",\"revision\":{revision}}}"));
    store.commit(&pods(), namespace, name, expected, Change::Put(&mut build))
}

fn delete(
    store: &Store,
    namespace: &str,
    name: &str,
    expected: Option<u64>,
) -> Result<Arc<Object>, Mismatch> {
    store.commit(&pods(), namespace, name, expected, Change::Delete(&mut |_| Bytes::from_static(b"{}")))
}

fn names(store: &Store, namespace: Option<&str>, after: Option<(&str, &str)>) -> Vec<String> {
    store.snapshot().list(&pods(), namespace, after).map(|e| format!("{}/{}", e.namespace, e.name)).collect()
}

#[test]
fn every_write_has_the_next_revision_and_the_builder_sees_it() {
    let store = Store::memory(Config::default());
    let first = store.revision();
    let a = put(&store, "ns", "a", None).unwrap();
    let b = put(&store, "ns", "b", None).unwrap();
    assert_eq!((a.revision(), b.revision(), store.revision()), (first + 1, first + 2, first + 2));
    assert_eq!(b.value().i64_at(&["revision"]), Some(i64::try_from(first + 2).unwrap()));
}

#[test]
fn a_write_with_a_stale_expectation_changes_nothing_and_shows_what_is_stored() {
    let store = Store::memory(Config::default());
    let first = put(&store, "ns", "a", None).unwrap();
    let second = put(&store, "ns", "a", Some(first.revision())).unwrap();
    let Err(Mismatch::Stale { current: Some(current) }) = put(&store, "ns", "a", Some(first.revision()))
    else {
        panic!()
    };
    assert_eq!(current.revision(), second.revision());
    assert!(matches!(put(&store, "ns", "a", None), Err(Mismatch::Stale { current: Some(_) })));
    assert!(matches!(delete(&store, "ns", "missing", None), Err(Mismatch::Stale { current: None })));
    assert_eq!(store.revision(), second.revision());
}

#[test]
fn lists_are_ordered_by_namespace_then_name_and_resume_after_a_key() {
    let store = Store::memory(Config::default());
    for (namespace, name) in [("b", "a"), ("a", "z"), ("a", "b"), ("a-b", "x")] {
        put(&store, namespace, name, None).unwrap();
    }
    assert_eq!(names(&store, None, None), ["a/b", "a/z", "a-b/x", "b/a"]);
    assert_eq!(names(&store, Some("a"), None), ["a/b", "a/z"]);
    assert_eq!(names(&store, Some("a"), Some(("a", "b"))), ["a/z"]);
    assert_eq!(names(&store, None, Some(("a", "z"))), ["a-b/x", "b/a"]);
}

#[test]
fn a_snapshot_is_not_touched_by_later_writes() {
    let store = Store::memory(Config::default());
    let a = put(&store, "ns", "a", None).unwrap();
    let before = store.snapshot();
    delete(&store, "ns", "a", Some(a.revision())).unwrap();
    assert!(before.get(&pods(), "ns", "a").is_some());
    assert!(store.get(&pods(), "ns", "a").is_none());
}

#[tokio::test]
async fn a_watch_tells_every_write_after_its_start_in_order() {
    let store = Store::memory(Config::default());
    let a = put(&store, "ns", "a", None).unwrap();
    let mut watcher = store.watch(&pods(), a.revision()).unwrap();
    let changed = put(&store, "ns", "a", Some(a.revision())).unwrap();
    store
        .commit(&ResourceKey::new("", "secrets"), "ns", "s", None, Change::Put(&mut |_| Bytes::new()))
        .unwrap();
    delete(&store, "ns", "a", Some(changed.revision())).unwrap();
    let first = watcher.next().await.unwrap();
    assert_eq!((first.kind, first.previous.map(|p| p.revision())), (EventKind::Modified, Some(a.revision())));
    assert_eq!(watcher.next().await.unwrap().kind, EventKind::Deleted);
    assert!(watcher.try_next().unwrap().is_none());
    assert_eq!(watcher.position(), store.revision());
}
