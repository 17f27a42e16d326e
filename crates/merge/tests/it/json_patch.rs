use crate::any_document;
use pilothouse_merge::json_patch::{self, MAX_OPERATIONS};
use pilothouse_value::{Value, json};
use proptest::prelude::*;

fn patched(doc: Value, patch: Value) -> Result<Value, String> {
    json_patch::apply(&doc, &patch).map_err(|why| why.to_string())
}

#[test]
fn operations_do_what_rfc_6902_says() {
    let table = [
        (json!({"a": "b"}), json!([{"op": "add", "path": "/c", "value": "d"}]), json!({"a": "b", "c": "d"})),
        (json!({"a": [1, 3]}), json!([{"op": "add", "path": "/a/1", "value": 2}]), json!({"a": [1, 2, 3]})),
        (json!({"a": [1]}), json!([{"op": "add", "path": "/a/-", "value": 2}]), json!({"a": [1, 2]})),
        (json!({"a": 1, "b": 2}), json!([{"op": "remove", "path": "/b"}]), json!({"a": 1})),
        (json!({"a": [1, 2, 3]}), json!([{"op": "remove", "path": "/a/1"}]), json!({"a": [1, 3]})),
        (json!({"a": 1}), json!([{"op": "replace", "path": "/a", "value": 2}]), json!({"a": 2})),
        (
            json!({"a": {"b": 1}, "c": {}}),
            json!([{"op": "move", "from": "/a/b", "path": "/c/d"}]),
            json!({"a": {}, "c": {"d": 1}}),
        ),
        (json!({"a": [1]}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"a": [1], "b": [1]})),
        (
            json!({"x/y": {"~1": 0}}),
            json!([{"op": "replace", "path": "/x~1y/~01", "value": 1}]),
            json!({"x/y": {"~1": 1}}),
        ),
        (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 1}]), json!({"a": 1})),
        (json!({"a": 1}), json!([{"op": "replace", "path": "", "value": {"b": 1}}]), json!({"b": 1})),
    ];
    for (doc, patch, expected) in table {
        assert_eq!(patched(doc.clone(), patch.clone()), Ok(expected), "{doc} patched with {patch}");
    }
}

#[test]
fn the_habits_of_the_go_library_are_kept() {
    let table = [
        (json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/-1"}]), json!({"a": [1]})),
        (json!({"a": [1, 2]}), json!([{"op": "add", "path": "/a/-1", "value": 3}]), json!({"a": [1, 2, 3]})),
        (json!({}), json!([{"op": "replace", "path": "/a", "value": 1}]), json!({"a": 1})),
        (json!({}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"b": null})),
        (json!({}), json!([{"op": "test", "path": "/a", "value": null}]), json!({})),
        (json!({}), json!([{"op": "add", "path": "x/a", "value": 1}]), json!({"a": 1})),
    ];
    for (doc, patch, expected) in table {
        assert_eq!(patched(doc.clone(), patch.clone()), Ok(expected), "{doc} patched with {patch}");
    }
}

#[test]
fn failures_say_what_upstream_says() {
    let table = [
        (
            json!([{"op": "add", "path": "/x/y", "value": 1}]),
            "add operation does not apply: doc is missing path: \"/x/y\": missing value",
        ),
        (
            json!([{"op": "remove", "path": "/x"}]),
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            json!([{"op": "replace", "path": "/a/7", "value": 1}]),
            "replace operation does not apply: doc is missing key: /a/7: missing value",
        ),
        (
            json!([{"op": "add", "path": "/a/7", "value": 1}]),
            "error in add for path: '/a/7': Unable to access invalid index: 7: invalid index referenced",
        ),
        (
            json!([{"op": "remove", "path": "/a/x"}]),
            "error in remove for path: '/a/x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (json!([{"op": "test", "path": "/a/0", "value": 2}]), "testing value /a/0 failed: test failed"),
        (json!([{"op": "jump", "path": "/a"}]), "Unexpected kind: jump"),
    ];
    for (patch, expected) in table {
        assert_eq!(patched(json!({"a": [1]}), patch), Err(expected.to_owned()));
    }
}

#[test]
fn a_failed_operation_answers_422_and_a_malformed_patch_400() {
    let status = |patch| json_patch::apply(&json!({}), &patch).unwrap_err().status();
    let failed = status(json!([{"op": "test", "path": "/a", "value": 1}]));
    assert_eq!((failed.code, failed.reason.as_str()), (422, "Invalid"));
    assert_eq!(failed.message, "the server rejected our request due to an error in our request");
    let malformed = status(json!({"op": "add"}));
    assert_eq!(malformed.code, 400);
    assert_eq!(
        malformed.message,
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
}

#[test]
fn a_patch_has_limits() {
    let many = vec![json!({"op": "test", "path": "/a", "value": null}); MAX_OPERATIONS + 1];
    let refused = json_patch::apply(&json!({}), &Value::Array(many.into())).unwrap_err().status();
    assert_eq!(refused.code, 413);
    assert!(refused.message.ends_with("The allowed maximum operations in a JSON patch is 10000, got 10001"));

    let grow = vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 40];
    let refused = patched(json!({"a": ["xxxxxxxx"]}), Value::Array(grow.into())).unwrap_err();
    assert!(refused.starts_with("Unable to complete the copy, the accumulated size increase of copy is"));

    let deep = |levels| {
        (0..levels).fold(Value::object(), |inner, _| pilothouse_value::Map::from_iter([("a", inner)]).into())
    };
    let deepen = json!([{"op": "move", "from": "/a", "path": format!("/b{}/a", "/a".repeat(6_000))}]);
    let refused = patched(json!({"a": deep(6_000), "b": deep(6_000)}), deepen).unwrap_err();
    assert_eq!(refused, "the patched document is nested deeper than 10000 levels");
}

#[test]
fn strict_decoding_names_fields_that_no_operation_has() {
    let patch =
        json!([{"op": "add", "path": "/a", "value": {"z": 1}}, {"op": "remove", "path": "/a", "why": 1}]);
    assert_eq!(json_patch::unknown_fields(&patch), ["[1].why"]);
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof!["[a-c]{1,2}", "-?[0-3]", Just("-".to_owned()), "[~/01]{0,3}"], 0..4)
        .prop_map(|steps| steps.into_iter().map(|step| format!("/{step}")).collect())
}

proptest! {
    #[test]
    fn no_patch_panics(
        doc in any_document(),
        operations in prop::collection::vec(
            ("add|remove|replace|move|copy|test", any_path(), any_path(), any_document()),
            0..6,
        ),
    ) {
        let patch: Value = operations
            .into_iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        let _ = json_patch::apply(&doc, &patch);
    }

    #[test]
    fn any_document_is_a_patch_or_an_error(doc in any_document(), patch in any_document()) {
        let _ = json_patch::apply(&doc, &patch);
    }
}
