//! Delete: at once, or marked and left to those who hold the object (finalizers, a pod's grace, a namespace's content).

use std::borrow::Cow;
use std::sync::Arc;

use pilothouse_store::Object;
use pilothouse_value::{Status, Value, json, object};

use crate::admission::{self, Attributes};
use crate::answer::document::Document;
use crate::answer::present;
use crate::crd;
use crate::request::options::{DeleteOptions, ListOptions};
use crate::start::bootstrap;
use crate::state::{Context, State, Target};
use crate::verbs::deletion::{self, Step};
use crate::verbs::list::{self, Page};
use crate::verbs::{self, Outcome};

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
    if target.resource.is("scheduling.k8s.io", "priorityclasses")
        && bootstrap::is_system_priority(&target.name)
    {
        return Err(target.forbidden("this is a system priority class and cannot be deleted"));
    }
    delete_as(context, target, Some(&target.name), options).await
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
    delete_as(context, target, None, options).await
}

/// Deletes one object; `name` is the one that admission is told, which is empty if the request is about a collection, or none
/// if admission is not asked.
async fn delete_as(
    context: &Context,
    target: &Target,
    name: Option<&str>,
    options: &DeleteOptions,
) -> Result<Deleted, Status> {
    let mut options = Cow::Borrowed(options);
    for _ in 0..verbs::ATTEMPTS {
        let is_warned = name.is_some() && !options.ignore_unreadable;
        if is_warned && options.propagation.is_none() && target.resource.is("batch", "jobs") {
            context.warn(ORPHANS_PODS);
        }
        let stored = verbs::stored(&context.state, target)?;
        if options.ignore_unreadable {
            match delete_unreadable(context, target, &options, &stored).await? {
                Some(done) => return Ok(done),
                None => continue,
            }
        }
        if let Some(done) = try_delete(context, target, name, &mut options, &stored).await? {
            return Ok(done);
        }
    }
    Err(target.modified())
}

/// One attempt; `None` if somebody else wrote in between.
async fn try_delete(
    context: &Context,
    target: &Target,
    name: Option<&str>,
    options: &mut Cow<'_, DeleteOptions>,
    stored: &Arc<Object>,
) -> Result<Option<Deleted>, Status> {
    let state = &context.state;
    let document = match name {
        // It is read first, as if it were only read.
        Some(_) => present::present(state, &target.resource, stored).await,
        None => present::present_shared(state, &target.resource, stored).await,
    };
    let document = document.map_err(|status| present::unreadable(target, stored, &status))?;
    let current = document.value();
    check_preconditions(target, options, &current)?;
    let step = Step::of(&target.resource, options, &current, state.clock.now());
    // Of a collection each object gets options of its own, and admission is shown those of the request.
    let shown = match name {
        Some("") => options.clone(),
        _ => deletion::shown(&target.resource, options, &current),
    };
    match step {
        Step::Nothing => Ok(Some(Deleted::Pending(document))),
        Step::Mark(new) => {
            admit(context, target, name, &shown, &current).await?;
            if new == *current {
                return Ok(Some(Deleted::Pending(document)));
            }
            if options.dry_run {
                return Ok(Some(Deleted::Pending(new.into())));
            }
            let Outcome::Stored(written) = verbs::put(state, target, Some(stored.revision()), new).await?
            else {
                return Ok(None);
            };
            Ok(Some(Deleted::Pending(present::present(state, &target.resource, &written).await?)))
        }
        Step::MarkAndRemove(new) => {
            admit(context, target, name, &shown, &current).await?;
            if options.dry_run {
                return Ok(Some(Deleted::Pending(new.into())));
            }
            let Outcome::Stored(written) = verbs::put(state, target, Some(stored.revision()), new).await?
            else {
                return Ok(None);
            };
            let marked = present::present_shared(state, &target.resource, &written).await?.value();
            admit(context, target, name, &shown, &marked).await?;
            drop(shown);
            if options.resource_version.is_some() {
                // What was meant is what has just been marked.
                options.to_mut().resource_version = Some(written.revision().to_string());
            }
            remove(state, target, &written, &marked).await
        }
        Step::Remove { examined } => {
            admit(context, target, name, &shown, &current).await?;
            match (examined, options.dry_run) {
                // Here upstream has the object at hand, and answers with it.
                (true, true) => return Ok(Some(Deleted::Pending(document))),
                (true, false) => admit(context, target, name, &shown, &current).await?,
                (false, true) => return Ok(Some(Deleted::Gone(current))),
                (false, false) => {}
            }
            remove(state, target, stored, &current).await
        }
    }
}

/// Asks admission whether the object may be deleted, unless the server itself deletes it.
async fn admit(
    context: &Context,
    target: &Target,
    name: Option<&str>,
    options: &DeleteOptions,
    current: &Arc<Value>,
) -> Result<(), Status> {
    let Some(name) = name else { return Ok(()) };
    let mut attributes = Attributes::delete(context, target, current.clone(), options);
    name.clone_into(&mut attributes.name);
    admission::mutate(&mut attributes).await?;
    admission::validate(&attributes).await
}

/// Takes the object out of the store; `None` if somebody else wrote in between.
async fn remove(
    state: &Arc<State>,
    target: &Target,
    stored: &Arc<Object>,
    last: &Arc<Value>,
) -> Result<Option<Deleted>, Status> {
    match verbs::remove(state, target, stored.revision(), last).await? {
        Outcome::Stored(removed) => {
            let mut last = Value::clone(last);
            last.set(&["metadata", "resourceVersion"], removed.revision().to_string());
            Ok(Some(Deleted::Gone(Arc::new(last))))
        }
        Outcome::Stale(_) => Ok(None),
    }
}

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

/// 409: the object that was to be deleted because it cannot be read can be read.
fn readable(target: &Target) -> Status {
    let key = target.storage_key(false);
    target.conflict(&format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
         unsafe deletion is not allowed because the object is decodable from storage"
    ))
}

/// What the caller takes the object for must be so.
///
/// # Errors
/// 409 if it is another object, or another version of it.
pub(crate) fn check_preconditions(
    target: &Target,
    options: &DeleteOptions,
    current: &Value,
) -> Result<(), Status> {
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
    if options.propagation.is_none() && target.resource.is("batch", "jobs") {
        context.warn(ORPHANS_PODS);
    }
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
        match delete_as(context, &one, Some(""), options).await {
            // Somebody else was faster.
            Err(status) if status.is_not_found() => {}
            outcome => drop(outcome?),
        }
    }
    Ok(page)
}
