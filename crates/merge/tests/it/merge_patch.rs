use crate::any_document;
use pilothouse_merge::merge_patch;
use pilothouse_value::{Value, json};
use proptest::prelude::*;

fn merged(mut doc: Value, patch: Value) -> Value {
    merge_patch::apply(&mut doc, &patch);
    doc
}

#[test]
fn the_examples_of_rfc_7386_come_out_as_printed() {
    let table = [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (json!({"a": "foo"}), json!(null), json!(null)),
        (json!({"a": "foo"}), json!("bar"), json!("bar")),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ];
    for (doc, patch, expected) in table {
        assert_eq!(merged(doc.clone(), patch.clone()), expected, "{doc} patched with {patch}");
    }
}

#[test]
fn a_request_with_something_else_than_an_object_is_refused() {
    assert!(merge_patch::check(&json!({})).is_ok());
    let refused = merge_patch::check(&json!([])).unwrap_err().status();
    assert_eq!((refused.code, refused.reason.as_str()), (400, "BadRequest"));
}

proptest! {
    #[test]
    fn an_empty_patch_changes_no_object(doc in any_document()) {
        prop_assume!(matches!(doc, Value::Object(_)));
        prop_assert_eq!(merged(doc.clone(), json!({})), doc);
    }

    #[test]
    fn applying_a_patch_again_changes_nothing(doc in any_document(), patch in any_document()) {
        let once = merged(doc, patch.clone());
        prop_assert_eq!(merged(once.clone(), patch), once);
    }
}
