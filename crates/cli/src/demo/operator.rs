//! Installing and starting the protection operator as any operator would be: CRDs, a service account of its own with
//! the permissions that it declares and no more, a token, and a client that has nothing else.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use pilothouse_protection::Options;
use pilothouse_runtime::connect;
use serde_json::{Value, json};

use super::actions::OPERATOR_NAMESPACE;
use super::kubernetes::{Wait, api_for, apply, delete, until};
use crate::error::{Doing, Error, Result};

const NAME: &str = "pilothouse-protection";
/// The operator's token outlives the demo, not by much; it is bound to the service account.
const TOKEN_SECONDS: i64 = 3600 * 12;

/// The operator, running in this process.
pub(crate) struct Operator {
    /// The user it is to the cluster.
    pub(crate) user: String,
    running: pilothouse_runtime::Running,
}

/// Installs and starts it; `admin` has the right to, `config` says where the cluster is.
pub(crate) async fn start(admin: &Client, config: Config) -> Result<Operator> {
    install_crds(admin).await?;
    for document in rbac(admin)? {
        apply(admin, &document).await?;
    }
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), OPERATOR_NAMESPACE);
    let request: TokenRequest =
        serde_json::from_value(json!({"spec": {"audiences": [], "expirationSeconds": TOKEN_SECONDS}}))
            .map_err(|e| Error::wrong("building the token request", e, "please report it"))?;
    let answer = accounts
        .create_token_request(NAME, &PostParams::default(), &request)
        .await
        .doing("asking for a token of the service account")?;
    let token = answer.status.map(|status| status.token).unwrap_or_default();
    let mut own = config;
    own.auth_info = serde_json::from_value(json!({"token": token}))
        .map_err(|e| Error::wrong("using the token", e, "please report it"))?;
    let client = connect(own).doing("connecting as the operator")?;
    let running = pilothouse_protection::start(client, Options::default()).await.map_err(|e| {
        Error::machine("starting the protection operator", e, "has it all the permissions that it declares?")
    })?;
    Ok(Operator { user: format!("system:serviceaccount:{OPERATOR_NAMESPACE}:{NAME}"), running })
}

/// Creates or updates the CRDs, and waits until they are served.
pub(crate) async fn install_crds(admin: &Client) -> Result {
    let crds = pilothouse_protection::api::crds()
        .map_err(|e| Error::wrong("building the CRDs", e, "please report it"))?;
    for crd in crds {
        let document = serde_json::to_value(crd)
            .map_err(|e| Error::wrong("building the CRDs", e, "please report it"))?;
        apply(admin, &document).await?;
        established(admin, &document).await?;
    }
    Ok(())
}

/// The namespace, the account, and the permissions that the operator declares.
fn rbac(client: &Client) -> Result<Vec<Value>> {
    let rules = pilothouse_protection::manager(client.clone()).rules();
    let rules = serde_json::to_value(rules)
        .map_err(|e| Error::wrong("building the RBAC rules", e, "please report it"))?;
    Ok(vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OPERATOR_NAMESPACE}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": OPERATOR_NAMESPACE}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": NAME}, "rules": rules}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": NAME},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": OPERATOR_NAMESPACE}],
        }),
    ])
}

async fn established(client: &Client, crd: &Value) -> Result {
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let doing = format!("waiting for the CRD {name} to be served");
    let hint = format!("kubectl describe crd {name}");
    let wait = Wait { doing: &doing, bound: Duration::from_secs(30), hint: &hint };
    until(&api_for(client, crd).await?, name, wait, |state| {
        let conditions =
            state.and_then(|s| s.data["status"]["conditions"].as_array().cloned()).unwrap_or_default();
        let established = conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True");
        Ok(if established { Ok(()) } else { Err(format!("conditions {}", Value::from(conditions))) })
    })
    .await
}

/// Removes from an existing cluster what the demo has put there, but for the CRDs, and waits until it is gone.
pub(crate) async fn remove(client: &Client) -> Result {
    let namespaces = [OPERATOR_NAMESPACE, "demo"];
    // The operator's objects go first: it is still there to clean up after them.
    for namespace in namespaces.iter().rev() {
        delete(client, &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .await?;
    }
    for kind in ["ClusterRoleBinding", "ClusterRole"] {
        delete(
            client,
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": NAME}}),
        )
        .await?;
    }
    for name in namespaces {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let hint = format!("kubectl get ns {name} -o yaml says what holds it");
        let wait = Wait {
            doing: "removing what the demo has put there",
            bound: Duration::from_secs(90),
            hint: &hint,
        };
        until(&api_for(client, &namespace).await?, name, wait, |state| {
            Ok(if state.is_none() { Ok(()) } else { Err(format!("the namespace {name} is still there")) })
        })
        .await?;
    }
    Ok(())
}

impl Operator {
    /// Ends it in good order, within the runtime's own bound.
    pub(crate) async fn stop(self) {
        self.running.shutdown().await;
    }
}
