//! Mode Node: a node reads what its pods refer to, and writes itself, its lease and its pods.
//!
//! Upstream keeps a graph of what refers to what; here the objects themselves are looked at, when a node asks.

use std::sync::Arc;

use pilothouse_store::Store;
use pilothouse_value::selector::FieldSelector;
use pilothouse_value::{Value, object};

use super::{Opinion, Verdict};
use crate::authentication::user::User;
use crate::authorization::rbac::{Attributes, Rule};
use crate::authorization::{bootstrap_rbac, references};
use crate::registry::resource;

const LEASES: &str = "kube-node-lease";
const MIRROR: &str = "kubernetes.io/config.mirror";

/// See the module.
pub(crate) struct NodeAuthorizer {
    store: Store,
    /// What every node may: the rules of the role `system:node`.
    rules: Vec<Rule>,
}

impl std::fmt::Debug for NodeAuthorizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeAuthorizer").finish_non_exhaustive()
    }
}

/// What the pods of a node may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Secret,
    ConfigMap,
    Claim,
    Volume,
    ResourceClaim,
    Attachment,
    Account,
    Slice,
    Pod,
    CertificateRequest,
}

type Answer = Result<(), String>;

impl NodeAuthorizer {
    /// An authorizer over the objects of this store.
    pub(crate) fn new(store: Store) -> NodeAuthorizer {
        let role = bootstrap_rbac::entries("")
            .find(|entry| entry.plural == "clusterroles" && object::name(&entry.object) == "system:node");
        let rules = role.map(|entry| Rule::read_all(&entry.object)).unwrap_or_default();
        NodeAuthorizer { store, rules }
    }

    pub(crate) fn authorize(&self, asked: &Attributes<'_>) -> Verdict {
        let Some(node) = asked.user.node_name() else { return Verdict::new(Opinion::None, "") };
        if node.is_empty() {
            let user: &User = asked.user;
            return Verdict::new(Opinion::None, format!("unknown node for user {:?}", user.name));
        }
        match self.decide(node, asked) {
            Ok(()) => Verdict::new(Opinion::Allow, ""),
            Err(why) => Verdict::new(Opinion::None, why),
        }
    }

    fn decide(&self, node: &str, asked: &Attributes<'_>) -> Answer {
        if asked.is_resource {
            match (asked.group, asked.resource) {
                ("", "secrets") => return self.read(node, Kind::Secret, asked),
                ("", "configmaps") => return self.read(node, Kind::ConfigMap, asked),
                ("", "persistentvolumeclaims") if asked.subresource == "status" => {
                    return match asked.verb {
                        "update" | "patch" => self.related(node, Kind::Claim, asked),
                        _ => refuse("can only get/update/patch this type"),
                    };
                }
                ("", "persistentvolumeclaims") => return self.get(node, Kind::Claim, asked),
                ("", "persistentvolumes") => return self.get(node, Kind::Volume, asked),
                ("resource.k8s.io", "resourceclaims") => return self.get(node, Kind::ResourceClaim, asked),
                ("storage.k8s.io", "volumeattachments") => return self.get(node, Kind::Attachment, asked),
                ("", "serviceaccounts") => return self.account(node, asked),
                ("coordination.k8s.io", "leases") => return lease(node, asked),
                ("storage.k8s.io", "csinodes") => return csi_node(node, asked),
                ("resource.k8s.io", "resourceslices") => return self.slice(node, asked),
                ("", "nodes") => return own_node(node, asked),
                ("", "pods") => return self.pod(node, asked),
                ("certificates.k8s.io", "podcertificaterequests") => return self.certificate(node, asked),
                _ => {}
            }
        }
        if self.rules.iter().any(|rule| rule.allows(asked)) { Ok(()) } else { refuse("") }
    }

    fn read(&self, node: &str, kind: Kind, asked: &Attributes<'_>) -> Answer {
        if !matches!(asked.verb, "get" | "list" | "watch") {
            return refuse("can only read resources of this type");
        }
        if !asked.subresource.is_empty() {
            return refuse("cannot read subresource");
        }
        if asked.namespace.is_empty() {
            return refuse("can only read namespaced object of this type");
        }
        self.related(node, kind, asked)
    }

    fn get(&self, node: &str, kind: Kind, asked: &Attributes<'_>) -> Answer {
        if asked.verb != "get" {
            return refuse("can only get individual resources of this type");
        }
        if !asked.subresource.is_empty() {
            return refuse("cannot get subresource");
        }
        self.related(node, kind, asked)
    }

    fn account(&self, node: &str, asked: &Attributes<'_>) -> Answer {
        if asked.verb == "get" && asked.subresource.is_empty() {
            return self.read(node, Kind::Account, asked);
        }
        if asked.verb != "create" || asked.name.is_empty() {
            return refuse("can only create tokens for individual service accounts");
        }
        if asked.subresource != "token" {
            return refuse("can only create token subresource of serviceaccount");
        }
        self.related(node, Kind::Account, asked)
    }

    fn slice(&self, node: &str, asked: &Attributes<'_>) -> Answer {
        if !asked.subresource.is_empty() {
            return refuse("cannot authorize ResourceSlice subresources");
        }
        match asked.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.related(node, Kind::Slice, asked),
            "watch" | "list" | "deletecollection" if selects(asked, node) => Ok(()),
            "watch" | "list" | "deletecollection" => {
                refuse("can only list/watch/deletecollection resourceslices with nodeName field selector")
            }
            _ => refuse(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn pod(&self, node: &str, asked: &Attributes<'_>) -> Answer {
        match (asked.subresource, asked.verb) {
            ("", "get") => self.get(node, Kind::Pod, asked),
            ("", "list" | "watch") if selects(asked, node) => Ok(()),
            ("", "list" | "watch") if !asked.name.is_empty() => self.related(node, Kind::Pod, asked),
            ("", "list" | "watch") => refuse("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Ok(()),
            _ => refuse(""),
        }
    }

    fn certificate(&self, node: &str, asked: &Attributes<'_>) -> Answer {
        if !asked.subresource.is_empty() {
            return refuse("nodes may not access the status subresource of PodCertificateRequests");
        }
        match asked.verb {
            "create" => Ok(()),
            "get" => self.related(node, Kind::CertificateRequest, asked),
            "list" | "watch" if selects(asked, node) => Ok(()),
            "list" | "watch" => {
                refuse("can only list/watch podcertificaterequests with nodeName field selector")
            }
            verb => Err(format!("nodes may not {verb} podcertificaterequests")),
        }
    }

    /// Whether an object belongs to a node, or to one of its pods.
    fn related(&self, node: &str, kind: Kind, asked: &Attributes<'_>) -> Answer {
        let (namespace, name) = (asked.namespace, asked.name);
        if name.is_empty() {
            return refuse("No Object name found");
        }
        let found = match kind {
            Kind::Pod => self.names_node("", "pods", namespace, name, &["spec", "nodeName"], node),
            Kind::Slice => {
                self.names_node("resource.k8s.io", "resourceslices", "", name, &["spec", "nodeName"], node)
            }
            Kind::Attachment => {
                self.names_node("storage.k8s.io", "volumeattachments", "", name, &["spec", "nodeName"], node)
            }
            Kind::CertificateRequest => {
                let plural = "podcertificaterequests";
                self.names_node("certificates.k8s.io", plural, namespace, name, &["spec", "nodeName"], node)
            }
            Kind::Volume => self.volume(node, name),
            Kind::Secret => {
                self.any_pod(node, namespace, |pod| references::secrets(pod).contains(name))
                    || self.secret_of_volume(node, namespace, name)
            }
            Kind::ConfigMap => {
                self.any_pod(node, namespace, |pod| references::config_maps(pod).contains(name))
            }
            Kind::Claim => self.any_pod(node, namespace, |pod| references::claims(pod).contains(name)),
            Kind::ResourceClaim => {
                self.any_pod(node, namespace, |pod| references::resource_claims(pod).contains(name))
            }
            Kind::Account => {
                self.any_pod(node, namespace, |pod| pod.str_at(&["spec", "serviceAccountName"]) == Some(name))
            }
        };
        match found {
            true => Ok(()),
            false => Err(format!("no relationship found between node '{node}' and this object")),
        }
    }

    fn names_node(
        &self,
        group: &str,
        plural: &str,
        namespace: &str,
        name: &str,
        path: &[&str],
        node: &str,
    ) -> bool {
        let found = self.store.get(&resource::key(group, plural), namespace, name);
        found.is_some_and(|found| found.value().str_at(path) == Some(node))
    }

    /// Whether a pod of the node in this namespace is so. Mirrors of what the node runs by itself refer to nothing.
    fn any_pod(&self, node: &str, namespace: &str, is_so: impl Fn(&Value) -> bool) -> bool {
        let snapshot = self.store.snapshot();
        let mut pods = snapshot.list(&resource::key("", "pods"), Some(namespace), None);
        pods.any(|entry| {
            let pod: &Value = entry.object.value();
            pod.str_at(&["spec", "nodeName"]) == Some(node)
                && object::annotation(pod, MIRROR).is_none()
                && is_so(pod)
        })
    }

    fn is_mounted(&self, node: &str, volume: &Value) -> bool {
        let claim = |field: &str| volume.str_at(&["spec", "claimRef", field]).unwrap_or_default();
        let name = claim("name");
        !name.is_empty()
            && self.any_pod(node, claim("namespace"), |pod| references::claims(pod).contains(name))
    }

    fn volume(&self, node: &str, name: &str) -> bool {
        let found = self.store.get(&resource::key("", "persistentvolumes"), "", name);
        found.is_some_and(|volume| self.is_mounted(node, volume.value()))
    }

    fn secret_of_volume(&self, node: &str, namespace: &str, name: &str) -> bool {
        let snapshot = self.store.snapshot();
        let mut volumes = snapshot.list(&resource::key("", "persistentvolumes"), None, None);
        volumes.any(|entry| {
            let volume: &Arc<Value> = entry.object.value();
            references::of_persistent_volume(volume).contains(&(namespace, name))
                && self.is_mounted(node, volume)
        })
    }
}

fn refuse(why: &str) -> Answer {
    Err(why.to_owned())
}

/// Whether a list is of what is on the node, and of nothing else.
fn selects(asked: &Attributes<'_>, node: &str) -> bool {
    let selector = FieldSelector::parse(asked.field_selector).unwrap_or_default();
    selector.requirements.iter().any(|one| one.field == "spec.nodeName" && !one.negated && one.value == node)
}

fn lease(node: &str, asked: &Attributes<'_>) -> Answer {
    if !matches!(asked.verb, "get" | "create" | "update" | "patch" | "delete") {
        return refuse("can only get, create, update, patch, or delete a node lease");
    }
    if asked.namespace != LEASES {
        return Err(format!("can only access leases in the {LEASES:?} system namespace"));
    }
    if asked.verb != "create" && asked.name != node {
        return refuse("can only access node lease with the same name as the requesting node");
    }
    Ok(())
}

fn csi_node(node: &str, asked: &Attributes<'_>) -> Answer {
    match (asked.subresource, asked.verb) {
        ("", "get" | "create" | "update" | "patch" | "delete") => {}
        ("", _) => return refuse("can only get, create, update, patch, or delete a CSINode"),
        // The gate is off.
        ("status", _) => return refuse("CSINode status access requires CSIVolumeHealth feature"),
        _ => return refuse("cannot authorize CSINode subresources"),
    }
    if asked.verb != "create" && asked.name != node {
        return refuse("can only access CSINode with the same name as the requesting node");
    }
    Ok(())
}

fn own_node(node: &str, asked: &Attributes<'_>) -> Answer {
    match (asked.subresource, asked.verb, asked.name) {
        ("", "create" | "update" | "patch", _) | ("status", "update" | "patch", _) => Ok(()),
        ("", "get" | "list" | "watch", name) if name == node => Ok(()),
        ("", "get" | "list" | "watch", "") => {
            Err(format!("node '{node}' cannot read all nodes, only its own Node object"))
        }
        ("", "get" | "list" | "watch", name) => {
            Err(format!("node '{node}' cannot read '{name}', only its own Node object"))
        }
        _ => refuse(""),
    }
}
