//! What a server's routes are, apart from the version of OpenAPI that they are told in: for each resource which operations
//! there are, under which names and with which parameters. Source: apiserver `pkg/endpoints/installer.go`.

use pilothouse_value::Gvk;

use super::components::full_name;
use super::parameters::{self, Parameter};
use crate::builtin::{Resource, Subresource, type_name};

/// The namespace's part of a path.
pub(super) const NAMESPACE: &str = "/namespaces/{namespace}";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

const ANYTHING: &[&str] = &["*/*"];
pub(super) const OBJECTS: &[&str] =
    &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const LOGS: &[&str] =
    &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

pub(super) const OK: (u16, &str) = (200, "OK");
pub(super) const CREATED: (u16, &str) = (201, "Created");
pub(super) const ACCEPTED: (u16, &str) = (202, "Accepted");

/// One operation on one path.
#[derive(Debug)]
pub(super) struct Route {
    /// The method in lower case: `get`.
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) description: String,
    /// The name before the group version is put into it: `readNamespacedPod`.
    pub(super) operation: String,
    /// What it does, in the words of discovery, and to which kind. Routes that name no resource have none.
    pub(super) about: Option<(&'static str, Gvk)>,
    pub(super) consumes: &'static [&'static str],
    pub(super) produces: &'static [&'static str],
    pub(super) parameters: Vec<Parameter>,
    /// The name of the type of the body, and whether it must be there.
    pub(super) body: Option<(String, bool)>,
    /// The name of the type of the answer; plain text if there is none.
    pub(super) answer: Option<String>,
    pub(super) codes: &'static [(u16, &'static str)],
}

/// The name of a type of the meta group.
pub(super) fn meta(name: &str) -> String {
    format!("{META}.{name}")
}

/// `a Pod`, `an Ingress`; what is plural has no article.
pub(super) fn with_article(kind: &str) -> String {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        return kind.to_owned();
    }
    let vowel = kind.starts_with(['A', 'E', 'I', 'O', 'U', 'a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

/// The word with its first letter in upper case.
pub(super) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// The routes of a built-in resource and of its subresources.
pub(super) fn of_resource(resource: &Resource) -> Vec<Route> {
    let scoped = if resource.namespaced { "Namespaced" } else { "" };
    let maker = Maker { resource, sub: None, gvk: resource.gvk(), scoped, suffix: "" };
    let root = format!("/{}", super::path(&resource.group_version()));
    let tail = |namespaced: bool| {
        let scope = if namespaced { NAMESPACE } else { "" };
        format!("{scope}/{}", resource.plural)
    };
    let (collection, item) = (tail(resource.namespaced), format!("{}/{{name}}", tail(resource.namespaced)));
    let mut routes = Vec::new();
    for verb in ["list", "create", "deletecollection"] {
        maker.add(verb, format!("{root}{collection}"), &mut routes);
    }
    for verb in ["get", "update", "patch", "delete"] {
        maker.add(verb, format!("{root}{item}"), &mut routes);
    }
    let watched = |maker: &Maker<'_>, path: String, one: bool, routes: &mut Vec<Route>| {
        if resource.allows("watch") {
            routes.push(maker.watch(path, one));
        }
    };
    watched(&maker, format!("{root}/watch{collection}"), false, &mut routes);
    if resource.allows("get") {
        watched(&maker, format!("{root}/watch{item}"), true, &mut routes);
    }
    if resource.namespaced {
        let everywhere = Maker { scoped: "", suffix: "ForAllNamespaces", ..maker.clone() };
        everywhere.add("list", format!("{root}{}", tail(false)), &mut routes);
        watched(&everywhere, format!("{root}/watch{}", tail(false)), false, &mut routes);
    }
    for sub in &resource.subresources {
        let gvk = Gvk::new(sub.group, sub.version, sub.kind);
        let maker = Maker { sub: Some(sub), gvk, ..maker.clone() };
        let path = format!("{root}{item}/{}", sub.name);
        if sub.kind.ends_with("Options") {
            maker.connect(&path, &mut routes);
        } else {
            for verb in ["get", "update", "patch", "create", "delete"] {
                maker.add(verb, path.clone(), &mut routes);
            }
        }
    }
    routes
}

/// Makes the routes of a resource, or of one of its subresources.
#[derive(Clone)]
struct Maker<'r> {
    resource: &'r Resource,
    sub: Option<&'r Subresource>,
    /// The kind that the routes are about.
    gvk: Gvk,
    scoped: &'static str,
    suffix: &'static str,
}

impl Maker<'_> {
    fn allows(&self, verb: &str) -> bool {
        self.sub.map_or(&self.resource.verbs, |sub| &sub.verbs).contains(&verb)
    }

    /// What is read and answered: the objects' own type.
    fn kind(&self) -> Option<String> {
        type_name(&self.gvk).map(full_name)
    }

    fn operation(&self, verb: &str) -> String {
        let sub = self.sub.map(|sub| capital(sub.name)).unwrap_or_default();
        format!("{verb}{}{}{sub}{}", self.scoped, self.resource.kind, self.suffix)
    }

    /// `VERB the specified KIND`, `VERB SUB of the specified KIND`.
    fn specified(&self, verb: &str) -> String {
        match self.sub {
            Some(sub) => format!("{verb} {} of the specified {}", sub.name, self.resource.kind),
            None => format!("{verb} the specified {}", self.resource.kind),
        }
    }

    /// `VERB a KIND`, `VERB SUB of a KIND`.
    fn any(&self, verb: &str) -> String {
        let kind = with_article(self.resource.kind);
        match self.sub {
            Some(sub) => format!("{verb} {} of {kind}", sub.name),
            None => format!("{verb} {kind}"),
        }
    }

    /// A route with the parameters of its path; `options` are the types whose fields are parameters as well.
    fn route(&self, method: &'static str, path: String, action: &'static str, options: &[&str]) -> Route {
        let mut parameters = Vec::new();
        if path.contains("{name}") {
            parameters.push(Parameter::name_of(&self.gvk.kind));
        }
        if path.contains("{namespace}") {
            parameters.push(Parameter::namespace());
        }
        for options in options {
            parameters.extend(parameters::of_options(options));
        }
        Route {
            method,
            path,
            description: String::new(),
            operation: String::new(),
            about: Some((action, self.gvk.clone())),
            consumes: ANYTHING,
            produces: OBJECTS,
            parameters,
            body: None,
            answer: self.kind(),
            codes: &[OK],
        }
    }

    fn add(&self, verb: &str, path: String, routes: &mut Vec<Route>) {
        if !self.allows(verb) {
            return;
        }
        let body = || self.kind().map(|kind| (kind, true));
        let options = || Some((meta("DeleteOptions"), false));
        let mut route = match verb {
            "get" => {
                let is_log = self.sub.is_some_and(|sub| sub.name == "log");
                let options: &[&str] = if is_log { &["PodLogOptions"] } else { &[] };
                let route = self.route("get", path, "get", options);
                let (produces, answer) = if is_log { (LOGS, None) } else { (OBJECTS, route.answer.clone()) };
                let (description, operation) = (self.specified("read"), self.operation("read"));
                Route { description, operation, produces, answer, ..route }
            }
            "list" => {
                let verbs = if self.allows("watch") { "list or watch" } else { "list" };
                let list = self.gvk.group_version().kind(&*self.resource.list_kind);
                Route {
                    description: format!("{verbs} objects of kind {}", self.resource.kind),
                    operation: self.operation("list"),
                    produces: STREAMS,
                    answer: type_name(&list).map(full_name),
                    ..self.route("get", path, "list", &["ListOptions"])
                }
            }
            "create" => Route {
                description: self.any("create"),
                operation: self.operation("create"),
                body: body(),
                codes: &[OK, CREATED, ACCEPTED],
                ..self.route("post", path, "post", &["CreateOptions"])
            },
            "update" => Route {
                description: self.specified("replace"),
                operation: self.operation("replace"),
                body: body(),
                codes: &[OK, CREATED],
                ..self.route("put", path, "put", &["UpdateOptions"])
            },
            "patch" => Route {
                description: self.specified("partially update"),
                operation: self.operation("patch"),
                consumes: PATCHES,
                body: Some((meta("Patch"), true)),
                codes: &[OK, CREATED],
                ..self.route("patch", path, "patch", &["PatchOptions"])
            },
            "delete" => {
                let route = self.route("delete", path, "delete", &["DeleteOptions"]);
                let answer =
                    if answers_the_deleted(&self.gvk) { route.answer.clone() } else { Some(meta("Status")) };
                Route {
                    description: self.any("delete"),
                    operation: self.operation("delete"),
                    body: options(),
                    answer,
                    codes: &[OK, ACCEPTED],
                    ..route
                }
            }
            _ => {
                let mut route =
                    self.route("delete", path, "deletecollection", &["DeleteOptions", "ListOptions"]);
                route.parameters.retain(|one| !matches!(one.name, "watch" | "allowWatchBookmarks"));
                Route {
                    description: format!("delete collection of {}", self.resource.kind),
                    operation: self.operation("deletecollection"),
                    body: options(),
                    answer: Some(meta("Status")),
                    ..route
                }
            }
        };
        route.parameters.push(Parameter::pretty());
        routes.push(route);
    }

    /// The old way to watch, by a path of its own.
    fn watch(&self, path: String, one: bool) -> Route {
        const INSTEAD: &str = "deprecated: use the 'watch' parameter with a list operation instead";
        let kind = self.resource.kind;
        let (action, description, operation) = if one {
            let filtered = "filtered to a single item with the 'fieldSelector' parameter";
            let about = format!("watch changes to an object of kind {kind}. {INSTEAD}, {filtered}.");
            ("watch", about, self.operation("watch"))
        } else {
            let about = format!("watch individual changes to a list of {kind}. {INSTEAD}.");
            ("watchlist", about, format!("watch{}{kind}List{}", self.scoped, self.suffix))
        };
        let mut route = self.route("get", path, action, &["ListOptions"]);
        route.parameters.push(Parameter::pretty());
        Route { description, operation, produces: STREAMS, answer: Some(meta("WatchEvent")), ..route }
    }

    /// A subresource that is a connection, and not an object. What proxies also takes every method and any path.
    fn connect(&self, path: &str, routes: &mut Vec<Route>) {
        let Some(sub) = self.sub else { return };
        let proxies = self.allows("delete");
        let methods: &[&str] = match proxies {
            true => &["get", "put", "post", "delete", "options", "head", "patch"],
            false => &["get", "post"],
        };
        let paths: &[(&str, &str)] = if proxies { &[("", ""), ("/{path}", "WithPath")] } else { &[("", "")] };
        for (rest, suffix) in paths {
            for method in methods {
                let name = format!("connect{}", capital(method));
                let mut route = self.route(method, format!("{path}{rest}"), "connect", &[sub.kind]);
                if !rest.is_empty() {
                    route.parameters.push(Parameter::path());
                }
                let verb = method.to_ascii_uppercase();
                routes.push(Route {
                    description: format!("connect {verb} requests to {} of {}", sub.name, self.resource.kind),
                    operation: self.operation(&name) + suffix,
                    produces: ANYTHING,
                    answer: None,
                    ..route
                });
            }
        }
    }
}

/// Whether a delete answers the object, where others answer a status.
fn answers_the_deleted(gvk: &Gvk) -> bool {
    match gvk.group.as_str() {
        "" => matches!(
            gvk.kind.as_str(),
            "PersistentVolume"
                | "PersistentVolumeClaim"
                | "Pod"
                | "PodTemplate"
                | "ResourceQuota"
                | "Service"
                | "ServiceAccount"
        ),
        "resource.k8s.io" => gvk.kind != "DeviceTaintRule",
        "storage.k8s.io" => gvk.kind != "CSIStorageCapacity",
        _ => false,
    }
}
