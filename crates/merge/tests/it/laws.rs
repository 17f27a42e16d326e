//! What holds for all field sets, and for whatever documents a client may send.

use crate::any_document;
use crate::schemas::resource;
use pilothouse_merge::fieldset::{FieldSet, PathElement};
use pilothouse_merge::managed::{self, Kind, Manager};
use pilothouse_merge::{json_patch, merge_patch, strategic};
use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, Timestamp, Value, json};
use proptest::prelude::*;

/// How deep a document is that the parser does not let through any deeper.
const DEEP: usize = 127;

fn any_element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        "[a-c]".prop_map(PathElement::field),
        (0i64..3).prop_map(|port| PathElement::key([("port".into(), port.into())])),
        (0i64..3).prop_map(|value| PathElement::Value(value.into())),
    ]
}

fn any_set() -> impl Strategy<Value = FieldSet> {
    let path = prop::collection::vec(any_element(), 1..4);
    prop::collection::vec(path, 0..8).prop_map(|paths| {
        let mut set = FieldSet::new();
        paths.iter().for_each(|path| set.insert_path(path));
        set
    })
}

fn me() -> Manager<'static> {
    Manager { name: "me", api_version: "v1", subresource: "", time: Timestamp::from_unix_seconds(1) }
}

/// An object whose spec is any document.
fn object(gvk: &Gvk, spec: Value) -> Value {
    json!({"apiVersion": gvk.api_version(), "kind": gvk.kind.clone(), "metadata": {"name": "x"}, "spec": spec})
}

/// A spec with some of everything that is told apart.
fn any_spec() -> impl Strategy<Value = Value> {
    let ports = prop::collection::btree_map((0i64..3, "TCP|UDP"), prop::option::of("[a-b<]"), 0..3);
    let containers = prop::collection::btree_map("[a-b\"é]", "[x-y]", 0..3);
    let data = prop::collection::btree_map("[a-c]", "[x-y]", 0..3);
    let tags = prop::collection::btree_set("[a-c<\"]", 0..3);
    (0i64..2, ports, containers, data, tags, any_document()).prop_map(
        |(replicas, ports, containers, data, tags, free)| {
            let ports: Vec<Value> = ports
                .into_iter()
                .map(|((port, protocol), name)| json!({"port": port, "protocol": protocol, "name": name}))
                .collect();
            let containers: Vec<Value> =
                containers.into_iter().map(|(name, image)| json!({"name": name, "image": image})).collect();
            let mut spec = json!({"replicas": replicas, "data": data, "tags": tags, "selector": data});
            spec.set(&["ports"], Value::Array(ports.into()));
            spec.set(&["containers"], Value::Array(containers.into()));
            spec.set(&["free"], json!({"it": free}));
            spec
        },
    )
}

/// Adds to every set of fields one that no reader knows, so that it has to be read to be written.
fn with_unknown_fields(mut object: Value) -> Value {
    if let Some(Value::Array(entries)) = object.at_mut(&["metadata", "managedFields"]) {
        entries.iter_mut().for_each(|entry| entry.set(&["fieldsV1", "z:"], Value::object()));
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn field_sets_are_sets(a in any_set(), b in any_set(), c in any_set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b).intersection(&c), a.intersection(&b.intersection(&c)));
        prop_assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
        prop_assert_eq!(a.difference(&b).difference(&c), a.difference(&b.union(&c)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert_eq!(a.union(&b).len() + a.intersection(&b).len(), a.len() + b.len());
        for path in a.paths() {
            prop_assert!(a.has(&path) && a.union(&b).has(&path));
            prop_assert_eq!(a.intersection(&b).has(&path), b.has(&path));
            prop_assert_eq!(a.difference(&b).has(&path), !b.has(&path));
            let covered = (1..=path.len()).any(|length| b.has(&path[..length]));
            prop_assert_eq!(a.recursive_difference(&b).has(&path), !covered);
        }
    }

    #[test]
    fn every_field_set_is_read_as_it_was_written(set in any_set()) {
        prop_assert_eq!(FieldSet::from_value(&set.to_value()).unwrap(), set.clone());
        prop_assert_eq!(set.paths().len(), set.len());
    }

    #[test]
    fn anything_is_fields_or_an_error(fields in any_document()) {
        if let Ok(set) = FieldSet::from_value(&fields) {
            prop_assert_eq!(FieldSet::from_value(&set.to_value()).unwrap(), set);
        }
    }

    #[test]
    fn entries_that_are_not_read_come_out_as_if_they_were(
        first in any_spec(), writes in prop::collection::vec((any_spec(), 0usize..3, any::<bool>(), any::<bool>()), 1..5),
    ) {
        let (gvk, schema) = (Gvk::new("t", "v1", "T"), resource());
        let kind = Kind::of(&schema);
        let mut live = object(&gvk, first);
        managed::track(None, &mut live, &kind, &me());
        for (place, (spec, name, applies, is_status)) in writes.into_iter().enumerate() {
            let manager = Manager {
                name: ["me", "you", "they"][name],
                api_version: "v1",
                subresource: if is_status { "status" } else { "" },
                time: Timestamp::from_unix_seconds(2 + place as i64),
            };
            let mut new = object(&gvk, spec);
            if applies {
                live = managed::apply(Some(&live), &new, &kind, &manager, true).unwrap_or(live);
                continue;
            }
            new.set(&["metadata"], live.at(&["metadata"]).cloned().unwrap());
            let (marked, mut read) = (with_unknown_fields(live.clone()), with_unknown_fields(new.clone()));
            managed::track(Some(&live), &mut new, &kind, &manager);
            managed::track(Some(&marked), &mut read, &kind, &manager);
            prop_assert_eq!(&new, &read);
            live = new;
        }
    }

    #[test]
    fn whatever_is_applied_or_recorded_is_done_or_refused(
        live in any_document(), new in any_document(), entries in any_document(), built_in in any::<bool>(),
    ) {
        let gvk = if built_in { Gvk::new("", "v1", "Pod") } else { Gvk::new("t", "v1", "T") };
        let own = resource();
        let schema = builtin::schema(&gvk).unwrap_or(&own);
        let (mut live, mut new) = (object(&gvk, live), object(&gvk, new));
        live.set(&["metadata", "managedFields"], entries);
        for force in [false, true] {
            if let Ok(once) = managed::apply(Some(&live), &new, &Kind::of(schema), &me(), force) {
                // What a fresh manager applied is its own: it may apply it again.
                let again = managed::apply(Some(&once), &new, &Kind::of(schema), &me(), false);
                prop_assert_eq!(again.unwrap(), once);
            }
        }
        managed::track(Some(&live), &mut new, &Kind::of(schema), &me());
    }
}

#[test]
fn documents_as_deep_as_may_be_are_no_danger() {
    let nested = |leaf: Value| (0..DEEP).fold(leaf, |below, _| json!({"f:a": below}));
    let (one, two) = (nested(1i64.into()), nested(2i64.into()));
    let pod = builtin::schema(&Gvk::new("", "v1", "Pod")).unwrap();
    let _ = FieldSet::from_value(&nested(Value::object()));
    let _ = strategic::apply(&one, &two, pod);
    let _ = json_patch::apply(&one, &json!([{"op": "test", "path": "/f:a", "value": two.clone()}]));
    let mut merged = one.clone();
    merge_patch::apply(&mut merged, &two);
    let gvk = Gvk::new("t", "v1", "T");
    let (live, mut new) = (object(&gvk, one), object(&gvk, two));
    let _ = managed::apply(Some(&live), &new, &Kind::of(&resource()), &me(), true);
    managed::track(Some(&live), &mut new, &Kind::of(&resource()), &me());
}

#[test]
fn a_patch_that_nests_its_own_copies_is_refused_before_it_is_a_danger() {
    let mut path = "/a".to_owned();
    let mut operations = Vec::new();
    for _ in 0..16 {
        operations.push(json!({"op": "copy", "from": "/a", "path": format!("{path}/a")}));
        path = format!("{path}{path}");
    }
    let refused = json_patch::apply(&json!({"a": {}}), &Value::Array(operations.into())).unwrap_err();
    assert_eq!(refused.to_string(), "the patched document is nested deeper than 10000 levels");
    // One level with every operation.
    let wrap = |_| {
        [
            json!({"op": "add", "path": "/b", "value": {}}),
            json!({"op": "move", "from": "/a", "path": "/b/a"}),
            json!({"op": "move", "from": "/b", "path": "/a"}),
        ]
    };
    let operations: Vec<Value> = (0..3_000).flat_map(wrap).collect();
    assert!(json_patch::apply(&json!({"a": {}}), &Value::Array(operations.into())).is_ok());
}
