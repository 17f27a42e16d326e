//! Amounts of resources by name (`cpu`, `memory`, …), and what a pod asks for and may use at most.

use std::collections::BTreeMap;

use pilothouse_value::{Quantity, Value};

/// Amounts by name.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// Reads a list such as `resources.requests`; what is no quantity is left out.
pub(crate) fn read(list: Option<&Value>) -> Amounts {
    let fields = list.and_then(Value::as_object);
    let read = |(name, value): (&str, &Value)| Some((name.to_owned(), quantity(value)?));
    fields.into_iter().flat_map(|map| map.iter()).filter_map(read).collect()
}

/// A quantity, which may also be written as a number.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value.as_str() {
        Some(text) => text.parse().ok(),
        None => value.to_json().parse().ok(),
    }
}

/// The list as a document.
pub(crate) fn write(amounts: &Amounts) -> Value {
    Value::Object(
        amounts.iter().map(|(name, amount)| (name.as_str(), Value::from(amount.to_string()))).collect(),
    )
}

/// Adds amounts to others.
pub(crate) fn add(to: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        to.entry(name.clone()).and_modify(|sum| *sum = sum.plus(*amount)).or_insert(*amount);
    }
}

fn at_least(list: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let own = list.entry(name.clone()).or_insert(*amount);
        if *amount > *own {
            *own = *amount;
        }
    }
}

/// What of a container's resources is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Requests,
    Limits,
}

impl Part {
    pub(crate) fn field(self) -> &'static str {
        match self {
            Part::Requests => "requests",
            Part::Limits => "limits",
        }
    }
}

/// What a pod asks for, or may use, as a whole: its containers together, or what one of those that run before them needs.
/// `spec.resources` of the pod counts instead of the sums.
pub(crate) fn of_pod(pod: &Value, part: Part) -> Amounts {
    let of = |container: &Value| read(container.at(&["resources", part.field()]));
    let mut sum = Amounts::new();
    for container in pod.items_at(&["spec", "containers"]) {
        add(&mut sum, &of(container));
    }
    let (mut beside, mut before) = (Amounts::new(), Amounts::new());
    for container in pod.items_at(&["spec", "initContainers"]) {
        let mut own = of(container);
        if container.str_at(&["restartPolicy"]) == Some("Always") {
            add(&mut sum, &own);
            add(&mut beside, &own);
            own = beside.clone();
        } else {
            add(&mut own, &beside);
        }
        at_least(&mut before, &own);
    }
    at_least(&mut sum, &before);
    for (name, amount) in read(pod.at(&["spec", "resources", part.field()])) {
        if matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-") {
            sum.insert(name, amount);
        }
    }
    sum
}

/// What a pod asks for as quotas count it: with the overhead of its runtime.
pub(crate) fn of_pod_with_overhead(pod: &Value, part: Part) -> Amounts {
    let mut sum = of_pod(pod, part);
    for (name, amount) in read(pod.at(&["spec", "overhead"])) {
        match part {
            Part::Requests => add(&mut sum, &Amounts::from([(name, amount)])),
            // A limit that is not there stays away.
            Part::Limits => {
                if let Some(own) = sum.get_mut(&name).filter(|own| !own.is_zero()) {
                    *own = own.plus(amount);
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn a_pod_needs_what_its_containers_need_together_or_one_of_those_before_them() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut side = container("1");
        side.set(&["restartPolicy"], "Always");
        let mut pod = json!({"spec": {}});
        pod.set(&["spec", "containers"], vec![container("100m"), container("200m")]);
        assert_eq!(of_pod(&pod, Part::Requests)["cpu"].to_string(), "300m");
        pod.set(&["spec", "initContainers"], vec![container("2")]);
        assert_eq!(of_pod(&pod, Part::Requests)["cpu"].to_string(), "2");
        pod.set(&["spec", "initContainers"], vec![side, container("2")]);
        assert_eq!(of_pod(&pod, Part::Requests)["cpu"].to_string(), "3");
        pod.set(&["spec", "overhead"], json!({"cpu": "1m"}));
        assert_eq!(of_pod_with_overhead(&pod, Part::Requests)["cpu"].to_string(), "3001m");
    }
}
