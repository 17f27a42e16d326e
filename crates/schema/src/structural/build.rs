//! From a `JSONSchemaProps` document to a schema node. What the rules refuse is passed over here.

use crate::node::{Additional, Child, Constraints, ListType, MapType, Rule, Schema, Text, Type};
use pilothouse_cel::Pattern;
use pilothouse_value::stack::deeper;

use super::props::{AdditionalProps, Props};

/// Builds the node and everything below it.
pub(crate) fn build(props: Props<'_>) -> Schema {
    deeper(|| node(props))
}

fn node(props: Props<'_>) -> Schema {
    let additional = props.additional().map(|additional| match additional {
        AdditionalProps::Bool(allowed) => Additional::Bool(allowed),
        AdditionalProps::Schema(schema) => Additional::Schema(build(schema).into()),
    });
    Schema {
        kind: Type::parse(props.text("type")),
        nullable: props.flag("nullable"),
        int_or_string: props.is_int_or_string(),
        preserve_unknown: props.preserves_unknown(),
        embedded_resource: props.is_embedded(),
        list_type: match props.text("x-kubernetes-list-type") {
            "atomic" => Some(ListType::Atomic),
            "set" => Some(ListType::Set),
            "map" => Some(ListType::Map),
            _ => None,
        },
        map_type: match props.text("x-kubernetes-map-type") {
            "atomic" => Some(MapType::Atomic),
            "granular" => Some(MapType::Granular),
            _ => None,
        },
        list_map_keys: texts(props, "x-kubernetes-list-map-keys"),
        format: text(props, "format"),
        title: text(props, "title"),
        description: text(props, "description"),
        default: props.value("default").map(|value| Box::new(value.clone())),
        properties: props
            .properties()
            .map(|(name, child)| (Text::Owned(name.to_owned()), Child::from(build(child))))
            .collect(),
        required: texts(props, "required"),
        items: props.items().map(|items| build(items).into()),
        additional,
        constraints: constraints(props).map(Box::new),
        patch: Default::default(),
    }
}

fn text(props: Props<'_>, key: &str) -> Option<Text> {
    props.some_text(key).map(|text| Text::Owned(text.to_owned()))
}

fn texts(props: Props<'_>, key: &str) -> Box<[Text]> {
    props.texts(key).map(|text| Text::Owned(text.to_owned())).collect()
}

fn constraints(props: Props<'_>) -> Option<Constraints> {
    const KEYS: [&str; 19] = [
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "multipleOf",
        "maxLength",
        "minLength",
        "pattern",
        "maxItems",
        "minItems",
        "uniqueItems",
        "maxProperties",
        "minProperties",
        "enum",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "x-kubernetes-validations",
    ];
    if !KEYS.iter().any(|key| props.has(key)) {
        return None;
    }
    let list = |key: &str| props.list(key).map(build).collect::<Vec<_>>();
    Some(Constraints {
        maximum: props.number("maximum"),
        exclusive_maximum: props.flag("exclusiveMaximum"),
        minimum: props.number("minimum"),
        exclusive_minimum: props.flag("exclusiveMinimum"),
        multiple_of: props.number("multipleOf"),
        max_length: props.integer("maxLength"),
        min_length: props.integer("minLength"),
        pattern: props.some_text("pattern").and_then(|pattern| Pattern::new(pattern).ok()),
        max_items: props.integer("maxItems"),
        min_items: props.integer("minItems"),
        unique_items: props.flag("uniqueItems"),
        max_properties: props.integer("maxProperties"),
        min_properties: props.integer("minProperties"),
        enumeration: props.values("enum").to_vec().into(),
        all_of: list("allOf"),
        any_of: list("anyOf"),
        one_of: list("oneOf"),
        not: props.child("not").map(|not| Box::new(build(not))),
        rules: props.list("x-kubernetes-validations").map(rule).collect(),
    })
}

fn rule(props: Props<'_>) -> Rule {
    let text = |key: &str| props.some_text(key).map(Box::from);
    Rule {
        rule: props.text("rule").into(),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason"),
        field_path: text("fieldPath"),
        optional_old_self: props.value("optionalOldSelf").and_then(pilothouse_value::Value::as_bool),
    }
}
