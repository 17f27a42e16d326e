//! From what is stored to what a version shows, and back.
//!
//! All versions of a resource share one set of stored objects. Where their fields are the same, only `apiVersion` differs;
//! the two faces of events are the exception.

use std::sync::Arc;

use pilothouse_store::Object;
use pilothouse_value::{Gvk, Map, Status, Value, object};

use crate::document::Document;
use crate::kinds;
use crate::resource::Resource;
use crate::state::State;

/// An object as this resource shows it.
///
/// # Errors
/// 501 if showing it needs a conversion webhook.
pub(crate) async fn present(
    _state: &State,
    resource: &Resource,
    stored: &Arc<Object>,
) -> Result<Document, Status> {
    let same_version = stored.bytes().starts_with(resource.prefix().as_bytes());
    let Some(custom) = &resource.custom else {
        return Ok(if same_version {
            Document::Stored(stored.clone())
        } else {
            Document::Made(Arc::new(convert_built_in(resource, stored.value())))
        });
    };
    if same_version && !custom.one_of_many && stored.revision() >= custom.valid_from {
        return Ok(Document::Stored(stored.clone()));
    }
    if !same_version && custom.webhook {
        return Err(no_webhooks(resource));
    }
    let mut value = Value::clone(stored.value());
    value.set(&["apiVersion"], resource.api_version());
    // The schema may have changed, or be another version's, since the object was written.
    kinds::prune(resource, &mut value);
    kinds::default(resource, &mut value);
    Ok(Document::Made(Arc::new(value)))
}

/// Turns an object of this resource's version into the form that is stored.
///
/// # Errors
/// 501 if that needs a conversion webhook.
pub(crate) async fn to_storage(_state: &State, resource: &Resource, value: &mut Value) -> Result<(), Status> {
    match &resource.custom {
        Some(custom) if custom.storage_api_version != resource.api_version() => {
            if custom.webhook {
                return Err(no_webhooks(resource));
            }
            value.set(&["apiVersion"], custom.storage_api_version.as_str());
        }
        Some(_) => {}
        None if resource.group == "events.k8s.io" => {
            *value = event_to_core(value);
            kinds::read(&Gvk::new("", "v1", "Event"), value)?;
        }
        None => {}
    }
    Ok(())
}

fn no_webhooks(resource: &Resource) -> Status {
    Status::not_implemented(format!(
        "conversion webhooks are not served yet, and {} {} has another version than the stored object; \
         hint: ask for the storage version, or define spec.conversion.strategy None",
        resource.api_version(),
        resource.kind
    ))
}

fn convert_built_in(resource: &Resource, stored: &Value) -> Value {
    if resource.group == "events.k8s.io" {
        return event_from_core(stored);
    }
    let mut value = stored.clone();
    value.set(&["apiVersion"], resource.api_version());
    value
}

/// Fields whose names differ between the two faces of an event: core, events.k8s.io.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn event_from_core(core: &Value) -> Value {
    let mut event = rename(core, "events.k8s.io/v1", |key| {
        EVENT_FIELDS.iter().find(|(core, _)| *core == key).map_or(key, |(_, new)| new)
    });
    // The older kind writes these also when they are empty.
    for key in ["reportingController", "reportingInstance"] {
        if event.str_at(&[key]) == Some("") {
            event.take(&[key]);
        }
    }
    event
}

fn event_to_core(event: &Value) -> Value {
    rename(event, "v1", |key| EVENT_FIELDS.iter().find(|(_, new)| *new == key).map_or(key, |(core, _)| core))
}

fn rename<'a>(from: &'a Value, api_version: &str, name: impl Fn(&'a str) -> &'a str) -> Value {
    let fields: Map = from
        .as_object()
        .into_iter()
        .flat_map(|map| map.iter())
        .map(|(key, value)| (name(key).to_owned(), value.clone()))
        .collect();
    let mut value = Value::Object(fields);
    value.set(&["apiVersion"], api_version);
    if object::kind(&value).is_empty() {
        value.set(&["kind"], "Event");
    }
    value
}
