//! MutatingAdmissionWebhook: the webhooks change the object one after the other, and some once more.

use std::collections::BTreeSet;
use std::sync::Arc;

use pilothouse_merge::json_patch;
use pilothouse_schema::builtin;
use pilothouse_value::{Gvk, Status, Value, field, parse};

use super::review::{Response, Review};
use super::select::{self, Invocation};
use super::{Failure, Webhooks, ask, fail_closed, left, out_of_time};
use crate::admission::Attributes;
use crate::answer::present;
use crate::registry::kinds;
use crate::registry::resource::Resource;
use crate::request::intake;

/// What the second round of a request needs to know of the first.
#[derive(Debug, Default)]
pub(in crate::admission) struct Reinvocation {
    /// Whether this is the second round.
    pub(in crate::admission) again: bool,
    /// Whether a webhook changed the object, so that there has to be a second round.
    pub(in crate::admission) wanted: bool,
    /// Webhooks that want to be asked again if the object changes from here on.
    asked: BTreeSet<String>,
    /// Webhooks that are to be asked again.
    due: BTreeSet<String>,
    /// The object as the webhooks left it.
    left: Option<Value>,
}

impl Reinvocation {
    fn changed(&mut self) {
        self.due.append(&mut self.asked);
    }
}

/// The request as the webhooks see it: in the version that the last of them wanted.
struct Shown {
    resource: Arc<Resource>,
    old: Option<Arc<Value>>,
    /// The object as it came, while it stands in another version and nobody changed it.
    original: Option<Value>,
    dirty: bool,
}

/// Asks the webhooks.
///
/// # Errors
/// What the first that does not let the request in says, or what went wrong with one that must be asked.
pub(in crate::admission) async fn mutate(
    attributes: &mut Attributes<'_>,
    webhooks: &Webhooks,
    again: &mut Reinvocation,
) -> Result<(), Status> {
    // In the second round a change by the built-in plugins counts as one by a webhook.
    if again.again && again.left != attributes.object {
        again.changed();
    }
    let mut shown = Shown {
        resource: attributes.target.resource.clone(),
        old: attributes.old.clone(),
        original: None,
        dirty: false,
    };
    for (index, webhook) in webhooks.iter().enumerate() {
        let Some(invocation) = select::select(webhook, attributes)? else { continue };
        show(attributes, &mut shown, &invocation).await?;
        let object = attributes.object.as_ref();
        if !select::meets_conditions(&invocation, attributes, object, shown.old.as_deref())? {
            continue;
        }
        if again.again && !again.due.contains(&webhook.uid) {
            continue;
        }
        let outcome = call(attributes, &shown, &invocation).await;
        let mutated = matches!(outcome, Ok(true));
        annotate(attributes, &invocation, (again.again, index), mutated);
        if mutated {
            again.changed();
            again.wanted = true;
        }
        shown.dirty |= mutated;
        if webhook.reinvoked {
            again.asked.insert(webhook.uid.clone());
        }
        match outcome {
            Ok(_) => {}
            Err(Failure::Status(status)) => return Err(status),
            Err(Failure::Calling(why)) if webhook.ignores_failure => {
                tracing::warn!(webhook = %webhook.name, why, "a webhook was not heard");
                let round = u8::from(again.again);
                let key =
                    format!("failed-open.mutation.webhook.admission.k8s.io/round_{round}_index_{index}");
                attributes.annotate(&key, &webhook.name);
                if left(attributes).is_zero() {
                    return Err(out_of_time());
                }
            }
            Err(Failure::Calling(why)) => return Err(fail_closed(&why)),
        }
    }
    settle(attributes, shown).await?;
    if again.wanted && !again.again {
        again.left.clone_from(&attributes.object);
    }
    Ok(())
}

/// Shows the request in the version that a webhook wants.
async fn show(
    attributes: &mut Attributes<'_>,
    shown: &mut Shown,
    invocation: &Invocation,
) -> Result<(), Status> {
    let to = &invocation.resource;
    // A subresource with a kind of its own is the same for all versions.
    if Arc::ptr_eq(to, &shown.resource) || attributes.kind() != attributes.resource().gvk() {
        return Ok(());
    }
    let state = attributes.context.state.clone();
    if let Some(object) = attributes.object.take() {
        if shown.original.is_none() && !shown.dirty {
            shown.original = Some(object.clone());
        }
        attributes.object = Some(present::to_version(&state, to, object).await.map_err(twice_internal)?);
    }
    if let Some(old) = &attributes.old {
        let own = Arc::ptr_eq(to, &attributes.target.resource);
        shown.old = Some(if own {
            old.clone()
        } else {
            Arc::new(present::to_version(&state, to, Value::clone(old)).await.map_err(twice_internal)?)
        });
    }
    shown.resource = to.clone();
    Ok(())
}

/// Upstream wraps what a conversion for a webhook says, and wraps it again.
fn twice_internal(why: Status) -> Status {
    Status::internal(Status::internal(why.message).message)
}

/// Brings the object back into the version of the request.
async fn settle(attributes: &mut Attributes<'_>, shown: Shown) -> Result<(), Status> {
    let own = attributes.target.resource.clone();
    // A webhook may have put a custom resource into another version itself.
    let may_be_elsewhere = shown.dirty && own.custom.is_some() && attributes.kind() == own.gvk();
    if Arc::ptr_eq(&shown.resource, &own) && !may_be_elsewhere {
        return Ok(());
    }
    if let Some(original) = shown.original.filter(|_| !shown.dirty) {
        attributes.object = Some(original);
    } else if let Some(object) = attributes.object.take() {
        let state = attributes.context.state.clone();
        attributes.object = Some(present::to_version(&state, &own, object).await?);
    }
    Ok(())
}

/// Asks one webhook and makes the changes that it wants. Returns whether the object is another one now.
async fn call(
    attributes: &mut Attributes<'_>,
    shown: &Shown,
    invocation: &Invocation,
) -> Result<bool, Failure> {
    let review = Review {
        attributes,
        resource: &invocation.resource,
        object: attributes.object.as_ref(),
        old: shown.old.as_deref(),
    };
    let response = ask(attributes, invocation, &review, true).await?;
    if response.patch.is_empty() {
        return Ok(false);
    }
    let patch = read_patch(invocation, &response)?;
    if patch.as_array().is_some_and(Vec::is_empty) {
        return Ok(false);
    }
    let name = field::quote(&invocation.webhook.name);
    let internal = |why: String| Failure::Status(Status::internal(why));
    let Some(object) = &attributes.object else {
        return Err(internal(format!(
            "admission webhook {name} attempted to modify the object, which is not supported for this operation"
        )));
    };
    if response.patch_type != "JSONPatch" {
        let why = format_args!("unsupported patch type {}", field::quote(&response.patch_type));
        return Err(Failure::calling(&invocation.webhook, why));
    }
    let patched = json_patch::apply(object, &patch).map_err(|error| internal(error.to_string()))?;
    let own = kind(attributes, &shown.resource);
    let given = Gvk::of(&patched).unwrap_or_default();
    if own != shown.resource.gvk() && given != own && builtin::type_name(&given).is_none() {
        // What a subresource is must be a kind that the server knows.
        return Err(Failure::Status(Status::new(
            500,
            "",
            format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                field::quote(&given.kind),
                field::quote(&given.api_version())
            ),
        )));
    }
    let mut patched = reread(attributes, &shown.resource, patched).map_err(|status| {
        // The decoder is asked itself, without the words of whoever reads a body.
        let why = status.message.split_once(" cannot be handled as a ");
        let why = why.and_then(|(_, why)| why.split_once(": ")).map(|(_, why)| why.to_owned());
        internal(why.unwrap_or(status.message))
    })?;
    let changed = *object != patched;
    if changed {
        default(attributes, &shown.resource, &mut patched);
        attributes.object = Some(patched);
    }
    Ok(changed)
}

fn read_patch(invocation: &Invocation, response: &Response) -> Result<Value, Failure> {
    let webhook = &invocation.webhook;
    let patch = parse::json(&response.patch).map_err(|error| {
        let why = parse::json_syntax_error(&response.patch).unwrap_or_else(|| error.to_string());
        Failure::calling(webhook, format_args!("received undecodable patch in webhook response: {why}"))
    })?;
    if !patch.value.is_null() && patch.value.as_array().is_none() {
        return Err(Failure::calling(
            webhook,
            "received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type \
             jsonpatch.Patch",
        ));
    }
    Ok(patch.value)
}

/// The kind of the object in a version of its resource.
fn kind(attributes: &Attributes<'_>, resource: &Resource) -> Gvk {
    match resource.subresource(attributes.subresource()) {
        Some(sub) => Gvk::new(&*sub.group, &*sub.version, &*sub.kind),
        None => resource.gvk(),
    }
}

/// Makes a patched document an object of its kind again.
fn reread(attributes: &Attributes<'_>, resource: &Resource, mut value: Value) -> Result<Value, Status> {
    let gvk = kind(attributes, resource);
    if gvk == resource.gvk() {
        kinds::prune(resource, &mut value);
    }
    if builtin::type_name(&gvk).is_none() {
        return Ok(value);
    }
    // It is read as what it says it is.
    let given = Gvk::of(&value).unwrap_or_default();
    if given != gvk && builtin::type_name(&given).is_some() {
        kinds::read(&given, &mut value)?;
        return Err(Status::internal(format!(
            "converting ({}.{}) to ({}.{}): unknown conversion",
            given.version,
            given.kind,
            intake::internal_package(&gvk.group),
            gvk.kind
        )));
    }
    kinds::read(&gvk, &mut value)?;
    Ok(value)
}

fn default(attributes: &Attributes<'_>, resource: &Resource, value: &mut Value) {
    let gvk = kind(attributes, resource);
    if gvk == resource.gvk() {
        kinds::default(resource, value);
    } else {
        builtin::default(&gvk, value);
    }
}

/// Notes for the audit log whether a webhook changed the object.
fn annotate(
    attributes: &Attributes<'_>,
    invocation: &Invocation,
    (again, index): (bool, usize),
    mutated: bool,
) {
    let webhook = &invocation.webhook;
    let key = format!("mutation.webhook.admission.k8s.io/round_{}_index_{index}", u8::from(again));
    let value = format!(
        r#"{{"configuration":{},"webhook":{},"mutated":{mutated}}}"#,
        field::quote(&webhook.configuration),
        field::quote(&webhook.name)
    );
    attributes.annotate(&key, &value);
}
