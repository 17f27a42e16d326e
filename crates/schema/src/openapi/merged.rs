//! Swagger documents of several servers as one. What another server says of paths that are its own is taken over, with the
//! definitions that they use; a definition whose name is taken by another gets a name of its own.
//!
//! Source of behaviour: kube-openapi `pkg/aggregator`.

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value};

const DEFINITIONS: &str = "#/definitions/";
const PARAMETERS: &str = "#/parameters/";
const KIND: &str = "x-kubernetes-group-version-kind";

/// Leaves the paths of a Swagger document that begin so, and no definition that only other paths use.
#[must_use]
pub fn of_paths(mut document: Value, prefix: &str) -> Value {
    keep_paths(&mut document, |path| path.starts_with(prefix));
    document
}

fn keep_paths(document: &mut Value, keeps: impl Fn(&str) -> bool) {
    if object(document, "paths").is_none() {
        return;
    }
    let before = used(document);
    if let Some(Value::Object(paths)) = document.get_mut("paths") {
        paths.retain(|path, _| !path.starts_with('/') || keeps(path));
    }
    let after = used(document);
    if let Some(Value::Object(definitions)) = document.get_mut("definitions") {
        definitions.retain(|name, _| after.contains(name) || !before.contains(name));
    }
}

/// Adds what `other` says of paths that `document` does not have.
pub(super) fn add(document: &mut Value, mut other: Value) {
    let Some(paths) = object(&other, "paths") else { return };
    let known = |path: &str| document.get("paths").and_then(|known| known.get(path)).is_some();
    let (taken, free): (Vec<&str>, Vec<&str>) =
        paths.keys().filter(|path| path.starts_with('/')).partition(|path| known(path));
    if free.is_empty() {
        return;
    }
    if !taken.is_empty() {
        let free: BTreeSet<String> = free.into_iter().map(str::to_owned).collect();
        keep_paths(&mut other, |path| free.contains(path));
    }
    rename(document, &mut other, ("definitions", DEFINITIONS), same_but_for_kinds);
    rename(document, &mut other, ("parameters", PARAMETERS), |one, another| one == another);
    for member in ["definitions", "parameters", "paths"] {
        let Some(Value::Object(theirs)) = other.take(&[member]) else { continue };
        let ours = document.entry(&[member]).make_object();
        for (name, value) in theirs {
            match ours.get_mut(&name) {
                None => {
                    ours.insert(name, value);
                }
                Some(own) if member == "definitions" => join_kinds(own, &value),
                Some(_) => {}
            }
        }
    }
}

fn object<'v>(document: &'v Value, member: &str) -> Option<&'v Map> {
    document.get(member).and_then(Value::as_object)
}

/// The definitions that the paths of a document lead to.
fn used(document: &Value) -> BTreeSet<String> {
    let (mut definitions, mut parameters) = (BTreeSet::new(), BTreeSet::new());
    let mut pending = Vec::new();
    if let Some(paths) = document.get("paths") {
        references(paths, &mut |reference| pending.push(reference.to_owned()));
    }
    while let Some(reference) = pending.pop() {
        let (member, name, seen) = if let Some(name) = reference.strip_prefix(DEFINITIONS) {
            ("definitions", name, &mut definitions)
        } else if let Some(name) = reference.strip_prefix(PARAMETERS) {
            ("parameters", name, &mut parameters)
        } else {
            continue;
        };
        if seen.insert(name.to_owned())
            && let Some(found) = document.at(&[member, name])
        {
            references(found, &mut |reference| pending.push(reference.to_owned()));
        }
    }
    definitions
}

fn references(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::Array(items) => deeper(|| items.iter().for_each(|item| references(item, found))),
        Value::Object(members) => deeper(|| {
            for (name, value) in members.iter() {
                match value.as_str().filter(|_| name == "$ref") {
                    Some(reference) => found(reference),
                    None => references(value, found),
                }
            }
        }),
        _ => {}
    }
}

/// Gives new names to those of `other` whose names stand for something else in `document`.
fn rename(
    document: &Value,
    other: &mut Value,
    (member, prefix): (&str, &str),
    same: impl Fn(&Value, &Value) -> bool,
) {
    let (Some(ours), Some(theirs)) = (object(document, member), object(other, member)) else { return };
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut renames: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in theirs.iter() {
        if ours.get(name).is_none_or(|own| same(own, value)) {
            continue;
        }
        let mut numbers = 2_u64..;
        let mut next = || format!("{name}_v{}", numbers.next().unwrap_or_default());
        let mut new = next();
        while let Some(own) = ours.get(&new) {
            if same(own, value) {
                break;
            }
            new = next();
        }
        if ours.get(&new).is_none() {
            while used.contains(&new) || theirs.contains_key(&new) || ours.contains_key(&new) {
                new = next();
            }
            used.insert(new.clone());
        }
        renames.insert(name.to_owned(), new);
    }
    if renames.is_empty() {
        return;
    }
    refer_anew(other, prefix, &renames);
    if let Some(Value::Object(theirs)) = other.take(&[member]) {
        let named = theirs.into_iter().map(|(name, value)| match renames.get(&*name) {
            Some(new) => (new.clone(), value),
            None => (name.into(), value),
        });
        other.set(&[member], named.collect::<Map>());
    }
}

fn refer_anew(value: &mut Value, prefix: &str, renames: &BTreeMap<String, String>) {
    match value {
        Value::Array(items) => deeper(|| items.iter_mut().for_each(|item| refer_anew(item, prefix, renames))),
        Value::Object(members) => deeper(|| {
            for (name, value) in members.iter_mut() {
                let reference = value.as_str().filter(|_| name == "$ref");
                let new = reference.and_then(|text| renames.get(text.strip_prefix(prefix)?));
                match new {
                    Some(new) => *value = format!("{prefix}{new}").into(),
                    None => refer_anew(value, prefix, renames),
                }
            }
        }),
        _ => {}
    }
}

/// Whether two definitions are alike, whatever kinds they say that they are of.
fn same_but_for_kinds(one: &Value, another: &Value) -> bool {
    let (Some(one), Some(another)) = (one.as_object(), another.as_object()) else { return one == another };
    let members = |of: &Map| of.len() - usize::from(of.contains_key(KIND));
    members(one) == members(another)
        && one.iter().filter(|(name, _)| *name != KIND).all(|(name, value)| another.get(name) == Some(value))
}

/// Adds the kinds of a definition to those of one that is alike.
fn join_kinds(own: &mut Value, other: &Value) {
    let name = |kind: &Value| {
        let text = |key: &str| kind.str_at(&[key]).unwrap_or_default();
        format!("{}/{}.{}", text("group"), text("version"), text("kind"))
    };
    let mut kinds = own.items_at(&[KIND]).to_vec();
    let known = kinds.len();
    for kind in other.items_at(&[KIND]) {
        if !kinds.iter().any(|one| name(one) == name(kind)) {
            kinds.push(kind.clone());
        }
    }
    if kinds.len() > known {
        kinds.sort_by_key(name);
        own.set(&[KIND], kinds);
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    fn answering(definition: &str) -> Value {
        json!({"get": {"responses": {"200": {"schema": {"$ref": format!("{DEFINITIONS}{definition}")}}}}})
    }

    #[test]
    fn a_definition_whose_name_is_taken_gets_another() {
        let mut document = json!({
            "paths": {"/a": answering("A")},
            "definitions": {"A": {"type": "object"}, "A_v2": {"type": "string"}, "Same": {"type": "object"}},
        });
        let other = json!({
            "paths": {"/a": answering("Same"), "/b": answering("A")},
            "definitions": {
                "A": {"type": "integer", "x-kubernetes-group-version-kind": [{"kind": "A"}]},
                "Same": {"type": "object"}, "Unused": {},
            },
        });
        add(&mut document, other);
        assert_eq!(document.at(&["paths", "/b"]), Some(&answering("A_v3")));
        assert_eq!(document.str_at(&["definitions", "A_v3", "type"]), Some("integer"));
        assert_eq!(document.str_at(&["definitions", "A_v2", "type"]), Some("string"));
        assert!(document.at(&["definitions", "Unused"]).is_some(), "nobody used it before either");
    }

    #[test]
    fn definitions_that_differ_in_their_kinds_alone_are_one() {
        let kind = |group: &str| json!({"group": group, "version": "v1", "kind": "Options"});
        let options =
            |group: &str| json!({"type": "object", "x-kubernetes-group-version-kind": [kind(group)]});
        let mut document = json!({"paths": {"/a": {}}, "definitions": {"Options": options("b")}});
        let other = json!({"paths": {"/b": answering("Options")}, "definitions": {"Options": options("a")}});
        add(&mut document, other);
        let kinds = document.items_at(&["definitions", "Options", KIND]);
        assert_eq!(kinds, &[kind("a"), kind("b")]);
    }

    #[test]
    fn what_only_other_paths_use_is_left_out() {
        let document = json!({
            "paths": {"/apis/a/v1/": answering("A"), "/apis/": answering("Groups"), "x-note": 1},
            "definitions": {"A": {"items": {"$ref": "#/definitions/Inner"}}, "Inner": {}, "Groups": {}, "Free": {}},
        });
        let left = of_paths(document, "/apis/a/v1/");
        let names: Vec<&str> = object(&left, "definitions").unwrap().keys().collect();
        assert_eq!(names, ["A", "Free", "Inner"]);
        assert_eq!(object(&left, "paths").unwrap().len(), 2);
    }
}
