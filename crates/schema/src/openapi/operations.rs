//! Writes routes as the paths of a document. Source: kube-openapi `pkg/builder{,3}/openapi.go`, and for the names of
//! operations apiserver `pkg/endpoints/openapi`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use pilothouse_value::{Map, Value, json};

use super::custom::Dialect;
use super::message;
use super::parameters::{Parameter, Place};
use super::routes::Route;

/// The parameters that a Swagger document tells once for all, by name.
pub(super) type Shared = BTreeMap<String, Value>;

/// The paths of a document. With the second dialect, parameters are put among the shared ones.
pub(super) fn paths(routes: Vec<Route>, dialect: Dialect, shared: &mut Shared) -> Map {
    let mut by_path: BTreeMap<String, Vec<Route>> = BTreeMap::new();
    for route in routes {
        by_path.entry(route.path.clone()).or_default().push(route);
    }
    let mut write = |(path, routes): (String, Vec<Route>)| {
        let item = Writer { dialect, shared }.path(&routes);
        (path, Value::Object(item))
    };
    by_path.into_iter().map(&mut write).collect()
}

struct Writer<'s> {
    dialect: Dialect,
    shared: &'s mut Shared,
}

impl Writer<'_> {
    fn path(&mut self, routes: &[Route]) -> Map {
        let mut item = Map::new();
        // What every operation takes is told of the path.
        let in_all = |one: &Parameter| routes.iter().all(|route| has(route, one));
        let common: Vec<Parameter> = routes
            .first()
            .map(|first| first.parameters.iter().filter(|one| in_all(one)).cloned().collect())
            .unwrap_or_default();
        for route in routes {
            let operation = self.operation(route, &common);
            item.insert(route.method, operation);
        }
        let common = self.parameters(common.iter());
        if !common.is_empty() {
            item.insert("parameters", common);
        }
        item
    }

    fn operation(&mut self, route: &Route, common: &[Parameter]) -> Value {
        let (id, tag) = id_and_tag(&route.operation, &route.path);
        let mut operation = json!({"description": route.description, "operationId": id, "tags": [tag]});
        if let Some((action, gvk)) = &route.about {
            operation.set(&["x-kubernetes-action"], *action);
            operation.set(
                &["x-kubernetes-group-version-kind"],
                json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind}),
            );
        }
        let own: Vec<&Parameter> =
            route.parameters.iter().filter(|one| !common.iter().any(|other| same(other, one))).collect();
        let mut parameters = self.parameters(own.into_iter());
        let texts = |list: &[&'static str]| list.iter().copied().collect::<Value>();
        match self.dialect {
            Dialect::V2 => {
                operation.set(&["schemes"], json!(["https"]));
                for (key, types) in [("consumes", route.consumes), ("produces", route.produces)] {
                    if !types.is_empty() {
                        operation.set(&[key], texts(types));
                    }
                }
                if let Some((kind, required)) = &route.body {
                    // `body` is the first of all names.
                    parameters.insert(0, self.body(kind, *required));
                }
            }
            Dialect::V3 => {
                if let Some((kind, required)) = &route.body {
                    let content = self.content(route.consumes, Some(kind));
                    let mut body = json!({"content": content});
                    if *required {
                        body.set(&["required"], true);
                    }
                    operation.set(&["requestBody"], body);
                }
            }
        }
        if !parameters.is_empty() {
            operation.set(&["parameters"], parameters);
        }
        operation.set(&["responses"], self.responses(route));
        operation
    }

    fn responses(&self, route: &Route) -> Map {
        let mut responses = Map::new();
        for (code, description) in route.codes {
            let mut response = json!({"description": *description});
            match self.dialect {
                Dialect::V2 => response.set(&["schema"], self.schema(route.answer.as_deref())),
                Dialect::V3 => {
                    let content = self.content(route.produces, route.answer.as_deref());
                    response.set(&["content"], content);
                }
            }
            responses.insert(code.to_string(), response);
        }
        responses.insert("401", json!({"description": "Unauthorized"}));
        responses
    }

    fn schema(&self, kind: Option<&str>) -> Value {
        kind.map_or_else(|| json!({"type": "string"}), |kind| json!({"$ref": self.dialect.reference(kind)}))
    }

    fn content(&self, types: &[&'static str], kind: Option<&str>) -> Map {
        types.iter().map(|name| (*name, json!({"schema": self.schema(kind)}))).collect()
    }

    fn body(&mut self, kind: &str, required: bool) -> Value {
        let mut body = json!({"name": "body", "in": "body", "schema": self.schema(Some(kind))});
        if required {
            body.set(&["required"], true);
        }
        // Bodies of the objects' own types are of use to one path only.
        if kind.starts_with("io.k8s.apimachinery") { self.share("body", body) } else { body }
    }

    fn parameters<'p>(&mut self, parameters: impl Iterator<Item = &'p Parameter>) -> Vec<Value> {
        let mut sorted: Vec<&Parameter> = parameters.collect();
        sorted.sort_by_key(|one| (one.name, one.place == Place::Query));
        sorted.into_iter().map(|one| self.parameter(one)).collect()
    }

    fn parameter(&mut self, one: &Parameter) -> Value {
        let place = if one.place == Place::Path { "path" } else { "query" };
        let mut parameter = json!({"name": one.name, "in": place});
        if !one.description.is_empty() {
            parameter.set(&["description"], &*one.description);
        }
        if one.place == Place::Path {
            parameter.set(&["required"], true);
        }
        let at: &[&str] = if self.dialect == Dialect::V2 { &[] } else { &["schema"] };
        let with = |key| at.iter().copied().chain([key]).collect::<Vec<_>>();
        parameter.set(&with("type"), one.kind);
        parameter.set(&with("uniqueItems"), true);
        // Old clients look for two of them by name, and a name's description has the kind in it.
        let stays = self.dialect == Dialect::V3 || matches!(one.name, "name" | "fieldValidation" | "dryRun");
        if stays { parameter } else { self.share(one.name, parameter) }
    }

    /// Keeps a parameter among the shared ones and answers the reference to it. The name has a hash of the text in it.
    fn share(&mut self, name: &str, parameter: Value) -> Value {
        let mut text = Vec::new();
        message::write_json(&parameter, &message::V2_PARAMETER, &mut text);
        let hash = fnv1(&text).to_be_bytes();
        let name = format!("{name}-{}", URL_SAFE.encode(hash.get(..6).unwrap_or_default()));
        let reference = json!({"$ref": format!("#/parameters/{name}")});
        self.shared.insert(name, parameter);
        reference
    }
}

fn same(one: &Parameter, other: &Parameter) -> bool {
    one.name == other.name && one.place == other.place
}

fn has(route: &Route, one: &Parameter) -> bool {
    route.parameters.iter().any(|other| same(other, one))
}

/// FNV-1 over 64 bits, as upstream names shared parameters.
fn fnv1(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(OFFSET, |hash, byte| hash.wrapping_mul(PRIME) ^ u64::from(*byte))
}

/// The name of an operation, with the group and version behind its verb, and the tag of its group version.
fn id_and_tag(operation: &str, path: &str) -> (String, String) {
    const VERBS: [&str; 11] =
        ["get", "log", "read", "replace", "patch", "delete", "watch", "connect", "proxy", "list", "create"];
    let verb = VERBS.iter().copied().find(|verb| operation.starts_with(verb)).unwrap_or_default();
    let rest = operation.get(verb.len()..).unwrap_or_default();
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if parts.first() == Some(&"api") {
        parts.splice(..1, ["apis", "core"]);
    }
    let mut id = verb.to_owned();
    let tag = match parts.as_slice() {
        ["apis", group, rest @ ..] => {
            let group = group.strip_suffix(".k8s.io").unwrap_or(group);
            id += &joined(group, true);
            match rest.first() {
                Some(version) => {
                    id += &joined(version, true);
                    format!("{}_{}", joined(group, false), joined(version, false))
                }
                None => joined(group, false),
            }
        }
        [first, ..] => joined(first, false),
        [] => String::new(),
    };
    (id + &joined(rest, true), tag)
}

/// The letters and digits of a text, each behind anything else in upper case.
fn joined(text: &str, capital: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut raise = capital;
    for (at, c) in text.char_indices() {
        if c.is_alphabetic() || c == '_' || (at != 0 && c.is_numeric()) {
            if std::mem::take(&mut raise) { out.extend(c.to_uppercase()) } else { out.push(c) }
        } else {
            raise = true;
        }
    }
    out
}
