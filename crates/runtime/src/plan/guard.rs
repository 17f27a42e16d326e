//! The guards that a plan must pass before it acts. They are a function from the plan and what exists to steps: either
//! the whole plan is held back, or each step is safe to take.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};
use thiserror::Error;

use super::{Ensure, Plan, Removal};
use crate::object::{Key, Kind};

/// Why a plan was held back. Nothing of it was done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The object exists and the main object does not control it.
    #[error(
        "refused to touch {object}: it exists and is controlled by {controller}\n\
         hint: choose another name, or remove that object first"
    )]
    NotOurs {
        /// Resource, namespace and name.
        object: String,
        /// Who controls it, or `nobody`.
        controller: String,
    },
    /// The kind is not declared as owned.
    #[error(
        "refused to touch {object}: the controller does not own its kind\nhint: declare it with `.owns::<{kind}>()`"
    )]
    NotDeclared {
        /// Resource, namespace and name.
        object: String,
        /// The kind.
        kind: String,
    },
    /// Owners cannot own over the border of a namespace.
    #[error(
        "refused to touch {object}: it is not in the namespace of its owner {owner}\n\
         hint: an owner must be in the same namespace, or cluster-scoped"
    )]
    OtherNamespace {
        /// Resource, namespace and name.
        object: String,
        /// The main object.
        owner: String,
    },
    /// Objects that hold data are not removed by implication.
    #[error(
        "refused to remove {object}: objects of this kind hold data or others depend on them\n\
         hint: if its loss is what the user asked for, say so with `remove_with_data`"
    )]
    HoldsData {
        /// Resource, namespace and name.
        object: String,
    },
    /// The plan would remove more than is allowed.
    #[error(
        "refused to remove {removals} objects at once, the budget is {budget}: {objects}\n\
         hint: to allow it for this object, set its annotation {annotation}=\"{removals}\"",
        annotation = super::guard::BUDGET
    )]
    OverBudget {
        /// How many objects the plan would remove.
        removals: usize,
        /// How many it may.
        budget: usize,
        /// The first of them.
        objects: String,
    },
    /// The plan names an object twice.
    #[error("refused a plan that names {object} twice\nhint: give the objects different names")]
    Twice {
        /// Resource, namespace and name.
        object: String,
    },
}

/// The annotation that allows an object's plans to remove more.
pub(crate) const BUDGET: &str = "pilothouse.dev/removal-budget";

impl Refusal {
    /// A CamelCase word for the refusal.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotOurs { .. } => "NotOurs",
            Self::NotDeclared { .. } => "NotDeclared",
            Self::OtherNamespace { .. } => "OtherNamespace",
            Self::HoldsData { .. } => "HoldsData",
            Self::OverBudget { .. } => "OverBudget",
            Self::Twice { .. } => "NamedTwice",
        }
    }
}

/// True for kinds that hold data or on which others depend: they are never removed by implication.
pub(crate) fn is_protected(kind: &Kind) -> bool {
    matches!(
        (kind.group.as_str(), kind.plural.as_str()),
        ("", "persistentvolumeclaims" | "persistentvolumes" | "secrets" | "namespaces")
            | ("apiextensions.k8s.io", "customresourcedefinitions")
    )
}

/// What the guards must know of the main object and its controller.
pub(crate) struct Bounds<'a> {
    pub(crate) owner: OwnerReference,
    pub(crate) key: &'a Key,
    pub(crate) owned: &'a BTreeSet<Kind>,
    pub(crate) budget: usize,
}

/// Something that is safe to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Apply `wanted` over `live`, if it differs.
    Apply { kind: Kind, key: Key, wanted: Value, live: Option<Value> },
    /// Remove the object with this uid.
    Remove { kind: Kind, key: Key, uid: String },
}

/// The steps of a plan, or why it is held back. `live` gives what exists.
pub(crate) fn check(
    plan: &Plan,
    bounds: &Bounds<'_>,
    live: impl Fn(&Kind, &Key) -> Option<Value>,
) -> Result<Vec<Step>, Refusal> {
    let mut steps = Vec::new();
    let mut named = BTreeSet::new();
    for Ensure { kind, key, object } in &plan.ensures {
        let key = bounds.place(kind, key)?;
        if !named.insert((kind.clone(), key.clone())) {
            return Err(Refusal::Twice { object: format!("{kind} {key}") });
        }
        let live = live(kind, &key);
        if let Some(live) = &live {
            bounds.must_control(kind, &key, live)?;
            // It vanishes first; its deletion is a reason to reconcile again.
            if live.pointer("/metadata/deletionTimestamp").is_some() {
                continue;
            }
        }
        let wanted = bounds.adopt(object.clone(), &key);
        steps.push(Step::Apply { kind: kind.clone(), key, wanted, live });
    }
    let mut removals = Vec::new();
    for Removal { kind, key, with_data } in &plan.removals {
        let key = bounds.place(kind, key)?;
        if !named.insert((kind.clone(), key.clone())) {
            return Err(Refusal::Twice { object: format!("{kind} {key}") });
        }
        if is_protected(kind) && !with_data {
            return Err(Refusal::HoldsData { object: format!("{kind} {key}") });
        }
        let Some(live) = live(kind, &key) else { continue };
        bounds.must_control(kind, &key, &live)?;
        if live.pointer("/metadata/deletionTimestamp").is_some() {
            continue;
        }
        let uid = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
        removals.push(Step::Remove { kind: kind.clone(), key, uid });
    }
    if removals.len() > bounds.budget {
        let objects: Vec<_> = removals.iter().take(5).map(ToString::to_string).collect();
        return Err(Refusal::OverBudget {
            removals: removals.len(),
            budget: bounds.budget,
            objects: objects.join(", "),
        });
    }
    steps.append(&mut removals);
    Ok(steps)
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Apply { kind, key, .. } => write!(f, "apply {kind} {key}"),
            Self::Remove { kind, key, .. } => write!(f, "remove {kind} {key}"),
        }
    }
}

impl Bounds<'_> {
    /// The full key of an object of a plan: in the owner's namespace unless it says otherwise.
    fn place(&self, kind: &Kind, key: &Key) -> Result<Key, Refusal> {
        if !self.owned.contains(kind) {
            return Err(Refusal::NotDeclared { object: format!("{kind} {key}"), kind: kind.kind.clone() });
        }
        if !kind.namespaced {
            // A cluster-scoped object cannot have an owner in a namespace: it would be collected at once.
            return match self.key.namespace() {
                None => Ok(Key::new("", key.name())),
                Some(_) => Err(Refusal::OtherNamespace {
                    object: format!("{kind} {key}"),
                    owner: format!("{} {}", self.owner.kind, self.key),
                }),
            };
        }
        match (key.namespace(), self.key.namespace()) {
            (None, Some(owner)) => Ok(Key::new(owner, key.name())),
            (Some(own), Some(owner)) if own == owner => Ok(key.clone()),
            (Some(_), None) => Ok(key.clone()),
            _ => Err(Refusal::OtherNamespace {
                object: format!("{kind} {key}"),
                owner: format!("{} {}", self.owner.kind, self.key),
            }),
        }
    }

    fn must_control(&self, kind: &Kind, key: &Key, live: &Value) -> Result<(), Refusal> {
        let controller = live
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array)
            .and_then(|owners| owners.iter().find(|owner| owner["controller"] == true));
        if controller.is_some_and(|owner| owner["uid"] == *self.owner.uid) {
            return Ok(());
        }
        let controller = match controller {
            Some(owner) => format!(
                "{} {}",
                owner["kind"].as_str().unwrap_or_default(),
                owner["name"].as_str().unwrap_or_default()
            ),
            None => "nobody".to_owned(),
        };
        Err(Refusal::NotOurs { object: format!("{kind} {key}"), controller })
    }

    /// The object with its namespace and its owner set.
    fn adopt(&self, mut object: Value, key: &Key) -> Value {
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        let metadata = &mut object["metadata"];
        if let Some(namespace) = key.namespace() {
            metadata["namespace"] = namespace.into();
        }
        let OwnerReference { api_version, kind, name, uid, .. } = &self.owner;
        let owner = json!({
            "apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        });
        match metadata["ownerReferences"].as_array_mut() {
            Some(owners) => owners.push(owner),
            None => metadata["ownerReferences"] = json!([owner]),
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Secret};
    use kube::Resource;

    use super::*;
    use crate::object::Object;

    fn named<K: Object + Default>(name: &str) -> K {
        let mut object = K::default();
        object.meta_mut().name = Some(name.to_owned());
        object
    }

    fn live(uid: &str) -> Value {
        json!({"metadata": {"uid": "live", "ownerReferences": [
            {"kind": "Cache", "name": "a", "uid": uid, "controller": true}]}})
    }

    fn run(plan: Plan, live: Option<Value>) -> Result<Vec<Step>, Refusal> {
        let owned =
            [Kind::of::<ConfigMap>(), Kind::of::<PersistentVolumeClaim>(), Kind::of::<Namespace>()].into();
        let key = Key::new("demo", "a");
        let owner = OwnerReference {
            kind: "Cache".into(),
            name: "a".into(),
            uid: "ours".into(),
            ..Default::default()
        };
        let bounds = Bounds { owner, key: &key, owned: &owned, budget: 2 };
        check(&plan, &bounds, |_, _| live.clone())
    }

    fn reason(plan: Plan, live: Option<Value>) -> &'static str {
        run(plan, live).unwrap_err().reason()
    }

    #[test]
    fn an_object_becomes_owned_and_gets_the_owners_namespace() {
        let steps = run(Plan::new().ensure(named::<ConfigMap>("x")), None).unwrap();
        let [Step::Apply { wanted, key, live: None, .. }] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(key.to_string(), "demo/x");
        assert_eq!(wanted["metadata"]["namespace"], "demo");
        assert_eq!(wanted["metadata"]["ownerReferences"][0]["uid"], "ours");
    }

    #[test]
    fn an_object_of_somebody_else_is_not_touched() {
        assert_eq!(reason(Plan::new().ensure(named::<ConfigMap>("x")), Some(live("theirs"))), "NotOurs");
        assert_eq!(reason(Plan::new().remove(&named::<ConfigMap>("x")), Some(live("theirs"))), "NotOurs");
        assert_eq!(
            reason(Plan::new().ensure(named::<ConfigMap>("x")), Some(json!({"metadata": {}}))),
            "NotOurs"
        );
    }

    #[test]
    fn what_is_not_declared_is_not_touched() {
        assert_eq!(reason(Plan::new().ensure(named::<Deployment>("x")), None), "NotDeclared");
        assert_eq!(reason(Plan::new().remove(&named::<Secret>("x")), None), "NotDeclared");
    }

    #[test]
    fn another_namespace_is_not_touched() {
        let mut object = named::<ConfigMap>("x");
        object.meta_mut().namespace = Some("other".to_owned());
        assert_eq!(reason(Plan::new().ensure(object), None), "OtherNamespace");
        assert_eq!(reason(Plan::new().ensure(named::<Namespace>("x")), None), "OtherNamespace");
    }

    #[test]
    fn a_claim_is_removed_only_when_its_loss_is_meant() {
        let claim = named::<PersistentVolumeClaim>("x");
        assert_eq!(reason(Plan::new().remove(&claim), Some(live("ours"))), "HoldsData");
        assert_eq!(run(Plan::new().remove_with_data(&claim), Some(live("ours"))).unwrap().len(), 1);
    }

    #[test]
    fn removals_over_the_budget_hold_the_whole_plan_back() {
        let plan = |count: usize| {
            (0..count).fold(Plan::new().ensure(named::<ConfigMap>("kept")), |plan, index| {
                plan.remove(&named::<ConfigMap>(&format!("x{index}")))
            })
        };
        assert_eq!(run(plan(2), Some(live("ours"))).unwrap().len(), 3);
        assert_eq!(reason(plan(3), Some(live("ours"))), "OverBudget");
        assert_eq!(run(plan(3), None).unwrap().len(), 1, "what is gone already costs nothing");
    }

    #[test]
    fn an_object_that_is_vanishing_is_left_alone() {
        let mut live = live("ours");
        live["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(run(Plan::new().ensure(named::<ConfigMap>("x")), Some(live)), Ok(vec![]));
    }

    #[test]
    fn an_object_cannot_be_wanted_and_unwanted() {
        let plan = Plan::new().ensure(named::<ConfigMap>("x")).remove(&named::<ConfigMap>("x"));
        assert_eq!(reason(plan, None), "NamedTwice");
    }
}
