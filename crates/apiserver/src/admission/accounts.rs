//! ServiceAccount: every pod has an account, and its containers find the account's token.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pilothouse_value::{Status, Value, field, json, object};

use super::{Attributes, Operation, Plugin, push};
use crate::authentication::tokens::INJECTED_SECONDS;
use crate::registry::resource;
use crate::state::{State, Target};

/// Where a container finds its service account.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// How long a pod waits for the default account of its namespace.
const ACCOUNT_PATIENCE: Duration = Duration::from_secs(1);

/// A namespace's first pod may come before its default account; this waits a little for it, as upstream
/// does. Called before a pod is made.
pub(crate) async fn await_account(state: &State, target: &Target) {
    let waits = state.plugins.service_accounts && state.service_accounts.load(Ordering::Relaxed);
    if !target.resource.is("", "pods") || target.subresource.is_some() || !waits {
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

/// See the module.
pub(super) struct ServiceAccount;

impl Plugin for ServiceAccount {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") || attributes.operation != Operation::Create {
            return Ok(());
        }
        let mut pod = attributes.take_object();
        // A mirror pod stands for something that runs already.
        let outcome = if is_mirror(&pod) { Ok(()) } else { equip(attributes, &mut pod) };
        attributes.object = Some(pod);
        outcome?;
        self.validate(attributes)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let created = attributes.operation == Operation::Create;
        let looked_at = match attributes.subresource() {
            "" => created,
            "ephemeralcontainers" => !created,
            _ => false,
        };
        let Some(pod) = &attributes.object else { return Ok(()) };
        if !looked_at || !attributes.resource().is("", "pods") {
            return Ok(());
        }
        if created && is_mirror(pod) {
            return check_mirror(attributes, pod);
        }
        let name = pod.str_at(&["spec", "serviceAccountName"]).unwrap_or_default();
        let Some(account) = find(attributes, name)? else { return Ok(()) };
        let enforced = object::annotation(&account, "kubernetes.io/enforce-mountable-secrets");
        if !matches!(enforced, Some("1" | "t" | "T" | "true" | "TRUE" | "True")) {
            return Ok(());
        }
        check_secrets(&account, pod, created).map_err(|why| attributes.forbidden(&why))
    }
}

fn is_mirror(pod: &Value) -> bool {
    object::annotation(pod, "kubernetes.io/config.mirror").is_some()
}

/// An account of the namespace. `None` if it is not there, and nobody is making accounts.
fn find(attributes: &Attributes<'_>, name: &str) -> Result<Option<Arc<Value>>, Status> {
    let (state, namespace) = (attributes.state(), &attributes.target.namespace);
    if let Some(account) = state.store.get(&resource::key("", "serviceaccounts"), namespace, name) {
        return Ok(Some(account.value().clone()));
    }
    if !state.service_accounts.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Err(attributes.forbidden(&format!(
        "error looking up service account {namespace}/{name}: serviceaccount {} not found",
        field::quote(name)
    )))
}

fn equip(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    let named = pod.str_at(&["spec", "serviceAccountName"]).unwrap_or_default();
    let name = if named.is_empty() { "default".to_owned() } else { named.to_owned() };
    let Some(account) = find(attributes, &name)? else { return Ok(()) };
    pod.set(&["spec", "serviceAccountName"], name.as_str());
    pod.set(&["spec", "serviceAccount"], name);
    let says = |value: &Value, path: &[&str]| value.at(path).and_then(Value::as_bool);
    let mount = says(pod, &["spec", "automountServiceAccountToken"])
        .or_else(|| says(&account, &["automountServiceAccountToken"]))
        .unwrap_or(true);
    if mount {
        mount_token(pod);
    }
    if pod.items_at(&["spec", "imagePullSecrets"]).is_empty()
        && let Some(secrets) = account.get("imagePullSecrets")
    {
        pod.set(&["spec", "imagePullSecrets"], secrets.clone());
    }
    Ok(())
}

fn mount_token(pod: &mut Value) {
    let existing = pod.items_at(&["spec", "volumes"]).iter().find_map(|volume| {
        volume.str_at(&["name"]).filter(|name| name.starts_with("kube-api-access-")).map(str::to_owned)
    });
    let volume =
        existing.clone().unwrap_or_else(|| format!("kube-api-access-{}", crate::objects::names::suffix()));
    let mut used = false;
    for list in ["initContainers", "containers"] {
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
        {"serviceAccountToken": {"expirationSeconds": INJECTED_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]);
    let projected = json!({"name": volume, "projected": {"defaultMode": 420, "sources": sources}});
    let spec = pod.entry(&["spec"]);
    push(spec, "volumes", projected);
}

/// What a mirror pod may not have: it does not get anything from the API.
fn check_mirror(attributes: &Attributes<'_>, pod: &Value) -> Result<(), Status> {
    if pod.str_at(&["spec", "serviceAccountName"]).is_some_and(|name| !name.is_empty()) {
        return Err(attributes.forbidden("a mirror pod may not reference service accounts"));
    }
    let volumes = pod.items_at(&["spec", "volumes"]);
    let of_container = CONTAINERS.iter().any(|(list, _)| {
        pod.items_at(&["spec", list]).iter().any(|container| secrets_of(container).next().is_some())
    });
    let of_volume = volumes.iter().any(|volume| volume.get("secret").is_some());
    let pulled = !pod.items_at(&["spec", "imagePullSecrets"]).is_empty();
    if of_container || of_volume || pulled {
        return Err(attributes.forbidden("a mirror pod may not reference secrets"));
    }
    let mut sources = volumes.iter().flat_map(|volume| volume.items_at(&["projected", "sources"]));
    if sources.any(|source| source.get("serviceAccountToken").is_some()) {
        return Err(attributes.forbidden("a mirror pod may not use ServiceAccountToken volume projections"));
    }
    Ok(())
}

/// The lists of containers, and what messages call their members.
const CONTAINERS: [(&str, &str); 3] = [
    ("initContainers", "init container"),
    ("containers", "container"),
    ("ephemeralContainers", "ephemeral container"),
];

/// The secrets that a container's environment is from, each with how messages say so.
fn secrets_of(container: &Value) -> impl Iterator<Item = (&str, String)> {
    let one = container.items_at(&["env"]).iter().filter_map(|variable| {
        let secret = variable.str_at(&["valueFrom", "secretKeyRef", "name"])?;
        let name = variable.str_at(&["name"]).unwrap_or_default();
        Some((secret, format!("with envVar {name} referencing")))
    });
    let all = container.items_at(&["envFrom"]).iter().filter_map(|source| {
        Some((source.str_at(&["secretRef", "name"])?, "with envFrom referencing".to_owned()))
    });
    one.chain(all)
}

/// Whether a pod uses only the secrets that its account lists. `whole` is false if only its latest containers are new.
fn check_secrets(account: &Value, pod: &Value, whole: bool) -> Result<(), String> {
    let has = |list: &str, secret: &str| {
        account.items_at(&[list]).iter().any(|own| own.str_at(&["name"]) == Some(secret))
    };
    let owner = object::name(account);
    let volumes = pod.items_at(&["spec", "volumes"]).iter().filter(|_| whole);
    for secret in volumes.filter_map(|volume| volume.str_at(&["secret", "secretName"])) {
        if !has("secrets", secret) {
            return Err(format!(
                "volume with secret.secretName=\"{secret}\" is not allowed because service account {owner} does not \
                 reference that secret"
            ));
        }
    }
    for (list, word) in CONTAINERS.into_iter().filter(|(list, _)| whole != (*list == "ephemeralContainers")) {
        for container in pod.items_at(&["spec", list]) {
            for (secret, how) in secrets_of(container) {
                if !has("secrets", secret) {
                    let name = container.str_at(&["name"]).unwrap_or_default();
                    return Err(format!(
                        "{word} {name} {how} secret.secretName=\"{secret}\" is not allowed because service account \
                         {owner} does not reference that secret"
                    ));
                }
            }
        }
    }
    for (index, secret) in pod.items_at(&["spec", "imagePullSecrets"]).iter().filter(|_| whole).enumerate() {
        let secret = secret.str_at(&["name"]).unwrap_or_default();
        if !has("imagePullSecrets", secret) {
            return Err(format!(
                "imagePullSecrets[{index}].name=\"{secret}\" is not allowed because service account {owner} does not \
                 reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}
