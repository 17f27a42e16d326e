//! What outlives the process.

use super::*;

#[test]
fn a_store_that_is_opened_again_has_its_objects_and_goes_on_counting() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, revision) = {
        let store = Store::open(folder.path(), Config::default()).unwrap();
        let kept = put(&store, "ns", "kept", None).unwrap();
        let gone = put(&store, "ns", "gone", None).unwrap();
        delete(&store, "ns", "gone", Some(gone.revision())).unwrap();
        (kept.revision(), store.revision())
    };
    let store = Store::open(folder.path(), Config::default()).unwrap();
    assert_eq!(names(&store, None, None), ["ns/kept"]);
    assert_eq!((store.get(&pods(), "ns", "kept").unwrap().revision(), store.revision()), (kept, revision));
    assert!(store.watch(&pods(), revision - 1).is_err(), "the history does not outlive the process");
    assert!(store.watch(&pods(), revision).is_ok());
}

#[test]
fn a_folder_in_use_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let _first = Store::open(folder.path(), Config::default()).unwrap();
    let error = Store::open(folder.path(), Config::default()).err().unwrap().to_string();
    assert!(error.contains("hint: ") && error.contains("objects.redb"), "{error}");
}
