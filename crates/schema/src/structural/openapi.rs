//! The rules of each node that go beyond structurality: keywords that are not supported, lists and maps, CEL texts.
//! Source: `ValidateCustomResourceDefinitionOpenAPISchema` of apiextensions.

use pilothouse_value::Value;
use pilothouse_value::field::{self, Path};
use pilothouse_value::stack::deeper;

use super::props::{AdditionalProps, Props};
use super::{RuleContext, Strictness};
use crate::cel::check::{Check, Scope};
use crate::node::Schema;

const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What the nodes above say.
#[derive(Clone)]
struct Context {
    strictness: Strictness,
    /// Why defaults are forbidden, if they are.
    no_defaults: Option<String>,
    inside_metadata: bool,
    /// The part of the schema whose values cannot be compared with what they were, if the node is in one.
    no_past: Option<Path>,
}

/// What is found on the way.
struct Found<'a> {
    errors: Vec<field::Error>,
    rules: Check<'a>,
}

/// All violations of a whole schema. Rules are compiled if `compiled`, the node of the schema, is given.
pub(super) fn validate(
    props: Props<'_>,
    path: &Path,
    strictness: Strictness,
    compiled: Option<&Schema>,
    rules: RuleContext<'_>,
) -> Vec<field::Error> {
    let mut found = Found { errors: Vec::new(), rules: Check::new(rules.stored, rules.is_unchanged) };
    let context = Context { strictness, no_defaults: None, inside_metadata: false, no_past: None };
    let scope = compiled.map(Scope::root);
    node(props, path, &context, scope.as_ref(), true, &mut found);
    found.errors.extend(found.rules.finish(path));
    found.errors
}

fn node(
    props: Props<'_>,
    path: &Path,
    context: &Context,
    scope: Option<&Scope<'_>>,
    is_root: bool,
    found: &mut Found<'_>,
) {
    deeper(|| node_here(props, path, context, scope, is_root, found));
}

fn node_here(
    props: Props<'_>,
    path: &Path,
    context: &Context,
    scope: Option<&Scope<'_>>,
    is_root: bool,
    found: &mut Found<'_>,
) {
    let before = found.errors.len();
    keywords(props, path, context, &mut found.errors);
    if props.flag("uniqueItems") {
        found.errors.push(field::Error::forbidden(
            &path.child("uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ));
    }
    if let Some(additional) = props.additional() {
        let at = path.child("additionalProperties");
        if props.has_properties() && !matches!(additional, AdditionalProps::Bool(true)) {
            found.errors.push(field::Error::forbidden(
                &at,
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if let AdditionalProps::Schema(schema) = additional {
            let mut inner = context.clone();
            if context.inside_metadata {
                inner.no_defaults =
                    Some("inside additionalProperties applying to object metadata".to_owned());
            }
            let scope = scope.and_then(Scope::additional);
            node(schema, &at, &inner, scope.as_ref(), false, found);
        }
    }
    for (name, child) in props.properties() {
        let mut inner = context.clone();
        if (is_root || props.is_embedded()) && matches!(name, "metadata" | "kind" | "apiVersion") {
            inner.inside_metadata = true;
            if is_root {
                inner.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        let scope = scope.and_then(|scope| scope.property(name));
        node(child, &path.child("properties").key(name), &inner, scope.as_ref(), false, found);
    }
    if let Some(not) = props.child("not") {
        node(not, &path.child("not"), context, None, false, found);
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, one) in props.list(key).enumerate() {
            node(one, &path.child(key).index(index), context, None, false, found);
        }
    }
    for (name, definition) in props.map("definitions") {
        node(definition, &path.child("definitions").key(name), context, None, false, found);
    }
    if let Some(items) = props.items() {
        let mut inner = context.clone();
        if props.text("x-kubernetes-list-type") != "map" && inner.no_past.is_none() {
            inner.no_past = Some(path.clone());
        }
        let scope = scope.and_then(Scope::items);
        node(items, &path.child("items"), &inner, scope.as_ref(), false, found);
    }
    for (index, items) in props.list("items").enumerate() {
        node(items, &path.child("items").index(index), context, None, false, found);
    }
    extensions(props, path, context.strictness, &mut found.errors);
    rule_texts(props, path, &mut found.errors);
    // As upstream, rules are not compiled where the schema is wrong: that would tell of errors that go away with those.
    if let Some(scope) = scope.filter(|_| found.errors.len() == before) {
        found.rules.node(scope, context.no_past.as_ref(), path);
    }
}

fn keywords(props: Props<'_>, path: &Path, context: &Context, errors: &mut Vec<field::Error>) {
    let kind = props.text("type");
    if context.strictness.types && !kind.is_empty() && !TYPES.contains(&kind) {
        let error = field::Error::unsupported(&path.child("type"), kind, TYPES);
        errors.push(error.showing(field::quote(kind)));
    }
    if let Some(reason) = context.no_defaults.as_ref().filter(|_| props.has("default")) {
        errors.push(field::Error::forbidden(&path.child("default"), format!("must not be set {reason}")));
    }
    let unsupported = [
        ("id", props.some_text("id").is_some()),
        ("additionalItems", props.has("additionalItems")),
        ("patternProperties", props.map("patternProperties").next().is_some()),
        ("definitions", props.map("definitions").next().is_some()),
        ("dependencies", props.has("dependencies")),
        ("$ref", props.has("$ref")),
    ];
    for (key, _) in unsupported.into_iter().filter(|(_, is_set)| *is_set) {
        errors.push(field::Error::forbidden(&path.child(key), format!("{key} is not supported")));
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(field::Error::forbidden(&path.child("type"), detail));
    }
    if !props.values("items").is_empty() {
        errors.push(field::Error::forbidden(
            &path.child("items"),
            "items must be a schema object and not an array",
        ));
    }
    if context.inside_metadata && props.is_embedded() {
        errors.push(field::Error::forbidden(
            &path.child("x-kubernetes-embedded-resource"),
            "must not be used inside of resource meta",
        ));
    }
}

fn must_be(path: &Path, kind: &str, detail: &str) -> field::Error {
    let at = path.child("type");
    if kind.is_empty() {
        field::Error::required(&at, detail)
    } else {
        field::Error::invalid(&at, kind, detail)
    }
}

fn extensions(props: Props<'_>, path: &Path, strictness: Strictness, errors: &mut Vec<field::Error>) {
    let kind = props.text("type");
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if props.value(preserve).and_then(Value::as_bool) == Some(false) {
        errors.push(field::Error::invalid(&path.child(preserve), false, "must be true or undefined"));
    }
    let (map_type, list_type) = (props.value("x-kubernetes-map-type"), props.value("x-kubernetes-list-type"));
    if let Some(map_type) = map_type {
        if kind != "object" {
            errors.push(must_be(path, kind, "must be object if x-kubernetes-map-type is specified"));
        }
        if !matches!(map_type.as_str(), Some("atomic" | "granular")) {
            let at = path.child("x-kubernetes-map-type");
            errors.push(field::Error::unsupported(&at, map_type.clone(), ["atomic", "granular"]));
        }
    }
    if let Some(list_type) = list_type {
        if kind != "array" {
            errors.push(must_be(path, kind, "must be array if x-kubernetes-list-type is specified"));
        } else if strictness.atomic_sets
            && has_set_of_granular_items(props)
            && let Some(items) = props.items()
        {
            let key = if items.text("type") == "array" {
                "x-kubernetes-list-type"
            } else {
                "x-kubernetes-map-type"
            };
            // Upstream prints the list type in both cases.
            let value = items.value("x-kubernetes-list-type").cloned().unwrap_or_default();
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            errors.push(field::Error::invalid(&path.child("items").child(key), value, detail));
        }
        if !matches!(list_type.as_str(), Some("atomic" | "set" | "map")) {
            let at = path.child("x-kubernetes-list-type");
            errors.push(field::Error::unsupported(&at, list_type.clone(), ["atomic", "set", "map"]));
        }
    }
    let keys = props.values("x-kubernetes-list-map-keys");
    if !keys.is_empty() {
        let at = path.child("x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(field::Error::required(&at, detail)),
            Some(list_type) if list_type.as_str() != Some("map") => {
                errors.push(field::Error::invalid(&at, list_type.clone(), detail));
            }
            Some(_) => {}
        }
    }
    if list_type.and_then(Value::as_str) == Some("map") {
        list_map(props, keys, path, errors);
    }
    if strictness.map_keys {
        errors.extend(map_keys(props, path));
    }
}

fn list_map(props: Props<'_>, keys: &[Value], path: &Path, errors: &mut Vec<field::Error>) {
    let at_keys = path.child("x-kubernetes-list-map-keys");
    let at_items = path.child("items");
    if keys.is_empty() {
        errors.push(field::Error::required(&at_keys, "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = props.items() else {
        let is_list = !props.values("items").is_empty();
        errors.push(if is_list {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            field::Error::invalid(&at_items, Value::from(props.values("items").to_vec()), detail)
        } else {
            field::Error::required(&at_items, "must have a schema if x-kubernetes-list-type is map")
        });
        return;
    };
    let kind = items.text("type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(field::Error::invalid(&at_items.child("type"), kind, detail));
        return;
    }
    for (at, key) in keys.iter().enumerate() {
        match items.property(key.as_str().unwrap_or_default()) {
            Some(property) if matches!(property.text("type"), "array" | "object") => {
                let at = at_items.child("properties").key(key.as_str().unwrap_or_default()).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                // Upstream prints the type of the items.
                errors.push(field::Error::invalid(&at, kind, detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(field::Error::invalid(&at_keys, keys.to_vec(), detail));
            }
        }
        if keys.iter().take(at).any(|earlier| earlier == key) {
            errors.push(field::Error::invalid(&at_keys, keys.to_vec(), "must not contain duplicate entries"));
        }
    }
}

/// Whether this is a set whose elements are no scalars and not one value each.
pub(super) fn has_set_of_granular_items(props: Props<'_>) -> bool {
    let Some(items) = props.items().filter(|_| props.text("x-kubernetes-list-type") == "set") else {
        return false;
    };
    match items.text("type") {
        "array" => items.has("x-kubernetes-list-type") && items.text("x-kubernetes-list-type") != "atomic",
        "object" => items.text("x-kubernetes-map-type") != "atomic",
        _ => false,
    }
}

/// Violations by the keys of a map and by the elements of sets and maps.
pub(super) fn map_keys(props: Props<'_>, path: &Path) -> Vec<field::Error> {
    let mut errors = Vec::new();
    let list_type = props.text("x-kubernetes-list-type");
    let Some(items) = props.items().filter(|_| matches!(list_type, "set" | "map")) else { return errors };
    let at = path.child("items");
    if items.flag("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(field::Error::forbidden(&at.child("nullable"), detail));
    }
    if list_type == "map" {
        for key in props.texts("x-kubernetes-list-map-keys") {
            let Some(property) = items.property(key) else { continue };
            let at = at.child("properties").key(key);
            if !items.texts("required").any(|required| required == key) && !property.has("default") {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                errors.push(field::Error::required(&at.child("default"), detail));
            }
            if property.flag("nullable") {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                errors.push(field::Error::forbidden(&at.child("nullable"), detail));
            }
        }
    }
    errors
}

fn rule_texts(props: Props<'_>, path: &Path, errors: &mut Vec<field::Error>) {
    let has_newlines = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in props.list("x-kubernetes-validations").enumerate() {
        let at = path.child("x-kubernetes-validations").index(index);
        let (text, message, expression) =
            (rule.text("rule"), rule.text("message"), rule.text("messageExpression"));
        if text.trim().is_empty() {
            errors.push(field::Error::required(&at.child("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.push(field::Error::invalid(
                &at.child("message"),
                message,
                "must be non-empty if specified",
            ));
        } else if has_newlines(message.trim()) {
            errors.push(field::Error::invalid(&at.child("message"), message, "must not contain line breaks"));
        } else if has_newlines(text.trim()) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            errors.push(field::Error::required(&at.child("message"), detail));
        }
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.push(field::Error::required(&at.child("messageExpression"), detail));
        }
        if let Some(reason) =
            rule.value("reason").filter(|reason| !REASONS.contains(&reason.as_str().unwrap_or_default()))
        {
            errors.push(field::Error::unsupported(&at.child("reason"), reason.clone(), REASONS));
        }
        let field_path = rule.text("fieldPath");
        let at = at.child("fieldPath");
        if !field_path.is_empty() && field_path.trim().is_empty() {
            errors.push(field::Error::invalid(&at, field_path, "must be non-empty if specified"));
        }
        if has_newlines(field_path) {
            errors.push(field::Error::invalid(&at, field_path, "must not contain line breaks"));
        }
        if !field_path.is_empty() && crate::crd::field_path::find(props, field_path, true).is_err() {
            errors.push(field::Error::invalid(&at, field_path, "must be a valid path"));
        }
    }
}
