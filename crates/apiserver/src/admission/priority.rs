//! Priority: a pod's class becomes a number, and there is one default class.

use std::sync::Arc;

use pilothouse_value::{Status, Value, object};

use super::{Attributes, Operation, Plugin};
use crate::registry::resource;
use crate::state::State;

const GROUP: &str = "scheduling.k8s.io";
const PLURAL: &str = "priorityclasses";

/// See the module.
pub(super) struct Priority;

impl Plugin for Priority {
    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    fn admit(&self, attributes: &mut Attributes<'_>) -> Result<(), Status> {
        if !attributes.is("", "pods") {
            return Ok(());
        }
        let mut pod = attributes.take_object();
        let outcome = match &attributes.old {
            Some(old) => {
                keep(&mut pod, old);
                Ok(())
            }
            None => set(attributes, &mut pod),
        };
        attributes.object = Some(pod);
        outcome
    }

    fn validate(&self, attributes: &Attributes<'_>) -> Result<(), Status> {
        let Some(class) = attributes.object.as_ref().filter(|_| attributes.is(GROUP, PLURAL)) else {
            return Ok(());
        };
        if class.at(&["globalDefault"]).and_then(Value::as_bool) != Some(true) {
            return Ok(());
        }
        match default_class(attributes.state()) {
            Some(present)
                if attributes.operation == Operation::Create
                    || object::name(&present) != object::name(class) =>
            {
                Err(attributes.forbidden(&format!(
                    "PriorityClass {} is already marked as default. Only one default can exist",
                    object::name(&present)
                )))
            }
            _ => Ok(()),
        }
    }
}

/// An update that leaves the numbers out leaves them as they are.
fn keep(pod: &mut Value, old: &Value) {
    for field in ["priority", "preemptionPolicy"] {
        if let (None, Some(value)) = (pod.at(&["spec", field]), old.at(&["spec", field])) {
            pod.set(&["spec", field], value.clone());
        }
    }
}

fn set(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    const UNBOUND: &str = "PreemptLowerPriority";
    let named = pod.str_at(&["spec", "priorityClassName"]).unwrap_or_default();
    let class = match named {
        "" => default_class(attributes.state()),
        name => Some(find(attributes, name)?),
    };
    let (name, priority, policy) = match &class {
        Some(class) => (
            object::name(class).to_owned(),
            class.i64_at(&["value"]).unwrap_or_default(),
            class.str_at(&["preemptionPolicy"]).map(str::to_owned),
        ),
        None => (String::new(), 0, Some(UNBOUND.to_owned())),
    };
    if !name.is_empty() {
        pod.set(&["spec", "priorityClassName"], name);
    }
    if let Some(given) = pod.i64_at(&["spec", "priority"]).filter(|given| *given != priority) {
        return Err(attributes.forbidden(&format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {priority} from the given PriorityClass name"
        )));
    }
    pod.set(&["spec", "priority"], priority);
    let Some(policy) = policy else { return Ok(()) };
    if let Some(given) = pod.str_at(&["spec", "preemptionPolicy"]).filter(|given| *given != policy) {
        return Err(attributes.forbidden(&format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        )));
    }
    pod.set(&["spec", "preemptionPolicy"], policy);
    Ok(())
}

fn find(attributes: &Attributes<'_>, name: &str) -> Result<Arc<Value>, Status> {
    match attributes.state().store.get(&resource::key(GROUP, PLURAL), "", name) {
        Some(class) => Ok(class.value().clone()),
        None => Err(attributes.forbidden(&format!("no PriorityClass with name {name} was found"))),
    }
}

/// The class of pods that name none: of several, the one with the smallest number.
fn default_class(state: &State) -> Option<Arc<Value>> {
    let snapshot = state.store.snapshot();
    let classes = snapshot.list(&resource::key(GROUP, PLURAL), None, None);
    classes
        .map(|entry| entry.object.value().clone())
        .filter(|class| class.at(&["globalDefault"]).and_then(Value::as_bool) == Some(true))
        .min_by_key(|class| class.i64_at(&["value"]).unwrap_or_default())
}
