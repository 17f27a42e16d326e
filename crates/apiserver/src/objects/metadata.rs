//! The rules that the metadata of every object obeys, whatever its kind: apimachinery's `ValidateObjectMeta` and
//! `ValidateObjectMetaUpdate`, and the fields that only the server may set.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use pilothouse_value::field::{self, Path};
use pilothouse_value::{Map, Value, names, object};

use crate::registry::resource::Resource;
use crate::state::Context;

/// Most bytes of all annotations of an object together.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Which names a resource allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// A DNS-1123 subdomain, as most have.
    Subdomain,
    /// A DNS-1123 label.
    Label,
    /// Anything that can be one segment of a path.
    PathSegment,
    /// The kind has a rule of its own for it.
    Own,
}

impl NameRule {
    fn check(self, name: &str) -> Vec<String> {
        match self {
            NameRule::Subdomain => names::dns1123_subdomain(name),
            NameRule::Label => names::dns1123_label(name),
            NameRule::PathSegment => names::path_segment(name),
            NameRule::Own => Vec::new(),
        }
    }
}

/// Checks the metadata of a new object, or of one that was changed by the object's own resource or by a subresource.
pub(crate) fn validate(value: &Value, resource: &Resource, written: Written<'_>) -> Vec<field::Error> {
    let path = Path::new("metadata");
    let mut errors = Vec::new();
    let text = |key: &str| value.str_at(&["metadata", key]).unwrap_or_default();
    let (namespaced, rule) = (resource.namespaced, resource.rules.names);
    let generate_name = text("generateName");
    if !generate_name.is_empty() {
        let mut complain = |complaint: String| {
            errors.push(field::Error::invalid(&path.child("generateName"), generate_name, complaint));
        };
        let is_checked = checks_generate_name(resource, written);
        if is_checked {
            rule.check(&masked(generate_name)).into_iter().for_each(&mut complain);
        }
        let is_asked_for_path = match written {
            Written::Created => !is_checked,
            Written::Updated(_) => !(is_checked && rule == NameRule::PathSegment),
        };
        if is_asked_for_path {
            // Whatever is changed is asked for what a path allows, and what is new if its kind does not ask for more.
            names::path_segment(&masked(generate_name)).into_iter().for_each(&mut complain);
        }
    }
    let name = text("name");
    if name.is_empty() {
        errors.push(field::Error::required(&path.child("name"), "name or generateName is required"));
    } else {
        for complaint in rule.check(name) {
            errors.push(field::Error::invalid(&path.child("name"), name, complaint));
        }
    }
    let namespace = text("namespace");
    if namespaced {
        if namespace.is_empty() {
            errors.push(field::Error::required(&path.child("namespace"), ""));
        } else {
            for complaint in names::dns1123_label(namespace) {
                errors.push(field::Error::invalid(&path.child("namespace"), namespace, complaint));
            }
        }
    } else if !namespace.is_empty() {
        errors.push(field::Error::forbidden(&path.child("namespace"), "not allowed on this type"));
    }
    if let Some(generation) = value.i64_at(&["metadata", "generation"]).filter(|generation| *generation < 0) {
        let detail = "must be greater than or equal to 0";
        errors.push(field::Error::invalid(&path.child("generation"), generation, detail));
    }
    errors.extend(validate_maps(value));
    for finalizer in object::finalizers(value) {
        for complaint in names::qualified_name(finalizer) {
            errors.push(field::Error::invalid(&path.child("finalizers"), finalizer, complaint));
        }
    }
    if object::has_finalizer(value, "orphan") && object::has_finalizer(value, "foregroundDeletion") {
        let all: Vec<String> = object::finalizers(value).map(str::to_owned).collect();
        errors.push(field::Error::invalid(
            &path.child("finalizers"),
            all,
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}

/// How an object came to be as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written<'a> {
    /// It is new.
    Created,
    /// It was changed, by itself or by the subresource of this name.
    Updated(Option<&'a str>),
}

/// Whether the rules of a kind say something of the name that names are made of: of new objects nearly all do, and of changed ones
/// those that look at all of their metadata again.
fn checks_generate_name(resource: &Resource, written: Written<'_>) -> bool {
    let (group, plural) = (&*resource.group, &*resource.plural);
    match written {
        Written::Created => {
            !matches!((group, plural), ("", "replicationcontrollers") | ("resource.k8s.io", "deviceclasses"))
        }
        Written::Updated(Some(subresource)) => plural == "volumeattachments" && subresource == "status",
        Written::Updated(None) => match group {
            "" => matches!(
                plural,
                "configmaps"
                    | "endpoints"
                    | "limitranges"
                    | "namespaces"
                    | "nodes"
                    | "persistentvolumeclaims"
                    | "persistentvolumes"
                    | "pods"
                    | "secrets"
                    | "serviceaccounts"
            ),
            "admissionregistration.k8s.io"
            | "apiregistration.k8s.io"
            | "discovery.k8s.io"
            | "flowcontrol.apiserver.k8s.io"
            | "node.k8s.io" => true,
            "apps" => plural == "controllerrevisions",
            "networking.k8s.io" => matches!(plural, "ingressclasses" | "ipaddresses" | "ingresses"),
            "resource.k8s.io" => plural.starts_with("resourceclaim"),
            "storage.k8s.io" => plural != "csidrivers",
            _ => false,
        },
    }
}

/// The start of names as it is checked: what follows a trailing dash is fine, and upstream takes the character before it for fine too.
fn masked(start: &str) -> String {
    match start.len() {
        length @ 2.. if start.ends_with('-') => {
            format!("{}a", String::from_utf8_lossy(start.as_bytes().get(..length - 2).unwrap_or_default()))
        }
        _ => start.to_owned(),
    }
}

/// Checks labels, annotations and owners.
pub(crate) fn validate_maps(value: &Value) -> Vec<field::Error> {
    let (path, mut errors) = (Path::new("metadata"), Vec::new());
    labels(object::labels(value), &path.child("labels"), &mut errors);
    annotations(object::annotations(value), &path.child("annotations"), &mut errors);
    owners(value, &path.child("ownerReferences"), &mut errors);
    errors
}

/// Checks the finalizers of an object of a built-in kind, or of one whose subresource is written: they are qualified, or among
/// those that the system knows. Some kinds know no such rule.
pub(crate) fn validate_finalizers(
    resource: &Resource,
    subresource: Option<&str>,
    value: &Value,
) -> Vec<field::Error> {
    let free = match &*resource.group {
        "admissionregistration.k8s.io"
        | "apiregistration.k8s.io"
        | "coordination.k8s.io"
        | "node.k8s.io"
        | "policy" => true,
        "" => &*resource.plural == "events",
        "batch" => &*resource.plural == "cronjobs" && subresource == Some("status"),
        "storage.k8s.io" => subresource == Some("status"),
        _ => false,
    };
    if free {
        return Vec::new();
    }
    let path = Path::new("metadata").child("finalizers");
    object::finalizers(value)
        .enumerate()
        .filter(|(_, own)| {
            !own.contains('/') && !matches!(*own, "kubernetes" | "orphan" | "foregroundDeletion")
        })
        .map(|(index, own)| {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            field::Error::invalid(&path.index(index), own, why)
        })
        .collect()
}

/// Checks what an update may not do to metadata.
pub(crate) fn validate_update(new: &Value, old: &Value) -> Vec<field::Error> {
    let mut errors = Vec::new();
    for key in ["name", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(value) =
            new.at(&["metadata", key]).filter(|value| old.at(&["metadata", key]) != Some(value))
        {
            let path = Path::new("metadata").child(key);
            errors.push(field::Error::invalid(&path, value.clone(), "field is immutable"));
        }
    }
    if object::deletion_timestamp(old).is_some() {
        let added: Vec<&str> =
            object::finalizers(new).filter(|finalizer| !object::has_finalizer(old, finalizer)).collect();
        if !added.is_empty() {
            let list: Vec<String> = added.iter().map(|finalizer| field::quote(finalizer)).collect();
            errors.push(field::Error::forbidden(
                &Path::new("metadata").child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    list.join(", ")
                ),
            ));
        }
    }
    errors
}

/// Checks a map of labels.
pub(crate) fn labels(labels: Option<&Map>, path: &Path, errors: &mut Vec<field::Error>) {
    for (key, value) in labels.into_iter().flat_map(|map| map.iter()) {
        for complaint in names::qualified_name(key) {
            errors.push(field::Error::invalid(path, key, complaint));
        }
        for complaint in names::label_value(value.as_str().unwrap_or_default()) {
            errors.push(field::Error::invalid(path, value.clone(), complaint));
        }
    }
}

/// Checks a map of annotations.
pub(crate) fn annotations(annotations: Option<&Map>, path: &Path, errors: &mut Vec<field::Error>) {
    let mut size = 0;
    for (key, value) in annotations.into_iter().flat_map(|map| map.iter()) {
        for complaint in names::qualified_name(&key.to_lowercase()) {
            errors.push(field::Error::invalid(path, key, complaint));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(field::Error::too_long(path, ANNOTATIONS_LIMIT));
    }
}

fn owners(value: &Value, path: &Path, errors: &mut Vec<field::Error>) {
    let mut controller: Option<String> = None;
    // Each of many errors shows all owners.
    let shown: OnceCell<Arc<str>> = OnceCell::new();
    let show = || {
        let all: Vec<String> = object::owner_references(value).iter().map(in_go_order).collect();
        Arc::from(format!("[{}]", all.join(",")))
    };
    for (index, owner) in object::owner_references(value).iter().enumerate() {
        let at = path.index(index);
        let api_version = object::api_version(owner);
        match api_version.parse::<pilothouse_value::GroupVersion>() {
            _ if api_version.is_empty() => {
                errors.push(field::Error::required(&at.child("apiVersion"), "must not be empty"));
            }
            Ok(parsed) if !parsed.version.is_empty() => {}
            _ => errors.push(field::Error::invalid(
                &at.child("apiVersion"),
                api_version,
                "must be <group>/<version> or <version>",
            )),
        }
        for key in ["kind", "name", "uid"] {
            if owner.str_at(&[key]).unwrap_or_default().is_empty() {
                errors.push(field::Error::required(&at.child(key), "must not be empty"));
            }
        }
        if api_version == "v1" && object::kind(owner) == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(field::Error::invalid(&at, Value::Null, why).showing(in_go_order(owner)));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let text = format!("{}/{}", object::kind(owner), owner.str_at(&["name"]).unwrap_or_default());
            match &controller {
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {text}"
                    );
                    let shown = shown.get_or_init(show).clone();
                    errors.push(field::Error::invalid(path, Value::Null, why).showing(shown));
                }
                None => controller = Some(text),
            }
        }
    }
}

/// Removes what only the server sets from a document that is to become a new object.
pub(crate) fn wipe(value: &mut Value) {
    for key in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        value.take(&["metadata", key]);
    }
}

/// Puts back what an update may not change.
pub(crate) fn restore(new: &mut Value, old: &Value) {
    for key in ["creationTimestamp", "generation"] {
        copy(new, old, key);
    }
    if object::deletion_timestamp(old).is_some() {
        copy(new, old, "deletionTimestamp");
    }
    // Left out they stay as they are; changed they are refused.
    for key in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new.at(&["metadata", key]).is_none() {
            copy(new, old, key);
        }
    }
}

fn copy(new: &mut Value, old: &Value, key: &str) {
    match old.at(&["metadata", key]) {
        Some(kept) => new.set(&["metadata", key], kept.clone()),
        None => {
            new.take(&["metadata", key]);
        }
    }
}

/// Owner references as JSON with the members in the order of upstream's struct.
fn in_go_order(owner: &Value) -> String {
    const MEMBERS: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let member = |key: &&str| Some(format!("\"{key}\":{}", owner.get(key)?.to_json()));
    format!("{{{}}}", MEMBERS.iter().filter_map(member).collect::<Vec<_>>().join(","))
}

/// Removes owner references that are there already, and tells of it, as upstream does before and `after` admission.
pub(crate) fn dedup_owners(context: &Context, value: &mut Value, after: bool) {
    let Some(owners) = value.at_mut(&["metadata", "ownerReferences"]).and_then(Value::as_array_mut) else {
        return;
    };
    if owners.len() < 2 {
        return;
    }
    let mut seen: HashSet<String> = HashSet::new();
    let mut duplicates: Vec<String> = Vec::new();
    owners.retain(|owner| {
        let first = seen.insert(owner.to_json());
        if !first {
            duplicates.push(owner.str_at(&["uid"]).unwrap_or_default().to_owned());
        }
        first
    });
    if duplicates.is_empty() {
        return;
    }
    let after = if after { " after mutating admission happens" } else { "" };
    context.warn(format!(
        ".metadata.ownerReferences contains duplicate entries{after}; API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        duplicates.join(", ")
    ));
}
