//! Whether an owner that an object names is there.

use pilothouse_value::{Value, object};

use super::graph::{Graph, Node};
use super::is_waiting;
use crate::discovery::Discovery;
use crate::harness::api::{Api, Failure};
use crate::harness::plan::Plan;

/// What is known about an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is there.
    Solid,
    /// It is there, and waits for its dependents to go.
    Waiting,
    /// It is not there, or another has its name.
    Absent,
    /// It cannot be told, so that nothing may be done.
    Unknown,
}

/// Judges one owner reference of an object.
pub(super) async fn judge(
    api: &Api,
    discovery: &Discovery,
    graph: &Graph,
    dependent: &Node,
    reference: &Value,
) -> Result<Verdict, Failure> {
    let text = |field: &str| reference.str_at(&[field]).unwrap_or_default();
    let namespace = object::namespace(&dependent.object);
    if let Some(owner) = graph.get(text("uid"))
        && is_named(&owner, reference, namespace)
    {
        return Ok(if is_waiting(&owner.object) { Verdict::Waiting } else { Verdict::Solid });
    }
    // A kind that is not served tells nothing about its objects.
    let Some(kind) = discovery.find(text("apiVersion"), text("kind")) else { return Ok(Verdict::Unknown) };
    if kind.namespaced && namespace.is_none() {
        let mut plan = Plan::default();
        let message = format!(
            "ownerRef [{}/{}, namespace: , name: {}, uid: {}] does not exist in namespace \"\"",
            text("apiVersion"),
            text("kind"),
            text("name"),
            text("uid")
        );
        plan.warning(&dependent.object, "OwnerRefInvalidNamespace", message);
        api.act(plan).await?;
        return Ok(Verdict::Unknown);
    }
    // The graph may lag behind: only the server can say that an owner is not there.
    let namespace = if kind.namespaced { namespace.unwrap_or_default() } else { "" };
    Ok(match api.get(&kind.gvr(), namespace, text("name")).await? {
        Some(owner) if object::uid(&owner) != text("uid") => Verdict::Absent,
        Some(owner) if is_waiting(&owner) => Verdict::Waiting,
        Some(_) => Verdict::Solid,
        None => Verdict::Absent,
    })
}

/// Whether the object with the uid is the one that the reference means: of that kind and name, and in reach.
fn is_named(owner: &Node, reference: &Value, namespace: Option<&str>) -> bool {
    let group =
        reference.str_at(&["apiVersion"]).and_then(|v| v.rsplit_once('/')).map_or("", |(group, _)| group);
    let (owner_namespace, name) = owner.key();
    reference.str_at(&["kind"]) == Some(&owner.kind.kind)
        && group == owner.kind.group
        && reference.str_at(&["name"]) == Some(name)
        && (owner_namespace.is_empty() || Some(owner_namespace) == namespace)
}
