//! The routes of custom resources, which differ from those of built-in ones in many small ways. Source: apiextensions
//! `pkg/controller/openapi/builder`.

use pilothouse_value::Gvk;

use super::CustomResource;
use super::components::{custom_name, full_name};
use super::parameters::{self, Parameter};
use super::routes::{ACCEPTED, CREATED, NAMESPACE, OK, Route, capital, meta, with_article};

const OBJECTS: &[&str] = &["application/json", "application/yaml"];
const PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// The routes of a version of a custom resource; none if the definition lacks a name.
pub(super) fn of_custom(resource: &CustomResource<'_>) -> Vec<Route> {
    let Some(maker) = Maker::new(resource) else { return Vec::new() };
    let root = format!("/{}", super::path(&maker.gvk.group_version()));
    let scope = if maker.namespaced { NAMESPACE } else { "" };
    let collection = format!("{root}{scope}/{}", maker.plural);
    let item = format!("{collection}/{{name}}");
    let mut routes = Vec::new();
    if maker.namespaced {
        let mut everywhere = maker.route("list", format!("{root}/{}", maker.plural), "", &maker.list);
        everywhere.operation = format!("list{}ForAllNamespaces", maker.gvk.kind);
        routes.push(everywhere);
    }
    routes.push(maker.route("list", collection.clone(), "", &maker.list));
    routes.push(maker.route("create", collection.clone(), "", &maker.item));
    routes.push(maker.route("deletecollection", collection, "", &meta("Status")));
    for (verb, answer) in [
        ("read", maker.item.clone()),
        ("replace", maker.item.clone()),
        ("delete", meta("Status")),
        ("patch", maker.item.clone()),
    ] {
        routes.push(maker.route(verb, item.clone(), "", &answer));
    }
    for (sub, kind) in [("status", maker.item.clone()), ("scale", full_name("autoscaling.v1.Scale"))] {
        if resource.version.at(&["subresources", sub]).is_some_and(|sub| sub.as_object().is_some()) {
            for verb in ["read", "replace", "patch"] {
                routes.push(maker.route(verb, format!("{item}/{sub}"), sub, &kind));
            }
        }
    }
    routes
}

struct Maker<'v> {
    gvk: Gvk,
    plural: &'v str,
    namespaced: bool,
    /// The names of the types of an object and of a list.
    item: String,
    list: String,
}

impl<'v> Maker<'v> {
    fn new(resource: &CustomResource<'v>) -> Option<Self> {
        let text = |path: &[&str]| resource.definition.str_at(path);
        let kind = text(&["spec", "names", "kind"])?;
        let gvk = Gvk::new(text(&["spec", "group"])?, resource.version.str_at(&["name"])?, kind);
        let list_kind =
            text(&["spec", "names", "listKind"]).map_or_else(|| format!("{kind}List"), str::to_owned);
        Some(Self {
            plural: text(&["spec", "names", "plural"])?,
            namespaced: text(&["spec", "scope"]) == Some("Namespaced"),
            item: custom_name(&gvk),
            list: custom_name(&gvk.group_version().kind(list_kind)),
            gvk,
        })
    }

    fn route(&self, verb: &str, path: String, sub: &str, answer: &str) -> Route {
        let kind = self.gvk.kind.as_str();
        let of = if sub.is_empty() { String::new() } else { format!(" {sub} of") };
        let description = match verb {
            "list" => format!("list objects of kind {kind}"),
            "create" | "delete" => format!("{verb} {}", with_article(kind)),
            "deletecollection" => format!("delete collection of {kind}"),
            "patch" => format!("partially update{of} the specified {kind}"),
            _ => format!("{verb}{of} the specified {kind}"),
        };
        let (method, action, options) = match verb {
            "list" => ("get", "list", "ListOptions"),
            "create" => ("post", "post", "CreateOptions"),
            "deletecollection" => ("delete", "deletecollection", "ListOptions"),
            "read" => ("get", "get", "GetOptions"),
            "replace" => ("put", "put", "UpdateOptions"),
            "delete" => ("delete", "delete", "DeleteOptions"),
            _ => ("patch", "patch", "PatchOptions"),
        };
        let body = match verb {
            "create" | "replace" => Some((answer.to_owned(), true)),
            "patch" => Some((meta("Patch"), true)),
            "delete" => Some((meta("DeleteOptions"), false)),
            _ => None,
        };
        let codes: &[(u16, &str)] = match verb {
            "create" => &[OK, CREATED, ACCEPTED],
            "replace" => &[OK, CREATED],
            "delete" => &[OK, ACCEPTED],
            _ => &[OK],
        };
        let mut all = vec![Parameter::pretty()];
        if path.contains("{name}") {
            all.push(Parameter::name_of(kind));
        }
        if path.contains("{namespace}") {
            all.push(Parameter::namespace());
        }
        all.extend(parameters::of_options(options));
        let scoped = if self.namespaced { "Namespaced" } else { "" };
        Route {
            method,
            path,
            description,
            operation: format!("{verb}{scoped}{kind}{}", capital(sub)),
            about: Some((action, self.gvk.clone())),
            consumes: if verb == "patch" { PATCHES } else { OBJECTS },
            produces: OBJECTS,
            parameters: all,
            body,
            answer: Some(answer.to_owned()),
            codes,
        }
    }
}
