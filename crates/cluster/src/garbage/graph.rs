//! Who owns whom: every object by its uid, and the objects that name it as an owner.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::RwLock;
use pilothouse_value::{Value, object};

use super::{FOREGROUND, ORPHAN};
use crate::discovery::Kind;
use crate::harness::informer::{Change, Object};

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Arc<Kind>,
    pub(super) object: Object,
}

impl Node {
    /// Its namespace, empty if it has none, and its name.
    pub(super) fn key(&self) -> (&str, &str) {
        (object::namespace(&self.object).unwrap_or_default(), object::name(&self.object))
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Graph(RwLock<Inner>);

#[derive(Debug, Default)]
struct Inner {
    nodes: HashMap<String, Arc<Node>>,
    /// The uids of those that name an owner, by the owner's uid. The owner need not exist.
    dependents: HashMap<String, HashSet<String>>,
}

impl Graph {
    pub(super) fn get(&self, uid: &str) -> Option<Arc<Node>> {
        self.0.read().nodes.get(uid).cloned()
    }

    /// The objects that name this owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Arc<Node>> {
        let inner = self.0.read();
        let uids = inner.dependents.get(uid).into_iter().flatten();
        uids.filter_map(|uid| inner.nodes.get(uid)).cloned().collect()
    }

    /// Takes in a change; says which objects are to be looked at because of it.
    pub(super) fn see(&self, kind: &Arc<Kind>, change: &Change) -> Vec<String> {
        let mut look = Vec::new();
        let mut inner = self.0.write();
        // The same name may have come back as another object while a watch was broken.
        let replaced = change
            .old
            .as_ref()
            .filter(|old| change.new.as_ref().is_none_or(|new| object::uid(new) != object::uid(old)));
        if let Some(gone) = replaced {
            inner.remove(gone);
            look.extend(inner.dependents.get(object::uid(gone)).into_iter().flatten().cloned());
            // Owners may be waiting for just this.
            look.extend(owners(gone).map(str::to_owned));
        }
        let Some(new) = &change.new else { return look };
        let before = inner.nodes.get(object::uid(new)).map(|node| node.object.clone());
        if let Some(before) = &before {
            inner.unlink(before);
        }
        inner.link(kind, new);
        let same = |a: &Value, b: &Value| {
            object::owner_references(a) == object::owner_references(b)
                && object::deletion_timestamp(a) == object::deletion_timestamp(b)
                && a.items_at(&["metadata", "finalizers"]) == b.items_at(&["metadata", "finalizers"])
        };
        if before.as_ref().is_some_and(|before| same(before, new)) {
            return look;
        }
        let waits = object::has_finalizer(new, FOREGROUND) || object::has_finalizer(new, ORPHAN);
        if !object::owner_references(new).is_empty() || object::deletion_timestamp(new).is_some() && waits {
            look.push(object::uid(new).to_owned());
        }
        look.extend(before.iter().flat_map(|before| owners(before)).map(str::to_owned));
        look
    }
}

impl Inner {
    fn link(&mut self, kind: &Arc<Kind>, object: &Object) {
        let uid = object::uid(object);
        for owner in owners(object) {
            self.dependents.entry(owner.to_owned()).or_default().insert(uid.to_owned());
        }
        self.nodes.insert(uid.to_owned(), Arc::new(Node { kind: kind.clone(), object: object.clone() }));
    }

    fn unlink(&mut self, object: &Value) {
        for owner in owners(object) {
            if let Some(dependents) = self.dependents.get_mut(owner) {
                dependents.remove(object::uid(object));
                if dependents.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }

    fn remove(&mut self, object: &Value) {
        // What is unlinked is what was linked: the last state may name other owners than the state seen before.
        if let Some(node) = self.nodes.remove(object::uid(object)) {
            self.unlink(&node.object);
        }
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    object::owner_references(object).iter().filter_map(|reference| reference.str_at(&["uid"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    fn kind() -> Arc<Kind> {
        Arc::new(Kind {
            group: String::new(),
            version: "v1".to_owned(),
            resource: "configmaps".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespaced: true,
        })
    }

    fn object(uid: &str, owners: &[&str]) -> Object {
        let owners: Vec<Value> = owners.iter().map(|uid| json!({"uid": uid})).collect();
        let mut object = json!({"metadata": {"name": uid, "namespace": "ns", "uid": uid}});
        object.set(&["metadata", "ownerReferences"], owners);
        Arc::new(object)
    }

    fn put(graph: &Graph, old: Option<&Object>, new: Option<&Object>) -> Vec<String> {
        graph.see(&kind(), &Change { old: old.cloned(), new: new.cloned() })
    }

    fn names(graph: &Graph, owner: &str) -> Vec<String> {
        let mut names: Vec<String> =
            graph.dependents(owner).iter().map(|node| object::name(&node.object).to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn dependents_are_known_before_their_owner() {
        let graph = Graph::default();
        let (a, b) = (object("a", &["owner"]), object("b", &["owner", "other"]));
        assert_eq!(put(&graph, None, Some(&a)), ["a"]);
        assert_eq!(put(&graph, None, Some(&b)), ["b"]);
        assert_eq!(put(&graph, None, Some(&object("owner", &[]))), Vec::<String>::new());
        assert_eq!(names(&graph, "owner"), ["a", "b"]);
        assert_eq!(names(&graph, "other"), ["b"]);
    }

    #[test]
    fn a_change_that_is_not_about_owners_makes_nobody_look() {
        let graph = Graph::default();
        let a = object("a", &["owner"]);
        put(&graph, None, Some(&a));
        let mut changed = (*a).clone();
        changed.set(&["data"], json!({"k": "v"}));
        assert_eq!(put(&graph, Some(&a), Some(&Arc::new(changed))), Vec::<String>::new());
    }

    #[test]
    fn when_an_object_goes_its_dependents_and_its_owners_are_looked_at() {
        let graph = Graph::default();
        let (middle, leaf) = (object("middle", &["top"]), object("leaf", &["middle"]));
        put(&graph, None, Some(&middle));
        put(&graph, None, Some(&leaf));
        let mut look = put(&graph, Some(&middle), None);
        look.sort();
        assert_eq!(look, ["leaf", "top"]);
        assert_eq!(names(&graph, "top"), Vec::<String>::new());
        assert!(graph.get("middle").is_none());
    }

    #[test]
    fn an_owner_given_up_is_looked_at() {
        let graph = Graph::default();
        let before = object("a", &["first", "second"]);
        put(&graph, None, Some(&before));
        let mut look = put(&graph, Some(&before), Some(&object("a", &["second"])));
        look.sort();
        look.dedup();
        assert_eq!(look, ["a", "first", "second"]);
        assert_eq!(names(&graph, "first"), Vec::<String>::new());
    }
}
