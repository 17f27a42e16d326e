//! Behaviour of schemas that the records of a real server do not show.

use pilothouse_schema::{crd, default, prune, structural, validate};
use pilothouse_value::field::Path;
use pilothouse_value::{Value, json};

fn errors(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let node = structural::parse(schema, &Path::root()).unwrap();
    validate(&node, new, old, &Path::root()).iter().map(ToString::to_string).collect()
}

#[test]
fn unchanged_parts_are_not_reported_on_update() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1}, "b": {"type": "string", "maxLength": 1},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "value": {"type": "integer", "minimum": 5}}}},
        "plain": {"type": "array", "items": {"type": "integer", "minimum": 5}},
    }});
    let old = json!({"a": "long", "b": "x", "list": [{"name": "x", "value": 1}, {"name": "y", "value": 6}], "plain": [1, 6]});
    assert_eq!(errors(&schema, &old, Some(&old)), Vec::<String>::new());
    assert_eq!(errors(&schema, &old, None).len(), 3);

    let moved = json!({"a": "long", "b": "x", "list": [{"name": "y", "value": 7}, {"name": "x", "value": 1}], "plain": [1, 6]});
    assert_eq!(errors(&schema, &moved, Some(&old)), Vec::<String>::new());

    let changed = json!({"a": "longer", "b": "x", "list": [{"name": "x", "value": 2}], "plain": [6, 1]});
    assert_eq!(
        errors(&schema, &changed, Some(&old)),
        [
            "a: Too long: may not be more than 1 byte",
            "list[0].value: Invalid value: 2: list[0].value in body should be greater than or equal to 5",
            "plain[1]: Invalid value: 1: plain[1] in body should be greater than or equal to 5",
        ]
    );
}

#[test]
fn duplicates_that_were_there_before_may_stay() {
    let schema = json!({"type": "object", "properties": {
        "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}});
    let old = json!({"s": ["a", "a"]});
    assert_eq!(errors(&schema, &json!({"s": ["a", "a", "b"]}), Some(&old)), Vec::<String>::new());
    assert_eq!(
        errors(&schema, &json!({"s": ["a", "a"]}), Some(&json!({"s": ["a"]}))),
        ["s[1]: Duplicate value: \"a\""]
    );
}

#[test]
fn errors_below_a_path_name_it() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let node = structural::parse(&schema, &Path::root()).unwrap();
    let found = validate(&node, &json!({"n": "x"}), None, &Path::new("status"));
    assert_eq!(
        found[0].to_string(),
        "status.n: Invalid value: \"string\": n in body must be of type integer: \"string\""
    );
}

#[test]
fn defaults_fill_what_is_absent_and_nulls_that_are_no_values() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "string", "nullable": true, "default": "x"},
        "c": {"type": "string"},
        "d": {"type": "object", "default": {}, "properties": {"e": {"type": "integer", "default": 1}}},
        "f": {"type": "object", "properties": {"g": {"type": "integer", "default": 1}}},
        "h": {"type": "object", "additionalProperties": {"type": "object", "properties": {"i": {"type": "integer", "default": 2}}}},
    }});
    let node = structural::parse(&schema, &Path::root()).unwrap();
    let mut value = json!({"a": null, "b": null, "c": null, "h": {"k": {}}});
    default(&node, &mut value);
    assert_eq!(value, json!({"a": "x", "b": null, "d": {"e": 1}, "h": {"k": {"i": 2}}}));
}

#[test]
fn pruning_names_what_it_removes() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "closed": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
    }}}});
    let node = structural::parse(&schema, &Path::root()).unwrap();
    let mut value = json!({
        "apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a", "odd": 1}, "other": {}, "spec": {
        "list": [{"a": "x"}, {"b": 1}], "open": {"any": {"x": 1}, "closed": {"a": "x", "b": 1}},
        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {}, "odd": 1}, "spec": {"x": 1}}}});
    let removed = prune(&node, &mut value);
    assert_eq!(
        removed,
        ["metadata.odd", "other", "spec.list[1].b", "spec.open.closed.b", "spec.pod.metadata.odd"]
    );
    assert_eq!(
        value,
        json!({
        "apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, "spec": {
        "list": [{"a": "x"}, {}], "open": {"any": {"x": 1}, "closed": {"a": "x"}},
        "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": 1}}}})
    );
}

fn definition() -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    crd::default(&mut definition);
    definition
}

fn update_errors(change: impl FnOnce(&mut Value), established: bool) -> Vec<String> {
    let mut old = definition();
    if established {
        old.set(&["status", "conditions"], vec![json!({"type": "Established", "status": "True"})]);
    }
    let mut new = old.clone();
    change(&mut new);
    crd::validate(&new, Some(&old)).iter().map(ToString::to_string).collect()
}

#[test]
fn scope_and_kind_are_fixed_once_established() {
    let change = |new: &mut Value| {
        new.set(&["spec", "scope"], "Cluster");
        new.set(&["spec", "names", "kind"], "Other");
    };
    assert_eq!(update_errors(change, false), Vec::<String>::new());
    assert_eq!(
        update_errors(change, true),
        [
            "spec.scope: Invalid value: \"Cluster\": field is immutable",
            "spec.names.kind: Invalid value: \"Other\": field is immutable"
        ]
    );
}

#[test]
fn group_and_plural_are_always_fixed() {
    let found = update_errors(
        |new| {
            new.set(&["spec", "group"], "other.example.com");
            new.set(&["spec", "names", "plural"], "others");
        },
        false,
    );
    assert_eq!(
        found,
        [
            "spec.group: Invalid value: \"other.example.com\": field is immutable",
            "spec.names.plural: Invalid value: \"others\": field is immutable"
        ]
    );
}

#[test]
fn a_stored_version_stays_in_the_spec() {
    let found = update_errors(
        |new| {
            new.set(
                &["spec", "versions"],
                vec![json!({
        "name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}})],
            )
        },
        false,
    );
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v2");
    assert!(found[1].starts_with(
        "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously"
    ));
}

#[test]
fn rules_are_kept_and_counted() {
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "true"}], "properties": {
        "a": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "message": "no"}]}}}});
    let node = structural::parse(&schema, &Path::root()).unwrap();
    assert_eq!(node.count_rules(), 2);
    let item = node.property("a").and_then(|a| a.items()).unwrap();
    assert_eq!(item.constraints().rules[0].message.as_deref(), Some("no"));
}
