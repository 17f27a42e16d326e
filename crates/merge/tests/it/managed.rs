use crate::schemas::resource;
use pilothouse_merge::fieldset::{FieldSet, Filter};
use pilothouse_merge::managed::{self, ApplyError, Kind, Manager, Reset};
use pilothouse_value::{Gvk, Timestamp, Value, json};
use proptest::prelude::*;

fn at<'a>(name: &'a str, seconds: i64) -> Manager<'a> {
    Manager { name, api_version: "t/v1", subresource: "", time: Timestamp::from_unix_seconds(seconds) }
}

/// An object with this spec.
fn object(spec: Value) -> Value {
    json!({"apiVersion": "t/v1", "kind": "T", "metadata": {"name": "x", "namespace": "n"}, "spec": spec})
}

fn apply(live: Option<&Value>, spec: Value, name: &str, seconds: i64) -> Value {
    managed::apply(live, &object(spec), &Kind::of(&resource()), &at(name, seconds), false).unwrap()
}

fn refused(live: &Value, spec: Value, name: &str) -> ApplyError {
    managed::apply(Some(live), &object(spec), &Kind::of(&resource()), &at(name, 99), false).unwrap_err()
}

fn update(live: &Value, spec: Value, name: &str, seconds: i64) -> Value {
    let mut new = live.clone();
    new.set(&["spec"], spec);
    managed::track(Some(live), &mut new, &Kind::of(&resource()), &at(name, seconds));
    new
}

/// What a manager owns below `spec`.
fn owned(object: &Value, manager: &str) -> Value {
    let entries = object.items_at(&["metadata", "managedFields"]);
    let entry = entries.iter().find(|entry| entry.str_at(&["manager"]) == Some(manager));
    entry.and_then(|entry| entry.at(&["fieldsV1", "f:spec"])).cloned().unwrap_or_default()
}

#[test]
fn an_apply_that_creates_records_what_was_applied() {
    let created = apply(None, json!({"replicas": 1, "containers": [{"name": "a", "args": ["x"]}]}), "me", 1);
    let expected = json!([{
        "apiVersion": "t/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {
            "f:replicas": {},
            "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:args": {}}},
        }},
        "manager": "me",
        "operation": "Apply",
        "time": "1970-01-01T00:00:01Z",
    }]);
    assert_eq!(created.at(&["metadata", "managedFields"]), Some(&expected));
    assert_eq!(created.at(&["spec", "replicas"]), Some(&json!(1)));
}

#[test]
fn applying_the_same_again_changes_nothing_not_even_the_time() {
    let created = apply(None, json!({"replicas": 1, "tags": ["a"], "data": {"k": "v"}}), "me", 1);
    assert_eq!(
        apply(Some(&created), json!({"replicas": 1, "tags": ["a"], "data": {"k": "v"}}), "me", 2),
        created
    );
}

#[test]
fn fields_that_are_no_longer_applied_are_removed() {
    let live = apply(None, json!({"replicas": 1, "paused": true, "data": {"a": "1", "b": "2"}}), "me", 1);
    let live = apply(Some(&live), json!({"replicas": 1, "data": {"b": "2"}}), "me", 2);
    assert_eq!(live.get("spec"), Some(&json!({"replicas": 1, "data": {"b": "2"}})));
    // As upstream: whoever takes in the document drops a null where none may be.
    let live = apply(Some(&live), json!({}), "me", 3);
    assert_eq!(live.get("spec"), Some(&Value::Null));
}

#[test]
fn a_field_that_another_also_owns_stays() {
    let live = apply(None, json!({"replicas": 1, "paused": true}), "me", 1);
    let live = apply(Some(&live), json!({"replicas": 1}), "you", 2);
    let live = apply(Some(&live), json!({}), "me", 3);
    assert_eq!(live.get("spec"), Some(&json!({"replicas": 1})));
    assert_eq!(owned(&live, "you"), json!({"f:replicas": {}}));
    assert_eq!(owned(&live, "me"), json!({}), "an applied empty object is owned");
}

#[test]
fn items_of_keyed_lists_belong_to_those_who_applied_them() {
    let live = apply(None, json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}), "me", 1);
    let live = apply(Some(&live), json!({"containers": [{"name": "sidecar", "image": "s"}]}), "you", 2);
    let live = apply(Some(&live), json!({"containers": [{"name": "a"}]}), "me", 3);
    assert_eq!(
        live.at(&["spec", "containers"]),
        Some(&json!([{"name": "a"}, {"name": "sidecar", "image": "s"}]))
    );
}

#[test]
fn an_item_goes_with_its_owner_also_if_another_has_set_a_field_in_it() {
    let live = apply(None, json!({"containers": [{"name": "a", "args": ["x"]}]}), "me", 1);
    let live = update(&live, json!({"containers": [{"name": "a", "args": ["x"], "image": "1"}]}), "you", 2);
    assert_eq!(owned(&live, "you"), json!({"f:containers": {"k:{\"name\":\"a\"}": {"f:image": {}}}}));
    let live = apply(Some(&live), json!({"replicas": 1}), "me", 3);
    assert_eq!(live.get("spec"), Some(&json!({"containers": null, "replicas": 1})));
    assert_eq!(owned(&live, "you"), Value::Null);
}

#[test]
fn the_order_of_the_applied_list_wins_and_others_keep_their_place() {
    let live = apply(None, json!({"tags": ["a", "b", "c"]}), "me", 1);
    let live = apply(Some(&live), json!({"tags": ["c", "x", "a"]}), "you", 2);
    assert_eq!(live.at(&["spec", "tags"]), Some(&json!(["b", "c", "x", "a"])));
}

#[test]
fn keys_with_defaults_may_be_left_out() {
    let live = apply(None, json!({"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]}), "me", 1);
    let live = apply(Some(&live), json!({"ports": [{"port": 1, "protocol": "TCP", "name": "n"}]}), "you", 2);
    let expected = json!([{"port": 1, "protocol": "TCP", "name": "n"}, {"port": 1, "protocol": "UDP"}]);
    assert_eq!(live.at(&["spec", "ports"]), Some(&expected));
}

#[test]
fn a_conflict_names_the_manager_and_the_field() {
    let live = apply(None, json!({"replicas": 1}), "me", 1);
    let status = refused(&live, json!({"replicas": 2}), "you").status();
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"me\": .spec.replicas");
    let causes = status.details.unwrap().causes;
    assert_eq!(causes[0].reason, "FieldManagerConflict");
    assert_eq!(causes[0].message, "conflict with \"me\"");
    assert_eq!(causes[0].field, ".spec.replicas");
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let live = apply(None, json!({"replicas": 1, "containers": [{"name": "a", "image": "1"}]}), "me", 1);
    let live = update(
        &live,
        json!({"replicas": 1, "paused": true, "containers": [{"name": "a", "image": "1"}]}),
        "edit",
        2,
    );
    let wanted = json!({"replicas": 2, "paused": false, "containers": [{"name": "a", "image": "2"}]});
    let expected = "Apply failed with 3 conflicts: conflicts with \"edit\" using t/v1:\n- .spec.paused\n\
                    conflicts with \"me\":\n- .spec.replicas\n- .spec.containers[name=\"a\"].image";
    assert_eq!(refused(&live, wanted.clone(), "you").to_string(), expected);

    let forced =
        managed::apply(Some(&live), &object(wanted), &Kind::of(&resource()), &at("you", 3), true).unwrap();
    assert_eq!(forced.at(&["spec", "replicas"]), Some(&json!(2)));
    assert_eq!(
        owned(&forced, "me"),
        json!({"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}})
    );
    assert_eq!(owned(&forced, "edit"), Value::Null);
}

#[test]
fn equal_values_are_shared() {
    let live = apply(None, json!({"replicas": 1}), "me", 1);
    let live = apply(Some(&live), json!({"replicas": 1}), "you", 2);
    assert_eq!(owned(&live, "me"), owned(&live, "you"));
}

#[test]
fn an_update_takes_what_it_changes_and_drops_what_it_removes() {
    let live = apply(None, json!({"replicas": 1, "paused": true, "selector": {"a": "1"}}), "me", 1);
    let live = update(&live, json!({"replicas": 2, "selector": {"a": "1", "b": "2"}}), "edit", 2);
    assert_eq!(owned(&live, "me"), Value::Null, "everything was changed or removed");
    assert_eq!(owned(&live, "edit"), json!({"f:replicas": {}, "f:selector": {}}));
    let same = update(&live, live.get("spec").cloned().unwrap(), "edit", 3);
    assert_eq!(same, live, "no time moves without a change");
}

#[test]
fn a_create_is_tracked_and_metadata_that_the_server_sets_is_nobodys() {
    let mut created = object(json!({"replicas": 1}));
    created.set(&["metadata", "uid"], "u");
    created.set(&["metadata", "labels", "a"], "1");
    managed::track(None, &mut created, &Kind::of(&resource()), &at("kubectl-create", 1));
    let expected = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {".": {}, "f:replicas": {}},
    });
    assert_eq!(created.items_at(&["metadata", "managedFields"])[0].get("fieldsV1"), Some(&expected));
}

#[test]
fn an_object_without_entries_is_not_tracked_until_it_is_applied() {
    let live = object(json!({"replicas": 1}));
    let live = update(&live, json!({"replicas": 2}), "edit", 1);
    assert_eq!(live.at(&["metadata", "managedFields"]), None);
    let live = apply(Some(&live), json!({"replicas": 2, "paused": true}), "me", 2);
    assert_eq!(owned(&live, "before-first-apply"), json!({".": {}, "f:replicas": {}}));
    assert_eq!(owned(&live, "me"), json!({"f:replicas": {}, "f:paused": {}}));
}

#[test]
fn writes_to_a_subresource_have_their_own_entry() {
    let live = apply(None, json!({"replicas": 1}), "me", 1);
    let mut new = live.clone();
    new.set(&["status", "ready"], 1i64);
    new.set(&["metadata", "managedFields"], json!([]));
    managed::track(
        Some(&live),
        &mut new,
        &Kind::of(&resource()),
        &Manager { subresource: "status", ..at("me", 2) },
    );
    let entries = new.items_at(&["metadata", "managedFields"]);
    assert_eq!(entries.len(), 2, "the entries in the request do not count");
    assert_eq!(entries[1].str_at(&["subresource"]), Some("status"));
    assert_eq!(entries[1].str_at(&["operation"]), Some("Update"));
}

#[test]
fn an_empty_list_clears_the_entries_and_starts_anew() {
    let live = apply(None, json!({"replicas": 1}), "me", 1);
    for reset in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new.set(&["metadata", "managedFields"], reset);
        managed::track(Some(&live), &mut new, &Kind::of(&resource()), &at("edit", 2));
        assert_eq!(new.at(&["metadata", "managedFields"]), None);
    }
}

#[test]
fn old_updates_become_ancient_changes() {
    let mut live = apply(None, json!({"data": {"a": "b"}}), "me", 1);
    for index in 0..12i64 {
        let mut spec = live.get("spec").cloned().unwrap();
        spec.set(&["data", &format!("k{index}")], "v");
        live = update(&live, spec, &format!("m{index}"), index + 1);
    }
    let entries = live.items_at(&["metadata", "managedFields"]);
    let managers: Vec<_> = entries.iter().filter_map(|entry| entry.str_at(&["manager"])).collect();
    assert_eq!(managers.len(), 11);
    assert_eq!(managers[..3], ["me", "ancient-changes", "m3"]);
    assert_eq!(owned(&live, "ancient-changes"), json!({"f:data": {"f:k0": {}, "f:k1": {}, "f:k2": {}}}));
}

#[test]
fn kubectl_takes_over_what_it_applied_from_the_client() {
    let last = object(json!({"replicas": 1})).to_json();
    let mut live = object(json!({"replicas": 1}));
    live.set(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"], last);
    managed::track(None, &mut live, &Kind::of(&resource()), &at("kubectl-client-side-apply", 1));
    assert!(matches!(refused(&live, json!({"replicas": 2}), "you"), ApplyError::Conflicts(_)));
    let live = apply(Some(&live), json!({"replicas": 2}), "kubectl", 2);
    assert_eq!(live.at(&["spec", "replicas"]), Some(&json!(2)));
    let annotation =
        live.str_at(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]);
    assert!(annotation.unwrap().contains("\"replicas\":2"));
}

#[test]
fn a_document_that_does_not_fit_its_schema_is_refused() {
    let live = object(json!({}));
    let prefix = "failed to create typed patch object (n/x; t/v1, Kind=T): ";
    let table = [
        (json!({"nope": 1}), ".spec.nope: field not declared in schema"),
        (json!({"replicas": "x"}), ".spec.replicas: expected numeric (int or float), got string"),
        (json!({"tags": ["a", "a"]}), ".spec.tags: duplicate entries for key [=\"a\"]"),
        (
            json!({"containers": [{"name": "a"}, {"name": "a"}]}),
            ".spec.containers: duplicate entries for key [name=\"a\"]",
        ),
        (
            json!({"containers": [{"image": "a"}]}),
            ".spec.containers: element 0: associative list with keys has an element that omits all key fields \
             [\"name\"] (and doesn't have default values for any key fields)",
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(refused(&live, spec, "me").to_string(), format!("{prefix}{expected}"));
    }
    let mut entries = object(json!({}));
    entries.set(&["metadata", "managedFields"], json!([]));
    let refused = managed::apply(None, &entries, &Kind::of(&resource()), &at("me", 1), false).unwrap_err();
    assert_eq!(refused.to_string(), "metadata.managedFields must be nil");
    assert_eq!(refused.status().code, 400);
}

#[test]
fn live_lists_with_duplicates_are_tolerated() {
    let live = object(json!({"tags": ["a", "a", "b"]}));
    let live = apply(Some(&live), json!({"tags": ["c"]}), "me", 1);
    assert_eq!(live.at(&["spec", "tags"]), Some(&json!(["a", "a", "b", "c"])));
    let wanted = json!({"tags": ["a", "c"]});
    assert!(
        matches!(refused(&live, wanted.clone(), "me"), ApplyError::Conflicts(_)),
        "they are owned together"
    );
    let live =
        managed::apply(Some(&live), &object(wanted), &Kind::of(&resource()), &at("me", 2), true).unwrap();
    assert_eq!(live.at(&["spec", "tags"]), Some(&json!(["a", "b", "c"])));
}

#[test]
fn any_spelling_of_a_path_element_is_the_same_field() {
    let fields = json!({"k:{\"b\":1, \"a\":\"x\"}": {}, "v: 1": {}, "i:01": {}});
    let set = FieldSet::from_value(&fields).unwrap();
    assert_eq!(set.to_value(), json!({"k:{\"a\":\"x\",\"b\":1}": {}, "v:1": {}, "i:1": {}}));
    // An element of a kind that comes with a later version.
    assert!(FieldSet::from_value(&json!({"x:y": {}})).unwrap().is_empty());
    assert!(FieldSet::from_value(&json!({"é": {}})).is_err());
}

/// Specs that fit the schema and hit each other's fields often.
fn any_spec() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(vec!["a", "b", "c"]);
    let maybe = |value: BoxedStrategy<Value>| prop::option::of(value);
    let container = (maybe(word().prop_map(Value::from).boxed()), maybe(Just(json!(["x"])).boxed()));
    (
        maybe((0i64..3).prop_map(Value::Int).boxed()),
        maybe(
            prop::collection::btree_map(word(), word(), 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
                .boxed(),
        ),
        maybe(
            Just(vec!["a", "b", "c"])
                .prop_shuffle()
                .prop_flat_map(|all| prop::sample::subsequence(all, 0..3))
                .prop_map(Value::from)
                .boxed(),
        ),
        maybe(prop::collection::btree_map(word(), container, 0..3).prop_map(containers).boxed()),
    )
        .prop_map(|(replicas, data, tags, containers)| {
            let fields = [("replicas", replicas), ("data", data), ("tags", tags), ("containers", containers)];
            Value::Object(fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
        })
}

fn containers(named: std::collections::BTreeMap<&str, (Option<Value>, Option<Value>)>) -> Value {
    named
        .into_iter()
        .map(|(name, (image, args))| {
            let fields = [("name", Some(name.into())), ("image", image), ("args", args)];
            Value::Object(fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_forced_apply_holds_all_that_was_applied_and_comes_to_rest(
        first in any_spec(), second in any_spec(), third in any_spec(),
    ) {
        let force = |live: Option<&Value>, spec: &Value, name, seconds| {
            managed::apply(live, &object(spec.clone()), &Kind::of(&resource()), &at(name, seconds), true).unwrap()
        };
        let live = force(None, &first, "me", 1);
        let live = force(Some(&live), &second, "you", 2);
        let live = update(&live, third, "edit", 3);
        let once = force(Some(&live), &first, "me", 4);
        for field in ["replicas"] {
            if let Some(value) = first.get(field) {
                prop_assert_eq!(once.at(&["spec", field]), Some(value));
            }
        }
        for (key, value) in first.get("data").and_then(Value::as_object).into_iter().flat_map(|map| map.iter()) {
            prop_assert_eq!(once.at(&["spec", "data", key]), Some(value));
        }
        // As upstream: where the last item of a map or list goes, so does what held it, and an applied empty object comes
        // back with the next apply alone (`conformance/truth/topics/repeats.py`).
        let twice = force(Some(&once), &first, "me", 5);
        prop_assert_eq!(&force(Some(&twice), &first, "me", 6), &twice);
    }

    #[test]
    fn field_sets_survive_being_written_and_read(spec in any_spec()) {
        let live = apply(None, spec, "me", 1);
        for entry in live.items_at(&["metadata", "managedFields"]) {
            let fields = entry.get("fieldsV1").unwrap();
            prop_assert_eq!(&FieldSet::from_value(fields).unwrap().to_value(), fields);
        }
    }
}

#[test]
fn who_creates_a_built_in_object_owns_what_is_in_its_structs_and_not_the_structs() {
    let mut created = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "c"}]}}},
    });
    let schema = pilothouse_schema::builtin::schema(&Gvk::new("apps", "v1", "Deployment")).unwrap();
    managed::track(None, &mut created, &Kind::of(schema), &Manager { api_version: "apps/v1", ..at("me", 1) });
    let expected = json!({
        "f:replicas": {},
        "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}}}}},
    });
    assert_eq!(owned(&created, "me"), expected);
}

#[test]
fn what_an_object_had_before_its_first_apply_is_recorded_without_its_status() {
    let mut live = object(json!({"replicas": 1}));
    live.set(&["status", "ready"], 1i64);
    let status = Filter::Exclude(FieldSet::of_fields(&[&["status"]]));
    let schema = resource();
    let kind = Kind::of(&schema).resetting(Some(Reset { filter: &status, only_in: None }));
    let patch = object(json!({"paused": true}));
    let applied = managed::apply(Some(&live), &patch, &kind, &at("me", 2), false).unwrap();
    let entries = applied.items_at(&["metadata", "managedFields"]);
    let before =
        entries.iter().find(|entry| entry.str_at(&["manager"]) == Some("before-first-apply")).unwrap();
    assert_eq!(before.get("fieldsV1"), Some(&json!({"f:spec": {".": {}, "f:replicas": {}}})));
}
