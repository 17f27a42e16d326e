//! The few things that the demo does to a cluster, as any user of it would: apply documents, wait for a state, run a
//! command in a pod. Nothing here knows which cluster it is.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{
    AttachParams, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, WatchEvent, WatchParams,
};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiResource, Scope, pinned_kind};
use kube::{Api, Client};
use serde_json::Value;
use tokio::io::AsyncReadExt;

use crate::error::{Doing, Error, Result};

const MANAGER: &str = "pilothouse-demo";

/// The most that the output of a command in a pod may be, in bytes.
const MAX_OUTPUT: u64 = 64 << 20;

/// The API for the kind that a document has, in the document's namespace.
pub(crate) async fn api_for(client: &Client, document: &Value) -> Result<Api<DynamicObject>> {
    let text = |path: &str| document.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("/kind"));
    let (resource, capabilities) =
        pinned_kind(client, &kind).await.doing(format!("looking up the kind {}", kind.kind))?;
    Ok(match capabilities.scope {
        Scope::Namespaced => Api::namespaced_with(client.clone(), text("/metadata/namespace"), &resource),
        Scope::Cluster => Api::all_with(client.clone(), &resource),
    })
}

/// Applies a document by server-side apply and returns what the server made of it.
pub(crate) async fn apply(client: &Client, document: &Value) -> Result<DynamicObject> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
    let api = api_for(client, document).await?;
    let params = PatchParams::apply(MANAGER).force();
    api.patch(name, &params, &Patch::Apply(document)).await.doing(format!("applying {kind} {name}"))
}

/// Applies every document of a YAML text in which `$IMAGE` stands for the demo's image.
pub(crate) async fn apply_all(client: &Client, yaml: &str, image: &str) -> Result {
    for document in documents(yaml, image)? {
        apply(client, &document).await?;
    }
    Ok(())
}

/// The documents of a YAML text of ours.
pub(crate) fn documents(yaml: &str, image: &str) -> Result<Vec<Value>> {
    let yaml = yaml.replace("$IMAGE", image);
    let parsed: std::result::Result<Vec<Value>, _> = serde_saphyr::from_multiple(&yaml);
    parsed.map_err(|error| {
        Error::wrong(
            "reading the demo's own manifests",
            error,
            "this is a defect of pilothouse: please report it",
        )
    })
}

/// Deletes what a document names and returns whether it was there.
pub(crate) async fn delete(client: &Client, document: &Value) -> Result<bool> {
    let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    match api_for(client, document).await?.delete(name, &DeleteParams::background()).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error).doing(format!("deleting {name}")),
    }
}

/// What to wait for.
pub(crate) struct Wait<'a> {
    /// A phrase such as `waiting for the pod journal-0`.
    pub(crate) doing: &'a str,
    /// The longest wait.
    pub(crate) bound: Duration,
    /// What to try when it does not come.
    pub(crate) hint: &'a str,
}

/// Waits until an object is as `look` wants it, through a watch; `look` is given each state, or `None` when the
/// object is not there, and says what it saw when it is not content.
pub(crate) async fn until<T>(
    api: &Api<DynamicObject>,
    name: &str,
    wait: Wait<'_>,
    mut look: impl FnMut(Option<&DynamicObject>) -> Result<std::result::Result<T, String>>,
) -> Result<T> {
    let mut seen = "nothing".to_owned();
    let watching = async {
        loop {
            let selector = format!("metadata.name={name}");
            let list = api.list(&ListParams::default().fields(&selector)).await.doing(wait.doing)?;
            match look(list.items.first())? {
                Ok(found) => return Ok(found),
                Err(why) => seen = why,
            }
            let version = list.metadata.resource_version.unwrap_or_default();
            let stream = api
                .watch(&WatchParams::default().fields(&selector).timeout(60), &version)
                .await
                .doing(wait.doing)?;
            let mut stream = stream.boxed();
            // A watch that ends or breaks is taken up again from a new list.
            while let Ok(Some(event)) = stream.try_next().await {
                let state = match &event {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => Some(object),
                    WatchEvent::Deleted(_) => None,
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(_) => break,
                };
                match look(state)? {
                    Ok(found) => return Ok(found),
                    Err(why) => seen = why,
                }
            }
        }
    };
    match tokio::time::timeout(wait.bound, watching).await {
        Ok(result) => result,
        Err(_elapsed) => Err(Error::TimedOut {
            doing: wait.doing.to_owned(),
            seconds: wait.bound.as_secs(),
            seen,
            hint: wait.hint.to_owned(),
        }),
    }
}

/// The resource for a built-in or custom kind whose plural is known.
pub(crate) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Waits until the one pod of a StatefulSet is ready.
pub(crate) async fn until_ready(client: &Client, namespace: &str, name: &str, bound: Duration) -> Result {
    let api = Api::namespaced_with(
        client.clone(),
        namespace,
        &resource("apps", "v1", "StatefulSet", "statefulsets"),
    );
    let doing = format!("waiting for the StatefulSet {name}");
    let hint = format!("run again with --keep, then kubectl -n {namespace} describe pod {name}-0");
    until(&api, name, Wait { doing: &doing, bound, hint: &hint }, |state| {
        let ready = state.and_then(|s| s.data["status"]["readyReplicas"].as_i64()).unwrap_or_default();
        Ok(if ready == 1 { Ok(()) } else { Err(format!("{ready} of 1 pods ready")) })
    })
    .await
}

/// Runs a command in a container and returns its standard output.
///
/// # Errors
/// When it cannot be started, ends with a code other than 0 (the error carries its standard error), or runs longer
/// than `bound`.
pub(crate) async fn exec(
    client: &Client,
    pod: (&str, &str, &str),
    script: &str,
    bound: Duration,
) -> Result<String> {
    let (namespace, pod, container) = pod;
    let doing = format!("running a command in the container {container} of the pod {pod}");
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let running = async {
        let params = AttachParams::default()
            .container(container)
            .stdin(false)
            .stdout(true)
            .stderr(true)
            .max_stdout_buf_size(1 << 20);
        let mut process = api.exec(pod, ["sh", "-ec", script], &params).await.doing(&doing)?;
        let status = process.take_status();
        let stdout = process.stdout().map(|s| s.take(MAX_OUTPUT));
        let stderr = process.stderr().map(|s| s.take(4096));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let (read_out, read_err) = tokio::join!(read_all(stdout, &mut out), read_all(stderr, &mut err));
        let status = match status {
            Some(status) => status.await,
            None => None,
        };
        let failed = status.as_ref().is_none_or(|s| s.status.as_deref() != Some("Success"));
        if failed || read_out.is_err() || read_err.is_err() {
            let why = status.and_then(|s| s.message).unwrap_or_else(|| "the connection ended early".into());
            let said = String::from_utf8_lossy(&err);
            return Err(Error::wrong(
                &doing,
                format!("{why} {}", said.trim()),
                "look into the container with kubectl exec (--keep)",
            ));
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    };
    tokio::time::timeout(bound, running).await.unwrap_or_else(|_elapsed| {
        Err(Error::TimedOut {
            doing: doing.clone(),
            seconds: bound.as_secs(),
            seen: "it still runs".into(),
            hint: "is the node overloaded?".into(),
        })
    })
}

async fn read_all(
    stream: Option<impl tokio::io::AsyncRead + Unpin>,
    into: &mut Vec<u8>,
) -> std::io::Result<()> {
    if let Some(mut stream) = stream {
        stream.read_to_end(into).await?;
    }
    Ok(())
}
