//! The rules of structurality. Source: apiextensions `pkg/apiserver/schema/{validation,complete,convert}.go`.

use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;

use pilothouse_cel::Pattern;

use super::props::{AdditionalProps, Props};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Why a schema cannot be read as a structural one at all.
pub(super) fn unsupported(props: Props<'_>) -> Option<String> {
    let mut found = None;
    props.any(&mut |props| {
        found = if props
            .0
            .get("items")
            .is_some_and(|items| items.as_array().is_some_and(|items| !items.is_empty()))
        {
            Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned())
        } else if props
            .value("x-kubernetes-preserve-unknown-fields")
            .and_then(pilothouse_value::Value::as_bool)
            == Some(false)
        {
            Some(
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned(),
            )
        } else {
            let texts = ["id", "$schema", "$ref"].into_iter().find(|key| props.some_text(key).is_some());
            let maps = ["patternProperties", "dependencies", "definitions"].into_iter();
            let maps = maps.filter(|key| props.map(key).next().is_some());
            let others = Some("additionalItems").filter(|key| props.has(key));
            texts.into_iter().chain(maps).chain(others).next().map(|key| {
                format!(
                    "OpenAPIV3Schema '{}' is not supported",
                    key.strip_prefix("$s").map_or(key.to_owned(), |rest| format!("s{rest}"))
                )
            })
        };
        found.is_some()
    });
    found
}

/// All violations, in the order of their texts.
pub(super) fn structural(props: Props<'_>, path: &Path) -> Vec<field::Error> {
    let mut errors = Vec::new();
    invariants(props, Level::Root, path, &mut errors);
    completeness(props, Some(props), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn invariants(props: Props<'_>, level: Level, path: &Path, errors: &mut Vec<field::Error>) {
    let kind = props.text("type");
    if kind == "array" && props.items().is_none() {
        errors.push(field::Error::required(&path.child("items"), "must be specified"));
    }
    if let Some(items) = props.items() {
        deeper(|| invariants(items, Level::Item, &path.child("items"), errors));
    }
    for (name, child) in props.properties() {
        deeper(|| invariants(child, Level::Field, &path.child("properties").key(name), errors));
    }
    if let Some(additional) = props.additional() {
        let at = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(field::Error::forbidden(&at, "must not be used at the root"));
        }
        if let AdditionalProps::Schema(schema) = additional {
            deeper(|| invariants(schema, Level::Field, &at, errors));
        }
        if props.is_embedded() {
            errors.push(field::Error::forbidden(
                &at,
                "must not be used if x-kubernetes-embedded-resource is set",
            ));
        }
    }
    if props.is_int_or_string() {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        if props.preserves_unknown() {
            errors.push(field::Error::invalid(
                &path.child("x-kubernetes-preserve-unknown-fields"),
                true,
                detail,
            ));
        }
        if props.is_embedded() {
            errors.push(field::Error::invalid(&path.child("x-kubernetes-embedded-resource"), true, detail));
        }
    }
    let skip_any_of = props.spells_int_or_string();
    let skip_first_all_of = props.list("allOf").next().is_some_and(Props::spells_int_or_string);
    restrictions(props, skip_any_of, skip_first_all_of, path, errors);

    let at = path.child("type");
    if props.is_embedded() && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => field::Error::required(&at, detail),
            kind => field::Error::invalid(&at, kind, detail),
        });
    } else if kind.is_empty() && !props.is_int_or_string() && !props.preserves_unknown() {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(field::Error::required(&at, detail));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(field::Error::invalid(&at, kind, "must be object at the root"));
    }
    if level == Level::Root || props.is_embedded() {
        for name in ["kind", "apiVersion"] {
            let found = props.property(name).map(|property| property.text("type"));
            if let Some(kind) = found.filter(|kind| *kind != "string") {
                let at = path.child("properties").key(name).child("type");
                errors.push(field::Error::invalid(&at, kind, "must be string"));
            }
        }
        if let Some(metadata) = props.property("metadata") {
            metadata_invariants(metadata, level, &path.child("properties").key("metadata"), errors);
        }
    }
    if props.is_embedded() && !props.preserves_unknown() && !props.has_properties() {
        errors.push(field::Error::required(
            &path.child("properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ));
    }
}

fn metadata_invariants(props: Props<'_>, level: Level, path: &Path, errors: &mut Vec<field::Error>) {
    if props.text("type") != "object" {
        errors.push(field::Error::invalid(&path.child("type"), props.text("type"), "must be object"));
    }
    if level != Level::Root {
        return;
    }
    let only_names = props.properties().all(|(name, _)| matches!(name, "name" | "generateName"));
    let says_more = props.0.as_object().is_some_and(|fields| {
        fields.iter().any(|(key, value)| match key {
            "type" | "default" => false,
            "properties" => !only_names,
            _ => !is_zero(value),
        })
    });
    if says_more {
        errors.push(field::Error::forbidden(
            path,
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}

fn is_zero(value: &pilothouse_value::Value) -> bool {
    use pilothouse_value::Value;
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn restrictions(
    props: Props<'_>,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &Path,
    errors: &mut Vec<field::Error>,
) {
    if !skip_any_of {
        for (index, one) in props.list("anyOf").enumerate() {
            nested(one, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, one) in props.list("allOf").enumerate() {
        nested(one, skip_first_all_of && index == 0, &path.child("allOf").index(index), errors);
    }
    for (index, one) in props.list("oneOf").enumerate() {
        nested(one, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(not) = props.child("not") {
        nested(not, false, &path.child("not"), errors);
    }
    if let Some(pattern) = props.some_text("pattern")
        && let Err(error) = Pattern::new(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(field::Error::invalid(&path.child("pattern"), pattern, detail));
    }
}

/// A schema below a logical junctor may restrict and nothing else.
fn nested(props: Props<'_>, skip_any_of: bool, path: &Path, errors: &mut Vec<field::Error>) {
    deeper(|| restrictions(props, skip_any_of, false, path, errors));
    if let Some(items) = props.items() {
        deeper(|| nested(items, false, &path.child("items"), errors));
    }
    for (name, child) in props.properties() {
        deeper(|| nested(child, false, &path.child("properties").key(name), errors));
    }
    let mut forbid = |key: &str, is_set: bool, detail: &str| {
        if is_set {
            errors.push(field::Error::forbidden(&path.child(key), detail));
        }
    };
    let has_additional =
        props.additional().is_some_and(|additional| !matches!(additional, AdditionalProps::Bool(false)));
    forbid("type", props.some_text("type").is_some(), "must be empty to be structural");
    forbid("additionalProperties", has_additional, "must be undefined to be structural");
    forbid("default", props.has("default"), "must be undefined to be structural");
    forbid("title", props.some_text("title").is_some(), "must be empty to be structural");
    forbid("description", props.some_text("description").is_some(), "must be empty to be structural");
    forbid("nullable", props.flag("nullable"), "must be false to be structural");
    let false_to_be = "must be false to be structural";
    forbid("x-kubernetes-preserve-unknown-fields", props.preserves_unknown(), false_to_be);
    forbid("x-kubernetes-embedded-resource", props.is_embedded(), false_to_be);
    forbid("x-kubernetes-int-or-string", props.is_int_or_string(), false_to_be);
    let keys = "x-kubernetes-list-map-keys";
    forbid(keys, !props.values(keys).is_empty(), "must be empty to be structural");
    for key in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        forbid(key, props.has(key), "must be undefined to be structural");
    }
    let rules = "x-kubernetes-validations";
    forbid(rules, !props.values(rules).is_empty(), "must be empty to be structural");
    if props.property("metadata").is_some() {
        errors.push(field::Error::forbidden(
            &path.child("properties").key("metadata"),
            "must not be specified in a nested context",
        ));
    }
}

/// What alternatives speak of must be declared outside of them. As upstream, this looks at the root's junctors only.
fn completeness(
    props: Props<'_>,
    declared: Option<Props<'_>>,
    at: &Path,
    from: &Path,
    errors: &mut Vec<field::Error>,
) {
    let junctors = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| {
        props.list(key).enumerate().map(move |(index, one)| (one, from.child(key).index(index)))
    });
    let not = props.child("not").map(|not| (not, from.child("not")));
    for (one, from) in not.into_iter().chain(junctors) {
        deeper(|| nested_completeness(one, declared, at, &from, errors));
    }
}

fn nested_completeness(
    props: Props<'_>,
    declared: Option<Props<'_>>,
    at: &Path,
    from: &Path,
    errors: &mut Vec<field::Error>,
) {
    let Some(declared) = declared else {
        errors.push(field::Error::required(at, format!("because it is defined in {from}")));
        return;
    };
    completeness(props, Some(declared), at, from, errors);
    if let Some(items) = props.items() {
        let (at, from) = (at.child("items"), from.child("items"));
        deeper(|| nested_completeness(items, declared.items(), &at, &from, errors));
    }
    for (name, child) in props.properties() {
        let (at, from) = (at.child("properties").key(name), from.child("properties").key(name));
        deeper(|| nested_completeness(child, declared.property(name), &at, &from, errors));
    }
}
