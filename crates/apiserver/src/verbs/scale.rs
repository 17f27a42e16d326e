//! The scale subresource: the number of replicas of an object of whatever kind, as `autoscaling/v1` `Scale`.

use pilothouse_merge::managed::{self, Kind, Manager};
use pilothouse_schema::{Schema, builtin};
use pilothouse_value::field::{self, Path};
use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Gvk, Status, Value, json, object};

use crate::answer::document::Document;
use crate::answer::present;
use crate::registry::kinds;
use crate::registry::resource::Resource;
use crate::request::intake::{self, Incoming, Spelling};
use crate::request::options::{FieldValidation, WriteOptions};
use crate::state::{Context, Target};
use crate::verbs;
use crate::verbs::Writer;
use crate::verbs::create::Tracking;
use crate::verbs::patch::{self, PatchKind};
use crate::verbs::update::{self, Changed};

/// Reads the scale of an object.
///
/// # Errors
/// 404 if the object is not there; 500 if it does not say how many replicas it wants.
pub(crate) async fn get(context: &Context, target: &Target) -> Result<Document, Status> {
    let stored = verbs::stored(&context.state, target)?;
    let parent = present::present(&context.state, &target.resource, &stored)
        .await
        .map_err(|status| present::unreadable(target, &stored, &status))?
        .value();
    of(&target.resource, &parent).map(Document::from)
}

/// Writes the scale of an object.
///
/// # Errors
/// As an update of the object.
pub(crate) async fn update(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    let is_built_in = target.resource.is_built_in();
    let mut scale = incoming.value;
    let complaints = incoming.spelling.complaints(pilothouse_schema::prune(schema(), &mut scale));
    read(&mut scale).map_err(|status| match status.code {
        // The handler of defined kinds does not know scales well enough to say what is wrong with one.
        400 if !is_built_in => Status::bad_request(
            "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        _ => status,
    })?;
    intake::complain(context, &gvk(), complaints, options.field_validation)?;
    update::check_name(target, &mut scale)?;
    write(context, target, options, |_, _| Ok((scale.clone(), Tracking::Update))).await
}

/// Patches the scale of an object.
///
/// # Errors
/// As an update of the object; 409 if an applied number of replicas is another's. To the scale of a custom resource nothing
/// can be applied that is not so already: 500, as upstream.
pub(crate) async fn patch(
    context: &Context,
    target: &Target,
    kind: PatchKind,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Changed, Status> {
    if kind == PatchKind::Apply {
        patch::check_applied_kind(&gvk(), &incoming.value)?;
        let force = options.force.unwrap_or_default();
        let is_built_in = target.resource.is_built_in();
        return write(context, target, options, |current, manager| {
            if !is_built_in && current.at(&MANAGED_FIELDS).is_none() {
                // Upstream makes an empty object to compare with, and that is no scale.
                let text = "failed to create manager for existing fields: failed to convert live object (/; \
                            autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid \
                            group/version: autoscaling/v1";
                return Err(Status::new(500, "", text));
            }
            let kind = Kind::of(schema());
            let mut scale = managed::apply(Some(current), &incoming.value, &kind, manager, force)
                .map_err(|error| error.status())?;
            if !is_built_in && !is_same(current, &scale) {
                let name = format!(
                    "{}/{}",
                    object::namespace(&incoming.value).unwrap_or_default(),
                    object::name(&incoming.value)
                );
                let text = format!(
                    "failed to convert new object ({name}; autoscaling/v1, Kind=Scale) to proper version: request to \
                     convert CR to an invalid group/version: autoscaling/v1"
                );
                return Err(Status::new(500, "", text));
            }
            patch::complain_of_keys(context, &incoming.spelling.repeated, options.field_validation)?;
            read(&mut scale)?;
            Ok((scale, Tracking::Done))
        })
        .await;
    }
    write(context, target, options, |current, _| {
        patch::check_numbers(kind, &incoming, options.field_validation)?;
        let validation = options.field_validation;
        let mut scale = patch::apply_patch(kind, schema(), current, &incoming.value, validation)?;
        let told = |why: &str| patch::of_patch(kind, schema(), (current, &incoming.value), validation, why);
        let unknown = pilothouse_schema::prune(schema(), &mut scale);
        if kind == PatchKind::Strategic {
            builtin::convert(&gvk(), &mut scale).map_err(|why| told(&why))?;
            // The type is fixed whatever the patch says.
            scale.set(&["apiVersion"], "autoscaling/v1");
            scale.set(&["kind"], "Scale");
        }
        if let Some(why) = intake::wrong_type_meta(&scale) {
            return Err(told(&intake::json_parse_error(&why)));
        }
        let complaints = Spelling::default().complaints(unknown);
        if validation == FieldValidation::Strict && !complaints.is_empty() {
            return Err(told(&format!("strict decoding error: {}", complaints.join(", "))));
        }
        intake::complain(context, &gvk(), complaints, validation)?;
        read(&mut scale).map_err(|status| {
            let text = status.message;
            told(text.split_once("cannot be handled as a Scale: ").map_or(&*text, |(_, why)| why))
        })?;
        update::same_name(target, &scale)?;
        Ok((scale, Tracking::Update))
    })
    .await
}

/// Whether two scales are the same but for their managers.
fn is_same(a: &Value, b: &Value) -> bool {
    let without = |scale: &Value| {
        let mut scale = scale.clone();
        scale.take(&MANAGED_FIELDS);
        scale
    };
    without(a) == without(b)
}

fn gvk() -> Gvk {
    Gvk::new("autoscaling", "v1", "Scale")
}

fn schema() -> &'static Schema {
    builtin::schema(&gvk()).unwrap_or(Schema::any())
}

fn read(scale: &mut Value) -> Result<(), Status> {
    intake::check_kind(&gvk(), scale)?;
    kinds::read(&gvk(), scale)
}

/// What stands for the replicas of a custom object that has none, until someone says how many.
const NO_REPLICAS: i64 = i32::MIN as i64;

async fn write(
    context: &Context,
    target: &Target,
    options: &WriteOptions,
    make: impl Fn(&Value, &Manager<'_>) -> Result<(Value, Tracking), Status> + Send + Sync,
) -> Result<Changed, Status> {
    let resource = &target.resource;
    let writer = Writer::of(context, target, options);
    let manager = Manager { api_version: "autoscaling/v1", ..writer.manager() };
    let places = |version: &str| replicas_in(resource, version);
    let broken = |why: String| Status::new(500, "", why);
    let document = update::change(context, target, options, "", Tracking::Done, |parent| {
        let entries = parent.at(&MANAGED_FIELDS);
        let missing = if resource.custom.is_some() { NO_REPLICAS } else { 0 };
        let mut current = of_replicas(resource, parent, replicas(resource, parent).unwrap_or(missing));
        set_entries(&mut current, managed::scale_to_subresource(entries, places).map_err(broken)?);
        let (mut scale, tracking) = make(&current, &manager)?;
        if tracking == Tracking::Update {
            managed::track(Some(&current), &mut scale, &Kind::of(schema()), &manager);
        }
        let version = object::resource_version(&scale);
        if !version.is_empty() && version != object::resource_version(parent) {
            return Err(target.modified());
        }
        target.require_uid(object::uid(&scale), parent, options.dry_run)?;
        let replicas = scale.i64_at(&["spec", "replicas"]).unwrap_or_default();
        if replicas == NO_REPLICAS {
            let path = spec_path(resource).join(".");
            return Err(Status::bad_request(format!("the spec replicas field \".{path}\" cannot be empty")));
        }
        if replicas < 0 && resource.is_built_in() {
            return Err(Status::invalid(
                "autoscaling",
                "Scale",
                &target.name,
                &[field::Error::invalid(
                    &Path::new("spec").child("replicas"),
                    replicas,
                    "must be greater than or equal to 0",
                )],
            ));
        }
        let mut changed = parent.clone();
        set_replicas(resource, &mut changed, &scale);
        let own = resource.api_version();
        let settled = managed::scale_to_parent(entries, scale.at(&MANAGED_FIELDS), &own, places);
        set_entries(&mut changed, settled.map_err(broken)?);
        Ok(changed)
    })
    .await?;
    let scale = seen(resource, &document.value());
    Ok(Changed { document: scale.into(), created: false })
}

const MANAGED_FIELDS: [&str; 2] = ["metadata", "managedFields"];

fn set_entries(value: &mut Value, entries: Option<Value>) {
    match entries {
        Some(entries) => value.set(&MANAGED_FIELDS, entries),
        None => {
            value.take(&MANAGED_FIELDS);
        }
    }
}

/// Where the number of replicas stands in a version of a resource; `None` if it has no such version, an empty path if that
/// one has no scale.
fn replicas_in(resource: &Resource, version: &str) -> Option<Vec<String>> {
    match &resource.custom {
        Some(custom) => custom.replicas_in(version),
        None => {
            let group = version.split_once('/').map_or("", |(group, _)| group);
            (group == resource.group).then(|| vec!["spec".into(), "replicas".into()])
        }
    }
}

/// Sets the replicas that a scale asks for.
pub(crate) fn set_replicas(resource: &Resource, parent: &mut Value, scale: &Value) {
    let path = spec_path(resource);
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    parent.set(&keys, scale.i64_at(&["spec", "replicas"]).unwrap_or_default());
}

fn spec_path(resource: &Resource) -> Vec<String> {
    match resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
        Some(paths) => paths.spec_replicas.clone(),
        None => vec!["spec".into(), "replicas".into()],
    }
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The scale of an object.
///
/// # Errors
/// 500 if a custom object does not say how many replicas it wants.
pub(crate) fn of(resource: &Resource, parent: &Value) -> Result<Value, Status> {
    if resource.custom.is_some() && replicas(resource, parent).is_none() {
        let path = spec_path(resource).join(".");
        return Err(Status::internal(format!("the spec replicas field \".{path}\" does not exist")));
    }
    Ok(seen(resource, parent))
}

/// The scale of an object as those see it who look at a write: an object that does not say how many replicas it wants wants
/// none.
pub(crate) fn seen(resource: &Resource, parent: &Value) -> Value {
    of_replicas(resource, parent, replicas(resource, parent).unwrap_or_default())
}

/// Who owns the number of replicas since just now is told with the time, which the object itself does not keep.
pub(crate) fn date_entries(scale: &mut Value, now: &str) {
    let entries = scale.at_mut(&MANAGED_FIELDS).and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter(|entry| entry.get("time").is_none()) {
        entry.set(&["time"], now);
    }
}

/// As [`seen`], with who owns the number of replicas: what the first half of admission is shown.
pub(crate) fn admitted(resource: &Resource, parent: &Value) -> Value {
    let mut scale = seen(resource, parent);
    let places = |version: &str| replicas_in(resource, version);
    // Entries that cannot be read have been told of before it comes to this.
    let entries = managed::scale_to_subresource(parent.at(&MANAGED_FIELDS), places).unwrap_or_default();
    set_entries(&mut scale, entries);
    scale
}

fn replicas(resource: &Resource, parent: &Value) -> Option<i64> {
    at(parent, &spec_path(resource)).and_then(Value::as_i64)
}

fn of_replicas(resource: &Resource, parent: &Value, replicas: i64) -> Value {
    let custom = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref());
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {},
        "status": {"replicas": 0},
    });
    // Go leaves this zero out, but not that of the status.
    if replicas != 0 {
        scale.set(&["spec", "replicas"], replicas);
    }
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = parent.at(&["metadata", key]) {
            scale.set(&["metadata", key], value.clone());
        }
    }
    let (status, selector) = match custom {
        Some(paths) => (
            at(parent, &paths.status_replicas).and_then(Value::as_i64),
            paths
                .selector
                .as_ref()
                .and_then(|path| at(parent, path))
                .and_then(Value::as_str)
                .map(str::to_owned),
        ),
        None => (
            parent.i64_at(&["status", "replicas"]),
            parent.at(&["spec", "selector"]).map(|selector| {
                // A ReplicationController has a plain map, the others a label selector.
                let object = match resource.plural.as_str() {
                    "replicationcontrollers" => json!({"matchLabels": selector.clone()}),
                    _ => selector.clone(),
                };
                LabelSelector::from_object(&object).map(|selector| selector.to_string()).unwrap_or_default()
            }),
        ),
    };
    scale.set(&["status", "replicas"], status.unwrap_or_default());
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale.set(&["status", "selector"], selector);
    }
    scale
}
