//! Patch: the four ways to say only what changes.

use pilothouse_merge::{json_patch, managed, merge_patch, strategic};
use pilothouse_value::field::{self, Path};
use pilothouse_value::status::Details;
use pilothouse_value::{Gvk, Status, Value, object};

use crate::intake::{self, Incoming};
use crate::options::{FieldValidation, WriteOptions};
use crate::resource::Resource;
use crate::state::{Context, Target};
use crate::verbs::create::{self, Tracking};
use crate::verbs::update::{self, Changed};
use crate::verbs::{Writer, scale};

/// A kind of patch, by its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Lists are merged as the schema says.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// The patch that a media type names.
    ///
    /// # Errors
    /// 415 for what the resource does not take.
    pub(crate) fn of(resource: &Resource, media_type: &str) -> Result<PatchKind, Status> {
        let kind = match media_type {
            "application/json-patch+json" => PatchKind::Json,
            "application/merge-patch+json" => PatchKind::Merge,
            "application/strategic-merge-patch+json" if resource.is_built_in() => PatchKind::Strategic,
            "application/apply-patch+yaml" => PatchKind::Apply,
            _ if resource.is_built_in() => {
                let status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                return Err(status.with_details(Details::default()));
            }
            _ => {
                return Err(Status::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]));
            }
        };
        Ok(kind)
    }
}

/// Patches an object, or (apply only) makes it.
///
/// # Errors
/// What the patch or the patched object breaks, 404 if there is no object, 409 for conflicts.
pub(crate) async fn patch(
    context: &Context,
    target: &Target,
    kind: PatchKind,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    if target.subresource.as_deref() == Some("scale") {
        return scale::patch(context, target, kind, incoming, options).await;
    }
    if kind == PatchKind::Apply {
        return apply(context, target, incoming, options).await;
    }
    let document = update::change(context, target, options, "", Tracking::Update, |current| {
        let patched = apply_patch(kind, &target.resource, current, &incoming.value)?;
        read_patched(context, target, (kind, patched), &incoming, current, options.field_validation)
    })
    .await?;
    Ok(Changed { document, created: false })
}

/// The document that a patch makes of another.
///
/// # Errors
/// What the patch breaks.
pub(crate) fn apply_patch(
    kind: PatchKind,
    resource: &Resource,
    current: &Value,
    patch: &Value,
) -> Result<Value, Status> {
    match kind {
        PatchKind::Json => json_patch::apply(current, patch).map_err(|error| error.status()),
        PatchKind::Strategic => {
            strategic::apply(current, patch, resource.schema()).map_err(|error| error.status())
        }
        PatchKind::Merge | PatchKind::Apply => {
            merge_patch::check(patch).map_err(|error| error.status())?;
            let mut patched = current.clone();
            merge_patch::apply(&mut patched, patch);
            Ok(patched)
        }
    }
}

/// Makes a patched document an object again; the name and the namespace must be what they were.
fn read_patched(
    context: &Context,
    target: &Target,
    (kind, patched): (PatchKind, Value),
    incoming: &Incoming,
    current: &Value,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let resource = &target.resource;
    let strict = validation == FieldValidation::Strict;
    let warnings = if strict { FieldValidation::Strict } else { validation };
    // Upstream shows what the patch made of the object, except for a strategic merge patch: there the patch itself.
    let text = match kind {
        PatchKind::Strategic => strategic::go(&incoming.value),
        _ => patched.to_json(),
    };
    let document = Incoming { value: patched, duplicates: incoming.duplicates.clone() };
    let read = intake::read(context, resource, document, warnings).map_err(|status| {
        // What is wrong with the outcome of a patch is told as a fault of the patch.
        let why = match status.message.split_once("cannot be handled as a ") {
            Some((_, why)) => why.split_once(": ").map_or(why, |(_, why)| why),
            None => return status,
        };
        if !strict && why.starts_with("strict decoding error") {
            return status;
        }
        let error = field::Error::invalid(&Path::new("patch"), text.as_str(), why);
        Status::invalid("", "", "", &[error])
    })?;
    if object::name(&read) != object::name(current) {
        return Err(Status::bad_request(format!(
            "the name of the object ({}) does not match the name on the URL ({})",
            object::name(&read),
            target.name
        )));
    }
    if object::namespace(&read) != object::namespace(current) {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(read)
}

/// Server-side apply.
async fn apply(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    let resource = &target.resource;
    let mut applied = incoming.value;
    if options.field_validation == FieldValidation::Strict && !incoming.duplicates.is_empty() {
        let complaints = intake::complaints(Vec::new(), incoming.duplicates).join(", ");
        return Err(Status::bad_request(format!("error strict decoding patch: {complaints}")));
    }
    let given = Gvk::of(&applied).unwrap_or_default();
    if given.kind != resource.kind || (resource.is_built_in() && given != resource.gvk()) {
        return Err(Status::bad_request(format!(
            "invalid object type: {}/{}, Kind={}",
            given.group, given.version, given.kind
        )));
    }
    let name = object::name(&applied);
    if !name.is_empty() && name != target.name {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        )));
    }
    applied.set(&["metadata", "name"], target.name.as_str());
    if object::namespace(&applied).is_some_and(|own| own != target.namespace) {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    // What this path does not let its clients set is nobody's by this request.
    match target.subresource.as_deref() {
        None if resource.rules.status => {
            applied.take(&["status"]);
        }
        Some("status") => {
            if let Some(map) = applied.as_object_mut() {
                map.retain(|key, _| matches!(key, "apiVersion" | "kind" | "metadata" | "status"));
            }
        }
        _ => {}
    }
    let force = options.force.unwrap_or_default();
    let writer = Writer::of(context, target, options);
    let exists = context.state.store.get(&resource.key, &target.namespace, &target.name).is_some();
    if !exists && target.subresource.is_none() {
        if !object::uid(&applied).is_empty() {
            return Err(target.conflict(&format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object::uid(&applied)
            )));
        }
        let made = managed::apply(None, &applied, resource.schema(), &writer.manager(), force)
            .map_err(|error| error.status())?;
        let made = intake::read(context, resource, made.into(), FieldValidation::Ignore)?;
        match create::create_object(context, target, made, options, Tracking::Done).await {
            // Somebody else made it in between: then this is a change of theirs.
            Err(status) if status.is_already_exists() => {}
            outcome => return outcome.map(|document| Changed { document, created: true }),
        }
    }
    let document = update::change(context, target, options, "", Tracking::Done, |current| {
        let made = managed::apply(Some(current), &applied, resource.schema(), &writer.manager(), force)
            .map_err(|error| error.status())?;
        intake::read(context, resource, made.into(), FieldValidation::Ignore)
    })
    .await?;
    Ok(Changed { document, created: false })
}
