//! The way of a custom resource between what is stored and what a version shows.
//!
//! An object is stored in the storage version of the time. Reading it prunes and defaults it by the schema of the version it
//! is stored in, converts it to the version that is asked for, and prunes it by the schema of that one, without filling in
//! its defaults. Writing converts and prunes the other way. Source: `crdConversionRESTOptionsGetter` and
//! `schemaCoercingConverter` of apiextensions.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, future};
use pilothouse_schema as schema;
use pilothouse_store::Object;
use pilothouse_value::{Gvk, Status, Value, object};

use crate::crd::definition::{Definition, Version};
use crate::crd::review;
use crate::request::intake;
use crate::state::State;

/// How long a webhook may take for one question.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most questions that are asked at the same time.
const AT_ONCE: usize = 16;

/// Stored objects as a version shows them, in their order. Each is asked about alone, as upstream does, several at a time: one
/// that cannot be shown is nobody else's failure.
pub(crate) async fn show_all(
    state: &Arc<State>,
    definition: &Definition,
    to: &Version,
    stored: &[Arc<Object>],
) -> Vec<Result<Value, Status>> {
    let mut shown = Vec::with_capacity(stored.len());
    if !definition.webhook {
        for stored in stored {
            shown.push(show(state, definition, to, stored).await);
        }
        return shown;
    }
    for some in stored.chunks(AT_ONCE) {
        let mut asked = Vec::with_capacity(some.len());
        for stored in some {
            asked.push(show(state, definition, to, stored).boxed());
        }
        shown.extend(future::join_all(asked).await);
    }
    shown
}

/// A stored object as a version shows it.
///
/// # Errors
/// 500 if it is stored in a version that is no longer defined, or if the webhook does not convert it.
pub(crate) async fn show(
    state: &Arc<State>,
    definition: &Definition,
    to: &Version,
    stored: &Object,
) -> Result<Value, Status> {
    let mut value = Value::clone(stored.value());
    // What is stored has no version of its own: it gets one when it is read.
    let version = value.take(&["metadata", "resourceVersion"]);
    let mut shown = read(state, definition, to, value).await?;
    if let Some(version) = version {
        shown.set(&["metadata", "resourceVersion"], version);
    }
    Ok(shown)
}

/// An object in the form that is stored, as a version shows it.
///
/// # Errors
/// As [`show`].
pub(crate) async fn read(
    state: &Arc<State>,
    definition: &Definition,
    to: &Version,
    mut value: Value,
) -> Result<Value, Status> {
    decode(definition, &mut value);
    coerce(state, definition, value, to).await
}

/// Makes of what is stored an object in the version that it is stored in.
fn decode(definition: &Definition, value: &mut Value) {
    if let Some(version) = definition.version_of(object::api_version(value)) {
        let schema = definition.schema(version);
        schema::prune(schema, value);
        schema::default(schema, value);
    }
}

/// An object of any version of a definition as another version stores or shows it: what that one does not declare is gone.
///
/// # Errors
/// As [`convert`].
pub(crate) async fn coerce(
    state: &Arc<State>,
    definition: &Definition,
    value: Value,
    to: &Version,
) -> Result<Value, Status> {
    if object::api_version(&value) == to.api_version {
        return Ok(value);
    }
    let mut value = convert(state, definition, value, to).await?;
    let schema = definition.schema(to);
    schema::prune(schema, &mut value);
    schema::drop_nulls(schema, &mut value);
    Ok(value)
}

/// An object of any version of a definition in another version of it, as the webhook has it.
///
/// # Errors
/// 500 if it has a version that is not defined, or if the webhook does not convert it.
pub(crate) async fn convert(
    state: &Arc<State>,
    definition: &Definition,
    mut value: Value,
    to: &Version,
) -> Result<Value, Status> {
    let from = object::api_version(&value);
    if from == to.api_version {
        return Ok(value);
    }
    if definition.version_of(from).is_none() {
        return Err(failed(format!("request to convert CR from an invalid group/version: {from}")));
    }
    if definition.webhook {
        value = ask(state, definition, value, to).await?;
    }
    value.set(&["apiVersion"], to.api_version.as_str());
    Ok(value)
}

/// 500 with a bare text, as upstream answers what its storage says.
fn failed(message: String) -> Status {
    Status::new(500, "", message)
}

/// Has the webhook convert an object.
async fn ask(
    state: &Arc<State>,
    definition: &Definition,
    original: Value,
    to: &Version,
) -> Result<Value, Status> {
    let document = definition.value();
    let Some(version) = review::version(document) else {
        return Err(failed("no supported conversion review versions".to_owned()));
    };
    let kind = Gvk::of(&original).unwrap_or_default();
    let fail = |why: String| failed(format!("conversion webhook for {} {why}", review::go(&kind)));
    let uid = uuid::Uuid::new_v4().to_string();
    let question = review::request(version, &uid, &to.api_version, original.clone());
    let answer = call(state, document, &question).await.map_err(|why| fail(format!("failed: {why}")))?;
    let converted = review::converted(version, &uid, answer).map_err(|why| fail(format!("failed: {why}")))?;
    let count = converted.len();
    let converted = match converted.into_iter().next() {
        Some(converted) if count == 1 => converted,
        _ => return Err(fail(format!("returned {count} objects, expected 1"))),
    };
    if let Some(why) = review::unreadable(&converted) {
        return Err(failed(why));
    }
    review::accept(&original, converted, &to.api_version).map_err(|why| fail(format!("returned {why}")))
}

/// Sends a question to the webhook of a definition and reads the answer.
async fn call(state: &Arc<State>, definition: &Value, question: &Value) -> Result<Value, String> {
    let config =
        definition.at(&["spec", "conversion", "webhook", "clientConfig"]).cloned().unwrap_or_default();
    let hook = state.hooks.get(&config).map_err(|error| error.to_string())?;
    let body = question.to_json().into();
    let answer = hook.call(state, body, PATIENCE, Duration::ZERO).await.map_err(|error| error.to_string())?;
    intake::read_answer(&answer)
}
