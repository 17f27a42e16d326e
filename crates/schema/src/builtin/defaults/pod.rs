//! Pods and what they are made of.

use pilothouse_value::{Map, Value};

use super::{Rule, fill, fill_zero, is_unset, object, objects, text};

pub(super) fn rule(name: &str) -> Option<Rule> {
    Some(match name {
        "core.v1.Pod" => pod,
        "core.v1.PodSpec" => pod_spec,
        "core.v1.PodStatus" => pod_status,
        "core.v1.Container" | "core.v1.EphemeralContainer" => container,
        "core.v1.Volume" => volume,
        "core.v1.Probe" => probe,
        "core.v1.HTTPGetAction" => http_get,
        // The empty service is a service of its own: that of the whole server.
        "core.v1.GRPCAction" => |map| fill(map, "service", ""),
        "core.v1.SecretVolumeSource"
        | "core.v1.ConfigMapVolumeSource"
        | "core.v1.DownwardAPIVolumeSource"
        | "core.v1.ProjectedVolumeSource" => |map| fill(map, "defaultMode", 0o644),
        "core.v1.ServiceAccountTokenProjection" => |map| fill(map, "expirationSeconds", 3600),
        "core.v1.ObjectFieldSelector" => |map| fill(map, "apiVersion", "v1"),
        "core.v1.AzureDiskVolumeSource" => |map| fill(map, "readOnly", false),
        // An empty type is a type of its own (no check), so it is written out.
        "core.v1.HostPathVolumeSource" => |map| fill(map, "type", ""),
        _ => return None,
    })
}

fn pod(map: &mut Map) {
    let spec = object(map, "spec");
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        spec.insert("terminationGracePeriodSeconds", 1);
    }
    let host_network = spec.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    for list in ["containers", "initContainers"] {
        for container in objects(spec, list) {
            if host_network {
                objects(container, "ports").for_each(host_port);
            }
            if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
                requests_from_limits(resources);
            }
        }
    }
    fill(spec, "enableServiceLinks", true);
}

fn host_port(port: &mut Map) {
    if let Some(number) = port.get("containerPort").and_then(Value::as_i64) {
        fill_zero(port, "hostPort", number);
    }
}

fn requests_from_limits(resources: &mut Map) {
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    let requests = object(resources, "requests");
    for (name, quantity) in limits {
        if !requests.contains_key(&name) {
            requests.insert(name, quantity);
        }
    }
}

fn pod_spec(map: &mut Map) {
    // The deprecated name is an alias of the new one, which wins.
    if is_unset(map, "serviceAccountName") && !is_unset(map, "serviceAccount") {
        let name = text(map, "serviceAccount").to_owned();
        map.insert("serviceAccountName", name);
    } else if !is_unset(map, "serviceAccountName") {
        let name = text(map, "serviceAccountName").to_owned();
        map.insert("serviceAccount", name);
    }
    fill(map, "dnsPolicy", "ClusterFirst");
    fill(map, "restartPolicy", "Always");
    fill(map, "securityContext", Value::object());
    fill(map, "terminationGracePeriodSeconds", 30);
    fill(map, "schedulerName", "default-scheduler");
}

fn pod_status(map: &mut Map) {
    let first = |map: &Map| {
        let first = map.get("podIPs")?.as_array()?.first()?;
        first.str_at(&["ip"]).map(str::to_owned)
    };
    match (text(map, "podIP").to_owned(), first(map)) {
        (ip, None) if ip.is_empty() => {}
        (ip, Some(of_list)) if ip.is_empty() => {
            map.insert("podIP", of_list);
        }
        (ip, of_list) if of_list.as_ref() != Some(&ip) => {
            map.insert("podIPs", Value::Array(vec![pilothouse_value::json!({"ip": ip})].into()));
        }
        _ => {}
    }
}

fn container(map: &mut Map) {
    let policy = if is_latest(text(map, "image")) { "Always" } else { "IfNotPresent" };
    fill(map, "imagePullPolicy", policy);
    fill(map, "terminationMessagePath", "/dev/termination-log");
    fill(map, "terminationMessagePolicy", "File");
}

/// Whether an image name means the tag `latest`: it says so, or names neither a tag nor a digest.
fn is_latest(image: &str) -> bool {
    if !is_reference(image) {
        return false;
    }
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    // A colon before the last slash separates a port.
    let last = name.rsplit('/').next().unwrap_or(name);
    match (last.split_once(':'), digest) {
        (Some((_, tag)), _) => tag == "latest",
        (None, digest) => digest.is_none(),
    }
}

/// Whether a text names an image at all (github.com/distribution/reference).
fn is_reference(image: &str) -> bool {
    let (rest, digest) = image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
    let (path, tag) = match rest.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, Some(tag)),
        _ => (rest, None),
    };
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let tag_fits = tag.is_none_or(|tag| {
        tag.len() <= 128 && tag.starts_with(word) && tag.chars().all(|c| word(c) || matches!(c, '.' | '-'))
    });
    let digest_fits = digest.is_none_or(|digest| {
        let sum = digest.split_once(':').map(|(_, sum)| sum);
        sum.is_some_and(|sum| sum.len() >= 32 && sum.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    let mut parts: Vec<&str> = path.split('/').collect();
    let domain = parts.first().copied().unwrap_or_default();
    if parts.len() > 1
        && (domain.contains(['.', ':']) || domain == "localhost" || domain.to_lowercase() != domain)
    {
        parts.remove(0);
        let host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        if !domain.chars().all(host) {
            return false;
        }
    }
    let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part_fits = |part: &&str| {
        let inner = |c: char| end(c) || matches!(c, '.' | '_' | '-');
        part.starts_with(end) && part.ends_with(end) && part.chars().all(inner) && !part.contains("..")
    };
    tag_fits && digest_fits && parts.iter().all(part_fits)
}

fn volume(map: &mut Map) {
    if map.len() <= 1 && !map.keys().any(|key| key != "name") {
        map.insert("emptyDir", Value::object());
    }
    if let Some(image) = map.get_mut("image").and_then(Value::as_object_mut) {
        let policy = if is_latest(text(image, "reference")) { "Always" } else { "IfNotPresent" };
        fill(image, "pullPolicy", policy);
    }
}

fn probe(map: &mut Map) {
    fill_zero(map, "timeoutSeconds", 1);
    fill_zero(map, "periodSeconds", 10);
    fill_zero(map, "successThreshold", 1);
    fill_zero(map, "failureThreshold", 3);
}

fn http_get(map: &mut Map) {
    fill(map, "path", "/");
    fill(map, "scheme", "HTTP");
}
