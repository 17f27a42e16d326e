//! The fields that field selectors of built-in kinds may name (upstream: `AddFieldLabelConversionFunc` in
//! pkg/apis/*/v1/conversion.go).

use std::borrow::Cow;

use pilothouse_value::{Gvk, Value};

/// A field that a selector may not name. Its text is what a server answers with status 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldLabelError {
    /// The kind has selectable fields, and this is none of them.
    #[error("field label not supported: {0}")]
    NotSupported(String),
    /// As [`Self::NotSupported`], in the words of Jobs.
    #[error("field label {0:?} not supported for {1}")]
    NotSupportedFor(String, &'static str),
    /// As [`Self::NotSupported`], in the words of ResourceSlices.
    #[error("field label not supported for {api_version}, Kind={kind}: {field}")]
    NotSupportedForKind {
        /// The field.
        field: String,
        /// The version of the kind, such as `resource.k8s.io/v1`.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// The kind has no selectable fields beyond its name and namespace.
    #[error("{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", pilothouse_value::field::quote(.0))]
    NotKnown(String),
}

/// The fields beyond name and namespace, or `None` for kinds that declare nothing.
fn declared(gvk: &Gvk) -> Option<&'static [&'static str]> {
    Some(match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "Pod") => &[
            "spec.nodeName",
            "spec.host",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "Node") => &["spec.unschedulable"],
        ("", "Namespace") => &["status.phase"],
        ("", "Secret") => &["type"],
        ("", "Service") => &["spec.clusterIP", "spec.type"],
        ("", "ReplicationController") => &["status.replicas"],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => &[
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
        ("batch", "Job") => &["status.successful"],
        ("certificates.k8s.io", "CertificateSigningRequest" | "ClusterTrustBundle") => &["spec.signerName"],
        ("certificates.k8s.io", "PodCertificateRequest") => {
            &["spec.signerName", "spec.podName", "spec.nodeName"]
        }
        ("resource.k8s.io", "ResourceSlice") => &["spec.nodeName", "spec.driver", "spec.pool.name"],
        _ => return None,
    })
}

/// Whether field selectors of the kind may name a field.
///
/// # Errors
/// [`FieldLabelError`] if they may not.
pub fn check_field_label(gvk: &Gvk, field: &str) -> Result<(), FieldLabelError> {
    let declared = declared(gvk);
    // Some kinds that live in no namespace do not know the field.
    const NOWHERE: [&str; 6] = [
        "CertificateSigningRequest",
        "ClusterTrustBundle",
        "Namespace",
        "Node",
        "PodCertificateRequest",
        "ResourceSlice",
    ];
    let known = match field {
        "metadata.namespace" => declared.is_none() || !NOWHERE.contains(&gvk.kind.as_str()),
        field => field == "metadata.name",
    };
    match declared {
        _ if known => Ok(()),
        Some(fields) if fields.contains(&field) => Ok(()),
        Some(_) if gvk.kind == "Job" => Err(FieldLabelError::NotSupportedFor(field.to_owned(), "Job")),
        Some(_) if gvk.kind == "ResourceSlice" => Err(FieldLabelError::NotSupportedForKind {
            field: field.to_owned(),
            api_version: gvk.api_version(),
            kind: gvk.kind.clone(),
        }),
        Some(_) => Err(FieldLabelError::NotSupported(field.to_owned())),
        None => Err(FieldLabelError::NotKnown(field.to_owned())),
    }
}

/// The value that a selector compares with; empty where the object has none.
pub fn field_value<'v>(object: &'v Value, field: &str) -> Cow<'v, str> {
    let text = |path: &[&str]| Cow::Borrowed(object.str_at(path).unwrap_or_default());
    match field {
        "spec.host" => text(&["spec", "nodeName"]),
        // Booleans and numbers are compared as text, with their zero where they are absent.
        "spec.hostNetwork" | "spec.unschedulable" => {
            let path: Vec<&str> = field.split('.').collect();
            Cow::Borrowed(if object.at(&path).and_then(Value::as_bool) == Some(true) {
                "true"
            } else {
                "false"
            })
        }
        "status.replicas" => {
            Cow::Owned(object.i64_at(&["status", "replicas"]).unwrap_or_default().to_string())
        }
        "status.successful" => {
            Cow::Owned(object.i64_at(&["status", "succeeded"]).unwrap_or_default().to_string())
        }
        "status.podIPs" => {
            let ips = object.items_at(&["status", "podIPs"]).iter().filter_map(|ip| ip.str_at(&["ip"]));
            Cow::Owned(ips.collect::<Vec<_>>().join(","))
        }
        // The component that reported an event has had several homes.
        "source" => match object.str_at(&["source", "component"]) {
            Some(component) if !component.is_empty() => Cow::Borrowed(component),
            _ => text(&["reportingComponent"]),
        },
        _ => {
            let path: Vec<&str> = field.split('.').collect();
            text(&path)
        }
    }
}

#[cfg(test)]
mod tests {
    use pilothouse_value::json;

    use super::*;

    #[test]
    fn only_declared_fields_select() {
        let pod = Gvk::new("", "v1", "Pod");
        assert_eq!(check_field_label(&pod, "status.phase"), Ok(()));
        let error = check_field_label(&pod, "spec.foo").unwrap_err();
        assert_eq!(error.to_string(), "field label not supported: spec.foo");
        let error = check_field_label(&Gvk::new("apps", "v1", "Deployment"), "spec.replicas").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"spec.replicas\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }

    #[test]
    fn values_are_compared_as_text() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}, "status": {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]}});
        for (field, value) in [
            ("metadata.name", "a"),
            ("spec.host", "n"),
            ("spec.hostNetwork", "false"),
            ("status.podIPs", "1.1.1.1,::1"),
            ("status.phase", ""),
        ] {
            assert_eq!(field_value(&pod, field), value, "{field}");
        }
        assert_eq!(field_value(&json!({"status": {"succeeded": 2}}), "status.successful"), "2");
    }
}
