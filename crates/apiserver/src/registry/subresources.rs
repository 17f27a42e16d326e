//! Subresources that are actions: what happens is not a change of the object that is sent.

use pilothouse_merge::managed;
use pilothouse_schema::{Schema, builtin};
use pilothouse_value::{Gvk, Status, Value, json, object};

use crate::admission::{self, Attributes};
use crate::answer::document::Document;
use crate::authentication::{authenticator, tokens};
use crate::authorization::rbac::reviews;
use crate::registry::{eviction, kinds};
use crate::request::intake::{self, Incoming};
use crate::request::options::WriteOptions;
use crate::state::{Context, Target};
use crate::verbs::create::Tracking;
use crate::verbs::{Writer, create, update};

/// Serves `POST` on a subresource.
///
/// # Errors
/// 404 for one that is not there, 501 for one that is not served yet, and what the action says.
pub(crate) async fn create(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Document, Status> {
    let Some(subresource) = target.subresource.as_deref() else {
        return review(context, target, incoming, options).await;
    };
    match (target.resource.plural.as_str(), subresource) {
        ("pods", "eviction") => {
            let eviction = read_here(context, target, incoming, options)?;
            eviction::check(target, &eviction, options)?;
            let eviction = admit(context, target, eviction, options).await?;
            eviction::evict(context, target, &eviction, options).await?;
            Ok(success(201))
        }
        ("pods", "binding") => {
            let binding = read_here(context, target, incoming, options)?;
            let binding = admit(context, target, binding, options).await?;
            bind(context, target, &binding, options).await
        }
        ("serviceaccounts", "token") => {
            let notes = context.notes.as_deref();
            notes.inspect(|notes| notes.reads());
            let mut request = read(context, target, incoming, options)?;
            if request.i64_at(&["spec", "expirationSeconds"]).is_none() {
                request.set(&["spec", "expirationSeconds"], tokens::DEFAULT_SECONDS);
            }
            notes.inspect(|notes| notes.has_read(&whole_request(&request)));
            create::set_namespace(target, &mut request)?;
            let asked = request.i64_at(&["spec", "expirationSeconds"]).unwrap_or_default();
            if let Some(most) = context.state.tuning.longest_token_seconds.filter(|most| asked > *most) {
                context.warn(format!("requested expiration of {asked} seconds shortened to {most} seconds"));
                request.set(&["spec", "expirationSeconds"], most);
            }
            let gvk = Gvk::new("authentication.k8s.io", "v1", "TokenRequest");
            track(context, target, &gvk, &mut request, options);
            let request = admit(context, target, request, options).await?;
            let state = &context.state;
            let (signer, objects) = (&state.identity.signer, &*state.identity.authenticator.objects);
            let now = state.clock.now();
            let extends = state.tuning.extended_tokens;
            let (space, name) = (&target.namespace, &target.name);
            let answer = tokens::token_request(signer, objects, now, space, name, &request, extends)?;
            let token = answer.str_at(&["status", "token"]).unwrap_or_default();
            if let Some(credential) = notes.and_then(|_| tokens::credential_id(token)) {
                notes.inspect(|notes| notes.annotate(ISSUED, &credential));
            }
            Ok(answer.into())
        }
        (plural, _) => Err(Status::not_implemented(format!(
            "{plural}/{subresource} is not served yet; hint: see “What is not there yet” in the book"
        ))),
    }
}

/// The audit log's name for what tells a token from others.
const ISSUED: &str = "authentication.kubernetes.io/issued-credential-id";

/// A request for a token with every member that upstream's has, as the audit log shows it.
fn whole_request(request: &Value) -> Value {
    let given = |path: &[&str]| request.at(path).cloned().unwrap_or(Value::Null);
    let mut whole = json!({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"});
    whole.set(&["metadata"], request.get("metadata").cloned().unwrap_or_else(Value::object));
    for field in ["audiences", "expirationSeconds", "boundObjectRef"] {
        whole.set(&["spec", field], given(&["spec", field]));
    }
    whole.set(&["status"], json!({"token": "", "expirationTimestamp": null}));
    whole
}

/// Asks admission for what an action is given.
async fn admit(
    context: &Context,
    target: &Target,
    object: Value,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let mut attributes = Attributes::create(context, target, object, options);
    admission::mutate(&mut attributes).await?;
    admission::validate(&attributes).await?;
    Ok(attributes.take_object())
}

/// Records whose fields these are, as for what is stored: clients see it in the answer.
fn track(context: &Context, target: &Target, gvk: &Gvk, value: &mut Value, options: &WriteOptions) {
    let schema = builtin::schema(gvk).unwrap_or(Schema::any());
    let writer = Writer::of(context, target, options).in_version(gvk.api_version());
    managed::track(None, value, &managed::Kind::of(schema), &writer.manager());
}

/// Serves `POST` on a resource that keeps nothing: questions that are answered, and bindings.
async fn review(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Document, Status> {
    let (state, resource) = (&context.state, &target.resource);
    let gvk = resource.gvk();
    let mut value = read_as(context, &gvk, incoming, options)?;
    match resource.namespaced {
        true => create::set_namespace(target, &mut value)?,
        false => drop(value.take(&["metadata", "namespace"])),
    }
    let mut value = admit(context, target, value, options).await?;
    if matches!(resource.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io") {
        track(context, target, &gvk, &mut value, options);
    }
    let authorizer = &state.authorizer;
    let answer = match (resource.group.as_str(), resource.plural.as_str()) {
        ("authorization.k8s.io", "subjectaccessreviews") => {
            reviews::subject_access_review(authorizer, value).await?
        }
        ("authorization.k8s.io", "localsubjectaccessreviews") => {
            reviews::local_subject_access_review(authorizer, value).await?
        }
        ("authorization.k8s.io", "selfsubjectaccessreviews") => {
            reviews::self_subject_access_review(authorizer, &context.user, value).await?
        }
        ("authorization.k8s.io", "selfsubjectrulesreviews") => {
            reviews::self_subject_rules_review(authorizer, &context.user, &value)?
        }
        ("authentication.k8s.io", "tokenreviews") => {
            tokens::token_review(&state.identity.authenticator, &value).await?
        }
        ("authentication.k8s.io", "selfsubjectreviews") => {
            authenticator::self_subject_review(&context.user, state.clock.now())
        }
        ("", "bindings") => {
            let pods = state.registry.get("", "v1", "pods").ok_or_else(Status::no_such_path)?;
            let pod = Target { resource: pods, name: object::name(&value).to_owned(), ..target.clone() };
            return bind(context, &pod, &value, options).await;
        }
        (_, plural) => {
            return Err(Status::not_implemented(format!(
                "{plural} is not served yet; hint: see “What is not there yet” in the book"
            )));
        }
    };
    Ok(answer.into())
}

/// Reads a body of the subresource's own kind.
fn read(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let name = target.subresource.as_deref();
    let gvk = target.resource.gvk_at(name);
    let mut incoming = incoming;
    // Evictions have been asked for in their first version for long.
    if name == Some("eviction") && object::api_version(&incoming.value) == "policy/v1beta1" {
        incoming.value.set(&["apiVersion"], "policy/v1");
    }
    read_as(context, &gvk, incoming, options)
}

/// Reads a body of the subresource's own kind, which is in the namespace that the request is for.
fn read_here(
    context: &Context,
    target: &Target,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let mut value = read(context, target, incoming, options)?;
    create::set_namespace(target, &mut value)?;
    Ok(value)
}

/// Reads a body that nothing is stored of, and tells of fields that its kind does not know.
fn read_as(
    context: &Context,
    gvk: &Gvk,
    incoming: Incoming,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let mut value = incoming.value;
    intake::check_kind(gvk, &mut value)?;
    let unknown = builtin::schema(gvk).map(|schema| pilothouse_schema::prune(schema, &mut value));
    kinds::read(gvk, &mut value)?;
    let validation = options.field_validation;
    let complaints = incoming.spelling.told(unknown.unwrap_or_default(), true, validation);
    intake::complain(context, gvk, complaints, validation)?;
    Ok(value)
}

fn success(code: i64) -> Document {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}).into()
}

/// Assigns a pod to a node.
pub(crate) async fn bind(
    context: &Context,
    target: &Target,
    binding: &Value,
    options: &WriteOptions,
) -> Result<Document, Status> {
    let node = binding.str_at(&["target", "name"]).unwrap_or_default().to_owned();
    let own = object::name(binding);
    if own != target.name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let errors = builtin::validate_binding(binding);
    if !errors.is_empty() {
        // Upstream does not make a Status of these.
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let text = if let [one] = texts.as_slice() { one.clone() } else { format!("[{}]", texts.join(", ")) };
        return Err(Status::new(500, "", text));
    }
    if own.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let now = context.state.now();
    let conflict = |why: &str| Status::conflict("", "pods/binding", &target.name, why);
    // The binding changes the spec, which the pod's own rules keep everyone else from.
    let pod = Target { subresource: Some("binding".into()), ..target.clone() };
    update::change(context, &pod, options, "", Tracking::Done, |current| {
        target.require_uid(object::uid(binding), current, options.dry_run)?;
        if object::deletion_timestamp(current).is_some() {
            return Err(target
                .conflict(&format!("pod {} is being deleted, cannot be assigned to a host", target.name)));
        }
        let present = current.str_at(&["spec", "nodeName"]).unwrap_or_default();
        if !present.is_empty() {
            return Err(conflict(&format!(
                "pod {} is already assigned to node {}",
                target.name,
                pilothouse_value::field::quote(present)
            )));
        }
        if !current.items_at(&["spec", "schedulingGates"]).is_empty() {
            return Err(conflict(&format!("pod {} has non-empty .spec.schedulingGates", target.name)));
        }
        let mut pod = current.clone();
        pod.set(&["spec", "nodeName"], node.as_str());
        pod.take(&["status", "nominatedNodeName"]);
        for part in ["annotations", "labels"] {
            let given = binding.at(&["metadata", part]).and_then(Value::as_object);
            for (key, value) in given.into_iter().flat_map(|given| given.iter()) {
                pod.set(&["metadata", part, key], value.clone());
            }
        }
        let scheduled = json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now.as_str(),
        });
        crate::crd::names::set_condition(&mut pod, scheduled);
        Ok(pod)
    })
    .await?;
    Ok(success(201))
}
