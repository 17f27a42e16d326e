//! Where a path leads: which object, or which objects, of a resource a verb is about. Built-in resources are routed by the form of
//! the path, as upstream's router does; defined ones by its parts.
//!
//! This stage changes nothing.

use std::sync::Arc;

use pilothouse_value::status::Details;
use pilothouse_value::{Status, field};

use crate::connect;
use crate::registry::resource::Resource;
use crate::request::ResourcePath;
use crate::state::Target;

/// The target of a path, if the path fits the resource and the resource knows the verb.
///
/// # Errors
/// 404 for a path that leads nowhere, 405 for a verb that is not served there, 400 for a name under which nothing can be.
pub(crate) fn target(resource: &Arc<Resource>, path: &ResourcePath, verb: &str) -> Result<Target, Status> {
    if !resource.namespaced && path.namespace.is_some() && path.resource != "namespaces" {
        return Err(Status::no_such_path());
    }
    let connects = connect::is_connect_path(path);
    // What is only reviewed has no objects, so no path leads to one.
    let reviewed = resource.verbs.iter().all(|verb| verb == "create");
    let nameless = reviewed && path.name.is_some() && path.subresource.is_none();
    let deeper = !path.rest.is_empty() && path.subresource.as_deref() != Some("proxy");
    let twice = path.resource == "namespaces" && path.namespace.is_some() && path.name.is_none();
    if resource.is_built_in() && (verb == "proxy" || deeper || twice || nameless) {
        return Err(Status::no_such_path());
    }
    // Only lists and watches reach over all namespaces.
    if resource.namespaced && path.namespace.is_none() {
        if path.name.is_some() {
            return Err(Status::no_such_path());
        }
        if !matches!(verb, "list" | "watch") && resource.has_verb("get") {
            return Err(wrong_method());
        }
    }
    let without_name = path.name.is_none() && matches!(verb, "get" | "update" | "patch" | "delete");
    let with_name = path.name.is_some() && path.subresource.is_none() && verb == "create";
    if resource.is_built_in() && (without_name || with_name) {
        return Err(wrong_method());
    }
    if without_name {
        return Err(Status::bad_request("name must be provided"));
    }
    let verbs = match path.subresource.as_deref() {
        None => &resource.verbs,
        Some(name) => match resource.subresource(name) {
            Some(subresource) => &subresource.verbs,
            None if resource.is_built_in() => return Err(Status::no_such_path()),
            None => {
                let name = path.name.as_deref().unwrap_or_default();
                return Err(Status::not_found(&resource.group, &resource.plural, name));
            }
        },
    };
    let known = verbs.iter().any(|own| own == verb);
    if !known && !connects {
        return Err(if resource.is_built_in() {
            wrong_method()
        } else {
            Status::method_not_allowed(&resource.group, &resource.plural, verb)
        });
    }
    let target = Target {
        resource: resource.clone(),
        namespace: match &path.namespace {
            Some(namespace) if resource.namespaced => namespace.clone(),
            _ => String::new(),
        },
        // Where a defined kind is created below a name, the body says the name.
        name: path.name.clone().filter(|_| !with_name).unwrap_or_default(),
        subresource: path.subresource.clone(),
    };
    check_key(&target)?;
    Ok(target)
}

/// Refuses the names under which nothing can be stored.
///
/// # Errors
/// 400 for such a name, 500 for such a namespace, which upstream's storage refuses itself.
fn check_key(target: &Target) -> Result<(), Status> {
    let name = target.name.as_str();
    let wrong = match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ if name.contains('%') => Some("may not contain '%'".to_owned()),
        _ => None,
    };
    if let Some(why) = wrong {
        return Err(Status::bad_request(format!("Name parameter invalid: {}: {why}", field::quote(name))));
    }
    if matches!(target.namespace.as_str(), "." | "..") {
        let resource = &target.resource;
        let group = if resource.is_built_in() { "" } else { &resource.group };
        let parts = [group, &resource.plural, &target.namespace, name];
        let key: String =
            parts.into_iter().filter(|part| !part.is_empty()).flat_map(|part| ["/", part]).collect();
        return Err(Status::new(500, "", format!("invalid key: {}", field::quote(&key))));
    }
    Ok(())
}

/// 405 for a path that is not served with this method.
pub(crate) fn wrong_method() -> Status {
    Status::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        .with_details(Details::default())
}
