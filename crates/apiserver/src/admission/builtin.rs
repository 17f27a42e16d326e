//! The admission plugins that are built in: what the cluster adds to an object, and what it does not let in.
//!
//! Order and texts are those of the plugins of the same names upstream: NamespaceLifecycle, ServiceAccount, Priority,
//! DefaultTolerationSeconds, StorageObjectInUseProtection.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pilothouse_value::{Status, Value, json, object};

use super::{Attributes, Operation, Plugin};
use crate::resource;
use crate::state::{State, Target};

/// Where a container finds its service account.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How long a pod waits for the default account of its namespace.
const ACCOUNT_PATIENCE: Duration = Duration::from_secs(1);
/// Seconds that a mounted token is asked for; the odd seven tell it from others in audit logs.
const TOKEN_SECONDS: i64 = 3607;

/// NamespaceLifecycle: objects are made only in namespaces that are there and not on their way out, and some namespaces
/// are for ever.
pub(super) struct NamespaceLifecycle;

impl Plugin for NamespaceLifecycle {
    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let resource = attributes.resource();
        if resource.is("", "namespaces") {
            let immortal = matches!(attributes.name.as_str(), "default" | "kube-system" | "kube-public");
            if attributes.operation == Operation::Delete && immortal {
                return Err(attributes.target.forbidden("this namespace may not be deleted"));
            }
            return Ok(());
        }
        let name = attributes.namespace();
        // What the namespace is like is nobody's business who only asks what they may do.
        let review = resource.is("authorization.k8s.io", "localsubjectaccessreviews");
        if name.is_empty() || attributes.operation == Operation::Delete || review {
            return Ok(());
        }
        let namespaces = resource::key("", "namespaces");
        let Some(namespace) = attributes.state().store.get(&namespaces, "", name) else {
            return Err(Status::not_found("", "namespaces", name));
        };
        if attributes.operation != Operation::Create
            || object::deletion_timestamp(namespace.value()).is_none()
        {
            return Ok(());
        }
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        Err(attributes.forbidden(&why).with_cause(
            "NamespaceTerminating",
            format!("namespace {name} is being terminated"),
            "metadata.namespace",
        ))
    }
}

/// ServiceAccount: a namespace's first pod may come before its default account; this waits a little for it, as upstream
/// does. Called before a pod is made.
pub(crate) async fn await_account(state: &State, target: &Target) {
    if !target.resource.is("", "pods") || !state.service_accounts.load(Ordering::Relaxed) {
        return;
    }
    let accounts = resource::key("", "serviceaccounts");
    let there = || state.store.get(&accounts, &target.namespace, "default").is_some();
    let namespaces = resource::key("", "namespaces");
    if there() || state.store.get(&namespaces, "", &target.namespace).is_none() {
        return;
    }
    let Ok(mut watcher) = state.store.watch(&accounts, state.store.revision()) else { return };
    let wait = async { while !there() && watcher.next().await.is_ok() {} };
    // Whether it came or not is found out when the pod is made.
    let _late = tokio::time::timeout(ACCOUNT_PATIENCE, wait).await;
}

/// StorageObjectInUseProtection: what is in use stays until it no longer is.
pub(super) struct StorageObjectInUseProtection;

impl Plugin for StorageObjectInUseProtection {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let own = if attributes.is("", "persistentvolumeclaims") {
            "kubernetes.io/pvc-protection"
        } else if attributes.is("", "persistentvolumes") {
            "kubernetes.io/pv-protection"
        } else {
            return Ok(());
        };
        if let Some(object) = &mut attributes.object {
            finalizer(object, own);
        }
        Ok(())
    }
}

fn finalizer(value: &mut Value, finalizer: &str) {
    if object::has_finalizer(value, finalizer) {
        return;
    }
    let mut finalizers: Vec<String> = object::finalizers(value).map(str::to_owned).collect();
    finalizers.push(finalizer.to_owned());
    value.set(&["metadata", "finalizers"], finalizers);
}

/// ServiceAccount: every pod has an account, and its containers find the account's token.
pub(super) struct ServiceAccount;

impl Plugin for ServiceAccount {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") {
            return Ok(());
        }
        let mut pod = attributes.take_object();
        let outcome = service_account(attributes, &mut pod);
        attributes.object = Some(pod);
        outcome
    }
}

fn service_account(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    let (state, target) = (attributes.state(), attributes.target);
    // A mirror pod stands for something that runs already.
    if object::annotation(pod, "kubernetes.io/config.mirror").is_some() {
        return Ok(());
    }
    let named = pod.str_at(&["spec", "serviceAccountName"]).unwrap_or_default();
    let name = if named.is_empty() { "default".to_owned() } else { named.to_owned() };
    let account = state.store.get(&resource::key("", "serviceaccounts"), &target.namespace, &name);
    let Some(account) = account else {
        if !state.service_accounts.load(Ordering::Relaxed) {
            return Ok(());
        }
        return Err(attributes.forbidden(&format!(
            "error looking up service account {}/{name}: serviceaccount {} not found",
            target.namespace,
            pilothouse_value::field::quote(&name)
        )));
    };
    pod.set(&["spec", "serviceAccountName"], name.as_str());
    pod.set(&["spec", "serviceAccount"], name);
    let account = account.value();
    let says = |value: &Value, path: &[&str]| value.at(path).and_then(Value::as_bool);
    let mount = says(pod, &["spec", "automountServiceAccountToken"])
        .or_else(|| says(account, &["automountServiceAccountToken"]))
        .unwrap_or(true);
    if pod.items_at(&["spec", "imagePullSecrets"]).is_empty()
        && let Some(secrets) = account.get("imagePullSecrets")
    {
        pod.set(&["spec", "imagePullSecrets"], secrets.clone());
    }
    if mount {
        mount_token(pod);
    }
    Ok(())
}

fn mount_token(pod: &mut Value) {
    let existing = pod.items_at(&["spec", "volumes"]).iter().find_map(|volume| {
        volume.str_at(&["name"]).filter(|name| name.starts_with("kube-api-access-")).map(str::to_owned)
    });
    let volume = existing.clone().unwrap_or_else(|| format!("kube-api-access-{}", crate::names::suffix()));
    let mut used = false;
    for list in ["containers", "initContainers"] {
        let Some(containers) = pod.at_mut(&["spec", list]).and_then(Value::as_array_mut) else { continue };
        for container in containers {
            let taken = container
                .items_at(&["volumeMounts"])
                .iter()
                .any(|mount| mount.str_at(&["mountPath"]) == Some(TOKEN_PATH));
            if taken {
                continue;
            }
            used = true;
            push(
                container,
                "volumeMounts",
                json!({"name": volume.as_str(), "mountPath": TOKEN_PATH, "readOnly": true}),
            );
        }
    }
    if !used || existing.is_some() {
        return;
    }
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]);
    let projected = json!({"name": volume, "projected": {"defaultMode": 420, "sources": sources}});
    let spec = pod.entry(&["spec"]);
    push(spec, "volumes", projected);
}

fn push(value: &mut Value, key: &str, item: Value) {
    let list = value.entry(&[key]);
    if list.as_array().is_none() {
        *list = Value::Array(Vec::new());
    }
    if let Some(list) = list.as_array_mut() {
        list.push(item);
    }
}

/// Priority: a pod's class becomes a number.
pub(super) struct Priority;

impl Plugin for Priority {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") {
            return Ok(());
        }
        let mut pod = attributes.take_object();
        let outcome = priority(attributes, &mut pod);
        attributes.object = Some(pod);
        outcome
    }
}

fn priority(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    let state = attributes.state();
    let class = pod.str_at(&["spec", "priorityClassName"]).unwrap_or_default().to_owned();
    let (value, policy) = match class.as_str() {
        "" => (0, None),
        "system-cluster-critical" => (2_000_000_000, None),
        "system-node-critical" => (2_000_001_000, None),
        name => {
            let key = resource::key("scheduling.k8s.io", "priorityclasses");
            let Some(class) = state.store.get(&key, "", name) else {
                return Err(attributes.forbidden(&format!("no PriorityClass with name {name} was found")));
            };
            let class = class.value();
            (
                class.i64_at(&["value"]).unwrap_or_default(),
                class.str_at(&["preemptionPolicy"]).map(str::to_owned),
            )
        }
    };
    pod.set(&["spec", "priority"], value);
    if pod.at(&["spec", "preemptionPolicy"]).is_none() {
        pod.set(&["spec", "preemptionPolicy"], policy.unwrap_or_else(|| "PreemptLowerPriority".into()));
    }
    Ok(())
}

/// DefaultTolerationSeconds: a pod stays five minutes on a node that is in trouble.
pub(super) struct DefaultTolerationSeconds;

impl Plugin for DefaultTolerationSeconds {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if attributes.is("", "pods")
            && let Some(pod) = &mut attributes.object
        {
            tolerations(pod);
        }
        Ok(())
    }
}

fn tolerations(pod: &mut Value) {
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = pod.items_at(&["spec", "tolerations"]).iter().any(|toleration| {
            let own = toleration.str_at(&["key"]).unwrap_or_default();
            let effect = toleration.str_at(&["effect"]).unwrap_or_default();
            (own == key || own.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        });
        if !tolerated {
            let toleration =
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
            push(pod.entry(&["spec"]), "tolerations", toleration);
        }
    }
}
