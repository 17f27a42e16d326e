//! Get, and the rules of `resourceVersion` that all reads share.

use std::time::Duration;

use pilothouse_store::Snapshot;
use pilothouse_value::Status;

use crate::answer::document::Document;
use crate::answer::present;
use crate::objects::elsewhere;
use crate::registry::resource::Resource;
use crate::request::options::no_number;
use crate::state::{Context, State, Target};
use crate::verbs;

/// How long a read waits for a version that is not there yet.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reads one object. A version means "not older than".
///
/// # Errors
/// 404 if it is not there; 504 if the version is in the future.
pub(crate) async fn get(
    context: &Context,
    target: &Target,
    version: Option<&str>,
) -> Result<Document, Status> {
    let state = &context.state;
    // Who names a version is content with what a cache has.
    let cached = version.is_some_and(|version| !version.is_empty());
    let version = parse(version).map_err(|status| bare(&status))?;
    if let Some(version) = version {
        reach(state, &target.resource, version).await?;
    }
    let stored = match verbs::stored(state, target) {
        Ok(stored) => stored,
        Err(_not_found) => elsewhere::adopt(context, target).await?,
    };
    if let Some(known) = present::known(&target.resource, &stored, false).filter(|_| cached) {
        return Ok(known);
    }
    present::present(state, &target.resource, &stored)
        .await
        .map_err(|status| present::unreadable(target, &stored, &status))
}

/// What upstream's storage, and no handler, says of a version: it becomes an answer without a reason.
pub(crate) fn bare(status: &Status) -> Status {
    Status::new(500, "", status.message.trim_start_matches("invalid resource version: "))
}

/// Reads a version; `None` for none and for `0`, which both mean "any".
///
/// # Errors
/// 400 if it is no number.
pub(crate) fn parse(version: Option<&str>) -> Result<Option<u64>, Status> {
    let Some(version) = version.filter(|version| !version.is_empty()) else { return Ok(None) };
    // Go knows no sign here.
    match version.strip_prefix('+').map_or_else(|| version.parse::<u64>(), |_| "".parse()) {
        Ok(0) => Ok(None),
        Ok(version) => Ok(Some(version)),
        Err(_) => Err(Status::bad_request(format!("invalid resource version: {}", no_version(version)))),
    }
}

/// What is wrong with a version that is no number.
pub(crate) fn no_version(version: &str) -> String {
    let quoted = pilothouse_value::field::quote(version);
    format!("resourceVersion: Invalid value: {quoted}: {}", no_number("ParseUint", version))
}

/// Waits a little for a version of the future; nobody waits for what no cache is kept of.
///
/// # Errors
/// 504 if it does not come.
pub(crate) async fn reach(state: &State, resource: &Resource, version: u64) -> Result<(), Status> {
    if state.store.revision() >= version {
        return Ok(());
    }
    let waits = resource.has_cache();
    if waits && tokio::time::timeout(PATIENCE, state.store.reached(version)).await.is_ok() {
        return Ok(());
    }
    let current = state.store.revision();
    let text = format!("Timeout: Too large resource version: {version}, current: {current}");
    Err(Status::timeout(text, u32::from(waits)).with_cause(
        "ResourceVersionTooLarge",
        "Too large resource version",
        "",
    ))
}

/// The state right after a version.
///
/// # Errors
/// 410 if it has left the history; 504 if it is in the future.
pub(crate) async fn exactly(state: &State, resource: &Resource, version: u64) -> Result<Snapshot, Status> {
    reach(state, resource, version).await?;
    state.store.snapshot_at(version).map_err(|_| {
        Status::expired(format!(
            "The provided resource version is too old: {version}; hint: list without a resource version"
        ))
    })
}
