//! The cluster of a test: put objects in, look at them, wait for them, run an operator.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::{Client, CustomResourceExt};
use pilothouse_runtime::{Controller, Key, Kind, Manager, Object, intent};
use serde_json::Value;

use crate::Options;
use crate::diff::missing;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::operator::Operator;
use crate::record::{Fault, Faults};
use crate::wait::{Wait, decode};

/// How long a test waits for a state on a clock that is held; on one that runs it is the wall clock's limit.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a test waits for a state on the wall clock.
const WALL_LIMIT: Duration = Duration::from_secs(120);
/// The field manager of what a test applies.
const MANAGER: &str = "test";

/// A cluster of a test's own. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cluster {
    environment: Arc<Environment>,
    limit: Duration,
    faults: Faults,
}

impl Cluster {
    pub(crate) async fn start(options: &Options) -> Result<Self> {
        let environment = Arc::new(Environment::start(options).await?);
        let limit = if environment.is_paused() { LIMIT } else { WALL_LIMIT };
        Ok(Self { environment, limit, faults: Faults::default() })
    }

    pub(crate) async fn stop(&self) {
        self.environment.stop().await;
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// A client that may do everything.
    pub fn client(&self) -> Client {
        self.environment.client()
    }

    /// The namespace in which objects are put that name none.
    pub fn namespace(&self) -> &str {
        self.environment.namespace()
    }

    /// A cluster whose waits take at most this long on the test's clock; the default is 60 s.
    #[must_use]
    pub fn patience(&self, limit: Duration) -> Self {
        Self { limit, ..self.clone() }
    }

    /// Serves the custom resource `K`: its definition is there and established when this returns.
    ///
    /// # Errors
    /// When the definition is refused or is not established in time.
    pub async fn install<K: CustomResourceExt>(&self) -> Result {
        let definition = K::crd();
        let name = definition.metadata.name.clone().unwrap_or_default();
        self.apply(definition).await?;
        self.eventually::<CustomResourceDefinition>(&name, |definition| {
            let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_ref());
            conditions.into_iter().flatten().any(|is| is.type_ == "Established" && is.status == "True")
        })
        .await?;
        Ok(())
    }

    /// Server-side apply: creates the object, or makes the fields that it sets so.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn apply<K: Object>(&self, object: K) -> Result<K> {
        let object = self.placed(object);
        let (kind, key) = (Kind::of::<K>(), Key::of(&object));
        let failed = |source| request_failed("apply", &kind, &key, source);
        let wanted = intent(&object)?;
        let request = Request::new(K::url_path(&(), key.namespace()))
            .patch(key.name(), &PatchParams::apply(MANAGER).force(), &Patch::Apply(&wanted))
            .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.client().request(request).await.map_err(failed)
    }

    /// Creates the object; it must not exist.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn create<K: Object>(&self, object: K) -> Result<K> {
        let object = self.placed(object);
        let (kind, key) = (Kind::of::<K>(), Key::of(&object));
        let failed = |source| request_failed("create", &kind, &key, source);
        let body = serde_json::to_vec(&object).map_err(|error| failed(kube::Error::SerdeError(error)))?;
        let request = Request::new(K::url_path(&(), key.namespace()))
            .create(&PostParams::default(), body)
            .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.client().request(request).await.map_err(failed)
    }

    /// The object as it is now, in the test's namespace if its kind has namespaces.
    ///
    /// # Errors
    /// As the server answers; `NotFound` among others.
    pub async fn get<K: Object>(&self, name: &str) -> Result<K> {
        let (kind, key) = self.named::<K>(name);
        let failed = |source| request_failed("get", &kind, &key, source);
        let request = Request::new(K::url_path(&(), key.namespace()))
            .get(name, &Default::default())
            .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.client().request(request).await.map_err(failed)
    }

    /// Asks for the deletion of the object; wait for it with [`Cluster::gone`].
    ///
    /// # Errors
    /// As the server answers.
    pub async fn delete<K: Object>(&self, name: &str) -> Result {
        let (kind, key) = self.named::<K>(name);
        let failed = |source| request_failed("delete", &kind, &key, source);
        let request = Request::new(K::url_path(&(), key.namespace()))
            .delete(name, &DeleteParams::default())
            .map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.client().request::<Value>(request).await.map(|_| ()).map_err(failed)
    }

    /// Changes the object by a merge patch; `subresource` may be `status`.
    ///
    /// # Errors
    /// As the server answers.
    pub async fn patch<K: Object>(&self, name: &str, subresource: Option<&str>, patch: Value) -> Result<K> {
        let (kind, key) = self.named::<K>(name);
        let failed = |source| request_failed("patch", &kind, &key, source);
        let target = Request::new(K::url_path(&(), key.namespace()));
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        let request = match subresource {
            None => target.patch(name, &parameters, &patch),
            Some(subresource) => target.patch_subresource(subresource, name, &parameters, &patch),
        };
        let request = request.map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        self.client().request(request).await.map_err(failed)
    }

    /// Waits until the object exists and `is_there` says yes, and returns it as it is then.
    ///
    /// # Errors
    /// [`Error::NotEventually`] when it does not come, with the last state and how it came to that.
    pub async fn eventually<K: Object>(&self, name: &str, mut is_there: impl FnMut(&K) -> bool) -> Result<K> {
        self.wait::<K>(name)
            .until(|seen| seen.and_then(decode::<K>).filter(|object| is_there(object)), |_| String::new())
            .await
    }

    /// Waits until the object exists and has these fields; what differs is shown if it does not come.
    ///
    /// # Errors
    /// [`Error::NotEventually`] when it does not come, with the fields that are missing.
    pub async fn becomes<K: Object>(&self, name: &str, fields: Value) -> Result<K> {
        self.wait::<K>(name)
            .until(
                |seen| seen.filter(|seen| missing(&fields, seen).is_empty()).and_then(decode::<K>),
                |seen| missing(&fields, seen.unwrap_or(&Value::Null)),
            )
            .await
    }

    /// Waits until there is no such object.
    ///
    /// # Errors
    /// [`Error::NotEventually`] when it stays, with the last state.
    pub async fn gone<K: Object>(&self, name: &str) -> Result {
        self.wait::<K>(name).until(|seen| seen.is_none().then_some(()), |_| String::new()).await
    }

    /// Serves the controller's custom resource and runs the controller, with the permissions that it declares and no others.
    ///
    /// # Errors
    /// When its definition is refused, or its caches are not filled in time.
    pub async fn run<C: Controller>(&self, controller: C) -> Result<Operator>
    where
        C::Resource: CustomResourceExt,
    {
        self.install::<C::Resource>().await?;
        self.operate(|manager| manager.controller(controller)).await
    }

    /// Runs an operator of several controllers, with the permissions that they declare and no others. Their custom
    /// resources must be served already.
    ///
    /// # Errors
    /// When its caches are not filled in time, or a controller does not start.
    pub async fn operate(&self, build: impl FnOnce(Manager) -> Manager) -> Result<Operator> {
        Operator::start(self, build).await
    }

    /// Makes requests of operators fail that are started by this cluster, from now on.
    pub fn inject(&self, fault: Fault) {
        self.faults.add(fault);
    }

    pub(crate) fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Lets time pass on the test's clock, and everything happen that is due in it.
    pub async fn advance(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// An API of the kind in the test's namespace, for what has no method here.
    pub fn api<K: Object<Scope = k8s_openapi::NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client(), self.namespace())
    }

    fn wait<'a, K: Object>(&'a self, name: &'a str) -> Wait<'a> {
        Wait {
            client: self.environment.client_ref(),
            kind: Kind::of::<K>(),
            namespace: self.namespace(),
            name,
            limit: self.limit,
            wall_limit: WALL_LIMIT,
        }
    }

    fn named<K: Object>(&self, name: &str) -> (Kind, Key) {
        let kind = Kind::of::<K>();
        let namespace = if kind.namespaced { self.namespace() } else { "" };
        (kind, Key::new(namespace, name))
    }

    /// The object in the test's namespace, unless it names one.
    fn placed<K: Object>(&self, mut object: K) -> K {
        if Kind::of::<K>().namespaced && object.meta().namespace.is_none() {
            object.meta_mut().namespace = Some(self.namespace().to_owned());
        }
        object
    }
}

fn request_failed(action: &'static str, kind: &Kind, key: &Key, source: kube::Error) -> Error {
    Error::Request { action, object: format!("{kind} {key}"), source: Box::new(source) }
}
