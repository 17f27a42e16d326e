//! What controllers do to the API. After each write the informer of the resource has seen it, so that a controller
//! never plans on a state that is older than its own last write.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pilothouse_apiserver::{Client, Clock, DeleteOptions, ListOptions, Patch, Propagation};
use pilothouse_value::{Gvr, Status, Timestamp, Value, object};

use super::events::Recorder;
use super::informer::{Informer, Informers, Object, revision};
use super::plan::{Intent, Plan, Tell};
use crate::resources::NAMESPACES;

/// The longest wait for an informer to see a write.
const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// Why a reconcile failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The API refused.
    #[error("{doing}: {}", status.message)]
    Api {
        /// What was being done, to what.
        doing: String,
        /// The answer.
        status: Box<Status>,
    },
    /// A folder of a volume could not be made or removed.
    #[error("{doing} {}: {source}; hint: look at the space and the permissions of the data folder", path.display())]
    Folder {
        /// What was being done.
        doing: &'static str,
        /// The folder.
        path: std::path::PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl Failure {
    /// Whether someone else wrote first, which the next look puts right.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Api { status, .. } if status.is_conflict())
    }

    /// Whether the namespace is being deleted, so that nothing can be made there any more.
    fn is_terminating(&self) -> bool {
        matches!(self, Self::Api { status, .. }
            if status.details.as_ref().is_some_and(|d| d.causes.iter().any(|c| c.reason == "NamespaceTerminating")))
    }
}

/// The API as one controller uses it.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) informers: Arc<Informers>,
    clock: Clock,
    recorder: Arc<Recorder>,
    /// The controller's name in events.
    component: &'static str,
}

impl Api {
    pub(crate) fn new(client: Client, informers: Arc<Informers>, clock: Clock) -> Self {
        let recorder = Arc::new(Recorder::new(client.clone(), clock));
        Self { client, informers, clock, recorder, component: "pilothouse" }
    }

    /// The same API for another controller.
    pub(crate) fn named(&self, component: &'static str) -> Self {
        Self { component, ..self.clone() }
    }

    /// The present time of the server.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The informer of a resource.
    pub(crate) fn of(&self, resource: &Gvr) -> Arc<Informer> {
        self.informers.of(resource)
    }

    /// Carries out a plan: its writes in order, until one fails. Says when to look again.
    pub(crate) async fn act(&self, plan: Plan) -> Result<Option<Duration>, Failure> {
        for intent in plan.intents {
            match self.carry_out(intent).await {
                Err(failure) if failure.is_terminating() => return Ok(None),
                done => done?,
            }
        }
        Ok(plan.again)
    }

    async fn carry_out(&self, intent: Intent) -> Result<(), Failure> {
        match intent {
            Intent::Create { resource, object, tell } => {
                let made = self.create(&resource, object).await;
                let name = made.as_ref().map(|made| object::name(made)).unwrap_or_default();
                self.tell(tell, name, made.as_ref().err()).await;
                made.map(drop)
            }
            Intent::Update { resource, object } => self.update(&resource, object).await.map(drop),
            Intent::UpdateStatus { resource, object } => {
                self.update_status(&resource, object).await.map(drop)
            }
            Intent::Patch { resource, namespace, name, patch } => {
                self.patch(&resource, &namespace, &name, patch).await.map(drop)
            }
            Intent::Delete { resource, namespace, name, uid, tell } => {
                // A Job's default is to leave its pods behind; a controller that deletes one wants them gone.
                let policy = Some(Propagation::Background);
                let deleted = self.delete(&resource, &namespace, &name, &uid, policy).await;
                self.tell(tell, &name, deleted.as_ref().err()).await;
                deleted
            }
            Intent::Event { regarding, kind, action, reason, message } => {
                self.recorder.record(self.component, &regarding, (kind, action), &reason, &message).await;
                Ok(())
            }
        }
    }

    async fn tell(&self, tell: Option<Tell>, name: &str, failure: Option<&Failure>) {
        let Some(tell) = tell else { return };
        let (kind, reason, message) = match failure {
            None => ("Normal", tell.reason, tell.message.replace("{}", name)),
            Some(failure) if failure.is_terminating() || failure.is_conflict() => return,
            Some(Failure::Api { status, .. }) => {
                let message = tell.failure_message.replace("{}", name).replace("{error}", &status.message);
                ("Warning", tell.failure, message)
            }
            Some(failure) => ("Warning", tell.failure, failure.to_string()),
        };
        self.recorder.record(self.component, &tell.regarding, (kind, None), reason, &message).await;
    }

    /// Creates an object in the namespace of its metadata.
    pub(crate) async fn create(&self, resource: &Gvr, object: Value) -> Result<Object, Failure> {
        let doing = || format!("creating {}", told(resource, &object));
        let namespace = object::namespace(&object);
        let made = self.client.create(resource, namespace, object.clone()).await;
        self.written(resource, made, doing).await
    }

    /// Replaces an object that has not changed meanwhile.
    pub(crate) async fn update(&self, resource: &Gvr, object: Value) -> Result<Object, Failure> {
        let doing = || format!("updating {}", told(resource, &object));
        let made = self.client.update(resource, object::namespace(&object), object.clone()).await;
        self.written(resource, made, doing).await
    }

    /// Replaces the status of an object that has not changed meanwhile.
    pub(crate) async fn update_status(&self, resource: &Gvr, object: Value) -> Result<Object, Failure> {
        let doing = || format!("updating the status of {}", told(resource, &object));
        let made = self.client.update_status(resource, object::namespace(&object), object.clone()).await;
        self.written(resource, made, doing).await
    }

    /// Changes an object; one that is gone is no failure.
    pub(crate) async fn patch(
        &self,
        resource: &Gvr,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<Option<Object>, Failure> {
        let patched = self.client.patch(resource, scope(namespace), name, Patch::Merge(patch), None).await;
        match patched {
            Err(status) if status.is_not_found() => Ok(None),
            patched => {
                let doing = || format!("patching {} {namespace}/{name}", resource.resource);
                self.written(resource, patched, doing).await.map(Some)
            }
        }
    }

    /// Deletes an object that has this uid; one that is gone, or is another by now, is no failure.
    pub(crate) async fn delete(
        &self,
        resource: &Gvr,
        namespace: &str,
        name: &str,
        uid: &str,
        propagation: Option<Propagation>,
    ) -> Result<(), Failure> {
        let options = DeleteOptions { propagation, uid: Some(uid.to_owned()), ..DeleteOptions::default() };
        match self.client.delete(resource, scope(namespace), name, &options).await {
            Ok(_) => {}
            // A conflict means that the uid is another's: what was to go is gone.
            Err(status) if status.is_not_found() || status.is_conflict() => {}
            Err(status) => {
                let doing = format!("deleting {} {namespace}/{name}", resource.resource);
                return Err(Failure::Api { doing, status: Box::new(status) });
            }
        }
        if let Some(informer) = self.informers.running(resource) {
            bounded(resource, informer.gone(namespace, name, uid)).await;
        }
        Ok(())
    }

    /// Deletes everything of a resource in a namespace, without waiting for anyone to see it.
    pub(crate) async fn delete_all(&self, resource: &Gvr, namespace: &str) -> Result<(), Failure> {
        let list = ListOptions::default();
        let delete = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        let deleted = self.client.delete_collection(resource, Some(namespace), &list, &delete).await;
        deleted.map(drop).map_err(|status| Failure::Api {
            doing: format!("deleting {} of {namespace}", resource.resource),
            status: Box::new(status),
        })
    }

    /// Asks a subresource of an object to act.
    pub(crate) async fn create_subresource(
        &self,
        resource: &Gvr,
        namespace: &str,
        name: &str,
        subresource: &str,
        body: Value,
    ) -> Result<(), Failure> {
        let done = self.client.create_subresource(resource, scope(namespace), name, subresource, body).await;
        done.map(drop).map_err(|status| Failure::Api {
            doing: format!("creating {subresource} of {} {namespace}/{name}", resource.resource),
            status: Box::new(status),
        })
    }

    /// Replaces the finalizers in the spec of a namespace.
    pub(crate) async fn finalize(&self, namespace: Value) -> Result<(), Failure> {
        let name = object::name(&namespace).to_owned();
        match self.client.update_subresource(&NAMESPACES, None, Some("finalize"), namespace).await {
            Err(status) if !status.is_not_found() => {
                Err(Failure::Api { doing: format!("finalizing namespace {name}"), status: Box::new(status) })
            }
            _ => Ok(()),
        }
    }

    /// What the server has at this moment, whatever the informers have seen.
    pub(crate) async fn list(&self, resource: &Gvr, namespace: Option<&str>) -> Result<Vec<Object>, Failure> {
        let list = self.client.list(resource, namespace, &ListOptions::default()).await;
        list.map(|list| list.items).map_err(|status| Failure::Api {
            doing: format!("listing {}", resource.resource),
            status: Box::new(status),
        })
    }

    /// The object at this moment, if it exists.
    pub(crate) async fn get(
        &self,
        resource: &Gvr,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, Failure> {
        match self.client.get(resource, scope(namespace), name).await {
            Ok(object) => Ok(Some(Arc::new(object))),
            Err(status) if status.is_not_found() => Ok(None),
            Err(status) => Err(Failure::Api {
                doing: format!("reading {} {namespace}/{name}", resource.resource),
                status: Box::new(status),
            }),
        }
    }

    /// Waits until the informer of a resource has seen an object.
    pub(crate) async fn seen_to_exist(&self, resource: &Gvr, namespace: &str, name: &str) {
        let informer = self.of(resource);
        bounded(resource, informer.there(namespace, name)).await;
    }

    async fn written(
        &self,
        resource: &Gvr,
        result: Result<Value, Status>,
        doing: impl FnOnce() -> String,
    ) -> Result<Object, Failure> {
        let object = result.map_err(|status| Failure::Api { doing: doing(), status: Box::new(status) })?;
        if let Some(informer) = self.informers.running(resource) {
            bounded(resource, informer.seen(revision(&object))).await;
        }
        Ok(Arc::new(object))
    }
}

async fn bounded(resource: &Gvr, wait: impl Future<Output = ()>) {
    if tokio::time::timeout(SEEN_WITHIN, wait).await.is_err() {
        tracing::warn!(%resource, "what was awaited was not seen by the watch in time; going on");
    }
}

fn told(resource: &Gvr, object: &Value) -> String {
    let name = [object::name(object), object.str_at(&["metadata", "generateName"]).unwrap_or_default()];
    let name = name.iter().find(|name| !name.is_empty()).copied().unwrap_or_default();
    match object::namespace(object) {
        Some(namespace) => format!("{} {namespace}/{name}", resource.resource),
        None => format!("{} {name}", resource.resource),
    }
}

/// A namespace as the client takes it.
pub(crate) fn scope(namespace: &str) -> Option<&str> {
    Some(namespace).filter(|namespace| !namespace.is_empty())
}
