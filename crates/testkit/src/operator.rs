//! An operator under test: runs as its own service account, is asked whether it rests and whether it is quiet.

use std::ops::Deref;
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pilothouse_runtime::{Manager, Running};

use crate::cluster::Cluster;
use crate::environment::Identity;
use crate::error::{Error, Result};
use crate::record::Record;

/// How long an operator may take to come to rest, on the test's clock and on the wall clock.
const LIMIT: Duration = Duration::from_secs(60);
const WALL_LIMIT: Duration = Duration::from_secs(30);
/// How often an operator may still answer a change of somebody else before it counts as never quiet.
const ROUNDS: usize = 10;

/// An operator that runs in the test's process. It stops when the test ends, or by [`Operator::stop`].
#[derive(Debug)]
pub struct Operator {
    running: Running,
    cluster: Cluster,
    record: Record,
}

impl Deref for Operator {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl Operator {
    pub(crate) async fn start(cluster: &Cluster, build: impl FnOnce(Manager) -> Manager) -> Result<Self> {
        let record = Record::default();
        // First only to learn the rules: the client of the real one has just those.
        let environment = cluster.environment();
        let identity = environment.new_identity();
        let client = record.client(environment.client_as(&identity)?);
        let mut manager = build(Manager::new(client));
        if let Some(namespace) = environment.confined() {
            manager = manager.namespace(namespace);
        }
        permit(cluster, &identity, &manager).await?;
        Ok(Self { running: manager.start().await?, cluster: cluster.clone(), record })
    }

    /// Waits until no controller works, nothing waits, and nothing is to be tried again after a failure.
    ///
    /// # Errors
    /// [`Error::NotIdle`] when that does not come.
    pub async fn rests(&self) -> Result {
        let started = std::time::Instant::now();
        let rest = async {
            loop {
                self.running.idle().await;
                let revision = self.cluster.environment().revision().await?;
                // On a paused clock this ends when nothing else can run: what the last write has caused is done.
                tokio::time::sleep(Duration::from_millis(if self.cluster.environment().is_paused() {
                    1
                } else {
                    50
                }))
                .await;
                if self.running.is_idle() && self.cluster.environment().revision().await? == revision {
                    return Ok(());
                }
                if started.elapsed() > WALL_LIMIT {
                    return Err(Error::NotIdle(format!("it still works after {} s", WALL_LIMIT.as_secs())));
                }
            }
        };
        match tokio::time::timeout(LIMIT, rest).await {
            Ok(rested) => rested,
            Err(_) => Err(Error::NotIdle(format!("it still works after {} s", LIMIT.as_secs()))),
        }
    }

    /// Proves that the operator writes nothing more: it comes to rest, looks at every object once more, and neither sends
    /// a writing request nor changes the store.
    ///
    /// # Errors
    /// [`Error::NotIdle`] when it does not rest, [`Error::NotQuiet`] with the requests that it still sends.
    pub async fn is_quiet(&self) -> Result {
        let mut writes = Vec::new();
        for _ in 0..ROUNDS {
            self.rests().await?;
            let before = (self.record.count(), self.cluster.environment().revision().await?);
            self.running.resync();
            self.rests().await?;
            if before == (self.record.count(), self.cluster.environment().revision().await?) {
                return Ok(());
            }
            writes = self.record.since(before.0);
        }
        Err(Error::NotQuiet {
            writes: writes.iter().map(|write| format!("  {write}")).collect::<Vec<_>>().join("\n"),
        })
    }

    /// How many writing requests the operator has sent.
    pub fn written(&self) -> usize {
        self.record.count()
    }

    /// Stops the operator in good order, as a SIGTERM would.
    pub async fn stop(self) {
        self.running.shutdown().await;
    }
}

/// Gives the identity what the manager's controllers declare.
async fn permit(cluster: &Cluster, identity: &Identity, manager: &Manager) -> Result {
    let name = format!("{}-{}", identity.namespace, identity.name);
    let meta = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    cluster
        .apply(ServiceAccount {
            metadata: ObjectMeta { namespace: Some(identity.namespace.clone()), ..meta(&identity.name) },
            ..ServiceAccount::default()
        })
        .await?;
    cluster
        .apply(ClusterRole { metadata: meta(&name), rules: Some(manager.rules()), ..ClusterRole::default() })
        .await?;
    let binding = ClusterRoleBinding {
        metadata: meta(&name),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: name.clone(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: identity.name.clone(),
            namespace: Some(identity.namespace.clone()),
            api_group: None,
        }]),
    };
    cluster.apply(binding).await?;
    Ok(())
}
