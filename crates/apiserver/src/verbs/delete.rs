//! Delete: at once, or marked and left to those who hold the object (finalizers, a pod's grace, a namespace's content).

use std::sync::Arc;
use std::time::Duration;

use pilothouse_store::Object;
use pilothouse_value::{Status, Value, json, object};

use crate::admission::{self, Attributes};
use crate::answer::document::Document;
use crate::answer::present;
use crate::crd;
use crate::request::options::{DeleteOptions, ListOptions, Propagation};
use crate::state::{Context, Target};
use crate::verbs::list::{self, Page};
use crate::verbs::{self, Outcome, update};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";
/// Seconds that a pod gets to end if nothing says otherwise.
const POD_GRACE: i64 = 30;

/// What the deletion of a job says that does not say what becomes of its pods.
const ORPHANS_PODS: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set \
     propagationPolicy=Orphan to suppress this warning";

/// What a deletion came to.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is still there, marked.
    Pending(Document),
    /// The object is gone; this was its last state.
    Gone(Arc<Value>),
    /// The object is gone, and could not be read before.
    Unread,
}

impl Deleted {
    /// The answer to the caller.
    pub(crate) fn document(self, target: &Target) -> Document {
        match self {
            Deleted::Pending(document) => document,
            Deleted::Unread => json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "details": {"name": target.name.as_str(), "kind": target.resource.kind.as_str()}, "code": 200,
            })
            .into(),
            Deleted::Gone(last) if target.resource.rules.returns_deleted => Document::Made(last),
            Deleted::Gone(last) => {
                let mut details = json!({
                    "name": target.name.as_str(), "kind": target.resource.plural.as_str(), "uid": object::uid(&last),
                });
                if !target.resource.group.is_empty() {
                    details.set(&["group"], target.resource.group.as_str());
                }
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
                    .into()
            }
        }
    }
}

/// Deletes one object.
///
/// # Errors
/// 404 if it is not there, 409 if it is not the one that the preconditions name, 403 if it may not be deleted.
pub(crate) async fn delete(
    context: &Context,
    target: &Target,
    options: &DeleteOptions,
) -> Result<Deleted, Status> {
    delete_as(context, target, &target.name, options).await
}

/// Deletes one object; `name` is the one that the request gave, which is none if it is about a collection.
async fn delete_as(
    context: &Context,
    target: &Target,
    name: &str,
    options: &DeleteOptions,
) -> Result<Deleted, Status> {
    for _ in 0..verbs::ATTEMPTS {
        if options.propagation.is_none() && target.resource.is("batch", "jobs") {
            context.warn(ORPHANS_PODS);
        }
        let stored = verbs::stored(&context.state, target)?;
        if options.ignore_unreadable {
            match delete_unreadable(context, target, options, &stored).await? {
                Some(done) => return Ok(done),
                None => continue,
            }
        }
        let current = present::present(&context.state, &target.resource, &stored)
            .await
            .map_err(|status| present::unreadable(target, &stored, &status))?
            .value();
        check_preconditions(target, options, &current)?;
        let mut attributes = Attributes::delete(context, target, current, options);
        name.clone_into(&mut attributes.name);
        admission::mutate(&mut attributes).await?;
        admission::validate(&attributes).await?;
        if let Some(done) = try_delete(context, target, options, &stored).await? {
            return Ok(done);
        }
    }
    Err(target.modified())
}

/// Deletes one object for the server itself: no admission is asked.
///
/// # Errors
/// As [`delete`].
pub(crate) async fn delete_unasked(
    context: &Context,
    target: &Target,
    options: &DeleteOptions,
) -> Result<Deleted, Status> {
    for _ in 0..verbs::ATTEMPTS {
        let stored = verbs::stored(&context.state, target)?;
        if let Some(done) = try_delete(context, target, options, &stored).await? {
            return Ok(done);
        }
    }
    Err(target.modified())
}

/// One attempt; `None` if somebody else wrote in between.
async fn try_delete(
    context: &Context,
    target: &Target,
    options: &DeleteOptions,
    stored: &Arc<Object>,
) -> Result<Option<Deleted>, Status> {
    let state = &context.state;
    let resource = &target.resource;
    let document = present::present_shared(state, resource, stored)
        .await
        .map_err(|status| present::unreadable(target, stored, &status))?;
    let current = document.value();
    check_preconditions(target, options, &current)?;

    let is_namespace = resource.is("", "namespaces");
    let marked = object::deletion_timestamp(&current).is_some();
    if is_namespace && marked && !current.items_at(&["spec", "finalizers"]).is_empty() {
        return Ok(Some(Deleted::Pending(document)));
    }
    let mut new = Value::clone(&current);
    let mut propagation = options.propagation;
    if propagation.is_none() && resource.is("", "replicationcontrollers") {
        propagation = Some(Propagation::Orphan);
    }
    if propagation.is_none() && resource.is("batch", "jobs") {
        propagation = Some(Propagation::Orphan);
    }
    if resource.is(crd::GROUP, crd::PLURAL) && !marked {
        // A definition is marked by code of its own upstream, which looks at no options.
        propagation = None;
    }
    let finalizers_changed = set_propagation(&mut new, propagation);
    let grace = grace(target, options, &current);
    let now = state.clock.now();
    let mut changed = finalizers_changed;
    if !marked {
        let until = now.plus(Duration::from_secs(grace.unsigned_abs()));
        new.set(&["metadata", "deletionTimestamp"], until.to_string());
        // Definitions and namespaces are marked by code of their own upstream, which does less.
        let definition = resource.is(crd::GROUP, crd::PLURAL);
        if !definition && !is_namespace {
            new.set(&["metadata", "deletionGracePeriodSeconds"], grace);
        }
        if object::generation(&new) > 0 && !definition && !is_namespace {
            new.set(&["metadata", "generation"], object::generation(&new) + 1);
        }
        changed = true;
    } else {
        // A grace period can be made shorter, never longer.
        let present = current.i64_at(&["metadata", "deletionGracePeriodSeconds"]).unwrap_or_default();
        if resource.is(crd::GROUP, crd::PLURAL)
            && current.at(&["metadata", "deletionGracePeriodSeconds"]).is_none()
        {
            new.set(&["metadata", "deletionGracePeriodSeconds"], 0);
            changed = true;
        }
        if grace < present {
            let shorter = (present - grace).unsigned_abs();
            let until = object::deletion_timestamp(&current)
                .and_then(|text| pilothouse_value::Timestamp::parse(text).ok())
                .map_or(now, |until| {
                    let seconds = until.unix_seconds() - i64::try_from(shorter).unwrap_or(i64::MAX);
                    pilothouse_value::Timestamp::from_unix_seconds(seconds)
                });
            new.set(&["metadata", "deletionTimestamp"], until.to_string());
            new.set(&["metadata", "deletionGracePeriodSeconds"], grace);
            changed = true;
        }
    }
    if is_namespace {
        new.set(&["status", "phase"], "Terminating");
    }
    if resource.is(crd::GROUP, crd::PLURAL) && !marked {
        crd::lifecycle::prepare_delete(&mut new, &state.now());
    }
    if update::may_go(is_namespace, &new) {
        // Only pods are marked when they go at once.
        let mut last = if resource.is("", "pods") { new.clone() } else { last_state(&current, &new) };
        if options.dry_run {
            return Ok(Some(Deleted::Gone(Arc::new(last))));
        }
        return match verbs::remove(state, target, stored.revision(), &last).await? {
            Outcome::Stored(removed) => {
                last.set(&["metadata", "resourceVersion"], removed.revision().to_string());
                Ok(Some(Deleted::Gone(Arc::new(last))))
            }
            Outcome::Stale(_) => Ok(None),
        };
    }
    if !changed {
        return Ok(Some(Deleted::Pending(document)));
    }
    if options.dry_run {
        return Ok(Some(Deleted::Pending(new.into())));
    }
    match verbs::put(state, target, Some(stored.revision()), new).await? {
        Outcome::Stored(written) => {
            let document = present::present(state, resource, &written).await?;
            Ok(Some(Deleted::Pending(document)))
        }
        Outcome::Stale(_) => Ok(None),
    }
}

/// What watchers see of an object that goes at once: its state before, without the marks of a deletion that never waited.
fn last_state(current: &Value, marked: &Value) -> Value {
    if object::deletion_timestamp(current).is_some() { marked.clone() } else { current.clone() }
}

/// 409: the object that was to be deleted because it cannot be read can be read.
/// Deletes an object that cannot be read: nobody is asked, and nothing holds it. `None` if somebody else wrote in between.
///
/// # Errors
/// 409 if it can be read.
async fn delete_unreadable(
    context: &Context,
    target: &Target,
    options: &DeleteOptions,
    stored: &Arc<Object>,
) -> Result<Option<Deleted>, Status> {
    let state = &context.state;
    if present::present(state, &target.resource, stored).await.is_ok() {
        return Err(readable(target));
    }
    if options.dry_run {
        return Ok(Some(Deleted::Unread));
    }
    match verbs::remove_stored(state, target, stored)? {
        Outcome::Stored(_) => Ok(Some(Deleted::Unread)),
        Outcome::Stale(_) => Ok(None),
    }
}

fn readable(target: &Target) -> Status {
    let key = target.storage_key(false);
    target.conflict(&format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
         unsafe deletion is not allowed because the object is decodable from storage"
    ))
}

fn check_preconditions(target: &Target, options: &DeleteOptions, current: &Value) -> Result<(), Status> {
    let resource = &target.resource;
    let version = object::resource_version(current);
    // Events of either group are stored as those of the core group.
    let group = if resource.group == "events.k8s.io" { "" } else { &resource.group };
    // Upstream names the kind here, and not the resource.
    let conflict = |why: &str| Status::conflict(group, &resource.kind, &target.name, why);
    let definition = resource.is(crd::GROUP, crd::PLURAL) && object::deletion_timestamp(current).is_none();
    if definition || resource.is("", "namespaces") {
        // Namespaces, and definitions until they go, look at these themselves.
        let failed = if definition { "precondition failed" } else { "Precondition failed" };
        let conflict = |what: &str, wanted: &str, found: &str| {
            let why = format!("{failed}: {what} in precondition: {wanted}, {what} in object meta: {found}");
            target.conflict(&why)
        };
        if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object::uid(current)) {
            return Err(conflict("UID", uid, object::uid(current)));
        }
        if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != version) {
            return Err(conflict("ResourceVersion", wanted, version));
        }
        return Ok(());
    }
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object::uid(current)) {
        return Err(conflict(&format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            object::uid(current)
        )));
    }
    if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != version) {
        return Err(conflict(&format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        )));
    }
    Ok(())
}

/// Sets the finalizers that a propagation policy stands for. Returns whether they changed.
fn set_propagation(value: &mut Value, propagation: Option<Propagation>) -> bool {
    let Some(propagation) = propagation else { return false };
    let before: Vec<String> = object::finalizers(value).map(str::to_owned).collect();
    let mut after: Vec<String> =
        before.iter().filter(|finalizer| *finalizer != ORPHAN && *finalizer != FOREGROUND).cloned().collect();
    match propagation {
        Propagation::Orphan => after.push(ORPHAN.into()),
        Propagation::Foreground => after.push(FOREGROUND.into()),
        Propagation::Background => {}
    }
    let (mut sorted_before, mut sorted_after) = (before.clone(), after.clone());
    sorted_before.sort();
    sorted_after.sort();
    if sorted_before == sorted_after {
        return false;
    }
    if after.is_empty() {
        value.take(&["metadata", "finalizers"]);
    } else {
        value.set(&["metadata", "finalizers"], after);
    }
    true
}

/// Seconds that the object gets before it may be removed.
fn grace(target: &Target, options: &DeleteOptions, current: &Value) -> i64 {
    if !target.resource.is("", "pods") {
        return 0;
    }

    let marked = current.i64_at(&["metadata", "deletionGracePeriodSeconds"]);
    let wanted = match (options.grace_period_seconds, marked) {
        (Some(seconds), _) => seconds,
        // Asking again without a period changes nothing.
        (None, Some(present)) => return present,
        (None, None) => current.i64_at(&["spec", "terminationGracePeriodSeconds"]).unwrap_or(POD_GRACE),
    };
    // Nobody runs it, so nobody has to end it.
    let unscheduled = current.str_at(&["spec", "nodeName"]).unwrap_or_default().is_empty();
    let ended = matches!(current.str_at(&["status", "phase"]), Some("Succeeded" | "Failed"));
    if unscheduled || ended { 0 } else { wanted.max(0) }
}

/// Deletes every object that a list would show, and returns that list.
///
/// # Errors
/// What the list or the first deletion that fails says; an object that is gone already is no failure.
pub(crate) async fn delete_collection(
    context: &Context,
    target: &Target,
    list_options: &ListOptions,
    options: &DeleteOptions,
) -> Result<Page, Status> {
    // Upstream lists page by page, and a version with a limit means exactly that version.
    let exact = list_options.resource_version_match.is_none()
        && list_options.resource_version.as_deref().is_some_and(|version| version != "0");
    let mut list_options = list_options.clone();
    if exact && list_options.limit == 0 {
        list_options.limit = usize::MAX;
    }
    let page = list::list(context, target, &list_options).await?;
    for document in &page.items {
        let value = document.value();
        let one = Target {
            namespace: object::namespace(&value).unwrap_or_default().to_owned(),
            name: object::name(&value).to_owned(),
            ..target.clone()
        };
        match delete_as(context, &one, "", options).await {
            // Somebody else was faster.
            Err(status) if status.is_not_found() => {}
            outcome => drop(outcome?),
        }
    }
    Ok(page)
}
