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
use crate::wait::wall_clock;

/// How long an operator may take to come to rest, on a clock that is held and on the wall clock.
const LIMIT: Duration = Duration::from_secs(60);
const WALL_LIMIT: Duration = Duration::from_secs(120);
/// How often an operator may still answer a change of somebody else before it counts as never quiet.
const ROUNDS: usize = 10;
/// An operator that sends one request this often before it rests does not rest.
const RESTLESS: usize = 100;

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
        let environment = cluster.environment();
        let identity = environment.new_identity();
        let client = record.client(environment.client_as(&identity)?, cluster.faults());
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
        let before = self.record.count();
        let environment = self.cluster.environment();
        let rest = async {
            loop {
                self.running.idle().await;
                let revision = environment.revision().await?;
                // On a paused clock this ends when nothing else can run: what the last write has caused is done.
                let pause = if environment.is_paused() { 1 } else { 50 };
                tokio::time::sleep(Duration::from_millis(pause)).await;
                if self.running.is_idle() && environment.revision().await? == revision {
                    return Ok(());
                }
            }
        };
        let limit = if environment.is_paused() { LIMIT } else { WALL_LIMIT };
        let not_idle =
            |limit: Duration| Err(Error::NotIdle(format!("it still works after {} s", limit.as_secs())));
        tokio::select! {
            rested = rest => rested,
            () = self.record.repeats(RESTLESS) => Err(Error::NotQuiet { writes: self.record.since(before) }),
            () = tokio::time::sleep(limit) => not_idle(limit),
            () = wall_clock(WALL_LIMIT) => not_idle(WALL_LIMIT),
        }
    }

    /// Proves that the operator writes nothing more: it comes to rest, looks at every object once more, and neither sends
    /// a writing request nor changes the store.
    ///
    /// # Errors
    /// [`Error::NotIdle`] when it does not rest, [`Error::NotQuiet`] with the requests that it still sends.
    pub async fn is_quiet(&self) -> Result {
        let mut writes = String::new();
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
        Err(Error::NotQuiet { writes })
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
