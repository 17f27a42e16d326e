//! Makes, patches and removes objects: `KubeOps`.
//!
//! What is made is marked with the step that made it, and a generated name is the same for the same step, so that a
//! restarted operator finds what it made and does not make it twice.

use std::time::Duration;

use futures::TryStreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions, WatchParams,
};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::args::KubeOps;
use super::{Step, StepError};
use crate::api::ObjectReference;
use crate::controller::journal::{is_already_exists, is_not_found, is_transient};
use crate::controller::observe::{dynamic, resource_of};

/// Marks an object with the step that made it.
const MADE_BY: &str = "protection.pilothouse.dev/made-by";
/// The field manager, which is Kanister's.
const MANAGER: &str = "kanister-create";

pub(super) async fn run(step: &Step<'_>, ops: &KubeOps) -> Result<Map<String, Value>, StepError> {
    match ops {
        KubeOps::Create { namespace, spec } => create(step, namespace, spec).await,
        KubeOps::Patch { reference, spec } => patch(step, reference, spec).await,
        KubeOps::Delete { reference } => delete(step, reference).await,
    }
}

fn output(resource: &ApiResource, namespace: &str, name: &str, kind: &str) -> Map<String, Value> {
    [
        ("apiVersion", resource.version.as_str()),
        ("group", resource.group.as_str()),
        ("resource", resource.plural.as_str()),
        ("kind", kind),
        ("name", name),
        ("namespace", namespace),
    ]
    .into_iter()
    .map(|(k, v)| (k.to_owned(), v.into()))
    .collect()
}

fn documents(text: &str) -> Result<Vec<Value>, StepError> {
    let bad = |e: serde_saphyr::Error| StepError::Failed(format!("argument spec: not YAML: {e}"));
    let all: Vec<Value> = serde_saphyr::from_multiple(text).map_err(bad)?;
    Ok(all.into_iter().filter(|d| !d.is_null()).collect())
}

async fn create(step: &Step<'_>, namespace: &str, spec: &str) -> Result<Map<String, Value>, StepError> {
    let documents = documents(spec)?;
    if documents.is_empty() {
        return Err(StepError::Failed("argument spec: there is no object in it".to_owned()));
    }
    let mut last = Map::new();
    for (index, document) in documents.into_iter().enumerate() {
        last = create_one(step, namespace, document, index).await?;
    }
    Ok(last)
}

async fn create_one(
    step: &Step<'_>,
    namespace: &str,
    document: Value,
    index: usize,
) -> Result<Map<String, Value>, StepError> {
    let mut object: DynamicObject = serde_json::from_value(document)
        .map_err(|e| StepError::Failed(format!("argument spec: document {}: no object: {e}", index + 1)))?;
    let Some(types) = object.types.clone() else {
        return Err(StepError::Failed(format!(
            "argument spec: document {}: apiVersion and kind are missing",
            index + 1
        )));
    };
    let gvk = GroupVersionKind::try_from(&types)
        .map_err(|e| StepError::Failed(format!("argument spec: apiVersion: {e}")))?;
    let (resource, capabilities) = pinned_kind(step.client, &gvk).await.map_err(|e| {
        StepError::request(&format!("find the kind {} of {}", types.kind, types.api_version), &e)
    })?;
    let place = match (&capabilities.scope, object.namespace()) {
        (Scope::Cluster, _) => String::new(),
        (Scope::Namespaced, Some(own)) if !own.is_empty() => own,
        (Scope::Namespaced, _) if namespace.is_empty() => "default".to_owned(),
        (Scope::Namespaced, _) => namespace.to_owned(),
    };
    let mark = format!("{}.{index}", step.mark());
    complete(&mut object.metadata, step, index, &mark);
    let name = object.name_any();
    if name.is_empty() {
        return Err(StepError::Failed(format!(
            "argument spec: document {}: metadata.name is missing",
            index + 1
        )));
    }
    let api = dynamic(step.client, &resource, &place);
    let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let mut pause = Duration::from_millis(100);
    loop {
        match api.create(&parameters, &object).await {
            Ok(_) => break,
            Err(error) if is_already_exists(&error) => {
                // Only what this very step has made may be there already.
                let there =
                    api.get_opt(&name).await.map_err(|e| StepError::request(&format!("read {name}"), &e))?;
                match there {
                    Some(there) if there.annotations().get(MADE_BY) == Some(&mark) => break,
                    Some(_) => {
                        return Err(StepError::request(
                            &format!("create {} {place}/{name}", resource.kind),
                            &error,
                        ));
                    }
                    None => {}
                }
            }
            Err(error) if is_transient(&error) && pause < Duration::from_secs(20) => {}
            Err(error) => {
                return Err(StepError::request(&format!("create {} {place}/{name}", resource.kind), &error));
            }
        }
        if pause > Duration::from_secs(20) {
            return Err(StepError::Failed(format!(
                "cannot create {} {place}/{name}: it comes and goes",
                resource.kind
            )));
        }
        sleep(pause).await;
        pause *= 2;
    }
    Ok(output(&resource, &place, &name, &types.kind))
}

/// Gives the object its mark, and a name where one is to be generated.
fn complete(metadata: &mut ObjectMeta, step: &Step<'_>, index: usize, mark: &str) {
    metadata.annotations.get_or_insert_default().insert(MADE_BY.to_owned(), mark.to_owned());
    if metadata.name.as_deref().unwrap_or_default().is_empty()
        && let Some(prefix) = metadata.generate_name.take().filter(|p| !p.is_empty())
    {
        let digits = step.unique("");
        let digits = digits.get(..5).unwrap_or(&digits);
        metadata.name =
            Some(if index == 0 { format!("{prefix}{digits}") } else { format!("{prefix}{digits}{index}") });
    }
}

async fn patch(
    step: &Step<'_>,
    reference: &ObjectReference,
    spec: &str,
) -> Result<Map<String, Value>, StepError> {
    let patch: Value = serde_saphyr::from_str(spec)
        .map_err(|e| StepError::Failed(format!("argument spec: not YAML: {e}")))?;
    let resource = resource_of(reference);
    let api = dynamic(step.client, &resource, &reference.namespace);
    let what = format!("patch {} {}/{}", reference.resource, reference.namespace, reference.name);
    let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patched = match api.patch(&reference.name, &parameters, &Patch::Strategic(&patch)).await {
        // Custom resources know no strategic merge.
        Err(kube::Error::Api(status)) if status.code == 415 => {
            api.patch(&reference.name, &parameters, &Patch::Merge(&patch)).await
        }
        other => other,
    }
    .map_err(|e| StepError::request(&what, &e))?;
    let kind = patched.types.map(|t| t.kind).unwrap_or_default();
    Ok(output(&resource, &reference.namespace, &reference.name, &kind))
}

async fn delete(step: &Step<'_>, reference: &ObjectReference) -> Result<Map<String, Value>, StepError> {
    let resource = resource_of(reference);
    let api = dynamic(step.client, &resource, &reference.namespace);
    let what = format!("{} {}/{}", reference.resource, reference.namespace, reference.name);
    let found =
        api.get_opt(&reference.name).await.map_err(|e| StepError::request(&format!("read {what}"), &e))?;
    let noted = step.noted("uid").await.and_then(|v| v.as_str().map(str::to_owned));
    let kind = found.as_ref().and_then(|o| o.types.clone()).map(|t| t.kind).unwrap_or_default();
    let done = Ok(output(&resource, &reference.namespace, &reference.name, &kind));
    let uid = match (noted, &found) {
        // Noted before it was deleted: what is gone, or has another uid, was deleted by this step.
        (Some(uid), Some(object)) if object.uid().as_ref() == Some(&uid) => uid,
        (Some(_), _) => return done,
        (None, Some(object)) => {
            let uid = object.uid().unwrap_or_default();
            step.note("uid", json!(uid)).await?;
            uid
        }
        (None, None) => return Err(StepError::Failed(format!("cannot delete {what}: it does not exist"))),
    };
    let only_this = Preconditions { uid: Some(uid.clone()), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(only_this), ..DeleteParams::default() };
    match api.delete(&reference.name, &parameters).await {
        Ok(_) => {}
        Err(error) if is_not_found(&error) => return done,
        Err(error) => return Err(StepError::request(&format!("delete {what}"), &error)),
    }
    wait_until_gone(step, &api, &reference.name, &uid, &what).await?;
    done
}

async fn wait_until_gone(
    step: &Step<'_>,
    api: &Api<DynamicObject>,
    name: &str,
    uid: &str,
    what: &str,
) -> Result<(), StepError> {
    loop {
        match api.get_opt(name).await {
            Ok(None) => return Ok(()),
            Ok(Some(object)) if object.uid().as_deref() != Some(uid) => return Ok(()),
            Ok(Some(object)) => {
                let finalizers = object.finalizers().join(", ");
                if !finalizers.is_empty() {
                    step.waits_for("Deleting", &format!("{what} has finalizers: {finalizers}")).await?;
                }
                let parameters = WatchParams::default().fields(&format!("metadata.name={name}")).timeout(60);
                let version = object.resource_version().unwrap_or_default();
                if let Ok(stream) = api.watch(&parameters, &version).await {
                    let mut stream = std::pin::pin!(stream);
                    let _ = timeout(Duration::from_secs(60), stream.try_next()).await;
                    continue;
                }
            }
            Err(error) if is_transient(&error) => {}
            Err(error) => return Err(StepError::request(&format!("read {what}"), &error)),
        }
        sleep(Duration::from_secs(1)).await;
    }
}
