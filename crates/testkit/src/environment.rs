//! Where the cluster of a test comes from: an API server in this process, or an existing cluster.

use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use parking_lot::Mutex;
use pilothouse_apiserver::{Server, User};

use crate::Options;
use crate::error::{Error, Result};

/// Names the kubeconfig of an existing cluster to test on.
const EXTERNAL: &str = "PILOTHOUSE_TEST_KUBECONFIG";

/// A service account.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The cluster of a test.
#[derive(Debug)]
pub(crate) struct Environment {
    place: Place,
    client: ClientCell,
    namespace: String,
    paused: bool,
    identities: AtomicU64,
}

#[derive(Debug)]
enum Place {
    Embedded { server: Server, controllers: Mutex<Option<pilothouse_cluster::Cluster>> },
    Existing(Box<Config>),
}

/// A client, which has nothing to show.
struct ClientCell(Client);

impl std::fmt::Debug for ClientCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// True when tests run on an existing cluster.
pub(crate) fn is_external() -> bool {
    std::env::var_os(EXTERNAL).is_some()
}

impl Environment {
    pub(crate) async fn start(options: &Options) -> Result<Self> {
        if is_external() { Self::existing().await } else { Self::embedded(options).await }
    }

    /// An API server in this process.
    async fn embedded(options: &Options) -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::Start(error.to_string());
        let server = Server::builder().start().map_err(|error| failed(&error))?;
        let controllers = if options.controllers {
            let options = pilothouse_cluster::Options {
                instant_node: Some(pilothouse_cluster::InstantNode::default()),
                ..pilothouse_cluster::Options::default()
            };
            let cluster = pilothouse_cluster::Cluster::start(&server, options).await;
            Some(cluster.map_err(|error| failed(&error))?)
        } else {
            None
        };
        let client = local(&server, User::admin());
        Ok(Self {
            client: ClientCell(client),
            namespace: "default".to_owned(),
            paused: !options.real_clock,
            identities: AtomicU64::new(0),
            place: Place::Embedded { server, controllers: Mutex::new(controllers) },
        })
    }

    /// A namespace of its own on an existing cluster.
    async fn existing() -> Result<Self> {
        let failed = |error: &dyn std::fmt::Display| Error::Start(format!("{EXTERNAL}: {error}"));
        let file = std::env::var_os(EXTERNAL).unwrap_or_default();
        let kubeconfig = Kubeconfig::read_from(file).map_err(|error| failed(&error))?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| failed(&error))?;
        let client = Client::try_from(config.clone()).map_err(|error| failed(&error))?;
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some("pilothouse-test-".to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let created = Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .map_err(|error| failed(&error))?;
        Ok(Self {
            place: Place::Existing(Box::new(config)),
            client: ClientCell(client),
            namespace: created.metadata.name.unwrap_or_default(),
            paused: false,
            identities: AtomicU64::new(0),
        })
    }

    /// Ends everything that the test has started.
    pub(crate) async fn stop(&self) {
        match &self.place {
            Place::Embedded { server, controllers } => {
                let controllers = controllers.lock().take();
                if let Some(controllers) = controllers {
                    controllers.shutdown().await;
                }
                server.stop();
            }
            Place::Existing(_) => {
                // What cannot be deleted is left to whoever owns the cluster.
                let _ = Api::<Namespace>::all(self.client())
                    .delete(&self.namespace, &DeleteParams::default())
                    .await;
            }
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.0.clone()
    }

    pub(crate) fn client_ref(&self) -> &Client {
        &self.client.0
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// True when the clock is held.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// The namespace that operators must keep to, because other tests share the cluster.
    pub(crate) fn confined(&self) -> Option<&str> {
        match self.place {
            Place::Embedded { .. } => None,
            Place::Existing(_) => Some(&self.namespace),
        }
    }

    /// The name of a service account that no other operator of this test has.
    pub(crate) fn new_identity(&self) -> Identity {
        let number = self.identities.fetch_add(1, Ordering::Relaxed);
        Identity { namespace: self.namespace.clone(), name: format!("operator-{number}") }
    }

    /// A client that acts as the service account.
    pub(crate) fn client_as(&self, identity: &Identity) -> Result<Client> {
        let Identity { namespace, name } = identity;
        match &self.place {
            Place::Embedded { server, .. } => Ok(local(server, User::service_account(namespace, name, ""))),
            Place::Existing(config) => {
                let mut config = (**config).clone();
                config.auth_info.impersonate = Some(format!("system:serviceaccount:{namespace}:{name}"));
                config.auth_info.impersonate_groups = Some(vec!["system:serviceaccounts".to_owned()]);
                Client::try_from(config).map_err(|error| Error::Start(error.to_string()))
            }
        }
    }

    /// A number that changes with every write to the cluster; on a cluster that others use too, a constant.
    pub(crate) async fn revision(&self) -> Result<u64> {
        match &self.place {
            Place::Embedded { server, .. } => Ok(server.store().revision()),
            Place::Existing(_) => Ok(0),
        }
    }
}

/// A client without a socket.
fn local(server: &Server, user: User) -> Client {
    Client::new(server.service(user), "default")
}
