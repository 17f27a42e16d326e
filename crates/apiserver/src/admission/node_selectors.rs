//! PodNodeSelector: the pods of a namespace run on the nodes that the namespace's annotation names, and ask for no others
//! than its whitelist in the configuration has.

use std::collections::BTreeMap;

use pilothouse_value::{Status, Value, names, object};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;

/// See the module.
pub(super) struct PodNodeSelector;

/// Selectors by namespace, and the one for namespaces without an annotation under [`DEFAULT`].
pub(crate) type Selectors = BTreeMap<String, String>;
type Labels = BTreeMap<String, String>;

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
const DEFAULT: &str = "clusterDefaultNodeSelector";
const NODE_SELECTOR: &[&str] = &["spec", "nodeSelector"];

impl Plugin for PodNodeSelector {
    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") {
            return Ok(());
        }
        let wanted = of_namespace(attributes)?;
        let Some(pod) = attributes.object.as_mut() else { return Ok(()) };
        if conflicts(&wanted, &of_pod(pod)) {
            return Err(conflict(pod));
        }
        for (key, value) in wanted {
            pod.set(&["spec", "nodeSelector", &key], value);
        }
        self.validate(attributes)
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(pod) = attributes.object.as_ref().filter(|_| attributes.is("", "pods")) else {
            return Ok(());
        };
        let own = of_pod(pod);
        if conflicts(&of_namespace(attributes)?, &own) {
            return Err(conflict(pod));
        }
        let selectors = &attributes.state().plugins.settings.node_selectors;
        let allowed = read(selectors.get(attributes.namespace()).map_or("", String::as_str))?;
        if !allowed.is_empty() && own.iter().any(|(key, value)| allowed.get(key) != Some(value)) {
            let why = "pod node label selector labels conflict with its namespace whitelist";
            return Err(Status::forbidden("", "pods", object::name(pod), why));
        }
        Ok(())
    }
}

fn conflict(pod: &Value) -> Status {
    let why = "pod node label selector conflicts with its namespace node label selector";
    Status::forbidden("", "pods", object::name(pod), why)
}

fn conflicts(one: &Labels, other: &Labels) -> bool {
    one.iter().any(|(key, value)| other.get(key).is_some_and(|other| other != value))
}

fn of_pod(pod: &Value) -> Labels {
    let labels = pod.at(NODE_SELECTOR).and_then(Value::as_object);
    let text = |(key, value): (&str, &Value)| (key.to_owned(), value.as_str().unwrap_or_default().to_owned());
    labels.into_iter().flat_map(|labels| labels.iter()).map(text).collect()
}

/// What the pods of a namespace are to ask for.
fn of_namespace(attributes: &Attributes<'_>) -> Result<Labels, Status> {
    let state = attributes.state();
    let name = attributes.namespace();
    let Some(namespace) = state.store.get(&resource::key("", "namespaces"), "", name) else {
        return Err(Status::internal(format!("namespace {name} does not exist")));
    };
    let default = || state.plugins.settings.node_selectors.get(DEFAULT).map_or("", String::as_str);
    read(object::annotation(namespace.value(), ANNOTATION).unwrap_or_else(default))
}

/// Reads `key=value,key=value`. Upstream does not make a Status of what is wrong with it.
fn read(selector: &str) -> Result<Labels, Status> {
    let wrong = |text: String| Status::new(500, "", text);
    let mut labels = Labels::new();
    for term in selector.split(',').filter(|_| !selector.is_empty()) {
        let parts: Vec<&str> = term.split('=').collect();
        let [key, value] = parts.as_slice() else {
            return Err(wrong(format!("invalid selector: [{}]", parts.join(" "))));
        };
        let (key, value) = (key.trim(), value.trim());
        let told = |place: &str, subject: &str, errors: Vec<String>| {
            let quoted = pilothouse_value::field::quote(subject);
            wrong(format!("{place}: Invalid value: {quoted}: {}", errors.join("; ")))
        };
        match (names::qualified_name(key), names::label_value(value)) {
            (errors, _) if !errors.is_empty() => return Err(told("<nil>", key, errors)),
            (_, errors) if !errors.is_empty() => return Err(told(&format!("[{key}]"), value, errors)),
            _ => labels.insert(key.to_owned(), value.to_owned()),
        };
    }
    Ok(labels)
}
