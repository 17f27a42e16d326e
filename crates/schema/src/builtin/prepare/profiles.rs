//! AppArmor profiles of new pods: what only an annotation says is put into the field.

use pilothouse_value::{Value, json, object};

const ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
/// As long as upstream lets the name of a profile be.
const LONGEST: usize = 4095;

/// Gives the containers of a new pod the profiles that annotations name. Returns the warnings for those who still use
/// the annotations.
pub fn sync_app_armor(pod: &mut Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let uses = |map: &pilothouse_value::Map| map.keys().any(|key| key.starts_with(ANNOTATION));
    let Some(annotations) = object::annotations(pod).filter(|map| uses(map)).cloned() else {
        return warnings;
    };
    if pod.str_at(&["spec", "os", "name"]) == Some("windows") {
        return warnings;
    }
    let of_pod = pod.at(&["spec", "securityContext", "appArmorProfile"]).cloned();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let containers = pod.at_mut(&["spec", list]).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let key = format!("{ANNOTATION}{}", container.str_at(&["name"]).unwrap_or_default());
            let Some(text) = annotations.get(&key).and_then(Value::as_str) else { continue };
            if container.at(&["securityContext", "appArmorProfile"]).is_some() {
                continue;
            }
            let named = profile(text);
            let warned = named.is_none() || named != of_pod;
            if let Some(profile) = named.filter(|profile| of_pod.as_ref() != Some(profile)) {
                container.set(&["securityContext", "appArmorProfile"], profile);
            }
            if warned {
                let field = "use the \"appArmorProfile\" field instead";
                warnings.push(format!("metadata.annotations[{key}]: deprecated since v1.30; {field}"));
            }
        }
    }
    warnings
}

fn profile(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        _ => {
            let name = annotation.strip_prefix("localhost/")?;
            let fine = !name.is_empty() && name.trim() == name && name.len() <= LONGEST;
            fine.then(|| json!({"type": "Localhost", "localhostProfile": name}))
        }
    }
}
