//! The CustomResourceDefinitions. Their schemas accept what Kanister's accept, and have no rule that Kanister's do not have.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::{GROUP, VERSION};

/// The three definitions: ActionSet, Blueprint, Profile.
///
/// # Errors
/// Never with the schemas of this file; a test parses them.
pub fn crds() -> Result<Vec<CustomResourceDefinition>, serde_json::Error> {
    documents().into_iter().map(serde_json::from_value).collect()
}

fn documents() -> [Value; 3] {
    [
        crd("ActionSet", "actionset", &action_set(), &columns()),
        crd("Blueprint", "blueprint", &blueprint(), &json!([])),
        crd("Profile", "profile", &profile(), &json!([])),
    ]
}

fn crd(kind: &str, singular: &str, properties: &Value, columns: &Value) -> Value {
    let plural = format!("{singular}s");
    let mut version = json!({
        "name": VERSION, "served": true, "storage": true,
        "schema": {"openAPIV3Schema": with_meta(properties)},
    });
    if columns.as_array().is_some_and(|c| !c.is_empty()) {
        version["additionalPrinterColumns"] = columns.clone();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}

fn with_meta(properties: &Value) -> Value {
    let mut all = properties.clone();
    all["apiVersion"] = text("The version of the schema of this object.");
    all["kind"] = text("The kind of this object.");
    all["metadata"] = json!({"type": "object"});
    json!({"type": "object", "properties": all})
}

fn text(description: &str) -> Value {
    if description.is_empty() {
        json!({"type": "string"})
    } else {
        json!({"type": "string", "description": description})
    }
}

fn texts(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

fn map(of: &Value, description: &str) -> Value {
    json!({"type": "object", "additionalProperties": of, "description": description})
}

fn object(properties: &Value, description: &str) -> Value {
    json!({"type": "object", "properties": properties, "description": description})
}

fn list(of: &Value, description: &str) -> Value {
    json!({"type": "array", "items": of, "description": description})
}

fn free(description: &str) -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": description})
}

fn reference(description: &str) -> Value {
    object(
        &json!({
            "apiVersion": text("The version of the resource, without its group."),
            "group": text("The group of the resource."),
            "resource": text("The plural name of the resource."),
            "kind": text("The kind of the object."),
            "name": text("The name of the object."),
            "namespace": text("The namespace of the object."),
        }),
        description,
    )
}

fn artifact() -> Value {
    object(
        &json!({
            "keyValue": map(&text(""), "Keys and values."),
            "kopiaSnapshot": {"type": "string", "x-kubernetes-preserve-unknown-fields": true,
                "description": "The id of a snapshot in a Kopia repository."},
        }),
        "What an action makes and another one takes.",
    )
}

fn action_set() -> Value {
    let action = object(
        &json!({
            "name": text("The action of the Blueprint, for example backup or restore."),
            "object": reference("The object to act on."),
            "blueprint": text("The name of a Blueprint in the namespace of the ActionSet."),
            "artifacts": map(&artifact(), "What an earlier action made."),
            "configMaps": map(&reference(""), "ConfigMaps that the Blueprint uses."),
            "secrets": map(&reference(""), "Secrets that the Blueprint uses."),
            "profile": reference("Where artifacts are kept, and with which credential."),
            "podOverride": free("Merged into the specification of the pods that the action starts."),
            "options": map(&text(""), "Further values that the Blueprint uses."),
            "preferredVersion": text("The version of the functions."),
            "podLabels": map(&text(""), "Labels of the pods that the action starts."),
            "podAnnotations": map(&text(""), "Annotations of the pods that the action starts."),
        }),
        "One action on one object.",
    );
    let sizes = |mut properties: Value| {
        for name in ["sizeDownloadedB", "sizeUploadedB", "estimatedDownloadSizeB", "estimatedUploadSizeB"] {
            properties[name] = json!({"type": "integer"});
        }
        properties["lastTransitionTime"] = json!({"type": "string", "format": "date-time"});
        properties
    };
    let phase_progress =
        sizes(json!({"progressPercent": text(""), "estimatedTimeSeconds": {"type": "integer"}}));
    let phase = object(
        &json!({
            "name": text(""),
            "state": text("pending, running, failed or complete."),
            "reason": text("Why the phase waits or failed."),
            "output": free("What the phase gave."),
            "progress": object(&phase_progress, "How far the phase is."),
        }),
        "How far a phase is.",
    );
    let status = object(
        &json!({
            "state": text("pending, running, failed or complete."),
            "error": object(&json!({"message": text("")}), "Why it failed."),
            "progress": object(
                &sizes(json!({"runningPhase": text(""), "percentCompleted": text("")})),
                "How far the whole is.",
            ),
            "actions": list(
                &object(
                    &json!({
                        "name": text(""),
                        "object": reference(""),
                        "blueprint": text(""),
                        "phases": list(&phase, "The phases in order."),
                        "deferPhase": phase,
                        "artifacts": map(&artifact(), "What the action made; templates until it is complete."),
                    }),
                    "How far an action is.",
                ),
                "As many as in the specification, in its order.",
            ),
        }),
        "Written by the operator alone.",
    );
    json!({
        "spec": object(&json!({"actions": list(&action, "The actions; they run side by side.")}), "What to do, once."),
        "status": status,
    })
}

fn columns() -> Value {
    let column = |name: &str, kind: &str, path: &str, description: &str| json!({"name": name, "type": kind, "jsonPath": path, "description": description});
    json!([
        column("Progress", "string", ".status.progress.percentCompleted", "How far it is, in percent"),
        column("SizeDownloadedB", "integer", ".status.progress.sizeDownloadedB", "Bytes downloaded"),
        column("SizeUploadedB", "integer", ".status.progress.sizeUploadedB", "Bytes uploaded"),
        column(
            "EstimatedDownloadSizeB",
            "integer",
            ".status.progress.estimatedDownloadSizeB",
            "Bytes to download"
        ),
        column("EstimatedUploadSizeB", "integer", ".status.progress.estimatedUploadSizeB", "Bytes to upload"),
        column("Running Phase", "string", ".status.progress.runningPhase", "The phase that runs"),
        column("Last Transition Time", "date", ".status.progress.lastTransitionTime", "When it last moved"),
        column("State", "string", ".status.state", "pending, running, failed or complete"),
    ])
}

fn blueprint() -> Value {
    let phase = object(
        &json!({
            "func": text("The function."),
            "name": text("The name under which others see the output."),
            "objects": map(&reference(""), "Secrets and ConfigMaps that the arguments use."),
            "args": free("The arguments; every text in them is a template."),
        }),
        "One call of a function.",
    );
    json!({"actions": map(
        &object(
            &json!({
                "name": text("Not used."),
                "kind": text("The kind of object that the action is made for."),
                "configMapNames": texts("ConfigMaps that the ActionSet must give."),
                "secretNames": texts("Secrets that the ActionSet must give."),
                "inputArtifactNames": texts("Artifacts that the ActionSet must give."),
                "outputArtifacts": map(&artifact(), "Templates of what the action makes."),
                "phases": list(&phase, "Run one after the other."),
                "deferPhase": phase,
            }),
            "How an action is done.",
        ),
        "The actions by name.",
    )})
}

fn profile() -> Value {
    let secret_key = || {
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"key": text(""), "secret": reference("")}})
    };
    json!({
        "location": object(
            &json!({
                "type": text("s3Compliant, filestore, gcs, azure or kopia."),
                "bucket": text("The bucket; for filestore, the folder as pods see it."),
                "endpoint": text("The endpoint of the service."),
                "prefix": text("Joined in front of every path."),
                "region": text("The region."),
            }),
            "The place.",
        ),
        "credential": object(
            &json!({
                "type": text("keyPair, secret or kopia."),
                "keyPair": object(
                    &json!({
                        "idField": text("The key of the id in the Secret."),
                        "secretField": text("The key of the secret in the Secret."),
                        "secret": reference("The Secret."),
                    }),
                    "An id and a secret.",
                ),
                "secret": reference("A Secret of one of the known types."),
                "kopiaServerSecret": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {
                        "username": text(""),
                        "hostname": text(""),
                        "userPassphrase": secret_key(),
                        "tlsCert": secret_key(),
                        "connectOptions": {"type": "object", "additionalProperties": {"type": "integer"}},
                    },
                },
            }),
            "The key to the place.",
        ),
        "skipSSLVerify": {"type": "boolean", "description": "Whether the certificate of the endpoint is not checked."},
    })
}
