//! The door for those who live in the same process: documents in, documents out, through the same steps as a request that
//! came over the network, without HTTP.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use futures::Stream;
use pilothouse_value::{Gvr, Status, Value};

use crate::admission;
use crate::authentication::user::User;
use crate::authorization::authz;
use crate::authorization::rbac::Attributes;
use crate::registry::resource::Resource;
use crate::registry::subresources;
use crate::request::options::{DeleteOptions, ListOptions, WatchOptions, WriteOptions};
use crate::state::{Context, State, Target};
use crate::verbs::patch::PatchKind;
use crate::verbs::watch::{Seen, WatchEventKind};
use crate::verbs::{create, delete, list, patch, read, scale, update, watch};

/// A client of a server in the same process; cheap to clone.
///
/// Every call is authorized as the user that the client was made for. A name that is empty where an object is named is answered
/// with 404.
#[derive(Clone, Debug)]
pub struct Client {
    state: Arc<State>,
    user: User,
    manager: Arc<str>,
}

/// A list of objects, as of one version.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The objects, ordered by namespace and name.
    pub items: Vec<Arc<Value>>,
    /// The version of the store that the list shows; a watch from here misses nothing.
    pub resource_version: String,
    /// What to ask the next page with, if there is one.
    pub continue_token: Option<String>,
}

/// One event of a watch.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    /// What happened.
    pub kind: WatchEventKind,
    /// The object; for [`WatchEventKind::Error`] a `Status`.
    pub object: Arc<Value>,
}

/// How to change an object.
#[derive(Clone, Debug)]
pub enum Patch {
    /// RFC 7386: fields that are there are set, nulls remove.
    Merge(Value),
    /// RFC 6902: a list of operations.
    Json(Value),
    /// As [`Patch::Merge`], with lists merged as the schema says. Only built-in kinds know it.
    Strategic(Value),
    /// Server-side apply: the fields that a manager wants, and owns from then on.
    Apply {
        /// The document, with apiVersion and kind.
        document: Value,
        /// Who owns the fields.
        manager: String,
        /// Take fields from other managers.
        force: bool,
    },
}

impl Client {
    pub(crate) fn new(state: Arc<State>, user: User) -> Client {
        let manager = user.name.rsplit(':').next().unwrap_or_default().to_owned();
        Client { state, user, manager: manager.into() }
    }

    /// The same client, with another name to record writes under. At first it is the last part of the user's name.
    #[must_use]
    pub fn with_manager(mut self, manager: &str) -> Client {
        self.manager = manager.into();
        self
    }

    /// The user that calls are made as.
    pub fn user(&self) -> &User {
        &self.user
    }

    async fn begin(
        &self,
        verb: &str,
        gvr: &Gvr,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
    ) -> Result<(Context, Target), Status> {
        let asked = Attributes::of_resource(&self.user, verb, &gvr.group, &gvr.resource);
        let (sub, place) = (subresource.unwrap_or_default(), namespace.unwrap_or_default());
        let asked = Attributes { subresource: sub, namespace: place, name, ..asked };
        authz::authorize(&self.state, &asked, None).await.map_err(|refusal| match refusal {
            authz::Refusal::Forbidden(status) => status,
            authz::Refusal::Failed(why) => Status::internal(why),
        })?;
        let resource = self
            .state
            .registry
            .get(&gvr.group, &gvr.version, &gvr.resource)
            .ok_or_else(Status::no_such_path)?;
        let verbs = match subresource {
            None => &resource.verbs,
            Some(name) => &resource.subresource(name).ok_or_else(Status::no_such_path)?.verbs,
        };
        if !verbs.iter().any(|own| own == verb) {
            return Err(Status::method_not_allowed(&gvr.group, &gvr.resource, verb));
        }
        let namespace = namespace.filter(|_| resource.namespaced).unwrap_or_default();
        let target = Target {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.map(str::to_owned),
        };
        let context = Context::new(self.state.clone(), self.user.clone(), Some(self.manager.to_string()));
        Ok((context, target))
    }

    /// Reads one object.
    ///
    /// # Errors
    /// 404 if it is not there; 403 if the user may not.
    pub async fn get(&self, gvr: &Gvr, namespace: Option<&str>, name: &str) -> Result<Value, Status> {
        let (context, target) = self.begin("get", gvr, namespace, name, None).await?;
        let document = read::get(&context, &target, None).await?;
        Ok(Value::clone(&document.value()))
    }

    /// Reads a subresource that is a document: `status` or `scale`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_subresource(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
    ) -> Result<Value, Status> {
        let (context, target) = self.begin("get", gvr, namespace, name, Some(subresource)).await?;
        let document = match subresource {
            "scale" => scale::get(&context, &target).await?,
            _ => read::get(&context, &target, None).await?,
        };
        Ok(Value::clone(&document.value()))
    }

    /// Lists objects: those of one namespace, or all.
    ///
    /// # Errors
    /// 400 for selectors and tokens that cannot be read, 410 for versions that have left the history.
    pub async fn list(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        options: &ListOptions,
    ) -> Result<List, Status> {
        let (context, target) = self.begin("list", gvr, namespace, "", None).await?;
        let page = list::list(&context, &target, options).await?;
        Ok(List {
            items: page.items.iter().map(crate::answer::document::Document::value).collect(),
            resource_version: page.version.to_string(),
            continue_token: page.next,
        })
    }

    /// Follows changes of objects: those of one namespace, or all.
    ///
    /// # Errors
    /// 400 for selectors that cannot be read. What is wrong with the version is told as an event.
    pub async fn watch(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        options: &WatchOptions,
    ) -> Result<WatchStream, Status> {
        let (context, target) = self.begin("watch", gvr, namespace, "", None).await?;
        let watch = watch::watch(&context, &target, options).await?;
        Ok(WatchStream(Box::pin(watch.stream())))
    }

    /// Creates an object.
    ///
    /// # Errors
    /// 409 if the name is taken, 422 if the object breaks rules of its kind.
    pub async fn create(&self, gvr: &Gvr, namespace: Option<&str>, object: Value) -> Result<Value, Status> {
        let (context, target) = self.begin("create", gvr, namespace, "", None).await?;
        let options = WriteOptions::default();
        admission::await_account(&self.state, &target).await;
        let document = if target.resource.has_verb("get") {
            create::create(&context, &target, object.into(), &options).await?
        } else {
            subresources::create(&context, &target, object.into(), &options).await?
        };
        Ok(Value::clone(&document.value()))
    }

    /// Asks a subresource to act: `binding` and `eviction` of pods, `token` of service accounts.
    ///
    /// # Errors
    /// 404 if the object is not there, and what the action says.
    pub async fn create_subresource(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
        object: Value,
    ) -> Result<Value, Status> {
        let (context, target) = self.begin("create", gvr, namespace, name, Some(subresource)).await?;
        let document =
            subresources::create(&context, &target, object.into(), &WriteOptions::default()).await?;
        Ok(Value::clone(&document.value()))
    }

    /// Replaces an object; its `resourceVersion`, if there, must be the stored one.
    ///
    /// # Errors
    /// 404 if it is not there, 409 if it was changed in between, 422 if the object breaks rules of its kind.
    pub async fn update(&self, gvr: &Gvr, namespace: Option<&str>, object: Value) -> Result<Value, Status> {
        self.update_subresource(gvr, namespace, None, object).await
    }

    /// Replaces the status of an object, and nothing else.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub async fn update_status(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        object: Value,
    ) -> Result<Value, Status> {
        self.update_subresource(gvr, namespace, Some("status"), object).await
    }

    /// Replaces an object through a subresource: `status`, `scale`, `finalize`.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub async fn update_subresource(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        subresource: Option<&str>,
        object: Value,
    ) -> Result<Value, Status> {
        let name = pilothouse_value::object::name(&object).to_owned();
        let (context, target) = self.begin("update", gvr, namespace, &name, subresource).await?;
        let options = WriteOptions::default();
        let changed = match subresource {
            Some("scale") => scale::update(&context, &target, object.into(), &options).await?,
            _ => update::update(&context, &target, object.into(), &options).await?,
        };
        Ok(Value::clone(&changed.document.value()))
    }

    /// Changes an object, or with [`Patch::Apply`] makes it if it is not there.
    ///
    /// # Errors
    /// 404 if it is not there, 409 for conflicts of managers or versions, 422 if the result breaks rules of its kind.
    pub async fn patch(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        name: &str,
        patch: Patch,
        subresource: Option<&str>,
    ) -> Result<Value, Status> {
        let (context, target) = self.begin("patch", gvr, namespace, name, subresource).await?;
        let mut options = WriteOptions::default();
        let (kind, document) = match patch {
            Patch::Merge(document) => (PatchKind::Merge, document),
            Patch::Json(document) => (PatchKind::Json, document),
            Patch::Strategic(_) if !target.resource.is_built_in() => {
                PatchKind::of(&target.resource, "application/strategic-merge-patch+json")?;
                return Err(Status::no_such_path());
            }
            Patch::Strategic(document) => (PatchKind::Strategic, document),
            Patch::Apply { document, manager, force } => {
                options.field_manager = Some(manager);
                options.force = Some(force);
                (PatchKind::Apply, document)
            }
        };
        let changed = patch::patch(&context, &target, kind, document.into(), &options).await?;
        Ok(Value::clone(&changed.document.value()))
    }

    /// Deletes an object. Returns the object if it is still there, marked; else a `Status` or the last state, as the kind has it.
    ///
    /// # Errors
    /// 404 if it is not there, 409 if preconditions do not hold.
    pub async fn delete(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Value, Status> {
        let (context, target) = self.begin("delete", gvr, namespace, name, None).await?;
        let deleted = delete::delete(&context, &target, options).await?;
        Ok(Value::clone(&deleted.document(&target).value()))
    }

    /// Deletes every object that a list would show.
    ///
    /// # Errors
    /// As [`list`](Self::list) and [`delete`](Self::delete).
    pub async fn delete_collection(
        &self,
        gvr: &Gvr,
        namespace: Option<&str>,
        list_options: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let (context, target) = self.begin("deletecollection", gvr, namespace, "", None).await?;
        delete::delete_collection(&context, &target, list_options, options).await.map(|_| ())
    }

    /// Every resource that is served now, ordered by group, version and name.
    pub fn resources(&self) -> Vec<Arc<Resource>> {
        self.state.registry.table().iter().cloned().collect()
    }

    /// The resource of a kind, in any served version or in the one given.
    pub fn resource_of_kind(&self, group: &str, version: Option<&str>, kind: &str) -> Option<Arc<Resource>> {
        self.state.registry.table().of_kind(group, version, kind)
    }

    /// Tells when resources begin or cease to be served: the receiver is changed then.
    pub fn resources_changed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.state.registry.changes()
    }
}

/// The events of a watch. It ends with the watch's timeout, with the server, or with the resource.
pub struct WatchStream(Pin<Box<dyn Stream<Item = Seen> + Send>>);

impl std::fmt::Debug for WatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WatchStream")
    }
}

impl WatchStream {
    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        futures::StreamExt::next(self).await
    }
}

impl Stream for WatchStream {
    type Item = WatchEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<Option<WatchEvent>> {
        self.0
            .as_mut()
            .poll_next(context)
            .map(|seen| seen.map(|seen| WatchEvent { kind: seen.kind, object: seen.document.value() }))
    }
}
