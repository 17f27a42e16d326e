//! NodeRestriction: a node changes itself, its lease, its pods and what belongs to them, and nothing else. Whether it may
//! write such objects at all is authorization's; here is what may be in them.

use pilothouse_value::{Status, Value, object};

use super::{Attributes, Operation, Plugin, certificates};
use crate::authentication::user::User;
use crate::authorization::rbac;
use crate::registry::resource;

mod node;
mod pods;

/// See the module.
pub(super) struct NodeRestriction;

/// The namespace of the leases of nodes.
const LEASES: &str = "kube-node-lease";
/// The signers of certificates that kubelets have.
const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

impl Plugin for NodeRestriction {
    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        let Some(node) = User::node_name(attributes.user()) else { return Ok(()) };
        let of = Asked { attributes, node };
        if node.is_empty() {
            let user = &attributes.user().name;
            return of.refuse(&format!("could not determine node from user {user:?}"));
        }
        let resource = attributes.resource();
        if !resource.is_built_in() {
            return Ok(());
        }
        match (&*resource.group, &*resource.plural) {
            ("", "pods") => pods::check(&of),
            ("", "nodes") => node::check(&of),
            ("", "persistentvolumeclaims") => of.claim(),
            ("", "serviceaccounts") => of.token(),
            ("coordination.k8s.io", "leases") => of.lease(),
            ("storage.k8s.io", "csinodes") => of.csi_node(),
            ("resource.k8s.io", "resourceslices") => of.slice(),
            ("certificates.k8s.io", "certificatesigningrequests")
                if attributes.state().tuning.any_kubelet_certificate =>
            {
                Ok(())
            }
            ("certificates.k8s.io", "certificatesigningrequests") => of.certificate(),
            ("certificates.k8s.io", "podcertificaterequests") => pods::check_certificate(&of),
            _ => Ok(()),
        }
    }
}

/// What a node asks for.
struct Asked<'a, 'b> {
    attributes: &'a Attributes<'b>,
    /// The node's name.
    node: &'a str,
}

impl Asked<'_, '_> {
    fn refuse(&self, why: &str) -> Result<(), Status> {
        Err(self.attributes.forbidden(why))
    }

    /// The object as it will be.
    fn object(&self) -> &Value {
        const NONE: &Value = &Value::Null;
        self.attributes.object.as_ref().unwrap_or(NONE)
    }

    /// The object as it is.
    fn before(&self) -> &Value {
        const NONE: &Value = &Value::Null;
        self.attributes.old.as_deref().unwrap_or(NONE)
    }

    fn unexpected_operation(&self) -> Result<(), Status> {
        self.refuse(&format!("unexpected operation {:?}", self.attributes.operation.as_str()))
    }

    /// Another object that the server keeps.
    fn find(&self, plural: &str, namespace: &str, name: &str) -> Option<std::sync::Arc<Value>> {
        let key = resource::key("", plural);
        self.attributes.state().store.get(&key, namespace, name).map(|found| found.value().clone())
    }

    fn claim(&self) -> Result<(), Status> {
        if self.attributes.subresource() != "status" {
            return self.refuse("may only update PVC status");
        }
        if self.attributes.operation != Operation::Update {
            return self.unexpected_operation();
        }
        let rest = |claim: &Value| {
            let mut claim = claim.clone();
            for field in ["resourceVersion", "managedFields"] {
                claim.take(&["metadata", field]);
            }
            for field in ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"] {
                claim.take(&["status", field]);
            }
            claim
        };
        if rest(self.object()) == rest(self.before()) {
            return Ok(());
        }
        // Upstream adds what differs, in the form of its own library.
        self.refuse(&format!(
            "node {:?} is not allowed to update fields other than status.quantity and status.conditions",
            self.node
        ))
    }

    fn token(&self) -> Result<(), Status> {
        let attributes = self.attributes;
        if attributes.operation != Operation::Create || attributes.subresource() != "token" {
            return Ok(());
        }
        let to = |field: &str| self.object().str_at(&["spec", "boundObjectRef", field]).unwrap_or_default();
        if to("apiVersion") != "v1" || to("kind") != "Pod" || to("name").is_empty() {
            return self.refuse("node requested token not bound to a pod");
        }
        let uid = to("uid");
        if uid.is_empty() {
            return self.refuse("node requested token with a pod binding without a uid");
        }
        let Some(pod) = self.find("pods", attributes.namespace(), to("name")) else {
            return Err(Status::not_found("", "pod", to("name")));
        };
        if uid != object::uid(&pod) {
            return self.refuse(&format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            ));
        }
        if pod.str_at(&["spec", "nodeName"]) != Some(self.node) {
            return self.refuse("node requested token bound to a pod scheduled on a different node");
        }
        if attributes.state().tuning.node_audiences { self.audience(&pod) } else { Ok(()) }
    }

    /// A node asks only for tokens that the pod mounts, or that its roles name.
    fn audience(&self, pod: &Value) -> Result<(), Status> {
        let audiences = self.object().items_at(&["spec", "audiences"]);
        let audience = match audiences {
            [] => "",
            [one] => one.as_str().unwrap_or_default(),
            _ => return self.refuse("node may only request 0 or 1 audiences"),
        };
        let (found, errors) = self.pod_mounts(pod, audience);
        if found {
            return Ok(());
        }
        if !errors.is_empty() {
            let errors =
                if let [one] = errors.as_slice() { one.clone() } else { format!("[{}]", errors.join(", ")) };
            return self.refuse(&format!("error validating audience {audience:?}: {errors}"));
        }
        if self.may("request-serviceaccounts-token-audience", audience, &self.attributes.name) {
            return Ok(());
        }
        let user = &self.attributes.user().name;
        self.refuse(&format!("{user} is not authorized to request tokens for audience {audience:?}"))
    }

    fn pod_mounts(&self, pod: &Value, audience: &str) -> (bool, Vec<String>) {
        let mut errors = Vec::new();
        for volume in pod.items_at(&["spec", "volumes"]) {
            let asks = |source: &Value| {
                let token = source.get("serviceAccountToken").filter(|token| !token.is_null());
                token.is_some_and(|token| token.str_at(&["audience"]).unwrap_or_default() == audience)
            };
            if volume.items_at(&["projected", "sources"]).iter().any(asks) {
                return (true, errors);
            }
            let driver = match self.driver(pod, volume) {
                Ok(Some(driver)) => driver,
                Ok(None) => continue,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            let key = resource::key("storage.k8s.io", "csidrivers");
            let Some(found) = self.attributes.state().store.get(&key, "", &driver) else {
                errors.push(Status::not_found("storage.k8s.io", "csidriver", &driver).message);
                continue;
            };
            let requests = found.value().items_at(&["spec", "tokenRequests"]);
            if requests.iter().any(|one| one.str_at(&["audience"]).unwrap_or_default() == audience) {
                return (true, errors);
            }
        }
        (false, errors)
    }

    /// The driver that a volume is mounted by.
    fn driver(&self, pod: &Value, volume: &Value) -> Result<Option<String>, String> {
        if let Some(driver) = volume.str_at(&["csi", "driver"]) {
            return Ok(Some(driver.to_owned()));
        }
        let claim = match volume.str_at(&["persistentVolumeClaim", "claimName"]) {
            Some(name) => name.to_owned(),
            None if volume.at(&["ephemeral", "volumeClaimTemplate"]).is_some() => {
                format!("{}-{}", object::name(pod), volume.str_at(&["name"]).unwrap_or_default())
            }
            None => return Ok(None),
        };
        let gone = |plural: &str, name: &str| Status::not_found("", plural, name).message;
        let found = self
            .find("persistentvolumeclaims", self.attributes.namespace(), &claim)
            .ok_or_else(|| gone("persistentvolumeclaim", &claim))?;
        let name = found.str_at(&["spec", "volumeName"]).unwrap_or_default();
        let volume =
            self.find("persistentvolumes", "", name).ok_or_else(|| gone("persistentvolume", name))?;
        Ok(volume.str_at(&["spec", "csi", "driver"]).map(str::to_owned))
    }

    /// Whether the node's roles say so.
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let attributes = self.attributes;
        let group = &attributes.resource().group;
        let asked = rbac::Attributes {
            version: &attributes.resource().version,
            namespace: attributes.namespace(),
            name,
            ..rbac::Attributes::of_resource(attributes.user(), verb, group, resource)
        };
        attributes.state().authorizer.authorize(&asked).allowed
    }

    fn lease(&self) -> Result<(), Status> {
        if self.attributes.namespace() != LEASES {
            return self.refuse(&format!("can only access leases in the {LEASES:?} system namespace"));
        }
        if self.own_name() == self.node {
            return Ok(());
        }
        self.refuse("can only access node lease with the same name as the requesting node")
    }

    fn csi_node(&self) -> Result<(), Status> {
        if self.own_name() == self.node {
            return Ok(());
        }
        self.refuse("can only access CSINode with the same name as the requesting node")
    }

    fn own_name(&self) -> &str {
        match self.attributes.operation {
            Operation::Create => object::name(self.object()),
            _ => &self.attributes.name,
        }
    }

    fn slice(&self) -> Result<(), Status> {
        let (slice, verb) = match self.attributes.operation {
            Operation::Create => (self.object(), "create"),
            Operation::Delete => (self.before(), "delete"),
            _ => return Ok(()),
        };
        if slice.str_at(&["spec", "nodeName"]) == Some(self.node) {
            return Ok(());
        }
        self.refuse(&format!("can only {verb} ResourceSlice with the same NodeName as the requesting node"))
    }

    fn certificate(&self) -> Result<(), Status> {
        let request = self.object();
        let signer = request.str_at(&["spec", "signerName"]).unwrap_or_default();
        if self.attributes.operation != Operation::Create || !KUBELET_SIGNERS.contains(&signer) {
            return Ok(());
        }
        let text = request.str_at(&["spec", "request"]).unwrap_or_default();
        let Some(name) = certificates::common_name(text) else {
            return self.refuse("unable to parse csr: PEM block type must be CERTIFICATE REQUEST");
        };
        if name == format!("system:node:{}", self.node) {
            return Ok(());
        }
        self.refuse(&format!("can only create a node CSR with CN=system:node:{}", self.node))
    }
}
