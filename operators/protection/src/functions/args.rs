//! The arguments of the functions that can be run, read as tolerantly as Kanister reads them: a number or a boolean may
//! be text, one value may stand for a list of one.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::api::ObjectReference;
use crate::duration;

/// A call of a function, with its arguments read.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Runs a pod to its end.
    KubeTask(PodTask),
    /// Runs a pod to its end, with the claims of a workload mounted.
    PrepareData(PodTask),
    /// Runs a command in containers that run already.
    Exec(Exec),
    /// Sets the replicas of a workload.
    Scale(Scale),
    /// Makes, patches or removes an object.
    KubeOps(KubeOps),
    /// Waits for conditions.
    Wait(Wait),
}

/// A pod to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodTask {
    /// Where; empty for the operator's own namespace.
    pub namespace: String,
    /// The image.
    pub image: String,
    /// The command, in place of the image's entrypoint.
    pub command: Vec<String>,
    /// Claims to mount; `None` for those of the workload that the action is about.
    pub volumes: Option<BTreeMap<String, String>>,
    /// Whether the phase fails when the pod does.
    pub fail_on_error: bool,
    /// The account that the pod runs as; empty for the default.
    pub service_account: String,
    /// Merged into the specification of the pod.
    pub pod_override: Map<String, Value>,
    /// Labels of the pod.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod.
    pub annotations: BTreeMap<String, String>,
}

/// A command to run in containers.
#[derive(Clone, Debug, PartialEq)]
pub struct Exec {
    /// The namespace of the pods.
    pub namespace: String,
    /// The pods.
    pub pods: Vec<String>,
    /// The containers of each pod; empty for its first.
    pub containers: Vec<String>,
    /// The command.
    pub command: Vec<String>,
}

/// The replicas to set.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Where; empty for the object of the action.
    pub namespace: String,
    /// Which; empty for the object of the action.
    pub name: String,
    /// `statefulset`, `deployment` or `deploymentconfig` in lower case; empty for the object of the action.
    pub kind: String,
    /// How many.
    pub replicas: i32,
    /// Whether to wait until they are there.
    pub wait_for_ready: bool,
}

/// What `KubeOps` does.
#[derive(Clone, Debug, PartialEq)]
pub enum KubeOps {
    /// Creates the objects of the documents.
    Create {
        /// Where, for objects that do not say.
        namespace: String,
        /// One or several documents.
        spec: String,
    },
    /// Patches an object strategically.
    Patch {
        /// Which.
        reference: ObjectReference,
        /// The patch.
        spec: String,
    },
    /// Deletes an object and waits until it is gone.
    Delete {
        /// Which.
        reference: ObjectReference,
    },
}

/// What to wait for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    /// How long at most.
    pub timeout: Duration,
    /// One of these is enough.
    pub any_of: Vec<Condition>,
    /// All of these, when none of the others holds.
    pub all_of: Vec<Condition>,
    /// Whether conditions are kubectl's go-templates (`WaitV2`) or Kanister's with `{$.path}` in them (`Wait`).
    pub v2: bool,
}

/// A condition on an object; both are templates still.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Holds when it renders to `true`.
    pub condition: String,
    /// The object.
    pub reference: ObjectReference,
}

/// What is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("argument {argument}: {message}")]
pub struct ArgError {
    /// The argument.
    pub argument: String,
    /// What is wrong with it.
    pub message: String,
}

fn bad(argument: &str, message: impl Into<String>) -> ArgError {
    ArgError { argument: argument.to_owned(), message: message.into() }
}

/// Reads the rendered arguments of a function.
///
/// # Errors
/// When an argument has no sense for the function, or the function cannot be run.
pub fn read(function: &str, args: &Map<String, Value>) -> Result<Call, ArgError> {
    Ok(match function {
        "KubeTask" => Call::KubeTask(pod_task(args, true)?),
        "PrepareData" => Call::PrepareData(pod_task(args, false)?),
        "KubeExec" => {
            let container = text(args, "container")?;
            Call::Exec(Exec {
                namespace: needed(args, "namespace")?,
                pods: vec![needed(args, "pod")?],
                containers: if container.is_empty() { Vec::new() } else { vec![container] },
                command: command(args)?,
            })
        }
        "KubeExecAll" => Call::Exec(Exec {
            namespace: needed(args, "namespace")?,
            pods: words(args, "pods")?,
            containers: words(args, "containers")?,
            command: command(args)?,
        }),
        "ScaleWorkload" => Call::Scale(scale(args)?),
        "KubeOps" => Call::KubeOps(kube_ops(args)?),
        "Wait" | "WaitV2" => Call::Wait(wait(args, function == "WaitV2")?),
        other => return Err(bad("func", format!("function {other} cannot be run by this operator yet"))),
    })
}

fn pod_task(args: &Map<String, Value>, fail_on_error: bool) -> Result<PodTask, ArgError> {
    let pod_override = match args.get("podOverride") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(_) => return Err(bad("podOverride", "must be a map: part of a pod's specification")),
    };
    let volumes = match args.get("volumes") {
        None | Some(Value::Null) => None,
        Some(_) => Some(strings(args, "volumes")?),
    };
    Ok(PodTask {
        namespace: text(args, "namespace")?,
        image: needed(args, "image")?,
        command: command(args)?,
        volumes,
        fail_on_error: boolean(args, "failOnError", fail_on_error)?,
        service_account: text(args, "serviceaccount")?,
        pod_override,
        labels: strings(args, "podLabels")?,
        annotations: strings(args, "podAnnotations")?,
    })
}

fn scale(args: &Map<String, Value>) -> Result<Scale, ArgError> {
    let replicas = text(args, "replicas")?;
    let replicas = replicas
        .trim()
        .parse::<i32>()
        .ok()
        .filter(|n| *n >= 0)
        .ok_or_else(|| bad("replicas", format!("must be a number from 0; got {replicas:?}")))?;
    let kind = text(args, "kind")?.to_lowercase();
    if !matches!(kind.as_str(), "" | "statefulset" | "deployment" | "deploymentconfig") {
        return Err(bad(
            "kind",
            format!("Workload type not supported {kind}; use StatefulSet or Deployment"),
        ));
    }
    Ok(Scale {
        namespace: text(args, "namespace")?,
        name: text(args, "name")?,
        kind,
        replicas,
        wait_for_ready: boolean(args, "waitForReady", true)?,
    })
}

fn kube_ops(args: &Map<String, Value>) -> Result<KubeOps, ArgError> {
    let reference = || match args.get("objectReference") {
        Some(value @ Value::Object(_)) => object_reference(value).map_err(|m| bad("objectReference", m)),
        _ => {
            Err(bad("objectReference", "must name the object: apiVersion, group, resource, name, namespace"))
        }
    };
    let complete = |r: ObjectReference| {
        if r.name.is_empty() || r.api_version.is_empty() || r.resource.is_empty() {
            return Err(bad(
                "objectReference",
                "missing one or more required fields name/apiVersion/resource",
            ));
        }
        Ok(r)
    };
    match text(args, "operation")?.as_str() {
        "create" => Ok(KubeOps::Create { namespace: text(args, "namespace")?, spec: needed(args, "spec")? }),
        "patch" => Ok(KubeOps::Patch { reference: complete(reference()?)?, spec: needed(args, "spec")? }),
        "delete" => Ok(KubeOps::Delete { reference: complete(reference()?)? }),
        other => Err(bad("operation", format!("invalid operation {other:?}; use create, patch or delete"))),
    }
}

fn wait(args: &Map<String, Value>, v2: bool) -> Result<Wait, ArgError> {
    let timeout = duration::parse(&text(args, "timeout")?).map_err(|m| bad("timeout", m))?;
    let Some(Value::Object(conditions)) = args.get("conditions") else {
        return Err(bad("conditions", "must have anyOf or allOf"));
    };
    let list = |name: &str| -> Result<Vec<Condition>, ArgError> {
        match conditions.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    let condition = item.get("condition").and_then(Value::as_str);
                    let reference = item.get("objectReference").filter(|r| r.is_object());
                    let (Some(condition), Some(reference)) = (condition, reference) else {
                        return Err(bad("conditions", format!("{name} needs condition and objectReference")));
                    };
                    let reference = object_reference(reference).map_err(|m| bad("conditions", m))?;
                    Ok(Condition { condition: condition.to_owned(), reference })
                })
                .collect(),
            Some(_) => Err(bad("conditions", format!("{name} must be a list"))),
        }
    };
    let (any_of, all_of) = (list("anyOf")?, list("allOf")?);
    if any_of.is_empty() && all_of.is_empty() {
        return Err(bad("conditions", "anyOf and allOf are empty: nothing could ever end the wait"));
    }
    Ok(Wait { timeout, any_of, all_of, v2 })
}

/// Reads a reference, as tolerant as the kinds of the API are.
pub fn object_reference(value: &Value) -> Result<ObjectReference, String> {
    let mut reference: ObjectReference = serde_json::from_value(value.clone()).map_err(|e| e.to_string())?;
    if let Some(group) = reference.group.strip_suffix('/') {
        reference.group = group.to_owned();
    }
    Ok(reference)
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn text(args: &Map<String, Value>, name: &str) -> Result<String, ArgError> {
    args.get(name).map_or(Ok(String::new()), |v| scalar(v).ok_or_else(|| bad(name, "must be a text")))
}

fn needed(args: &Map<String, Value>, name: &str) -> Result<String, ArgError> {
    let value = text(args, name)?;
    if value.trim().is_empty() { Err(bad(name, "must not be empty")) } else { Ok(value) }
}

fn words(args: &Map<String, Value>, name: &str) -> Result<Vec<String>, ArgError> {
    Ok(text(args, name)?.split_whitespace().map(str::to_owned).collect())
}

fn command(args: &Map<String, Value>) -> Result<Vec<String>, ArgError> {
    let list: Vec<String> = match args.get("command") {
        Some(Value::Array(items)) => items
            .iter()
            .map(|v| scalar(v).ok_or_else(|| bad("command", "must be a list of texts")))
            .collect::<Result<_, _>>()?,
        Some(Value::Object(_)) => return Err(bad("command", "must be a list of texts")),
        Some(value) => scalar(value).into_iter().collect(),
        None => Vec::new(),
    };
    if list.first().is_none_or(String::is_empty) {
        Err(bad("command", "must not be empty"))
    } else {
        Ok(list)
    }
}

fn boolean(args: &Map<String, Value>, name: &str, default: bool) -> Result<bool, ArgError> {
    match text(args, name)?.as_str() {
        "" => Ok(default),
        "true" | "1" | "t" | "T" | "TRUE" | "True" => Ok(true),
        "false" | "0" | "f" | "F" | "FALSE" | "False" => Ok(false),
        other => Err(bad(name, format!("must be true or false; got {other:?}"))),
    }
}

fn strings(args: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, String>, ArgError> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(k, v)| {
                let value =
                    scalar(v).ok_or_else(|| bad(name, format!("the value of {k:?} must be a text")))?;
                Ok((k.clone(), value))
            })
            .collect(),
        Some(_) => Err(bad(name, "must be a map of texts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(function: &str, args: Value) -> Result<Call, ArgError> {
        read(function, args.as_object().unwrap())
    }

    #[test]
    fn numbers_may_be_text_and_lists_may_be_one_value() {
        let Call::Scale(scale) =
            call("ScaleWorkload", json!({"replicas": "2", "kind": "StatefulSet", "waitForReady": "false"}))
                .unwrap()
        else {
            panic!()
        };
        assert_eq!((scale.replicas, scale.kind.as_str(), scale.wait_for_ready), (2, "statefulset", false));
        let Call::KubeTask(task) = call("KubeTask", json!({"image": "i", "command": "true"})).unwrap() else {
            panic!()
        };
        assert_eq!(task.command, ["true"]);
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_argument() {
        for (function, args, argument) in [
            ("ScaleWorkload", json!({"replicas": "many"}), "replicas"),
            ("ScaleWorkload", json!({"replicas": -1}), "replicas"),
            ("KubeTask", json!({"image": "", "command": ["a"]}), "image"),
            ("KubeTask", json!({"image": "i", "command": []}), "command"),
            ("KubeTask", json!({"image": "i", "command": ["a"], "podOverride": []}), "podOverride"),
            ("KubeOps", json!({"operation": "apply"}), "operation"),
            ("KubeOps", json!({"operation": "delete", "objectReference": {"name": "x"}}), "objectReference"),
            ("Wait", json!({"timeout": "5", "conditions": {}}), "timeout"),
            ("Wait", json!({"timeout": "5s", "conditions": {}}), "conditions"),
            ("CopyVolumeData", json!({}), "func"),
        ] {
            assert_eq!(call(function, args).unwrap_err().argument, argument, "{function}");
        }
    }
}
