//! The way of a custom resource between what is stored and what a version shows.
//!
//! An object is stored in the storage version of the time. Reading it prunes and defaults it by the schema of the version it
//! is stored in, converts it to the version that is asked for, and prunes it by the schema of that one, without filling in
//! its defaults. Writing converts and prunes the other way. Source: `crdConversionRESTOptionsGetter` and
//! `schemaCoercingConverter` of apiextensions.

use std::sync::Arc;
use std::time::Duration;

use pilothouse_schema as schema;
use pilothouse_store::Object;
use pilothouse_value::{Gvk, Status, Value, object};

use crate::crd::definition::{Definition, Version};
use crate::crd::review::{self, Place};
use crate::request::intake;
use crate::state::State;

/// How long a webhook may take for one question.
const PATIENCE: Duration = Duration::from_secs(30);
/// Most objects in one question.
const BATCH: usize = 256;

/// Stored objects as a version shows them, in their order.
///
/// # Errors
/// 500 if one is stored in a version that is no longer defined, or if the webhook does not convert them.
pub(crate) async fn show(
    state: &Arc<State>,
    definition: &Definition,
    to: &Version,
    stored: &[Arc<Object>],
) -> Result<Vec<Value>, Status> {
    let mut values: Vec<Value> = stored.iter().map(|stored| Value::clone(stored.value())).collect();
    values.iter_mut().for_each(|value| decode(definition, value));
    convert(state, definition, values, to).await
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
    let converted = convert(state, definition, vec![value], to).await?;
    Ok(converted.into_iter().next().unwrap_or_default())
}

/// Makes of what is stored an object in the version that it is stored in.
fn decode(definition: &Definition, value: &mut Value) {
    if let Some(version) = definition.version_of(object::api_version(value)) {
        let schema = definition.schema(version);
        schema::prune(schema, value);
        schema::default(schema, value);
    }
}

/// Objects of any version of a definition in another version of it, in their order.
///
/// # Errors
/// 500 if one has a version that is not defined, or if the webhook does not convert them.
pub(crate) async fn convert(
    state: &Arc<State>,
    definition: &Definition,
    mut values: Vec<Value>,
    to: &Version,
) -> Result<Vec<Value>, Status> {
    let mut others = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let from = object::api_version(value);
        if from == to.api_version {
            continue;
        }
        if definition.version_of(from).is_none() {
            return Err(failed(format!("request to convert CR from an invalid group/version: {from}")));
        }
        others.push(index);
    }
    if definition.webhook {
        for batch in others.chunks(BATCH) {
            let objects: Vec<Value> = batch.iter().filter_map(|index| values.get(*index).cloned()).collect();
            let converted = ask(state, definition, objects, to).await?;
            for (index, converted) in batch.iter().zip(converted) {
                if let Some(value) = values.get_mut(*index) {
                    *value = converted;
                }
            }
        }
    }
    for index in others {
        let Some(value) = values.get_mut(index) else { continue };
        value.set(&["apiVersion"], to.api_version.as_str());
        let schema = definition.schema(to);
        schema::prune(schema, value);
        schema::drop_nulls(schema, value);
    }
    Ok(values)
}

/// 500 with a bare text, as upstream answers what its storage says.
fn failed(message: String) -> Status {
    Status::new(500, "", message)
}

/// Has the webhook convert some objects.
async fn ask(
    state: &Arc<State>,
    definition: &Definition,
    objects: Vec<Value>,
    to: &Version,
) -> Result<Vec<Value>, Status> {
    let document = definition.value();
    let Some(version) = review::version(document) else {
        return Err(failed("no supported conversion review versions".to_owned()));
    };
    let kind = objects.first().and_then(Gvk::of).unwrap_or_default();
    let fail = |why: String| failed(format!("conversion webhook for {} {why}", review::go(&kind)));
    let uid = uuid::Uuid::new_v4().to_string();
    let expected = objects.len();
    let question = review::request(version, &uid, &to.api_version, objects.clone());
    let answer = call(state, document, &question).await.map_err(|why| fail(format!("failed: {why}")))?;
    let converted = review::converted(version, &uid, answer).map_err(|why| fail(format!("failed: {why}")))?;
    if converted.len() != expected {
        return Err(fail(format!("returned {} objects, expected {expected}", converted.len())));
    }
    let pairs = objects.iter().zip(converted).enumerate();
    pairs
        .map(|(index, (original, converted))| {
            let place = if expected == 1 { Place::Only } else { Place::At(index) };
            if let Some(why) = review::unreadable(&converted) {
                return Err(match place {
                    Place::Only => failed(why),
                    Place::At(_) => {
                        fail(format!("returned invalid converted object at index {index}: {why}"))
                    }
                });
            }
            review::accept(original, converted, &to.api_version, &place)
                .map_err(|why| fail(format!("returned {why}")))
        })
        .collect()
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
