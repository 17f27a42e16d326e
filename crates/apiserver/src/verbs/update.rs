//! Update: a new document in place of the stored one, and the last steps that every change of an object shares.

use std::sync::Arc;

use pilothouse_merge::managed;
use pilothouse_schema::builtin::{self, Empties};
use pilothouse_store::Object;
use pilothouse_value::field::{self, Path};
use pilothouse_value::{Status, Value, object};

use crate::admission::{self, Attributes};
use crate::answer::document::Document;
use crate::answer::present;
use crate::authorization::authz;
use crate::crd;
use crate::objects::{allocate, metadata, own_status, ownership};
use crate::registry::{kinds, strategy};
use crate::request::intake::{self, Incoming};
use crate::request::options::{WriteOptions, no_number};
use crate::state::{Context, State, Target};
use crate::verbs::create::{self, Tracking};
use crate::verbs::{self, Outcome, scale};

/// What a change came to.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) document: Document,
    /// Whether the object was made by this change.
    pub(crate) created: bool,
}

/// Replaces an object by a document.
///
/// # Errors
/// What the document breaks; 404 if there is no object; 409 if it is not the one that the document is based on.
pub(crate) async fn update(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    let resource = &target.resource;
    let notes = context.notes.as_deref();
    notes.inspect(|notes| notes.reads());
    let mut body = intake::read(context, resource, incoming, options.field_validation)?;
    notes.inspect(|notes| notes.has_read(&body));
    check_name(target, &mut body)?;
    // A version of zero is as good as none.
    if object::resource_version(&body) == "0" {
        body.set(&["metadata", "resourceVersion"], "");
    }
    let version = object::resource_version(&body).to_owned();
    let uid = object::uid(&body).to_owned();
    metadata::dedup_owners(context, &mut body, false);
    let exists = context.state.store.get(&resource.key, &target.namespace, &target.name).is_some();
    if exists && !version.is_empty() {
        check_version(target, &version)?;
    }
    if !exists && resource.rules.create_on_update && may_create(target) {
        // A rehearsal does not come as far as the storage, which knows that there is no such version.
        if !version.is_empty() && !options.dry_run {
            return Err(target.not_found());
        }
        target.require_uid(&uid, &Value::Null, options.dry_run)?;
        let document = create::create_object(context, target, body, options, Tracking::Update).await?;
        return Ok(Changed { document, created: true });
    }
    let document = change(context, target, options, &version, Tracking::Update, |current| {
        target.require_uid(&uid, current, options.dry_run)?;
        check_version(target, &version)?;
        Ok(body.clone())
    })
    .await?;
    Ok(Changed { document, created: false })
}

/// The version that a changed object says must be a number. Of some kinds it must be there.
///
/// # Errors
/// 500 for what is no number, as upstream's storage answers; 422 for none where there must be one.
pub(crate) fn check_version(target: &Target, version: &str) -> Result<(), Status> {
    let resource = &target.resource;
    if version.is_empty() && !resource.rules.unconditional_update {
        let path = Path::new("metadata").child("resourceVersion");
        let error = field::Error::invalid(&path, 0, "must be specified for an update");
        return Err(Status::invalid(&resource.group, &resource.plural, &target.name, &[error]));
    }
    if version.is_empty() || version.parse::<u64>().is_ok() {
        return Ok(());
    }
    Err(Status::new(500, "", no_number("ParseUint", version)))
}

/// Whether a write to this place may make the object: the status of a kind is written by the rules of the kind, so it may where
/// an update may.
pub(crate) fn may_create(target: &Target) -> bool {
    match target.subresource.as_deref() {
        None => true,
        Some(subresource) => subresource == "status" && target.resource.rules.create_on_update,
    }
}

/// The name that an object says must be that of the path.
///
/// # Errors
/// 400 if it says none, or another.
pub(crate) fn same_name(target: &Target, value: &Value) -> Result<(), Status> {
    let name = object::name(value);
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name
        )));
    }
    if name != target.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        )));
    }
    Ok(())
}

/// The namespace and the name in the body must be those of the path, which a body without a namespace gets.
///
/// # Errors
/// 400 if they are others.
pub(crate) fn check_name(target: &Target, body: &mut Value) -> Result<(), Status> {
    same_namespace(target, body)?;
    same_name(target, body)
}

/// The namespace must be that of the path, which a body without one gets.
fn same_namespace(target: &Target, body: &mut Value) -> Result<(), Status> {
    match object::namespace(body) {
        Some(own) if !target.namespace.is_empty() && own != target.namespace => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ if target.namespace.is_empty() => {
            body.take(&["metadata", "namespace"]);
            Ok(())
        }
        _ => {
            body.set(&["metadata", "namespace"], target.namespace.as_str());
            Ok(())
        }
    }
}

/// Changes a stored object: `make` gives the new document from the present one. If others write in between, it starts
/// over, unless `version` pins what the change is based on.
///
/// # Errors
/// What `make` says, what the new document breaks, 404 or 409.
pub(crate) async fn change(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    version: &str,
    tracking: Tracking,
    mut make: impl FnMut(&Value) -> Result<Value, Status> + Send,
) -> Result<Document, Status> {
    let state = &context.state;
    for _ in 0..verbs::ATTEMPTS {
        let stored = verbs::stored(state, target)?;
        let (current, known) = current(state, target, &stored, options.dry_run).await?;
        let judged = match based_on(target, version, &current, &mut make) {
            Ok(new) => judge(context, target, options, (&stored, &current), new, tracking).await,
            Err(status) => Err(status),
        };
        let judged = match judged {
            Ok(judged) => judged,
            Err(status) if known && !ownership::is_pending(&status) => {
                // Upstream looks whether what it knew is still so before it tells what is wrong.
                let again = present::present(state, &target.resource, &stored).await;
                return Err(again.err().map_or(status, |why| present::unchangeable(&stored, &why)));
            }
            Err(status) => return Err(status),
        };
        if let Some(done) = write(context, target, options, &stored, &current, judged).await? {
            return Ok(done);
        }
        if !version.is_empty() {
            return Err(target.modified());
        }
    }
    Err(target.modified())
}

/// The object that is to be changed, and whether it was known before; what watchers have seen will do, as long as it is of
/// this revision.
async fn current(
    state: &Arc<State>,
    target: &Target,
    stored: &Arc<Object>,
    dry_run: bool,
) -> Result<(Arc<Value>, bool), Status> {
    let resource = &target.resource;
    if dry_run {
        // A rehearsal reads it as if it were only read.
        let current = present::present(state, resource, stored).await;
        return current
            .map(|current| (current.value(), false))
            .map_err(|status| present::unreadable(target, stored, &status));
    }
    if let Some(known) = present::known(resource, stored, true) {
        let current = known.value();
        present::can_be_stored(state, resource, &current).await?;
        return Ok((current, true));
    }
    let current = present::present_shared(state, resource, stored).await;
    current.map(|current| (current.value(), false)).map_err(|status| present::unchangeable(stored, &status))
}

/// What `make` makes of the present object, if the change is based on it.
fn based_on(
    target: &Target,
    version: &str,
    current: &Value,
    make: &mut (impl FnMut(&Value) -> Result<Value, Status> + Send),
) -> Result<Value, Status> {
    let new = make(current)?;
    let pinned = object::resource_version(current);
    let wanted = object::resource_version(&new);
    if !version.is_empty() && version != pinned || !wanted.is_empty() && wanted != pinned {
        return Err(target.modified());
    }
    Ok(new)
}

/// A change that nobody has refused.
struct Judged {
    /// The new document as it is to be stored.
    new: Value,
    reserved: Option<allocate::Reserved>,
    /// What is empty in it, and is not shown.
    empties: Empties,
}

/// The new document as it is to be stored, after everybody has seen it.
async fn judge(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    (stored, current): (&Object, &Arc<Value>),
    mut new: Value,
    tracking: Tracking,
) -> Result<Judged, Status> {
    let state = &context.state;
    let resource = &target.resource;
    let empties = kinds::take_empties(resource, &mut new);
    if !resource.namespaced {
        new.take(&["metadata", "namespace"]);
    }
    if resource.is_built_in() && target.subresource.is_none() {
        builtin::say_template_generation(&resource.gvk(), &mut new);
    }
    if tracking == Tracking::Update {
        ownership::track(context, target, options, Some(current), &mut new).await;
    }
    kinds::forget_empty_lists(resource, &mut new);
    // Admission sees the document as it came, and the generation counts what admission makes of it.
    if admission::sees_updates(target) {
        new = admit(context, target, options, new, current).await?;
        same_namespace(target, &mut new)?;
    }
    prepare(state, target, &mut new, current);
    count_empties(&empties, stored, current, &mut new);
    if target.subresource.is_none() {
        authz::may_grant(context, resource, &new, Some(current))?;
    }
    let reserved = if target.subresource.is_none() {
        Some(allocate::reserve(state, resource, &mut new, Some(current), options.dry_run)?)
    } else {
        None
    };

    // Before the rules are checked: one is that the storage version is among those that objects may be stored in.
    if resource.is(crd::GROUP, crd::PLURAL) && target.subresource.is_none() {
        pilothouse_schema::crd::add_stored_version(&mut new);
        crd::lifecycle::warn(context, resource, &new, Some(current));
    }
    let written = metadata::Written::Updated(target.subresource.as_deref());
    // What assigns a pod to a node is written past the rules of its kind.
    let bound = target.subresource.as_deref() == Some("binding");
    let mut errors = if bound { Vec::new() } else { metadata::validate(&new, resource, written) };
    if resource.is("apiregistration.k8s.io", "apiservices") {
        errors.extend(metadata::validate(&new, resource, written));
    }
    // Some strategies look at what every update is asked for once more, and at labels and their like.
    for _ in 0..if target.looks_twice() { 2 } else { 1 } {
        errors.extend(metadata::validate_update(&new, current));
        if target.looks_twice() {
            errors.extend(metadata::validate_maps(&new));
        }
    }
    errors.extend(match target.subresource.as_deref() {
        None | Some("scale") => kinds::validate(context, resource, &new, Some(current)).await,
        Some(name) => kinds::validate_subresource(context, resource, name, &new, current),
    });
    let errors = kinds::check_rules(context, resource, &new, Some(current), errors).await;
    if !errors.is_empty() {
        return Err(kinds::invalid(target, &new, &errors));
    }
    kinds::settle(resource, &mut new);
    admission::webhook::warn(context, resource, &new);
    match target.subresource.as_deref() {
        None => kinds::warn(context, resource, &new, Some(current)),
        Some("status") => kinds::warn_of_status(context, resource, &new),
        Some(_) => {}
    }
    let new = check(context, target, options, new, current).await?;
    Ok(Judged { new, reserved, empties })
}

/// Stores the new document; `None` if somebody else wrote in between.
async fn write(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    stored: &Arc<Object>,
    current: &Arc<Value>,
    Judged { mut new, reserved, empties }: Judged,
) -> Result<Option<Document>, Status> {
    let state = &context.state;
    let resource = &target.resource;
    if !options.dry_run {
        // Upstream's storage drops it, which what is only tried never reaches.
        new.take(&["metadata", "selfLink"]);
    }
    if may_go(resource.is("", "namespaces"), &new) {
        if options.dry_run {
            return Ok(Some(new.into()));
        }
        // Who watches sees what was stored last.
        return match verbs::remove(state, target, stored.revision(), current).await? {
            Outcome::Stored(_) => Ok(Some(new.into())),
            Outcome::Stale(_) => Ok(None),
        };
    }
    managed::keep_times(current, &mut new);
    // What is only tried is converted there and back, whatever it is.
    let is_tried = options.dry_run && present::is_converted(resource).is_some();
    if !is_tried && present::is_stored(state, resource, stored, (current, &new)).await? {
        return Ok(Some(Document::Made(current.clone())));
    }
    if options.dry_run {
        return present::rehearse(state, resource, new).await.map(Some);
    }
    let mut new = present::keep_untouched(target, new, stored);
    builtin::put_bundles(&mut new, &empties.bundles);
    match verbs::put(state, target, Some(stored.revision()), new).await? {
        Outcome::Stored(written) => {
            if let Some(reserved) = reserved {
                reserved.keep(&written);
            }
            own_status::tell(state, target, &written).await;
            let shown = present::present(state, resource, &written).await;
            // It has been written, whether its client can be shown it or not.
            shown.map(Some).map_err(|status| present::unchangeable(&written, &status))
        }
        Outcome::Stale(_) => Ok(None),
    }
}

/// Counts the generation of a kind that tells what is empty from what is not there, if nothing else has changed.
fn count_empties(empties: &Empties, stored: &Object, current: &Value, new: &mut Value) {
    let generation = object::generation(current);
    if generation == 0 || object::generation(new) != generation {
        return;
    }
    let bundles = || present::has_empty_bundle(stored) || !empties.bundles.is_empty();
    if empties.lists || (bundles() && empties.bundles != builtin::bundles(stored.value())) {
        new.set(&["metadata", "generation"], generation + 1);
    }
}

/// What the kind, or the subresource, makes of a document that is to take the place of another.
fn prepare(state: &State, target: &Target, new: &mut Value, current: &Value) {
    let resource = &target.resource;
    metadata::restore(new, current);
    match target.subresource.as_deref() {
        None | Some("scale") => strategy::prepare_update(resource, new, current),
        Some("finalize") => strategy::prepare_finalize(new, current),
        Some(name @ ("status" | "approval" | "ephemeralcontainers" | "resize")) => {
            strategy::prepare_subresource(resource, name, new, current, &state.now());
        }
        // Actions change what they are for.
        Some(_) => {}
    }
    new.set(&["metadata", "resourceVersion"], object::resource_version(current));
}

/// Lets admission change the new document; of a scale it sees the scale.
async fn admit(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    mut new: Value,
    current: &Arc<Value>,
) -> Result<Value, Status> {
    let resource = &target.resource;
    if target.subresource.as_deref() == Some("scale") {
        let mut seen = scale::admitted(resource, &new);
        scale::date_entries(&mut seen, &context.state.now());
        let old = scale::admitted(resource, current);
        let mut attributes = Attributes::update(context, target, seen, Arc::new(old), options);
        admission::mutate(&mut attributes).await?;
        scale::set_replicas(resource, &mut new, &attributes.take_object());
        return Ok(new);
    }
    let mut attributes = Attributes::update(context, target, new, current.clone(), options);
    admission::mutate(&mut attributes).await?;
    let mut new = attributes.take_object();
    metadata::dedup_owners(context, &mut new, true);
    Ok(new)
}

/// Lets admission refuse the new document as it will be stored.
async fn check(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    new: Value,
    current: &Arc<Value>,
) -> Result<Value, Status> {
    if !admission::sees_updates(target) {
        return Ok(new);
    }
    let resource = &target.resource;
    if target.subresource.as_deref() == Some("scale") {
        let (seen, old) = (scale::seen(resource, &new), scale::seen(resource, current));
        admission::validate(&Attributes::update(context, target, seen, Arc::new(old), options)).await?;
        return Ok(new);
    }
    let mut attributes = Attributes::update(context, target, new, current.clone(), options);
    admission::validate(&attributes).await?;
    Ok(attributes.take_object())
}

/// Whether nothing holds an object that is being deleted any more.
pub(crate) fn may_go(namespace: bool, value: &Value) -> bool {
    object::deletion_timestamp(value).is_some()
        && value.i64_at(&["metadata", "deletionGracePeriodSeconds"]).unwrap_or_default() == 0
        && object::finalizers(value).next().is_none()
        && (!namespace || value.items_at(&["spec", "finalizers"]).is_empty())
}
