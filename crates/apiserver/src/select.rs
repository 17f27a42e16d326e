//! Which objects of a resource a list, a watch or a deletion of many is about.

use std::borrow::Cow;

use pilothouse_value::selector::{FieldSelector, LabelSelector};
use pilothouse_value::{Status, Value, object};

use crate::resource::Resource;

/// Parsed selectors, with where each field is found.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    paths: Vec<(String, Vec<String>)>,
}

impl Selection {
    /// Reads selectors for a resource.
    ///
    /// # Errors
    /// 400 if they cannot be read, or name a field that this resource cannot be selected by.
    pub(crate) fn parse(
        resource: &Resource,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Selection, Status> {
        let labels = LabelSelector::parse(labels.unwrap_or_default())
            .map_err(|error| Status::bad_request(format!("unable to parse requirement: {error}")))?;
        let fields = FieldSelector::parse(fields.unwrap_or_default())
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let mut paths = Vec::new();
        for requirement in &fields.requirements {
            let field = requirement.field.as_str();
            let path = path(resource, field).ok_or_else(|| unsupported(resource, field))?;
            paths.push((field.to_owned(), path));
        }
        Ok(Selection { labels, fields, paths })
    }

    /// Whether all objects are meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    /// The one name that is meant, if the selector pins it.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.exact("metadata.name")
    }

    /// Whether an object is meant.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        if !self.labels.is_everything() && !self.labels.matches(object::labels(value)) {
            return false;
        }
        self.fields.requirements.iter().all(|requirement| {
            let path = self.paths.iter().find(|(field, _)| *field == requirement.field);
            let found = path.map(|(_, path)| text(value, path)).unwrap_or_default();
            (found == requirement.value) != requirement.negated
        })
    }
}

/// A field's value as selectors compare it.
fn text<'a>(value: &'a Value, path: &[String]) -> Cow<'a, str> {
    let mut at = Some(value);
    for part in path {
        at = at.and_then(|value| value.get(part));
    }
    match at {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Bool(flag)) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        Some(Value::Int(number)) => Cow::Owned(number.to_string()),
        // A field that is left out compares as its zero value; booleans are the only kind where that is not "".
        _ if path.last().is_some_and(|last| last == "unschedulable" || last == "hostNetwork") => {
            Cow::Borrowed("false")
        }
        _ => Cow::Borrowed(""),
    }
}

/// The fields, beyond name and namespace, that built-in resources can be selected by.
fn built_in(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        _ => &[],
    }
}

/// Where a field is found; `None` if the resource cannot be selected by it.
fn path(resource: &Resource, field: &str) -> Option<Vec<String>> {
    let split = |field: &str| field.split('.').map(str::to_owned).collect::<Vec<_>>();
    if field == "metadata.name" || (field == "metadata.namespace" && resource.namespaced) {
        return Some(split(field));
    }
    if let Some(custom) = &resource.custom {
        return custom.selectable.iter().find(|(name, _)| name == field).map(|(_, path)| path.clone());
    }
    if !built_in(&resource.group, &resource.plural).contains(&field) {
        return None;
    }
    Some(match (resource.plural.as_str(), field) {
        ("events", "source") => split("source.component"),
        ("jobs", "status.successful") => split("status.succeeded"),
        _ => split(field),
    })
}

fn unsupported(resource: &Resource, field: &str) -> Status {
    if resource.is_built_in() && !built_in(&resource.group, &resource.plural).is_empty() {
        return Status::bad_request(format!("field label not supported: {field}"));
    }
    let known =
        if resource.namespaced { "\"metadata.name\", \"metadata.namespace\"" } else { "\"metadata.name\"" };
    let known = match &resource.custom {
        Some(_) => known,
        None => "\"metadata.name\", \"metadata.namespace\"",
    };
    Status::bad_request(format!(
        "{} is not a known field selector: only {known}",
        pilothouse_value::field::quote(field)
    ))
}
