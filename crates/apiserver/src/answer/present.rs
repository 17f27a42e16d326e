//! From what is stored to what a version shows, and back.
//!
//! All versions of a resource share one set of stored objects. Versions of built-in kinds have the same fields, so only
//! `apiVersion` differs; the two faces of events and the two versions of autoscalers are the exceptions. Custom resources are converted as their definition says.

use std::sync::Arc;

use pilothouse_schema::builtin;
use pilothouse_store::Object;
use pilothouse_value::status::Details;
use pilothouse_value::{Gvk, Map, Status, Value, object};

use crate::answer::document::Document;
use crate::crd::{Custom, convert};
use crate::registry::kinds;
use crate::registry::resource::Resource;
use crate::state::{State, Target};

/// Most conversions that go on behind writes that were answered.
const MOST_BEHIND: usize = 256;

/// The one built-in kind whose versions have different fields.
const AUTOSCALER: &str = "HorizontalPodAutoscaler";

/// An object as this resource shows it.
///
/// # Errors
/// 500 if it cannot be converted to this version.
pub(crate) async fn present(
    state: &Arc<State>,
    resource: &Resource,
    stored: &Arc<Object>,
) -> Result<Document, Status> {
    let custom = match at_once(resource, stored) {
        Ok(document) => return Ok(document),
        Err(custom) => custom,
    };
    let shown = custom.shown();
    // A webhook is asked anew: what it says may have changed. What this server does itself has not.
    if !custom.definition.webhook
        && let Some(value) = shown.and_then(|shown| shown.get(stored))
    {
        return Ok(Document::Made(value));
    }
    let value = show(state, custom, stored).await?;
    if let Some(shown) = shown {
        shown.keep(stored, &value);
    }
    Ok(Document::Made(value))
}

/// An object as this resource shows it, for a watch: the same for everyone who watches.
///
/// # Errors
/// As [`present`].
pub(crate) async fn present_shared(
    state: &Arc<State>,
    resource: &Resource,
    stored: &Arc<Object>,
) -> Result<Document, Status> {
    let custom = match at_once(resource, stored) {
        Ok(document) => return Ok(document),
        Err(custom) => custom,
    };
    let value = match custom.shown() {
        Some(shown) => shown.get_or_make(stored, || show(state, custom, stored)).await?,
        None => show(state, custom, stored).await?,
    };
    Ok(Document::Made(value))
}

/// What is served of a resource whose objects a webhook converts when they are stored, and when they are shown.
pub(crate) fn is_converted(resource: &Resource) -> Option<&Arc<Custom>> {
    let custom = resource.custom.as_ref().filter(|custom| custom.definition.webhook)?;
    let storage = custom.definition.storage()?;
    (custom.served()?.api_version != storage.api_version).then_some(custom)
}

/// What a version that a webhook converts to has been shown of an object before; upstream has it in a cache, which changes
/// look into even when it cannot follow any more.
pub(crate) fn known(resource: &Resource, stored: &Object, to_change: bool) -> Option<Document> {
    let shown = is_converted(resource)?.shown()?;
    if to_change { shown.get_even_stale(stored) } else { shown.get(stored) }.map(Document::Made)
}

/// Whether an object can be stored as it is shown. Upstream finds out, of what it has in a cache, before it changes it.
///
/// # Errors
/// 500 if the webhook does not convert it.
pub(crate) async fn can_be_stored(
    state: &Arc<State>,
    resource: &Resource,
    current: &Value,
) -> Result<(), Status> {
    if is_converted(resource).is_none() {
        return Ok(());
    }
    to_storage(state, resource, &mut current.clone()).await
}

/// Has an object that was just written converted for those who list or watch the other versions: what they were shown once
/// they are shown again, whatever becomes of the webhook.
pub(crate) fn spread(state: &Arc<State>, resource: &Resource, stored: &Arc<Object>) {
    let Some(custom) = resource.custom.as_ref().filter(|custom| custom.definition.webhook) else { return };
    for version in custom.definition.others(object::api_version(stored.value())) {
        if state.background.len() >= MOST_BEHIND {
            return;
        }
        let (tasks, state) = (state.background.clone(), state.clone());
        let (definition, stored) = (custom.definition.clone(), stored.clone());
        tasks.spawn(async move {
            let Some(version) = definition.version(version) else { return };
            let make = || async { convert::show(&state, &definition, version, &stored).await.map(Arc::new) };
            if let Err(status) = version.shown.get_or_make(&stored, make).await {
                tracing::warn!(why = status.message, "an object cannot be shown in every version");
                version.shown.forget();
            }
        });
    }
}

/// Objects as this resource shows them, in their order. What must be converted is converted together.
///
/// # Errors
/// As [`present`].
pub(crate) async fn present_all(
    state: &Arc<State>,
    resource: &Resource,
    stored: &[Arc<Object>],
) -> Result<Vec<Document>, Status> {
    let mut documents: Vec<Option<Document>> = Vec::with_capacity(stored.len());
    let mut missing = Vec::new();
    for object in stored {
        documents.push(match at_once(resource, object) {
            Ok(document) => Some(document),
            Err(custom) => match custom.shown().and_then(|shown| shown.get(object)) {
                Some(value) => Some(Document::Made(value)),
                None => {
                    missing.push(object.clone());
                    None
                }
            },
        });
    }
    if let Some(custom) = resource.custom.as_ref().filter(|_| !missing.is_empty())
        && let Some(version) = custom.served()
    {
        let shown = convert::show_all(state, &custom.definition, version, &missing).await;
        let (mut values, mut failures) = (Vec::with_capacity(shown.len()), Vec::new());
        for (object, shown) in missing.iter().zip(shown) {
            match shown {
                Ok(value) => values.push(Arc::new(value)),
                Err(status) => failures.push((&**object, status)),
            }
        }
        if !failures.is_empty() {
            return Err(unreadable_list(resource, &failures));
        }
        let places = documents.iter_mut().filter(|document| document.is_none());
        for ((place, object), value) in places.zip(&missing).zip(values) {
            version.shown.keep(object, &value);
            *place = Some(Document::Made(value));
        }
    }
    Ok(documents.into_iter().flatten().collect())
}

/// 500 for an object that is to be read and cannot be shown; `status` says why.
pub(crate) fn unreadable(target: &Target, stored: &Object, status: &Status) -> Status {
    Status::internal(corrupt("", &target.resource, stored, status))
}

/// 500 for an object that is to be changed and cannot be shown; `status` says why.
pub(crate) fn unchangeable(stored: &Object, status: &Status) -> Status {
    Status::new(500, "", format!("object not decodable revision={}: {}", stored.revision(), status.message))
}

/// 500 for a list of which these objects cannot be shown, and why.
fn unreadable_list(resource: &Resource, objects: &[(&Object, Status)]) -> Status {
    const REASON: &str = "UnexpectedServerResponse";
    let causes: Vec<_> = objects
        .iter()
        .map(|(stored, status)| {
            (corrupt("/registry", resource, stored, status), key("/registry", resource, stored))
        })
        .collect();
    let more = match causes.len() {
        0 | 1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    let first = causes.first().map(|(text, _)| text.as_str()).unwrap_or_default();
    let (group, plural) = (&resource.group, &resource.plural);
    let message = format!("failed to read one or more {plural}.{group} from the storage: {first}{more}");
    let details =
        Details { name: "list".into(), group: group.clone(), kind: plural.clone(), ..Details::default() };
    causes
        .into_iter()
        .fold(Status::new(500, "StorageReadError", message).with_details(details), |status, (text, key)| {
            status.with_cause(REASON, text, &key)
        })
}

/// What upstream's storage says of an object that it cannot decode.
fn corrupt(prefix: &str, resource: &Resource, stored: &Object, status: &Status) -> String {
    format!(
        "StorageError: corrupt object, Code: 7, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable \
         revision={}: {}",
        key(prefix, resource, stored),
        stored.revision(),
        status.message
    )
}

/// Where upstream stores an object.
fn key(prefix: &str, resource: &Resource, stored: &Object) -> String {
    let value = stored.value();
    let namespace = object::namespace(value).map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{prefix}/{}/{namespace}{}", resource.stored_under(), object::name(value))
}

/// Whether a stored configuration of webhooks has a bundle of certificates without a byte, which only protobuf shows.
pub(crate) fn has_empty_bundle(stored: &Object) -> bool {
    const KINDS: [&[u8]; 2] =
        [b"{\"kind\":\"ValidatingWebhookConfiguration\"", b"{\"kind\":\"MutatingWebhookConfiguration\""];
    KINDS.iter().any(|kind| stored.bytes().starts_with(kind)) && !builtin::bundles(stored.value()).is_empty()
}

/// What can be said without a look at the schema: a built-in object, or one that is stored as it is shown.
fn at_once<'a>(resource: &'a Resource, stored: &Arc<Object>) -> Result<Document, &'a Custom> {
    let same_version = stored.bytes().starts_with(resource.prefix().as_bytes());
    let Some(custom) = &resource.custom else {
        return Ok(if has_empty_bundle(stored) {
            let mut value = Value::clone(stored.value());
            builtin::take_empties(&resource.gvk(), &mut value);
            Document::Bundled(stored.clone(), Arc::new(value))
        } else if same_version {
            Document::Stored(stored.clone())
        } else {
            Document::Made(Arc::new(convert_built_in(resource, stored.value())))
        });
    };
    if same_version && stored.revision() >= custom.definition.valid_from && !custom.defaults_on_read() {
        return Ok(Document::Stored(stored.clone()));
    }
    Err(custom)
}

async fn show(state: &Arc<State>, custom: &Custom, stored: &Arc<Object>) -> Result<Arc<Value>, Status> {
    let Some(version) = custom.served() else { return Ok(stored.value().clone()) };
    convert::show(state, &custom.definition, version, stored).await.map(Arc::new)
}

/// An object of one version of a resource in another version of it.
///
/// # Errors
/// 500 if it cannot be converted.
pub(crate) async fn to_version(state: &Arc<State>, to: &Resource, mut value: Value) -> Result<Value, Status> {
    if object::api_version(&value) == to.api_version() {
        return Ok(value);
    }
    match &to.custom {
        Some(custom) => {
            let Some(version) = custom.served() else { return Ok(value) };
            convert::convert(state, &custom.definition, value, version).await
        }
        None if to.group == "events.k8s.io" => Ok(event_from_core(&value)),
        None if object::kind(&value) == "Event" && to.group.is_empty() => {
            value = event_to_core(&value);
            kinds::read(&to.gvk(), &mut value)?;
            Ok(value)
        }
        None if to.kind == AUTOSCALER => Ok(builtin::convert_autoscaler(&value, &to.api_version())),
        None => {
            value.set(&["apiVersion"], to.api_version());
            Ok(value)
        }
    }
}

/// Turns an object of this resource's version into the form that is stored.
///
/// # Errors
/// 500 if it cannot be converted to the stored version.
pub(crate) async fn to_storage(
    state: &Arc<State>,
    resource: &Resource,
    value: &mut Value,
) -> Result<(), Status> {
    match &resource.custom {
        Some(custom) => {
            if let Some(storage) = custom.definition.storage()
                && object::api_version(value) != storage.api_version
            {
                let mut taken = std::mem::take(value);
                // The storage gives the version.
                let version = taken.take(&["metadata", "resourceVersion"]);
                *value = convert::coerce(state, &custom.definition, taken, storage).await?;
                if let Some(version) = version {
                    value.set(&["metadata", "resourceVersion"], version);
                }
            }
        }
        None if resource.group == "events.k8s.io" => {
            *value = event_to_core(value);
            kinds::read(&Gvk::new("", "v1", "Event"), value)?;
        }
        None if resource.kind == AUTOSCALER => {
            *value = builtin::convert_autoscaler(value, "autoscaling/v2");
        }
        None => {}
    }
    Ok(())
}

/// Makes an autoscaler that is written in its first version one of the second, and takes the part that the write does not
/// touch from what is stored: the first version cannot say all of it. Everything else is left alone.
pub(crate) fn keep_untouched(target: &Target, new: Value, stored: &Object) -> Value {
    let resource = &target.resource;
    if resource.kind != AUTOSCALER || resource.version != "v1" || !resource.is_built_in() {
        return new;
    }
    let mut second = builtin::convert_autoscaler(&new, "autoscaling/v2");
    let untouched = if target.subresource.is_none() { "status" } else { "spec" };
    match stored.value().get(untouched) {
        Some(part) => second.set(&[untouched], part.clone()),
        None => {
            second.take(&[untouched]);
        }
    }
    second
}

/// What a write that is only tried would come to: the object as it would be read back.
///
/// # Errors
/// 500 if it cannot be converted to the stored version and back.
pub(crate) async fn rehearse(
    state: &Arc<State>,
    resource: &Resource,
    mut value: Value,
) -> Result<Document, Status> {
    let Some(custom) = &resource.custom else { return Ok(value.into()) };
    let Some(version) = custom.served() else { return Ok(value.into()) };
    if let Some(storage) = custom.definition.storage() {
        value = convert::coerce(state, &custom.definition, value, storage).await?;
    }
    let shown = convert::read(state, &custom.definition, version, value).await?;
    Ok(shown.into())
}

/// Whether a write would store what is stored already. An object that is stored in an older version, or without the
/// defaults of today, is written again although its client sees no difference.
///
/// # Errors
/// 500 if it cannot be converted to the stored version.
pub(crate) async fn is_stored(
    state: &Arc<State>,
    resource: &Resource,
    stored: &Object,
    (current, new): (&Value, &Value),
) -> Result<bool, Status> {
    let Some(custom) = &resource.custom else { return Ok(new == current) };
    if new != current && !custom.definition.has_many_versions() {
        return Ok(false);
    }
    let mut value = new.clone();
    to_storage(state, resource, &mut value).await?;
    Ok(value == **stored.value())
}

/// A built-in object in another version.
pub(crate) fn between(value: &Value, api_version: &str) -> Value {
    match (object::api_version(value), api_version) {
        ("v1", "events.k8s.io/v1") => event_from_core(value),
        ("events.k8s.io/v1", "v1") => event_to_core(value),
        _ if object::kind(value) == AUTOSCALER => builtin::convert_autoscaler(value, api_version),
        _ => {
            let mut value = value.clone();
            value.set(&["apiVersion"], api_version);
            value
        }
    }
}

fn convert_built_in(resource: &Resource, stored: &Value) -> Value {
    if resource.group == "events.k8s.io" {
        return event_from_core(stored);
    }
    if resource.kind == AUTOSCALER {
        return builtin::convert_autoscaler(stored, &resource.api_version());
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
