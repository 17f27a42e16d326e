//! The verbs. Each file is one verb: it takes a target and a document, and says what the store has to do.

pub(crate) mod create;
pub(crate) mod delete;
mod deletion;
mod limits;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod read;
pub(crate) mod scale;
pub(crate) mod update;
pub(crate) mod watch;

use std::sync::Arc;

use pilothouse_merge::managed;
use pilothouse_store::{Change, Mismatch, Object};
use pilothouse_value::{Status, Timestamp, Value};

use crate::aggregation;
use crate::answer::{document, present};
use crate::crd;
use crate::fairness;
use crate::objects::expiry;
use crate::objects::own_status;
use crate::request::options::{self, WriteOptions};
use crate::start::keeping;
use crate::state::{Context, State, Target};

/// How often a write without a version starts over when others write the same object at the same time.
pub(crate) const ATTEMPTS: usize = 100;

/// What a write came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The object is stored.
    Stored(Arc<Object>),
    /// Somebody else wrote it in between.
    Stale(Option<Arc<Object>>),
}

/// Stores an object if it is still at the expected revision; `None` expects that it is not there. A definition is
/// served when this returns.
///
/// # Errors
/// 500 if the object cannot be converted to the stored version, or if the durable copy refuses.
pub(crate) async fn put(
    state: &Arc<State>,
    target: &Target,
    expected: Option<u64>,
    mut value: Value,
) -> Result<Outcome, Status> {
    present::to_storage(state, &target.resource, &mut value).await?;
    limits::check(target, &value)?;
    let _definitions = crd::lifecycle::lock(state, &target.resource);
    let mut build = |revision: u64| {
        value.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&value)
    };
    let outcome = commit(state, target, expected, Change::Put(&mut build))?;
    if let Outcome::Stored(stored) = &outcome {
        crd::lifecycle::written(state, target, stored);
        present::spread(state, &target.resource, stored);
        aggregation::written(state, target, stored);
        if target.resource.plural == "events" && target.resource.is_built_in() {
            expiry::written(state, &target.namespace, &target.name, stored.revision());
        }
    }
    Ok(outcome)
}

/// Removes an object that is at the expected revision. `last` is its last state, which watchers are shown.
///
/// # Errors
/// 500 if the object cannot be converted to the stored version, or if the durable copy refuses.
pub(crate) async fn remove(
    state: &Arc<State>,
    target: &Target,
    expected: u64,
    last: &Value,
) -> Result<Outcome, Status> {
    let mut value = last.clone();
    present::to_storage(state, &target.resource, &mut value).await?;
    let outcome = remove_as(state, target, expected, last, value)?;
    if matches!(outcome, Outcome::Stored(_)) && target.resource.is(fairness::GROUP, fairness::LEVELS) {
        own_status::level_changed(state, &target.name).await;
    }
    Ok(outcome)
}

/// Removes an object as it is stored, without looking at it.
///
/// # Errors
/// 500 if the durable copy refuses.
pub(crate) fn remove_stored(
    state: &Arc<State>,
    target: &Target,
    stored: &Arc<Object>,
) -> Result<Outcome, Status> {
    remove_as(state, target, stored.revision(), stored.value(), Value::clone(stored.value()))
}

fn remove_as(
    state: &Arc<State>,
    target: &Target,
    expected: u64,
    last: &Value,
    mut value: Value,
) -> Result<Outcome, Status> {
    let _definitions = crd::lifecycle::lock(state, &target.resource);
    let mut build = |revision: u64| {
        value.set(&["metadata", "resourceVersion"], revision.to_string());
        document::encode(&value)
    };
    let outcome = commit(state, target, Some(expected), Change::Delete(&mut build))?;
    if let Outcome::Stored(gone) = &outcome {
        present::spread(state, &target.resource, gone);
        crate::objects::allocate::release(state, &target.resource, last);
        crd::lifecycle::removed(state, target);
        aggregation::removed(state, target, last);
        keeping::removed(state, target);
    }
    Ok(outcome)
}

fn commit(
    state: &State,
    target: &Target,
    expected: Option<u64>,
    change: Change<'_>,
) -> Result<Outcome, Status> {
    match state.store.commit(&target.resource.key, &target.namespace, &target.name, expected, change) {
        Ok(object) => Ok(Outcome::Stored(object)),
        Err(Mismatch::Stale { current }) => Ok(Outcome::Stale(current)),
        Err(Mismatch::Durable(error)) => Err(Status::internal(format!(
            "storing {} {:?}: {error}; hint: look at the space and the permissions of the data folder",
            target.resource.plural, target.name
        ))),
    }
}

/// The stored object of a target.
///
/// # Errors
/// 404 if it is not there.
pub(crate) fn stored(state: &State, target: &Target) -> Result<Arc<Object>, Status> {
    state.store.get(&target.resource.key, &target.namespace, &target.name).ok_or_else(|| target.not_found())
}

/// Who is recorded as the writer of a request's fields.
#[derive(Debug)]
pub(crate) struct Writer {
    name: String,
    api_version: String,
    subresource: String,
    time: Timestamp,
}

impl Writer {
    /// The writer that the options, or else the client's name, say.
    pub(crate) fn of(context: &Context, target: &Target, options: &WriteOptions) -> Writer {
        Writer {
            name: options::manager(options.field_manager.as_deref(), context.user_agent.as_deref()),
            api_version: target.resource.api_version(),
            subresource: target.subresource.clone().unwrap_or_default(),
            time: context.state.clock.now(),
        }
    }

    /// The same writer of a document of another version, as some subresources have.
    pub(crate) fn in_version(self, api_version: String) -> Writer {
        Writer { api_version, ..self }
    }

    /// The form that the bookkeeping takes.
    pub(crate) fn manager(&self) -> managed::Manager<'_> {
        managed::Manager {
            name: &self.name,
            api_version: &self.api_version,
            subresource: &self.subresource,
            time: self.time,
        }
    }
}
