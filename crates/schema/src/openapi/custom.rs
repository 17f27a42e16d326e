//! The schemas of custom resources as OpenAPI documents publish them: what a definition declares, with what every object
//! has. Source: apiextensions `pkg/controller/openapi/{builder,v2}`.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Gvk, Map, Value, json};

use super::components::custom_name;
use crate::builtin::describe;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// A version of OpenAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Swagger 2.0, which has no word for much of what a definition may say.
    V2,
    /// OpenAPI 3.0.
    V3,
}

impl Dialect {
    /// The reference to a schema of this name.
    pub(super) fn reference(self, name: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{name}"),
            Self::V3 => format!("#/components/schemas/{name}"),
        }
    }

    /// A field of a type that has a schema of its own.
    fn field(self, name: &str, description: &str) -> Value {
        match self {
            Self::V2 => json!({"description": description, "$ref": self.reference(name)}),
            // Nothing may stand beside a reference.
            Self::V3 => json!({"description": description, "allOf": [{"$ref": self.reference(name)}]}),
        }
    }
}

/// The schemas of a version of a custom resource and of its lists, by name. `version` is the element of `spec.versions` of
/// the `definition`.
pub fn schemas(definition: &Value, version: &Value, dialect: Dialect) -> Option<[(String, Value); 2]> {
    let text = |path: &[&str]| definition.str_at(path);
    let kind = text(&["spec", "names", "kind"])?;
    let gvk = Gvk::new(text(&["spec", "group"])?, version.str_at(&["name"])?, kind);
    let plural = text(&["spec", "names", "plural"])?;
    let list_kind = text(&["spec", "names", "listKind"]).map_or_else(|| format!("{kind}List"), str::to_owned);
    let mut schema = match version.at(&["schema", "openAPIV3Schema"]) {
        Some(declared) => root(declared, dialect),
        None => json!({"type": "object"}),
    };
    let name = custom_name(&gvk);
    let mut list = json!({
        "description": format!("{list_kind} is a list of {kind}"), "type": "object", "required": ["items"],
        "properties": {"items": {
            "description": format!("List of {plural}. More info: {CONVENTIONS}"),
            "type": "array", "items": {"$ref": dialect.reference(&name)},
        }},
    });
    let about = format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds");
    list.set(&["properties", "metadata"], dialect.field(&format!("{META}.ListMeta"), &about));
    type_meta(&mut list);
    let selectable: Vec<Value> = version
        .items_at(&["selectableFields"])
        .iter()
        .filter_map(|field| field.str_at(&["jsonPath"]))
        .map(|path| json!({"fieldPath": path.trim_start_matches('.')}))
        .collect();
    for (schema, kind) in [(&mut schema, kind), (&mut list, list_kind.as_str())] {
        schema.set(
            &["x-kubernetes-group-version-kind"],
            json!([{"group": gvk.group, "kind": kind, "version": gvk.version}]),
        );
        if !selectable.is_empty() {
            schema.set(&["x-kubernetes-selectable-fields"], selectable.clone());
        }
    }
    let list_name = custom_name(&Gvk::new(&*gvk.group, &*gvk.version, list_kind));
    Some([(name, schema), (list_name, list)])
}

fn root(declared: &Value, dialect: Dialect) -> Value {
    let preserves = declared.at(&["x-kubernetes-preserve-unknown-fields"]) == Some(&Value::Bool(true));
    if dialect == Dialect::V2 && preserves {
        // kubectl would refuse every field that is not declared.
        return json!({"type": "object"});
    }
    let mut schema = declared.clone();
    publish(&mut schema, dialect);
    schema.set(&["properties", "metadata"], metadata(dialect));
    type_meta(&mut schema);
    schema
}

fn metadata(dialect: Dialect) -> Value {
    let about = format!("Standard object's metadata. More info: {CONVENTIONS}#metadata");
    dialect.field(&format!("{META}.ObjectMeta"), &about)
}

/// Declares `apiVersion` and `kind`.
fn type_meta(schema: &mut Value) {
    for field in ["apiVersion", "kind"] {
        let description = describe("core.v1.Pod", Some(field)).unwrap_or_default().into_owned();
        schema.set(&["properties", field], json!({"description": description, "type": "string"}));
    }
}

fn flag(fields: &Map, key: &str) -> bool {
    fields.get(key) == Some(&Value::Bool(true))
}

/// Makes of a declared node, and of all below it, what is published.
fn publish(node: &mut Value, dialect: Dialect) {
    let Some(fields) = node.as_object_mut() else { return };
    fields.retain(|key, value| {
        let is_said = match value {
            Value::Null => false,
            Value::Bool(false) => key == "additionalProperties" || key == "default" || key == "example",
            Value::String(text) => !text.is_empty() || matches!(key, "default" | "example"),
            Value::Array(items) => !items.is_empty() || matches!(key, "default" | "example"),
            Value::Object(members) => !members.is_empty() || key != "properties",
            _ => true,
        };
        is_said && !(dialect == Dialect::V2 && matches!(key, "allOf" | "anyOf" | "oneOf" | "not" | "default"))
    });
    let preserves = flag(fields, "x-kubernetes-preserve-unknown-fields");
    if dialect == Dialect::V2 {
        drop_what_v2_cannot_say(fields, preserves);
    } else if flag(fields, "x-kubernetes-int-or-string") {
        unfold_int_or_string(fields);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = fields.get_mut(key) {
            deeper(|| publish(child, dialect));
        }
    }
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.iter_mut().for_each(|(_, child)| deeper(|| publish(child, dialect)));
    }
    if flag(fields, "x-kubernetes-embedded-resource") && !(dialect == Dialect::V2 && preserves) {
        embed(node, dialect);
    }
}

/// Source: `ToStructuralOpenAPIV2`.
fn drop_what_v2_cannot_say(fields: &mut Map, preserves: bool) {
    let nullable = fields.remove("nullable").is_some();
    if nullable || preserves {
        fields.remove("items");
        fields.remove("properties");
    }
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let without_items = kind == "array" && fields.get("items").is_none();
    if nullable || without_items || (preserves && kind == "object") {
        fields.remove("type");
    }
    let is_nullable = |child: &Value| child.as_object().is_some_and(|child| flag(child, "nullable"));
    let nullable: Vec<String> = fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|properties| properties.iter())
        .filter(|(_, child)| is_nullable(child))
        .map(|(name, _)| name.to_owned())
        .collect();
    let of_any_key = fields.get("additionalProperties").is_some_and(is_nullable);
    if let Some(required) = fields.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !of_any_key && !nullable.iter().any(|own| name.as_str() == Some(own)));
        if required.is_empty() {
            fields.remove("required");
        }
    }
}

/// Says in OpenAPI's own words that both are values.
fn unfold_int_or_string(fields: &mut Map) {
    let pattern = || json!([{"type": "integer"}, {"type": "string"}]);
    let says = |value: Option<&Value>| value.and_then(|value| value.get("anyOf")) == Some(&pattern());
    match fields.get("anyOf") {
        None => {
            let said_first = says(fields.get("allOf").and_then(Value::as_array).and_then(|all| all.first()));
            if !said_first {
                fields.insert("anyOf", pattern());
            }
        }
        Some(any) if *any == pattern() => {}
        Some(_) => {
            let mut all = vec![json!({"anyOf": pattern()})];
            all.extend(fields.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default());
            fields.insert("allOf", all);
        }
    }
}

/// Declares what an embedded object carries.
fn embed(node: &mut Value, dialect: Dialect) {
    for (field, about) in [
        (
            "apiVersion",
            "apiVersion defines the versioned schema of this representation of an object. More info: ",
        ),
        ("kind", "kind is a string value representing the type of this object. In CamelCase. More info: "),
    ] {
        let anchor = if field == "kind" { "types-kinds" } else { "resources" };
        let description = format!("{about}{CONVENTIONS}#{anchor}");
        node.set(&["properties", field], json!({"description": description, "type": "string"}));
    }
    node.set(&["properties", "metadata"], metadata(dialect));
    let mut required = node.items_at(&["required"]).to_vec();
    for field in ["kind", "apiVersion"] {
        if !required.iter().any(|own| own.as_str() == Some(field)) {
            required.push(field.into());
        }
    }
    node.set(&["required"], required);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(schema: Value, dialect: Dialect) -> Value {
        let definition = json!({"spec": {"group": "demo.dev", "names": {"plural": "webs", "kind": "Web", "listKind": "WebList"}}});
        let properties = json!({"type": "object", "properties": {"x": schema}});
        let version = json!({
            "name": "v1", "schema": {"openAPIV3Schema": properties}, "selectableFields": [{"jsonPath": ".x.y"}],
        });
        let [(name, schema), (list_name, list)] = schemas(&definition, &version, dialect).unwrap();
        assert_eq!((name.as_str(), list_name.as_str()), ("dev.demo.v1.Web", "dev.demo.v1.WebList"));
        for schema in [&schema, &list] {
            assert_eq!(schema.get("x-kubernetes-selectable-fields"), Some(&json!([{"fieldPath": "x.y"}])));
        }
        schema.at(&["properties", "x"]).unwrap().clone()
    }

    #[test]
    fn int_or_string_is_unfolded() {
        let both = json!([{"type": "integer"}, {"type": "string"}]);
        let plain = json!({"x-kubernetes-int-or-string": true});
        assert_eq!(published(plain.clone(), Dialect::V3).get("anyOf"), Some(&both));
        assert_eq!(published(plain.clone(), Dialect::V2), plain);
        let mut said = plain.clone();
        said.set(&["anyOf"], both.clone());
        assert_eq!(published(said.clone(), Dialect::V3), said);
        assert_eq!(published(said, Dialect::V2), plain);
    }

    #[test]
    fn embedded_objects_are_published_with_their_type_and_metadata() {
        let declared = json!({
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        });
        let third = published(declared.clone(), Dialect::V3);
        assert_eq!(third.get("required"), Some(&json!(["kind", "apiVersion"])));
        let target = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
        assert_eq!(third.at(&["properties", "metadata", "allOf"]), Some(&json!([{"$ref": target}])));
        let mut second = declared;
        second.take(&["type"]);
        assert_eq!(
            published(second.clone(), Dialect::V2),
            second,
            "unknown fields would be refused by kubectl"
        );
    }

    #[test]
    fn the_second_dialect_leaves_out_what_it_cannot_say() {
        let declared = json!({
            "type": "object", "required": ["a", "b"], "oneOf": [{"required": ["a"]}],
            "properties": {
                "a": {"type": "object", "nullable": true, "properties": {"c": {"type": "string"}}, "x-kubernetes-map-type": "atomic"},
                "b": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "default": []},
            },
        });
        let expected = json!({
            "type": "object", "required": ["b"],
            "properties": {"a": {"x-kubernetes-map-type": "atomic"}, "b": {"x-kubernetes-preserve-unknown-fields": true}},
        });
        assert_eq!(published(declared, Dialect::V2), expected);
    }

    #[test]
    fn a_root_that_keeps_unknown_fields_is_closed_to_the_second_dialect_only() {
        let definition = json!({"spec": {"group": "demo.dev", "names": {"plural": "webs", "kind": "Web"}}});
        let version = json!({"name": "v1", "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        }}});
        let [(_, third), _] = schemas(&definition, &version, Dialect::V3).unwrap();
        assert!(third.at(&["properties", "metadata"]).is_some());
        let [(_, second), _] = schemas(&definition, &version, Dialect::V2).unwrap();
        assert_eq!(second.get("properties"), None);
        assert_eq!(second.get("x-kubernetes-preserve-unknown-fields"), None);
    }
}
