//! A container's environment: what the pod asks for, in the order in which later entries win.

use pilothouse_value::{Quantity, Value, object};

use super::api::{Api, Missing};
use super::expand::expand;
use super::names::Directory;
use super::spec;

/// What does not come from the pod's own document.
pub(super) struct Context<'a> {
    pub(super) api: &'a Api,
    pub(super) directory: &'a Directory,
    pub(super) pod: &'a Value,
    pub(super) pod_ip: &'a str,
    pub(super) host_ip: &'a str,
    /// Variables that an image would bring.
    pub(super) base: Vec<(String, String)>,
}

/// Name and value of each variable, each name once.
///
/// # Errors
/// When a required ConfigMap, Secret or key is missing, or a reference cannot be understood.
pub(super) async fn environment(
    container: &Value,
    context: Context<'_>,
) -> Result<Vec<(String, String)>, Missing> {
    let mut env = Environment(context.base.clone());
    let namespace = spec::namespace(context.pod);
    if context.pod.at(&["spec", "enableServiceLinks"]).and_then(Value::as_bool) != Some(false) {
        env.extend(context.directory.service_variables(namespace));
    }
    env.extend(context.directory.api_variables());
    for source in container.items_at(&["envFrom"]) {
        let prefix = source.str_at(&["prefix"]).unwrap_or_default();
        for kind in ["configMapRef", "secretRef"] {
            let Some(reference) = source.get(kind) else { continue };
            let Some(data) = context.api.data_of(namespace, kind, reference).await? else { continue };
            for (key, bytes) in data {
                env.set(format!("{prefix}{key}"), String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    for entry in container.items_at(&["env"]) {
        let Some(name) = entry.str_at(&["name"]) else { continue };
        let value = match entry.get("valueFrom") {
            None => Some(expand(entry.str_at(&["value"]).unwrap_or_default(), |name| env.get(name))),
            Some(source) => from(source, container, &context).await?,
        };
        if let Some(value) = value {
            env.set(name.to_owned(), value);
        }
    }
    Ok(env.0)
}

struct Environment(Vec<(String, String)>);

impl Environment {
    fn set(&mut self, name: String, value: String) {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value));
    }

    fn get(&self, name: &str) -> Option<String> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    }

    fn extend(&mut self, entries: Vec<(String, String)>) {
        for (name, value) in entries {
            self.set(name, value);
        }
    }
}

async fn from(source: &Value, container: &Value, context: &Context<'_>) -> Result<Option<String>, Missing> {
    let namespace = spec::namespace(context.pod);
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        let Some(reference) = source.get(kind) else { continue };
        let key = reference.str_at(&["key"]).unwrap_or_default();
        let Some(data) = context.api.data_of(namespace, kind, reference).await? else { return Ok(None) };
        let found = data.into_iter().find(|(name, _)| name == key).map(|(_, bytes)| bytes);
        return match found {
            Some(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            None if reference.get("optional").and_then(Value::as_bool) == Some(true) => Ok(None),
            None => {
                let name = reference.str_at(&["name"]).unwrap_or_default();
                let what = if kind == "secretKeyRef" { "Secret" } else { "ConfigMap" };
                Err(Missing(format!("couldn't find key {key} in {what} {namespace}/{name}")))
            }
        };
    }
    if let Some(reference) = source.get("fieldRef") {
        let path = reference.str_at(&["fieldPath"]).unwrap_or_default();
        return field(path, context.pod, context.pod_ip, context.host_ip).map(Some);
    }
    if let Some(reference) = source.get("resourceFieldRef") {
        return resource(reference, container).map(Some);
    }
    Err(Missing(format!("an environment variable comes from nowhere that is known: {}", source.to_json())))
}

/// A field of the pod as the downward API gives it.
///
/// # Errors
/// When the field is none that the downward API has.
pub(super) fn field(path: &str, pod: &Value, pod_ip: &str, host_ip: &str) -> Result<String, Missing> {
    let text = |path: &[&str]| pod.str_at(path).unwrap_or_default().to_owned();
    if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        return match map {
            "metadata.labels" => Ok(object::label(pod, key).unwrap_or_default().to_owned()),
            "metadata.annotations" => Ok(object::annotation(pod, key).unwrap_or_default().to_owned()),
            _ => Err(unknown_field(path)),
        };
    }
    Ok(match path {
        "metadata.name" => text(&["metadata", "name"]),
        "metadata.namespace" => spec::namespace(pod).to_owned(),
        "metadata.uid" => text(&["metadata", "uid"]),
        "metadata.labels" => lines(object::labels(pod)),
        "metadata.annotations" => lines(object::annotations(pod)),
        "spec.nodeName" => text(&["spec", "nodeName"]),
        "spec.serviceAccountName" => text(&["spec", "serviceAccountName"]),
        "status.podIP" | "status.podIPs" => pod_ip.to_owned(),
        "status.hostIP" | "status.hostIPs" => host_ip.to_owned(),
        _ => return Err(unknown_field(path)),
    })
}

fn unknown_field(path: &str) -> Missing {
    Missing(format!("unsupported fieldPath: {path}"))
}

/// `key="value"` a line, as the downward API writes maps.
fn lines(map: Option<&pilothouse_value::Map>) -> String {
    let entries = map.into_iter().flat_map(|map| map.iter());
    entries
        .map(|(key, value)| format!("{key}={:?}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A container's own request or limit in units of the divisor, rounded up. What is not set is the machine's.
///
/// # Errors
/// When the resource or the divisor is not understood.
pub(super) fn resource(reference: &Value, container: &Value) -> Result<String, Missing> {
    let name = reference.str_at(&["resource"]).unwrap_or_default();
    let (list, resource) = name.split_once('.').unwrap_or_default();
    let unknown = || Missing(format!("unsupported container resource: {name}"));
    if !matches!(list, "limits" | "requests") {
        return Err(unknown());
    }
    let parse = |text: &str| text.parse::<Quantity>().map(Quantity::milli_value).map_err(|_| unknown());
    let amount = match container.at(&["resources", list, resource]) {
        Some(Value::Int(number)) => number.saturating_mul(1000),
        Some(value) => parse(value.as_str().unwrap_or_default())?,
        None if list == "requests" => 0,
        None if resource == "cpu" => {
            std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as i64).saturating_mul(1000)
        }
        None => i64::try_from(super::register::memory_bytes()).unwrap_or(i64::MAX).saturating_mul(1000),
    };
    let divisor = match reference.get("divisor") {
        Some(Value::Int(number)) if *number > 0 => number.saturating_mul(1000),
        Some(Value::String(text)) if &**text != "0" => parse(text)?.max(1),
        _ => 1000,
    };
    Ok(amount.saturating_add(divisor - 1).saturating_div(divisor).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pilothouse_value::json;

    #[test]
    fn fields_of_the_pod() {
        let pod = json!({
            "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"a/b": "c", "d": "e\"f"}},
            "spec": {"nodeName": "n"},
        });
        let field = |path: &str| field(path, &pod, "127.1.2.3", "127.0.0.1").unwrap();
        assert_eq!(field("metadata.name"), "p");
        assert_eq!(field("metadata.labels['a/b']"), "c");
        assert_eq!(field("metadata.labels"), "a/b=\"c\"\nd=\"e\\\"f\"");
        assert_eq!(field("status.podIP"), "127.1.2.3");
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let error = field("spec.nothing", &json!({}), "", "").unwrap_err();
        assert_eq!(error.0, "unsupported fieldPath: spec.nothing");
    }

    #[test]
    fn resources_are_divided_and_rounded_up() {
        let container = json!({"resources": {"limits": {"memory": "64Mi", "cpu": "1500m"}}});
        let get = |resource: &str, divisor: &str| resource_of(&container, resource, divisor);
        assert_eq!(get("limits.memory", "1Mi"), "64");
        assert_eq!(get("limits.memory", "0"), (64 << 20).to_string());
        assert_eq!(get("limits.cpu", "1"), "2");
        assert_eq!(get("limits.cpu", "1m"), "1500");
        assert_eq!(get("requests.cpu", "1"), "0");
    }

    fn resource_of(container: &Value, resource: &str, divisor: &str) -> String {
        super::resource(&json!({"resource": resource, "divisor": divisor}), container).unwrap()
    }
}
