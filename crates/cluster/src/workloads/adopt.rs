//! Which objects a controller owns: those with a controller reference to it. Orphans that its selector matches are
//! adopted, and owned ones that it no longer matches are released (`pkg/controller/controller_ref_manager.go`).

use pilothouse_value::selector::LabelSelector;
use pilothouse_value::{Gvr, Value, json, object};

use crate::harness::plan::Plan;

/// The candidates that `owner` owns, those that this plan adopts included.
pub(crate) fn claim<'a>(
    owner: &Value,
    selector: &LabelSelector,
    resource: &Gvr,
    candidates: impl IntoIterator<Item = &'a Value>,
    plan: &mut Plan,
) -> Vec<&'a Value> {
    let owner_is_going = object::deletion_timestamp(owner).is_some();
    let mut owned = Vec::new();
    for candidate in candidates {
        let matches = selector.matches(object::labels(candidate));
        match object::controller_of(candidate).and_then(|r| r.str_at(&["uid"])) {
            Some(uid) if uid == object::uid(owner) => {
                if matches {
                    owned.push(candidate);
                } else if !owner_is_going {
                    plan.patch(resource, candidate, without_owner(candidate, uid));
                }
            }
            Some(_) => {}
            None if matches && !owner_is_going && object::deletion_timestamp(candidate).is_none() => {
                let mut references = object::owner_references(candidate).to_vec();
                references.push(object::controller_reference(owner));
                plan.patch(resource, candidate, owners_patch(candidate, references));
                owned.push(candidate);
            }
            None => {}
        }
    }
    owned
}

/// A merge patch that takes the references to `uid` off an object; it holds for that very object and state only.
pub(crate) fn without_owner(target: &Value, uid: &str) -> Value {
    let keep = object::owner_references(target).iter().filter(|r| r.str_at(&["uid"]) != Some(uid));
    owners_patch(target, keep.cloned().collect())
}

/// A merge patch that replaces the owner references of an object, in that very state only.
pub(crate) fn owners_patch(target: &Value, references: Vec<Value>) -> Value {
    let references = if references.is_empty() { Value::Null } else { references.into() };
    let mut patch = json!({"metadata": {
        "uid": object::uid(target), "resourceVersion": object::resource_version(target),
    }});
    patch.set(&["metadata", "ownerReferences"], references);
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::plan::Intent;
    use crate::resources::PODS;

    fn pod(name: &str, app: &str, owner: Option<&str>) -> Value {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": {"app": app}}});
        if let Some(uid) = owner {
            pod.set(&["metadata", "ownerReferences"], json!([{"uid": uid, "controller": true}]));
        }
        pod
    }

    #[test]
    fn orphans_are_adopted_and_strangers_left_alone() {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "rs", "uid": "me"}});
        let selector = LabelSelector::from_object(&json!({"matchLabels": {"app": "a"}})).unwrap();
        let pods = [
            pod("mine", "a", Some("me")),
            pod("mine-no-longer", "b", Some("me")),
            pod("orphan", "a", None),
            pod("other-orphan", "b", None),
            pod("theirs", "a", Some("them")),
        ];
        let mut plan = Plan::default();
        let owned = claim(&owner, &selector, &PODS, &pods, &mut plan);
        assert_eq!(owned.iter().map(|pod| object::name(pod)).collect::<Vec<_>>(), ["mine", "orphan"]);
        let patched: Vec<(&str, usize)> = plan
            .intents
            .iter()
            .map(|intent| match intent {
                Intent::Patch { name, patch, .. } => (name.as_str(), object::owner_references(patch).len()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(patched, [("mine-no-longer", 0), ("orphan", 1)]);
    }

    #[test]
    fn an_owner_that_is_being_deleted_adopts_nothing() {
        let owner =
            json!({"metadata": {"name": "rs", "uid": "me", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let selector = LabelSelector::from_object(&json!({"matchLabels": {"app": "a"}})).unwrap();
        let mut plan = Plan::default();
        assert!(claim(&owner, &selector, &PODS, &[pod("orphan", "a", None)], &mut plan).is_empty());
        assert_eq!(plan.intents, []);
    }
}
