//! What the schema of a resource says of a document, whether the resource is built in or defined.

use std::sync::Arc;

use pilothouse_schema::builtin::Empties;
use pilothouse_schema::cel::{self, Findings};
use pilothouse_schema::{self as schema, builtin, crd as definition};
use pilothouse_value::field::{self, Path};
use pilothouse_value::{Gvk, Map, Status, Value, object};

use crate::admission;
use crate::crd;
use crate::heavy;
use crate::objects::metadata;
use crate::registry::resource::Resource;
use crate::state::{Context, Target};

/// Removes what the schema does not know. Returns the paths of what was removed.
pub(crate) fn prune(resource: &Resource, value: &mut Value) -> Vec<String> {
    schema::prune(resource.schema(), value)
}

/// As [`prune`], for a custom resource that may say that it is of another version, of which nothing is known unless it is
/// defined.
pub(crate) fn prune_as_it_says(resource: &Resource, value: &mut Value) -> Vec<String> {
    let Some(custom) = &resource.custom else { return prune(resource, value) };
    let api_version = object::api_version(value);
    if let Some(version) = custom.definition.version_of(api_version) {
        return schema::prune(custom.definition.schema(version), value);
    }
    let mut unknown = Vec::new();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|key, _| {
            let known = matches!(key, "apiVersion" | "kind" | "metadata");
            if !known {
                unknown.push(key.to_owned());
            }
            known
        });
    }
    unknown
}

/// Reads a document as the kind's own reader does: types are checked and nulls dropped.
///
/// # Errors
/// 400 with the place of the first value of a wrong type.
pub(crate) fn read(gvk: &Gvk, value: &mut Value) -> Result<(), Status> {
    builtin::decode(gvk, value).map_err(|error| Status::bad_request(error.to_string()))
}

/// Fills in defaults.
pub(crate) fn default(resource: &Resource, value: &mut Value) {
    if !resource.is_built_in() {
        schema::default(resource.schema(), value);
        return;
    }
    builtin::default(&resource.gvk(), value);
    label_namespace(resource, value);
    if resource.is(crd::GROUP, crd::PLURAL) {
        definition::default(value);
    }
}

/// Warns of what the status of an object of a built-in kind should say in other words.
pub(crate) fn warn_of_status(context: &Context, resource: &Resource, new: &Value) {
    if resource.is_built_in() {
        builtin::status_warnings(&resource.gvk(), new).iter().for_each(|warning| context.warn(warning));
    }
}

/// Warns of what an object of a built-in kind says in vain.
pub(crate) fn warn(context: &Context, resource: &Resource, new: &Value, old: Option<&Value>) {
    if resource.is_built_in() {
        let amounts = context.amounts();
        if !amounts.is_empty() {
            let (new, old) = (amounts.respell(new), old.map(|old| amounts.respell(old)));
            let warnings = builtin::warnings(&resource.gvk(), &new, old.as_ref());
            warnings.iter().for_each(|warning| context.warn(warning));
            return;
        }
        builtin::warnings(&resource.gvk(), new, old).iter().for_each(|warning| context.warn(warning));
        return;
    }
    // A finalizer that says nothing of whose it is may be another's too.
    let known = |finalizer: &str| old.is_some_and(|old| object::has_finalizer(old, finalizer));
    let mut added: Vec<&str> =
        object::finalizers(new).filter(|name| !name.contains('/') && !known(name)).collect();
    added.sort_unstable();
    for finalizer in added.into_iter().filter(|name| !STANDARD_FINALIZERS.contains(name)) {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        context.warn(format!(
            "metadata.finalizers: {}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with \
             other finalizer writers",
            field::quote(finalizer)
        ));
    }
}

/// Checks what a status or an action changes. Of built-in kinds each has rules of its own: a binding places a pod, whose
/// spec may not change otherwise.
pub(crate) fn validate_subresource(
    context: &Context,
    resource: &Resource,
    subresource: &str,
    new: &Value,
    old: &Value,
) -> Vec<field::Error> {
    if resource.is(crd::GROUP, crd::PLURAL) {
        return definition::validate_status(new);
    }
    let Some(custom) = &resource.custom else {
        let mut errors = metadata::validate_finalizers(resource, Some(subresource), new);
        errors.extend(builtin::validate_subresource(
            &resource.gvk(),
            subresource,
            new,
            old,
            context.state.tuning.pods,
        ));
        return errors;
    };
    let mut errors = schema::validate_status(resource.schema(), new, old);
    if let Some(scale) = &custom.scale {
        errors.extend(definition::validate_scale(&scale.declared, new, true));
    }
    errors
}

/// Checks that the metadata of embedded objects can be read.
///
/// # Errors
/// 400 with the place of the first that cannot.
pub(crate) fn check_embedded(resource: &Resource, value: &Value) -> Result<(), Status> {
    schema::check_embedded(resource.schema(), value).map_err(|error| {
        let (kind, version) = (&resource.kind, field::quote(&resource.version));
        Status::bad_request(format!("{kind} in version {version} cannot be handled as a {kind}: {error}"))
    })
}

/// Brings an object that was found right into its canonical form.
pub(crate) fn settle(resource: &Resource, value: &mut Value) {
    label_namespace(resource, value);
    if resource.is("autoscaling", "horizontalpodautoscalers") && resource.version == "v1" {
        // It is stored in the second version, which has defaults that the first cannot see.
        let mut second = builtin::convert_autoscaler(value, "autoscaling/v2");
        builtin::default(&Gvk::new("autoscaling", "v2", resource.kind.as_str()), &mut second);
        *value = builtin::convert_autoscaler(&second, "autoscaling/v1");
    }
    if resource.is("", "services") && value.str_at(&["spec", "type"]) == Some("ExternalName") {
        // Upstream leaves it out of what it shows.
        value.take(&["spec", "internalTrafficPolicy"]);
    }
    if resource.is("batch", "jobs")
        && object::labels(value).is_none_or(Map::is_empty)
        && let Some(labels) = value.at(&["spec", "template", "metadata", "labels"]).cloned()
    {
        // A job without labels has those of its pods, once it is read from where it is stored.
        value.set(&["metadata", "labels"], labels);
    }
}

/// Takes empty lists for none, as all do that come after the owners of fields are known: what reads an object from the
/// storage, and what compares it with another.
pub(crate) fn forget_empty_lists(resource: &Resource, value: &mut Value) {
    if resource.is_built_in() {
        builtin::forget_empty_lists(&resource.gvk(), value);
    }
}

/// Takes what is empty out of an object that was sent, of the kinds that tell it from what is not there; nothing of others.
pub(crate) fn take_empties(resource: &Resource, value: &mut Value) -> Empties {
    if !resource.is_built_in() {
        return Empties::default();
    }
    let gvk = resource.gvk();
    if builtin::tells_empty(&gvk) { builtin::take_empties(&gvk, value) } else { Empties::default() }
}

/// A namespace can be selected by a label that says its name.
fn label_namespace(resource: &Resource, value: &mut Value) {
    if !resource.is("", "namespaces") {
        return;
    }
    let name = object::name(value).to_owned();
    if !name.is_empty() {
        value.set(&["metadata", "labels", "kubernetes.io/metadata.name"], name);
    }
}

/// Checks the rules of the kind. `old` is the object before an update. A large definition or policy is checked where it holds up
/// nobody.
pub(crate) async fn validate(
    context: &Context,
    resource: &Arc<Resource>,
    new: &Value,
    old: Option<&Arc<Value>>,
) -> Vec<field::Error> {
    let mut errors = if resource.is(crd::GROUP, crd::PLURAL) && heavy::is_large(new) {
        let (new, old) = (new.clone(), old.cloned());
        heavy::run(move || definition::validate(&new, old.as_deref())).await
    } else if admission::is_policy(resource) {
        policy_rules(resource, new, old, None).await
    } else {
        rules(context, resource, new, old.map(Arc::as_ref))
    };
    // Of these an empty list or map is wrong where none is not.
    let kinds = [("", "configmaps"), ("", "secrets"), ("resource.k8s.io", "resourceslices")];
    let tells_empty = kinds.iter().any(|(group, plural)| resource.is(group, plural));
    let shows_given = resource.is_built_in()
        && (tells_empty || !errors.is_empty())
        && !resource.is(crd::GROUP, crd::PLURAL)
        && !admission::webhook::configures_webhooks(resource);
    if let Some(given) = context.given().filter(|_| shows_given) {
        errors = if admission::is_policy(resource) {
            policy_rules(resource, new, old, Some(&given)).await
        } else {
            let mut errors = metadata::validate_finalizers(resource, None, new);
            let (gvk, old, pods) = (resource.gvk(), old.map(Arc::as_ref), context.state.tuning.pods);
            errors.extend(builtin::validate_as_given(&gvk, new, old, pods, &given));
            errors
        };
    }
    // The pods of a node in this process have addresses of the loopback network, and there Services lead.
    let leads_to_pods = resource.is("", "endpoints") || resource.is("discovery.k8s.io", "endpointslices");
    if leads_to_pods && !errors.is_empty() && context.state.kubelet.read().is_some() {
        errors.retain(|error| !error.body().contains("may not be in the loopback range"));
    }
    errors
}

/// What is wrong with an admission policy. The many expressions of a large one are compiled where that holds up nobody.
async fn policy_rules(
    resource: &Arc<Resource>,
    new: &Value,
    old: Option<&Arc<Value>>,
    given: Option<&Value>,
) -> Vec<field::Error> {
    let mut errors = metadata::validate_finalizers(resource, None, new);
    errors.extend(if heavy::is_large(new) {
        let (resource, new) = (Arc::clone(resource), new.clone());
        let (old, given) = (old.cloned(), given.cloned());
        heavy::run(move || admission::check_policy(&resource, &new, old.as_deref(), given.as_ref())).await
    } else {
        admission::check_policy(resource, new, old.map(Arc::as_ref), given)
    });
    errors
}

fn rules(context: &Context, resource: &Resource, new: &Value, old: Option<&Value>) -> Vec<field::Error> {
    if resource.is(crd::GROUP, crd::PLURAL) {
        return definition::validate(new, old);
    }
    if resource.is_built_in() {
        let mut errors = metadata::validate_finalizers(resource, None, new);
        if admission::webhook::configures_webhooks(resource) {
            errors.extend(builtin::validate_webhooks(new, old, &admission::check_condition));
        } else {
            errors.extend(builtin::validate(&resource.gvk(), new, old, context.state.tuning.pods));
        }
        return errors;
    }
    let mut errors = type_meta(resource, new);
    if !errors.is_empty() {
        return errors;
    }
    errors = schema::validate(resource.schema(), new, old, &Path::root());
    if let Some(scale) = resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
        errors.extend(definition::validate_scale(&scale.declared, new, false));
    }
    errors
}

/// What is wrong with the kind and the version that a custom resource says it is of.
fn type_meta(resource: &Resource, value: &Value) -> Vec<field::Error> {
    let expected = [("kind", resource.kind.clone()), ("apiVersion", resource.api_version())];
    let wrong = |(key, expected): (&str, String)| {
        let given = value.str_at(&[key]).unwrap_or_default();
        let error = || field::Error::invalid(&Path::new(key), given, format!("must be {expected}"));
        (given != expected).then(error)
    };
    expected.into_iter().filter_map(wrong).collect()
}

/// 422 for an object that breaks rules. A custom resource is named by the kind that it says it is of, and what several have
/// found is told several times.
pub(crate) fn invalid(target: &Target, value: &Value, errors: &[field::Error]) -> Status {
    let given = Gvk::of(value).unwrap_or_default();
    if target.resource.is_built_in() {
        return target.invalid(errors);
    }
    // A webhook may have named it otherwise.
    let name = Some(object::name(value)).filter(|name| !name.is_empty()).unwrap_or(&target.name);
    Status::invalid(&given.group, &given.kind, name, errors)
}

/// The finalizers that the cluster itself knows.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Adds what the validation rules of a custom resource say to what was found in the object before. What need not be mended
/// now is told as a warning. Rules that take long go on where they hold up nobody.
pub(crate) async fn check_rules(
    context: &Context,
    resource: &Arc<Resource>,
    new: &Value,
    old: Option<&Arc<Value>>,
    errors: Vec<field::Error>,
) -> Vec<field::Error> {
    let Some(rules) = resource.custom.as_ref().and_then(|custom| custom.rules()) else { return errors };
    let mut findings = Findings { errors, ..Findings::default() };
    let (schema, before) = (resource.schema(), old.map(Arc::as_ref));
    if !cel::evaluate_briefly(heavy::BRIEF, schema, rules, new, before, &mut findings) {
        let (resource, new, old) = (resource.clone(), new.clone(), old.cloned());
        findings = heavy::run(move || {
            if let Some(rules) = resource.custom.as_ref().and_then(|custom| custom.rules()) {
                cel::evaluate(resource.schema(), rules, &new, old.as_deref(), &mut findings);
            }
            findings
        })
        .await;
    }
    findings.warnings.into_iter().for_each(|warning| context.warn(warning));
    findings.errors
}
