//! What is remembered, and what is told once it is not.

use super::*;
use pilothouse_store::Expired;

#[test]
fn the_past_can_be_read_until_it_leaves_the_history() {
    let store = Store::memory(Config { history: 3 });
    let start = store.revision();
    let mut last = put(&store, "ns", "a", None).unwrap();
    for _ in 0..4 {
        last = put(&store, "ns", "a", Some(last.revision())).unwrap();
    }
    let at = |revision| store.snapshot_at(revision).map(|s| s.get(&pods(), "ns", "a").unwrap().revision());
    assert_eq!(at(last.revision()), Ok(last.revision()));
    assert_eq!(at(last.revision() - 3), Ok(last.revision() - 3), "the state before the oldest event");
    assert_eq!(at(start + 1), Err(Expired { requested: start + 1, oldest: last.revision() - 3 }));
    assert!(store.watch(&pods(), last.revision() - 3).is_ok());
    assert!(store.watch(&pods(), last.revision() - 4).is_err());
}

#[tokio::test]
async fn a_watcher_that_falls_behind_is_told_and_holds_up_nobody() {
    let store = Store::memory(Config { history: 2 });
    let mut watcher = store.watch(&pods(), store.revision()).unwrap();
    for name in ["a", "b", "c"] {
        put(&store, "ns", name, None).unwrap();
    }
    assert!(watcher.next().await.is_err());
}
