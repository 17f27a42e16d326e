//! Objects that somebody else keeps, which are looked for when a read does not find one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use pilothouse_store::Object;
use pilothouse_value::{Status, object, parse};

use crate::registry::kinds;
use crate::state::{Context, Target};
use crate::verbs::{self, Outcome};

/// A place where objects may be that are not in the store, such as an etcd into which a test writes.
pub trait ObjectsElsewhere: Send + Sync {
    /// The JSON document at a path as kube-apiserver has them in etcd below its prefix: `configmaps/default/a`,
    /// `example.com/widgets/default/a`.
    fn find<'a>(&'a self, path: &'a str) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + 'a>>;
}

/// Looks for an object elsewhere, and keeps it in the store if it is there.
///
/// # Errors
/// 404 if it is not there, or is no document of the resource's kind.
pub(crate) async fn adopt(context: &Context, target: &Target) -> Result<Arc<Object>, Status> {
    let (state, resource) = (&context.state, &target.resource);
    let Some(elsewhere) = state.elsewhere.read().clone() else { return Err(target.not_found()) };
    let group = if resource.is_built_in() { "" } else { &resource.group };
    let parts = [group, &resource.plural, &target.namespace, &target.name];
    let path = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let Some(bytes) = elsewhere.find(&path).await else { return Err(target.not_found()) };
    let mut value = parse::json(&bytes).map_err(|_| target.not_found())?.value;
    if object::kind(&value) != resource.kind || object::name(&value) != target.name {
        return Err(target.not_found());
    }
    if resource.is_built_in() {
        // It may be of a version that is not served any more.
        value.set(&["apiVersion"], resource.api_version());
        kinds::prune(resource, &mut value);
        kinds::read(&resource.gvk(), &mut value)?;
        kinds::default(resource, &mut value);
    }
    match verbs::put(state, target, None, value).await? {
        Outcome::Stored(stored) | Outcome::Stale(Some(stored)) => Ok(stored),
        Outcome::Stale(None) => Err(target.not_found()),
    }
}
