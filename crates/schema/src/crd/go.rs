//! Versions and schemas as upstream's errors show them: Go's internal types in JSON, with every field that is not set.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Value, field};

use super::spec::Shared;
use crate::structural::props::Props;

/// `spec.versions`; what they share, upstream keeps elsewhere.
pub(super) fn versions(versions: &[Props<'_>], elsewhere: Shared) -> String {
    field::escape_html(list(versions.iter().map(|version| self::version(*version, elsewhere))))
}

/// An `openAPIV3Schema`.
pub(super) fn schema(schema: &Value) -> String {
    field::escape_html(props(schema))
}

const NULL: &str = "null";

/// An object whose fields have an order.
fn object<const N: usize>(fields: [(&str, String); N]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn text(props: Props<'_>, key: &str) -> String {
    Value::from(props.text(key)).to_json()
}

fn any(props: Props<'_>, key: &str) -> String {
    props.value(key).map_or_else(|| NULL.to_owned(), Value::to_json)
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| NULL.to_owned())
}

fn version(version: Props<'_>, elsewhere: Shared) -> String {
    let own = |key: &str, elsewhere: bool| version.value(key).filter(|value| !elsewhere && !value.is_null());
    let many = |key: &str, elsewhere: bool, make: fn(Props<'_>) -> String| {
        or_null(own(key, elsewhere).map(|_| list(version.list(key).map(make))))
    };
    let schema = own("schema", elsewhere.schema).and_then(|schema| schema.get("openAPIV3Schema"));
    let subresources = own("subresources", elsewhere.subresources);
    object([
        ("Name", text(version, "name")),
        ("Served", version.flag("served").to_string()),
        ("Storage", version.flag("storage").to_string()),
        ("Deprecated", version.flag("deprecated").to_string()),
        ("DeprecationWarning", any(version, "deprecationWarning")),
        ("Schema", or_null(schema.map(|schema| object([("OpenAPIV3Schema", props(schema))])))),
        ("Subresources", or_null(subresources.map(|value| self::subresources(Props(value))))),
        ("AdditionalPrinterColumns", many("additionalPrinterColumns", elsewhere.columns, column)),
        (
            "SelectableFields",
            many("selectableFields", elsewhere.selectable, |one| {
                object([("JSONPath", text(one, "jsonPath"))])
            }),
        ),
    ])
}

fn column(column: Props<'_>) -> String {
    object([
        ("Name", text(column, "name")),
        ("Type", text(column, "type")),
        ("Format", text(column, "format")),
        ("Description", text(column, "description")),
        ("Priority", column.integer("priority").unwrap_or_default().to_string()),
        ("JSONPath", text(column, "jsonPath")),
    ])
}

fn subresources(value: Props<'_>) -> String {
    let scale = value.child("scale").map(|scale| {
        object([
            ("SpecReplicasPath", text(scale, "specReplicasPath")),
            ("StatusReplicasPath", text(scale, "statusReplicasPath")),
            ("LabelSelectorPath", any(scale, "labelSelectorPath")),
        ])
    });
    object([("Status", or_null(value.child("status").map(|_| "{}".to_owned()))), ("Scale", or_null(scale))])
}

fn props(schema: &Value) -> String {
    deeper(|| props_here(schema))
}

fn props_here(schema: &Value) -> String {
    let own = Props(schema);
    let one = |key: &str| or_null(own.value(key).filter(|value| !value.is_null()).map(props));
    let many =
        |key: &str| or_null(own.value(key).and_then(Value::as_array).map(|all| list(all.iter().map(props))));
    let by_name = |key: &str| {
        or_null(own.value(key).and_then(Value::as_object).map(|map| {
            let fields: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name).to_json(), props(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }))
    };
    let or_bool = |key: &str| match own.value(key) {
        None | Some(Value::Null) => NULL.to_owned(),
        Some(Value::Bool(allows)) => object([("Allows", allows.to_string()), ("Schema", NULL.to_owned())]),
        Some(schema) => object([("Allows", "true".to_owned()), ("Schema", props(schema))]),
    };
    let items = match own.value("items") {
        None | Some(Value::Null) => NULL.to_owned(),
        Some(Value::Array(all)) => {
            object([("Schema", NULL.to_owned()), ("JSONSchemas", list(all.iter().map(props)))])
        }
        Some(schema) => object([("Schema", props(schema)), ("JSONSchemas", NULL.to_owned())]),
    };
    let documentation = own.child("externalDocs").map(|documentation| {
        object([("Description", text(documentation, "description")), ("URL", text(documentation, "url"))])
    });
    let rules = own.value("x-kubernetes-validations").filter(|rules| !rules.is_null());
    let flag = |key: &str| own.flag(key).to_string();
    object([
        ("ID", text(own, "id")),
        ("Schema", text(own, "$schema")),
        ("Ref", any(own, "$ref")),
        ("Description", text(own, "description")),
        ("Type", text(own, "type")),
        ("Nullable", flag("nullable")),
        ("Format", text(own, "format")),
        ("Title", text(own, "title")),
        ("Default", any(own, "default")),
        ("Maximum", any(own, "maximum")),
        ("ExclusiveMaximum", flag("exclusiveMaximum")),
        ("Minimum", any(own, "minimum")),
        ("ExclusiveMinimum", flag("exclusiveMinimum")),
        ("MaxLength", any(own, "maxLength")),
        ("MinLength", any(own, "minLength")),
        ("Pattern", text(own, "pattern")),
        ("MaxItems", any(own, "maxItems")),
        ("MinItems", any(own, "minItems")),
        ("UniqueItems", flag("uniqueItems")),
        ("MultipleOf", any(own, "multipleOf")),
        ("Enum", any(own, "enum")),
        ("MaxProperties", any(own, "maxProperties")),
        ("MinProperties", any(own, "minProperties")),
        ("Required", any(own, "required")),
        ("Items", items),
        ("AllOf", many("allOf")),
        ("OneOf", many("oneOf")),
        ("AnyOf", many("anyOf")),
        ("Not", one("not")),
        ("Properties", by_name("properties")),
        ("AdditionalProperties", or_bool("additionalProperties")),
        ("PatternProperties", by_name("patternProperties")),
        ("Dependencies", any(own, "dependencies")),
        ("AdditionalItems", or_bool("additionalItems")),
        ("Definitions", by_name("definitions")),
        ("ExternalDocs", or_null(documentation)),
        ("Example", any(own, "example")),
        ("XPreserveUnknownFields", any(own, "x-kubernetes-preserve-unknown-fields")),
        ("XEmbeddedResource", flag("x-kubernetes-embedded-resource")),
        ("XIntOrString", flag("x-kubernetes-int-or-string")),
        ("XListMapKeys", any(own, "x-kubernetes-list-map-keys")),
        ("XListType", any(own, "x-kubernetes-list-type")),
        ("XMapType", any(own, "x-kubernetes-map-type")),
        ("XValidations", or_null(rules.map(|_| list(own.list("x-kubernetes-validations").map(rule))))),
    ])
}

fn rule(rule: Props<'_>) -> String {
    object([
        ("Rule", text(rule, "rule")),
        ("Message", text(rule, "message")),
        ("MessageExpression", text(rule, "messageExpression")),
        ("Reason", any(rule, "reason")),
        ("FieldPath", text(rule, "fieldPath")),
        ("OptionalOldSelf", any(rule, "optionalOldSelf")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn a_version_is_shown_as_go_shows_it() {
        let version = json!({
            "name": "v2", "served": true, "storage": false, "deprecationWarning": "w <x>",
            "schema": {"openAPIV3Schema": {"type": "object"}},
            "subresources": {"scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}},
            "selectableFields": [{"jsonPath": ".x"}],
        });
        let elsewhere = Shared { schema: true, subresources: false, columns: true, selectable: false };
        assert_eq!(
            versions(&[Props(&version)], elsewhere),
            "[{\"Name\":\"v2\",\"Served\":true,\"Storage\":false,\"Deprecated\":false,\"DeprecationWarning\":\"w \\u003cx\\u003e\",\
             \"Schema\":null,\"Subresources\":{\"Status\":null,\"Scale\":{\"SpecReplicasPath\":\".a\",\
             \"StatusReplicasPath\":\".b\",\"LabelSelectorPath\":null}},\"AdditionalPrinterColumns\":null,\
             \"SelectableFields\":[{\"JSONPath\":\".x\"}]}]"
        );
    }
}
