//! Objects as rows for people: `meta.k8s.io` `Table`.

use pilothouse_value::{Value, json, object};

use crate::document::Document;
use crate::resource::Resource;

/// How much of each object a row carries along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`.
    pub(crate) fn parse(text: Option<&str>) -> Include {
        match text {
            Some("None") => Include::None,
            Some("Object") => Include::Object,
            _ => Include::Metadata,
        }
    }
}

/// The rows of some objects, and the columns if they are wanted.
pub(crate) fn table<'a>(
    resource: &Resource,
    documents: impl Iterator<Item = &'a Document>,
    api_version: &str,
    include: Include,
    with_columns: bool,
    now: pilothouse_value::Timestamp,
) -> Value {
    let columns = columns(resource);
    let rows: Vec<Value> = documents
        .map(|document| {
            let value = document.value();
            let mut row = Value::object();
            row.set(&["cells"], cells(resource, &value, now));
            match include {
                Include::None => {}
                Include::Metadata => row.set(&["object"], partial(&value, api_version)),
                Include::Object => row.set(&["object"], Value::clone(&value)),
            }
            row
        })
        .collect();
    let mut table = json!({"kind": "Table", "apiVersion": api_version, "metadata": {}});
    table.set(&["columnDefinitions"], if with_columns { columns } else { Value::Null });
    table.set(&["rows"], rows);
    table
}

/// An object's metadata alone.
pub(crate) fn partial(value: &Value, api_version: &str) -> Value {
    let mut partial = json!({"kind": "PartialObjectMetadata", "apiVersion": api_version});
    partial.set(&["metadata"], value.get("metadata").cloned().unwrap_or_else(Value::object));
    partial
}

fn columns(_resource: &Resource) -> Value {
    json!([
        {"name": "Name", "type": "string", "format": "name", "priority": 0,
         "description": "Name must be unique within a namespace."},
        {"name": "Age", "type": "string", "format": "", "priority": 0,
         "description": "The time since the object was created."},
    ])
}

fn cells(_resource: &Resource, value: &Value, now: pilothouse_value::Timestamp) -> Value {
    let age = value
        .str_at(&["metadata", "creationTimestamp"])
        .and_then(|text| pilothouse_value::Timestamp::parse(text).ok())
        .map_or("<unknown>".to_owned(), |then| format!("{}s", now.since(then).as_secs()));
    vec![object::name(value).to_owned(), age].into()
}
