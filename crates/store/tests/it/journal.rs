//! What a journal keeps: everything that was acknowledged, whatever the end was like.

use bytes::Bytes;
use pilothouse_store::{Change, Config, ResourceKey, Store};

fn put(store: &Store, name: &str, expected: Option<u64>, text: &str) -> u64 {
    let text = Bytes::copy_from_slice(text.as_bytes());
    let mut build = |_| text.clone();
    let pods = ResourceKey::new("", "pods");
    store.commit(&pods, "default", name, expected, Change::Put(&mut build)).unwrap().revision()
}

fn delete(store: &Store, name: &str, expected: u64) -> u64 {
    let pods = ResourceKey::new("", "pods");
    let mut build = |_| Bytes::new();
    store.commit(&pods, "default", name, Some(expected), Change::Delete(&mut build)).unwrap().revision()
}

fn text(store: &Store, name: &str) -> Option<String> {
    let object = store.get(&ResourceKey::new("", "pods"), "default", name)?;
    Some(String::from_utf8(object.bytes().to_vec()).unwrap())
}

#[test]
fn acknowledged_writes_are_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/objects.journal");
    let store = Store::open_journal(&path, Config::default()).unwrap();
    let first = put(&store, "a", None, r#"{"n":1}"#);
    put(&store, "a", Some(first), r#"{"n":2}"#);
    let gone = put(&store, "b", None, "{}");
    let last = delete(&store, "b", gone);
    drop(store);
    let store = Store::open_journal(&path, Config::default()).unwrap();
    assert_eq!(store.revision(), last, "a removal moves the revision too");
    assert_eq!((text(&store, "a").as_deref(), text(&store, "b")), (Some(r#"{"n":2}"#), None));
    let next = put(&store, "c", None, "{}");
    assert_eq!(next, last + 1);
}

#[test]
fn a_journal_that_is_cut_off_anywhere_keeps_all_whole_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.journal");
    let store = Store::open_journal(&path, Config::default()).unwrap();
    put(&store, "a", None, r#"{"n":1}"#);
    drop(store);
    let one = std::fs::read(&path).unwrap().len();
    let store = Store::open_journal(&path, Config::default()).unwrap();
    put(&store, "b", None, r#"{"n":2}"#);
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    for length in one..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let store = Store::open_journal(&path, Config::default()).unwrap();
        assert_eq!((text(&store, "a").is_some(), text(&store, "b").is_some()), (true, false), "{length}");
        // What is written next stands where the half was.
        put(&store, "c", None, "{}");
        drop(store);
        let store = Store::open_journal(&path, Config::default()).unwrap();
        assert!(text(&store, "c").is_some(), "{length}");
    }
}

#[test]
fn what_is_dead_goes_when_the_journal_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.journal");
    let store = Store::open_journal(&path, Config::default()).unwrap();
    let mut revision = None;
    for n in 0..200 {
        revision = Some(put(&store, "a", revision, &format!(r#"{{"n":{n}}}"#)));
    }
    drop(store);
    let before = path.metadata().unwrap().len();
    let store = Store::open_journal(&path, Config::default()).unwrap();
    assert!(path.metadata().unwrap().len() < before / 50);
    assert_eq!(text(&store, "a").as_deref(), Some(r#"{"n":199}"#));
    let last = put(&store, "a", revision, "{}");
    drop(store);
    let store = Store::open_journal(&path, Config::default()).unwrap();
    assert_eq!((store.revision(), text(&store, "a").as_deref()), (last, Some("{}")));
}

#[test]
fn a_journal_has_one_owner_and_is_not_mistaken_for_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.journal");
    let _first = Store::open_journal(&path, Config::default()).unwrap();
    assert!(Store::open_journal(&path, Config::default()).err().unwrap().is_in_use());
    let other = folder.path().join("other.journal");
    std::fs::write(&other, "some text").unwrap();
    let error = Store::open_journal(&other, Config::default()).err().unwrap();
    assert!(!error.is_in_use() && error.to_string().contains("no journal"), "{error}");
    assert_eq!(std::fs::read(&other).unwrap(), b"some text");
}
