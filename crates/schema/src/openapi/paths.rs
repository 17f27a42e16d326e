//! The operations of a document: for every resource what may be done with it, with which parameters.

use pilothouse_value::{Gvk, Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// A resource to be written into a document.
pub(super) struct Served<'a> {
    pub(super) gvk: Gvk,
    pub(super) plural: &'a str,
    pub(super) namespaced: bool,
    pub(super) verbs: &'a [&'static str],
    /// The schema of the resource, and that of its list.
    pub(super) component: Option<&'a str>,
    pub(super) list_component: Option<&'a str>,
    /// Whether strategic merge patches are understood.
    pub(super) strategic: bool,
}

impl Served<'_> {
    pub(super) fn write(&self, paths: &mut Map) {
        let root = format!("/{}", super::path(&self.gvk.group_version()));
        let scope = if self.namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = [("create", "post"), ("list", "get"), ("deletecollection", "delete")];
        let item = [("get", "get"), ("update", "put"), ("patch", "patch"), ("delete", "delete")];
        self.write_path(paths, format!("{root}{scope}/{}", self.plural), &collection, false);
        self.write_path(paths, format!("{root}{scope}/{}/{{name}}", self.plural), &item, true);
        if self.namespaced {
            self.write_path(paths, format!("{root}/{}", self.plural), &[("list", "get")], false);
        }
    }

    fn write_path(&self, paths: &mut Map, path: String, operations: &[(&str, &str)], named: bool) {
        let mut operations_of_path = Map::new();
        for (verb, method) in operations.iter().filter(|(verb, _)| self.verbs.contains(verb)) {
            let component = if *verb == "list" { self.list_component } else { self.component };
            let namespaced = path.contains("{namespace}");
            operations_of_path
                .insert(*method, operation(verb, &self.gvk, component, self.strategic, namespaced, ""));
        }
        finish_path(paths, path, operations_of_path, named);
    }

    /// Writes a subresource, whose operations are about `gvk`. What patches it takes is as for the resource: `kubectl
    /// apply` looks at whichever path of the kind it meets first.
    pub(super) fn write_subresource(
        &self,
        paths: &mut Map,
        sub: &str,
        gvk: &Gvk,
        verbs: &[&'static str],
        component: Option<&str>,
    ) {
        let scope = if self.namespaced { "/namespaces/{namespace}" } else { "" };
        let path =
            format!("/{}{scope}/{}/{{name}}/{sub}", super::path(&self.gvk.group_version()), self.plural);
        let all =
            [("create", "post"), ("get", "get"), ("update", "put"), ("patch", "patch"), ("delete", "delete")];
        let mut operations = Map::new();
        for (verb, method) in all.iter().filter(|(verb, _)| verbs.contains(verb)) {
            operations.insert(*method, operation(verb, gvk, component, self.strategic, self.namespaced, sub));
        }
        finish_path(paths, path, operations, true);
    }
}

fn finish_path(paths: &mut Map, path: String, mut operations: Map, named: bool) {
    if operations.is_empty() {
        return;
    }
    let parameter = |name: &str, description: &str| json!({"name": name, "in": "path", "required": true, "description": description, "schema": {"type": "string", "uniqueItems": true}});
    let mut parameters = Vec::new();
    if named {
        parameters.push(parameter("name", "name of the object"));
    }
    if path.contains("{namespace}") {
        parameters.push(parameter("namespace", "object name and auth scope, such as for teams and projects"));
    }
    parameters.push(query("pretty", "string", "If 'true', then the output is pretty printed."));
    operations.insert("parameters", parameters);
    paths.insert(path, operations);
}

fn query(name: &str, kind: &str, description: &str) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": {"type": kind, "uniqueItems": true}})
}

fn operation(
    verb: &str,
    gvk: &Gvk,
    component: Option<&str>,
    strategic: bool,
    namespaced: bool,
    sub: &str,
) -> Value {
    let (action, prefix) = match verb {
        "create" => ("post", "create"),
        "get" => ("get", "read"),
        "list" => ("list", "list"),
        "update" => ("put", "replace"),
        "patch" => ("patch", "patch"),
        "delete" => ("delete", "delete"),
        _ => ("deletecollection", "deleteCollection"),
    };
    let mut operation = json!({
        "description": description(verb, &gvk.kind, sub),
        "operationId": operation_id(prefix, gvk, namespaced, sub),
        "tags": [tag(gvk)],
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
    });
    let parameters = parameters(verb);
    if !parameters.is_empty() {
        operation.set(&["parameters"], parameters);
    }
    let content = |types: &[&str], component: &str| {
        let schema = json!({"schema": {"$ref": format!("{SCHEMAS}{component}")}});
        Value::Object(types.iter().map(|kind| (*kind, schema.clone())).collect())
    };
    match (verb, component) {
        ("patch", _) => {
            let mut types = vec![
                "application/apply-patch+yaml",
                "application/json-patch+json",
                "application/merge-patch+json",
            ];
            if strategic {
                types.push("application/strategic-merge-patch+json");
            }
            operation.set(&["requestBody"], json!({"required": true}));
            operation.set(&["requestBody", "content"], content(&types, &format!("{META}.Patch")));
        }
        ("create" | "update", Some(component)) => {
            operation.set(&["requestBody"], json!({"required": true}));
            operation.set(&["requestBody", "content"], content(&["*/*"], component));
        }
        ("delete" | "deletecollection", _) => {
            operation.set(&["requestBody", "content"], content(&["*/*"], &format!("{META}.DeleteOptions")));
        }
        _ => {}
    }
    let status = format!("{META}.Status");
    let answer = match verb {
        "delete" | "deletecollection" => Some(status.as_str()),
        _ => component,
    };
    let ok = |description: &str| {
        let mut ok = json!({"description": description});
        if let Some(answer) = answer {
            ok.set(&["content"], content(&["application/json", "application/yaml"], answer));
        }
        ok
    };
    let mut responses = Map::from_iter([("200", ok("OK")), ("401", json!({"description": "Unauthorized"}))]);
    if matches!(verb, "create" | "update" | "patch") {
        responses.insert("201", ok("Created"));
    }
    if matches!(verb, "create" | "delete") {
        responses.insert("202", ok("Accepted"));
    }
    operation.set(&["responses"], responses);
    operation
}

fn description(verb: &str, kind: &str, sub: &str) -> String {
    match verb {
        "get" if !sub.is_empty() => format!("read {sub} of the specified {kind}"),
        "update" if !sub.is_empty() => format!("replace {sub} of the specified {kind}"),
        "patch" if !sub.is_empty() => format!("partially update {sub} of the specified {kind}"),
        "create" => format!("create a {kind}"),
        "get" => format!("read the specified {kind}"),
        "list" => format!("list or watch objects of kind {kind}"),
        "update" => format!("replace the specified {kind}"),
        "patch" => format!("partially update the specified {kind}"),
        "delete" => format!("delete a {kind}"),
        _ => format!("delete collection of {kind}"),
    }
}

/// The group and version in camel case: `CoreV1`, `RbacAuthorizationV1`.
fn group_words(gvk: &Gvk) -> Vec<String> {
    let group = gvk.group.strip_suffix(".k8s.io").unwrap_or(&gvk.group);
    let group = if group.is_empty() { "core" } else { group };
    group.split('.').chain([gvk.version.as_str()]).map(str::to_owned).collect()
}

fn operation_id(prefix: &str, gvk: &Gvk, namespaced: bool, sub: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
    };
    let group: String = group_words(gvk).iter().map(|word| capital(word)).collect();
    let (prefix, many) = if prefix == "deleteCollection" { ("delete", "Collection") } else { (prefix, "") };
    let scope = if namespaced { "Namespaced" } else { "" };
    format!("{prefix}{group}{many}{scope}{}{}", gvk.kind, capital(sub))
}

fn tag(gvk: &Gvk) -> String {
    group_words(gvk).join("_")
}

fn parameters(verb: &str) -> Vec<Value> {
    let dry_run = || {
        query(
            "dryRun",
            "string",
            "When present, indicates that modifications should not be persisted. Valid values are: - All: all dry run stages will be processed",
        )
    };
    let written = || {
        vec![
            dry_run(),
            query(
                "fieldManager",
                "string",
                "fieldManager is a name associated with the actor or entity that is making these changes. This field is required for apply requests (application/apply-patch).",
            ),
            query(
                "fieldValidation",
                "string",
                "fieldValidation instructs the server on how to handle objects in the request (POST/PUT/PATCH) containing unknown or duplicate fields. Valid values are Ignore, Warn (the default) and Strict.",
            ),
        ]
    };
    let listed = || {
        vec![
            query(
                "allowWatchBookmarks",
                "boolean",
                "allowWatchBookmarks requests watch events with type \"BOOKMARK\".",
            ),
            query(
                "continue",
                "string",
                "The continue option should be set when retrieving more results from the server.",
            ),
            query(
                "fieldSelector",
                "string",
                "A selector to restrict the list of returned objects by their fields. Defaults to everything.",
            ),
            query(
                "labelSelector",
                "string",
                "A selector to restrict the list of returned objects by their labels. Defaults to everything.",
            ),
            query("limit", "integer", "limit is a maximum number of responses to return for a list call."),
            query(
                "resourceVersion",
                "string",
                "resourceVersion sets a constraint on what resource versions a request may be served from.",
            ),
            query(
                "resourceVersionMatch",
                "string",
                "resourceVersionMatch determines how resourceVersion is applied to list calls.",
            ),
            query(
                "sendInitialEvents",
                "boolean",
                "sendInitialEvents=true may be set together with watch=true.",
            ),
            query("timeoutSeconds", "integer", "Timeout for the list/watch call."),
            query(
                "watch",
                "boolean",
                "Watch for changes to the described resources and return them as a stream of add, update, and remove notifications.",
            ),
        ]
    };
    let deleted = || {
        vec![
            dry_run(),
            query(
                "gracePeriodSeconds",
                "integer",
                "The duration in seconds before the object should be deleted.",
            ),
            query("orphanDependents", "boolean", "Deprecated: please use the PropagationPolicy."),
            query(
                "propagationPolicy",
                "string",
                "Whether and how garbage collection will be performed: Orphan, Background or Foreground.",
            ),
        ]
    };
    match verb {
        "create" | "update" => written(),
        "patch" => {
            let force = query(
                "force",
                "boolean",
                "Force is going to \"force\" Apply requests. It means user will re-acquire conflicting fields owned by other people.",
            );
            written().into_iter().chain([force]).collect()
        }
        "list" => listed(),
        "delete" => deleted(),
        "deletecollection" => deleted().into_iter().chain(listed()).collect(),
        _ => Vec::new(),
    }
}

/// The operation that lists the resources of a group version.
pub(super) fn discovery() -> Value {
    json!({"get": {
        "description": "get available resources", "operationId": "getAPIResources",
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": format!("{SCHEMAS}{META}.APIResourceList")}}}},
            "401": {"description": "Unauthorized"},
        },
    }})
}
