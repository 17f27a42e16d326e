use crate::any_document;
use crate::schemas::{fields, of, words};
use pilothouse_merge::strategic;
use pilothouse_schema::{Patch, Schema, Type};
use pilothouse_value::{Value, json};
use proptest::prelude::*;

fn merging(items: Schema, merge_key: Option<&'static str>) -> Schema {
    let patch = Patch { merge_key, strategies: &["merge"], ..Patch::default() };
    Schema { items: Some(items.into()), patch, ..of(Type::Array) }
}

/// A workload in small: the lists and strategies that matter.
fn workload() -> Schema {
    let named = || fields(vec![("name", of(Type::String)), ("value", of(Type::String))]);
    let container = fields(vec![
        ("name", of(Type::String)),
        ("image", of(Type::String)),
        ("env", merging(named(), Some("name"))),
        ("args", Schema { items: Some(of(Type::String).into()), ..of(Type::Array) }),
    ]);
    let volume = Schema {
        patch: Patch { merge_key: Some("name"), strategies: &["merge", "retainKeys"], ..Patch::default() },
        ..merging(named(), Some("name"))
    };
    fields(vec![
        ("labels", words()),
        ("finalizers", merging(of(Type::String), None)),
        ("containers", merging(container, Some("name"))),
        ("volumes", volume),
        (
            "strategy",
            Schema {
                patch: Patch { merge_key: None, strategies: &["retainKeys"], ..Patch::default() },
                ..of(Type::Object)
            },
        ),
        (
            "whole",
            Schema {
                patch: Patch { merge_key: None, strategies: &["replace"], ..Patch::default() },
                ..of(Type::Object)
            },
        ),
    ])
}

fn patched(doc: Value, patch: Value) -> Result<Value, String> {
    strategic::apply(&doc, &patch, &workload()).map_err(|why| why.to_string())
}

#[test]
fn lists_merge_by_their_key_and_others_are_replaced() {
    let doc = json!({"containers": [
        {"name": "a", "image": "a:1", "args": ["x", "y"], "env": [{"name": "E", "value": "1"}]},
        {"name": "b", "image": "b:1"},
    ]});
    let patch = json!({"containers": [
        {"name": "a", "image": "a:2", "args": ["z"], "env": [{"name": "F", "value": "2"}]},
    ]});
    let expected = json!({"containers": [
        {"name": "a", "image": "a:2", "args": ["z"],
         "env": [{"name": "F", "value": "2"}, {"name": "E", "value": "1"}]},
        {"name": "b", "image": "b:1"},
    ]});
    assert_eq!(patched(doc, patch), Ok(expected));
}

#[test]
fn the_element_order_of_kubectl_apply_is_kept() {
    let doc = json!({"containers": [{"name": "a"}, {"name": "injected"}, {"name": "b"}, {"name": "old"}]});
    let patch = json!({
        "$setElementOrder/containers": [{"name": "b"}, {"name": "new"}, {"name": "a"}],
        "containers": [{"name": "new", "image": "i"}, {"$patch": "delete", "name": "old"}],
    });
    let names: Vec<_> = patched(doc, patch)
        .unwrap()
        .items_at(&["containers"])
        .iter()
        .map(|container| container.str_at(&["name"]).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["injected", "b", "new", "a"]);
}

#[test]
fn an_order_alone_sorts_and_an_order_that_misses_an_item_is_refused() {
    let doc = json!({"finalizers": ["a", "b", "c"]});
    let patch =
        json!({"$setElementOrder/finalizers": ["c", "a"], "$deleteFromPrimitiveList/finalizers": ["b"]});
    assert_eq!(patched(doc.clone(), patch), Ok(json!({"finalizers": ["c", "a"]})));
    let patch = json!({"$setElementOrder/finalizers": ["a"], "finalizers": ["z"]});
    let refused = patched(doc, patch).unwrap_err();
    assert_eq!(refused, "The order in patch list:\n[z]\n doesn't match $setElementOrder list:\n[a]\n");
}

#[test]
fn directives_delete_and_replace() {
    let table = [
        (
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"a": null, "b": "2"}}),
            json!({"labels": {"b": "2"}}),
        ),
        (
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"$patch": "replace", "b": "2"}}),
            json!({"labels": {"b": "2"}}),
        ),
        (json!({"labels": {"a": "1"}}), json!({"labels": {"$patch": "delete"}}), json!({"labels": {}})),
        (json!({"whole": {"a": 1}}), json!({"whole": {"b": 1}}), json!({"whole": {"b": 1}})),
        (
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"containers": [{"name": "c"}]}),
        ),
        (
            json!({"finalizers": ["a", "b"]}),
            json!({"finalizers": ["b", "c"]}),
            json!({"finalizers": ["a", "b", "c"]}),
        ),
        (
            json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        ),
        (
            json!({}),
            json!({"labels": {"a": "1", "b": null}, "containers": [{"name": "x", "$patch": "delete"}, {"name": "y"}]}),
            json!({"labels": {"a": "1"}, "containers": [{"name": "y"}]}),
        ),
    ];
    for (doc, patch, expected) in table {
        assert_eq!(patched(doc.clone(), patch.clone()), Ok(expected), "{doc} patched with {patch}");
    }
}

#[test]
fn long_lists_are_merged_in_the_time_of_their_length() {
    let names = |from: usize| (from..from + 20_000).map(|index| format!("f{index}")).collect::<Vec<_>>();
    let doc = json!({"finalizers": names(0)});
    let patch = json!({"$setElementOrder/finalizers": names(10_000), "finalizers": names(10_000)});
    let merged = patched(doc, patch).unwrap();
    assert_eq!(merged.items_at(&["finalizers"]).len(), 30_000);
}

#[test]
fn what_cannot_be_merged_is_refused_with_upstreams_text() {
    let table = [
        (
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"image": "i"}]}),
            "map: map[image:i] does not contain declared merge key: name",
        ),
        (
            json!({"strategy": {"type": "a"}}),
            json!({"strategy": {"$retainKeys": ["x"], "type": "b"}}),
            "invalid patch format of retainKeys",
        ),
        (
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"$patch": "explode"}}),
            "unknown patch type: explode in map: map[$patch:explode]",
        ),
    ];
    for (doc, patch, expected) in table {
        assert_eq!(patched(doc, patch), Err(expected.to_owned()));
    }
}

proptest! {
    #[test]
    fn no_patch_panics_and_an_empty_one_changes_nothing(doc in any_document(), patch in any_document()) {
        let wrapped = |value: Value| json!({"containers": value.clone(), "finalizers": value.clone(), "labels": value});
        let _ = patched(wrapped(doc.clone()), wrapped(patch));
        prop_assert_eq!(patched(wrapped(doc.clone()), json!({})), Ok(wrapped(doc)));
    }
}
