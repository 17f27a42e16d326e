//! Patch: the four ways to say only what changes.

use pilothouse_merge::{json_patch, merge_patch, strategic};
use pilothouse_schema::{Schema, builtin};
use pilothouse_value::field::{self, Path};
use pilothouse_value::status::Details;
use pilothouse_value::{GroupVersion, Gvk, Map, Status, Value, go_print, json, object};

use crate::objects::ownership::{self, Others};
use crate::registry::resource::Resource;
use crate::request::intake::{self, Incoming, Spelling};
use crate::request::options::{FieldValidation, WriteOptions};
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
    pub(crate) fn of(resource: &Resource, header: &str) -> Result<PatchKind, Status> {
        const STRATEGIC: &str = "application/strategic-merge-patch+json";
        const ALL: [&str; 4] = [
            "application/json-patch+json",
            "application/merge-patch+json",
            STRATEGIC,
            "application/apply-patch+yaml",
        ];
        // A router stands before built-in kinds, and takes the header for a list.
        let name = |text: &str| text.split(';').next().unwrap_or_default().trim().to_owned();
        if resource.is_built_in() && !header.split(',').map(name).any(|name| ALL.contains(&&*name)) {
            let status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            return Err(status.with_details(Details::default()));
        }
        Ok(match header.split(';').next().unwrap_or_default() {
            "application/json-patch+json" => PatchKind::Json,
            "application/merge-patch+json" => PatchKind::Merge,
            STRATEGIC if resource.is_built_in() => PatchKind::Strategic,
            "application/apply-patch+yaml" => PatchKind::Apply,
            _ => {
                let taken = ALL.into_iter().filter(|name| resource.is_built_in() || *name != STRATEGIC);
                return Err(Status::unsupported_media_type(&taken.collect::<Vec<_>>()));
            }
        })
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
        check_numbers(kind, &incoming, options.field_validation)?;
        let patched =
            apply_patch(kind, target.resource.schema(), current, &incoming.value, options.field_validation)?;
        read_patched(context, target, (kind, current, patched), &incoming, options.field_validation)
    })
    .await?;
    Ok(Changed { document, created: false })
}

/// Refuses numbers that no float can hold, as the strict reading of a patch does, which those who want to know nothing do without.
///
/// # Errors
/// 400 with the first one.
pub(super) fn check_numbers(
    kind: PatchKind,
    incoming: &Incoming,
    validation: FieldValidation,
) -> Result<(), Status> {
    if !incoming.is_spelled() || validation == FieldValidation::Ignore {
        return Ok(());
    }
    let (found, place) = match kind {
        PatchKind::Json => {
            let mut values = incoming.value.as_array().into_iter().flatten().filter_map(|op| op.get("value"));
            (values.find_map(Value::too_large), "struct field jsonPatchOp.value")
        }
        // What is no object at all is told by whoever puts it into one.
        _ if incoming.value.as_object().is_none() => (None, ""),
        _ => (incoming.value.too_large(), "value"),
    };
    let Some(literal) = found else { return Ok(()) };
    Err(Status::bad_request(format!(
        "error decoding patch: json: cannot unmarshal number {literal} into Go {place} of type float64"
    )))
}

/// What is wrong with the outcome of a patch, told as a fault of the patch. Upstream shows what the patch made of the object,
/// except for a strategic merge patch: there what is left of the patch.
pub(super) fn of_patch(
    kind: PatchKind,
    schema: &Schema,
    (current, patch): (&Value, &Value),
    validation: FieldValidation,
    why: &str,
) -> Status {
    let text = match kind {
        PatchKind::Strategic => go_print::plain(&strategic::leftover(current, patch, schema)),
        _ => match apply_patch(kind, schema, current, patch, validation) {
            Ok(patched) => patched.to_json(),
            Err(status) => return status,
        },
    };
    Status::invalid("", "", "", &[field::Error::invalid(&Path::new("patch"), text, why)])
}

/// The document that a patch makes of another.
///
/// # Errors
/// What the patch breaks.
pub(crate) fn apply_patch(
    kind: PatchKind,
    schema: &Schema,
    current: &Value,
    patch: &Value,
    validation: FieldValidation,
) -> Result<Value, Status> {
    match kind {
        PatchKind::Json if validation == FieldValidation::Ignore => {
            json_patch::apply_unchecked(current, patch).map_err(|error| error.status())
        }
        PatchKind::Json => json_patch::apply(current, patch).map_err(|error| error.status()),
        PatchKind::Strategic => strategic::apply(current, patch, schema).map_err(|error| error.status()),
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
    (kind, current, patched): (PatchKind, &Value, Value),
    incoming: &Incoming,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let resource = &target.resource;
    let strict = validation == FieldValidation::Strict;
    let warnings = if strict { FieldValidation::Strict } else { validation };
    let mut patched = patched;
    let told = |why: &str| of_patch(kind, resource.schema(), (current, &incoming.value), validation, why);
    if matches!(kind, PatchKind::Json | PatchKind::Merge) && resource.is_built_in() {
        check_versioned(context, target, &patched, validation, &told)?;
    }
    if kind == PatchKind::Strategic {
        builtin::convert(&resource.gvk(), &mut patched).map_err(|why| told(&why))?;
        // The type is fixed whatever the patch says.
        patched.set(&["apiVersion"], resource.api_version());
        patched.set(&["kind"], resource.kind.as_str());
    }
    let of_operations = (kind == PatchKind::Json).then(|| json_patch::unknown_fields(&incoming.value));
    let mut document = incoming.patched(patched, of_operations);
    if kind == PatchKind::Strategic {
        document = document.converted();
    }
    let read = intake::read_patched(context, resource, document, warnings).map_err(|status| {
        // What is wrong with the outcome of a patch is told as a fault of the patch.
        let why = match status.message.split_once("cannot be handled as a ") {
            Some((_, why)) => why.split_once(": ").map_or(why, |(_, why)| why),
            None => return status,
        };
        if !strict && why.starts_with("strict decoding error") {
            return status;
        }
        told(why)
    })?;
    let mut read = read;
    if object::namespace(&read).is_none() && !target.namespace.is_empty() {
        read.set(&["metadata", "namespace"], target.namespace.as_str());
    }
    check_place(target, &read)?;
    update::check_version(target, object::resource_version(&read))?;
    Ok(read)
}

/// Refuses the outcome of a patch that says no version. Upstream reads it as the type that it has in memory, whose fields have
/// no names in JSON but for those of the metadata: nearly nothing of it is known, and it has no name.
fn check_versioned(
    context: &Context,
    target: &Target,
    patched: &Value,
    validation: FieldValidation,
    told: &impl Fn(&str) -> Status,
) -> Result<(), Status> {
    const SCHEME: &str = "in scheme \"pkg/runtime/scheme.go:111\"";
    let gvk = target.resource.gvk();
    if intake::wrong_type_meta(patched).is_some() {
        return Ok(());
    }
    match object::api_version(patched).split_once('/') {
        Some((_, version)) if version.contains('/') => {
            let given = object::api_version(patched);
            return Err(told(&format!("unexpected GroupVersion string: {given}")));
        }
        Some((group, "")) if group.is_empty() || group == gvk.group => {}
        Some((_, "")) => {
            return Err(told(&format!("Object 'apiVersion' is missing in '{}'", patched.to_json())));
        }
        None if object::api_version(patched).is_empty() => {}
        _ => return Ok(()),
    }
    let kind = object::kind(patched);
    if !kind.is_empty() && kind != gvk.kind {
        let package = intake::internal_package(&gvk.group);
        return Err(match builtin::type_name(&Gvk::new(&gvk.group, &gvk.version, kind)) {
            Some(_) => told(&format!(
                "converting ({package}.{kind}) to ({package}.{}): unknown conversion",
                gvk.kind
            )),
            None => told(&format!(
                "no kind {} is registered for the internal version of group {} {SCHEME}",
                field::quote(kind),
                field::quote(&gvk.group)
            )),
        });
    }
    let schema = target.resource.schema();
    let metadata = schema.property("metadata");
    let is_known = |key: &str| {
        let of_metadata = metadata.is_some_and(|metadata| metadata.property(key).is_some());
        let in_memory = key.starts_with(|first: char| first.is_ascii_uppercase()) && {
            let (first, rest) = key.split_at(1);
            schema.property(&format!("{}{rest}", first.to_ascii_lowercase())).is_some()
        };
        matches!(key, "apiVersion" | "kind") || of_metadata || in_memory
    };
    let keys = patched.as_object().into_iter().flat_map(Map::keys);
    let unknown = keys.filter(|key| !is_known(key)).map(str::to_owned).collect();
    let complaints = Spelling::default().complaints(unknown);
    if validation == FieldValidation::Strict && !complaints.is_empty() {
        return Err(told(&format!("strict decoding error: {}", complaints.join(", "))));
    }
    intake::complain(context, &gvk, complaints, validation)?;
    let name = patched.str_at(&["name"]).unwrap_or_default();
    update::same_name(target, &json!({"metadata": {"name": name}}))?;
    Err(told("Object 'apiVersion' is missing in the outcome of the patch"))
}

/// Server-side apply.
async fn apply(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    let resource = &target.resource;
    let exists = || context.state.store.get(&resource.key, &target.namespace, &target.name).is_some();
    if !update::may_create(target) && !exists() {
        return Err(target.not_found());
    }
    check_applied_kind(&resource.gvk(), &incoming.value)?;
    let Incoming { value: applied, spelling } = incoming;
    let force = options.force.unwrap_or_default();
    let writer = Writer::of(context, target, options);
    let others = Others::of(&context.state, resource);
    let make = |live: Option<&Value>| -> Result<Value, Status> {
        let made = ownership::apply(target, &others, live, &applied, &writer.manager(), force)?;
        let made = intake::convert_applied(resource, made, &applied)?;
        complain_of_keys(context, &spelling.repeated, options.field_validation)?;
        check_place(target, &made)?;
        if live.is_some() {
            update::check_version(target, object::resource_version(&made))?;
        }
        if resource.custom.is_some() && live.is_some_and(|live| differ_in_managers_alone(live, &made)) {
            // What changes nothing is not read again, and gets no defaults.
            return Ok(made);
        }
        intake::read_applied(context, resource, made)
    };
    loop {
        if update::may_create(target) && !exists() {
            let mut made = make(None)?;
            // Which version was applied to says nothing of an object that is not there.
            made.take(&["metadata", "resourceVersion"]);
            if !object::uid(&made).is_empty() {
                return Err(target.conflict(&format!(
                    "uid mismatch: the provided object specified uid {}, and no existing object was found",
                    object::uid(&made)
                )));
            }
            match create::create_object(context, target, made, options, Tracking::Done).await {
                // Somebody else made it in between: then this is a change of theirs.
                Err(status) if status.is_already_exists() => {}
                outcome => return outcome.map(|document| Changed { document, created: true }),
            }
        }
        let changed =
            update::change(context, target, options, "", Tracking::Done, |current| make(Some(current))).await;
        // What a webhook had to convert first is converted now.
        if changed.is_err() && others.ask().await {
            continue;
        }
        return changed.map(|document| Changed { document, created: false });
    }
}

/// Whether two objects say the same, whoever owns it.
fn differ_in_managers_alone(one: &Value, other: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        value.take(&["metadata", "managedFields"]);
        value
    };
    bare(one) == bare(other)
}

/// An applied document must say that it is of the kind, and in the version, of the path.
///
/// # Errors
/// 400 otherwise.
pub(crate) fn check_applied_kind(gvk: &Gvk, applied: &Value) -> Result<(), Status> {
    let text = |key: &str| applied.str_at(&[key]).unwrap_or_default();
    // A version that cannot be read hides the kind, too.
    let given = text("apiVersion").parse().map(|version: GroupVersion| version.kind(text("kind")));
    let given = given.unwrap_or_default();
    if given == *gvk {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "invalid object type: {}/{}, Kind={}",
        given.group, given.version, given.kind
    )))
}

/// Tells of keys that came twice in an applied document, which is done once it has been applied.
///
/// # Errors
/// 400 for those who are strict; for others they are warnings.
pub(crate) fn complain_of_keys(
    context: &Context,
    repeated: &[String],
    validation: FieldValidation,
) -> Result<(), Status> {
    if repeated.is_empty() || validation == FieldValidation::Ignore {
        return Ok(());
    }
    if validation == FieldValidation::Strict {
        let why = intake::repeated_keys(repeated);
        let why = format!("error strict decoding patch: error converting YAML to JSON: {why}");
        return Err(Status::bad_request(why));
    }
    for complaint in repeated {
        context.warn(complaint.clone());
    }
    Ok(())
}

/// The namespace and the name that an object says must be those of the path.
fn check_place(target: &Target, value: &Value) -> Result<(), Status> {
    if !target.namespace.is_empty() && object::namespace(value).is_some_and(|own| own != target.namespace) {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    update::same_name(target, value)
}
