//! Create: system metadata, names, admission, validation, and one write.

use pilothouse_schema::builtin;
use pilothouse_value::{Status, Value, object};

use crate::admission::{self, Attributes};
use crate::answer::document::Document;
use crate::answer::present;
use crate::authorization::authz;
use crate::crd;
use crate::objects::{allocate, metadata, names, own_status, ownership};
use crate::registry::resource::Resource;
use crate::registry::{kinds, strategy};
use crate::request::intake::{self, Incoming};
use crate::request::options::WriteOptions;
use crate::state::{Context, Target};
use crate::verbs::{self, Outcome};

/// How many generated names are tried.
const NAME_ATTEMPTS: usize = 8;

/// Creates an object from a document.
///
/// # Errors
/// What the document breaks, what stands in its way, or 409 if the name is taken.
pub(crate) async fn create(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Document, Status> {
    let notes = context.notes.as_deref();
    notes.inspect(|notes| notes.reads());
    let value = intake::read(context, &target.resource, incoming, options.field_validation)?;
    notes.inspect(|notes| notes.has_read(&value));
    create_object(context, target, value, options, Tracking::Update).await
}

/// Whether ownership of fields has been recorded already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracking {
    /// Record the fields as written by an update.
    Update,
    /// Server-side apply has recorded them.
    Done,
}

/// Creates an object that has been read already.
///
/// # Errors
/// As [`create`].
pub(crate) async fn create_object(
    context: &Context,
    target: &Target,
    mut value: Value,
    options: &WriteOptions,
    tracking: Tracking,
) -> Result<Document, Status> {
    let state = &context.state;
    let resource = &target.resource;
    if resource.custom.as_ref().is_some_and(|custom| custom.terminating) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(&resource.group, &resource.plural, object::name(&value), why));
    }
    let empties = kinds::take_empties(resource, &mut value);
    metadata::wipe(&mut value);
    set_namespace(target, &mut value)?;
    metadata::dedup_owners(context, &mut value, false);
    if tracking == Tracking::Update {
        if resource.is_built_in() {
            builtin::say_template_generation(&resource.gvk(), &mut value);
        }
        ownership::track(context, target, options, None, &mut value).await;
    }
    kinds::forget_empty_lists(resource, &mut value);
    let mut attributes = Attributes::create(context, target, value, options);
    admission::mutate(&mut attributes).await?;
    let mut value = attributes.take_object();
    set_namespace(target, &mut value)?;
    metadata::dedup_owners(context, &mut value, true);
    strategy::take_status(resource, &mut value);
    authz::may_grant(context, resource, &value, None)?;
    value.set(&["metadata", "uid"], uuid::Uuid::new_v4().to_string());
    value.set(&["metadata", "creationTimestamp"], state.now());

    let generate_name = value.str_at(&["metadata", "generateName"]).unwrap_or_default().to_owned();
    let generated = object::name(&value).is_empty() && !generate_name.is_empty();
    if resource.is("", "pods") {
        let warnings = pilothouse_schema::builtin::sync_app_armor(&mut value);
        warnings.iter().for_each(|warning| context.warn(warning));
    }
    if resource.is("", "limitranges") && object::name(&value).is_empty() && !generated {
        value.set(&["metadata", "name"], uuid::Uuid::new_v4().to_string());
    }
    for _ in 0..NAME_ATTEMPTS {
        if generated {
            value.set(&["metadata", "name"], names::generate(&generate_name));
        }
        let named = Target { name: object::name(&value).to_owned(), ..target.clone() };
        let mut object = value.clone();
        strategy::prepare_create(resource, &mut object, &context.user, &state.now());
        // Where a name is made up, upstream works on a copy.
        if context.shares_labels()
            && !generated
            && let Some(labels) = object.at(&["spec", "template", "metadata", "labels"]).cloned()
        {
            object.set(&["metadata", "labels"], labels);
        }
        let reserved = allocate::reserve(state, resource, &mut object, None, options.dry_run)?;
        let mut errors = metadata::validate(&object, resource, metadata::Written::Created);
        errors.extend(kinds::validate(context, resource, &object, None).await);
        let errors = kinds::check_rules(context, resource, &object, None, errors).await;
        if !errors.is_empty() {
            return Err(kinds::invalid(&named, &object, &errors));
        }
        kinds::settle(resource, &mut object);
        admission::webhook::warn(context, resource, &object);
        kinds::warn(context, resource, &object, None);
        crd::lifecycle::warn(context, resource, &object, None);
        let mut attributes = Attributes::create(context, &named, object, options);
        admission::validate(&attributes).await?;
        let object = attributes.take_object();
        if options.dry_run {
            if state.store.get(&resource.key, &named.namespace, &named.name).is_some() {
                return Err(taken(resource, &named.name, &generate_name));
            }
            return present::rehearse(state, resource, object).await;
        }
        if object::resource_version(&object).parse::<u64>().is_ok_and(|revision| revision != 0) {
            // The storage's check upstream, with a bare error: no reason, code 500. A rehearsal does not come so far.
            return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
        }
        let mut object = object;
        builtin::put_bundles(&mut object, &empties.bundles);
        match verbs::put(state, &named, None, object).await? {
            Outcome::Stored(stored) => {
                reserved.keep(&stored);
                own_status::tell(state, &named, &stored).await;
                // It has been made, whether its client can be shown it or not.
                let shown = present::present(state, resource, &stored).await;
                return shown.map_err(|status| present::unchangeable(&stored, &status));
            }
            Outcome::Stale(_) if generated => {}
            Outcome::Stale(current) => {
                let mut status = taken(resource, &named.name, &generate_name);
                if current.is_some_and(|current| object::deletion_timestamp(current.value()).is_some()) {
                    status.message = format!("object is being deleted: {}", status.message);
                }
                return Err(status);
            }
        }
    }
    let mut status = Status::already_exists(&resource.group, &resource.plural, &generate_name);
    status.message.push_str(", the server was not able to generate a unique name for the object");
    Err(status)
}

/// 409 because the name is taken. An object that has what names are made of is spoken of as if its name had been made.
fn taken(resource: &Resource, name: &str, generate_name: &str) -> Status {
    if generate_name.is_empty() {
        return Status::already_exists(&resource.group, &resource.plural, name);
    }
    // Upstream has one internal kind for both groups of events, that of the core.
    let group = if &*resource.group == "events.k8s.io" { "" } else { &resource.group };
    let mut status = Status::already_exists(group, &resource.plural, name).with_retry_after(1);
    status.message.push_str(", the server was not able to generate a unique name for the object");
    status
}

/// The namespace of the body must be that of the request, or none.
pub(crate) fn set_namespace(target: &Target, value: &mut Value) -> Result<(), Status> {
    if target.namespace.is_empty() {
        value.take(&["metadata", "namespace"]);
        // Of a built-in kind it is told like everything else that is wrong with the object.
        if target.resource.namespaced && !target.resource.is_built_in() {
            return Err(Status::bad_request("an empty namespace may not be set during creation"));
        }
        return Ok(());
    }
    match object::namespace(value) {
        None => value.set(&["metadata", "namespace"], target.namespace.as_str()),
        Some(own) if own == target.namespace => {}
        Some(_) => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
    }
    Ok(())
}
