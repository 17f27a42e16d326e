//! CustomResourceDefinitions as objects: their defaults, their rules, the schemas of their versions.
//! Source: apiextensions `pkg/apis/apiextensions/{v1,validation}`.
//!
//! Upstream validates an older form of these objects, in which what all versions share stands once. Errors name the
//! fields of that form (`spec.validation.openAPIV3Schema` for the schema of a CRD with one version), and so do ours.

mod conversion;
pub(crate) mod field_path;
mod go;
mod scale;
mod spec;

use std::sync::Arc;

use pilothouse_value::field::{self, Path};
use pilothouse_value::{Value, compare_versions, names, object};

use crate::formats;
use crate::node::Schema;
use crate::structural;
use crate::structural::props::Props;

pub use scale::validate as validate_scale;

/// Fills in what a CRD leaves to the server: names, conversion, and the first of `status.storedVersions`.
pub fn default(crd: &mut Value) {
    let kind = crd.str_at(&["spec", "names", "kind"]).unwrap_or_default().to_owned();
    let is_absent =
        |crd: &Value, key: &str| crd.str_at(&["spec", "names", key]).unwrap_or_default().is_empty();
    if !kind.is_empty() {
        if is_absent(crd, "singular") {
            crd.set(&["spec", "names", "singular"], kind.to_lowercase());
        }
        if is_absent(crd, "listKind") {
            crd.set(&["spec", "names", "listKind"], format!("{kind}List"));
        }
    }
    if crd.at(&["spec", "conversion"]).is_none_or(Value::is_null) {
        crd.set(&["spec", "conversion", "strategy"], "None");
    }
    let service = ["spec", "conversion", "webhook", "clientConfig", "service"];
    if let Some(service) = crd.at_mut(&service).and_then(Value::as_object_mut) {
        service.or_insert_with("port", || Value::Int(443));
    }
    if crd.items_at(&["status", "storedVersions"]).is_empty() {
        add_stored_version(crd);
    }
}

/// Notes in `status.storedVersions` that objects may be stored in the storage version from now on.
pub fn add_stored_version(crd: &mut Value) {
    let Some(name) = storage_version(crd).map(str::to_owned) else { return };
    let stored = crd.entry(&["status", "storedVersions"]);
    if stored.as_array().is_none() {
        *stored = Value::Array(Vec::new().into());
    }
    if let Some(list) = stored.as_array_mut()
        && !list.iter().any(|one| one.as_str() == Some(&name))
    {
        list.push(name.into());
    }
}

/// The name of the version that objects are stored in.
pub fn storage_version(crd: &Value) -> Option<&str> {
    let versions = crd.items_at(&["spec", "versions"]);
    let storage =
        versions.iter().find(|version| version.at(&["storage"]).and_then(Value::as_bool) == Some(true))?;
    storage.str_at(&["name"])
}

/// The schema of a version, as it was accepted; [`Schema::any`]-like for a version without one.
pub fn schema(crd: &Value, version: &str) -> Option<Arc<Schema>> {
    let versions = crd.items_at(&["spec", "versions"]);
    let version = versions.iter().find(|one| one.str_at(&["name"]) == Some(version))?;
    Some(match version.at(&["schema", "openAPIV3Schema"]) {
        Some(schema) => structural::parse_stored(schema),
        None => Arc::new(Schema::any().clone()),
    })
}

/// All that is wrong with a CRD that was defaulted; `old` is the stored one on update. The rules of metadata that all
/// objects share are not looked at, except for the name.
pub fn validate(crd: &Value, old: Option<&Value>) -> Vec<field::Error> {
    let mut errors = Vec::new();
    if old.is_none() {
        validate_name(crd, &mut errors);
    }
    spec::validate(crd, old, &mut errors);
    let path = Path::new("status");
    validate_accepted_names(crd, &mut errors);
    validate_stored_versions(crd, &path.child("storedVersions"), &mut errors);
    validate_approval(crd, old, &mut errors);
    let preserves =
        |crd: &Value| crd.at(&["spec", "preserveUnknownFields"]).and_then(Value::as_bool) == Some(true);
    if preserves(crd) && !old.is_some_and(preserves) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(field::Error::invalid(&Path::new("spec").child("preserveUnknownFields"), true, detail));
    }
    errors
}

/// All that is wrong with a write of the status of a CRD. Which versions it says are stored is not looked at: that is how
/// whoever has migrated the objects of a version lets it go.
pub fn validate_status(crd: &Value) -> Vec<field::Error> {
    let mut errors = Vec::new();
    validate_accepted_names(crd, &mut errors);
    errors
}

fn validate_accepted_names(crd: &Value, errors: &mut Vec<field::Error>) {
    spec::validate_names(
        Props(crd.at(&["status", "acceptedNames"]).unwrap_or(&Value::Null)),
        &Path::new("status").child("acceptedNames"),
        errors,
    );
}

/// Whether the webhook that converts the objects of a CRD, if there is one, has certificates that can be read.
pub fn has_readable_bundle(crd: &Value) -> bool {
    conversion::has_readable_bundle(crd)
}

/// What the server warns of when it accepts a CRD: formats that it does not know, sets that will not do. An update is not
/// warned of what the `old` one had already.
pub fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let mut found = all_warnings(crd);
    if let Some(old) = old {
        let known = all_warnings(old);
        found.retain(|warning| !known.contains(warning));
    }
    found
}

fn all_warnings(crd: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut sets = std::collections::BTreeSet::new();
    for schema in schemas(crd) {
        Props(schema).any(&mut |props| {
            let kind = if props.is_int_or_string() && props.text("type").is_empty() { "" } else { props.text("type") };
            if let Some(format) = props.some_text("format").filter(|format| formats::is_unrecognized(kind, format)) {
                found.push(format!("unrecognized format {}", field::quote(format)));
            }
            if props.text("x-kubernetes-list-type") == "set"
                && let Some(kind @ ("object" | "array")) = props.items().map(|items| items.text("type"))
            {
                sets.insert(format!(
                    "x-kubernetes-list-type: set for items of type \"{kind}\" is not supported by server-side apply or CEL validation rules"
                ));
            }
            false
        });
    }
    found.sort();
    found.dedup();
    found.extend(sets);
    found
}

/// What the server warns of on each request in a version that is deprecated.
pub fn deprecation_warning(crd: &Value, version: &str) -> Option<String> {
    let versions = crd.items_at(&["spec", "versions"]);
    let found = versions.iter().find(|one| one.str_at(&["name"]) == Some(version)).map(Props)?;
    if !found.flag("deprecated") {
        return None;
    }
    Some(found.some_text("deprecationWarning").map_or_else(
        || {
            let group = crd.str_at(&["spec", "group"]).unwrap_or_default();
            let kind = crd.str_at(&["spec", "names", "kind"]).unwrap_or_default();
            let newer = versions.iter().map(Props).filter(|one| {
                one.flag("served")
                    && !one.flag("deprecated")
                    && compare_versions(version, one.text("name")).is_lt()
            });
            let newest = newer.map(|one| one.text("name")).max_by(|a, b| compare_versions(a, b));
            let instead = newest.map(|newest| format!("; use {group}/{newest} {kind}")).unwrap_or_default();
            format!("{group}/{version} {kind} is deprecated{instead}")
        },
        str::to_owned,
    ))
}

/// How many CEL rules stand in the schemas of all versions.
pub fn count_rules(crd: &Value) -> usize {
    let mut count = 0;
    for schema in schemas(crd) {
        Props(schema).any(&mut |props| {
            count += props.values("x-kubernetes-validations").len();
            false
        });
    }
    count
}

fn schemas(crd: &Value) -> Vec<&Value> {
    let versions = crd.items_at(&["spec", "versions"]).iter();
    versions.filter_map(|version| version.at(&["schema", "openAPIV3Schema"])).collect()
}

fn validate_name(crd: &Value, errors: &mut Vec<field::Error>) {
    let name = object::name(crd);
    let path = Path::new("metadata").child("name");
    if name.is_empty() {
        errors.push(field::Error::required(&path, "name or generateName is required"));
        return;
    }
    let mut problems = names::dns1123_subdomain(name);
    let plural = crd.str_at(&["spec", "names", "plural"]).unwrap_or_default();
    let group = crd.str_at(&["spec", "group"]).unwrap_or_default();
    if name != format!("{plural}.{group}") {
        problems.push(r#"must be spec.names.plural+"."+spec.group"#.to_owned());
    }
    errors.extend(problems.into_iter().map(|detail| field::Error::invalid(&path, name, detail)));
}

fn validate_stored_versions(crd: &Value, path: &Path, errors: &mut Vec<field::Error>) {
    let stored = crd.items_at(&["status", "storedVersions"]);
    if stored.is_empty() {
        errors.push(field::Error::invalid(path, Value::Null, "must have at least one stored version"));
        return;
    }
    // As upstream, a version that is named twice accounts for a stored version only once.
    let mut left: Vec<(usize, &str)> = Vec::new();
    for (index, name) in stored.iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        left.retain(|(_, own)| *own != name);
        left.push((index, name));
    }
    for version in crd.items_at(&["spec", "versions"]) {
        let name = version.str_at(&["name"]).unwrap_or_default();
        let is_storage = version.at(&["storage"]).and_then(Value::as_bool) == Some(true);
        let before = left.len();
        left.retain(|(_, own)| *own != name);
        if is_storage && left.len() == before {
            let detail = format!("must have the storage version {name}");
            errors.push(field::Error::invalid(path, stored.to_vec(), detail));
        }
    }
    for (index, name) in left {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.push(field::Error::invalid(&path.index(index), name, detail));
    }
}

const APPROVED: &str = "api-approved.kubernetes.io";
const POLICY: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// Whether groups of this name belong to the Kubernetes community, and need an approval.
pub fn is_protected_group(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owner| group.strip_suffix(owner).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// How a CRD of a protected group stands with its approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// There is no annotation.
    Missing,
    /// The annotation says `unapproved…`.
    Bypassed,
    /// The annotation is the URL of a review.
    Approved,
    /// The annotation says something else.
    Invalid,
}

/// Reads the annotation `api-approved.kubernetes.io`, with the text that upstream has for it.
pub fn approval(crd: &Value) -> (Approval, String) {
    let annotation = object::annotation(crd, APPROVED).unwrap_or_default();
    let has_host = annotation.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty()
            && !rest.is_empty()
            && !rest.starts_with('/')
            && formats::Format::Uri.accepts(annotation)
    });
    if annotation.is_empty() {
        (
            Approval::Missing,
            format!("protected groups must have approval annotation \"{APPROVED}\", {POLICY}"),
        )
    } else if annotation.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {}", field::quote(annotation)))
    } else if has_host {
        (Approval::Approved, format!("approved in {annotation}"))
    } else {
        let text = format!(
            "protected groups must have approval annotation \"{APPROVED}\" with either a URL or a reason starting with \"unapproved\", {POLICY}"
        );
        (Approval::Invalid, text)
    }
}

fn validate_approval(crd: &Value, old: Option<&Value>, errors: &mut Vec<field::Error>) {
    if !is_protected_group(crd.str_at(&["spec", "group"]).unwrap_or_default()) {
        return;
    }
    let (state, reason) = approval(crd);
    if old.is_some_and(|old| approval(old).0 == state) {
        return;
    }
    let path = Path::new("metadata").child("annotations").key(APPROVED);
    match state {
        Approval::Missing => errors.push(field::Error::required(&path, reason)),
        Approval::Invalid => {
            let annotation = object::annotation(crd, APPROVED).unwrap_or_default();
            errors.push(field::Error::invalid(&path, annotation, reason));
        }
        Approval::Approved | Approval::Bypassed => {}
    }
}
