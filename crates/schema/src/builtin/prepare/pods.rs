//! The resources of whole pods, and the class of service that follows from what a pod asks for.

use std::collections::BTreeMap;

use pilothouse_value::{Map, Quantity, Value};

fn quantity(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}

/// Whether pods as a whole can ask for a resource.
fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge(name)
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_sidecar(container: &Value) -> bool {
    container.str_at(&["restartPolicy"]) == Some("Always")
}

/// What the containers of a pod need together: all that run at once, or more while one that prepares the others runs.
fn together(pod: &Value, part: &str) -> BTreeMap<String, Quantity> {
    let of = |container: &Value| -> Vec<(String, Quantity)> {
        let map = container.at(&["resources", part]).and_then(Value::as_object);
        let amounts = map.into_iter().flat_map(Map::iter);
        amounts.filter_map(|(name, value)| Some((name.to_owned(), quantity(value)?))).collect()
    };
    let mut sidecars: BTreeMap<String, Quantity> = BTreeMap::new();
    let mut most: BTreeMap<String, Quantity> = BTreeMap::new();
    let add = |sums: &mut BTreeMap<String, Quantity>, name: String, amount: Quantity| {
        sums.entry(name).and_modify(|sum| *sum = sum.plus(amount)).or_insert(amount);
    };
    for container in pod.items_at(&["spec", "initContainers"]) {
        let mut running = sidecars.clone();
        for (name, amount) in of(container) {
            add(&mut running, name.clone(), amount);
            if is_sidecar(container) {
                add(&mut sidecars, name, amount);
            }
        }
        for (name, amount) in running {
            most.entry(name).and_modify(|most| *most = amount.max(*most)).or_insert(amount);
        }
    }
    let mut sums = sidecars;
    for container in pod.items_at(&["spec", "containers"]) {
        of(container).into_iter().for_each(|(name, amount)| add(&mut sums, name, amount));
    }
    for (name, amount) in most {
        sums.entry(name).and_modify(|sum| *sum = amount.max(*sum)).or_insert(amount);
    }
    sums
}

fn amounts<'v>(pod: &'v Value, part: &str) -> Option<&'v Map> {
    pod.at(&["spec", "resources", part]).and_then(Value::as_object).filter(|map| !map.is_empty())
}

/// A pod that asks for some resources as a whole asks for the others as its containers do together.
pub(in super::super) fn fill_pod_resources(pod: &mut Value) {
    if amounts(pod, "requests").is_none() && amounts(pod, "limits").is_none() {
        return;
    }
    let has =
        |pod: &Value, part: &str, name: &str| amounts(pod, part).is_some_and(|map| map.contains_key(name));
    for (name, amount) in together(pod, "limits") {
        if is_huge(&name) && !has(pod, "requests", &name) && !has(pod, "limits", &name) {
            pod.set(&["spec", "resources", "limits", &name], amount.to_string());
        }
    }
    for (name, amount) in together(pod, "requests") {
        if matches!(name.as_str(), "cpu" | "memory") && !has(pod, "requests", &name) {
            pod.set(&["spec", "resources", "requests", &name], amount.to_string());
        }
    }
    for (name, limit) in amounts(pod, "limits").cloned().unwrap_or_default().iter() {
        if is_of_pods(name) && !has(pod, "requests", name) {
            pod.set(&["spec", "resources", "requests", name], limit.clone());
        }
    }
    // What every container is limited in, the pod is limited in.
    let limits = together(pod, "limits");
    for (name, request) in amounts(pod, "requests").cloned().unwrap_or_default().iter() {
        let all = |list: &str| {
            let containers = pod.items_at(&["spec", list]).iter();
            containers.into_iter().all(|c| c.at(&["resources", "limits", name]).is_some())
        };
        let missing = is_of_pods(name) && !has(pod, "limits", name);
        if missing
            && all("containers")
            && all("initContainers")
            && let (Some(limit), Some(request)) = (limits.get(name), quantity(request))
        {
            let limit = request.max(*limit);
            pod.set(&["spec", "resources", "limits", name], limit.to_string());
        }
    }
}

/// The quality-of-service class that follows from the resources of a pod, or of its containers.
pub(in super::super) fn pod_qos(pod: &Value) -> &'static str {
    let spec = |list| pod.items_at(&["spec", list]).iter();
    let asks = |part| amounts(pod, part).is_some_and(|map| map.keys().any(is_of_pods));
    let mut classes = match pod.at(&["spec", "resources"]).filter(|_| asks("requests") || asks("limits")) {
        Some(resources) => vec![requirements_qos(resources)],
        None => spec("initContainers")
            .chain(spec("containers"))
            .map(|container| requirements_qos(container.get("resources").unwrap_or(&Value::Null)))
            .collect(),
    };
    classes.dedup();
    match classes[..] {
        [] => "BestEffort",
        [class] => class,
        _ => "Burstable",
    }
}

fn requirements_qos(resources: &Value) -> &'static str {
    let is_empty = |part| resources.get(part).and_then(Value::as_object).is_none_or(Map::is_empty);
    if is_empty("requests") && is_empty("limits") {
        return "BestEffort";
    }
    let quantity = |part, name| {
        let text = resources.str_at(&[part, name]);
        text.and_then(|text| text.parse::<Quantity>().ok()).map_or(0, Quantity::nano)
    };
    let class = |name| match (quantity("requests", name), quantity("limits", name)) {
        (request, limit) if request != limit => "Burstable",
        (0, _) => "BestEffort",
        _ => "Guaranteed",
    };
    match (class("cpu"), class("memory")) {
        (cpu, memory) if cpu == memory => cpu,
        _ => "Burstable",
    }
}
