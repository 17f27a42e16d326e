//! What a node may do to pods: it makes mirrors of those that it runs by itself, and tells how its own are.

use pilothouse_value::{Status, Value, object};

use super::super::Operation;
use super::Asked;
use crate::authorization::references;

const MIRROR: &str = "kubernetes.io/config.mirror";

/// Checks what a node asks to do to a pod.
pub(super) fn check(asked: &Asked<'_, '_>) -> Result<(), Status> {
    match asked.attributes.subresource() {
        "" => pod(asked),
        "status" => status(asked),
        "eviction" => eviction(asked),
        other => asked.refuse(&format!(
            "unexpected pod subresource {other:?}, only 'status' and 'eviction' are allowed"
        )),
    }
}

fn runs_on(pod: &Value) -> &str {
    pod.str_at(&["spec", "nodeName"]).unwrap_or_default()
}

fn pod(asked: &Asked<'_, '_>) -> Result<(), Status> {
    let node = asked.node;
    match asked.attributes.operation {
        Operation::Create => mirror(asked),
        Operation::Delete if runs_on(asked.before()) == node => Ok(()),
        Operation::Delete => {
            asked.refuse(&format!("node {node:?} can only delete pods with spec.nodeName set to itself"))
        }
        other => asked.refuse(&format!(
            "unexpected operation {:?}, node {node:?} can only create and delete mirror pods",
            other.as_str()
        )),
    }
}

fn mirror(asked: &Asked<'_, '_>) -> Result<(), Status> {
    let (node, pod) = (asked.node, asked.object());
    if object::annotation(pod, MIRROR).is_none() {
        return asked.refuse(&format!(
            "pod does not have {MIRROR:?} annotation, node {node:?} can only create mirror pods"
        ));
    }
    if runs_on(pod) != node {
        return asked.refuse(&format!("node {node:?} can only create pods with spec.nodeName set to itself"));
    }
    let itself = format!("node {node:?} can only create pods with an owner reference set to itself");
    let owner = match object::owner_references(pod) {
        [] => return asked.refuse(&itself),
        [one] => one,
        _ => {
            return asked.refuse(&format!(
                "node {node:?} can only create pods with a single owner reference set to itself"
            ));
        }
    };
    let text = |field: &str| owner.str_at(&[field]).unwrap_or_default();
    let flag = |field: &str| owner.get(field).and_then(Value::as_bool).unwrap_or_default();
    if text("apiVersion") != "v1" || text("kind") != "Node" || text("name") != node {
        return asked.refuse(&itself);
    }
    if !flag("controller") {
        return asked.refuse(&format!(
            "node {node:?} can only create pods with a controller owner reference set to itself"
        ));
    }
    if flag("blockOwnerDeletion") {
        return asked.refuse(&format!("node {node:?} must not set blockOwnerDeletion on an owner reference"));
    }
    let Some(present) = asked.find("nodes", "", node) else {
        return Err(Status::not_found("", "node", node));
    };
    if text("uid") != object::uid(&present) {
        let (wanted, uid) = (text("uid"), object::uid(&present));
        return asked.refuse(&format!("node {node} UID mismatch: expected {wanted} got {uid}"));
    }
    match references::needs_api(pod) {
        Err(why) => asked.refuse(&format!("error checking mirror pod for API references: {why}")),
        Ok(Some(what)) => asked.refuse(&format!("node {node:?} can not create pods that reference {what}")),
        Ok(None) => Ok(()),
    }
}

fn status(asked: &Asked<'_, '_>) -> Result<(), Status> {
    if asked.attributes.operation != Operation::Update {
        return asked.unexpected_operation();
    }
    let (node, new, old) = (asked.node, asked.object(), asked.before());
    if runs_on(old) != node {
        return asked.refuse(&format!(
            "node {node:?} can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    let labels = |pod: &Value| object::labels(pod).cloned().unwrap_or_default();
    if labels(new) != labels(old) {
        return asked.refuse(&format!("node {node:?} cannot update labels through pod status"));
    }
    let differs = |field: &str| {
        let part = |pod: &Value| pod.at(&["status", field]).filter(|part| !part.is_null()).cloned();
        part(new) != part(old)
    };
    // The first of these texts has this spelling upstream.
    for (field, what) in [
        ("resourceClaimStatuses", "resource claim statues"),
        ("extendedResourceClaimStatus", "extended resource claim status"),
        ("nodeAllocatableResourceClaimStatuses", "node allocatable resource claim statuses"),
    ] {
        if differs(field) {
            return asked.refuse(&format!("node {node:?} cannot update {what}"));
        }
    }
    Ok(())
}

fn eviction(asked: &Asked<'_, '_>) -> Result<(), Status> {
    if asked.attributes.operation != Operation::Create {
        return asked.refuse(&format!("unexpected operation {}", asked.attributes.operation.as_str()));
    }
    let name = match &*asked.attributes.name {
        "" => object::name(asked.object()),
        name => name,
    };
    if name.is_empty() {
        return asked.refuse("could not determine pod from request data");
    }
    let Some(pod) = asked.find("pods", asked.attributes.namespace(), name) else {
        return Err(Status::not_found("", "pod", name));
    };
    if runs_on(&pod) == asked.node {
        return Ok(());
    }
    asked.refuse(&format!("node {} can only evict pods with spec.nodeName set to itself", asked.node))
}

/// Checks a request of a certificate for a pod.
pub(super) fn check_certificate(asked: &Asked<'_, '_>) -> Result<(), Status> {
    let attributes = asked.attributes;
    if attributes.operation != Operation::Create {
        return asked.refuse(&format!("unexpected operation {}", attributes.operation.as_str()));
    }
    if !attributes.subresource().is_empty() {
        return asked.refuse(&format!("unexpected subresource {}", attributes.subresource()));
    }
    let request = asked.object();
    let of = |field: &str| request.str_at(&["spec", field]).unwrap_or_default();
    let (node, namespace) = (of("nodeName"), attributes.namespace());
    // Upstream makes a Status of some of these, and of others not.
    let plain = |text: String| Err(Status::new(500, "", text));
    if node != asked.node {
        return asked.refuse(&format!(
            "PodCertificateRequest.Spec.NodeName={node:?}, which is not the requesting node {:?}",
            asked.node
        ));
    }
    let full = format!("{namespace}/{}", of("podName"));
    let Some(there) = asked.find("nodes", "", node) else {
        return plain(format!(
            "while retrieving node {node:?} named in the PodCertificateRequest: {}",
            Status::not_found("", "node", node).message
        ));
    };
    if of("nodeUID") != object::uid(&there) {
        return plain(format!(
            "PodCertificateRequest for pod {full:?} names node UID {:?}, inconsistent with the running node ({:?})",
            of("nodeUID"),
            object::uid(&there)
        ));
    }
    let Some(pod) = asked.find("pods", namespace, of("podName")) else {
        return plain(format!(
            "while retrieving pod {full:?} named in the PodCertificateRequest: {}",
            Status::not_found("", "pod", of("podName")).message
        ));
    };
    if of("podUID") != object::uid(&pod) {
        return plain(format!(
            "PodCertificateRequest for pod {full:?} contains pod UID ({:?}) which differs from running pod {:?}",
            of("podUID"),
            object::uid(&pod)
        ));
    }
    if runs_on(&pod) != node {
        return asked.refuse(&format!(
            "pod {full:?} is not running on node {node:?} named in the PodCertificateRequest"
        ));
    }
    if object::annotation(&pod, MIRROR).is_some() {
        return asked.refuse(&format!("pod {full:?} is a mirror pod"));
    }
    let account = of("serviceAccountName");
    let own = pod.str_at(&["spec", "serviceAccountName"]).unwrap_or_default();
    if account != own {
        return asked.refuse(&format!(
            "PodCertificateRequest for pod {full:?} contains serviceAccountName ({account:?}) that differs from running \
             pod ({own:?})"
        ));
    }
    let named = format!("{namespace}/{account}");
    let Some(found) = asked.find("serviceaccounts", namespace, account) else {
        return plain(format!(
            "while retrieving service account {named:?} named in the PodCertificateRequest: {}",
            Status::not_found("", "serviceaccount", account).message
        ));
    };
    if of("serviceAccountUID") != object::uid(&found) {
        return plain(format!(
            "PodCertificateRequest for pod {full:?} names service account UID {:?}, which differs from the running \
             service account ({:?})",
            of("serviceAccountUID"),
            object::uid(&found)
        ));
    }
    let signer = of("signerName");
    let mounts =
        pod.items_at(&["spec", "volumes"]).iter().flat_map(|one| one.items_at(&["projected", "sources"]));
    let mut signers = mounts.filter_map(|source| source.str_at(&["podCertificate", "signerName"]));
    let verb = "request-serviceaccounts-podcertificate-signer";
    if signers.any(|own| own == signer) || asked.may(verb, &signer.replace('/', ":"), account) {
        return Ok(());
    }
    asked.refuse(&format!(
        "pod {full:?} does not mount a podCertificate projected volume for signer {signer:?}"
    ))
}
