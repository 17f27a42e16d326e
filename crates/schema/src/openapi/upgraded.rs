//! A Swagger document as an OpenAPI 3.0 document, for servers that tell only the former.
//!
//! Source of behaviour: kube-openapi `pkg/openapiconv`, which loses what it does not know.

use pilothouse_value::stack::deeper;
use pilothouse_value::{Map, Value, json};

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The document in the third version.
pub(super) fn document(swagger: &Value) -> Value {
    let mut made = json!({"openapi": "3.0.0", "components": {}});
    copy(swagger, &mut made, &["info", "externalDocs"]);
    if let Some(paths) = swagger.get("paths") {
        let path = |item: &Value| if item.as_object().is_some() { path(item) } else { item.clone() };
        made.set(&["paths"], mapped(paths, path));
    }
    let produces = swagger.items_at(&["produces"]);
    for (member, place) in [("definitions", "schemas"), ("securityDefinitions", "securitySchemes")] {
        let Some(found) = swagger.get(member).filter(|found| filled(found)) else { continue };
        let made_of = |one: &Value| if member == "definitions" { schema(one) } else { scheme(one) };
        made.set(&["components", place], mapped(found, made_of));
    }
    if let Some(responses) = swagger.get("responses").filter(|found| filled(found)) {
        made.set(&["components", "responses"], mapped(responses, |one| response(one, produces)));
    }
    made
}

fn filled(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}

fn mapped(value: &Value, make: impl Fn(&Value) -> Value) -> Map {
    let members = value.as_object().into_iter().flat_map(Map::iter);
    members.map(|(name, value)| (name.to_owned(), make(value))).collect()
}

/// Copies these members, and those whose names begin with `x-`.
fn copy(from: &Value, to: &mut Value, names: &[&str]) {
    for (name, value) in from.as_object().into_iter().flat_map(Map::iter) {
        if names.contains(&name) || name.starts_with("x-") {
            to.set(&[name], value.clone());
        }
    }
}

fn path(item: &Value) -> Value {
    let mut made = json!({});
    copy(item, &mut made, &["$ref"]);
    for method in METHODS {
        if let Some(found) = item.get(method) {
            made.set(&[method], operation(found));
        }
    }
    let parameters = item.items_at(&["parameters"]);
    if !parameters.is_empty() {
        made.set(&["parameters"], parameters.iter().map(parameter).collect::<Vec<_>>());
    }
    made
}

fn operation(of: &Value) -> Value {
    let mut made = json!({});
    copy(of, &mut made, &["description", "externalDocs", "tags", "summary", "deprecated", "operationId"]);
    let mut parameters = Vec::new();
    for one in of.items_at(&["parameters"]) {
        match one.get("schema").filter(|_| one.str_at(&["name"]) == Some("body")) {
            Some(body) => made.set(&["requestBody"], content(of.items_at(&["consumes"]), body)),
            None => parameters.push(parameter(one)),
        }
    }
    if !parameters.is_empty() {
        made.set(&["parameters"], parameters);
    }
    if let Some(responses) = of.get("responses") {
        let produces = of.items_at(&["produces"]);
        let each = |(name, value): (&str, &Value)| {
            let value = if name.starts_with("x-") { value.clone() } else { response(value, produces) };
            (name.to_owned(), value)
        };
        let responses: Map = responses.as_object().into_iter().flat_map(Map::iter).map(each).collect();
        made.set(&["responses"], responses);
    }
    made
}

/// What a message looks like, in each of the types that it may come in.
fn content(types: &[Value], of: &Value) -> Value {
    let schema = schema(of);
    let each = |name: &str| (name.to_owned(), json!({"schema": schema.clone()}));
    let content: Map = types.iter().filter_map(Value::as_str).map(each).collect();
    let mut made = json!({});
    if !content.is_empty() {
        made.set(&["content"], content);
    }
    made
}

fn response(of: &Value, produces: &[Value]) -> Value {
    let mut made = match of.get("schema") {
        Some(schema) => content(produces, schema),
        None => json!({}),
    };
    copy(of, &mut made, &["description"]);
    refer(of, &mut made, "responses");
    made
}

fn parameter(of: &Value) -> Value {
    let mut made = json!({});
    copy(of, &mut made, &["name", "description", "in", "required", "allowEmptyValue"]);
    refer(of, &mut made, "parameters");
    let own = match of.get("schema") {
        Some(own) => schema(own),
        None => {
            let mut simple = json!({"type": of.str_at(&["type"]).unwrap_or_default()});
            copy_simple(of, &mut simple);
            simple
        }
    };
    made.set(&["schema"], own);
    made
}

fn copy_simple(of: &Value, simple: &mut Value) {
    for name in ["format", "uniqueItems"] {
        if let Some(value) = of.get(name) {
            simple.set(&[name], value.clone());
        }
    }
}

/// Writes a reference to something that is not a schema.
fn refer(of: &Value, made: &mut Value, place: &str) {
    if let Some(reference) = of.str_at(&["$ref"]) {
        made.set(&["$ref"], reference.replacen(&format!("#/{place}/"), &format!("#/components/{place}/"), 1));
    }
}

fn scheme(of: &Value) -> Value {
    let mut made = json!({});
    copy(of, &mut made, &["type", "description", "name", "in"]);
    if let Some(flow) = of.str_at(&["flow"]).filter(|flow| !flow.is_empty()) {
        let mut told = json!({});
        for (name, new) in
            [("authorizationUrl", "authorizationUrl"), ("tokenUrl", "tokenUrl"), ("scopes", "scopes")]
        {
            if let Some(value) = of.get(name) {
                told.set(&[new], value.clone());
            }
        }
        made.set(&["flows", flow], told);
    }
    made
}

fn schema(of: &Value) -> Value {
    deeper(|| schema_here(of))
}

fn schema_here(of: &Value) -> Value {
    let Some(members) = of.as_object() else { return of.clone() };
    let each = |(name, value): (&str, &Value)| {
        let made = match (name, value) {
            ("properties", value) => Value::Object(mapped(value, schema)),
            ("items" | "additionalProperties" | "additionalItems", Value::Object(_)) => schema(value),
            ("items", Value::Array(items)) => items.iter().map(schema).collect(),
            ("$ref", Value::String(reference)) => match reference.split_once("#/definitions/") {
                Some((_, name)) => format!("#/components/schemas/{name}").into(),
                None => value.clone(),
            },
            _ => value.clone(),
        };
        (name.to_owned(), made)
    };
    let mut made = Value::Object(members.iter().map(each).collect());
    // A reference has nothing beside it in this version.
    if members.len() > 1
        && let Some(reference) = made.take(&["$ref"])
    {
        let only: Map = [("$ref", reference)].into_iter().collect();
        made.set(&["allOf"], vec![Value::Object(only)]);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_answers_and_references_move_to_their_places() {
        let swagger = json!({
            "swagger": "2.0", "info": {"title": "Zoo", "version": "1"},
            "paths": {"/bears": {"post": {
                "consumes": ["application/json"], "produces": ["application/yaml"], "schemes": ["https"],
                "parameters": [
                    {"name": "body", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Bear"}},
                    {"name": "limit", "in": "query", "type": "integer", "uniqueItems": true},
                ],
                "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/Bear"}}},
            }}},
            "definitions": {"Bear": {"properties": {"den": {"description": "where", "$ref": "#/definitions/Den"}}}, "Den": {}},
        });
        let bear = json!({"schema": {"$ref": "#/components/schemas/Bear"}});
        let expected = json!({
            "openapi": "3.0.0", "info": {"title": "Zoo", "version": "1"},
            "paths": {"/bears": {"post": {
                "requestBody": {"content": {"application/json": bear.clone()}},
                "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer", "uniqueItems": true}}],
                "responses": {"200": {"description": "OK", "content": {"application/yaml": bear}}},
            }}},
            "components": {"schemas": {
                "Bear": {"properties": {"den": {
                    "description": "where", "allOf": [{"$ref": "#/components/schemas/Den"}],
                }}},
                "Den": {},
            }},
        });
        assert_eq!(document(&swagger), expected);
    }
}
